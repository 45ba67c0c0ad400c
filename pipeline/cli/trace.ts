/**
 * `trace WHAT`: follows an instance, a key or an artifact's digest back to the first bytes.
 *
 * @module
 */
import { allTraces, ancestry, type Makers, makersOf, manifestsOf } from "../views/ancestry.ts";
import { LockstepError, UsageError } from "../errors.ts";
import { shorten } from "../key/shorten.ts";
import { inputsOf, type Trace } from "../store/trace.ts";
import { wrapping } from "./layout.ts";
import type { Options } from "./options.ts";
import type { Print, Project } from "./project.ts";
import { openStore, outputsFolder } from "./session.ts";

/** Every trace of a store, oldest first, and what made each digest. */
interface Index {
  readonly traces: readonly Trace[];
  readonly makers: Makers;
}

/**
 * Prints a trace and, indented below it, those of its inputs.
 *
 * @throws {UsageError} If nothing in the store goes by that name or digest, or several do.
 */
export async function showTrace(project: Project, options: Options, print: Print): Promise<void> {
  const store = openStore(project, options, print);
  if (!store) {
    const outputs = outputsFolder(project, options);
    throw new LockstepError(`Cannot trace anything: nothing was run in ${outputs} yet`);
  }
  try {
    const traces = await allTraces(store);
    const index: Index = { traces, makers: makersOf(traces, await manifestsOf(traces, store)) };
    const trace = find(index, options.operands[0]);
    if (options.json) {
      for (const part of ancestry([trace], index.makers)) {
        print(JSON.stringify({ event: "trace", ...part }));
      }
    } else show(index, trace, wrapping(print));
  } finally {
    store.close();
  }
}

const MIN_PREFIX = 6;

function find({ traces, makers }: Index, wanted: string | undefined): Trace {
  if (wanted === undefined) {
    const example = traces.at(-1)?.instance ?? "train";
    throw new UsageError(
      `Cannot run "trace": it needs an instance, a key or an artifact's digest, e.g. ${example}`,
    );
  }
  const named = traces.findLast((trace) => trace.instance === wanted);
  if (named) return named;
  const found = new Set<Trace>();
  if (/^[0-9a-f]+$/.test(wanted) && wanted.length >= MIN_PREFIX) {
    for (const trace of traces) if (trace.key.startsWith(wanted)) found.add(trace);
    for (const [digest, made] of makers) {
      if (digest.startsWith(wanted)) found.add(made.at(-1)!.trace);
    }
  }
  const [only, ...others] = found;
  if (only && others.length === 0) return only;
  throw new UsageError(
    only
      ? `Cannot trace "${wanted}": ${found.size} artifacts start with it; give more digits`
      : `Cannot trace "${wanted}": it must be an instance, a key or an artifact's digest (from ` +
        `${MIN_PREFIX} digits on), and this store has none of that name`,
  );
}

function show(index: Index, start: Trace, print: Print): void {
  const shown = new Set<Trace>();
  const visit = (trace: Trace, via: string, depth: number): void => {
    const indent = "  ".repeat(depth);
    const again = shown.has(trace);
    print(`${indent}${via}${trace.instance}${again ? "  (shown above)" : ""}`);
    if (again) return;
    shown.add(trace);
    print(`${indent}    key      ${shorten(trace.key)}`);
    print(`${indent}    made     ${trace.started} in ${trace.seconds} s, for ${trace.run}`);
    print(`${indent}    on       ${Object.values(trace.machine).join(", ")}`);
    print(`${indent}    code     ${shorten(trace.ingredients["code"])}`);
    const params = Object.entries(trace.ingredients).filter(([name]) => name.startsWith("params."));
    for (const [name, value] of params.slice(0, MAX_PARAMS)) {
      print(`${indent}    param    ${name.slice("params.".length)} = ${value}`);
    }
    if (params.length > MAX_PARAMS) {
      print(`${indent}    param    and ${params.length - MAX_PARAMS} more: --json shows all`);
    }
    for (const [name, value] of Object.entries(trace.metrics)) {
      print(`${indent}    metric   ${name} = ${value}`);
    }
    for (const [name, { sha256, bytes, exactness }] of Object.entries(trace.outputs)) {
      print(`${indent}    output   ${name}  ${shorten(sha256)}  ${bytes} bytes, ${exactness}`);
    }
    for (const [name, digest] of inputsOf(trace)) {
      const maker = index.makers.get(digest)?.at(-1);
      if (maker) visit(maker.trace, `${name} ← `, depth + 1);
      else print(`${indent}  ${name} ← ${shorten(digest)}, of which this store has no trace`);
    }
  };
  visit(start, "", 0);
}

const MAX_PARAMS = 24;
