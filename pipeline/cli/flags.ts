/**
 * The options of the command line, and which commands take them.
 *
 * @module
 */
import { ON_REQUEST } from "../gc/kinds.ts";
import { EXECUTORS } from "../config/executors.ts";
import { BACKEND_CHOICES } from "../key/platform.ts";
import { BACKENDS } from "../stage.ts";
import { type Command, COMMAND_NAMES, type Values } from "./commands.ts";

/** One option. */
export interface Flag {
  /** What it takes, for the help; absent where it takes nothing. */
  readonly argument?: string;
  readonly short?: string;
  readonly help: string;
  /** What it is to a command to which it is something else. */
  readonly helpFor?: Readonly<Partial<Record<Command, string>>>;
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
  "gc",
  "tag",
  "sign",
  "bundle",
  "verify",
  "push",
  "pull",
  "serve",
] as const;
/** The commands that may ask a shared cache. */
const CACHED = [...RUNS, "audit", "push", "pull"] as const;

/** The formats that a command can print, the default first. */
export const FORMATS = {
  metrics: ["table", "csv", "json"],
  graph: ["mermaid", "dot"],
  export: ["artifact", "crate", "slsa", "sbom"],
} as const;

/** Commands that are about an experiment and a profile. */
const OF_PROFILES = [
  ...RUNS,
  ...RECORDS,
  ...["certify", "selfaudit", "graph", "diff", "tag", "bundle", "verify", "push", "pull"],
] as const;

/** The options by name. */
export const FLAGS = {
  experiment: {
    argument: "NAME",
    help: "folder of experiments/; by default the one that main.ts names",
    commands: OF_PROFILES,
    values: "experiments",
  },
  profile: {
    argument: "NAME",
    help: "profile of the experiment (default: smoke)",
    commands: OF_PROFILES,
    values: "profiles",
  },
  set: {
    argument: "PATH=VALUE",
    help:
      "change a value for this run: STAGE.PARAM, AXIS.VALUE.STAGE.PARAM, grid.AXIS, define.NAME",
    commands: [...RUNS, "certify", "graph", "pull"],
    repeated: true,
  },
  only: {
    argument: "GLOB",
    help: "only these instances and what they need: train, train/short, **/0",
    commands: ["reproduce", "plan", "metrics", "graph", "pull"],
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
    help: "where numeric stages compute (default: auto)",
    helpFor: { doctor: "what to examine (default: auto)" },
    commands: [...RUNS, "certify", "selfaudit", "metrics", "diff", "doctor", "pull"],
    values: BACKEND_CHOICES,
  },
  "accept-platform": {
    argument: BACKENDS.join("|"),
    help: "take results of numeric stages on this backend too, where there is none of one's own; " +
      "several may be given, the first counts; no lock is written",
    commands: [...RUNS, "pull"],
    repeated: true,
    values: BACKENDS,
  },
  mirror: {
    argument: "DIR|URL",
    help: "take downloads from here; checksums still hold (or LOCKSTEP_MIRROR)",
    commands: [...RUNS, "certify", "selfaudit", "pull"],
    values: "files",
  },
  cache: {
    argument: "URL",
    help:
      "shared cache to take results from or put them into, http(s)://… or s3://BUCKET/PREFIX (or " +
      "LOCKSTEP_CACHE)",
    commands: CACHED,
  },
  push: { help: "put what this run makes into the cache too", commands: ["reproduce"] },
  trusted: {
    argument: "FILE",
    help: "take from the cache only what this public key signed; several may be given (or " +
      "LOCKSTEP_TRUSTED, with : between them)",
    commands: [...RUNS, "audit", "pull"],
    repeated: true,
    values: "files",
  },
  jobs: {
    argument: "N",
    help: "instances at a time (default: number of cores)",
    commands: ["reproduce", "plan", "certify"],
  },
  cpus: {
    argument: "N",
    help: "processors that instances share, 1 each unless their stage's resources say otherwise " +
      "(default: all, or --jobs if that is more)",
    commands: ["reproduce", "plan"],
  },
  memory: {
    argument: "SIZE",
    help:
      "memory that instances share whose stages' resources name some, 8GB, 16GiB (default: all)",
    commands: ["reproduce", "plan"],
  },
  adapter: {
    argument: "N|VARIABLES",
    help:
      "graphics adapter to compute on, by its number in doctor or as variables, NAME=VALUE, with " +
      "spaces between them; several may be given (default: all of one platform)",
    commands: RUNS,
    repeated: true,
  },
  executor: {
    argument: EXECUTORS.join("|"),
    help:
      "where instances are made: slurm as jobs of a cluster, but for stages with executor: local; " +
      "local here, all of them (default: here, but for stages with executor: slurm)",
    commands: ["reproduce", "plan"],
    values: EXECUTORS,
  },
  "dry-run": {
    help: "say what would run and why, and run nothing; Slurm jobs' scripts are written",
    commands: ["reproduce"],
  },
  locked: {
    help: "fail where a result differs from the committed lock; leave the lock as it is",
    commands: ["reproduce"],
  },
  "fail-fast": {
    help: "end the run at the first failure (default: go on with what does not need it)",
    commands: ["reproduce"],
  },
  uncaged: {
    help: "run stages that are commands without a cage; their results are marked",
    commands: RUNS,
  },
  all: {
    help: "every instance, not only a line for each stage",
    helpFor: { push: "every result of the store, not only those of a run" },
    commands: ["reproduce", "plan", "graph", "push"],
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
    help: "table (the default), csv or json",
    helpFor: {
      graph: "mermaid (the default) or dot",
      export:
        "artifact (the default) or, of a run or tag instead of an instance, crate (Workflow Run " +
        "RO-Crate), slsa (in-toto statements) or sbom (CycloneDX)",
    },
    commands: ["metrics", "graph", "export"],
    values: FORMATS,
  },
  times: {
    argument: "K",
    help:
      "executions of each instance, the first as usual, the others with all varied (default: 2)",
    helpFor: { selfaudit: "alterations of a kind at most (default: 20)" },
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
    commands: ["export", "bundle"],
    values: "files",
  },
  largest: {
    argument: "SIZE",
    help:
      "leave larger artifacts out, 500kB, 20MB (default: 1MB), but for what tables and verdicts are made from",
    commands: ["bundle"],
  },
  checkout: {
    help: "hold the file to this checkout too: its lock of the run, and the code of its stages",
    commands: ["verify"],
  },
  lock: {
    argument: "FILE",
    help: "a lock that the run's must equal, such as that of a commit you trust",
    commands: ["verify"],
    values: "files",
  },
  output: {
    argument: "NAME",
    help: "output of the instance, if it has several",
    commands: ["export"],
  },
  key: {
    argument: "FILE",
    help: "private Ed25519 key in PEM, to sign what goes into the cache",
    helpFor: {
      export: "private Ed25519 key in PEM, to sign statements",
      sign: "Ed25519 key in PEM: the private one signs, the public one checks",
      audit: "public Ed25519 key in PEM, by which every lock must be signed",
    },
    commands: ["export", "sign", "audit", "push", "reproduce"],
    values: "files",
  },
  check: { help: "check FILE's signature, or those in it, instead of signing", commands: ["sign"] },
  overwrite: {
    help: "replace what is at --to",
    helpFor: { tag: "replace the tag of that name", verify: "replace what is at --page" },
    commands: ["export", "tag", "bundle", "verify"],
  },
  delete: {
    help: "remove what it lists",
    helpFor: { tag: "remove the tag NAME" },
    commands: ["gc", "tag"],
  },
  latest: {
    argument: "N",
    help: "of the recorded runs only the last N keep all they made (default: each does)",
    commands: ["gc"],
  },
  include: {
    argument: ON_REQUEST.join("|"),
    help: "remove this too: states that interrupted instances go on from and files that were set " +
      "aside, which nothing can make again; what interrupted runs finished",
    commands: ["gc"],
    repeated: true,
    values: ON_REQUEST,
  },
  repair: { help: "set damaged files aside and make only those again", commands: ["audit"] },
  against: {
    argument: "COMMIT",
    help: "compare locks, the latest runs' results and what of outputs/ is in git with a commit",
    commands: ["audit"],
  },
  page: {
    argument: "FILE",
    help: "HTML page of it to write",
    helpFor: {
      verify:
        "HTML page to write that runs the instances named again in a browser, from FILE or, " +
        "without it, the latest run",
    },
    commands: ["diff", "selfaudit", "verify"],
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
