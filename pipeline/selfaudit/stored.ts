/**
 * Alters what a store holds, in a copy, and looks whether the audit finds each alteration.
 *
 * @module
 */
import { join, relative } from "node:path";
import { lookAt, readText } from "../files.ts";
import type { Ingredients } from "../key/ingredients.ts";
import { latestNames, readLatest } from "../store/latest.ts";
import { LocalStore } from "../store/local_store.ts";
import { seal, unseal } from "../store/sealed.ts";
import { toTrace } from "../store/trace.ts";
import { tracePath } from "../store/traces.ts";
import { auditStore } from "../views/audit.ts";
import { alter, filesBelow, type Next, OPERATIONS, targets } from "./alterations.ts";
import type { Extent } from "./configuration.ts";
import { Count, draw, numbers, type Tally } from "./tally.ts";

/**
 * What the audit does not vouch for: a training reads its checkpoints whole, the next run the rest. Nothing
 * is concluded from any of them.
 */
const UNAUDITED = ["checkpoints", "catalogue pages", "memories"];

/** How many are altered before the audit looks: one alteration may hide another, so few. */
const AT_ONCE = 15;

/** Where a project and its results are. */
export interface Where {
  readonly root: string;
  readonly outputs: string;
}

/** A copy of them. */
export interface Copy extends Where {
  readonly from: Where;
}

/** One alteration: what it did, and the files that it altered. */
interface Alteration {
  readonly what: string;
  /** Whether the audit must find it. */
  readonly isDue: boolean;
  /** Alters files that were not touched since they were last as they were. */
  readonly apply: (isTouched: (path: string) => boolean) => readonly string[];
}

/** Tries alterations of stored bytes of each kind, and of ingredients in traces that are sealed again. */
export async function auditStored(copy: Copy, extent: Extent): Promise<Tally[]> {
  const next = numbers(extent.seed, "stored bytes");
  const before = await pathsFound(copy);
  const tallies: Tally[] = [];
  for (const [kind, all] of Object.entries(targets(copy.root, copy.outputs))) {
    const files = all.filter((path) => lookAt(path)?.kind === "a file" && !before.has(path));
    if (files.length === 0 || UNAUDITED.includes(kind)) continue;
    const drawn = draw(files, { count: extent.times, next });
    const alterations = drawn.map((path) => ofBytes(path, { kind, files, next, copy }));
    const count = new Count(`stored bytes: ${kind}`);
    await tryAll(alterations, { copy, before, count, extent });
    tallies.push(count);
  }
  const traces = filesBelow(join(copy.outputs, "store/traces")).filter((path) => !before.has(path));
  const drawn = draw(traces, { count: extent.times, next });
  const count = new Count("an ingredient in a trace that is sealed again");
  const alterations = drawn.map((path, index) => ofIngredient(path, { index, copy }));
  await tryAll(alterations, { copy, before, count, extent });
  return [...tallies, count];
}

function ofBytes(
  path: string,
  { kind, files, next, copy }: {
    readonly kind: string;
    readonly files: readonly string[];
    readonly next: Next;
    readonly copy: Copy;
  },
): Alteration {
  const possible = OPERATIONS.filter((operation) => operation !== "swap" || files.length > 1);
  const operation = possible[next(possible.length)]!;
  return {
    what: `${operation} of ${relative(copy.root, path)}`,
    isDue: operation !== "delete" || isMissed(path, { kind, copy }),
    apply(isTouched) {
      if (isTouched(path)) return [];
      return alter(path, { files: files.filter((each) => !isTouched(each)), operation, next });
    },
  };
}

/**
 * Whether anybody misses a file that is gone: of traces those that a latest run names. Code is bundled
 * again, and nothing names a certificate.
 */
function isMissed(
  path: string,
  { kind, copy }: { readonly kind: string; readonly copy: Copy },
): boolean {
  if (kind !== "traces") return kind !== "code" && kind !== "certificates";
  const workspace = { root: join(copy.outputs, "store"), setAside() {} };
  return latestNames(workspace).some((name) =>
    Object.values(readLatest(name, workspace)?.keys ?? {}).some((key) =>
      tracePath(workspace.root, key) === path
    )
  );
}

/** Of each trace another ingredient, in turn, so that all kinds come up. */
function ofIngredient(
  path: string,
  { index, copy }: { readonly index: number; readonly copy: Copy },
): Alteration {
  const trace = toTrace(unseal(readText(path)!, path))!;
  const names = Object.keys(trace.ingredients);
  const name = names[index % names.length]!;
  return {
    what: `${name} in ${relative(copy.root, path)}`,
    isDue: true,
    apply() {
      const value = `${trace.ingredients[name]}`.replace(
        /.$|^$/,
        (last) => last === "0" ? "1" : "0",
      );
      const ingredients: Ingredients = { ...trace.ingredients, [name]: value };
      Deno.writeTextFileSync(path, seal({ ...trace, ingredients }));
      return [path];
    },
  };
}

async function tryAll(
  alterations: readonly Alteration[],
  { copy, before, count, extent }: {
    readonly copy: Copy;
    readonly before: ReadonlySet<string>;
    readonly count: Count;
    readonly extent: Extent;
  },
): Promise<void> {
  for (let start = 0; start < alterations.length; start += AT_ONCE) {
    extent.progress(`${count.kind}: ${start} of ${alterations.length}`);
    const altered = new Map<string, Alteration>();
    for (const alteration of alterations.slice(start, start + AT_ONCE)) {
      for (const path of alteration.apply((path) => altered.has(path))) {
        altered.set(path, alteration);
      }
    }
    const found = await pathsFound(copy);
    for (const [path, { what, isDue }] of altered) {
      count.take(what, {
        all: [path],
        due: () => isDue,
        reacted: () => found.has(path),
        name: () => isDue ? "the audit does not find it" : "the audit finds it",
        cause: () => "though it does no harm",
      });
    }
    restore(copy, altered.keys());
  }
  const left = [...await pathsFound(copy)].filter((path) => !before.has(path));
  count.take("what is as it was again", {
    all: left,
    due: () => false,
    reacted: () => true,
    name: (path) => relative(copy.root, path),
    cause: () => "which the audit did not find before",
  });
  // That was no alteration.
  count.tried--;
}

/** Puts files back as they are in what was copied. */
function restore({ outputs, root, from }: Copy, paths: Iterable<string>): void {
  for (const path of paths) {
    const within = relative(outputs, path);
    const original = within.startsWith("..")
      ? join(from.root, relative(root, path))
      : join(from.outputs, within);
    if (lookAt(path)) Deno.removeSync(path);
    Deno.copyFileSync(original, path);
  }
}

/** The paths of all that the audit finds; those of locks are below the project's folder. */
async function pathsFound({ root, outputs }: Copy): Promise<Set<string>> {
  const store = new LocalStore(join(outputs, "store"), { reading: true });
  try {
    const { findings } = await auditStore(root, outputs, store);
    return new Set(
      findings.map(({ path }) => path.startsWith("/") ? path : join(root, path)),
    );
  } finally {
    store.close();
  }
}
