/**
 * The commands: what each is for and what it takes. Data only, as their options in `flags.ts`: the parser,
 * the help and the shell completions are made from it.
 *
 * @module
 */

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
  /** Whether there may be several. */
  readonly repeated?: boolean;
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
  export: {
    summary: "copy an artifact out of the store, verified, or describe a run for others' tools",
    operands: [{ name: "INSTANCE|RUN", values: "instances" }],
  },
  sign: {
    summary: "sign a file, such as a lock, with an Ed25519 key, or check what was signed",
    operands: [{ name: "FILE", values: "files" }],
  },
  graph: { summary: "draw the stages and what feeds them, as Mermaid or DOT" },
  diff: {
    summary:
      "compare two runs, each a lock file, a run's name (fusion.smoke), a tag or a git revision",
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
  bundle: {
    summary:
      "write the audit file of a run: lock, traces, code, metrics, tables and small artifacts",
    operands: [{ name: "EXPERIMENT[.PROFILE]", values: "experiments", optional: true }],
  },
  verify: {
    summary:
      "check an audit file: every digest, every key, and that tables and verdicts come out again",
    operands: [
      { name: "FILE", values: "files" },
      { name: "INSTANCE", values: "instances", optional: true, repeated: true },
    ],
  },
  gc: {
    summary:
      "say what of the store no run, no tag and none of this project's locks needs, by stage; " +
      "with --delete remove it",
  },
  tag: {
    summary: "keep a run under a name; without one, list the tags",
    operands: [{ name: "NAME", optional: true }],
  },
  push: {
    summary: "put a run's results, or with --all the whole store's, into a shared cache",
  },
  pull: { summary: "fetch what a shared cache has of a run, artifacts too" },
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
