/**
 * The command line: finds a command's module and runs it, turns failures into messages and exit
 * codes. A module is loaded when its command runs, so that `--help` loads next to nothing.
 *
 * @module
 */
import { ConfigError, explain, isBug, UsageError } from "../errors.ts";
import type { Command } from "./commands.ts";
import type { Options } from "./options.ts";
import type { Print, Project } from "./project.ts";
import { standardOutput } from "./sink.ts";

export type { Project };

/** What a command does; the exit code is 0 unless it returns another. */
type Action = (
  project: Project,
  options: Options,
  print: Print,
) => Promise<number> | Promise<void> | number | void;

const ACTIONS: Readonly<Record<Command, () => Promise<Action>>> = {
  reproduce: async () => (await import("./reproduce.ts")).reproduce,
  plan: async () => (await import("./plan.ts")).showPlan,
  why: async () => (await import("./why.ts")).showWhy,
  status: async () => (await import("./status.ts")).showStatus,
  logs: async () => (await import("./logs.ts")).showLog,
  metrics: async () => (await import("./metrics.ts")).showMetrics,
  export: async () => (await import("./export.ts")).exportArtifact,
  sign: async () => (await import("./sign.ts")).sign,
  graph: async () => (await import("./graph.ts")).showGraph,
  diff: async () => (await import("./diff.ts")).diff,
  trace: async () => (await import("./trace.ts")).showTrace,
  audit: async () => (await import("./audit.ts")).audit,
  certify: async () => (await import("./certify.ts")).certifyInstances,
  selfaudit: async () => (await import("./selfaudit.ts")).auditEngine,
  push: async () => (await import("./push.ts")).push,
  pull: async () => (await import("./pull.ts")).pull,
  bundle: async () => (await import("./bundle.ts")).bundle,
  verify: async () => (await import("./verify.ts")).verifyFile,
  gc: async () => (await import("./gc.ts")).gc,
  tag: async () => (await import("./tag.ts")).tag,
  serve: async () => (await import("./serve.ts")).serve,
  doctor: async () => (await import("./doctor.ts")).showDoctor,
  new: async () => (await import("./new.ts")).writeExperiment,
  schema: async () => (await import("./schema.ts")).writeSchema,
  completions: async () => (await import("./completions.ts")).showCompletions,
  help: async () => (await import("./help.ts")).showHelp,
  version: async () => (await import("./version.ts")).showVersion,
};

/** What a shell's completion script calls, with the words typed so far. */
const COMPLETE = "__complete";

/**
 * Runs the command line of a project and returns its exit code: 0 if all is well, 1 if something
 * failed, differs or was found, 2 if the command line or a file that the user wrote is wrong, 130 if
 * interrupted.
 */
export async function main(project: Project, args: readonly string[]): Promise<number> {
  const begun = performance.now();
  const sink = standardOutput();
  const print: Print = (line) => sink.write(`${line}\n`);
  try {
    if (args[0] === COMPLETE) {
      const { complete } = await import("./completions.ts");
      for (const word of await complete(project, args.slice(1))) print(word);
      return 0;
    }
    if (args[0] === "reproduce") {
      // Before anything is loaded that a run with nothing to do can be without.
      const { recall, repeat } = await import("./recall.ts");
      const memory = await recall(project, args);
      if (memory !== undefined) return await repeat(memory, begun);
    }
    // Not imported above: without its package, nothing else would say what is wrong.
    const { parseOptions } = await import("./options.ts");
    const options = parseOptions(args);
    const action = await ACTIONS[options.command]();
    const { endWhereInterrupted } = await import("./interrupt.ts");
    endWhereInterrupted((message) => {
      if (options.json) print(JSON.stringify({ event: "interrupted", message }));
      else console.error(message);
    });
    return await action(project, options, print) ?? 0;
  } catch (error) {
    const message = explain(error);
    if (args.includes("--json")) {
      print(JSON.stringify({ event: "error", kind: kindOf(error), message }));
    } else console.error(message);
    return error instanceof ConfigError ? 2 : 1;
  }
}

/** What sort of error `--json` reports. */
function kindOf(error: unknown): "usage" | "config" | "failure" | "bug" {
  if (error instanceof UsageError) return "usage";
  if (error instanceof ConfigError) return "config";
  return isBug(error) ? "bug" : "failure";
}
