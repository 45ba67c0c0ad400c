/**
 * The inputs in an audit file: each must be what an instance of the run made, of what is gathered the one
 * that the label names, and all that there is to gather.
 *
 * Names of instances have the values of their axes in an order of the experiment's, labels have them by
 * axis: the one order for each stage under which all labels name what made them is looked for.
 *
 * @module
 */
import { canonicalJson } from "../key/canonical.ts";
import { isSha256 } from "../key/hash.ts";
import type { Trace } from "../store/trace.ts";
import type { Report } from "./finding.ts";
import { coordinatesOf, inputsIn } from "./replay.ts";

/** An output of an instance, as something that an input may be. */
interface Maker {
  readonly instance: string;
  readonly output: string;
}

/** A gathered input. */
interface Gathered {
  readonly by: string;
  readonly input: string;
  readonly label: string;
  readonly node: string;
  readonly output: string;
  readonly at: Readonly<Record<string, string>>;
  /** Values in the names of the instances that made this content, and of which it may be. */
  readonly made: readonly (readonly string[])[];
}

type Traces = ReadonlyMap<string, Trace>;
/** The axes of a stage's instances, in the order in which names have their values. */
type Orders = ReadonlyMap<string, readonly string[]>;

/** See the module's comment. */
export function checkInputs(traces: Traces, report: Report): void {
  const makers = makersIn(traces);
  const gathered: Gathered[] = [];
  for (const [instance, trace] of traces) {
    checkForm(instance, trace, report);
    for (const { name, digest, label } of inputsIn(trace)) {
      const made = makers.get(digest) ?? [];
      const one = label === undefined ? undefined : gatheredAs(label, made);
      const where = placeOf(instance, name, label);
      if (made.length === 0) {
        const expected = "what an instance of the run made";
        report({ what: "input", where, expected, found: digest });
      } else if (one !== undefined && one.made.length > 0) {
        gathered.push({ by: instance, input: name, ...one });
      } else if (label !== undefined) {
        report({ what: "input", where, expected: NAMED, found: shown(made) });
      }
    }
  }
  const orders = ordersOf(gathered, report);
  checkWhole(gathered, { traces, orders, report });
  checkSingle(traces, { makers, orders, report });
}

const NAMED = "made by what its label names";

function placeOf(instance: string, input: string, label?: string): string {
  return `${instance}, input ${input}${label === undefined ? "" : ` [${label}]`}`;
}

function shown(makers: readonly Maker[]): string {
  return makers.map(({ instance, output }) => `${output} of ${instance}`).join(", ");
}

/** What made each digest. */
function makersIn(traces: Traces): Map<string, Maker[]> {
  const makers = new Map<string, Maker[]>();
  for (const [instance, { outputs }] of traces) {
    for (const [output, { sha256 }] of Object.entries(outputs)) {
      const known = makers.get(sha256);
      if (known === undefined) makers.set(sha256, [{ instance, output }]);
      else known.push({ instance, output });
    }
  }
  return makers;
}

/** An ingredient of an input that is read as none would be one that nobody compares. */
function checkForm(instance: string, trace: Trace, report: Report): void {
  const read = new Set(inputsIn(trace).map(({ name, label }) => ingredientOf(name, label)));
  for (const [name, value] of Object.entries(trace.ingredients)) {
    if (!name.startsWith("inputs.") || read.has(name)) continue;
    const input = name.slice("inputs.".length);
    const isEmpty = value === "none" && /^[a-z0-9_]+$/.test(input) &&
      !inputsIn(trace).some((other) => other.name === input);
    if (isEmpty) continue;
    const expected = isSha256(value) ? "the name of an input" : "a digest";
    report({ what: "input", where: `${instance}, ${name}`, expected, found: value });
  }
}

function ingredientOf(name: string, label: string | undefined): string {
  return label === undefined ? `inputs.${name}` : `inputs.${name}[${label}]`;
}

/** A label, `evaluate.metrics{"seed":"0"}`, and what of the makers may be meant; `undefined` if it is none. */
function gatheredAs(
  label: string,
  makers: readonly Maker[],
): Omit<Gathered, "by" | "input"> | undefined {
  const [, node, output] = /^([a-z0-9_]+)\.([a-z0-9_]+)\{/.exec(label) ?? [];
  const at = coordinatesOf(label);
  if (node === undefined || output === undefined || at === undefined) return undefined;
  // Written in two ways, one result could count twice.
  if (label !== `${node}.${output}${canonicalJson(at)}`) return undefined;
  const values = Object.values(at).sort().join("/");
  const made = makers.flatMap(({ instance, output: made }) => {
    const [from, ...parts] = instance.split("/");
    return from === node && made === output && parts.toSorted().join("/") === values ? [parts] : [];
  });
  return { label, node, output, at, made };
}

/** The order of each stage's axes; reports the labels that fit none that fits those before them. */
function ordersOf(gathered: readonly Gathered[], report: Report): Orders {
  const orders = new Map<string, readonly string[]>();
  for (const [node, labels] of Map.groupBy(gathered, ({ node }) => node)) {
    const whole = orderOf(labels);
    if (whole !== undefined) {
      orders.set(node, whole);
      continue;
    }
    const fitting: Gathered[] = [];
    for (const one of labels) {
      if (orderOf([...fitting, one]) !== undefined) fitting.push(one);
      else {
        const where = placeOf(one.by, one.input, one.label);
        const found = one.made.map((parts) => [node, ...parts].join("/")).join(", ");
        report({ what: "input", where, expected: `${NAMED}, with axes as in other labels`, found });
      }
    }
    orders.set(node, orderOf(fitting)!);
  }
  return orders;
}

/** An order of axes under which each label is that of something that made it; `undefined` if there is none. */
function orderOf(
  labels: readonly Gathered[],
  order: readonly string[] = [],
): readonly string[] | undefined {
  const axes = Object.keys(labels[0]?.at ?? {});
  if (order.length === axes.length) {
    return labels.every(({ at }) => Object.keys(at).length === axes.length) ? order : undefined;
  }
  for (const axis of axes.filter((axis) => !order.includes(axis))) {
    const left = labels.map((one) => ({
      ...one,
      made: one.made.filter((parts) => parts[order.length] === one.at[axis]),
    }));
    if (left.some(({ made }) => made.length === 0)) continue;
    const found = orderOf(left, [...order, axis]);
    if (found !== undefined) return found;
  }
  return undefined;
}

interface Known {
  readonly traces: Traces;
  readonly orders: Orders;
  readonly report: Report;
}

/** What gathers takes all that agrees with it, so that no result can be left out that the run has. */
function checkWhole(gathered: readonly Gathered[], { traces, orders, report }: Known): void {
  const sets = Map.groupBy(
    gathered,
    ({ by, input, node, output }) => `${by} ${input} ${node}.${output}`,
  );
  const byNode = Map.groupBy(traces.keys(), (instance) => instance.split("/")[0]!);
  for (const labels of sets.values()) {
    const { by, input, node, output } = labels[0]!;
    const own = new Set(by.split("/").slice(1));
    // An instance shares its coordinates with what it gathers; which of its values are such is not known.
    const common = Object.entries(labels[0]!.at).filter(([axis, value]) =>
      own.has(value) && labels.every(({ at }) => at[axis] === value)
    );
    const taken = new Set(labels.map(({ label }) => label));
    for (const instance of byNode.get(node) ?? []) {
      const at = coordinatesIn(instance, orders);
      if (at === undefined || !common.every(([axis, value]) => at[axis] === value)) continue;
      const label = `${node}.${output}${canonicalJson(at)}`;
      if (taken.has(label) || !Object.hasOwn(traces.get(instance)!.outputs, output)) continue;
      const expected = `${output} of ${instance}, which the run has`;
      report({ what: "input", where: placeOf(by, input, label), expected, found: "nothing" });
    }
  }
}

/** What takes one artifact takes it from where it is itself, on the axes that both have. */
function checkSingle(
  traces: Traces,
  { makers, orders, report }: Omit<Known, "traces"> & {
    readonly makers: ReadonlyMap<string, readonly Maker[]>;
  },
): void {
  for (const [instance, trace] of traces) {
    const own = coordinatesIn(instance, orders);
    if (own === undefined) continue;
    for (const { name, digest, label } of inputsIn(trace)) {
      const made = makers.get(digest) ?? [];
      const fits = (maker: Maker) => {
        const at = coordinatesIn(maker.instance, orders) ?? {};
        return Object.entries(at).every(([axis, value]) => (own[axis] ?? value) === value);
      };
      if (label !== undefined || made.length === 0 || made.some(fits)) continue;
      const expected = `made where ${instance} is, on the axes that both have`;
      report({ what: "input", where: placeOf(instance, name), expected, found: shown(made) });
    }
  }
}

/** The coordinates of an instance, if its stage's axes are known. */
function coordinatesIn(instance: string, orders: Orders): Record<string, string> | undefined {
  const [node = "", ...values] = instance.split("/");
  const order = orders.get(node);
  if (order?.length !== values.length) return undefined;
  return Object.fromEntries(order.map((axis, at) => [axis, values[at]!]));
}
