/**
 * The loops of `assembly/`, as `deno task kernels` compiles them into `compiled/`.
 *
 * @module
 */

/** What a product needs to work in. */
export const PRODUCT_BYTES: number = 1 << 20;

/** A compiled module's functions, working in `memory`. */
export function instantiate<Functions>(code: BufferSource, memory: WebAssembly.Memory): Functions {
  const module = new WebAssembly.Module(code);
  return new WebAssembly.Instance(module, { env: { memory } }).exports as unknown as Functions;
}
