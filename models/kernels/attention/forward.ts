/** @module */
import type * as tf from "@tensorflow/tfjs";
import type { Shader } from "../checked_backend.ts";
import { AttentionFrame, type AttentionTraits } from "./frame.ts";

/**
 * Writes y and each row's log Σ exp(scores), [N, H].
 *
 * @param reads qkv, tiles and, with relative embeddings, both tables one after the other.
 */
export function attentionForward(
  traits: AttentionTraits,
  reads: tf.Tensor[],
  outputs: number[][],
): Shader {
  const frame = new AttentionFrame(traits);
  const { head, distance } = frame;
  return frame.shader("attention", { reads, outputs }, () => `
    ${frame.bindings(["y", "logSums"], ["qkv", "tiles"])}
    ${frame.keyTiles}
    ${frame.start}
      ${frame.parts((r, i) => `let q${r}_${i} = ${head.at("qkv", `at${r}`, i)} * uniforms.scale;`)}
      ${frame.parts((r, i) => `var o${r}_${i} = vec4<f32>(0.0);`)}
      ${
    frame.each((r) =>
      distance.when(`
      let lowScore${r} = ${distance.dot(`q${r}_`, "keyTable(0u)")};
      let highScore${r} = ${distance.dot(`q${r}_`, "keyTable(LAST)")};
      var low${r} = 0.0;
      var high${r} = 0.0;`)
    )
  }
      ${frame.each((r) => `var top${r} = -1e30; var total${r} = 0.0;`)}
      ${
    frame.keyLoop((r) => `
              var score = ${head.dot((i) => `q${r}_${i}`, (i) => `k${i}`)};
              ${
      distance.choose({
        near: `score = score + ${distance.dot(`q${r}_`, "keyTable(distance)")};`,
        low: `score = score + lowScore${r};`,
        high: `score = score + highScore${r};`,
      })
    }
              if (score > top${r}) {
                let shrink = exp(top${r} - score);
                total${r} = total${r} * shrink;
                ${distance.when(`low${r} = low${r} * shrink; high${r} = high${r} * shrink;`)}
                ${head.each((i) => `o${r}_${i} = o${r}_${i} * shrink;`)}
                top${r} = score;
              }
              let weight = exp(score - top${r});
              total${r} = total${r} + weight;
              let used = ${frame.kept("weight")};
              ${head.each((i) => `o${r}_${i} = o${r}_${i} + used * v${i};`)}
              ${
      distance.choose({
        near: distance.add(`o${r}_`, "used", "valueTable(distance)"),
        low: `low${r} = low${r} + used;`,
        high: `high${r} = high${r} + used;`,
      })
    }`)
  }
      ${
    frame.each((r) => `
      if (row${r} < end) {
        ${
      distance.when(`
        ${distance.add(`o${r}_`, `low${r}`, "valueTable(0u)")}
        ${distance.add(`o${r}_`, `high${r}`, "valueTable(LAST)")}`)
    }
        let share = 1.0 / total${r};
        let to = row${r} * uniforms.c + head * WIDTH;
        ${head.each((i) => head.put("y", "to", { i, value: `o${r}_${i} * share` }))}
        logSums[row${r} * uniforms.heads + head] = top${r} + log(total${r});
      }`)
  }
    }`);
}
