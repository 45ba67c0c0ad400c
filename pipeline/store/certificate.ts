/**
 * Certificates: what came out when an instance was executed again, past all caches, under other
 * circumstances. One holds observations alone; grades follow from them whenever they are asked for, so
 * that no grade can disagree with what was seen.
 *
 * @module
 */
import { type Ingredients, platformName } from "../key/ingredients.ts";
import type { Sha256 } from "../key/hash.ts";
import type { Exactness } from "../stage.ts";
import { canonicalJson } from "../key/canonical.ts";
import { isCount, isDigest, isRecord, isRecordOf, isText } from "./shape.ts";
import { disagreements, isOutput, type Trace } from "./trace.ts";

/** What a usual run keeps the same, or nobody chooses, and an execution can be given another of. */
export const CIRCUMSTANCES = [
  "folder",
  "HOME",
  "time zone",
  "locale",
  "clock",
  "jobs",
  "memory",
  "CPU load",
] as const;
/** One of them. */
export type Circumstance = (typeof CIRCUMSTANCES)[number];

/** How another content of an output differs from the certified one. */
export interface Difference {
  /** Whether both say the same but for numbers, all of them finite. */
  readonly onlyNumbers: boolean;
  /** Of two numbers, and in proportion to the largest of those that belong together. */
  readonly largest: number;
  readonly relative: number;
  /** How many elements differ. */
  readonly count: number;
  readonly first: {
    /** `weights[12]`, `curve.train_loss[3]`. */
    readonly at: string;
    /** The step or epoch, where the table counts such. */
    readonly step?: number;
    readonly was: string;
    readonly is: string;
  };
}

/** An output as an execution left it. */
export interface Seen {
  readonly sha256: Sha256;
  /** Absent where the bits are the certified ones, or say the same. */
  readonly difference?: Difference;
}

/** One execution. */
export interface Execution {
  /** What was not as usual: the circumstance, and what it was. */
  readonly varied: Readonly<Partial<Record<Circumstance, string>>>;
  /** `platform.*`, where it was another than the key's. */
  readonly platform?: Ingredients;
  readonly outputs: Readonly<Record<string, Seen>>;
  readonly metrics: Readonly<Record<string, number>>;
}

/** See the module's comment. */
export interface Certificate
  extends
    Pick<Trace, "key" | "instance" | "stage" | "run" | "ingredients" | "outputs" | "metrics"> {
  /** The computer that executed it. */
  readonly machine: string;
  readonly executions: readonly Execution[];
}

/** From best to worst, but for `measured`, which says that nothing is promised. */
export const GRADES = [
  "bit-exact",
  "exact on this platform",
  "numeric",
  "stochastic",
  "measured",
] as const;
/** How far an output was found to be reproducible. */
export type GradeName = (typeof GRADES)[number];

/** A grade and what it rests on. */
export interface Grade {
  readonly grade: GradeName;
  /** The largest difference that was seen, if any was. */
  readonly difference?: Difference;
  /** What moves the output; empty where it also moves by itself, or does not move here. */
  readonly movedBy: readonly Circumstance[];
  /** Whether it has the bits that were certified on each platform tried, and which were. */
  readonly platforms: readonly string[];
}

/** On one platform, numbers that differ by more than this part of the largest are not rounding. */
const ROUNDING = 1e-3;

/** Grades an output by what was seen of it. */
export function gradeOf(certificate: Certificate, output: string): Grade {
  const { exactness, sha256 } = certificate.outputs[output]!;
  const seen = certificate.executions.map((execution) => ({
    ...{ execution, other: execution.outputs[output]!.sha256 !== sha256 },
    difference: execution.outputs[output]!.difference,
  }));
  const elsewhere = seen.filter(({ execution }) => execution.platform !== undefined);
  const here = seen.filter(({ execution }) => execution.platform === undefined);
  const differing = seen.filter(({ other }) => other);
  const worst = differing.flatMap(({ difference }) => difference ?? [])
    .sort((a, b) => Number(a.onlyNumbers) - Number(b.onlyNumbers) || b.relative - a.relative)[0];
  const grade = (name: GradeName): Grade => ({
    grade: name,
    ...(worst === undefined ? {} : { difference: worst }),
    movedBy: movedBy(here),
    platforms: [...new Set(elsewhere.map(({ execution }) => platformName(execution.platform!)!))],
  });
  if (exactness === "measured") return grade("measured");
  if (here.some(({ other, difference }) => other && !isRounding(exactness, difference))) {
    return grade("stochastic");
  }
  if (here.some(({ other }) => other)) return grade("numeric");
  const isBound = certificate.ingredients["platform.backend"] !== undefined;
  if (!elsewhere.some(({ other }) => other)) {
    return grade(isBound && elsewhere.length === 0 ? "exact on this platform" : "bit-exact");
  }
  return grade(worst?.onlyNumbers === false ? "exact on this platform" : "numeric");
}

function isRounding(exactness: Exactness, difference: Difference | undefined): boolean {
  return exactness === "numeric" &&
    (difference === undefined || difference.onlyNumbers && difference.relative <= ROUNDING);
}

/** The circumstances that move an output which stays as it is while nothing is varied. */
function movedBy(
  here: readonly { readonly execution: Execution; readonly other: boolean }[],
): Circumstance[] {
  const varied = ({ varied }: Execution) => Object.keys(varied) as Circumstance[];
  if (here.some(({ execution, other }) => other && varied(execution).length === 0)) return [];
  const moving = here.filter(({ other }) => other).map(({ execution }) => varied(execution));
  const alone = moving.filter(({ length }) => length === 1).flat();
  return [...new Set(alone.length > 0 ? alone : moving.flat())];
}

/**
 * Whether every execution on the platform of the key left the certified bits, but of what is measured: a
 * key promises no less.
 */
export function isKept({ outputs, executions }: Certificate): boolean {
  return executions.filter(({ platform }) => platform === undefined).every((execution) =>
    Object.entries(outputs).every(([name, { exactness, sha256 }]) =>
      exactness === "measured" || execution.outputs[name]!.sha256 === sha256
    )
  );
}

/** The largest difference of each metric that was seen: nothing smaller says anything. */
export function noiseFloor({ metrics, executions }: Certificate): Record<string, number> {
  return Object.fromEntries(
    Object.entries(metrics).map(([name, value]) => [
      name,
      Math.max(0, ...executions.map(({ metrics }) => Math.abs((metrics[name] ?? value) - value))),
    ]),
  );
}

/** What was varied in any execution, in a fixed order. */
export function variedIn({ executions }: Certificate): Circumstance[] {
  return CIRCUMSTANCES.filter((name) => executions.some(({ varied }) => name in varied));
}

/** Whether a certificate is of the very result that a trace holds. */
export function isOf(certificate: Certificate, trace: Trace): boolean {
  return resultText(certificate) === resultText(trace);
}

/** What a certificate and its trace must agree on. */
function resultText(
  { key, instance, stage, outputs, metrics }: Omit<Certificate, "machine" | "executions">,
): string {
  const made = Object.entries(outputs).map(([name, { sha256, kind, exactness }]) =>
    [name, { sha256, kind, exactness }] as const
  );
  return canonicalJson([key, instance, stage, Object.fromEntries(made), metrics]);
}

/** The certificate that a parsed text holds; `undefined` if it is none. */
export function toCertificate(value: unknown): Certificate | undefined {
  if (!isRecord(value)) return undefined;
  const { key, instance, stage, run, ingredients, outputs, metrics, machine, executions } = value;
  const isCertificate = isDigest(key) && [instance, stage, run, machine].every(isText) &&
    isRecordOf(ingredients, isText) && isRecordOf(outputs, isOutput) &&
    isRecordOf(metrics, Number.isFinite) && Array.isArray(executions) &&
    executions.every((execution) => isExecution(execution, Object.keys(outputs))) &&
    // Where nothing was executed on the platform of the key, nothing is known.
    executions.some(({ platform }) => platform === undefined);
  if (!isCertificate) return undefined;
  const certificate = value as unknown as Certificate;
  // Its ingredients say what it is of.
  const [problem] = disagreements(certificate);
  return problem ? undefined : certificate;
}

function isExecution(value: unknown, names: readonly string[]): boolean {
  if (!isRecord(value)) return false;
  const { varied, platform, outputs, metrics } = value;
  return isRecordOf(varied, isText) && isRecordOf(metrics, Number.isFinite) &&
    (platform === undefined ||
      isRecordOf(platform, isText) && isText(platform["platform.backend"])) &&
    isRecordOf(outputs, isSeen) && names.every((name) => Object.hasOwn(outputs, name));
}

function isSeen(value: unknown): boolean {
  if (!isRecord(value) || !isDigest(value["sha256"])) return false;
  const { difference } = value;
  if (difference === undefined) return true;
  if (!isRecord(difference) || !isRecord(difference["first"])) return false;
  const { onlyNumbers, largest, relative, count, first } = difference;
  const { at, was, is } = first as Readonly<Record<string, unknown>>;
  return typeof onlyNumbers === "boolean" && [largest, relative, count].every(isCount) &&
    [at, was, is].every(isText);
}
