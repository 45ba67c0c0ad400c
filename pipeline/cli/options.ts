/**
 * Parses the command line and refuses what no command takes.
 *
 * @module
 */
import { parseArgs } from "@std/cli/parse-args";
import { parseSize } from "../amounts.ts";
import { UsageError } from "../errors.ts";
import { ON_REQUEST } from "../gc/kinds.ts";
import { type ExecutorName, EXECUTORS } from "../config/executors.ts";
import { BACKEND_CHOICES, type BackendChoice } from "../key/platform.ts";
import { type Backend, BACKENDS } from "../stage.ts";
import { addressText, parseAddress } from "../store/remote/address.ts";
import { nearest, nearName, suggestion } from "../suggestion.ts";
import { type Command, COMMAND_NAMES, COMMANDS } from "./commands.ts";
import { type Flag, FLAGS, FORMATS } from "./flags.ts";

/** Parsed options; one that was not given is absent, false or its default. */
export interface Options {
  /** The arguments as they were given. */
  readonly given: readonly string[];
  readonly command: Command;
  readonly operands: readonly string[];
  readonly experiment?: string;
  readonly profile: string;
  readonly set: readonly string[];
  readonly only: readonly string[];
  readonly force: readonly string[];
  readonly backend: BackendChoice;
  /** Backends whose results are taken besides. */
  readonly acceptPlatform: readonly Backend[];
  readonly mirror?: string;
  /** The address of a shared cache. */
  readonly cache?: string;
  /** Whether results are put there. */
  readonly push: boolean;
  /** Files of public keys: of a cache only what one of them signed is taken. */
  readonly trusted: readonly string[];
  readonly jobs: number;
  /** Processors that instances share. */
  readonly cpus: number;
  /** Adapters: numbers, or variables of the environment. */
  readonly adapter: readonly string[];
  /** Bytes that instances share; by default all that there are. */
  readonly memory?: number;
  /** Where instances are made; each where its stage says, if this does not. */
  readonly executor?: ExecutorName;
  readonly dryRun: boolean;
  readonly locked: boolean;
  /** Whether what gathers takes what is up to date, and nothing else runs. */
  readonly finished: boolean;
  /** Whether commands run without a cage. */
  readonly uncaged: boolean;
  readonly failFast: boolean;
  readonly all: boolean;
  readonly calibrate: boolean;
  readonly follow: boolean;
  readonly format?: string;
  /** Executions or alterations; by default as many as the command thinks right. */
  readonly times?: number;
  readonly seed: number;
  /** Backends besides the one that keys are of. */
  readonly also: readonly Backend[];
  readonly to?: string;
  readonly output?: string;
  readonly key?: string;
  /** A git revision. */
  readonly against?: string;
  readonly check: boolean;
  readonly overwrite: boolean;
  readonly delete: boolean;
  /** How many recorded runs keep all that they made. */
  readonly latest: number;
  readonly include: readonly string[];
  readonly repair: boolean;
  readonly outputs?: string;
  readonly quiet: boolean;
  readonly json: boolean;
  readonly page?: string;
  readonly port: number;
  /** Bytes. */
  readonly largest: number;
  readonly lock?: string;
  readonly checkout: boolean;
}

const NAMES = Object.keys(FLAGS) as (keyof typeof FLAGS)[];
const flag = (name: keyof typeof FLAGS): Flag => FLAGS[name];

/**
 * Parses a command line. `--help` and `--version` become the commands `help` and `version`.
 *
 * @throws {UsageError} For an unknown command or option, or a value that breaks its rule.
 */
export function parseOptions(args: readonly string[]): Options {
  const [first = "help", ...rest] = args;
  if (first === "-h" || first === "--help") return parseOptions(["help"]);
  if (first === "-V" || first === "--version") return parseOptions(["version"]);
  const command = COMMAND_NAMES.find((name) => name === first);
  if (!command) {
    throw new UsageError(
      `Cannot run "${first}": no such command${suggestion(first, COMMAND_NAMES)}`,
    );
  }
  const values = parseFlags(command, rest);
  if (values["help"]) return { ...parseOptions(["help"]), operands: [command] };
  const operands = values._.map(String);
  checkOperands(command, operands);
  return { given: args, command, operands, ...parseValues(command, new Values(values)) };
}

type Parsed = Record<string, unknown> & { readonly _: readonly (string | number)[] };

function parseFlags(command: Command, args: readonly string[]): Parsed {
  const known = NAMES.filter((name) => flag(name).commands.includes(command));
  return parseArgs([...args], {
    boolean: known.filter((name) => flag(name).argument === undefined),
    // "_": an operand of digits alone, such as a git revision, stays as it is written.
    string: ["_", ...known.filter((name) => flag(name).argument !== undefined)],
    collect: known.filter((name) => flag(name).repeated),
    alias: Object.fromEntries(
      known.flatMap((name) => flag(name).short === undefined ? [] : [[flag(name).short!, name]]),
    ),
    unknown(argument, key) {
      if (key === undefined) return true;
      throw new UsageError(unknownFlag(argument.split("=")[0]!, { key, command, known }));
    },
  }) as Parsed;
}

/** Says whether an option is another command's, or which one was probably meant. */
function unknownFlag(
  given: string,
  o: { key: string; command: Command; known: readonly string[] },
): string {
  const elsewhere = NAMES.find((name) => name === o.key);
  const what = `Cannot use ${given} with ${o.command}`;
  if (elsewhere) return `${what}: it is an option of ${flag(elsewhere).commands.join(", ")}`;
  const near = nearest(o.key, o.known);
  const hint = near === undefined
    ? `deno task ${o.command} --help shows its options`
    : `did you mean --${near}?`;
  return `${what}: no such option; ${hint}`;
}

function checkOperands(command: Command, operands: readonly string[]): void {
  const taken = COMMANDS[command].operands ?? [];
  // The command itself asks for an instance: it can name one.
  const required = taken.filter(({ optional, values }) => !optional && values !== "instances");
  const max = taken.some(({ repeated }) => repeated) ? Infinity : taken.length;
  if (operands.length >= required.length && operands.length <= max) return;
  const wanted = taken.map(({ name }) => name).join(" and ") || "no arguments";
  const found = operands.join(" ");
  const hint = taken.length === 0 && flag("only").commands.includes(command)
    ? `; did you mean --only ${found}?`
    : "";
  throw new UsageError(
    `Cannot run "${command}": it takes ${wanted}, found ${found || "none"}${hint}`,
  );
}

/** Option values as text; refuses one that is empty. */
class Values {
  readonly #values: Readonly<Record<string, unknown>>;

  constructor(values: Readonly<Record<string, unknown>>) {
    this.#values = values;
  }

  text(name: keyof typeof FLAGS): string | undefined {
    const value = this.#values[name];
    if (value === "") {
      throw new UsageError(`Cannot use --${name}: it takes ${flag(name).argument}`);
    }
    return value === undefined ? undefined : String(value);
  }

  list(name: keyof typeof FLAGS): readonly string[] {
    return (this.#values[name] as string[] | undefined) ?? [];
  }

  has(name: keyof typeof FLAGS): boolean {
    return this.#values[name] === true;
  }

  integer(name: keyof typeof FLAGS, o: { or: number; min: number; max?: number }): number {
    const text = this.text(name);
    const value = Number(text ?? o.or);
    const isWhole = Number.isInteger(value) || text === undefined;
    if (isWhole && value >= o.min && value <= (o.max ?? Infinity)) return value;
    throw new UsageError(
      `Cannot use --${name} ${text}: it must be a whole number from ${o.min}` +
        (o.max === undefined ? "" : ` to ${o.max}`),
    );
  }

  /** Bytes. */
  size(name: keyof typeof FLAGS): number | undefined {
    const text = this.text(name);
    if (text === undefined) return undefined;
    const bytes = parseSize(text);
    if (bytes !== undefined) return bytes;
    throw new UsageError(
      `Cannot use --${name} ${text}: it must be a size such as 500kB, 20MB or 1GB`,
    );
  }

  choice<T extends string>(name: keyof typeof FLAGS, choices: readonly T[]): T {
    return this.#chosen(name, this.text(name) ?? choices[0]!, choices);
  }

  choices<T extends string>(name: keyof typeof FLAGS, choices: readonly T[]): T[] {
    return this.list(name).map((value) => this.#chosen(name, value, choices));
  }

  #chosen<T extends string>(
    name: keyof typeof FLAGS,
    value: string,
    choices: readonly T[],
  ): T {
    const found = choices.find((choice) => choice === value);
    if (found !== undefined) return found;
    throw new UsageError(
      `Cannot use --${name} ${value}: it must be one of ${choices.join(", ")}` +
        nearName(value, choices),
    );
  }
}

/** The cache of a command that may ask one, as an address that is one. */
function cacheOf(command: Command, values: Values): string | undefined {
  if (!flag("cache").commands.includes(command)) return undefined;
  const text = values.text("cache") ?? (Deno.env.get("LOCKSTEP_CACHE") || undefined);
  return text && addressText(parseAddress(text));
}

/** The keys that a command trusts. */
function trustedBy(command: Command, values: Values): readonly string[] {
  if (!flag("trusted").commands.includes(command)) return [];
  const given = values.list("trusted");
  const usual = Deno.env.get("LOCKSTEP_TRUSTED")?.split(":").filter((path) => path !== "");
  return given.length > 0 ? given : usual ?? [];
}

function parseValues(
  command: Command,
  values: Values,
): Omit<Options, "given" | "command" | "operands"> {
  const texts = {
    experiment: values.text("experiment"),
    mirror: values.text("mirror") ?? Deno.env.get("LOCKSTEP_MIRROR"),
    cache: cacheOf(command, values),
    outputs: values.text("outputs"),
    page: values.text("page"),
    lock: values.text("lock"),
    to: values.text("to"),
    output: values.text("output"),
    key: values.text("key"),
    against: values.text("against"),
    format: command === "metrics" || command === "graph" || command === "export"
      ? values.choice<string>("format", FORMATS[command])
      : undefined,
  };
  if (values.has("locked") && values.has("finished")) {
    throw new UsageError(
      "Cannot use --finished with --locked: a lock is of all results; give one of them",
    );
  }
  if (values.has("locked") && values.list("accept-platform").length > 0) {
    throw new UsageError(
      "Cannot use --accept-platform with --locked: a lock is of one platform; give one of them",
    );
  }
  if (values.has("push") && texts.cache === undefined) {
    throw new UsageError("Cannot use --push: it needs --cache URL, or LOCKSTEP_CACHE");
  }
  if (command === "reproduce" && texts.key !== undefined && !values.has("push")) {
    throw new UsageError("Cannot use --key: it signs what goes into a cache; give --push too");
  }
  const given = Object.fromEntries(Object.entries(texts).filter(([, text]) => text)) as {
    [name in keyof typeof texts]?: string;
  };
  const jobs = values.integer("jobs", { or: navigator.hardwareConcurrency, min: 1 });
  const memory = values.size("memory");
  return {
    ...given,
    profile: values.text("profile") ?? "smoke",
    set: values.list("set"),
    only: values.list("only"),
    force: values.list("force"),
    backend: values.choice("backend", BACKEND_CHOICES),
    also: values.choices("also", BACKENDS),
    ...values.text("times") === undefined
      ? {}
      : { times: values.integer("times", { or: 1, min: 1, max: 1_000_000 }) },
    seed: values.integer("seed", { or: 0, min: 0 }),
    ...values.text("executor") === undefined
      ? {}
      : { executor: values.choice("executor", EXECUTORS) },
    acceptPlatform: values.choices("accept-platform", BACKENDS),
    jobs,
    // More instances at a time than there are processors share them.
    cpus: values.integer("cpus", { or: Math.max(jobs, navigator.hardwareConcurrency), min: 1 }),
    adapter: values.list("adapter"),
    ...memory === undefined ? {} : { memory },
    port: values.integer("port", { or: 0, min: 0, max: 65535 }),
    largest: values.size("largest") ?? 1e6,
    dryRun: values.has("dry-run"),
    locked: values.has("locked"),
    finished: values.has("finished"),
    uncaged: values.has("uncaged"),
    push: values.has("push"),
    trusted: trustedBy(command, values),
    failFast: values.has("fail-fast"),
    all: values.has("all"),
    calibrate: values.has("calibrate"),
    follow: values.has("follow"),
    check: values.has("check"),
    overwrite: values.has("overwrite"),
    checkout: values.has("checkout"),
    delete: values.has("delete"),
    latest: values.integer("latest", { or: Infinity, min: 0 }),
    include: values.choices("include", ON_REQUEST),
    repair: values.has("repair"),
    quiet: values.has("quiet"),
    json: values.has("json"),
  };
}
