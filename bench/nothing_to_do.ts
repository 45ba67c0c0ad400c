/**
 * How long it takes to find that nothing is to be done: a grid of instances, all up to date, beside
 * `ninja` on a file DAG of the same shape. Whole processes, in turn, as a ratio of medians.
 *
 * ```sh
 * deno run -A bench/nothing_to_do.ts 1000 10000
 * ```
 *
 * @module
 */
import { join } from "node:path";
import { parseOptions } from "../pipeline/cli/options.ts";
import type { Project } from "../pipeline/cli/project.ts";
import { openSession } from "../pipeline/cli/session.ts";
import { decide } from "../pipeline/plan/plan.ts";
import type { Instance } from "../pipeline/plan/graph.ts";
import type { Stage } from "../pipeline/stage.ts";
import type { Trace } from "../pipeline/store/trace.ts";
import { madeOn } from "../pipeline/run/instance.ts";
import { median, timeInTurn } from "./timing.ts";

const ROOT = join(import.meta.dirname!, "..");

/** One source, groups that read it, and members that read their group: `groups × members` leaves. */
function shape(instances: number): { groups: number; members: number } {
  const groups = Math.round(Math.sqrt(instances));
  return { groups, members: Math.ceil((instances - 1 - groups) / groups) };
}

/** Writes a project with that many instances. */
function writeProject(root: string, instances: number): void {
  const { groups, members } = shape(instances);
  const list = (count: number) => `[${Array.from({ length: count }, (_, n) => n).join(", ")}]`;
  for (const folder of ["stages", "experiments/grid", "lock"]) {
    Deno.mkdirSync(join(root, folder), { recursive: true });
  }
  const config = JSON.parse(Deno.readTextFileSync(join(ROOT, "deno.json")));
  Deno.writeTextFileSync(join(root, "deno.json"), JSON.stringify({ ...config, tasks: {} }));
  Deno.copyFileSync(join(ROOT, "lock/deno.lock"), join(root, "lock/deno.lock"));
  Deno.writeTextFileSync(
    join(root, "stages/copy.ts"),
    `import { z } from "zod";
import { defineStage } from "${ROOT}/pipeline/stage.ts";
export const copy = defineStage({
  name: "copy",
  params: z.strictObject({ a: z.int().default(0), b: z.int().default(0) }),
  inputs: { text: { many: true } },
  outputs: { text: { kind: "file", exactness: "exact" } },
});
`,
  );
  Deno.writeTextFileSync(
    join(root, "stages/copy.run.ts"),
    `import type { StageContext } from "${ROOT}/pipeline/stage.ts";
export function run(context: StageContext<unknown>): Promise<void> {
  Deno.writeTextFileSync(context.output("text"), JSON.stringify(context.params));
  return Promise.resolve();
}
`,
  );
  Deno.writeTextFileSync(
    join(root, "experiments/grid/experiment.yaml"),
    `experiment: grid
grid:
  group: ${list(groups)}
  member: ${list(members)}
stages:
  source: { stage: copy }
  middle: { stage: copy, each: [group], inputs: { text: source.text }, params: { a: $group } }
  leaf:
    stage: copy
    each: [group, member]
    inputs: { text: middle.text }
    params: { a: $group, b: $member }
profiles: { smoke: {} }
`,
  );
  Deno.writeTextFileSync(
    join(root, "main.ts"),
    `import { main } from "${ROOT}/pipeline/cli/main.ts";
export const project = {
  root: import.meta.dirname!,
  stages: { copy: () => import("./stages/copy.ts") },
  experiment: "grid",
};
if (import.meta.main) Deno.exit(await main(project, Deno.args));
`,
  );
}

/** Fills the store as running every instance would, without starting a process for each. */
async function fill(root: string): Promise<number> {
  const { project } = await import(join(root, "main.ts")) as { project: Project };
  const options = parseOptions(["reproduce", "--backend", "wasm"]);
  const session = await openSession(project, options);
  const { store, graph, planInput, platform } = session;
  const outputs = new Map<Instance, Trace["outputs"]>();
  for (const instance of graph) {
    const decision = await decide(instance, (from) => outputs.get(from)!, planInput);
    if (decision.action !== "run") throw new Error(`${instance.name} is not to run`);
    const text = JSON.stringify(instance.params);
    const sha256 = await store.put(text);
    const made = {
      text: { sha256, bytes: text.length, kind: "file", exactness: "exact" } as const,
    };
    outputs.set(instance, made);
    await store.putTrace({
      key: decision.key,
      instance: instance.name,
      stage: (instance.node.stage as Stage).name,
      run: session.name,
      ingredients: decision.ingredients,
      sources: {},
      outputs: made,
      metrics: {},
      started: new Date().toISOString(),
      seconds: 0,
      machine: madeOn(platform, instance.node.stage),
    });
  }
  store.close();
  return graph.length;
}

/** The same shape for ninja: every target a file copied from its group's. */
function writeNinja(root: string, instances: number): void {
  const { groups, members } = shape(instances);
  const lines = ["rule copy", "  command = cp $in $out", "build out/source: copy in"];
  for (let group = 0; group < groups; group++) {
    lines.push(`build out/${group}/middle: copy out/source`);
    for (let member = 0; member < members; member++) {
      lines.push(`build out/${group}/${member}: copy out/${group}/middle`);
    }
  }
  Deno.writeTextFileSync(join(root, "in"), "x");
  Deno.writeTextFileSync(join(root, "build.ninja"), `${lines.join("\n")}\n`);
}

if (import.meta.main) {
  const sizes = Deno.args.length > 0 ? Deno.args.map(Number) : [1000, 10000];
  console.log("instances  lockstep s  ninja s  ratio   (medians of 9 whole processes, in turn)");
  for (const size of sizes) {
    const root = Deno.makeTempDirSync({ prefix: "lockstep-bench-" });
    const ninja = Deno.makeTempDirSync({ prefix: "ninja-bench-" });
    try {
      writeProject(root, size);
      const count = await fill(root);
      writeNinja(ninja, size);
      const build = await new Deno.Command("ninja", { cwd: ninja, stdout: "null" }).output();
      if (build.code !== 0) throw new Error("ninja failed to build");
      const own = [
        Deno.execPath(),
        "run",
        "-A",
        join(root, "main.ts"),
        "reproduce",
        "--backend",
        "wasm",
      ];
      // The first run writes the lock; from then on nothing is left to do.
      // A run is remembered once all files have been as they are for two seconds, its own notes too.
      for (let run = 0; run < 2; run++) {
        await timeInTurn([own], 1);
        await new Promise((resolve) => setTimeout(resolve, 3000));
      }
      const times = await timeInTurn([own, ["ninja", "-C", ninja]], 9);
      const [ours, theirs] = times.map(median) as [number, number];
      console.log(
        `${String(count).padStart(9)}  ${ours.toFixed(3).padStart(10)}  ` +
          `${theirs.toFixed(3).padStart(7)}  ${(ours / theirs).toFixed(1).padStart(5)}`,
      );
    } finally {
      Deno.removeSync(root, { recursive: true });
      Deno.removeSync(ninja, { recursive: true });
    }
  }
}
