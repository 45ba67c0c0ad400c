import { assert, assertEquals, assertMatch, assertRejects } from "@std/assert";
import { join } from "node:path";
import { project } from "../../main.ts";
import { decodeTensors } from "../../models/safetensors.ts";
import { parseOptions } from "../../pipeline/cli/options.ts";
import { openExperiment } from "../../pipeline/cli/wiring.ts";
import { ConfigError } from "../../pipeline/errors.ts";
import { train } from "../../stages/train.ts";
import { artifact, measuredRows, runStage } from "../rig/run_stage.ts";
import { TOY_MODEL, writeToyCorpus } from "./toy_corpus.ts";
import { copyDamaged, unsaid } from "./training/damaged_checkpoints.ts";
import { temporaryFolder } from "../rig/temporary.ts";

const small = {
  fusion: "gate_scalar",
  seed: 0,
  ...TOY_MODEL,
  epochs: 3,
  learning_rate: 5e-3,
  checkpoint_every: 4,
};

interface Run {
  weights: Uint8Array;
  history: string;
  run: Record<string, string | number | null>;
  curve: Record<string, string | number | null>[];
}

async function trained(
  params: Record<string, unknown> = {},
  options: {
    validation?: boolean;
    checkpoints?: string;
    dieAt?: number;
    onStep?: (step: number) => void;
    stopping?: AbortSignal;
  } = {},
): Promise<Run> {
  const directory = temporaryFolder();
  const corpus = join(directory, "corpus");
  writeToyCorpus(corpus, options);
  const { outputs } = await runStage(train, { ...small, ...params }, {
    directory,
    inputs: { tokens: artifact(corpus) },
    ...(options.checkpoints === undefined ? {} : { checkpoints: options.checkpoints }),
    ...(options.stopping === undefined ? {} : { stopping: options.stopping }),
    progress({ done }) {
      options.onStep?.(done);
      if (done === options.dieAt) throw new Error("killed");
    },
  });
  return {
    weights: Deno.readFileSync(outputs.weights!),
    history: Deno.readTextFileSync(outputs.history!),
    run: measuredRows(outputs.history!, "runs")[0]!,
    curve: measuredRows(outputs.history!, "curve"),
  };
}

Deno.test("training learns, and records what it did", async () => {
  const { weights, run, curve } = await trained({ epochs: 8 }, { validation: true });
  const accuracies = curve.map((each) => Number(each.validation_accuracy));
  assertEquals(run, {
    protocol: "paper",
    parameters: 20 * 16 + 33 + 16 * 48 + 48 + 16 * 16 + 16 + 32 + 16 * 32 + 32 + 32 * 16 + 16 +
      32 + 16 * 3 + 3,
    epochs: 8,
    best_epoch: accuracies.indexOf(Math.max(...accuracies)) + 1,
    steps: 8 * Math.ceil(90 / 16),
  });
  assertEquals(curve.map(({ epoch }) => epoch), [1, 2, 3, 4, 5, 6, 7, 8]);
  assert(Math.max(...accuracies) > 0.6, `three classes, found ${accuracies}`);
  assert(Number(curve[7]!.train_loss) < Number(curve[0]!.train_loss) * 0.8);
  assertEquals(decodeTensors(weights).metadata.fusion, "gate_scalar");
});

Deno.test("the same params give the same bits, another seed others", async () => {
  const [first, second, other] = [await trained(), await trained(), await trained({ seed: 1 })];
  assertEquals(first, second);
  assert(first.history !== other.history);
});

Deno.test("a run killed at any step and resumed equals an undisturbed one", async () => {
  const undisturbed = await trained();
  for (const dieAt of [3, 4, 5, 6, 7, 9, 12, 13, 18]) {
    const checkpoints = temporaryFolder();
    await assertRejects(() => trained({}, { checkpoints, dieAt }), Error, "killed");
    let later = 0;
    assertEquals(await trained({}, { checkpoints }), undisturbed, `killed at step ${dieAt}`);
    for (const entry of Deno.readDirSync(checkpoints)) if (entry.name.endsWith("partial")) later++;
    assertEquals(later, 0);
  }
});

Deno.test("how often checkpoints are saved changes no bit, interrupted or not", async () => {
  const undisturbed = await trained();
  for (const checkpoint_every of [1, 3, 5, 1000]) {
    const checkpoints = temporaryFolder();
    assertEquals(await trained({ checkpoint_every }, { checkpoints }), undisturbed);
    const killed = temporaryFolder();
    await assertRejects(
      () => trained({ checkpoint_every }, { checkpoints: killed, dieAt: 8 }),
      Error,
      "killed",
    );
    // Resumed by a run that saves as often as the first one does.
    assertEquals(await trained({}, { checkpoints: killed }), undisturbed, `${checkpoint_every}`);
  }
});

Deno.test("a run that is asked to stop at any step is resumed from there, with the same bits", async () => {
  const undisturbed = await trained();
  for (const stopAt of [1, 2, 4, 5, 6, 10, 16]) {
    const checkpoints = temporaryFolder();
    const controller = new AbortController();
    const reason = new Error("stopped");
    const onStep = (step: number) => step === stopAt && controller.abort(reason);
    const stopped = trained({}, { checkpoints, onStep, stopping: controller.signal });
    assertEquals(await assertRejects(() => stopped), reason);
    const steps: number[] = [];
    const resumed = await trained({}, { checkpoints, onStep: (step) => steps.push(step) });
    assertEquals(resumed, undisturbed, `stopped after step ${stopAt}`);
    assertEquals(steps[0], stopAt + 2, "the step that was on its way is the last");
  }
});

Deno.test("a resumed run does not repeat the steps before its checkpoint", async () => {
  const checkpoints = temporaryFolder();
  await assertRejects(() => trained({}, { checkpoints, dieAt: 9 }), Error, "killed");
  // Step 8 was checkpointed: dying "at step 8" cannot happen again.
  await trained({}, { checkpoints, dieAt: 8 });
});

Deno.test("a run resumed from damaged checkpoints equals an undisturbed one", async () => {
  const undisturbed = await trained();
  const saved = temporaryFolder();
  await assertRejects(() => trained({}, { checkpoints: saved, dieAt: 9 }), Error, "killed");
  for (let trial = 0; trial < 150; trial++) {
    const checkpoints = join(temporaryFolder(), "checkpoints");
    copyDamaged(saved, checkpoints, trial);
    const warnings = await unsaid(async () =>
      assertEquals(await trained({}, { checkpoints }), undisturbed, `trial ${trial}`)
    );
    assertEquals(warnings, trial % 4 === 0 ? 2 : 1, `trial ${trial}`);
  }
});

Deno.test("the memory limit changes sums by rounding alone", async () => {
  const plain = { dropout: 0, epochs: 1 };
  const loss = async (params: Record<string, unknown>) =>
    Number((await trained(params)).curve[0]!.train_loss);
  const difference = Math.abs(await loss(plain) - await loss({ ...plain, chunk_tokens: 30 }));
  assert(difference < 1e-5, `losses differ by ${difference}`);
});

Deno.test("patience stops a run that no longer improves", async () => {
  const { run } = await trained({ epochs: 40, patience: 2, learning_rate: 1e-7 });
  assert(Number(run.epochs) < 40, "it ran on");
  assert(Number(run.epochs) >= Number(run.best_epoch) + 2);
});

Deno.test("every operator and encoding trains", async () => {
  const all = [
    ...["concat", "gate_cnn", "gate_mlp", "gate_vector", "mlp", "mul"].map((fusion) => ({
      fusion,
    })),
    ...["learned", "rope", "relative"].map((encoding) => ({ encoding })),
    ...["rope_attention", "relative_attention"].map((encoding) => ({ encoding, fusion: "add" })),
    { fusion: "gate_cnn", gate_reduce: "mean", gate_taps: 5 },
  ];
  for (const params of all) {
    const { run, curve } = await trained({ ...params, epochs: 1 });
    assertEquals(run.steps, Math.ceil(81 / 16));
    assert(typeof curve[0]!.train_loss === "number", JSON.stringify(params));
  }
});

Deno.test("the authors' protocol does not pair the initial weights", async () => {
  const [paired, unpaired] = [await trained(), await trained({ protocol: "authors-code" })];
  assert(String(paired.weights) !== String(unpaired.weights));
});

/** What is wrong with an experiment under some `--set`, as it is planned. */
async function refusal(experiment: string, ...set: string[]): Promise<string> {
  const options = ["--experiment", experiment, ...set.flatMap((each) => ["--set", each])];
  const error = await assertRejects(() =>
    openExperiment(project, parseOptions(["plan", ...options]))
  );
  assert(error instanceof ConfigError);
  return error.message;
}

Deno.test("cells that cannot run are refused before anything runs, once, by file and line", async () => {
  assertMatch(
    await refusal(
      "fusion",
      "grid.encoding=[sinusoidal, rope_attention]",
      "grid.operator=[add, concat, mul]",
    ),
    /^--set grid\.operator=\S+ \S+ \S+: must be add where the encoding is rope_attention, [^\n]+, found "concat"\n {2}from experiments\/fusion\/experiment\.yaml:\d+: stages\.train\.params\.fusion: \$operator$/,
  );
  const heads = "must divide d_model, 32, found 3";
  for (const experiment of ["fusion", "intensity"]) {
    assertEquals(await refusal(experiment, "train.heads=3"), `--set train.heads=3: ${heads}`);
  }
});
