/**
 * What a key is made from, and why each ingredient counts.
 *
 * @module
 */
import type { Bundle } from "./bundle_format.ts";
import { canonicalJson, type Json } from "./canonical.ts";
import { type Sha256, sha256 } from "./hash.ts";
import { describeMachine } from "./machine.ts";
import type { Platform } from "./platform.ts";
import { type Backend, COMMAND_CONTRACT, CONTRACT, type Stage } from "../stage.ts";

/** What a program rests on. */
export interface CommandPlatform {
  readonly ingredients: Ingredients;
}

/** Every ingredient of a key, by name: `params.learning_rate` to its value as JSON or a digest. */
export type Ingredients = Readonly<Record<string, string>>;

/** The key of a set of ingredients. */
export function keyOf(ingredients: Ingredients): Sha256 {
  // The canonical JSON of a record that holds nothing but text, in one call: there are many keys.
  const body = JSON.stringify(ingredients, Object.keys(ingredients).sort());
  return sha256(`lockstep/key/1\n${body}`);
}

/**
 * The ingredients all instances of a stage share. Of its declaration only what shows in a result: the
 * rest reaches the key through the values that it lets pass.
 */
export function stageIngredients(
  stage: Pick<Stage, "name" | "outputs" | "numeric" | "alone" | "command">,
  bundle: Bundle,
  platform: Platform | CommandPlatform,
): Ingredients {
  const { command } = stage;
  const ingredients: Record<string, string> = {
    // Two stages with equal code and params still are different steps.
    stage: stage.name,
    // What the stage computes.
    code: bundle.code,
    // How it is called: what its process hands it, and what it makes of what the stage leaves.
    contract: command ? COMMAND_CONTRACT : CONTRACT,
    // The runtime's own functions: JSON, Intl, Math, WebGPU, V8. A program has its own.
    ...(command ? {} : { deno: Deno.version.deno }),
  };
  // What a result consists of, and how it is compared.
  for (const [name, { kind, exactness }] of Object.entries(stage.outputs)) {
    ingredients[`outputs.${name}`] = `${kind}, ${exactness}`;
  }
  // What was timed beside other work says something else.
  if (stage.alone) ingredients.alone = "true";
  // What the stage's code calls but does not contain.
  if (bundle.packages !== undefined) ingredients["packages"] = bundle.packages;
  // Float arithmetic differs between backends, adapters and drivers; a program differs in whatever it is.
  if (stage.numeric || command) Object.assign(ingredients, platform.ingredients);
  // What one computer measured says nothing of another; nor do the floats of a program, which may take
  // other instructions there, or as many threads as there are processors.
  const measures = Object.values(stage.outputs).some(({ exactness }) =>
    exactness === "measured" || command && exactness === "numeric"
  );
  if (measures) ingredients["machine"] = describeMachine();
  return ingredients;
}

/**
 * The key that a numeric result has on a backend, as far as that alone decides it: an adapter's results
 * have keys of their own, and a shared cache has them under this one too. `undefined` if the result is
 * of no platform.
 */
export function keyOnBackend(ingredients: Ingredients, backend: Backend): Sha256 | undefined {
  if (ingredients["platform.backend"] === undefined) return undefined;
  const others = Object.entries(ingredients).filter(([name]) => !name.startsWith("platform."));
  return keyOf({ ...Object.fromEntries(others), "platform.backend": backend });
}

/** The platform of a numeric result, for people; `undefined` of any other. */
export function platformName(ingredients: Ingredients): string | undefined {
  const { "platform.backend": backend, "platform.adapter": adapter } = ingredients;
  return adapter === undefined ? backend : `${backend} (${adapter})`;
}

/** Writes each leaf of `value` under its path. Distinct values give distinct sets of entries. */
export function flatten(path: string, value: Json, into: Record<string, string>): void {
  if (value === null || typeof value !== "object") {
    into[path] = canonicalJson(value);
  } else if (Array.isArray(value)) {
    if (value.length === 0) into[path] = "[]";
    value.forEach((entry, index) => flatten(`${path}[${index}]`, entry, into));
  } else {
    const entries = Object.entries(value as Readonly<Record<string, Json | undefined>>);
    if (entries.length === 0) into[path] = "{}";
    for (const [key, entry] of entries) {
      if (entry === undefined) continue;
      flatten(`${path}.${/^[\w-]+$/.test(key) ? key : JSON.stringify(key)}`, entry, into);
    }
  }
}

/** One ingredient that differs: `undefined` where it is absent. */
export interface Change {
  readonly ingredient: string;
  readonly before: string | undefined;
  readonly now: string | undefined;
}

/** What differs between two sets of ingredients: params first, then inputs, then code, by name. */
export function changes(before: Ingredients, now: Ingredients): Change[] {
  const names = new Set([...Object.keys(before), ...Object.keys(now)]);
  return [...names].filter((name) => before[name] !== now[name])
    .sort((a, b) => rank(a) - rank(b) || (a < b ? -1 : 1))
    .map((name) => ({ ingredient: name, before: before[name], now: now[name] }));
}

/** What a user edits comes before what follows from it, and both before what comes with an update. */
const RANKS = ["params.", "inputs.", "code"] as const;

function rank(ingredient: string): number {
  const found = RANKS.findIndex((start) => ingredient.startsWith(start));
  return found < 0 ? RANKS.length : found;
}
