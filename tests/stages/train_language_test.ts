import { assert, assertEquals, assertRejects } from "@std/assert";
import { join } from "node:path";
import * as tf from "@tensorflow/tfjs";
import { generate } from "../../stages/generate.ts";
import { speed } from "../../stages/speed.ts";
import { trainLanguage } from "../../stages/train_language.ts";
import { artifact, measuredRows, runStage } from "../rig/run_stage.ts";
import { writeToyText } from "./toy_corpus.ts";
import { copyDamaged, unsaid } from "./training/damaged_checkpoints.ts";
import { temporaryFolder } from "../rig/temporary.ts";

const small = {
  run: 4,
  seed: 0,
  d_model: 16,
  heads: 2,
  layers: 1,
  context: 8,
  batch: 4,
  iterations: 12,
  learning_rate: 2e-2,
  min_learning_rate: 2e-3,
  warmup: 2,
  eval_every: 4,
  eval_batches: 2,
  chunk_tokens: 24,
  checkpoint_every: 5,
};

interface Options {
  readonly checkpoints?: string;
  readonly dieAt?: number;
  readonly onStep?: (step: number) => void;
  readonly stopping?: AbortSignal;
}

async function trained(params: Record<string, unknown> = {}, options: Options = {}) {
  const directory = temporaryFolder();
  writeToyText(join(directory, "corpus"));
  const { outputs } = await runStage(trainLanguage, { ...small, ...params }, {
    directory,
    inputs: { tokens: artifact(join(directory, "corpus")) },
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

Deno.test("a language model learns, evaluates on schedule, and keeps its best weights", async () => {
  const { run, curve } = await trained({ iterations: 42, eval_every: 20 });
  assertEquals(curve.map(({ iteration }) => iteration), [0, 20, 40, 42]);
  assertEquals(run.steps, 42);
  const losses = curve.map((each) => Number(each.validation_loss));
  const best = Math.min(...losses);
  assertEquals(run.best_validation_loss, best);
  assertEquals(run.best_iteration, curve[losses.indexOf(best)]!.iteration);
  assert(Math.abs(losses[0]! - Math.log(5)) < 0.1, "it starts as good as guessing");
  assert(best < 0.5, `best loss ${best}`);
});

Deno.test("a language model killed at any step and resumed equals an undisturbed one", async () => {
  const undisturbed = await trained();
  for (const dieAt of [3, 5, 6, 8, 10, 11, 12]) {
    const checkpoints = temporaryFolder();
    await assertRejects(() => trained({}, { checkpoints, dieAt }), Error, "killed");
    assertEquals(await trained({}, { checkpoints }), undisturbed, `killed at step ${dieAt}`);
  }
});

Deno.test("a language model asked to stop at any step is resumed from there, with the same bits", async () => {
  const undisturbed = await trained();
  for (const stopAt of [1, 3, 4, 5, 7, 10]) {
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

Deno.test("a training hears of the end though it computes all the time", async () => {
  const reason = new Error("stopped");
  const controller = new AbortController();
  // A timer, like a message from the engine, comes only when the event loop is let in.
  setTimeout(() => controller.abort(reason), 200);
  const started = performance.now();
  const error = await assertRejects(() =>
    trained({ iterations: 100_000, eval_every: 100_000 }, { stopping: controller.signal })
  );
  assertEquals(error, reason);
  assert(performance.now() - started < 10_000);
});

Deno.test("how often a language model's checkpoints are saved changes no bit, interrupted or not", async () => {
  const undisturbed = await trained();
  for (const checkpoint_every of [1, 3, 7, 1000]) {
    const checkpoints = temporaryFolder();
    assertEquals(await trained({ checkpoint_every }, { checkpoints }), undisturbed);
    const killed = temporaryFolder();
    await assertRejects(
      () => trained({ checkpoint_every }, { checkpoints: killed, dieAt: 8 }),
      Error,
      "killed",
    );
    assertEquals(await trained({}, { checkpoints: killed }), undisturbed, `${checkpoint_every}`);
  }
});

Deno.test("a language model resumed from damaged checkpoints equals an undisturbed one", async () => {
  const undisturbed = await trained();
  const saved = temporaryFolder();
  await assertRejects(() => trained({}, { checkpoints: saved, dieAt: 11 }), Error, "killed");
  for (let trial = 0; trial < 100; trial++) {
    const checkpoints = join(temporaryFolder(), "checkpoints");
    copyDamaged(saved, checkpoints, trial);
    const warnings = await unsaid(async () =>
      assertEquals(await trained({}, { checkpoints }), undisturbed, `trial ${trial}`)
    );
    assertEquals(warnings, trial % 4 === 0 ? 2 : 1, `trial ${trial}`);
  }
});

Deno.test("a bypassed predictor changes nothing but the weights file", async () => {
  const [plain, bypassed] = [await trained({ run: 0 }), await trained({ run: 4, bypass: true })];
  assertEquals(bypassed.curve, plain.curve);
  assert(String(plain.weights) !== String(bypassed.weights));
  const modulated = await trained({ run: 4 });
  assert(JSON.stringify(modulated.curve) !== JSON.stringify(plain.curve));
});

Deno.test("a text shorter than the context is refused", async () => {
  await assertRejects(() => trained({ context: 100 }), Error, 'split "validation" must have more');
});

Deno.test("generated text is made of the symbols, the same with each seed", async () => {
  const { weights } = await trained({ iterations: 60, eval_every: 60 });
  const directory = temporaryFolder();
  const write = (name: string) => join(directory, name);
  writeToyText(write("corpus"));
  Deno.writeFileSync(write("weights"), weights);
  const symbols = [..."abcde"].map((letter) => letter.codePointAt(0));
  Deno.writeTextFileSync(write("vocabulary"), JSON.stringify({ unit: "character", symbols }));
  const inputs = {
    tokens: artifact(write("corpus")),
    weights: artifact(write("weights")),
    vocabulary: artifact(write("vocabulary")),
  };
  const params = { samples: 2, tokens: 20, seed: 3 };
  const { outputs } = await runStage(generate, params, { directory, inputs });
  const samples = Deno.readTextFileSync(outputs.samples!);
  const { texts } = JSON.parse(samples);
  assertEquals(texts.length, 2);
  for (const text of texts) assert(/^a[a-e]{20}$/.test(text), text);
  assert(texts[0].includes("abcdeabcde"), texts[0]);
  const again = await runStage(generate, params, { directory, inputs });
  assertEquals(Deno.readTextFileSync(again.outputs.samples!), samples);
  const started = await runStage(generate, { ...params, start: "cd" }, { directory, inputs });
  for (const text of JSON.parse(Deno.readTextFileSync(started.outputs.samples!)).texts) {
    assert(/^cd[a-e]{20}$/.test(text), text);
  }
  await assertRejects(
    () => runStage(generate, { ...params, start: "c d" }, { directory, inputs }),
    Error,
    'start must be of symbols of the training text, found " " in "c d"',
  );
});

Deno.test("generation is timed in every round, each model by its coordinates, with and without a cache", async () => {
  const directory = temporaryFolder();
  const write = (name: string) => join(directory, name);
  writeToyText(write("corpus"));
  const symbols = [..."abcde"].map((letter) => letter.codePointAt(0));
  Deno.writeTextFileSync(write("vocabulary"), JSON.stringify({ unit: "character", symbols }));
  const weights = await Promise.all([0, 4].map(async (run) => {
    Deno.writeFileSync(write(`weights.${run}`), (await trained({ run })).weights);
    return artifact(write(`weights.${run}`), { text: "toy", run: String(run) });
  }));
  const before = tf.memory().numTensors;
  const timed = async (params: Record<string, unknown>) => {
    const vocabulary = artifact(write("vocabulary"));
    const inputs = { tokens: artifact(write("corpus")), vocabulary, weights };
    const { outputs, metrics } = await runStage(
      speed,
      { tokens: 6, rounds: 3, ...params },
      { directory, inputs },
    );
    assertEquals(metrics, {}, "a lock has its stages' metrics, and must not change with the time");
    const table = (name: string) => measuredRows(outputs.speed!, name);
    return { speeds: table("speeds"), timing: table("timing") };
  };
  const { speeds, timing } = await timed({});
  assertEquals(tf.memory().numTensors, before, "no tensor is left");
  assertEquals(timing, [{ backend: "wasm", tokens: 6, warm_up: 1, rounds: 3 }]);
  assertEquals(
    speeds.map(({ text, run, round }) => [text, run, round]),
    ["0", "4"].flatMap((run) => [0, 1, 2].map((round) => ["toy", run, round])),
  );
  for (const each of speeds) {
    assert(Number(each.tokens_per_second) > 0 && Number(each.tokens_per_second_cached) > 0);
  }
  const plain = await timed({ cached: false });
  assertEquals(plain.speeds.map((each) => each.tokens_per_second_cached), Array(6).fill(null));
  const alone = await timed({ order: "one_by_one", start: "b", cached: false });
  assertEquals(alone.speeds.map(({ run, round }) => [run, round]), [["0", 0], ["4", 0]]);
  for (const each of alone.speeds) assert(Number(each.tokens_per_second) > 0);
});
