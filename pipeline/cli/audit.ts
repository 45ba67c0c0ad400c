/**
 * `audit`: prints what {@linkcode auditStore} finds and, with `--repair`, mends it.
 *
 * @module
 */
import { join } from "node:path";
import { auditStore, type Finding } from "../audit.ts";
import { statOf } from "../catalog.ts";
import { LockstepError } from "../errors.ts";
import { latestNames, type LatestRun, readLatest } from "../latest.ts";
import { Store } from "../store.ts";
import type { Options } from "./options.ts";
import { reproduce } from "./reproduce.ts";
import { outputsFolder, type Project } from "./session.ts";
import { duration, jsonView, standardOutput, textView } from "./terminal.ts";

type Print = (line: string) => void;

/** Runs an audit; 0 if nothing was found, or all that was found was mended. */
export async function audit(project: Project, options: Options, print: Print): Promise<number> {
  const outputs = outputsFolder(project, options);
  if (!statOf(join(outputs, "store"))) {
    throw new LockstepError(
      `Cannot audit ${outputs}: it must hold a store, and nothing was run there yet; run "deno task ` +
        'reproduce" first',
    );
  }
  const store = new Store(join(outputs, "store"));
  const findings = await look(project, outputs, store, options, print);
  const runs = new Map<string, LatestRun>();
  for (const name of latestNames(store)) {
    const run = readLatest(name, store);
    if (run) runs.set(name, run);
  }
  if (findings.length === 0 || !options.repair) {
    store.close();
    return isSound(findings) ? 0 : 1;
  }
  setAside(findings, runs, store, {
    project,
    tell: (message) => say(options, print, "aside", message),
  });
  // Results no lock or latest run needs are set aside and not made again.
  const broken = new Set(findings.map((finding) => finding.run).filter((run) => run !== undefined));
  const anyRecord = findings.some((finding) => finding.what === "record");
  store.close();
  let code = 0;
  for (const [name, run] of runs) {
    if (!anyRecord && !broken.has(name)) continue;
    say(options, print, "repair", `making again what ${name} lost`);
    code = Math.max(code, await remake(project, options, run));
  }
  const after = new Store(join(outputs, "store"));
  const left = await look(project, outputs, after, options, print);
  after.close();
  return isSound(left) ? code : 1;
}

/** Leftovers are told, but make nothing unsound. */
function isSound(findings: readonly Finding[]): boolean {
  return findings.every(({ problem }) => problem === "leftover");
}

async function look(
  project: Project,
  outputs: string,
  store: Store,
  options: Options,
  print: Print,
): Promise<readonly Finding[]> {
  const begun = performance.now();
  const result = await auditStore(project.root, outputs, store);
  const seconds = Math.round(performance.now() - begun) / 1000;
  const { findings, files, bytes, unchecked } = result;
  if (options.json) {
    for (const finding of findings) print(JSON.stringify({ event: "finding", ...finding }));
    print(
      JSON.stringify({
        event: "audit",
        findings: findings.length,
        files,
        bytes,
        unchecked,
        seconds,
      }),
    );
    return findings;
  }
  for (const { problem, what, path, instances, message } of findings) {
    if (problem === "leftover") continue;
    const [first, ...rest] = instances;
    const whose = first === undefined
      ? ""
      : `, of ${first}${rest.length > 0 ? ` and ${rest.length} more` : ""}`;
    print(`${problem.padEnd(8)}  ${what}${whose}\n          ${path}\n          ${message}`);
  }
  for (const lock of unchecked) {
    print(`note      ${lock} was not checked: its run is not in this store`);
  }
  const size = `${files} files, ${(bytes / 1e6).toFixed(1)} MB in ${duration(seconds)}`;
  const bad = findings.filter(({ problem }) => problem !== "leftover").length;
  if (findings.length > bad) {
    print(
      `note      ${findings.length - bad} leftovers of interrupted runs; --repair removes them`,
    );
  }
  print(bad === 0 ? `sound     ${size}` : `unsound   ${bad} findings; ${size}`);
  return findings;
}

function setAside(
  findings: readonly Finding[],
  runs: ReadonlyMap<string, LatestRun>,
  store: Store,
  { project, tell }: { project: Project; tell: (message: string) => void },
): void {
  for (const finding of findings) {
    const path = finding.what === "lock" ? join(project.root, finding.path) : finding.path;
    // Several findings may be about one file; what is missing is nowhere.
    if (!statOf(path)) continue;
    if (finding.problem === "leftover") {
      Deno.removeSync(path);
      continue;
    }
    if (finding.what === "lock" && runs.get(finding.run ?? "")?.set.length !== 0) {
      // A run with --set writes no lock, so there would be none afterwards.
      tell(`${finding.path} is left as it is: restore it from version control`);
      continue;
    }
    store.setAside(path, finding.message);
    tell(`set aside ${path}`);
  }
}

/** Runs a recorded run again: whatever is intact is reused. */
async function remake(project: Project, options: Options, run: LatestRun): Promise<number> {
  const again: Options = {
    ...options,
    command: "reproduce",
    experiment: run.experiment,
    profile: run.profile,
    backend: run.backend as Options["backend"],
    set: run.set,
    ...(run.mirror !== undefined ? { mirror: run.mirror } : {}),
  };
  const sink = standardOutput();
  if (options.json) return await reproduce(project, again, jsonView(sink));
  const view = textView(sink);
  try {
    return await reproduce(project, again, view.listener);
  } finally {
    view.close();
  }
}

function say(options: Options, print: Print, event: string, message: string): void {
  print(options.json ? JSON.stringify({ event, message }) : message);
}
