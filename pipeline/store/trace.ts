/**
 * Traces: what a key produced, from which ingredients, how long it took and where.
 *
 * @module
 */
import { isSha256, type Sha256, sha256 } from "../key/hash.ts";
import type { Exactness } from "../stage.ts";
import type { Unlike } from "../event.ts";
import { type Ingredients, keyOf } from "../key/ingredients.ts";
import { canonicalJson } from "../key/canonical.ts";
import { isPlainPath } from "../files.ts";
import { isCount, isDigest, isRecord, isRecordOf, isText } from "./shape.ts";

/** One output as it was made. */
export interface OutputRecord {
  /** Digest of the file; of a folder, digest of its {@linkcode Manifest}. */
  readonly sha256: Sha256;
  readonly bytes: number;
  readonly kind: "file" | "folder";
  readonly exactness: Exactness;
}

/** What a key produced. Timings and dates are here, never in an artifact. */
export interface Trace {
  readonly key: Sha256;
  readonly instance: string;
  readonly stage: string;
  /** The experiment and profile it was made for, `fusion.smoke`: for estimates and comparisons. */
  readonly run: string;
  readonly ingredients: Ingredients;
  /** Digests of the source files behind the code fingerprint, to name the file that changed. */
  readonly sources: Readonly<Record<string, Sha256>>;
  readonly outputs: Readonly<Record<string, OutputRecord>>;
  readonly metrics: Readonly<Record<string, number>>;
  /** ISO 8601, UTC. */
  readonly started: string;
  readonly seconds: number;
  /** The computer, and the backend of a numeric stage: for people. */
  readonly machine: Readonly<Record<string, string>>;
  /** Where it came from, if it was not made here: then what it names may still be there alone. */
  readonly received?: Received;
}

/** Where a trace came from. */
export interface Received {
  /** A shared cache's address. */
  readonly from: string;
  /** The id of the trusted key that signed it, where one was asked for. */
  readonly signedBy?: string;
}

/** Something a trace names: the code that ran, or an output. */
export type Named = Pick<OutputRecord, "sha256" | "kind"> & Partial<Pick<OutputRecord, "bytes">>;

/** Whether a program was the stage: its code is files, and no module. */
export function isCommand({ ingredients }: Pick<Trace, "ingredients">): boolean {
  return ingredients["contract"]?.startsWith("command/") ?? false;
}

/** The code that a trace says ran: a stage's own module, and those of its packages. */
export function codeOf({ ingredients }: Trace): { code: Sha256; packages?: Sha256 } {
  const { code, packages } = ingredients as Readonly<Record<string, Sha256>>;
  return { code: code!, ...(packages === undefined ? {} : { packages }) };
}

/** The digests of a trace's inputs, by the input's name. */
export function inputsOf(trace: Trace): [string, Sha256][] {
  return Object.entries(trace.ingredients).flatMap(([name, value]) =>
    name.startsWith("inputs.") && isSha256(value)
      ? [[name.slice("inputs.".length), value] as [string, Sha256]]
      : []
  );
}

/** All that a trace names and the store holds for it. */
export function namedBy(trace: Trace): Named[] {
  const { code, packages } = codeOf(trace);
  return [
    { kind: "file", sha256: code },
    ...(packages === undefined ? [] : [{ kind: "folder", sha256: packages } as const]),
    ...Object.values(trace.outputs),
  ];
}

/**
 * The outputs and metrics in which two traces of one key differ though they must not: all outputs but
 * measured ones, and the metrics of a stage that has none such.
 */
export function unlikeResults(first: Trace, again: Trace): Unlike[] {
  const outputs = Object.entries(again.outputs).filter(([, { exactness }]) =>
    exactness !== "measured"
  );
  const found = outputs.map(([name, { sha256 }]): Unlike => ({
    what: "output",
    name,
    first: first.outputs[name]?.sha256 ?? "none",
    again: sha256,
  }));
  if (outputs.length === Object.keys(again.outputs).length) {
    const [before, now] = [first, again].map(({ metrics }) => new Map(Object.entries(metrics)));
    for (const name of new Set([...before!.keys(), ...now!.keys()])) {
      const [value, other] = [before, now].map((metrics) => String(metrics!.get(name) ?? "none"));
      found.push({ what: "metric", name, first: value!, again: other! });
    }
  }
  return found.filter(({ first, again }) => first !== again);
}

/** A place in which a record is not what the ingredients of its key say. */
export interface Disagreement {
  readonly what: "key" | "stage" | "outputs";
  readonly where: string;
  readonly expected: string;
  readonly found: string;
}

/** Where a record and its ingredients disagree: they must give its key, and say its stage and outputs. */
export function* disagreements(
  { key, stage, ingredients, outputs }: Pick<Trace, "key" | "stage" | "ingredients" | "outputs">,
): Generator<Disagreement> {
  const given = keyOf(ingredients);
  if (given !== key) {
    yield { what: "key", where: "key from its ingredients", expected: given, found: key };
  }
  const declared = ingredients["stage"];
  if (declared !== stage) {
    yield { what: "stage", where: "stage", expected: declared ?? "an ingredient", found: stage };
  }
  const made: ReadonlyMap<string, string> = new Map(
    Object.entries(outputs).map(([name, { kind, exactness }]) =>
      [`outputs.${name}`, `${kind}, ${exactness}`] as const
    ),
  );
  for (const [where, found] of made) {
    const expected = ingredients[where] ?? "an ingredient";
    if (expected !== found) yield { what: "outputs", where, expected, found };
  }
  for (const where of Object.keys(ingredients)) {
    if (!where.startsWith("outputs.") || made.has(where)) continue;
    yield { what: "outputs", where, expected: "an output", found: "none" };
  }
}

/** A folder's content: relative path to digest and size, sorted by path. */
export type Manifest = Readonly<
  Record<string, { readonly sha256: Sha256; readonly bytes: number }>
>;

/** The bytes a manifest is stored as; their digest is the folder's. */
export function manifestText(manifest: Manifest): string {
  return `${canonicalJson(manifest)}\n`;
}

/** The digest of a folder's content. */
export function manifestHash(manifest: Manifest): Sha256 {
  return sha256(manifestText(manifest));
}

/**
 * The trace that a parsed text holds; `undefined` if it is none. A trace may come from another store,
 * and whoever uses one relies on its form.
 */
export function toTrace(value: unknown): Trace | undefined {
  if (!isRecord(value)) return undefined;
  const { key, instance, stage, run, started, seconds } = value;
  const { ingredients, sources, outputs, metrics, machine, received } = value;
  const isTrace = isDigest(key) && [instance, stage, run, started].every(isText) &&
    isCount(seconds) && isRecordOf(ingredients, isText) && isDigest(ingredients["code"]) &&
    (ingredients["packages"] === undefined || isDigest(ingredients["packages"])) &&
    isRecordOf(sources, isDigest) && isRecordOf(outputs, isOutput) &&
    isRecordOf(metrics, Number.isFinite) && isRecordOf(machine, isText) &&
    (received === undefined || isRecord(received) && isText(received["from"]) &&
        (received["signedBy"] === undefined || isText(received["signedBy"])));
  return isTrace ? value as unknown as Trace : undefined;
}

/**
 * The manifest in a text; `undefined` if it is none: each path must lead to a place in the folder, and
 * to one alone.
 */
export function toManifest(text: string): Manifest | undefined {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return undefined;
  }
  if (
    !isRecordOf(
      value,
      (entry) => isRecord(entry) && isDigest(entry["sha256"]) && isCount(entry["bytes"]),
    )
  ) {
    return undefined;
  }
  return Object.keys(value).every(isPlainPath) ? value as Manifest : undefined;
}

/** The outputs of a trace in a text; `undefined` if there are none in it. */
export function toOutputs(text: string): Trace["outputs"] | undefined {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return undefined;
  }
  return isRecordOf(value, isOutput) ? value as Trace["outputs"] : undefined;
}

/** Whether a parsed value is an output of a trace. */
export function isOutput(value: unknown): boolean {
  return isRecord(value) && isDigest(value["sha256"]) && isCount(value["bytes"]) &&
    (value["kind"] === "file" || value["kind"] === "folder") &&
    /^(exact|numeric|measured)$/.test(String(value["exactness"]));
}
