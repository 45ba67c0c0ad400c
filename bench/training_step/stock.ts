/**
 * The same models as someone would write them with tfjs's own operations.
 *
 * @module
 */
import * as tf from "@tensorflow/tfjs";
import { sinusoidalTable } from "../../models/positions.ts";
import { batchOf, isGpt, type Model, type Size, SIZES, type Step } from "./sizes.ts";

const weight = (...shape: number[]) => tf.variable(tf.randomNormal(shape, 0, 0.02));
const zeros = (...shape: number[]) => tf.variable(tf.zeros(shape));
const ones = (...shape: number[]) => tf.variable(tf.ones(shape));

function dense(x: tf.Tensor, w: tf.Tensor, bias?: tf.Tensor): tf.Tensor {
  const y = tf.matMul(x as tf.Tensor2D, w as tf.Tensor2D);
  return bias === undefined ? y : tf.add(y, bias);
}

function norm(x: tf.Tensor, gain: tf.Tensor, bias?: tf.Tensor): tf.Tensor {
  const { mean, variance } = tf.moments(x, -1, true);
  const y = tf.mul(tf.div(tf.sub(x, mean), tf.sqrt(tf.add(variance, 1e-5))), gain);
  return bias === undefined ? y : tf.add(y, bias);
}

/** In tanh's approximation: tfjs's wasm has no erf. */
function gelu(x: tf.Tensor): tf.Tensor {
  const inner = tf.mul(tf.add(x, tf.mul(tf.mul(x, tf.square(x)), 0.044715)), 0.7978845608);
  return tf.mul(tf.mul(x, 0.5), tf.add(tf.tanh(inner), 1));
}

function mixed(qkv: tf.Tensor, mask: tf.Tensor | undefined, s: Size): tf.Tensor {
  const { batch, length, heads, d } = s;
  const width = d / heads;
  const split = tf.transpose(tf.reshape(qkv, [batch, length, 3, heads, width]), [2, 0, 3, 1, 4]);
  const [q, k, v] = tf.unstack(tf.reshape(split, [3, batch * heads, length, width])) as [
    tf.Tensor3D,
    tf.Tensor3D,
    tf.Tensor3D,
  ];
  let scores: tf.Tensor = tf.mul(tf.matMul(q, k, false, true), 1 / Math.sqrt(width));
  if (mask !== undefined) scores = tf.add(scores, mask);
  const weights = tf.dropout(tf.softmax(scores), 0.1) as tf.Tensor3D;
  const y = tf.reshape(tf.matMul(weights, v), [batch, heads, length, width]);
  return tf.reshape(tf.transpose(y, [0, 2, 1, 3]), [batch * length, d]);
}

/** Rows of a table. tfjs's wasm cannot train `gather`; there it is a product with one-hot rows. */
function rows(table: tf.Variable, ids: tf.Tensor1D): tf.Tensor {
  if (tf.getBackend() === "webgpu") return tf.gather(table, ids);
  return tf.matMul(tf.oneHot(ids, table.shape[0]!).toFloat() as tf.Tensor2D, table as tf.Tensor2D);
}

/** A step with tfjs's operations and its Adam. */
export function stock(model: Model): Step<tf.Scalar> {
  const s = SIZES[model];
  const { ids, labels } = batchOf(model);
  const tokens = tf.tensor1d(ids, "int32");
  const wanted = tf.oneHot(tf.tensor1d(labels, "int32"), s.classes);
  const adam = tf.train.adam(1e-3);
  const loss = isGpt(model) ? decoder(s, tokens, wanted) : encoder(s, tokens, wanted);
  return () => adam.minimize(loss, true)!;
}

function decoder(s: Size, tokens: tf.Tensor1D, wanted: tf.Tensor): () => tf.Scalar {
  const { d, length, batch } = s;
  const embedding = weight(s.vocabulary, d), positions = weight(length, d), last = ones(d);
  const blocks = Array.from({ length: s.layers }, () => ({
    norm1: ones(d),
    qkv: weight(d, 3 * d),
    out: weight(d, d),
    norm2: ones(d),
    ff1: weight(d, s.dFf),
    ff2: weight(s.dFf, d),
  }));
  const future = tf.tidy(() =>
    tf.mul(tf.sub(1, tf.linalg.bandPart(tf.ones([length, length]), -1, 0)), -1e9)
  );
  return () => {
    const places = tf.tile(positions as tf.Tensor2D, [batch, 1]);
    let x = tf.dropout(tf.add(rows(embedding, tokens), places), 0.1);
    for (const w of blocks) {
      const y = dense(mixed(dense(norm(x, w.norm1), w.qkv), future, s), w.out);
      x = tf.add(x, tf.dropout(y, 0.1));
      const z = dense(gelu(dense(norm(x, w.norm2), w.ff1)), w.ff2);
      x = tf.add(x, tf.dropout(z, 0.1));
    }
    const y = norm(x, last) as tf.Tensor2D;
    const logits = tf.matMul(y, embedding as tf.Tensor2D, false, true);
    return tf.losses.softmaxCrossEntropy(wanted, logits) as tf.Scalar;
  };
}

function encoder(s: Size, tokens: tf.Tensor1D, wanted: tf.Tensor): () => tf.Scalar {
  const { d, length, batch } = s;
  const embedding = weight(s.vocabulary, d);
  const table = tf.tensor2d(sinusoidalTable(length, d), [length, d]);
  const places = tf.tile(table, [batch, 1]);
  const blocks = Array.from({ length: s.layers }, () => ({
    qkv: weight(d, 3 * d),
    qkvBias: zeros(3 * d),
    out: weight(d, d),
    outBias: zeros(d),
    gain1: ones(d),
    bias1: zeros(d),
    ff1: weight(d, s.dFf),
    ff1Bias: zeros(s.dFf),
    ff2: weight(s.dFf, d),
    ff2Bias: zeros(d),
    gain2: ones(d),
    bias2: zeros(d),
  }));
  const head = weight(d, s.classes), headBias = zeros(s.classes);
  return () => {
    let x: tf.Tensor = tf.add(rows(embedding, tokens), places);
    for (const w of blocks) {
      const y = dense(mixed(dense(x, w.qkv, w.qkvBias), undefined, s), w.out, w.outBias);
      x = norm(tf.add(x, tf.dropout(y, 0.1)), w.gain1, w.bias1);
      const hidden = tf.dropout(gelu(dense(x, w.ff1, w.ff1Bias)), 0.1);
      const z = dense(hidden, w.ff2, w.ff2Bias);
      x = norm(tf.add(x, tf.dropout(z, 0.1)), w.gain2, w.bias2);
    }
    const pooled = tf.dropout(tf.mean(tf.reshape(x, [batch, length, d]), 1), 0.1);
    const logits = dense(pooled, head, headBias);
    return tf.losses.softmaxCrossEntropy(wanted, logits) as tf.Scalar;
  };
}
