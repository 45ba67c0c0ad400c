/**
 * Takes trained runs out of a store: writes their curves to docs/learning/, and hands the same
 * tokens and params over to PyTorch. docs/learning.md has the commands.
 *
 *     deno run -A tests/learning/gather.ts OUTPUTS TO TEXT
 *
 * @module
 */
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { StageError } from "../../pipeline/errors.ts";
import { readLatest } from "../../pipeline/store/latest.ts";
import { LocalStore } from "../../pipeline/store/local_store.ts";
import type { Trace } from "../../pipeline/store/trace.ts";
import { measuredRows } from "../rig/run_stage.ts";
import type { Curves } from "./curves.ts";

const TO_DOCS = fileURLToPath(new URL("../../docs/learning/", import.meta.url));

/** The traces of a stage's instances in the latest run of this name, in the order of their names. */
async function tracesOf(store: LocalStore, run: string, stage: string): Promise<Trace[]> {
  const keys = Object.entries(readLatest(run, store)?.keys ?? {});
  const traces: Trace[] = [];
  for (const [name, key] of keys.sort()) {
    const trace = name.startsWith(`${stage}/`) ? await store.trace(key) : undefined;
    if (trace) traces.push(trace);
  }
  if (traces.length > 0) return traces;
  throw new StageError(
    `Cannot gather "${run}": its latest run must have trained and evaluated, found no ${stage} ` +
      "in this store; reproduce it as docs/learning.md has it",
  );
}

/** A stage's params as the trace has them, without those of these names. */
function paramsOf({ ingredients }: Trace, without: readonly string[] = []) {
  return Object.fromEntries(
    Object.entries(ingredients).filter(([name]) => name.startsWith("params."))
      .map(([name, value]) => [name.slice("params.".length), JSON.parse(value)] as const)
      .filter(([name]) => !without.includes(name)),
  );
}

/** The path of an output of an instance. */
function outputOf(store: LocalStore, trace: Trace, output: string): string {
  return store.blobPath(trace.outputs[output]!.sha256);
}

/** What an instance trained and measured: rows by table. */
type Rows = (table: string) => Record<string, string | number | null>[];

async function gather(
  store: LocalStore,
  options: {
    readonly run: string;
    readonly text: string;
    readonly folder: string;
    /** From a seed and the rows that its training and its evaluation measured. */
    readonly describe: (seed: number, history: Rows, metrics: Rows) => unknown;
  },
): Promise<void> {
  const { run, text, folder } = options;
  const trained = await tracesOf(store, run, `train/${text}`);
  const evaluated = await tracesOf(store, run, `evaluate/${text}`);
  const [tokenized] = await tracesOf(store, run, `tokenize/${text}`.replace(/\/[^/]*$/, ""));
  const tokens = tokenized!.outputs.tokens!.sha256;
  const [first] = trained;
  const handed = {
    source: String(
      measuredRows(outputOf(store, tokenized!, "statistics"), "corpora")[0]!.source,
    ),
    tokenize: paramsOf(tokenized!),
    train: paramsOf(first!, ["seed"]),
    evaluate: paramsOf(evaluated[0]!),
    tokens,
  };
  Deno.mkdirSync(join(folder, text), { recursive: true });
  Deno.copyFileSync(store.blobPath(tokens), join(folder, text, "tokens"));
  Deno.writeTextFileSync(join(folder, text, "case.json"), JSON.stringify(handed, null, 1) + "\n");
  const curves: Curves<unknown> = {
    versions: {
      deno: first!.ingredients.deno!,
      ...Object.fromEntries(
        Object.entries(first!.ingredients).filter(([name]) => /^platform\.|tensorflow/.test(name)),
      ),
    },
    ...handed,
    runs: trained.map((trace, i) =>
      options.describe(
        Number(paramsOf(trace)["seed"]),
        (table) => measuredRows(outputOf(store, trace, "history"), table),
        (table) => measuredRows(outputOf(store, evaluated[i]!, "metrics"), table),
      )
    ),
  };
  Deno.mkdirSync(TO_DOCS, { recursive: true });
  Deno.writeTextFileSync(join(TO_DOCS, `${text}.json`), JSON.stringify(curves, null, 2) + "\n");
}

if (import.meta.main) {
  const [outputs, folder, text] = Deno.args;
  const store = new LocalStore(join(outputs!, "store"));
  switch (text) {
    case "tinyshakespeare":
      await gather(store, {
        run: "intensity.small",
        text,
        folder: folder!,
        describe: (seed, history, metrics) => ({
          seed,
          evaluations: history("curve"),
          heldOutLoss: metrics("runs")[0]!.validation_loss,
        }),
      });
      break;
    case "ag_news":
      await gather(store, {
        run: "fusion.small",
        text,
        folder: folder!,
        describe: (seed, history, metrics) => ({
          seed,
          epochs: history("curve"),
          testAccuracy: metrics("runs")[0]!.accuracy,
          testLoss: metrics("runs")[0]!.loss_nats,
        }),
      });
      break;
    default:
      throw new Error(`TEXT must be tinyshakespeare or ag_news, found ${text}`);
  }
  store.close();
}
