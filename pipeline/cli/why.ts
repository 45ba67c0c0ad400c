/**
 * `why INSTANCE`: its ingredients now beside those of its last trace.
 *
 * @module
 */
import { type Change, changes, shorten } from "../key/ingredients.ts";
import type { Instance } from "../plan/graph.ts";
import type { Trace } from "../store/trace.ts";
import { instanceOf } from "./instance.ts";
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

async function explain(session: Session, options: Options, print: Print): Promise<void> {
  const instance = instanceOf(session, options);
  const wanted = instance.name;
  const decision = session.decisions.get(instance)!;
  const previous = await session.planInput.previous(instance);
  const now = decision.action === "run"
    ? decision.ingredients
    : decision.action === "cached"
    ? (await session.store.trace(decision.key))?.ingredients
    : undefined;
  const found = previous && now ? changes(previous.ingredients, now) : [];
  const files = previous ? changedSources(session, instance, previous) : [];
  if (options.json) {
    print(JSON.stringify({
      event: "why",
      instance: wanted,
      action: decision.action,
      reason: decision.action === "cached" ? "up to date" : decision.reason,
      changes: found,
      sources: files,
      previous: previous ? { key: previous.key, started: previous.started } : null,
    }));
    return;
  }
  switch (decision.action) {
    case "cached":
      print(`${wanted} is up to date: key ${decision.key}`);
      break;
    case "run":
      print(`${wanted} will run: ${decision.reason}`);
      break;
    case "wait":
      print(`${wanted} waits for ${decision.upstream.join(", ")}`);
      print("Whether it runs depends on what comes out: if the content is the same, it does not.");
      break;
  }
  if (!previous) print("There is no earlier trace of it to compare with.");
  else if (now && decision.action === "run") {
    print(`Compared with its trace of ${previous.started}:`);
    for (const change of found) print(`  ${describe(change)}`);
    if (found.length === 0) print("  every ingredient is the same");
  }
  for (const file of files) print(`  source changed: ${file}`);
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
