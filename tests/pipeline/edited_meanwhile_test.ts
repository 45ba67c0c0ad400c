import { assertEquals } from "@std/assert";
import { loadBundles } from "../../pipeline/store/code.ts";
import { LocalStore } from "../../pipeline/store/local_store.ts";
import { toyProject } from "../rig/project.ts";

const STAGES = ["word", "steps", "gather"];

Deno.test("an edit saved while stages are bundled is never lost", async () => {
  using project = toyProject();
  const wanted = 12;
  const original = project.read("lib/grow.ts");
  let during = 0;
  // How long the last bundling took: edits are spread over it, however fast this machine is.
  let took = 50;
  let trial = 0;
  for (; during < wanted && trial < 20 * wanted; trial++) {
    // One byte, so that the size stays; a digit, so that every edit is another constant.
    const edited = original.replace("factor = 3", `factor = ${4 + trial % 6}`);
    project.write("lib/grow.ts", original);
    const store = new LocalStore(project.path(`outputs/${trial}/store`));
    const others = new LocalStore(project.path(`outputs/${trial}.fresh/store`));
    try {
      // The bundler waits for its own process many times: the edit falls between two of its reads.
      let done = false;
      const start = performance.now();
      const editing = new Promise<void>((resolve) =>
        setTimeout(() => {
          if (!done) during++;
          project.write("lib/grow.ts", edited);
          resolve();
        }, took * ((trial * 5) % wanted) / wanted)
      );
      await loadBundles(project.root, STAGES, store);
      done = true;
      took = performance.now() - start;
      await editing;
      const after = await loadBundles(project.root, STAGES, store);
      const fresh = await loadBundles(project.root, STAGES, others);
      for (const stage of STAGES) {
        assertEquals(after.get(stage)!.code, fresh.get(stage)!.code, `${stage} in trial ${trial}`);
      }
    } finally {
      store.close();
      others.close();
    }
  }
  assertEquals(during, wanted, `only ${during} of ${trial} edits fell into the bundling`);
});

Deno.test("a file written again within its clock's tick is compared by its content", async () => {
  using project = toyProject();
  const store = new LocalStore(project.path("outputs/store"));
  try {
    const before = await loadBundles(project.root, STAGES, store);
    const path = project.path("lib/grow.ts");
    const stat = Deno.statSync(path);
    project.edit("lib/grow.ts", "factor = 3", "factor = 7");
    Deno.utimeSync(path, stat.atime!, stat.mtime!);
    const after = await loadBundles(project.root, STAGES, store);
    assertEquals(before.get("steps")!.code === after.get("steps")!.code, false);
  } finally {
    store.close();
  }
});

Deno.test("files with new times and the content they had are read once more, not at every start", async () => {
  using project = toyProject();
  const store = new LocalStore(project.path("outputs/store"));
  const recorded = () => STAGES.map((stage) => project.read(`outputs/store/code/${stage}.json`));
  try {
    const before = await loadBundles(project.root, STAGES, store);
    const made = recorded();
    // As after a checkout, long ago.
    const long = new Date(Date.now() - 3_600_000);
    Deno.utimeSync(project.path("lib/grow.ts"), long, long);
    await new Promise((resolve) => setTimeout(resolve, 2100));
    assertEquals(await loadBundles(project.root, STAGES, store), before);
    const refreshed = recorded();
    assertEquals(refreshed.map((text, i) => text === made[i]), [false, false, false]);
    await loadBundles(project.root, STAGES, store);
    assertEquals(recorded(), refreshed);
    project.edit("lib/grow.ts", "factor = 3", "factor = 7");
    const after = await loadBundles(project.root, STAGES, store);
    assertEquals(before.get("steps")!.code === after.get("steps")!.code, false);
  } finally {
    store.close();
  }
});
