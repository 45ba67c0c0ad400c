/**
 * Params back from the ingredients of a key: the inverse of `flatten` in `pipeline/key/ingredients.ts`.
 *
 * @module
 */
import type { Ingredients } from "../key/ingredients.ts";
import { LockstepError } from "../errors.ts";

type Step = string | number;
type Tree = { [key: Step]: unknown } | unknown[];

const STEP = /\.([\w-]+)|\.("(?:[^"\\]|\\.)*")|\[(\d+)\]/y;

/**
 * The params in some ingredients. Those that are operational are in no key, and so not there.
 *
 * @throws {LockstepError} If an ingredient's name is no path.
 */
export function paramsOf(ingredients: Ingredients): unknown {
  const root: { params?: unknown } = {};
  for (const [name, value] of Object.entries(ingredients)) {
    if (!/^params($|[.[])/.test(name)) continue;
    put(root as Tree, ["params", ...stepsOf(name)], JSON.parse(value));
  }
  return root.params ?? {};
}

function stepsOf(name: string): Step[] {
  const steps: Step[] = [];
  for (let at = "params".length; at < name.length; at = STEP.lastIndex) {
    STEP.lastIndex = at;
    const [, plain, quoted, index] = STEP.exec(name) ?? [];
    if (plain !== undefined) steps.push(plain);
    else if (quoted !== undefined) steps.push(JSON.parse(quoted) as string);
    else if (index !== undefined) steps.push(Number(index));
    else throw new LockstepError(`Cannot read params: "${name}" must be a path, and is none`);
  }
  // It would lead to what all objects have in common.
  if (steps.includes("__proto__")) {
    throw new LockstepError(`Cannot read params: "${name}" must not name an object's prototype`);
  }
  return steps;
}

function put(tree: Tree, [step, ...rest]: readonly Step[], value: unknown): void {
  const at = tree as { [key: Step]: unknown };
  if (rest.length === 0) at[step!] = value;
  else put((at[step!] ??= typeof rest[0] === "number" ? [] : {}) as Tree, rest, value);
}
