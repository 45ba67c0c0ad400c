/**
 * `completions SHELL`: a script that completes commands, options and names in a shell; and the words
 * that such a script asks for.
 *
 * @module
 */
import { UsageError } from "../errors.ts";
import { nearName } from "../suggestion.ts";
import { COMMAND_NAMES, COMMANDS, SHELLS, type Values } from "./commands.ts";
import { type Flag, FLAGS } from "./flags.ts";
import type { Options } from "./options.ts";
import type { Print, Project } from "./project.ts";

/**
 * Prints the script of a shell.
 *
 * @throws {UsageError} If there is none for it.
 */
export function showCompletions(_: Project, options: Options, print: Print): void {
  const [wanted = ""] = options.operands;
  const shell = SHELLS.find((name) => name === wanted);
  if (!shell) {
    throw new UsageError(
      `Cannot complete in "${wanted}": the shell must be one of ${SHELLS.join(", ")}` +
        nearName(wanted, SHELLS),
    );
  }
  const script = new URL(`./completions/${shell}.txt`, import.meta.url);
  print(Deno.readTextFileSync(script).trimEnd());
}

/**
 * What may follow the words after `deno task`, of which the last is not finished. Experiments,
 * profiles and instances are looked up where they are asked for only.
 */
export async function complete(project: Project, words: readonly string[]): Promise<string[]> {
  const current = words.at(-1) ?? "";
  const [command, ...typed] = words.slice(0, -1);
  const possible = await valuesOf(placeOf(command, typed, current), project, typed);
  return possible.filter((word) => word.startsWith(current));
}

/** What belongs where the last word is. */
function placeOf(command: string | undefined, typed: readonly string[], current: string): Values {
  if (command === undefined) return "commands";
  const spec = COMMAND_NAMES.find((name) => name === command);
  if (!spec) return [];
  const flags = Object.entries<Flag>(FLAGS).filter(([, { commands }]) => commands.includes(spec));
  const before = flags.find(([name]) => `--${name}` === typed.at(-1))?.[1];
  if (before?.argument !== undefined) {
    const { values = [] } = before;
    return typeof values === "string" || values instanceof Array ? values : values[spec] ?? [];
  }
  if (current.startsWith("-")) return flags.map(([name]) => `--${name}`);
  const operands = typed.filter((word, index) =>
    !word.startsWith("-") && !takesValue(typed[index - 1], flags)
  );
  return COMMANDS[spec].operands?.[operands.length]?.values ?? [];
}

function takesValue(word: string | undefined, flags: readonly [string, Flag][]): boolean {
  return flags.some(([name, { argument }]) => argument !== undefined && `--${name}` === word);
}

async function valuesOf(
  values: Values,
  project: Project,
  typed: readonly string[],
): Promise<readonly string[]> {
  switch (values) {
    case "commands":
      return COMMAND_NAMES;
    case "experiments":
      return (await import("../config/files.ts")).experimentNames(project.root);
    case "profiles": {
      const { profilesOf } = await import("./profiles.ts");
      return profilesOf(project, after("--experiment", typed) ?? project.experiment);
    }
    case "instances": {
      const { parseOptions } = await import("./options.ts");
      const { openExperiment } = await import("./wiring.ts");
      const options = ["--experiment", "--profile"].flatMap((flag) => {
        const value = after(flag, typed);
        return value === undefined ? [] : [flag, value];
      });
      const { all } = await openExperiment(project, parseOptions(["plan", ...options]));
      return all.map(({ name }) => name);
    }
    case "files":
      return [];
    default:
      return values;
  }
}

function after(flag: string, words: readonly string[]): string | undefined {
  const index = words.indexOf(flag);
  return index < 0 ? undefined : words[index + 1];
}
