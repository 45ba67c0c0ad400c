import { assert, assertEquals } from "@std/assert";
import { join } from "node:path";
import { writeTokenFile } from "../../data/token_file.ts";
import { FUSIONS } from "../../models/names.ts";
import { excerpts } from "../../models/gpt_training.ts";
import { RUNS } from "../../models/intensity_runs.ts";
import { decodeTensors } from "../../models/safetensors.ts";
import type { Stage } from "../../pipeline/stage.ts";
import { train } from "../../stages/train.ts";
import { trainLanguage } from "../../stages/train_language.ts";
import { artifact, runStage } from "../rig/run_stage.ts";
import { temporaryFolder } from "../rig/temporary.ts";

const DOCUMENTS = 60, SYMBOLS = 200;
const small = { d_model: 16, heads: 2, layers: 1, checkpoint_every: 1, dropout: 0 };

/**
 * Trains, and gives for each step the norms of the gradient's rows for `embedding`, from how its
 * first moment changed: m ← 0.9 m + 0.1 g.
 */
async function embeddingGradients(
  stage: Stage<unknown>,
  corpus: (path: string) => void,
  params: Record<string, unknown>,
): Promise<number[][]> {
  const directory = temporaryFolder();
  const checkpoints = join(directory, "checkpoints");
  Deno.mkdirSync(checkpoints);
  corpus(join(directory, "corpus"));
  const steps: number[][] = [];
  let before = new Float32Array();
  const inputs = { tokens: artifact(join(directory, "corpus")) };
  await runStage(stage, { ...small, ...params }, {
    directory,
    inputs,
    checkpoints,
    progress() {
      // Its first line is its digest.
      const bytes = Deno.readFileSync(join(checkpoints, "checkpoint"));
      const { tensors } = decodeTensors(bytes.subarray(bytes.indexOf(0x0a) + 1));
      const { shape, values } = tensors.get("first/embedding")!;
      const norms = new Array<number>(shape[0]!).fill(0), width = shape[1]!;
      values.forEach((m, i) => {
        const g = 10 * (m - Math.fround(0.9 * (before[i] ?? 0)));
        norms[Math.floor(i / width)]! += g * g;
      });
      steps.push(norms.map(Math.sqrt));
      before = Float32Array.from(values);
    },
  });
  return steps;
}

/** Document i is the token i + 2 alone, so that a gradient tells which documents a batch had. */
function writeNumbered(path: string): void {
  const split = (count: number) => ({
    labels: Uint16Array.from({ length: count }, (_, i) => i % 3),
    offsets: Uint32Array.from({ length: count + 1 }, (_, i) => i),
    ids: Uint16Array.from({ length: count }, (_, i) => i + 2),
    clipped: 0,
  });
  writeTokenFile(path, {
    vocabularySize: DOCUMENTS + 2,
    maxLength: 1,
    classes: ["a", "b", "c"],
    splits: { train: split(DOCUMENTS), validation: split(6), test: split(6) },
  });
}

Deno.test("under one seed every operator trains on the same batches", async () => {
  const batches = async (params: Record<string, unknown>) => {
    const all = { protocol: "paper", batch: 16, epochs: 2, d_ff: 32, ...params };
    const steps = await embeddingGradients(train as Stage<unknown>, writeNumbered, all);
    return steps.map((norms) => norms.flatMap((norm, id) => norm > 0 ? [id - 2] : []));
  };
  const first = await batches({ fusion: "add", seed: 3 });
  assertEquals(first.map(({ length }) => length), [16, 16, 16, 12, 16, 16, 16, 12]);
  const epoch = first.slice(0, 4).flat().sort((a, b) => a - b);
  assertEquals(epoch, Array.from({ length: DOCUMENTS }, (_, i) => i));
  for (const fusion of FUSIONS) {
    assertEquals(await batches({ fusion, seed: 3 }), first, fusion);
  }
  assert(String(await batches({ fusion: "add", seed: 4 })) !== String(first));
});

/** A text in which every token is another symbol. */
const text = Uint16Array.from({ length: SYMBOLS }, (_, i) => (i * 37) % SYMBOLS);

function writeDistinct(path: string): void {
  const split = { labels: Uint16Array.of(0), offsets: Uint32Array.of(0, SYMBOLS), ids: text };
  writeTokenFile(path, {
    vocabularySize: SYMBOLS,
    maxLength: SYMBOLS,
    classes: ["text"],
    splits: { train: { ...split, clipped: 0 }, validation: { ...split, clipped: 0 } },
  });
}

Deno.test("under one seed every run of the language model trains on the same excerpts", async () => {
  for (const run of RUNS.keys()) {
    const params = {
      run,
      seed: 9,
      context: 8,
      batch: 3,
      iterations: 4,
      eval_batches: 1,
      clip_norm: null,
    };
    const steps = await embeddingGradients(trainLanguage as Stage<unknown>, writeDistinct, params);
    assertEquals(steps.length, 4);
    for (const [i, norms] of steps.entries()) {
      const drawn = { count: 3, length: 8, seed: 9, name: `batch/step.${i + 1}` };
      const { sequences, next } = excerpts(text, drawn);
      const seen = new Set([...sequences.ids, ...next]);
      // The logits touch every symbol a little; those to predict, by far the most.
      const others = norms.filter((_, id) => !seen.has(id));
      const least = Math.min(...Array.from(next, (id) => norms[id]!));
      assert(least > 5 * Math.max(...others), `run ${run}, step ${i + 1}`);
    }
  }
});
