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
import type { ClassifierRun, Curves, LanguageRun } from "./curves.ts";

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

function readOutput(store: LocalStore, trace: Trace, output: string) {
  return JSON.parse(Deno.readTextFileSync(store.blobPath(trace.outputs[output]!.sha256)));
}

async function gather<Run>(
  store: LocalStore,
  options: {
    readonly run: string;
    readonly text: string;
    readonly folder: string;
    readonly describe: (history: never, metrics: never) => Run;
  },
): Promise<void> {
  const { run, text, folder } = options;
  const trained = await tracesOf(store, run, `train/${text}`);
  const evaluated = await tracesOf(store, run, `evaluate/${text}`);
  const [tokenized] = await tracesOf(store, run, `tokenize/${text}`.replace(/\/[^/]*$/, ""));
  const tokens = tokenized!.outputs.tokens!.sha256;
  const [first] = trained;
  const handed = {
    source: readOutput(store, tokenized!, "statistics").source.name as string,
    tokenize: paramsOf(tokenized!),
    train: paramsOf(first!, ["seed"]),
    evaluate: paramsOf(evaluated[0]!),
    tokens,
  };
  Deno.mkdirSync(join(folder, text), { recursive: true });
  Deno.copyFileSync(store.blobPath(tokens), join(folder, text, "tokens"));
  Deno.writeTextFileSync(join(folder, text, "case.json"), JSON.stringify(handed, null, 1) + "\n");
  const curves: Curves<Run> = {
    versions: {
      deno: first!.ingredients.deno!,
      ...Object.fromEntries(
        Object.entries(first!.ingredients).filter(([name]) => /^platform\.|tensorflow/.test(name)),
      ),
    },
    ...handed,
    runs: trained.map((trace, i) =>
      options.describe(
        readOutput(store, trace, "history") as never,
        readOutput(store, evaluated[i]!, "metrics") as never,
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
      await gather<LanguageRun>(store, {
        run: "intensity.small",
        text,
        folder: folder!,
        describe: (
          history: LanguageRun,
          metrics: { splits: { split: string; lossNats: number }[] },
        ) => ({
          seed: history.seed,
          evaluations: history.evaluations,
          heldOutLoss: metrics.splits.find(({ split }) => split === "validation")!.lossNats,
        }),
      });
      break;
    case "ag_news":
      await gather<ClassifierRun>(store, {
        run: "fusion.small",
        text,
        folder: folder!,
        describe: (history: ClassifierRun, metrics: { accuracy: number; lossNats: number }) => ({
          seed: history.seed,
          epochs: history.epochs,
          testAccuracy: metrics.accuracy,
          testLoss: metrics.lossNats,
        }),
      });
      break;
    default:
      throw new Error(`TEXT must be tinyshakespeare or ag_news, found ${text}`);
  }
  store.close();
}
