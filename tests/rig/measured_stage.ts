/**
 * A stage that measures, for a temporary project.
 *
 * @module
 */
import { type TestProject, writeStage } from "./project.ts";

/** A stage with a measured output, and one that reads it. */
export function addMeasuring(project: TestProject): void {
  writeStage(project, {
    name: "time",
    declaration: `
const params = z.strictObject({});
export type Params = z.infer<typeof params>;
export const time = defineStage({
  name: "time",
  params,
  inputs: { seconds: { many: true } },
  outputs: { seconds: { kind: "file", exactness: "measured" } },
});`,
    run: `
export function run(context: StageContext<Params>): Promise<void> {
  Deno.writeTextFileSync(context.output("seconds"), String(Math.random()));
  context.metric("seconds", Math.random());
  return Promise.resolve();
}`,
  });
  project.edit("main.ts", "stages: {", 'stages: { time: () => import("./stages/time.ts"),');
  project.edit(
    "experiments/toy/experiment.yaml",
    "  gather:",
    "  time: { each: [name] }\n  sum: { stage: time, inputs: { seconds: time.seconds } }\n  gather:",
  );
}
