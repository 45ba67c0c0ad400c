/** @module */
import type * as tf from "@tensorflow/tfjs";
import type { Shader } from "../checked_backend.ts";
import { AttentionFrame, type AttentionTraits } from "./frame.ts";

/**
 * Writes dQ; with relative embeddings also, for each row and distance, the sum of dS over its keys
 * and of the weights after dropout: [2, N × H, 2K + 1].
 *
 * @param reads qkv, tiles, dy, log sums, y and, with relative embeddings, both tables.
 */
export function attentionQueryGradient(
  traits: AttentionTraits,
  reads: tf.Tensor[],
  outputs: number[][],
): Shader {
  const frame = new AttentionFrame(traits);
  const { head, distance } = frame;
  const written = ["dqkv", ...distance.relative ? ["shares"] : []];
  return frame.shader("attentionQueries", { reads, outputs }, () => `
    ${frame.bindings(written, ["qkv", "tiles", "dy", "logSums", "y"])}
    ${frame.keyTiles}
    ${frame.start}
      ${frame.each((r) => `let out${r} = own${r} * uniforms.c + head * WIDTH;`)}
      ${frame.parts((r, i) => `let q${r}_${i} = ${head.at("qkv", `at${r}`, i)} * uniforms.scale;`)}
      ${frame.parts((r, i) => `let g${r}_${i} = ${head.at("dy", `out${r}`, i)};`)}
      ${frame.parts((r, i) => `var dq${r}_${i} = vec4<f32>(0.0);`)}
      ${
    frame.each((r) => `
      let inner${r} = ${head.dot((i) => `g${r}_${i}`, (i) => head.at("y", `out${r}`, i))};
      let logSum${r} = logSums[own${r} * uniforms.heads + head];
      ${
      distance.when(`
      let lowScore${r} = ${distance.dot(`q${r}_`, "keyTable(0u)")};
      let highScore${r} = ${distance.dot(`q${r}_`, "keyTable(LAST)")};
      let lowSlope${r} = ${distance.dot(`g${r}_`, "valueTable(0u)")};
      let highSlope${r} = ${distance.dot(`g${r}_`, "valueTable(LAST)")};
      let ofKeys${r} = (own${r} * uniforms.heads + head) * (LAST + 1u);
      let ofValues${r} = ofKeys${r} + arrayLength(&shares) / 2u;
      var low${r} = 0.0;
      var high${r} = 0.0;
      var lowUsed${r} = 0.0;
      var highUsed${r} = 0.0;`)
    }`)
  }
      ${
    frame.keyLoop((r) => `
              var score = ${head.dot((i) => `q${r}_${i}`, (i) => `k${i}`)};
              var slope = ${head.dot((i) => `g${r}_${i}`, (i) => `v${i}`)};
              ${
      distance.choose({
        near: `score = score + ${distance.dot(`q${r}_`, "keyTable(distance)")};
                slope = slope + ${distance.dot(`g${r}_`, "valueTable(distance)")};`,
        low: `score = score + lowScore${r}; slope = slope + lowSlope${r};`,
        high: `score = score + highScore${r}; slope = slope + highSlope${r};`,
      })
    }
              let weight = exp(score - logSum${r});
              let used = ${frame.kept("weight")};
              let ds = weight * (${frame.kept("slope")} - inner${r});
              ${head.each((i) => `dq${r}_${i} = dq${r}_${i} + ds * k${i};`)}
              ${
      distance.choose({
        near: `${distance.add(`dq${r}_`, "ds", "keyTable(distance)")}
                if (row${r} < end) {
                  shares[ofKeys${r} + distance] = ds;
                  shares[ofValues${r} + distance] = used;
                }`,
        low: `low${r} = low${r} + ds; lowUsed${r} = lowUsed${r} + used;`,
        high: `high${r} = high${r} + ds; highUsed${r} = highUsed${r} + used;`,
      })
    }`)
  }
      ${
    frame.each((r) => `
      if (row${r} < end) {
        ${distance.when(putShares(frame, r))}
        ${
      head.each((i) => head.put("dqkv", `at${r}`, { i, value: `dq${r}_${i} * uniforms.scale` }))
    }
      }`)
  }
    }`);
}

/** Writes the shares of distances that many keys have, or none. */
function putShares({ causal, distance }: AttentionFrame, r: number): string {
  return `
        ${distance.add(`dq${r}_`, `low${r}`, "keyTable(0u)")}
        ${distance.add(`dq${r}_`, `high${r}`, "keyTable(LAST)")}
        let seen = ${causal ? `row${r} + 1u` : "end"};
        for (var distance = 1u; distance < LAST; distance = distance + 1u) {
          let key = row${r} + distance;
          if (key < start + uniforms.reach || key >= seen + uniforms.reach) {
            shares[ofKeys${r} + distance] = 0.0;
            shares[ofValues${r} + distance] = 0.0;
          }
        }
        // Of one distance alone, both ends are one.
        shares[ofKeys${r} + LAST] = high${r};
        shares[ofValues${r} + LAST] = highUsed${r};
        shares[ofKeys${r}] = select(low${r}, low${r} + high${r}, LAST == 0u);
        shares[ofValues${r}] = select(lowUsed${r}, lowUsed${r} + highUsed${r}, LAST == 0u);`;
}
