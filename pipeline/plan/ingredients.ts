/**
 * The ingredients of an instance's key.
 *
 * @module
 */
import { canonicalJson, type Json } from "../key/canonical.ts";
import type { Sha256 } from "../key/hash.ts";
import { flatten, type Ingredients } from "../key/ingredients.ts";
import type { Trace } from "../store/trace.ts";
import type { Instance } from "./graph.ts";

/** Digests of an instance's input artifacts: input name to `[label, digest]`, in binding order. */
export type InputDigests = Readonly<Record<string, readonly (readonly [string, Sha256])[]>>;

/**
 * All ingredients of an instance: those of its stage, the params its schema names, save those that
 * are operational, and the content of its inputs. Not the keys of upstream instances: equal content
 * cuts a change off.
 */
export function ingredientsOf(
  instance: Instance,
  shared: Ingredients,
  inputs: InputDigests,
): Ingredients {
  const ingredients: Record<string, string> = { ...shared };
  flatten("params", keyedParams(instance), ingredients);
  for (const [input, digests] of Object.entries(inputs)) {
    const many = isMany(instance, input);
    if (many && digests.length === 0) ingredients[`inputs.${input}`] = "none";
    // A stage sees the coordinates of what it gathers, so they count; of a single input it does not.
    for (const [label, digest] of digests) {
      ingredients[inputIngredient(instance, input, label)] = digest;
    }
  }
  return ingredients;
}

/** What the digest of an input's artifact is called among the ingredients. */
export function inputIngredient(instance: Instance, input: string, label: string): string {
  return isMany(instance, input) ? `inputs.${input}[${label}]` : `inputs.${input}`;
}

function isMany({ node }: Instance, input: string): boolean {
  return node.stage.inputs[input]?.many === true;
}

/** An instance's params without those that never change what it makes. */
function keyedParams({ node, params }: Instance): Json {
  const operational: readonly string[] = node.stage.operational ?? [];
  if (operational.length === 0) return params;
  return Object.fromEntries(
    Object.entries(params!).filter(([name]) => !operational.includes(name)),
  );
}

/** The digests of the artifacts bound to an instance, from the outputs of its upstream. */
export function inputDigests(
  instance: Instance,
  outputs: (upstream: Instance) => Trace["outputs"],
): InputDigests {
  return Object.fromEntries(
    Object.entries(instance.inputs).map(([input, bindings]) => [
      input,
      bindings.map((binding) =>
        [binding.label, outputs(binding.instance)[binding.output]!.sha256] as const
      ),
    ]),
  );
}

/** What a gathered artifact is, as text: `evaluate.metrics{"dataset":"reviews","seed":"0"}`. */
export function label({ node, at: coordinates }: Instance, output: string): string {
  const at = Object.entries(coordinates).map(([axis, value]) => [axis, String(value)]);
  return `${node.name}.${output}${canonicalJson(Object.fromEntries(at))}`;
}
