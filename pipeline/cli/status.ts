/**
 * `status`: how much of a run is up to date, by stage.
 *
 * @module
 */
import { wrapping } from "./layout.ts";
import type { Options } from "./options.ts";
import { byStage, type StagePlan } from "./plan_stages.ts";
import type { Print, Project } from "./project.ts";
import { type Session, withSession } from "./session.ts";

/** Prints how many instances of each stage are up to date. */
export async function showStatus(project: Project, options: Options, print: Print): Promise<void> {
  await withSession({ project, options, print }, (session) => {
    const stages = byStage(session.decisions, {
      atOnce: session.atOnce,
      secondsOf: session.secondsOf,
    });
    if (!options.json) return printStages(session, stages, print);
    for (const { name: stage, cached, run, wait } of stages) {
      print(JSON.stringify({ event: "status", stage, cached, run, wait }));
    }
  });
}

function printStages(
  { experiment, platform, latest }: Session,
  stages: readonly StagePlan[],
  print: Print,
): void {
  const { name, profile } = experiment;
  const lines = wrapping(print);
  lines(`${name}, profile ${profile}, backend ${platform.backend}: ${platform.reason}`);
  const width = Math.max(...stages.map(({ name }) => name.length));
  for (const { name, cached, run, wait } of stages) {
    const parts = [`  ${name.padEnd(width)}`, `${cached} of ${cached + run + wait} up to date`];
    if (run > 0) parts.push(`${run} to run`);
    if (wait > 0) parts.push(`${wait} after those`);
    print(parts.join("  "));
  }
  if (latest) return;
  lines(
    "this profile has not been run here yet; run it with: " +
      `deno task reproduce --experiment ${name} --profile ${profile}`,
  );
}
