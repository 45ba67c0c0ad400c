/**
 * The commands: what each is for, what it takes and which options it knows. Data only: the parser,
 * the help and the shell completions are made from it.
 *
 * @module
 */
import { BACKEND_CHOICES } from "../key/platform.ts";
import { BACKENDS } from "../stage.ts";

/** Where the values of an option or an operand come from, for completion. */
export type Values =
  | readonly string[]
  | "commands"
  | "experiments"
  | "profiles"
  | "instances"
  | "files";

/** What a command takes besides options. */
export interface Operand {
  readonly name: string;
  readonly values?: Values;
  /** Whether the command does without. */
  readonly optional?: boolean;
}

interface CommandSpec {
  readonly summary: string;
  readonly operands?: readonly Operand[];
}

const INSTANCE: Operand = { name: "INSTANCE", values: "instances" };
/** Shells that completions are written for. */
export const SHELLS = ["bash", "zsh", "fish"] as const;

const SPECS = {
  reproduce: { summary: "run what must run, and write tables, figures and the report" },
  plan: { summary: "say what would run, why, and how long it should take" },
  why: {
    summary: "compare an instance with its last trace, ingredient by ingredient",
    operands: [INSTANCE],
  },
  status: { summary: "say how much of a run is up to date" },
  logs: { summary: "print what an instance printed when it last ran", operands: [INSTANCE] },
  metrics: {
    summary: "list a run's metrics, a row for each instance; by default the latest run's",
    operands: [{ name: "RUN", values: "files", optional: true }],
  },
  export: { summary: "copy an artifact out of the store, verified", operands: [INSTANCE] },
  graph: { summary: "draw the stages and what feeds them, as Mermaid or DOT" },
  diff: {
    summary: "compare two runs, each a lock file, a run's name (fusion.smoke) or a git revision",
    operands: [{ name: "A", values: "files" }, { name: "B", values: "files" }],
  },
  trace: {
    summary: "follow an instance, a key or an artifact's digest back to the first bytes",
    operands: [{ name: "WHAT", values: "instances" }],
  },
  audit: {
    summary:
      "hash the store, the locks and outputs/ again; list what is altered, missing or orphaned",
  },
  certify: {
    summary:
      "execute instances again, past all caches and in other circumstances; grade each output",
    operands: [{ name: "INSTANCE|GLOB", values: "instances" }],
  },
  selfaudit: {
    summary: "edit and alter a copy of the project; say whether just those react that must",
  },
  serve: { summary: "show outputs/ and the progress of runs in a browser, on this machine only" },
  doctor: { summary: "say what this machine has, whether it computes rightly, and how fast" },
  new: {
    summary: "write the folder of a small experiment that runs, to start one's own from",
    operands: [{ name: "NAME" }],
  },
  schema: { summary: "write experiments/schema.json, for editors" },
  completions: {
    summary: "print a script that completes commands, options and names in a shell",
    operands: [{ name: SHELLS.join("|"), values: SHELLS }],
  },
  help: {
    summary: "show the commands, or a command's options",
    operands: [{ name: "COMMAND", values: "commands", optional: true }],
  },
  version: { summary: "show the versions of Lockstep, Deno and V8" },
} as const satisfies Readonly<Record<string, CommandSpec>>;

/** The name of a command. */
export type Command = keyof typeof SPECS;

/** The commands by name. */
export const COMMANDS: Readonly<Record<Command, CommandSpec>> = SPECS;
/** The names of the commands. */
export const COMMAND_NAMES = Object.keys(SPECS) as Command[];

/** One option. */
export interface Flag {
  /** What it takes, for the help; absent where it takes nothing. */
  readonly argument?: string;
  readonly short?: string;
  readonly help: string;
  readonly commands: readonly Command[];
  readonly repeated?: boolean;
  /** Its values, or those of each command. */
  readonly values?: Values | Readonly<Partial<Record<Command, readonly string[]>>>;
}

const RUNS = ["reproduce", "plan", "why", "status"] as const;
/** The commands that read what a run left. */
const RECORDS = ["logs", "metrics", "export"] as const;
/** The commands that look at a store. */
const STORED = [
  ...RUNS,
  ...RECORDS,
  "diff",
  "trace",
  "audit",
  "certify",
  "selfaudit",
  "serve",
] as const;

/** The formats that a command can print, the default first. */
export const FORMATS = { metrics: ["table", "csv", "json"], graph: ["mermaid", "dot"] } as const;

/** The options by name. */
export const FLAGS = {
  experiment: {
    argument: "NAME",
    help: "folder of experiments/; by default the one that main.ts names",
    commands: [...RUNS, ...RECORDS, "certify", "selfaudit", "graph", "diff"],
    values: "experiments",
  },
  profile: {
    argument: "NAME",
    help: "profile of the experiment (default: smoke)",
    commands: [...RUNS, ...RECORDS, "certify", "selfaudit", "graph", "diff"],
    values: "profiles",
  },
  set: {
    argument: "PATH=VALUE",
    help:
      "change a value for this run: STAGE.PARAM, AXIS.VALUE.STAGE.PARAM, grid.AXIS, define.NAME",
    commands: [...RUNS, "certify", "graph"],
    repeated: true,
  },
  only: {
    argument: "GLOB",
    help: "only these instances and what they need: train, train/short, **/0",
    commands: ["reproduce", "plan", "metrics", "graph"],
    repeated: true,
    values: "instances",
  },
  finished: {
    help: "run only what gathers results, such as the report, of those that are up to date",
    commands: ["reproduce", "plan"],
  },
  force: {
    argument: "GLOB",
    help: "run these instances even if they are up to date",
    commands: ["reproduce", "plan"],
    repeated: true,
    values: "instances",
  },
  backend: {
    argument: BACKEND_CHOICES.join("|"),
    help: "where numeric stages compute, or what doctor examines (default: auto)",
    commands: [...RUNS, "certify", "selfaudit", "metrics", "diff", "doctor"],
    values: BACKEND_CHOICES,
  },
  mirror: {
    argument: "DIR|URL",
    help: "take downloads from here; checksums still hold (or LOCKSTEP_MIRROR)",
    commands: [...RUNS, "certify", "selfaudit"],
    values: "files",
  },
  jobs: {
    argument: "N",
    help: "instances at a time (default: number of cores)",
    commands: ["reproduce", "plan", "certify"],
  },
  "dry-run": { help: "say what would run and why, and run nothing", commands: ["reproduce"] },
  locked: {
    help: "fail where a result differs from the committed lock; leave the lock as it is",
    commands: ["reproduce"],
  },
  "fail-fast": {
    help: "end the run at the first failure (default: go on with what does not need it)",
    commands: ["reproduce"],
  },
  all: {
    help: "every instance, not only a line for each stage",
    commands: ["reproduce", "plan", "graph"],
  },
  calibrate: {
    help:
      "where no earlier run shows how long a stage takes, run it for some seconds to estimate " +
      "it; what ends in that time is kept",
    commands: ["plan"],
  },
  follow: { help: "go on printing while it runs", commands: ["logs"] },
  format: {
    argument: "FORMAT",
    help: "metrics: table (the default), csv or json; graph: mermaid (the default) or dot",
    commands: ["metrics", "graph"],
    values: FORMATS,
  },
  times: {
    argument: "K",
    help: "certify: executions of each instance, the first as usual, the others with all varied " +
      "(default: 2); selfaudit: alterations of a kind at most (default: 20)",
    commands: ["certify", "selfaudit"],
  },
  seed: {
    argument: "N",
    help: "which alterations are drawn (default: 0)",
    commands: ["selfaudit"],
  },
  also: {
    argument: "BACKEND",
    help: "another backend to execute on, from what feeds the instances there",
    commands: ["certify"],
    repeated: true,
    values: BACKENDS,
  },
  to: {
    argument: "PATH",
    help: "file to write; for a folder output a folder",
    commands: ["export"],
    values: "files",
  },
  output: {
    argument: "NAME",
    help: "output of the instance, if it has several",
    commands: ["export"],
  },
  overwrite: { help: "replace what is at --to", commands: ["export"] },
  repair: { help: "set damaged files aside and make only those again", commands: ["audit"] },
  page: {
    argument: "FILE",
    help: "write the comparison, or the audit, as an HTML page too",
    commands: ["diff", "selfaudit"],
    values: "files",
  },
  port: {
    argument: "N",
    help: "port on 127.0.0.1 (default: one that is free)",
    commands: ["serve"],
  },
  outputs: {
    argument: "DIR",
    help: "where results and the store are (default: outputs)",
    commands: STORED,
    values: "files",
  },
  quiet: {
    short: "q",
    help: "print failures and the final line only",
    commands: ["reproduce", "audit"],
  },
  json: {
    help: "print one JSON object a line instead of text, errors too",
    commands: [...STORED, "graph", "doctor", "version"],
  },
  help: { short: "h", help: "show this", commands: COMMAND_NAMES },
} as const satisfies Readonly<Record<string, Flag>>;
