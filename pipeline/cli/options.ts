/**
 * Command-line options: what each command takes, its help, and refusal of anything else.
 *
 * @module
 */
import { parseArgs } from "@std/cli/parse-args";
import { nearName, suggestion } from "../config/document.ts";
import { ConfigError } from "../errors.ts";
import { BACKEND_CHOICES, type BackendChoice } from "../key/platform.ts";

/** The commands. */
export const COMMANDS = [
  "reproduce",
  "plan",
  "why",
  "status",
  "diff",
  "trace",
  "audit",
  "serve",
  "schema",
] as const;
/** The name of a command. */
export type Command = (typeof COMMANDS)[number];

interface Flag {
  readonly argument?: string;
  readonly help: string;
  readonly commands: readonly Command[];
  readonly repeated?: boolean;
}

const RUNS = ["reproduce", "plan", "why", "status"] as const;
const FLAGS: Readonly<Record<string, Flag>> = {
  experiment: {
    argument: "NAME",
    help: "experiments/NAME.yaml; by default the first that main.ts names",
    commands: [...RUNS, "diff"],
  },
  profile: {
    argument: "NAME",
    help: "profile of the experiment (default: smoke)",
    commands: [...RUNS, "diff"],
  },
  set: {
    argument: "PATH=VALUE",
    help:
      "change a value for this run: STAGE.PARAM, AXIS.VALUE.STAGE.PARAM, grid.AXIS, define.NAME",
    commands: RUNS,
    repeated: true,
  },
  only: {
    argument: "GLOB",
    help: "only these instances and what they need: train, train/imdb, **/add/**",
    commands: ["reproduce", "plan"],
    repeated: true,
  },
  force: {
    argument: "GLOB",
    help: "run these instances even if they are up to date",
    commands: ["reproduce", "plan"],
    repeated: true,
  },
  backend: {
    argument: BACKEND_CHOICES.join("|"),
    help: "where numeric stages compute (default: auto)",
    commands: [...RUNS, "diff"],
  },
  mirror: {
    argument: "DIR|URL",
    help: "take downloads from here; checksums still hold (or LOCKSTEP_MIRROR)",
    commands: RUNS,
  },
  jobs: {
    argument: "N",
    help: "instances at a time (default: number of cores)",
    commands: ["reproduce", "plan"],
  },
  "dry-run": { help: "say what would run and why, and run nothing", commands: ["reproduce"] },
  locked: {
    help: "fail where a result differs from the committed lock; leave the lock as it is",
    commands: ["reproduce"],
  },
  repair: { help: "set damaged files aside and make only those again", commands: ["audit"] },
  page: { argument: "FILE", help: "write the comparison as an HTML page too", commands: ["diff"] },
  port: {
    argument: "N",
    help: "port on 127.0.0.1 (default: one that is free)",
    commands: ["serve"],
  },
  outputs: {
    argument: "DIR",
    help: "where results and the store go (default: outputs)",
    commands: COMMANDS.filter((command) => command !== "schema"),
  },
  json: {
    help: "one JSON object a line instead of text",
    commands: COMMANDS.filter((command) => command !== "schema"),
  },
  help: { help: "show this", commands: COMMANDS },
};

const SUMMARIES: Readonly<Record<Command, string>> = {
  reproduce: "run what must run, and lay out tables, figures and the report",
  plan: "say what would run, why, and how long it should take",
  why: "compare an instance with its last trace, ingredient by ingredient: why INSTANCE",
  status: "say what of a run is up to date",
  audit: "re-hash the store, the locks and outputs/, and say what is altered, missing or orphaned",
  diff:
    "compare two runs, each a lock file, a run's name (fusion.smoke) or a git revision: diff A B",
  trace: "follow an instance, a key or an artifact's digest back to the first bytes: trace WHAT",
  serve: "show outputs/ and the progress of runs in a browser, on this machine only",
  schema: "write experiments/schema.json, for editors",
};

/** What commands take besides flags. */
const OPERANDS: Readonly<Partial<Record<Command, readonly string[]>>> = {
  why: ["INSTANCE"],
  diff: ["A", "B"],
  trace: ["WHAT"],
};

/** Parsed options; a flag that was not given is absent. */
export interface Options {
  readonly command: Command;
  readonly operands: readonly string[];
  readonly experiment?: string;
  readonly profile: string;
  readonly set: readonly string[];
  readonly only: readonly string[];
  readonly force: readonly string[];
  readonly backend: BackendChoice;
  readonly mirror?: string;
  readonly jobs: number;
  readonly dryRun: boolean;
  readonly locked: boolean;
  readonly repair: boolean;
  readonly outputs?: string;
  readonly json: boolean;
  readonly page?: string;
  readonly port: number;
}

/**
 * Parses a command line. Returns a text to print where help was asked for.
 *
 * @throws {ConfigError} For an unknown command or flag, or a value that breaks its rule.
 */
export function parseOptions(args: readonly string[]): Options | string {
  const [first, ...rest] = args;
  if (first === undefined || first === "--help" || first === "help") return overview();
  if (!COMMANDS.includes(first as Command)) {
    throw new ConfigError(`Cannot run "${first}": no such command${suggestion(first, COMMANDS)}`);
  }
  const command = first as Command;
  const known = Object.keys(FLAGS).filter((name) => FLAGS[name]!.commands.includes(command));
  const parsed = parseArgs(rest, {
    boolean: known.filter((name) => FLAGS[name]!.argument === undefined),
    // "_": an operand of digits alone, such as a git revision, stays as it is written.
    string: ["_", ...known.filter((name) => FLAGS[name]!.argument !== undefined)],
    collect: known.filter((name) => FLAGS[name]!.repeated),
    unknown(argument, key) {
      if (key === undefined) return true;
      throw new ConfigError(
        `Cannot use ${argument.split("=")[0]} with ${command}: no such option${
          suggestion(key, known)
        }`,
      );
    },
  });
  if (parsed["help"]) return help(command);
  const text = (name: string): string | undefined => {
    const value = parsed[name];
    if (value === undefined) return undefined;
    if (value === "") {
      throw new ConfigError(`Cannot use --${name}: it takes ${FLAGS[name]!.argument}`);
    }
    return String(value);
  };
  const list = (name: string) => (parsed[name] as string[] | undefined) ?? [];
  const backend = text("backend") ?? "auto";
  if (!(BACKEND_CHOICES as readonly string[]).includes(backend)) {
    throw new ConfigError(
      `Cannot use --backend ${backend}: it must be one of ${BACKEND_CHOICES.join(", ")}` +
        nearName(backend, BACKEND_CHOICES),
    );
  }
  const jobs = Number(text("jobs") ?? navigator.hardwareConcurrency);
  if (!Number.isInteger(jobs) || jobs < 1) {
    throw new ConfigError(`Cannot use --jobs ${parsed["jobs"]}: it must be a whole number from 1`);
  }
  const operands = parsed._.map(String);
  const wanted = OPERANDS[command]?.length ?? 0;
  if (operands.length !== wanted) {
    throw new ConfigError(
      `Cannot run "${command}": it takes ${
        OPERANDS[command]?.join(" and ") ?? "no arguments"
      }, found ` +
        `${operands.length === 0 ? "none" : operands.join(" ")}`,
    );
  }
  const port = Number(text("port") ?? 0);
  if (!Number.isInteger(port) || port < 0 || port > 65535) {
    throw new ConfigError(
      `Cannot use --port ${parsed["port"]}: it must be a whole number from 0 to 65535`,
    );
  }
  const page = text("page");
  const experiment = text("experiment");
  const mirror = text("mirror") ?? Deno.env.get("LOCKSTEP_MIRROR");
  const outputs = text("outputs");
  return {
    command,
    operands,
    ...(experiment !== undefined ? { experiment } : {}),
    profile: text("profile") ?? "smoke",
    set: list("set"),
    only: list("only"),
    force: list("force"),
    backend: backend as BackendChoice,
    ...(mirror ? { mirror } : {}),
    jobs,
    dryRun: parsed["dry-run"] === true,
    locked: parsed["locked"] === true,
    repair: parsed["repair"] === true,
    ...(outputs !== undefined ? { outputs } : {}),
    json: parsed["json"] === true,
    ...(page !== undefined ? { page } : {}),
    port,
  };
}

function overview(): string {
  const width = Math.max(...COMMANDS.map((command) => command.length));
  return [
    "Reproduce, check and audit the experiments of machine-learning papers.",
    "",
    "deno task COMMAND [options]",
    "",
    ...COMMANDS.map((command) => `  ${command.padEnd(width)}  ${SUMMARIES[command]}`),
    "",
    "deno task COMMAND --help shows a command's options.",
  ].join("\n");
}

function help(command: Command): string {
  const flags = Object.entries(FLAGS).filter(([, flag]) => flag.commands.includes(command))
    .map(([name, flag]) =>
      [`--${name}${flag.argument ? ` ${flag.argument}` : ""}`, flag.help] as const
    );
  const width = Math.min(28, Math.max(...flags.map(([usage]) => usage.length)));
  return [
    `deno task ${command}${(OPERANDS[command] ?? []).map((name) => ` ${name}`).join("")} [options]`,
    "",
    `${SUMMARIES[command][0]!.toUpperCase()}${SUMMARIES[command].slice(1)}.`,
    "",
    ...flags.map(([usage, text]) =>
      usage.length > width
        ? `  ${usage}\n  ${" ".repeat(width)}  ${text}`
        : `  ${usage.padEnd(width)}  ${text}`
    ),
  ].join("\n");
}
