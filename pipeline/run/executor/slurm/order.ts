/**
 * An order as data that another machine can be handed: all that an instance is made from, by digests of
 * what is in the store. What the project's stages and experiments become meanwhile makes no difference
 * to it; the engine is the one that the job finds.
 *
 * @module
 */
import type { Json } from "../../../key/canonical.ts";
import type { Bundle } from "../../../key/bundle_format.ts";
import type { Sha256 } from "../../../key/hash.ts";
import { type Ingredients, keyOf } from "../../../key/ingredients.ts";
import type { Platform } from "../../../key/platform.ts";
import { LockstepError } from "../../../errors.ts";
import type { Instance } from "../../../plan/graph.ts";
import type { Access, Resources, Stage } from "../../../stage.ts";
import { isRecord } from "../../../store/shape.ts";
import type { OutputRecord, Trace } from "../../../store/trace.ts";
import type { QueueOrder } from "../../queue.ts";

/** What all orders of a run have in common. */
export interface RunFacts {
  /** `fusion.smoke`. */
  readonly run: string;
  /** The project's root, where pins are. */
  readonly root: string;
  /** Whether what downloads show for the first time is pinned. */
  readonly keepPins: boolean;
  /** Whether commands run without a cage. */
  readonly uncaged: boolean;
}

/** See the module's comment. */
export interface JobOrder extends RunFacts {
  readonly key: Sha256;
  readonly ingredients: Ingredients;
  readonly bundle: Bundle;
  readonly platform: Platform;
  readonly mirror?: string;
  readonly forced: boolean;
  readonly instance: string;
  readonly params: Json;
  readonly stage: Omit<Stage, "params" | "access" | "settle" | "check" | "preview">;
  readonly access: Access;
  readonly resources: Resources;
  readonly inputs: Readonly<Record<string, readonly JobInput[]>>;
}

interface JobInput {
  readonly instance: string;
  readonly at: Instance["at"];
  readonly output: string;
  readonly label: string;
  readonly record: OutputRecord;
}

/** The order as data. */
export function toJobOrder(order: QueueOrder, facts: RunFacts): JobOrder {
  const { instance, key, ingredients, bundle, platform, outputs, mirror, forced } = order;
  const { params: _, access, settle: _1, check: _2, preview: _3, ...stage } = instance.node.stage;
  const inputs = Object.entries(instance.inputs).map(([name, bindings]) => [
    name,
    bindings.map(({ instance: from, output, label }): JobInput => ({
      ...{ instance: from.name, at: from.at, output, label },
      record: outputs(from)[output]!,
    })),
  ]);
  return {
    ...facts,
    ...{ key, ingredients, bundle, platform, forced, stage },
    ...(mirror === undefined ? {} : { mirror }),
    instance: instance.name,
    params: instance.params,
    access: access?.(instance.params) ?? {},
    resources: instance.node.resources,
    inputs: Object.fromEntries(inputs),
  };
}

/**
 * The order in the text of a file.
 *
 * @throws {LockstepError} If it is none, or its ingredients do not have its key.
 */
export function readJobOrder(text: string, path: string): JobOrder {
  const damaged = (rule: string) =>
    new LockstepError(
      `Cannot take the order of a Slurm job: ${path} must ${rule}; cancel the job with scancel, remove ` +
        "that file, and run again",
    );
  let order: JobOrder;
  try {
    order = JSON.parse(text);
  } catch {
    throw damaged("be JSON, and is not");
  }
  if (!isRecord(order) || !isRecord(order.ingredients) || keyOf(order.ingredients) !== order.key) {
    throw damaged("have the ingredients of its key, and has others");
  }
  return order;
}

/** An order as the engine takes it. */
export function fromJobOrder(order: JobOrder): RunFacts & QueueOrder {
  const { access, inputs, stage, params, instance: name, mirror, resources, ...rest } = order;
  const upstream = new Map<string, { instance: Instance; outputs: Record<string, OutputRecord> }>();
  const bind = ({ instance: from, at, output, label, record }: JobInput) => {
    const known = upstream.get(from) ?? { instance: bareInstance({ name: from, at }), outputs: {} };
    upstream.set(from, known);
    known.outputs[output] = record;
    return { instance: known.instance, output, label };
  };
  const instance = bareInstance({
    ...{ name, params, resources },
    // Its params are valid, and need no schema.
    stage: { ...stage, access: () => access } as unknown as Stage,
    inputs: Object.fromEntries(
      Object.entries(inputs).map(([input, bound]) => [input, bound.map(bind)]),
    ),
  });
  return {
    ...rest,
    instance,
    mirror,
    outputs: (from): Trace["outputs"] => upstream.get(from.name)!.outputs,
  };
}

function bareInstance(
  { name, at = {}, params = {}, stage, inputs = {}, resources = {} }:
    & Pick<Instance, "name">
    & Partial<Pick<Instance, "at" | "params" | "inputs">>
    & { readonly stage?: Stage; readonly resources?: Resources },
): Instance {
  // Of an instance that only feeds another one, nothing but name and place is asked.
  const declared = stage ?? { name, inputs: {}, outputs: {} } as unknown as Stage;
  return {
    ...{ name, at, params, inputs },
    node: { name: declared.name, stage: declared, each: [], inputs: {}, resources, slurm: {} },
  };
}
