import { assert, assertAlmostEquals, assertEquals, assertRejects } from "@std/assert";
import { join } from "node:path";
import { writeTokenFile } from "../../data/token_file.ts";
import { type GptConfig, gptSpecs } from "../../models/gpt.ts";
import { RUNS } from "../../models/intensity_runs.ts";
import { initialValue } from "../../models/parameters.ts";
import { encodeTensors } from "../../models/safetensors.ts";
import { gptFile } from "../../models/weights.ts";
import { spread } from "../../stages/evaluate_language.run.ts";
import { evaluateLanguage } from "../../stages/evaluate_language.ts";
import { artifact, measuredRows, runStage } from "../rig/run_stage.ts";
import { temporaryFolder } from "../rig/temporary.ts";

const base = { vocabulary: 5, context: 8, d: 16, heads: 2, layers: 2, bypass: false };

interface Options {
  readonly run?: number;
  readonly bypass?: boolean;
  /** Parameters by the end of their names that are set to zero. */
  readonly zero?: string;
  readonly params?: unknown;
  readonly vocabulary?: number;
}

/** Evaluates a model with its initial weights on a text of 61 validation and 30 test tokens. */
async function evaluated({ run = 4, bypass = false, zero, params = {}, vocabulary }: Options) {
  const directory = temporaryFolder();
  const part = (length: number) => {
    const ids = Uint16Array.from({ length }, (_, i) => i % 5);
    return { labels: Uint16Array.of(0), offsets: Uint32Array.of(0, length), ids, clipped: 0 };
  };
  const path = (name: string) => join(directory, name);
  writeTokenFile(path("corpus"), {
    vocabularySize: vocabulary ?? 5,
    maxLength: 300,
    classes: ["text"],
    splits: { train: part(300), validation: part(61), test: part(30) },
  });
  const config: GptConfig = { ...base, intensity: RUNS[run], bypass };
  const tensors = new Map(
    gptSpecs(config).map((spec) => {
      const values = initialValue(spec, { seed: 1 });
      if (zero !== undefined && spec.name.endsWith(zero)) values.fill(0);
      return [spec.name, { shape: [...spec.shape], values }];
    }),
  );
  Deno.writeFileSync(path("weights"), encodeTensors(gptFile({ config, run, seed: 1 }, tensors)));
  const { outputs, metrics } = await runStage(evaluateLanguage, params, {
    directory,
    inputs: { tokens: artifact(path("corpus")), weights: artifact(path("weights")) },
  });
  const intensity = measuredRows(outputs.metrics!, "intensity");
  return { run: measuredRows(outputs.metrics!, "runs")[0]!, intensity, metrics };
}

Deno.test("excerpts to measure on do not overlap and leave a token to predict after each", () => {
  assertEquals(spread(61, { length: 8, max: 100 }), [0, 8, 16, 24, 32, 40, 48]);
  assertEquals(spread(64, { length: 8, max: 100 }).at(-1), 48);
  assertEquals(spread(65, { length: 8, max: 100 }).at(-1), 56);
  assertEquals(spread(61, { length: 8, max: 3 }), [0, 16, 32]);
});

Deno.test("a model that knows nothing has a loss of ln V nats, log₂ V bits", async () => {
  const { run, metrics } = await evaluated({ zero: "embedding" });
  assertEquals([run.validation_tokens, run.test_tokens], [56, 24]);
  for (const split of ["validation", "test"]) {
    assertAlmostEquals(Number(run[`${split}_loss`]), Math.log(5), 1e-6);
    assertAlmostEquals(Number(run[`${split}_bits`]), Math.log2(5), 1e-6);
  }
  assertEquals<unknown>(metrics, {
    validation_loss: run.validation_loss,
    test_loss: run.test_loss,
  });
  const { d_model, heads, layers, context, vocabulary } = run;
  assertEquals([d_model, heads, layers, context, vocabulary], [16, 2, 2, 8, 5]);
});

Deno.test("predictors without an opinion say the middle of their range, at every position", async () => {
  for (const [run, heads, middle] of [[1, [null], 0.55], [3, [null], 0.6], [4, [0, 1], 0.6]]) {
    const { intensity } = await evaluated({ run: run as number, zero: "intensity.out.weight" });
    assertEquals(
      intensity.map(({ block, head, position }) => [block, head, position]),
      [0, 1].flatMap((block) =>
        (heads as (number | null)[]).flatMap((head) =>
          Array.from({ length: 8 }, (_, position) => [block, head, position])
        )
      ),
    );
    for (const { value } of intensity) assertAlmostEquals(Number(value), middle as number, 1e-6);
  }
});

Deno.test("a predictor's opinion differs by position and head", async () => {
  const { intensity } = await evaluated({ run: 4 });
  const values = intensity.map(({ value }) => Number(value));
  assertEquals(new Set(values).size, 2 * 2 * 8);
  for (const value of values) assert(value > 0.2 && value < 1);
});

Deno.test("a model without predictors has no intensities, one that bypasses them has", async () => {
  const [none, bypassed] = [await evaluated({ run: 0 }), await evaluated({ bypass: true })];
  assertEquals(none.intensity, []);
  assertEquals(bypassed.intensity.length, 4 * 8);
  assertEquals(bypassed.run, none.run);
});

Deno.test("the loss does not depend on how many sequences are in memory", async () => {
  const all = await evaluated({});
  const few = await evaluated({ params: { chunk_tokens: 24 } });
  assertAlmostEquals(Number(all.run.validation_loss), Number(few.run.validation_loss), 1e-6);
  few.intensity.forEach(({ value }, i) =>
    assertAlmostEquals(Number(value), Number(all.intensity[i]!.value), 1e-6)
  );
});

Deno.test("weights of another text are refused", async () => {
  await assertRejects(() => evaluated({ vocabulary: 6 }), Error, "5 symbols against 6");
});
