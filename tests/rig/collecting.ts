/**
 * Collects garbage in a project's store again and again until its input ends: for races with runs. Prints a
 * line once it has begun, and one in the end: how often it did and how many files went.
 *
 * @module
 */
import { join } from "node:path";
import { collect } from "../../pipeline/gc/collect.ts";
import { LocalStore } from "../../pipeline/store/local_store.ts";

const [root = ""] = Deno.args;
let isWanted = true;
const end = Deno.stdin.readable.pipeTo(new WritableStream()).then(() => isWanted = false);
const store = new LocalStore(join(root, "outputs/store"), { reading: true });
let rounds = 0, removed = 0;
console.log("begun");
for (; isWanted; rounds++) {
  const latest = rounds % 2 === 0 ? Infinity : 0;
  const found = await collect({ root, store, latest, include: [] });
  removed += found.removed.length;
  // Pauses of 0 to 20 ms, spread evenly, so that it begins at any moment of a run.
  await new Promise((resolve) => setTimeout(resolve, 20 * ((rounds * 0.6180339887) % 1)));
}
await end;
store.close();
console.log(JSON.stringify({ rounds, removed }));
