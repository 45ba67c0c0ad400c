/**
 * `plan`: what would run, why, and about how long it should take; by stage, or with `--all` by
 * instance.
 *
 * @module
 */
import { counted } from "../amounts.ts";
import { INTERRUPTED } from "./interrupt.ts";
import { columns, duration, hanging, wrapping } from "./layout.ts";
import { leftOutNote } from "./left_out_note.ts";
import { mirrorNote } from "./mirror_note.ts";
import type { Options } from "./options.ts";
import { previewsOf, printPreviews } from "./plan_previews.ts";
import { byStage, type StagePlan } from "./plan_stages.ts";
import type { Print, Project } from "./project.ts";
import { requireLimits, type Session, withSession } from "./session.ts";

/** Prints the plan; with `--calibrate`, after running what shows how long it takes. */
export async function showPlan(project: Project, options: Options, print: Print): Promise<number> {
  const { calibrate } = options;
  const o = { project, options, print, isReading: !calibrate, leavesUnrecorded: calibrate };
  return await withSession(o, async (opened) => {
    requireLimits(opened, options);
    const session = calibrate
      ? await (await import("./calibrate.ts")).calibrate(opened, { project, options, print })
      : opened;
    if (session === undefined) {
      const message = "interrupted: what ended is kept; the same command tries the rest";
      print(options.json ? JSON.stringify({ event: "interrupted", message }) : message);
      return INTERRUPTED;
    }
    const notes = [leftOutNote(session), mirrorNote(session, options, project.root)]
      .filter((note) => note !== undefined);
    const previews = await previewsOf(session);
    if (options.json) {
      printEvents(session, print);
      for (const [instance, preview] of previews) {
        print(JSON.stringify({ event: "preview", instance, preview }));
      }
      for (const message of notes) print(JSON.stringify({ event: "note", message }));
    } else {
      if (options.all) printInstances(session, print);
      else printStages(session, print);
      printPreviews(previews, print);
      printSummary(session, options, print);
      notes.forEach(wrapping(print));
    }
    return 0;
  });
}

function printEvents(
  { decisions, secondsOf, estimate, experiment, platform }: Session,
  print: Print,
) {
  const counts = { cached: 0, run: 0, wait: 0 };
  for (const [instance, decision] of decisions) {
    counts[decision.action]++;
    const seconds = decision.action === "cached" ? undefined : secondsOf(instance);
    print(JSON.stringify({
      event: "decision",
      instance: instance.name,
      action: decision.action,
      reason: decision.action === "cached" ? "up to date" : decision.reason,
      ...("key" in decision ? { key: decision.key } : {}),
      estimateSeconds: seconds ?? null,
    }));
  }
  print(JSON.stringify({
    event: "plan-summary",
    experiment: experiment.name,
    profile: experiment.profile,
    backend: platform.backend,
    ...counts,
    estimateSeconds: estimate.seconds,
    unknown: estimate.unknown,
  }));
}

/** A line for each instance that would run, and one for its reason. */
function printInstances({ decisions, secondsOf }: Session, print: Print): void {
  const width = columns();
  const open = [...decisions].filter(([, { action }]) => action !== "cached");
  for (const [instance, decision] of open) {
    if (decision.action === "cached") continue;
    const seconds = secondsOf(instance);
    const about = seconds === undefined ? "" : `  about ${duration(seconds)}`;
    print(`${decision.action === "run" ? "run  " : "after"}  ${instance.name}${about}`);
    for (const line of hanging(decision.reason, { width, indent: " ".repeat(7) })) print(line);
  }
  if (open.length > 0) print("");
}

const MAX_REASONS = 3;

/** A line of numbers for each stage, and below it what its instances vary over and why they run. */
function printStages({ decisions, secondsOf, atOnce }: Session, print: Print): void {
  const stages = byStage(decisions, { atOnce, secondsOf });
  if (stages.every(({ run, wait }) => run + wait === 0)) return;
  const width = Math.max("stage".length, ...stages.map(({ name }) => name.length));
  const row = (name: string, ...numbers: readonly string[]) =>
    [name.padEnd(width), ...numbers.map((text) => text.padStart(5))].join("  ");
  print(`${row("stage", "run", "wait")}  up to date  about`);
  for (const stage of stages) {
    const number = (count: number) => count === 0 ? "-" : String(count);
    const about = stage.seconds === null ? "" : duration(stage.seconds);
    print(
      `${row(stage.name, number(stage.run), number(stage.wait))}  ${
        number(stage.cached).padStart(10)
      }  ${about}`.trimEnd(),
    );
    for (const line of whyLines(stage)) print(line);
  }
  print("");
}

function whyLines({ axes, reasons }: StagePlan): string[] {
  const over = axes.map(([axis, values]) => `${axis} ${values}`).join(" × ");
  const shown = reasons.slice(0, MAX_REASONS).map(([reason, instances]) =>
    reasons.length === 1 ? reason : `${instances}: ${reason}`
  );
  const more = reasons.length - shown.length;
  if (more > 0) shown.push(`and ${more} more reasons; --all lists them`);
  const [first, ...rest] = shown;
  if (first === undefined) return [];
  return [over === "" ? first : `${over}  ${first}`, ...rest]
    .flatMap((text) => hanging(text, { width: columns(), indent: "  " }));
}

function printSummary(session: Session, options: Options, print: Print): void {
  const { decisions, experiment, platform } = session;
  const counts = { cached: 0, run: 0, wait: 0 };
  for (const { action } of decisions.values()) counts[action]++;
  const { cached, run, wait } = counts;
  const parts = [counted(decisions.size, "instance"), `${cached} up to date`];
  if (run > 0) parts.push(`${run} to run`);
  if (wait > 0) parts.push(`${wait} after those`);
  const lines = [
    `${experiment.name}, profile ${experiment.profile}, backend ${platform.backend}: ` +
    parts.join(", "),
  ];
  if (run + wait > 0) lines.push(estimateLine(session, options));
  lines.forEach(wrapping(print));
}

function estimateLine({ estimate }: Session, { jobs, calibrate }: Options): string {
  if (estimate.seconds === null) {
    return calibrate
      ? "no earlier run shows how long this takes, and nothing could be tried"
      : "no earlier run shows how long this takes; plan --calibrate tries it";
  }
  const unknown = estimate.unknown === 0
    ? ""
    : `, not counting ${counted(estimate.unknown, "instance")} about which nothing is known`;
  const parallel = jobs === 1 ? "1 job" : `up to ${jobs} jobs`;
  const source = calibrate ? "earlier runs and these trials" : "earlier runs";
  return `about ${duration(estimate.seconds)} on ${parallel}${unknown}, judging by ${source}`;
}
