/**
 * Results that no stage made: traces and blobs of any size, for tests of what carries them.
 *
 * @module
 */
import { join } from "node:path";
import { streamKey, uniform, words } from "../../models/random.ts";
import { keyOf } from "../../pipeline/key/ingredients.ts";
import type { LocalStore } from "../../pipeline/store/local_store.ts";
import { manifestText, type OutputRecord, type Trace } from "../../pipeline/store/trace.ts";

/** Puts so many results into a store: each a file of up to `maxBytes` and a folder of two small ones. */
export async function putSyntheticResults(
  store: LocalStore,
  { count, maxBytes, seed = 0 }: { count: number; maxBytes: number; seed?: number },
): Promise<Trace[]> {
  const sizes = uniform(streamKey(seed, "sizes"), count, { low: 0, high: 1 });
  const code = await store.put(`export const run = () => ${seed};\n`);
  const traces: Trace[] = [];
  for (let n = 0; n < count; n++) {
    const size = Math.floor(sizes[n]! ** 2 * maxBytes);
    const content = new Uint8Array(
      words(streamKey(seed, `content.${n}`), size / 4 + 1).buffer,
      0,
      size,
    );
    const path = join(store.root, "scratch", `content.${n}`);
    Deno.writeFileSync(path, content);
    const weights: OutputRecord = {
      ...await store.putFile(path),
      ...{ kind: "file", exactness: "exact" },
    };
    const files = await Promise.all(["a", "b"].map(async (name) => {
      const text = `${name} ${seed} ${n}`;
      return [name, { sha256: await store.put(text), bytes: text.length }] as const;
    }));
    const parts: OutputRecord = {
      sha256: await store.put(manifestText(Object.fromEntries(files))),
      bytes: files.reduce((sum, [, { bytes }]) => sum + bytes, 0),
      ...{ kind: "folder", exactness: "exact" },
    };
    const ingredients = {
      ...{ stage: "made_up", code, "params.seed": String(seed), "params.number": String(n) },
      ...{ "outputs.weights": "file, exact", "outputs.parts": "folder, exact" },
    };
    const trace: Trace = {
      ...{ key: keyOf(ingredients), instance: `made_up/${n}`, stage: "made_up", run: "toy.smoke" },
      ...{ ingredients, sources: {}, outputs: { weights, parts }, metrics: { value: n } },
      ...{ started: "2026-01-01T00:00:00.000Z", seconds: 1, machine: { computer: "none" } },
    };
    await store.putTrace(trace);
    traces.push(trace);
  }
  return traces;
}
