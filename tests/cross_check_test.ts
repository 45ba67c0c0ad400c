import { assert, assertEquals } from "@std/assert";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { encodeTokens } from "../data/token_file.ts";
import { type ClassifierConfig, classifierSpecs } from "../models/classifier.ts";
import { initialValue } from "../models/parameters.ts";
import { integers, normal, permutation, streamKey, uniform, words } from "../models/random.ts";
import { decodeTensors } from "../models/safetensors.ts";
import { trainedFrom } from "../models/weights.ts";
import { temporaryFolder } from "./rig/temporary.ts";

const FOLDER = fileURLToPath(new URL("../experiments/cross_check/", import.meta.url));

/** Runs Python with the experiment's modules; its output as JSON. */
async function python(code: string, input = ""): Promise<unknown> {
  const child = new Deno.Command("/usr/bin/python3", {
    args: ["-c", code],
    env: { PYTHONPATH: FOLDER, PYTHONDONTWRITEBYTECODE: "1" },
    stdin: "piped",
    stdout: "piped",
    stderr: "piped",
  }).spawn();
  const writer = child.stdin.getWriter();
  await writer.write(new TextEncoder().encode(input));
  await writer.close();
  const { code: status, stdout, stderr } = await child.output();
  assertEquals(status, 0, new TextDecoder().decode(stderr));
  return JSON.parse(new TextDecoder().decode(stdout).trim().split("\n").at(-1)!);
}

/** Whether the system's Python has modules; says so where not. */
async function has(modules: string): Promise<boolean> {
  try {
    const args = ["-c", `import ${modules}`];
    const { success } = await new Deno.Command("/usr/bin/python3", { args, stderr: "null" })
      .output();
    if (success) return true;
  } catch { /* no Python at all */ }
  console.error(`SKIPPED: /usr/bin/python3 has no ${modules} here (Debian: python3-torch)`);
  return false;
}

const hasNumpy = await has("numpy");
const hasTorch = hasNumpy && await has("torch");

Deno.test({
  name: "the streams of cross_check are this project's, to the bit where they are integers",
  ignore: !hasNumpy,
  async fn() {
    const name = "init/encoder.0.attention.in.weight";
    const found = await python(`
import json, streams
key = streams.stream_key(2**40 + 7, "${name}")
print(json.dumps({
    "key": key.tolist(),
    "words": streams.words(key, 11).tolist(),
    "uniform": streams.uniform(key, 9, 0.25).tolist(),
    "normal": streams.normal(key, 1001).tolist(),
    "orders": [streams.permutation(streams.stream_key(3, ""), n) for n in (1, 2, 1800)],
}))`) as Record<string, number[]> & { orders: number[][] };
    const key = streamKey(2 ** 40 + 7, name);
    assertEquals(found["key"], [...key].map((word) => word >>> 0));
    assertEquals(found["words"], [...words(key, 11)]);
    assertEquals(found["uniform"], [...uniform(key, 9, { low: -0.25, high: 0.25 })]);
    assertEquals(found.orders, [1, 2, 1800].map((n) => [...permutation(streamKey(3, ""), n)]));
    const ours = normal(key, 1001);
    // Logarithms and cosines differ between libraries in their last bits.
    const worst = Math.max(...found["normal"]!.map((value, i) => Math.abs(value - ours[i]!)));
    assert(worst < 1e-6, `${worst}`);
  },
});

/** A corpus of two classes that one word decides. */
function writeTokens(path: string): void {
  const split = (documents: number, seed: number) => {
    const labels = Uint16Array.from({ length: documents }, (_, i) => i % 2);
    const fill = integers(streamKey(seed, "words"), documents * 4, 6);
    const ids = Uint16Array.from(
      { length: documents * 4 },
      (_, i) => i % 4 === 2 ? 2 + labels[i >> 2]! : 4 + fill[i]!,
    );
    const offsets = Uint32Array.from({ length: documents + 1 }, (_, i) => i * 4);
    return { labels, offsets, ids, clipped: 0 };
  };
  Deno.writeFileSync(
    path,
    encodeTokens({
      vocabularySize: 10,
      maxLength: 4,
      classes: ["a", "b"],
      splits: { train: split(60, 1), test: split(20, 2) },
    }),
  );
}

Deno.test({
  name: "cross_check starts from this project's initial weights and writes what evaluate reads",
  ignore: !hasTorch,
  async fn() {
    const folder = temporaryFolder();
    const [tokens, weights, history] = ["tokens", "weights", "history"].map((name) =>
      join(folder, name)
    );
    writeTokens(tokens!);
    const params = {
      ...{ seed: 5, d_model: 8, heads: 2, layers: 2, d_ff: 12, batch: 16, epochs: 6 },
      ...{ learning_rate: 1e-12, clip_norm: 1, validation_share: 0.1 },
    };
    const train = (learning_rate: number) =>
      python(
        "import train; train.main()",
        JSON.stringify({
          params: { ...params, learning_rate },
          inputs: { tokens: { path: tokens } },
          outputs: { weights, history },
        }) + "\n",
      );
    // Steps that are too small to change anything leave the initial weights.
    await train(1e-12);
    const start = decodeTensors(Deno.readFileSync(weights!));
    const { config, seed } = trainedFrom(start);
    const expected: ClassifierConfig = {
      ...{ fusion: "add", encoding: "sinusoidal", activation: "gelu", gateReduce: "none" },
      ...{ gateTaps: 3, maxDistance: 16, vocabulary: 10, maxLength: 4, classes: 2 },
      ...{ d: 8, heads: 2, layers: 2, dFf: 12 },
    };
    assertEquals({ config, seed }, { config: expected, seed: 5 });
    const specs = classifierSpecs(config);
    assertEquals([...start.tensors.keys()].sort(), specs.map(({ name }) => name).sort());
    for (const spec of specs) {
      const { shape, values } = start.tensors.get(spec.name)!;
      assertEquals(shape, spec.shape, spec.name);
      const ours = initialValue(spec, { seed: 5 });
      const worst = Math.max(...values.map((value, i) => Math.abs(value - ours[i]!)));
      assert(worst < 1e-6, `${spec.name}: ${worst}`);
    }
    // It learns.
    await train(1e-2);
    const { tables: { curve } } = JSON.parse(Deno.readTextFileSync(history!));
    assertEquals(curve.epoch, [1, 2, 3, 4, 5, 6]);
    assert(curve.train_loss[5] < curve.train_loss[0] / 2, `${curve.train_loss}`);
  },
});
