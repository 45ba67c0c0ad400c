/**
 * Tokens per second of one training step: the models of `models/`, the same written with tfjs's own
 * operations, in jax-js and in PyTorch. Names choose models and backends. Without a model it leaves out
 * `gpt`; without a GPU all of the others take a quarter of an hour:
 *
 *     deno run -A bench/training_step.ts [gpt_small] [classifier] [gpt] [webgpu] [wasm+fma] [wasm] [cpu]
 *
 * Every figure comes from a process of its own; the processes run in turn, in five rounds, and the
 * median counts. Those that compute on the processor have one of them, to which `taskset` pins them where
 * the machine has it; their time is the processor's. Last come two trainings at a time, each pinned
 * to a processor: their sum is what `--jobs 2` gives.
 *
 * @module
 */
import { compilerArguments } from "../pipeline/run/executor/compiler_flags.ts";
import { median } from "./timing.ts";
import { isGpt, type Model, SIZES } from "./training_step/sizes.ts";

interface Figures {
  readonly tokensPerSecond: number;
  readonly dispatches: number;
  /** Held on the device, 0 where that is not known, and the most of the process. */
  readonly deviceBytes: number;
  readonly peakBytes: number;
  readonly losses: [number, number];
  /** What of the step's time its products alone would take at their best speed; 0 if not measured. */
  readonly ofLimit: number;
}

const ROUNDS = 5;

const file = (name: string) => new URL(`./training_step/${name}`, import.meta.url).pathname;
const deno = (...args: string[]) => [Deno.execPath(), "run", "-A", file("measure.ts"), ...args];
const wide = await compilerArguments("wasm");
/** Ours, compiled as in a stage's process. */
const ours = (name: string, on: string, model: string) => {
  const [program, ...args] = deno(name, on, model);
  return [program!, ...args.slice(0, 2), ...(on === "webgpu" ? [] : wide), ...args.slice(2)];
};
const jax = (...args: string[]) => [Deno.execPath(), "run", "-A", file("jax_step.ts"), ...args];

interface Subject {
  readonly name: string;
  readonly on: string;
  readonly command: (model: string) => string[];
  /** Whether it is written for language models alone. */
  readonly gpt?: boolean;
  /** Which of ours does the same, by name and backend. */
  readonly against: string;
}

const BARE = "ours, no dropout";
const subjects: Subject[] = [
  {
    name: "ours",
    on: "wasm+fma",
    command: (model) => ours("ours", "wasm+fma", model),
    against: "ours wasm+fma",
  },
  ...["webgpu", "wasm"].flatMap((on) => [
    {
      name: "ours",
      on,
      command: (model: string) => ours("ours", on, model),
      against: `ours ${on}`,
    },
    {
      name: "tfjs",
      on,
      command: (model: string) => deno("stock", on, model),
      against: `ours ${on}`,
    },
    {
      name: BARE,
      on,
      command: (model: string) => ours("ours_without_dropout", on, model),
      gpt: true,
      against: `${BARE} ${on}`,
    },
    {
      name: "jax-js",
      on,
      command: (model: string) => jax(on, model),
      gpt: true,
      against: `${BARE} ${on}`,
    },
  ]),
  {
    name: "PyTorch",
    on: "cpu",
    command: (model) => ["/usr/bin/python3", file("torch_step.py"), JSON.stringify(SIZES), model],
    against: "ours wasm+fma",
  },
];
const TWO_AT_A_TIME = ["ours wasm+fma", "PyTorch cpu"];

/** The longest a process may take. */
const TIMEOUT_MS = 300_000;

const hasTaskset = await new Deno.Command("taskset", { args: ["-V"], stdout: "null" }).output()
  .then(({ success }) => success, () => false);

/** What a process prints last, or why there is nothing. */
async function run(command: string[], processor?: number): Promise<Figures | string> {
  const pinned = processor !== undefined && hasTaskset
    ? ["taskset", "-c", String(processor), ...command]
    : command;
  const [program, ...args] = pinned;
  try {
    const signal = AbortSignal.timeout(TIMEOUT_MS);
    const output = await new Deno.Command(program!, { args, stderr: "piped", signal }).output();
    if (signal.aborted) return `no end within ${TIMEOUT_MS / 1000} s`;
    const last = (bytes: Uint8Array) => new TextDecoder().decode(bytes).trim().split("\n").at(-1)!;
    return output.code === 0 ? JSON.parse(last(output.stdout)) : last(output.stderr);
  } catch (error) {
    return (error as Error).message;
  }
}

/** The middle one of several, by speed; of failures alone the last. */
function middle(figures: readonly (Figures | string)[]): Figures | string {
  const measured = figures.filter((each) => typeof each === "object");
  if (measured.length === 0) return figures.at(-1)!;
  const speed = median(measured.map(({ tokensPerSecond }) => tokensPerSecond));
  return measured.find(({ tokensPerSecond }) => tokensPerSecond === speed)!;
}

const named = (of: Subject) => `${of.name} ${of.on}`;
const megabytes = (bytes: number) => bytes === 0 ? "–" : (bytes / 2 ** 20).toFixed(0);

/** A line of the table. */
function line(subject: Subject, found: Figures | string, ours: Figures | string): string {
  const label = named(subject).padEnd(24);
  if (typeof found === "string") return `${label}  skipped: ${found}`;
  const ratio = typeof ours === "object" ? ours.tokensPerSecond / found.tokensPerSecond : NaN;
  return [
    label,
    found.tokensPerSecond.toFixed(0).padStart(8),
    `ours ${ratio.toFixed(2)} ×`.padStart(12),
    (found.ofLimit > 0 ? `${(100 * found.ofLimit).toFixed(0)} %` : "–").padStart(8),
    String(found.dispatches || "–").padStart(10),
    megabytes(found.deviceBytes).padStart(9),
    megabytes(found.peakBytes).padStart(7),
    found.losses.map((loss) => loss.toFixed(2)).join(" → "),
  ].join("  ");
}

/** Measures all that are compared on one model, and prints the table. */
async function compare(model: Model, compared: readonly Subject[]): Promise<void> {
  const figures: (Figures | string)[][] = compared.map(() => []);
  const sums: number[][] = compared.map(() => []);
  for (let round = 0; round < ROUNDS; round++) {
    for (const [i, subject] of compared.entries()) {
      const command = subject.command(model);
      figures[i]!.push(await run(command, subject.on === "webgpu" ? undefined : 0));
      if (!TWO_AT_A_TIME.includes(named(subject))) continue;
      const both = await Promise.all([run(command, 0), run(command, 1)]);
      const sum = both.reduce(
        (s, one) => s + (typeof one === "object" ? one.tokensPerSecond : NaN),
        0,
      );
      sums[i]!.push(sum);
    }
  }
  const size = Object.entries(SIZES[model]).map(([key, value]) => `${key} ${value}`).join(", ");
  console.log(`\n${model}: ${size}`);
  console.log(
    "                          tokens/s  against ours  of limit  dispatches  device MB  peak MB  loss",
  );
  const found = figures.map(middle);
  for (const [i, subject] of compared.entries()) {
    const ours = compared.findIndex((other) => named(other) === subject.against);
    console.log(line(subject, found[i]!, found[ours] ?? "not measured"));
  }
  for (const [i, subject] of compared.entries()) {
    if (sums[i]!.length === 0) continue;
    console.log(
      `two at a time: ${named(subject).padEnd(16)} ${median(sums[i]!).toFixed(0)} tokens/s`,
    );
  }
}

const adapter = (await navigator.gpu?.requestAdapter())?.info;
console.log(`webgpu: ${adapter === undefined ? "no adapter" : adapter.description || "unnamed"}`);
const backends = Deno.args.filter((name) => !(name in SIZES));
const models = Deno.args.filter((name) => name in SIZES);
for (const model of Object.keys(SIZES) as Model[]) {
  if (models.length > 0 ? !models.includes(model) : model === "gpt") continue;
  await compare(
    model,
    subjects.filter(({ gpt, on }) =>
      (gpt !== true || isGpt(model)) && (backends.length === 0 || backends.includes(on))
    ),
  );
}
