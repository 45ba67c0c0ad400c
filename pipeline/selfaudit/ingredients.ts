/**
 * Alters declarations of stages, the platform and single ingredients, in memory, and compares who reacts
 * with who is handed something else.
 *
 * @module
 */
import { ConfigError } from "../errors.ts";
import { changes, type Ingredients, keyOf } from "../key/ingredients.ts";
import type { Stage } from "../stage.ts";
import { lookAtInstances, type Looked, type Subject } from "./handed.ts";
import type { Extent } from "./configuration.ts";
import { Count, draw, numbers, type Tally } from "./tally.ts";

/** Tries all declarations, which are few, and ingredients of each stage. */
export async function auditIngredients(subject: Subject, extent: Extent): Promise<Tally[]> {
  const before = await lookAtInstances(subject);
  const declarations = new Count("a declaration of a stage, the platform");
  for (const { what, altered } of alterationsOf(subject, before)) {
    const now = await lookAtInstances({ ...subject, ...altered }).catch((error) => {
      if (error instanceof ConfigError) return undefined;
      throw error;
    });
    if (now === undefined) {
      declarations.tried++;
      declarations.refused++;
      continue;
    }
    declarations.take(what, {
      all: before.keys(),
      due: (name) => before.get(name)!.handed !== now.get(name)!.handed,
      reacted: (name) => before.get(name)!.key !== now.get(name)!.key,
      name: (name) => name,
      cause: (name) =>
        changes(before.get(name)!.ingredients, now.get(name)!.ingredients)
          .map(({ ingredient }) => ingredient).join(", "),
    });
  }
  return [declarations, ingredients(before, { subject, extent })];
}

/** Each ingredient of an instance of each stage: another value, none, another name. */
function ingredients(
  before: ReadonlyMap<string, Looked>,
  { subject: { keyed = keyOf }, extent }: { readonly subject: Subject; readonly extent: Extent },
): Tally {
  const count = new Count("an ingredient");
  const next = numbers(extent.seed, "ingredients");
  const ofEach = new Map([...before.values()].map((looked) => [looked.instance.node.name, looked]));
  for (const { instance, ingredients } of ofEach.values()) {
    const key = keyed(ingredients);
    for (const [name, value] of draw(Object.entries(ingredients), { count: extent.times, next })) {
      const { [name]: _, ...rest } = ingredients;
      const others: Readonly<Record<string, Ingredients>> = {
        changed: { ...rest, [name]: `${value} ` },
        renamed: { ...rest, [`${name}_`]: value },
        removed: rest,
      };
      for (const [how, altered] of Object.entries(others)) {
        count.take(`${name} ${how}`, {
          all: [instance.name],
          due: () => true,
          reacted: () => keyed(altered) !== key,
          name: (one) => one,
          cause: () => "",
        });
      }
    }
    const reversed = Object.fromEntries(Object.entries(ingredients).reverse());
    count.take("ingredients in another order", {
      all: [instance.name],
      due: () => false,
      reacted: () => keyed(reversed) !== key,
      name: (one) => one,
      cause: () => "the order is in the key",
    });
  }
  return count;
}

interface Alteration {
  readonly what: string;
  readonly altered: Partial<Subject>;
}

function* alterationsOf(
  { stages, platform }: Subject,
  before: ReadonlyMap<string, Looked>,
): Generator<Alteration> {
  const other = { ...platform.ingredients, "platform.backend": "another" };
  yield {
    what: "another platform",
    altered: { platform: { ...platform, ingredients: other } },
  };
  const used = new Set([...before.values()].map(({ instance }) => instance.node.stage.name));
  for (const name of used) {
    const stage = stages.get(name)!;
    for (const [what, altered] of declarationsLike(stage)) {
      yield {
        what: `${what} of stage ${name}`,
        altered: { stages: new Map([...stages, [name, altered]]) },
      };
    }
  }
}

/** A stage declared otherwise, in all ways that count. */
function* declarationsLike(stage: Stage): Generator<readonly [what: string, altered: Stage]> {
  const { outputs } = stage;
  yield ["numeric", { ...stage, numeric: !stage.numeric }];
  yield ["alone", { ...stage, alone: !stage.alone }];
  for (const [name, output] of Object.entries(outputs)) {
    const like = (changed: Partial<typeof output>): Stage => ({
      ...stage,
      outputs: { ...outputs, [name]: { ...output, ...changed } },
    });
    yield [`kind of output ${name}`, like({ kind: output.kind === "file" ? "folder" : "file" })];
    for (const exactness of ["exact", "numeric", "measured"] as const) {
      if (exactness !== output.exactness) {
        yield [`exactness of output ${name}`, like({ exactness })];
      }
    }
    yield [
      `measures of output ${name}`,
      like({ measures: { ...output.measures, another: ["column"] } }),
    ];
  }
}
