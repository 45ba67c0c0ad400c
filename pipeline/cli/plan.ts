/**
 * `plan` and `reproduce --dry-run`: what would run, why, and how long it should take. `status`: the
 * same counted by stage.
 *
 * @module
 */
import type { Options } from "./options.ts";
import type { Session } from "./session.ts";
import { duration } from "./terminal.ts";

type Print = (line: string) => void;

/** Prints the plan, one line for each instance that would run. */
export function showPlan(session: Session, options: Options, print: Print): void {
  const { decisions, secondsOf, estimate, experiment, platform } = session;
  const counts = { cached: 0, run: 0, wait: 0 };
  for (const [instance, decision] of decisions) {
    counts[decision.action]++;
    const seconds = decision.action === "cached" ? undefined : secondsOf(instance);
    if (options.json) {
      print(JSON.stringify({
        event: "decision",
        instance: instance.name,
        action: decision.action,
        reason: decision.action === "cached" ? "up to date" : decision.reason,
        ...("key" in decision ? { key: decision.key } : {}),
        estimateSeconds: seconds ?? null,
      }));
    } else if (decision.action !== "cached") {
      const about = seconds === undefined ? "" : `  about ${duration(seconds)}`;
      const verb = decision.action === "run" ? "run  " : "after";
      print(`${verb}  ${instance.name}${about}\n         ${decision.reason}`);
    }
  }
  if (options.json) {
    print(JSON.stringify({
      event: "plan-summary",
      experiment: experiment.name,
      profile: experiment.profile,
      backend: platform.backend,
      ...counts,
      estimateSeconds: estimate.seconds,
      unknown: estimate.unknown,
    }));
    return;
  }
  const total = counts.cached + counts.run + counts.wait;
  print(
    `${experiment.name}, profile ${experiment.profile}, backend ${platform.backend}: ${total} ` +
      `instances, ${counts.cached} up to date, ${counts.run} to run, ${counts.wait} after those`,
  );
  if (counts.run + counts.wait > 0) print(estimateLine(session, options.jobs));
}

function estimateLine({ estimate }: Session, jobs: number): string {
  if (estimate.seconds === null) return "no earlier run tells how long this takes";
  const unknown = estimate.unknown > 0
    ? `, not counting ${estimate.unknown} instances of stages that never ran in this profile`
    : "";
  return `about ${
    duration(estimate.seconds)
  } on ${jobs} jobs at most${unknown}, going by earlier runs`;
}

/** Prints how many instances of each stage are up to date. */
export function showStatus(session: Session, options: Options, print: Print): void {
  const { decisions, experiment, platform, latest } = session;
  const stages = new Map<string, { cached: number; run: number; wait: number }>();
  for (const [instance, { action }] of decisions) {
    const counts = stages.get(instance.node.name) ?? { cached: 0, run: 0, wait: 0 };
    counts[action]++;
    stages.set(instance.node.name, counts);
  }
  if (options.json) {
    for (const [stage, counts] of stages) {
      print(JSON.stringify({ event: "status", stage, ...counts }));
    }
    return;
  }
  print(
    `${experiment.name}, profile ${experiment.profile}, backend ${platform.backend}: ${platform.reason}`,
  );
  const width = Math.max(...[...stages.keys()].map((stage) => stage.length));
  for (const [stage, { cached, run, wait }] of stages) {
    const rest = [run > 0 ? `${run} to run` : "", wait > 0 ? `${wait} after those` : ""];
    print(
      [`  ${stage.padEnd(width)}`, `${cached} of ${cached + run + wait} up to date`, ...rest]
        .filter((part) => part !== "").join("  "),
    );
  }
  if (!latest) {
    const command =
      `deno task reproduce --experiment ${experiment.name} --profile ${experiment.profile}`;
    print(`this profile has not been run here yet; run it with: ${command}`);
  }
}
