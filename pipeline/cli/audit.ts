/**
 * `audit`: prints what {@linkcode auditStore} finds and, with `--repair`, mends it.
 *
 * @module
 */
import { join } from "node:path";
import { type AuditResult, auditStore, type Finding } from "../views/audit.ts";
import { statOf } from "../store/catalog.ts";
import { holdsCode, keepCode } from "../store/code.ts";
import { readDocument, valueAt } from "../config/document.ts";
import { LockstepError } from "../errors.ts";
import { dropLatest, latestNames, type LatestRun, readLatest } from "../store/latest.ts";
import { LocalStore } from "../store/local_store.ts";
import { codeOf, namedBy } from "../store/trace.ts";
import { duration } from "./layout.ts";
import type { Options } from "./options.ts";
import { reproduce } from "./reproduce.ts";
import { outputsFolder } from "./session.ts";
import type { Print, Project } from "./project.ts";

/** Runs an audit; 0 if nothing was found, or all that was found was mended. */
export async function audit(project: Project, options: Options, print: Print): Promise<number> {
  const outputs = outputsFolder(project, options);
  if (!statOf(join(outputs, "store"))) {
    throw new LockstepError(
      `Cannot audit ${outputs}: it must hold a store, and nothing was run there yet; run "deno task ` +
        'reproduce" first',
    );
  }
  const store = new LocalStore(join(outputs, "store"), { reading: !options.repair });
  try {
    const { findings } = await look({ project, outputs, store }, options, print);
    if (findings.length === 0 || !options.repair) return isSound(findings) ? 0 : 1;
    return await repair({ project, outputs, store }, { findings, options, print });
  } finally {
    store.close();
  }
}

/** What is audited. */
interface Audited {
  readonly project: Project;
  readonly outputs: string;
  readonly store: LocalStore;
}

/** Mends what was found; 0 if that left nothing unsound and every run that was broken ended well. */
async function repair(
  audited: Audited,
  { findings, options, print }: {
    findings: readonly Finding[];
    options: Options;
    print: Print;
  },
): Promise<number> {
  const { project, outputs, store } = audited;
  const tell = (message: string) => say(options, print, "aside", message);
  const runs = latestRuns(store);
  setAside(findings, runs, audited, tell);
  const anyRecord = findings.some((finding) => finding.what === "record");
  let code = 0;
  for (const [name, run] of runs) {
    const isBroken = findings.some((finding) => isOf(finding, name, run));
    if (!isBroken && !anyRecord) continue;
    if (isGone(project, run)) {
      if (!isBroken) continue;
      dropLatest(name, store);
      tell(`set aside the record of ${name}: the experiments have no such run any more`);
      continue;
    }
    say(options, print, "repair", `making again what ${name} lost`);
    code = Math.max(code, await remake(project, options, { run, print }));
  }
  if (await dropLost(findings, store, tell) > 0) {
    // What else those traces named belongs to nothing now.
    const { findings: left } = await auditStore(project.root, outputs, store);
    setAside(left.filter(({ problem }) => problem === "leftover"), runs, audited, tell);
  }
  const { findings: left } = await look(audited, options, print);
  return isSound(left) ? code : 1;
}

function latestRuns(store: LocalStore): Map<string, LatestRun> {
  const runs = new Map<string, LatestRun>();
  for (const name of latestNames(store)) {
    const run = readLatest(name, store);
    if (run) runs.set(name, run);
  }
  return runs;
}

/** Whether the experiments as they stand have no such run. */
function isGone({ root }: Project, { experiment, profile }: LatestRun): boolean {
  const relative = `experiments/${experiment}.yaml`;
  const path = join(root, relative);
  if (!statOf(path)) return true;
  return valueAt(readDocument(path, relative).value, ["profiles", profile]) === undefined;
}

/** Whether a run may make again what a finding is about. */
function isOf({ run, keys }: Finding, name: string, { keys: named }: LatestRun): boolean {
  return run === name || Object.values(named).some((key) => keys?.includes(key));
}

/**
 * Brings lost code back, which is kept outside of `blobs/` too, and sets traces aside whose outputs
 * or code are gone for good: no run made them again. Those that a latest run names stay, since that
 * run failed. Returns how many it set aside.
 */
async function dropLost(
  findings: readonly Finding[],
  store: LocalStore,
  tell: (message: string) => void,
): Promise<number> {
  const named = new Set([...latestRuns(store).values()].flatMap(({ keys }) => Object.values(keys)));
  let dropped = 0;
  for (const key of new Set(findings.flatMap(({ keys }) => keys ?? []))) {
    const trace = await store.trace(key);
    if (!trace) continue;
    if (holdsCode(store, codeOf(trace))) {
      await keepCode({ store, workspace: store }, codeOf(trace));
    }
    const states = await Promise.all(namedBy(trace).map((named) => store.checkOutput(named)));
    const whole = states.every((state) => state === "ok");
    if (whole || named.has(key)) continue;
    store.setAside(store.tracePath(key), "what it names is lost");
    store.catalog.removeTrace(key);
    tell(
      `set aside the trace of ${trace.instance}, ${key}: what it names is lost, and no run as it ` +
        "stands makes it again; ask for its run to have it made",
    );
    dropped++;
  }
  return dropped;
}

/** Leftovers are told, but make nothing unsound. */
function isSound(findings: readonly Finding[]): boolean {
  return findings.every(({ problem }) => problem === "leftover");
}

async function look(
  { project, outputs, store }: Audited,
  options: Options,
  print: Print,
): Promise<AuditResult> {
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
    return result;
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
  return result;
}

function setAside(
  findings: readonly Finding[],
  runs: ReadonlyMap<string, LatestRun>,
  { project, store }: Audited,
  tell: (message: string) => void,
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
async function remake(
  project: Project,
  options: Options,
  { run, print }: { readonly run: LatestRun; readonly print: Print },
): Promise<number> {
  const again: Options = {
    ...options,
    command: "reproduce",
    experiment: run.experiment,
    profile: run.profile,
    backend: run.backend as Options["backend"],
    set: run.set,
    ...(run.mirror !== undefined ? { mirror: run.mirror } : {}),
  };
  return await reproduce(project, again, print);
}

function say(options: Options, print: Print, event: string, message: string): void {
  print(options.json ? JSON.stringify({ event, message }) : message);
}
