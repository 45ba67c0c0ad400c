/**
 * `help`, `--help`: the commands, and the options of each.
 *
 * @module
 */
import { UsageError } from "../errors.ts";
import { suggestion } from "../suggestion.ts";
import { type Command, COMMAND_NAMES, COMMANDS } from "./commands.ts";
import { type Flag, FLAGS } from "./flags.ts";
import { columns, hanging } from "./layout.ts";
import type { Options } from "./options.ts";
import type { Print, Project } from "./project.ts";

/**
 * Prints the overview, or the options of the command that is asked about.
 *
 * @throws {UsageError} If there is no such command.
 */
export function showHelp(_: Project, options: Options, print: Print): void {
  const [wanted] = options.operands;
  if (wanted === undefined) return print(overview());
  const command = COMMAND_NAMES.find((name) => name === wanted);
  if (!command) {
    throw new UsageError(
      `Cannot explain "${wanted}": no such command${suggestion(wanted, COMMAND_NAMES)}`,
    );
  }
  print(help(command));
}

/** Exit codes, for scripts. */
const EXIT_CODES: readonly (readonly [code: string, meaning: string])[] = [
  ["0", "all is well"],
  ["1", "something failed, differs or was found"],
  ["2", "the command line or an experiment file is wrong"],
  ["130", "interrupted"],
  ["141", "what it printed to was closed"],
];

function overview(): string {
  return [
    "Reproduce, check and audit the experiments of machine-learning papers.",
    "",
    "deno task COMMAND [options]",
    "",
    ...table(COMMAND_NAMES.map((name) => [usage(name), COMMANDS[name].summary])),
    "",
    "Exit codes",
    ...table(EXIT_CODES),
    "",
    "deno task COMMAND --help shows a command's options.",
  ].join("\n");
}

function help(command: Command): string {
  const { summary } = COMMANDS[command];
  const flags = Object.entries<Flag>(FLAGS).filter(([, flag]) => flag.commands.includes(command));
  return [
    `deno task ${usage(command)} [options]`,
    "",
    ...hanging(`${summary[0]!.toUpperCase()}${summary.slice(1)}.`, { width: columns() }),
    "",
    ...table(flags.map(([name, { argument, short, help, helpFor }]) => [
      `${short === undefined ? "" : `-${short}, `}--${name}${argument ? ` ${argument}` : ""}`,
      helpFor?.[command] ?? help,
    ])),
  ].join("\n");
}

function usage(command: Command): string {
  const operands = COMMANDS[command].operands ?? [];
  return [
    command,
    ...operands.map(({ name, optional, repeated }) => {
      const whole = repeated ? `${name}...` : name;
      return optional ? `[${whole}]` : whole;
    }),
  ].join(" ");
}

const MAX_LABEL_WIDTH = 26;

/** Labels and what they mean, in two columns; a label too long for its column has its own line. */
function table(rows: readonly (readonly [label: string, text: string])[]): string[] {
  const labels = Math.min(MAX_LABEL_WIDTH, Math.max(...rows.map(([label]) => label.length)));
  const indent = " ".repeat(labels + 4);
  return rows.flatMap(([label, text]) => {
    const [first = "", ...rest] = hanging(text, { width: columns(), indent });
    const start = `  ${label.padEnd(labels)}  `;
    return label.length > labels
      ? [`  ${label}`, first, ...rest]
      : [`${start}${first.slice(indent.length)}`, ...rest];
  });
}
