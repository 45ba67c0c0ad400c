/**
 * `audit`: prints what {@linkcode auditStore} finds and, with `--repair`, mends it.
 *
 * @module
 */
import { join } from "node:path";
import { allTraces } from "../views/ancestry.ts";
import { type AuditResult, auditStore, type Finding } from "../views/audit.ts";
import { megabytes } from "../amounts.ts";
import { lookAt, statOf } from "../files.ts";
import { holdsCode, keepCode } from "../store/code.ts";
import { LockstepError, UsageError } from "../errors.ts";
import { dropLatest, latestNames, type LatestRun, readLatest } from "../store/latest.ts";
import { unpublish } from "../run/publish.ts";
import { holdOffRemovalToRead } from "../store/removal_lock.ts";
import { holdForRepair } from "../store/run_lock.ts";
import { hasRun } from "../views/audit/records.ts";
import { LocalStore } from "../store/local_store.ts";
import { codeOf, namedBy, type Trace } from "../store/trace.ts";
import type { Comparison } from "./audit_against.ts";
import { duration, wrapping } from "./layout.ts";
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
  if (options.repair && (options.against ?? options.key) !== undefined) {
    throw new UsageError(
      "Cannot repair with --against or --key: what a commit or a signature says can't be made again; " +
        "audit so first, repair without them",
    );
  }
  const store = new LocalStore(join(outputs, "store"), { reading: !options.repair });
  try {
    const audited = { project, outputs, store };
    if (options.repair) return await repair(audited, options, print);
    const { findings } = await look(audited, options, print);
    const others = await lookElsewhere(audited, options, print);
    return isSound([...findings, ...others]) ? 0 : 1;
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

type Report = (message: string) => void;

/**
 * Mends what is found; 0 if that left nothing unsound and every run that was broken ended well. It has
 * the store for itself, but while it makes lost results again: then it is a run like any other.
 */
async function repair(audited: Audited, options: Options, print: Print): Promise<number> {
  const report = (message: string) => say(options, print, "aside", message);
  const alone = async <T>(work: () => Promise<T>): Promise<T> => {
    const held = holdForRepair(audited.store);
    try {
      return await work();
    } finally {
      held.release();
    }
  };
  const { findings, broken } = await alone(async () => {
    const { findings } = await look(audited, options, print);
    return { findings, broken: await clear(findings, audited, report) };
  });
  if (findings.length === 0) return 0;
  let code = 0;
  for (const run of broken) {
    say(options, print, "repair", `making again what ${run.experiment}.${run.profile} lost`);
    code = Math.max(code, await remake(audited.project, options, { run, print }));
  }
  return await alone(async () => {
    if (await dropLost(findings, audited.store, report) > 0) {
      // What else those traces named belongs to nothing now.
      const { project, outputs, store } = audited;
      const { findings: left } = await auditStore(project.root, outputs, store);
      setAside(left.filter(({ problem }) => problem === "leftover"), audited, report);
    }
    const { findings: left } = await look(audited, options, print);
    return isSound(left) ? code : 1;
  });
}

/** Takes what was found out of the way. Returns the runs that are to make it again. */
async function clear(
  findings: readonly Finding[],
  audited: Audited,
  report: Report,
): Promise<LatestRun[]> {
  const { project, store } = audited;
  const runs = latestRuns(store);
  setAside(findings, audited, report);
  if (findings.some(({ what }) => what === "catalogue")) {
    store.catalog.rebuild();
    report("filled the catalogue from the traces again");
  }
  const anyRecord = findings.some(({ what }) => what === "record");
  const lost = findings.flatMap(({ what, run }) =>
    what === "record" && run !== undefined ? [run] : []
  );
  const broken: LatestRun[] = [];
  for (const name of new Set([...runs.keys(), ...lost])) {
    const run = runs.get(name);
    const isBroken = !run || findings.some((finding) => isOf(finding, name, run));
    if (isBroken && !hasRun(project.root, name)) {
      if (run) dropLatest(name, store);
      unpublish(name, { folder: audited.outputs, workspace: store });
      report(
        `set aside the record of ${name} and what it published: the experiments have no such run any more`,
      );
    } else if (isBroken || anyRecord) broken.push(run ?? await lostRun(name, store));
  }
  return broken;
}

/** A run of which the record is lost, as its traces know it: with which options it ran they do not. */
async function lostRun(name: string, store: LocalStore): Promise<LatestRun> {
  const [, experiment = "", profile = ""] = /^([^.]+)\.(.+)$/.exec(name) ?? [];
  const traces = await allTraces(store);
  const last = traces.findLast(({ run, machine }) => run === name && machine["backend"]);
  const backend = last?.machine["backend"] ?? "auto";
  return { experiment, profile, backend, set: [], keys: {} };
}

function latestRuns(store: LocalStore): Map<string, LatestRun> {
  const runs = new Map<string, LatestRun>();
  for (const name of latestNames(store)) {
    const run = readLatest(name, store);
    if (run) runs.set(name, run);
  }
  return runs;
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
  report: Report,
): Promise<number> {
  const named = new Set([...latestRuns(store).values()].flatMap(({ keys }) => Object.values(keys)));
  let dropped = 0;
  for (const key of new Set(findings.flatMap(({ keys }) => keys ?? []))) {
    const trace = await store.trace(key);
    if (!trace) continue;
    const code = codeOf(trace);
    if (holdsCode(store, code)) await keepCode({ store, workspace: store }, code);
    if (trace.received || await isWhole(trace, store) || named.has(key)) continue;
    store.setAsideTrace(key, "what it names is lost");
    report(
      `set aside the trace of ${trace.instance}, ${key}: what it names is lost, and no run as it ` +
        "is makes it again; ask for its run to have it made",
    );
    dropped++;
  }
  for (const path of new Set(findings.flatMap(({ others }) => others ?? []))) {
    if (!lookAt(path)) continue;
    store.setAside(path, "part of what it names is lost");
    report(`set aside ${path}, a further result of a key: part of it is lost`);
    dropped++;
  }
  return dropped;
}

async function isWhole(trace: Trace, store: LocalStore): Promise<boolean> {
  for (const named of namedBy(trace)) if (await store.checkOutput(named) !== "ok") return false;
  return true;
}

/** Leftovers are reported, but make nothing unsound. */
function isSound(findings: readonly Finding[]): boolean {
  return findings.every(({ problem }) => problem === "leftover");
}

async function look(
  { project, outputs, store }: Audited,
  options: Options,
  print: Print,
): Promise<AuditResult> {
  const held = await holdOffRemovalToRead(store);
  const begun = performance.now();
  const result = await auditStore(project.root, outputs, store).finally(() => held.release());
  const seconds = Math.round(performance.now() - begun) / 1000;
  if (options.json) printEvents(result, seconds, print);
  else printText(result, seconds, { options, print: wrapping(print) });
  return result;
}

/** What of locks and files is not as a commit has it, or not signed. */
async function lookElsewhere(
  { project, outputs, store }: Audited,
  options: Options,
  print: Print,
): Promise<readonly Finding[]> {
  const { against, key } = options;
  if (against === undefined && key === undefined) return [];
  const { auditAgainst, auditSignatures } = await import("./audit_against.ts");
  const found: Finding[] = [];
  const take = ({ findings, note }: Comparison) => {
    if (options.json) {
      for (const one of findings) print(JSON.stringify({ event: "finding", ...one }));
    } else printFindings(findings, wrapping(print));
    if (options.json) say(options, print, "note", note);
    else wrapping(print)(`note      ${note}`);
    found.push(...findings);
  };
  if (against !== undefined) {
    take(await auditAgainst(against, { root: project.root, outputs, store }));
  }
  if (key !== undefined) take(await auditSignatures(project.root, key));
  return found;
}

function printEvents(result: AuditResult, seconds: number, print: Print): void {
  const { findings, files, bytes, unchecked, others, elsewhere } = result;
  for (const finding of findings) print(JSON.stringify({ event: "finding", ...finding }));
  const unlike = others.map(({ trace }) => trace.instance);
  const counts = { findings: findings.length, files, bytes };
  print(JSON.stringify({ event: "audit", ...counts, unchecked, unlike, elsewhere, seconds }));
}

function printText(
  { findings, files, bytes, unchecked, others, elsewhere }: AuditResult,
  seconds: number,
  { options, print }: { readonly options: Options; readonly print: Print },
): void {
  const bad = findings.filter(({ problem }) => problem !== "leftover");
  printFindings(bad, print);
  const note = (text: string) => options.quiet || print(`note      ${text}`);
  for (const { trace } of others) {
    note(`${trace.instance} was made twice under one key, with other bits; both are kept`);
  }
  for (const lock of unchecked) note(`${lock} was not checked: its run is not in this store`);
  if (elsewhere > 0) {
    note(`${elsewhere} blobs of results that came from a cache were not fetched, and not checked`);
  }
  const unfinished = new Set(
    findings.flatMap(({ problem, run }) => problem === "leftover" ? run ?? [] : []),
  );
  for (const run of unfinished) {
    note(
      `outputs/ has part of what a run of ${run} publishes that did not end; run it again, or --repair ` +
        "makes what the last one had",
    );
  }
  const leftovers = findings.length - bad.length;
  if (leftovers > 0) note(`${leftovers} leftovers of interrupted runs; --repair removes them`);
  const size = `${files} files, ${megabytes(bytes)} in ${duration(seconds)}`;
  print(bad.length === 0 ? `sound     ${size}` : `unsound   ${bad.length} findings; ${size}`);
}

function printFindings(findings: readonly Finding[], print: Print): void {
  for (const { problem, what, path, instances, message } of findings) {
    const [first, ...rest] = instances;
    const whose = first === undefined
      ? ""
      : `, of ${first}${rest.length > 0 ? ` and ${rest.length} more` : ""}`;
    print(`${problem.padEnd(8)}  ${what}${whose}\n          ${path}\n          ${message}`);
  }
}

function setAside(
  findings: readonly Finding[],
  { project, store }: Audited,
  report: Report,
): void {
  const runs = latestRuns(store);
  for (const { problem, what, path: shown, run, message } of findings) {
    const path = what === "lock" ? join(project.root, shown) : shown;
    // Several findings may be about one file; what is missing is nowhere.
    if (!lookAt(path) || what === "catalogue") continue;
    if (problem === "leftover") {
      Deno.removeSync(path);
      continue;
    }
    if (what === "lock" && runs.get(run ?? "")?.set.length !== 0) {
      // A run with --set writes no lock, so there would be none afterwards.
      report(`${path} is left as it is: restore it from version control`);
      continue;
    }
    store.setAside(path, message);
    report(`set aside ${path}`);
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
