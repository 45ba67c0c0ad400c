import { assert, assertAlmostEquals, assertEquals, assertRejects } from "@std/assert";
import { join } from "node:path";
import { readMeasurements } from "../../analysis/tidy/measurements.ts";
import { writeTokenFile } from "../../data/token_file.ts";
import { StageError } from "../../pipeline/errors.ts";
import { trainAveraging } from "../../stages/train_averaging.ts";
import { artifact, runStage } from "../rig/run_stage.ts";
import { writeToyCorpus } from "./toy_corpus.ts";
import { copyDamaged, unsaid } from "./training/damaged_checkpoints.ts";
import { temporaryFolder } from "../rig/temporary.ts";

const small = {
  seed: 0,
  depth: 2,
  d_model: 10,
  batch: 16,
  epochs: 3,
  learning_rate: 0.05,
  checkpoint_every: 4,
};

interface Options {
  readonly validation?: boolean;
  readonly checkpoints?: string;
  readonly dieAt?: number;
  readonly onStep?: (step: number) => void;
  readonly stopping?: AbortSignal;
}

/** Text of the measurements of one run. */
async function trained(params: object = {}, options: Options = {}): Promise<string> {
  const directory = temporaryFolder();
  const corpus = join(directory, "corpus");
  writeToyCorpus(corpus, options);
  const { checkpoints, stopping, dieAt } = options;
  const { outputs } = await runStage(trainAveraging, { ...small, ...params }, {
    directory,
    inputs: { tokens: artifact(corpus) },
    ...(checkpoints === undefined ? {} : { checkpoints }),
    ...(stopping === undefined ? {} : { stopping }),
    progress({ done }) {
      options.onStep?.(done);
      if (done === dieAt) throw new Error("killed");
    },
  });
  return Deno.readTextFileSync(outputs.metrics!);
}

/** Its tables. */
async function tables(params: object = {}, options: Options = {}) {
  const path = join(temporaryFolder(), "metrics");
  Deno.writeTextFileSync(path, await trained(params, options));
  return readMeasurements(path, "metrics");
}

const numbers = (column: readonly unknown[] | undefined) => column as number[];

Deno.test("training learns what words say, and measures itself on the test documents", async () => {
  const { runs, curve } = await tables({ depth: 1, epochs: 40, learning_rate: 0.1 });
  const { accuracy, correct, loss_nats, ...rest } = runs!;
  assertEquals(rest, {
    documents: [60],
    epochs: [40],
    steps: [40 * Math.ceil(90 / 16)],
    batch: [16],
    d_model: [10],
    parameters: [20 * 10 + (10 * 10 + 10) + 10 * 3 + 3],
  });
  assertEquals(numbers(accuracy)[0], numbers(correct)[0]! / 60);
  assert(numbers(accuracy)[0]! > 0.6, `three classes, found ${accuracy}`);
  assert(numbers(loss_nats)[0]! < Math.log(3));
  assertEquals(curve!.validation_accuracy, new Array(40).fill(null));
  const losses = numbers(curve!.train_loss);
  assertAlmostEquals(losses[0]!, Math.log(3), 0.1);
  assert(losses[39]! < 0.6 * losses[0]!, `${losses}`);
});

Deno.test("without a share and a split of its own there is no validation, else one an epoch", async () => {
  const none = await tables();
  assertEquals(none.curve!.validation_loss, [null, null, null]);
  const given = await tables({}, { validation: true });
  const held = await tables({ validation_share: 0.2 });
  for (const { curve } of [given, held]) {
    for (const accuracy of numbers(curve!.validation_accuracy)) {
      assert(accuracy > 0 && accuracy < 1);
    }
    for (const loss of numbers(curve!.validation_loss)) assertAlmostEquals(loss, Math.log(3), 0.3);
    assertEquals(curve!.epoch, [1, 2, 3]);
  }
  assertEquals(given.runs!.steps, [3 * Math.ceil(90 / 16)]);
  assertEquals(held.runs!.steps, [3 * Math.ceil(72 / 16)]);
});

Deno.test("the same params give the same bits, another seed, depth or dropout others", async () => {
  const first = await trained();
  assertEquals(await trained(), first);
  for (
    const params of [{ seed: 1 }, { depth: 0 }, { word_dropout: 0 }, { rho: 0.1 }, {
      repeats: "once",
    }]
  ) assert(await trained(params) !== first, JSON.stringify(params));
});

Deno.test("AdaGrad starts its sums again after as many epochs as it is to", async () => {
  const whole = await tables({ epochs: 4 });
  const reset = await tables({ epochs: 4, reset_every: 2 });
  const losses = [whole, reset].map(({ curve }) => numbers(curve!.train_loss));
  assertEquals(losses[0]!.slice(0, 2), losses[1]!.slice(0, 2));
  assert(losses[0]![2] !== losses[1]![2]);
});

Deno.test("a run killed or stopped at any step and resumed equals an undisturbed one", async () => {
  const params = { validation_share: 0.1, reset_every: 2 };
  const undisturbed = await trained(params);
  for (const dieAt of [3, 4, 5, 6, 7, 9, 12, 13, 18]) {
    const checkpoints = temporaryFolder();
    const killed = () => trained(params, { checkpoints, dieAt });
    // There are six steps in an epoch, and 18 in all.
    await assertRejects(killed, Error, "killed");
    assertEquals(await trained(params, { checkpoints }), undisturbed, `killed at step ${dieAt}`);
  }
  for (const stopAt of [1, 4, 6, 11]) {
    const checkpoints = temporaryFolder();
    const controller = new AbortController();
    const reason = new Error("stopped");
    const onStep = (step: number) => step === stopAt && controller.abort(reason);
    const stopped = trained(params, { checkpoints, onStep, stopping: controller.signal });
    assertEquals(await assertRejects(() => stopped), reason);
    const steps: number[] = [];
    const resumed = trained(params, { checkpoints, onStep: (step) => steps.push(step) });
    assertEquals(await resumed, undisturbed, `stopped after step ${stopAt}`);
    assertEquals(steps[0], stopAt + 2, "the step that was on its way is the last");
  }
});

Deno.test("how often checkpoints are saved changes no bit", async () => {
  const undisturbed = await trained();
  for (const checkpoint_every of [1, 5, 1000]) {
    const checkpoints = temporaryFolder();
    assertEquals(await trained({ checkpoint_every }, { checkpoints }), undisturbed);
  }
});

Deno.test("a run resumed from damaged checkpoints equals an undisturbed one", async () => {
  const undisturbed = await trained();
  const saved = temporaryFolder();
  await assertRejects(() => trained({}, { checkpoints: saved, dieAt: 9 }), Error, "killed");
  for (let trial = 0; trial < 24; trial++) {
    const checkpoints = join(temporaryFolder(), "checkpoints");
    copyDamaged(saved, checkpoints, trial);
    const warnings = await unsaid(async () =>
      assertEquals(await trained({}, { checkpoints }), undisturbed, `trial ${trial}`)
    );
    assertEquals(warnings, trial % 4 === 0 ? 2 : 1, `trial ${trial}`);
  }
});

Deno.test("another network's checkpoint is set aside", async () => {
  const checkpoints = temporaryFolder();
  await assertRejects(() => trained({ depth: 1 }, { checkpoints, dieAt: 5 }), Error, "killed");
  const warnings = await unsaid(async () =>
    assertEquals(await trained({}, { checkpoints }), await trained())
  );
  assertEquals(warnings, 1);
});

Deno.test("a corpus without test documents, and a model past memory, are refused", async () => {
  const directory = temporaryFolder();
  const corpus = join(directory, "corpus");
  const split = {
    labels: Uint16Array.of(0, 1),
    offsets: Uint32Array.of(0, 1, 2),
    ids: Uint16Array.of(2, 3),
    clipped: 0,
  };
  const run = (params: object = {}) =>
    runStage(trainAveraging, { ...small, ...params }, {
      directory,
      inputs: { tokens: artifact(corpus) },
    });
  const write = (splits: Record<string, typeof split>, vocabularySize = 4) =>
    writeTokenFile(corpus, { vocabularySize, maxLength: 1, classes: ["a", "b"], splits });
  write({ train: split });
  await assertRejects(
    () => run(),
    StageError,
    'must have documents in split "test", found none; its splits are train',
  );
  write({ train: split, test: split }, 65_536);
  await assertRejects(
    () => run({ d_model: 10_000 }),
    StageError,
    "GiB; lower d_model, or tokenize's max_vocabulary",
  );
});
