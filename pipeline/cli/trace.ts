/**
 * `trace WHAT`: follows an instance, a key or an artifact's digest back to the first bytes.
 *
 * @module
 */
import { join } from "node:path";
import { statOf } from "../catalog.ts";
import { ConfigError, LockstepError } from "../errors.ts";
import { isSha256, type Sha256 } from "../hash.ts";
import { Store } from "../store.ts";
import type { OutputRecord, Trace } from "../trace.ts";
import type { Options } from "./options.ts";
import { outputsFolder, type Project } from "./session.ts";

interface Maker {
  readonly trace: Trace;
  readonly output: string;
  readonly record: OutputRecord;
}

/** Every trace of a store, by key, and the newest that made each digest. */
interface Index {
  readonly traces: readonly Trace[];
  readonly makers: ReadonlyMap<string, Maker>;
}

/**
 * Prints a trace and, indented below it, those of its inputs.
 *
 * @throws {ConfigError} If nothing in the store goes by that name or digest, or several do.
 */
export function showTrace(project: Project, options: Options, print: (line: string) => void): void {
  const folder = join(outputsFolder(project, options), "store");
  if (!statOf(folder)) {
    throw new LockstepError(`Cannot trace anything: nothing was run in ${folder} yet`);
  }
  const store = new Store(folder);
  try {
    const index = readIndex(store);
    const trace = find(index, options.operands[0]!);
    if (options.json) {
      for (const part of ancestry(index, trace)) print(JSON.stringify({ event: "trace", ...part }));
    } else show(index, trace, print);
  } finally {
    store.close();
  }
}

function readIndex(store: Store): Index {
  const traces = [...store.traceKeys()].flatMap((key) => store.trace(key) ?? [])
    .sort((a, b) => a.started < b.started ? -1 : 1);
  const makers = new Map<string, Maker>();
  for (const trace of traces) {
    for (const [output, record] of Object.entries(trace.outputs)) {
      makers.set(record.sha256, { trace, output, record });
      if (record.kind !== "folder" || store.check(record.sha256) !== "ok") continue;
      for (const [path, { sha256 }] of Object.entries(store.manifest(record.sha256))) {
        makers.set(sha256, { trace, output: `${output}/${path}`, record });
      }
    }
  }
  return { traces, makers };
}

const SHORTEST_PREFIX = 6;

function find({ traces, makers }: Index, wanted: string): Trace {
  const named = traces.findLast((trace) => trace.instance === wanted);
  if (named) return named;
  const found = new Set<Trace>();
  if (/^[0-9a-f]+$/.test(wanted) && wanted.length >= SHORTEST_PREFIX) {
    for (const trace of traces) if (trace.key.startsWith(wanted)) found.add(trace);
    for (const [digest, { trace }] of makers) if (digest.startsWith(wanted)) found.add(trace);
  }
  const [only, ...others] = found;
  if (only && others.length === 0) return only;
  throw new ConfigError(
    only
      ? `Cannot trace "${wanted}": ${found.size} artifacts start with it; give more digits`
      : `Cannot trace "${wanted}": it must be an instance, a key or an artifact's digest (from ` +
        `${SHORTEST_PREFIX} digits on), and this store has none of that name`,
  );
}

/** The digests of a trace's inputs, by ingredient name. */
function inputsOf(trace: Trace): [string, Sha256][] {
  return Object.entries(trace.ingredients).flatMap(([name, value]) =>
    name.startsWith("inputs.") && isSha256(value)
      ? [[name.slice("inputs.".length), value] as [string, Sha256]]
      : []
  );
}

/** A trace and all it came from, each once, nearest first. */
function ancestry({ makers }: Index, trace: Trace): Trace[] {
  const found = new Set<Trace>([trace]);
  for (const each of found) {
    for (const [, digest] of inputsOf(each)) {
      const maker = makers.get(digest);
      if (maker) found.add(maker.trace);
    }
  }
  return [...found];
}

function show(index: Index, start: Trace, print: (line: string) => void): void {
  const shown = new Set<Trace>();
  const visit = (trace: Trace, via: string, depth: number): void => {
    const indent = "  ".repeat(depth);
    const again = shown.has(trace);
    print(`${indent}${via}${trace.instance}${again ? "  (shown above)" : ""}`);
    if (again) return;
    shown.add(trace);
    print(`${indent}    key      ${trace.key}`);
    print(`${indent}    made     ${trace.started} in ${trace.seconds} s, for ${trace.run}`);
    print(`${indent}    code     ${trace.ingredients["code"]}`);
    const params = Object.entries(trace.ingredients).filter(([name]) => name.startsWith("params."));
    for (const [name, value] of params.slice(0, MOST_PARAMS)) {
      print(`${indent}    param    ${name.slice("params.".length)} = ${value}`);
    }
    if (params.length > MOST_PARAMS) {
      print(`${indent}    param    and ${params.length - MOST_PARAMS} more: --json shows all`);
    }
    for (const [name, value] of Object.entries(trace.metrics)) {
      print(`${indent}    metric   ${name} = ${value}`);
    }
    for (const [name, { sha256, bytes, exactness }] of Object.entries(trace.outputs)) {
      print(`${indent}    output   ${name}  ${sha256}  ${bytes} bytes, ${exactness}`);
    }
    for (const [name, digest] of inputsOf(trace)) {
      const maker = index.makers.get(digest);
      if (maker) visit(maker.trace, `${name} ← `, depth + 1);
      else print(`${indent}  ${name} ← ${digest}, of which this store has no trace`);
    }
  };
  visit(start, "", 0);
}

const MOST_PARAMS = 24;
