/**
 * Tokens per second of one training step: the models of `models/`, the same written with tfjs's own
 * operations, in jax-js and in PyTorch. Without names it leaves out `gpt`, which is for machines
 * with a GPU; the others take about five minutes without one:
 *
 *     deno run -A bench/training_step.ts [gpt_small] [classifier] [gpt]
 *
 * Every figure comes from a process of its own; the processes run in turn, in two rounds, and the
 * better round counts.
 *
 * @module
 */
import { isGpt, type Model, SIZES } from "./training_step/sizes.ts";

interface Figures {
  readonly tokensPerSecond: number;
  readonly dispatches: number;
  /** Held on the device, 0 where that is not known, and the most of the process. */
  readonly deviceBytes: number;
  readonly peakBytes: number;
  readonly losses: [number, number];
}

const file = (name: string) => new URL(`./training_step/${name}`, import.meta.url).pathname;
const deno = (...args: string[]) => [Deno.execPath(), "run", "-A", file("measure.ts"), ...args];
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
  ...["webgpu", "wasm"].flatMap((on) => [
    {
      name: "ours",
      on,
      command: (model: string) => deno("ours", on, model),
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
      command: (model: string) => deno("ours_without_dropout", on, model),
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
    against: "ours wasm",
  },
];

/** The longest a process may take. */
const TIMEOUT_MS = 300_000;

/** What a process prints last, or why there is nothing. */
async function run([program, ...args]: string[]): Promise<Figures | string> {
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

const adapter = (await navigator.gpu?.requestAdapter())?.info;
console.log(`webgpu: ${adapter === undefined ? "no adapter" : adapter.description || "unnamed"}`);
for (const [model, size] of Object.entries(SIZES)) {
  if (Deno.args.length > 0 ? !Deno.args.includes(model) : model === "gpt") continue;
  const compared = subjects.filter(({ gpt }) => gpt !== true || isGpt(model as Model));
  const best = new Map<number, Figures | string>();
  for (let round = 0; round < 2; round++) {
    for (const [i, { command }] of compared.entries()) {
      const found = await run(command(model)), held = best.get(i);
      const better = held === undefined || typeof held === "string" ||
        typeof found !== "string" && found.tokensPerSecond > held.tokensPerSecond;
      if (better) best.set(i, found);
    }
  }
  console.log(
    `\n${model}: ${Object.entries(size).map(([key, value]) => `${key} ${value}`).join(", ")}`,
  );
  console.log(
    "                          tokens/s  against ours  dispatches  device MB  peak MB  loss",
  );
  const named = (of: Subject) => `${of.name} ${of.on}`;
  const megabytes = (bytes: number) => bytes === 0 ? "–" : (bytes / 2 ** 20).toFixed(0);
  for (const [i, subject] of compared.entries()) {
    const found = best.get(i)!;
    const label = named(subject).padEnd(24);
    if (typeof found === "string") {
      console.log(`${label}  skipped: ${found}`);
      continue;
    }
    const ours = best.get(compared.findIndex((other) => named(other) === subject.against));
    const ratio = typeof ours === "object" ? ours.tokensPerSecond / found.tokensPerSecond : NaN;
    console.log([
      label,
      found.tokensPerSecond.toFixed(0).padStart(8),
      `ours ${ratio.toFixed(2)} ×`.padStart(12),
      String(found.dispatches || "–").padStart(10),
      megabytes(found.deviceBytes).padStart(9),
      megabytes(found.peakBytes).padStart(7),
      found.losses.map((loss) => loss.toFixed(2)).join(" → "),
    ].join("  "));
  }
}
