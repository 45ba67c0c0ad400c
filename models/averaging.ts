/**
 * Deep averaging network (Iyyer, Manjunatha, Boyd-Graber & Daumé III, ACL 2015): the average of a
 * document's word embeddings, `depth` layers of ReLU units, softmax. At depth 0 it is the neural
 * bag of words.
 *
 *     z = 1/n Σ E[wᵢ],  h₀ = z,  hₗ = max(0, hₗ₋₁ Wₗ + bₗ),  ŷ = softmax(h_L W + b)
 *
 * Cost of a batch: (Σ cross-entropies + ρ/2 ‖θ‖²) / documents, θ being all parameters. The numbers are
 * the same on every machine: WebAssembly, portable functions and counted random numbers.
 *
 * @module
 */
import { type Adagrad, BatchWords, type Decays, EmbeddingTable } from "./averaging/table.ts";
import { KernelMemory, type Matrix } from "./averaging/memory.ts";
import type { Documents } from "./batch.ts";
import { keepFactors } from "./kernels/scalar.ts";
import type { ParameterSpec } from "./parameters.ts";
import { exp, ln } from "./portable_math.ts";
import { streamKey, uniform } from "./random.ts";

/** A network's sizes. */
export interface AveragingConfig {
  readonly vocabulary: number;
  readonly classes: number;
  /** Numbers of an embedding, and units of a layer. */
  readonly d: number;
  /** Layers between the average and the output. */
  readonly depth: number;
}

/** How it is trained. */
export interface AveragingTraining extends Adagrad {
  /** Documents in a batch. */
  readonly batch: number;
  /** Documents in an epoch; its last batch may be smaller. */
  readonly documents: number;
  /** Probability of leaving a word out. */
  readonly wordDropout: number;
  /** Weight ρ of the squared parameters. */
  readonly rho: number;
  /**
   * How often a word of a document counts in its gradient: as often as it occurs there, or `once`, as
   * the authors' code has it, in which `grads[words] += delta` adds to each element one time.
   */
  readonly repeats: "all" | "once";
  readonly seed: number;
}

/** How a network does on some documents. */
export interface AveragingMeasured {
  readonly documents: number;
  readonly correct: number;
  /** Mean cross-entropy. */
  readonly lossNats: number;
}

/** Parameters start uniform within it. */
const START = 0.08;

/** Documents that are classified at a time. */
const AT_ONCE = 128;

/** Its parameters, in order; weights are [in, out]. */
export function averagingSpecs({ vocabulary, classes, d, depth }: AveragingConfig) {
  const shapes: [string, number[]][] = [["embedding.weight", [vocabulary, d]]];
  for (let layer = 0; layer < depth; layer++) {
    shapes.push([`layers.${layer}.weight`, [d, d]], [`layers.${layer}.bias`, [d]]);
  }
  shapes.push(["output.weight", [d, classes]], ["output.bias", [classes]]);
  const initial = { kind: "uniform", bound: START } as const;
  return shapes.map(([name, shape]): ParameterSpec => ({ name, shape, initial }));
}

/** A parameter, its sums of squared gradients, and, of all but the embeddings, its gradient. */
interface Trained {
  readonly value: Matrix;
  readonly sums: Matrix;
  readonly gradient: Matrix | undefined;
}

/** A network in training: its parameters, and AdaGrad's sums. */
export class AveragingNetwork {
  readonly #config: AveragingConfig;
  readonly #training: AveragingTraining;
  readonly #memory: KernelMemory;
  readonly #trained: ReadonlyMap<string, Trained>;
  readonly #table: EmbeddingTable;
  readonly #words: BatchWords;
  /** h₀ to h_L of the batch. */
  readonly #layers: readonly Matrix[];
  readonly #deltas: readonly [Matrix, Matrix];
  readonly #logits: Matrix;
  readonly #ids: Matrix;

  /**
   * With its initial values, each from a stream of its own, `init/NAME` of the seed: networks of
   * different depths start with the same embeddings.
   *
   * @param longest Tokens of the longest document that it will see.
   * @throws {MemoryError} If it is too large.
   */
  constructor(config: AveragingConfig, training: AveragingTraining, longest: number) {
    this.#config = config;
    this.#training = training;
    const specs = averagingSpecs(config);
    const rows = Math.max(training.batch, AT_ONCE);
    const { d, depth, classes, vocabulary } = config;
    const matrices: Record<string, [number, number]> = {};
    for (const { name, shape } of specs) {
      const size: [number, number] = shape.length === 1 ? [1, shape[0]!] : [shape[0]!, shape[1]!];
      matrices[name] = matrices[`sums/${name}`] = size;
      if (name !== "embedding.weight") matrices[`gradient/${name}`] = size;
    }
    for (let layer = 0; layer <= depth; layer++) matrices[`h/${layer}`] = [rows, d];
    Object.assign(matrices, { deltas: [rows, d], others: [rows, d], logits: [rows, classes] });
    Object.assign(matrices, { ids: [1, longest], pairs: [1, 2 * training.batch] });
    const memory = new KernelMemory({ matrices });
    this.#memory = memory;
    this.#trained = new Map(specs.map(({ name }) => [name, {
      value: memory.matrix(name),
      sums: memory.matrix(`sums/${name}`),
      gradient: name === "embedding.weight" ? undefined : memory.matrix(`gradient/${name}`),
    }]));
    this.#layers = Array.from({ length: depth + 1 }, (_, layer) => memory.matrix(`h/${layer}`));
    this.#deltas = [memory.matrix("deltas"), memory.matrix("others")];
    this.#logits = memory.matrix("logits");
    this.#ids = memory.matrix("ids");
    this.#words = new BatchWords(vocabulary);
    this.#table = new EmbeddingTable(memory, {
      ...training,
      weights: memory.matrix("embedding.weight"),
      sums: memory.matrix("sums/embedding.weight"),
      pairs: memory.matrix("pairs"),
      decays: (steps) => decays(steps, training),
    });
    for (const { name, shape } of specs) {
      const key = streamKey(training.seed, `init/${name}`);
      const start = uniform(key, shape.reduce((a, b) => a * b), { low: -START, high: START });
      const { value } = this.#trained.get(name)!;
      for (let row = 0; row < value.rows; row++) {
        const from = row * value.columns;
        value.values.set(start.subarray(from, from + value.columns), row * value.stride);
      }
    }
  }

  /** Arrays that a training resumes from: with these, a network goes on as if it had not stopped. */
  state(): Map<string, Float32Array> {
    const arrays = new Map([["seen", this.#table.seen]]);
    for (const [name, { value, sums }] of this.#trained) {
      arrays.set(name, value.values).set(`sums/${name}`, sums.values);
    }
    return arrays;
  }

  /**
   * Changes the parameters by one step.
   *
   * @param chosen The batch: document numbers.
   * @param step Number of this step, from 1.
   * @returns The mean cross-entropy in nats.
   */
  step(documents: Documents, chosen: ArrayLike<number>, step: number): number {
    const { rho } = this.#training;
    const words = this.#keep(documents, chosen, step);
    const size = chosen.length;
    this.#table.catchUp(words.rows, step - 1);
    this.#average(words);
    this.#forward(size);
    const loss = this.#lossGradient(documents, chosen);
    const deltas = this.#backward(size);
    const decay = rho / size;
    const { rate, epsilon } = this.#training;
    for (const { value, sums, gradient } of this.#trained.values()) {
      if (gradient === undefined) continue;
      const bytes = value.values.byteLength;
      const { module } = this.#memory;
      module.stepAll(value.address, sums.address, gradient.address, bytes, decay, rate, epsilon);
    }
    const once = this.#training.repeats === "once";
    const length = (document: number) => words.starts[document + 1]! - words.starts[document]!;
    const share = (document: number, count: number) => (once ? 1 : count) / length(document);
    this.#table.step(words, { step, decay, deltas, share });
    return loss;
  }

  /** Applies to all embeddings what the first `steps` steps decay; before anything else reads them. */
  settle(steps: number): void {
    this.#table.catchUpAll(steps);
  }

  /** Forgets AdaGrad's sums; all embeddings must be settled. */
  resetSums(): void {
    for (const { sums } of this.#trained.values()) sums.values.fill(0);
  }

  /** Classifies documents with all their words, settled before. Ties go to the lower class. */
  measure(documents: Documents, chosen: ArrayLike<number>): AveragingMeasured {
    const { classes } = this.#config;
    let correct = 0, loss = 0;
    for (let from = 0; from < chosen.length; from += AT_ONCE) {
      const part = Array.from(
        { length: Math.min(AT_ONCE, chosen.length - from) },
        (_, i) => chosen[from + i]!,
      );
      this.#average(this.#keep(documents, part));
      this.#forward(part.length);
      const { values, stride } = this.#logits;
      for (const [row, document] of part.entries()) {
        const logits = values.subarray(row * stride, row * stride + classes);
        const label = documents.labels[document]!;
        loss += logSum(logits) - logits[label]!;
        if (logits.indexOf(largest(logits)) === label) correct++;
      }
    }
    return { documents: chosen.length, correct, lossNats: loss / chosen.length };
  }

  /** The words of a batch; of a training step those that dropout keeps. */
  #keep(documents: Documents, chosen: ArrayLike<number>, step?: number): BatchWords {
    const { seed, wordDropout } = this.#training;
    const words = this.#words;
    words.clear();
    const drops = step !== undefined && wordDropout > 0;
    const key = streamKey(seed, `dropout/step.${step}/words`);
    for (let i = 0, before = 0; i < chosen.length; i++) {
      const from = documents.offsets[chosen[i]!]!, to = documents.offsets[chosen[i]! + 1]!;
      let kept: Float32Array | undefined;
      if (drops) {
        kept = new Float32Array(to - from);
        keepFactors(key, wordDropout, kept, before);
        if (kept.every((factor) => factor === 0)) kept = undefined;
      }
      words.add(documents.ids, [from, to], kept);
      before += to - from;
    }
    return words;
  }

  /** Averages into h₀. */
  #average(words: BatchWords): void {
    const [h] = this.#layers;
    const { value } = this.#trained.get("embedding.weight")!;
    const { module } = this.#memory;
    const ids = new Int32Array(this.#ids.values.buffer, this.#ids.address, this.#ids.columns);
    for (let document = 0; document + 1 < words.starts.length; document++) {
      const from = words.starts[document]!, to = words.starts[document + 1]!;
      ids.set(words.ids.subarray(from, to));
      const row = h!.address + 4 * document * h!.stride;
      module.sumRows(
        row,
        value.address,
        this.#ids.address,
        to - from,
        4 * h!.stride,
        1 / (to - from),
      );
    }
  }

  /** From h₀ to the logits of the first `size` rows. */
  #forward(size: number): void {
    const { d, depth } = this.#config;
    for (let layer = 0; layer <= depth; layer++) {
      const name = layer < depth ? `layers.${layer}` : "output";
      const to = layer < depth ? this.#layers[layer + 1]! : this.#logits;
      const matrix = this.#layers[layer]!;
      const weight = this.#trained.get(`${name}.weight`)!.value;
      const { values: bias } = this.#trained.get(`${name}.bias`)!.value;
      this.#memory.product({ matrix }, { matrix: weight }, to, { m: size, k: d });
      const { values, stride, columns } = to;
      for (let row = 0; row < size; row++) {
        for (let j = 0, at = row * stride; j < columns; j++, at++) {
          const sum = Math.fround(values[at]! + bias[j]!);
          values[at] = layer < depth && !(sum > 0) ? 0 : sum;
        }
      }
    }
  }

  /** Mean loss of the batch; replaces its logits by the loss's gradient for them. */
  #lossGradient(documents: Documents, chosen: ArrayLike<number>): number {
    const { classes } = this.#config;
    const { values, stride } = this.#logits;
    let loss = 0;
    for (let row = 0; row < chosen.length; row++) {
      const logits = values.subarray(row * stride, row * stride + classes);
      const label = documents.labels[chosen[row]!]!;
      const total = logSum(logits);
      loss += total - logits[label]!;
      for (let j = 0; j < classes; j++) {
        logits[j] = (exp(logits[j]! - total) - (j === label ? 1 : 0)) / chosen.length;
      }
    }
    return loss / chosen.length;
  }

  /** Gradients of all parameters but the embeddings, and, as its result, of the averages. */
  #backward(size: number): Matrix {
    const { d, depth } = this.#config;
    let [next, spare] = this.#deltas;
    let delta = this.#logits;
    for (let layer = depth; layer >= 0; layer--) {
      const name = layer < depth ? `layers.${layer}` : "output";
      const weight = this.#trained.get(`${name}.weight`)!;
      const h = this.#layers[layer]!;
      const transposed = true;
      this.#memory.product({ matrix: h, transposed }, { matrix: delta }, weight.gradient!, {
        m: d,
        k: size,
      });
      sumOfRows(delta, size, this.#trained.get(`${name}.bias`)!.gradient!);
      const k = delta.columns;
      this.#memory.product({ matrix: delta }, { matrix: weight.value, transposed }, next, {
        m: size,
        k,
      });
      if (layer > 0) {
        const { values } = next;
        for (let i = 0; i < size * next.stride; i++) if (!(h.values[i]! > 0)) values[i] = 0;
      }
      delta = next;
      [next, spare] = [spare, next];
    }
    return delta;
  }
}

/** What the first `steps` steps decay: each takes ρ over its batch's documents of a weight. */
function decays(steps: number, { rho, batch, documents }: AveragingTraining): Decays {
  const batches = Math.ceil(documents / batch);
  const epochs = Math.floor(steps / batches);
  const whole = rho / batch;
  const last = rho / (documents - (batches - 1) * batch);
  const wholes = steps - epochs;
  return {
    sum: wholes * whole + epochs * last,
    squares: wholes * whole * whole + epochs * last * last,
  };
}

function sumOfRows({ values, stride, columns }: Matrix, size: number, to: Matrix): void {
  for (let j = 0; j < columns; j++) {
    let sum = 0;
    for (let row = 0; row < size; row++) sum += values[row * stride + j]!;
    to.values[j] = sum;
  }
}

function largest(values: Float32Array): number {
  let found = values[0]!;
  for (const value of values) if (value > found) found = value;
  return found;
}

/** ln Σ eˣ. */
function logSum(values: Float32Array): number {
  const shift = largest(values);
  let sum = 0;
  for (const value of values) sum += exp(value - shift);
  return shift + ln(sum);
}
