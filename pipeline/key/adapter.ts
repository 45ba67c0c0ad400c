/**
 * The WebGPU adapter that numeric stages compute on: how it is asked for and what it is called, in
 * the engine, which puts it in keys, and in a stage's process, which reports what it found.
 *
 * @module
 */

/** What an adapter says of itself. */
export interface AdapterDescription {
  /** `65541 /  / 0 / llvmpipe (LLVM 15.0.6, 256 bits)`: vendor, architecture, device, description. */
  readonly name: string;
  /** Sorted. */
  readonly features: readonly string[];
}

/** The one way an adapter is asked for: another request may find another adapter. */
export const ADAPTER_REQUEST = { powerPreference: "high-performance" } as const;

/** This process's adapter; `undefined` if it has none. */
export async function findAdapter(): Promise<GPUAdapter | undefined> {
  return await navigator.gpu?.requestAdapter(ADAPTER_REQUEST) ?? undefined;
}

/** What decides an adapter's bits, as far as WebGPU says. */
export function describeAdapter({ info, features }: GPUAdapter): AdapterDescription {
  const { vendor, architecture, device, description } = info;
  return {
    name: [vendor, architecture, device, description].join(" / "),
    features: [...features].sort(),
  };
}
