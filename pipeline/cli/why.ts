/**
 * `why INSTANCE`: its ingredients now beside those of its last trace.
 *
 * @module
 */
import { type Change, changes } from "../key/ingredients.ts";
import { shorten } from "../key/shorten.ts";
import type { Instance } from "../plan/graph.ts";
import type { Decision } from "../plan/plan.ts";
import type { Trace } from "../store/trace.ts";
import { instanceOf } from "./instance.ts";
import { wrapping } from "./layout.ts";
import type { Options } from "./options.ts";
import type { Print, Project } from "./project.ts";
import { type Session, withSession } from "./session.ts";

/**
 * Explains what will happen to an instance and which ingredients differ.
 *
 * @throws {UsageError} If there is no such instance.
 */
export async function showWhy(project: Project, options: Options, print: Print): Promise<void> {
  await withSession({ project, options, print }, (session) => explain(session, options, print));
}

/** What is known of an instance now and of the last time. */
interface Explanation {
  readonly instance: string;
  readonly decision: Decision;
  readonly previous: Trace | undefined;
  /** Whether there are ingredients now to compare with the last ones. */
  readonly isKnown: boolean;
  readonly changes: readonly Change[];
  /** Source files behind changed code. */
  readonly sources: readonly string[];
}

async function explain(session: Session, options: Options, print: Print): Promise<void> {
  const instance = instanceOf(session, options);
  const decision = session.decisions.get(instance)!;
  const previous = await session.planInput.previous(instance);
  const now = decision.action === "run"
    ? decision.ingredients
    : decision.action === "cached"
    ? (await session.store.trace(decision.key))?.ingredients
    : undefined;
  const explanation: Explanation = {
    instance: instance.name,
    decision,
    previous,
    isKnown: now !== undefined,
    changes: previous && now ? changes(previous.ingredients, now) : [],
    sources: previous ? changedSources(session, instance, previous) : [],
  };
  if (options.json) printEvent(explanation, print);
  else printText(explanation, wrapping(print));
}

function printEvent(explanation: Explanation, print: Print): void {
  const { instance, decision, previous, changes, sources } = explanation;
  print(JSON.stringify({
    event: "why",
    instance,
    action: decision.action,
    reason: decision.action === "cached" ? "up to date" : decision.reason,
    changes,
    sources,
    previous: previous ? { key: previous.key, started: previous.started } : null,
  }));
}

function printText(explanation: Explanation, print: Print): void {
  const { instance, decision, previous, isKnown, changes, sources } = explanation;
  switch (decision.action) {
    case "cached":
      print(`${instance} is up to date: key ${shorten(decision.key)}`);
      break;
    case "run":
      print(`${instance} will run: ${decision.reason}`);
      break;
    case "wait":
      print(`${instance} waits for ${decision.upstream.join(", ")}`);
      print("Whether it runs depends on what comes out: if the content is the same, it does not.");
      break;
  }
  if (!previous) print("There is no earlier trace of it to compare with.");
  else if (isKnown && decision.action === "run") {
    print(`Compared with its trace of ${previous.started}:`);
    for (const change of changes) print(`  ${describe(change)}`);
    if (changes.length === 0) print("  every ingredient is the same");
  }
  for (const file of sources) print(`  source changed: ${file}`);
}

function describe({ ingredient, before, now }: Change): string {
  return `${ingredient}\n      was ${shorten(before)}\n      now ${shorten(now)}`;
}

/** Source files behind the stage's code that are not as they were for a trace. */
function changedSources(session: Session, instance: Instance, previous: Trace): string[] {
  const bundle = session.bundles.get(instance.node.stage.name)!;
  // Comments and names change a file, but not the code: then no file is to be blamed.
  const { code, packages } = previous.ingredients;
  if (code === bundle.code && packages === bundle.packages) return [];
  return changes(previous.sources, bundle.sources).map(({ ingredient }) => ingredient);
}
