/**
 * The toy project's store, looked at from outside: whether it is sound, and what its page must say.
 *
 * @module
 */
import { LocalStore } from "../../pipeline/store/local_store.ts";
import { holdOffRemovalToRead } from "../../pipeline/store/removal_lock.ts";
import { auditStore } from "../../pipeline/views/audit.ts";
import type { TestProject } from "./project.ts";

/** What an audit finds beside leftovers, while nothing is removed. */
export async function unsound(project: TestProject): Promise<string[]> {
  const store = new LocalStore(project.path("outputs/store"), { reading: true });
  const held = await holdOffRemovalToRead(store);
  try {
    const { findings } = await auditStore(project.root, project.path("outputs"), store);
    return findings.filter(({ problem }) => problem !== "leftover")
      .map(({ path, message }) => `${path}: ${message}`);
  } finally {
    held.release();
    store.close();
  }
}

/** The page of a run at a rate. A step makes 3v + 1 of v, so k steps make 3ᵏv + (3ᵏ − 1)/2. */
export function pageOf(rate: number, steps = 3): string {
  const power = 3 ** steps;
  const lines = [["ann", "Ann"], ["bob", "Bob"]].flatMap(([name, word]) =>
    [1, 2].map((seed) =>
      `${JSON.stringify({ name, seed: String(seed) })} ${word} ${
        power * seed * rate + (power - 1) / 2
      }`
    )
  );
  return ["All", ...lines, "of 4"].join("\n");
}
