/**
 * The command line: dispatches a command, prints its result, turns failures into messages.
 *
 * @module
 */
import { join } from "node:path";
import { editorSchema } from "../config/schema.ts";
import { explain } from "../errors.ts";
import { audit } from "./audit.ts";
import { diff } from "./diff.ts";
import { parseOptions } from "./options.ts";
import { showPlan, showStatus } from "./plan.ts";
import { reproduce } from "./reproduce.ts";
import { serve } from "./serve.ts";
import { openSession, type Project, READING, stageMap } from "./session.ts";
import { jsonView, standardOutput, textView } from "./terminal.ts";
import { showTrace } from "./trace.ts";
import { showWhy } from "./why.ts";

export type { Project };

/**
 * Runs the command line of a project and returns its exit code: 0 if all is well, 1 if something
 * failed or was found, 130 if interrupted.
 */
export async function main(project: Project, args: readonly string[]): Promise<number> {
  try {
    return await dispatch(project, args);
  } catch (error) {
    console.error(explain(error));
    return 1;
  }
}

async function dispatch(project: Project, args: readonly string[]): Promise<number> {
  const options = parseOptions(args);
  const sink = standardOutput();
  const print = (line: string) => sink.write(`${line}\n`);
  if (typeof options === "string") {
    print(options);
    return 0;
  }
  if (options.command === "schema") {
    const text = `${JSON.stringify(editorSchema(stageMap(project)), null, 2)}\n`;
    Deno.writeTextFileSync(join(project.root, "experiments/schema.json"), text);
    print("wrote experiments/schema.json");
    return 0;
  }
  if (options.command === "trace") {
    await showTrace(project, options, print);
    return 0;
  }
  if (options.command === "diff") {
    await diff(project, options, print);
    return 0;
  }
  if (options.command === "serve") {
    await serve(project, options, print);
    return 0;
  }
  if (options.command === "audit") return await audit(project, options, print);
  if (options.command === "reproduce" && !options.dryRun) {
    if (options.json) return await reproduce(project, options, jsonView(sink));
    const view = textView(sink);
    try {
      return await reproduce(project, options, view.listener);
    } finally {
      view.close();
    }
  }
  const session = await openSession(project, options, READING);
  try {
    if (options.command === "status") showStatus(session, options, print);
    else if (options.command === "why") await showWhy(session, options, print);
    else showPlan(session, options, print);
  } finally {
    session.store.close();
  }
  return 0;
}
