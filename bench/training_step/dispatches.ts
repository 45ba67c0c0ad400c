/** Counts the compute dispatches that this process encodes, whatever library and device they are of. */
export class DispatchCounter {
  count = 0;

  constructor() {
    const encoder = GPUComputePassEncoder.prototype as unknown as Record<
      string,
      (...args: unknown[]) => void
    >;
    for (const method of ["dispatchWorkgroups", "dispatchWorkgroupsIndirect"]) {
      const original = encoder[method]!;
      const counted = () => this.count++;
      Object.defineProperty(encoder, method, {
        value(this: GPUComputePassEncoder, ...args: unknown[]) {
          counted();
          return original.apply(this, args);
        },
        configurable: true,
      });
    }
  }
}
