/**
 * What the model tests share.
 *
 * @module
 */
import { worstOf } from "../../doctor/check.ts";
import { type BackendName, startBackend } from "../../models/backend.ts";
import { fusesMultiplyAdd } from "../../pipeline/key/fused.ts";

/** Largest difference, relative to the larger of the reference's largest value and `floor`. */
export function worstRelative(
  found: ArrayLike<number>,
  reference: ArrayLike<number>,
  floor = 1e-3,
): number {
  return worstOf(found, reference, floor).error;
}

/**
 * Whether this machine has a WebGPU adapter.
 *
 * @throws {Error} If it has none and LOCKSTEP_REQUIRE_WEBGPU is set: there, skipping would hide it.
 */
export async function hasWebgpu(): Promise<boolean> {
  const has = await navigator.gpu?.requestAdapter() != null;
  if (!has && Deno.env.get("LOCKSTEP_REQUIRE_WEBGPU")) {
    throw new Error("This machine has no WebGPU adapter, and LOCKSTEP_REQUIRE_WEBGPU is set");
  }
  return has;
}

/** Defines a test once for each backend that `backends` names; says so where one is missing. */
export function testOn(
  backends: readonly BackendName[],
  name: string,
  body: (backend: BackendName) => Promise<void> | void,
): void {
  for (const backend of backends) {
    Deno.test({
      name: `${name} (${backend})`,
      // tfjs keeps a device and timers open.
      sanitizeOps: backend !== "webgpu",
      sanitizeResources: backend !== "webgpu",
      fn: async () => {
        if (backend === "webgpu" && !await hasWebgpu()) {
          console.warn(`SKIPPED: ${name}: this machine has no WebGPU adapter`);
          return;
        }
        if (backend === "wasm+fma" && !fusesMultiplyAdd()) {
          console.warn(`SKIPPED: ${name}: this machine has no fused multiply-add`);
          return;
        }
        await startBackend(backend);
        await body(backend);
      },
    });
  }
}

/** Documents of token ids, with their labels. */
export function documentsOf({ documents, labels }: { documents: number[][]; labels: number[] }) {
  const offsets = [0];
  for (const document of documents) offsets.push(offsets.at(-1)! + document.length);
  return { labels, offsets, ids: documents.flat() };
}
