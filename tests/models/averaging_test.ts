import { assert, assertAlmostEquals, assertEquals, assertThrows } from "@std/assert";
import {
  type AveragingConfig,
  AveragingNetwork,
  averagingSpecs,
  type AveragingTraining,
} from "../../models/averaging.ts";
import type { Documents } from "../../models/batch.ts";
import { MemoryError } from "../../models/memory_error.ts";
import fixture from "../reference/pytorch/averaging.json" with { type: "json" };
import { worstRelative } from "./rig.ts";

type Values = Record<string, number[]>;

function documentsOf(documents: readonly (readonly number[])[], labels: number[]): Documents {
  const offsets = [0];
  for (const words of documents) offsets.push(offsets.at(-1)! + words.length);
  return { labels, offsets, ids: documents.flat() };
}

const seven = documentsOf(fixture.documents, fixture.labels);

const plain: AveragingTraining = {
  batch: 3,
  documents: 7,
  wordDropout: 0,
  rho: 0,
  rate: 5e-3,
  epsilon: 1e-3,
  repeats: "all",
  seed: 0,
};

/** A network whose parameters start at `start`, [rows, columns] each. */
function network(
  config: AveragingConfig,
  training: Partial<AveragingTraining>,
  start?: Values,
): AveragingNetwork {
  const made = new AveragingNetwork(config, { ...plain, ...training }, 4000);
  const state = made.state();
  for (const { name, shape } of start === undefined ? [] : averagingSpecs(config)) {
    const columns = shape.at(-1)!, stride = Math.ceil(columns / 4) * 4;
    for (const [i, value] of start![name]!.entries()) {
      state.get(name)![Math.floor(i / columns) * stride + i % columns] = value;
    }
  }
  return made;
}

/** Arrays of its state without what fills rows up. */
function valuesOf(made: AveragingNetwork, config: AveragingConfig, prefix = ""): Values {
  const state = made.state();
  return Object.fromEntries(
    averagingSpecs(config).map(({ name, shape }) => {
      const columns = shape.at(-1)!, stride = Math.ceil(columns / 4) * 4;
      const values = state.get(`${prefix}${name}`)!;
      return [name, [...values].filter((_, i) => i % stride < columns)];
    }),
  );
}

function worst(found: Values, expected: Values): number {
  return Math.max(
    ...Object.keys(expected).map((name) => worstRelative(found[name]!, expected[name]!)),
  );
}

for (const { depth, repeats, ...expected } of fixture.cases) {
  const config = { ...fixture.sizes, depth };
  const kind = { ...fixture.training, repeats: repeats as "all" | "once" };
  const title = `depth ${depth}, words counted ${repeats === "all" ? "each time" : "once"}`;

  Deno.test(`gradients are those of PyTorch in float64: ${title}`, () => {
    // With ε = 1 and a rate of 1 a first step takes u = g / (|g| + 1) of a weight.
    const made = network(config, { ...kind, rate: 1, epsilon: 1 }, expected.start);
    assertAlmostEquals(made.step(seven, fixture.batches[0]!, 1), expected.losses[0]!, 1e-6);
    made.settle(1);
    const after = valuesOf(made, config);
    const gradient = Object.fromEntries(
      Object.entries(expected.start as Values).map(([name, start]) => [
        name,
        start.map((value, i) => {
          const u = value - after[name]![i]!;
          return u / (1 - Math.abs(u));
        }),
      ]),
    );
    assert(worst(gradient, expected.gradient) < 2e-5, `${worst(gradient, expected.gradient)}`);
  });

  Deno.test(`steps over a batch's rows alone equal dense steps over all: ${title}`, () => {
    const made = network(config, kind, expected.start);
    for (const [i, batch] of fixture.batches.entries()) {
      assertAlmostEquals(made.step(seven, batch, i + 1), expected.losses[i]!, 5e-6);
    }
    made.settle(fixture.batches.length);
    const weights = worst(valuesOf(made, config), expected.end);
    assert(weights < 2e-5, `weights ${weights}`);
    const roots = (values: Values) =>
      Object.fromEntries(
        Object.entries(values).map(([name, sums]) => [name, sums.map(Math.sqrt)]),
      );
    const sums = worst(roots(valuesOf(made, config, "sums/")), roots(expected.sums as Values));
    assert(sums < 1e-4, `sums ${sums}`);
    const measured = made.measure(seven, [0, 1, 2, 3, 4, 5, 6]);
    assertAlmostEquals(measured.lossNats, expected.measured, 5e-6);
  });
}

Deno.test("gradients are the slopes of the loss", () => {
  const config = { vocabulary: 14, d: 6, classes: 2, depth: 2 };
  const documents = documentsOf(fixture.documents, [0, 1, 1, 0, 1, 0, 1]);
  const all = [0, 1, 2, 3, 4, 5, 6];
  const training = { batch: 7, rate: 1, epsilon: 1 };
  const start = Object.fromEntries(
    averagingSpecs(config).map(({ name, shape }, n) => {
      const size = shape.reduce((a, b) => a * b);
      return [name, Array.from({ length: size }, (_, i) => Math.sin(1 + i * 1.7 + n))];
    }),
  );
  const stepped = network(config, training, start);
  stepped.step(documents, all, 1);
  const after = valuesOf(stepped, config);
  for (const [name, values] of Object.entries(start)) {
    for (const i of [0, values.length >> 1, values.length - 1]) {
      const at = (shift: number) =>
        network(config, training, { ...start, [name]: values.with(i, values[i]! + shift) })
          .measure(documents, all).lossNats;
      const u = values[i]! - after[name]![i]!;
      assertAlmostEquals(u / (1 - Math.abs(u)), (at(1 / 256) - at(-1 / 256)) * 128, 1e-3);
    }
  }
});

Deno.test("decay that is caught up at once is that of each step, to 3 parts in 100,000", () => {
  const config = { vocabulary: 40, d: 4, classes: 2, depth: 0 };
  // As much in a step as with the paper's numbers.
  const training = { rho: 2 / 15 * 1e-4, batch: 2, documents: 4 };
  // Words from 7 on are in no document; no epoch has more steps without a word.
  const documents = documentsOf([[2, 3], [4], [5], [6]], [0, 1, 0, 1]);
  const late = network(config, training);
  const early = network(config, training);
  const before = valuesOf(late, config)["embedding.weight"]!;
  const steps = 2000;
  for (let step = 1; step <= steps; step++) {
    for (const made of [late, early]) made.step(documents, step % 2 ? [0, 1] : [2, 3], step);
    early.settle(step);
  }
  late.settle(steps);
  const found = valuesOf(late, config)["embedding.weight"]!;
  const apart = worstRelative(found, valuesOf(early, config)["embedding.weight"]!);
  assert(apart < 2e-5, `found ${apart}`);
  // Dense steps in doubles: h ← h + (cθ)², θ ← θ − rate cθ / (√h + ε).
  const dense = before.slice(7 * 4).map((start) => {
    let theta = start, h = 0;
    for (let step = 0; step < steps; step++) {
      const g = 1e-4 / 15 * theta;
      h += g * g;
      theta -= 5e-3 * g / (Math.sqrt(h) + 1e-3);
    }
    return theta;
  });
  assert(Math.abs(dense[0]!) < 0.95 * Math.abs(before[7 * 4]!), "there is something to decay");
  const error = worstRelative(found.slice(7 * 4), dense);
  assert(error < 3e-5, `found ${error}`);
});

/** Rows of the embeddings that one step without decay moved. */
function movedRows(made: AveragingNetwork, config: AveragingConfig, step: () => void): number[] {
  const before = valuesOf(made, config)["embedding.weight"]!;
  step();
  const after = valuesOf(made, config)["embedding.weight"]!;
  const moved = new Set<number>();
  after.forEach((value, i) => {
    if (value !== before[i]) moved.add(Math.floor(i / config.d));
  });
  return [...moved];
}

Deno.test("word dropout leaves each word out with its probability, and draws again in each step", () => {
  const words = 4000;
  const config = { vocabulary: words, d: 4, classes: 2, depth: 1 };
  const documents = documentsOf([Array.from({ length: words }, (_, i) => i)], [0]);
  for (const wordDropout of [0, 0.3, 0.5]) {
    const made = network(config, { wordDropout, batch: 1, documents: 1 });
    const first = movedRows(made, config, () => made.step(documents, [0], 1));
    const second = movedRows(made, config, () => made.step(documents, [0], 2));
    const deviation = Math.sqrt(words * wordDropout * (1 - wordDropout));
    for (const { length } of [first, second]) {
      assert(Math.abs(length - words * (1 - wordDropout)) <= 4 * deviation, `kept ${length}`);
    }
    const both = first.filter((row) => second.includes(row)).length;
    const expected = words * (1 - wordDropout) ** 2;
    assert(Math.abs(both - expected) <= 4 * deviation, `both kept ${both}`);
  }
});

Deno.test("a document that loses all of its words keeps them all, and none is lost in testing", () => {
  const config = { vocabulary: 9, d: 4, classes: 2, depth: 0 };
  const documents = documentsOf([[2, 3, 4], [5]], [0, 1]);
  const made = network(config, { wordDropout: 0.9999, batch: 2, documents: 2 });
  const same = network(config, { batch: 2, documents: 2 });
  const rows = movedRows(made, config, () => made.step(documents, [0, 1], 1));
  assertEquals(rows, [2, 3, 4, 5]);
  same.step(documents, [0, 1], 1);
  assertEquals(made.measure(documents, [0, 1]), same.measure(documents, [0, 1]));
});

Deno.test("a training that resumes from the arrays of another goes on with its bits", () => {
  const config = { vocabulary: 14, d: 6, classes: 3, depth: 2 };
  const training = { rho: 1e-4, wordDropout: 0.4 };
  const batches = [[0, 1, 2], [3, 4, 5], [6]];
  const whole = network(config, training);
  for (const [i, batch] of batches.entries()) whole.step(seven, batch, i + 1);
  const part = network(config, training);
  part.step(seven, batches[0]!, 1);
  part.step(seven, batches[1]!, 2);
  const resumed = network(config, { ...training, seed: 0 });
  for (const [name, values] of resumed.state()) values.set(part.state().get(name)!);
  resumed.step(seven, batches[2]!, 3);
  for (const made of [whole, resumed]) made.settle(3);
  assertEquals(valuesOf(resumed, config), valuesOf(whole, config));
  assertEquals(valuesOf(resumed, config, "sums/"), valuesOf(whole, config, "sums/"));
});

Deno.test("networks of different depths start with the same embeddings, within ±0.08", () => {
  const start = (depth: number, seed = 0) => {
    const config = { vocabulary: 500, d: 6, classes: 2, depth };
    return valuesOf(network(config, { seed }), config);
  };
  const [none, three, other] = [start(0), start(3), start(3, 1)];
  assertEquals(none["embedding.weight"], three["embedding.weight"]);
  assert(three["embedding.weight"]![0] !== other["embedding.weight"]![0]);
  for (const values of Object.values(three)) {
    assert(Math.max(...values.map(Math.abs)) <= Math.fround(0.08));
  }
  const mean = none["embedding.weight"]!.reduce((sum, value) => sum + value) / 3000;
  assert(Math.abs(mean) < 4 * 0.08 / Math.sqrt(3 * 3000), `mean ${mean}`);
});

Deno.test("a network learns what its documents' words say, and forgets its sums when asked", () => {
  const config = { vocabulary: 12, d: 8, classes: 2, depth: 2 };
  const documents = documentsOf([[2, 9], [3, 10], [2, 11, 9], [3, 9, 9]], [0, 1, 0, 1]);
  const made = network(config, { batch: 4, documents: 4, rate: 0.05 });
  for (let step = 1; step <= 200; step++) made.step(documents, [0, 1, 2, 3], step);
  const { correct, lossNats } = made.measure(documents, [0, 1, 2, 3]);
  assertEquals(correct, 4);
  assert(lossNats < 0.05, `loss ${lossNats}`);
  assert(valuesOf(made, config, "sums/")["output.bias"]![0]! > 0);
  made.resetSums();
  assertEquals(valuesOf(made, config, "sums/")["output.bias"], [0, 0]);
});

Deno.test("a vocabulary that does not fit into memory is refused with what it would take", () => {
  assertThrows(
    () => network({ vocabulary: 1_000_000, d: 300, classes: 2, depth: 0 }, {}),
    MemoryError,
    "may take 2 GiB, found 2.2 GiB",
  );
});
