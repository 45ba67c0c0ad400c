/** @module */
import type * as tf from "@tensorflow/tfjs";
import type { Shader } from "../checked_backend.ts";
import { AttentionFrame, type AttentionTraits, WORKGROUP_BYTES } from "./frame.ts";

/**
 * Adds dK and dV to what holds dQ.
 *
 * @param reads As of the gradient of queries.
 */
export function attentionKeyGradient(
  traits: AttentionTraits,
  dqkv: tf.Tensor,
  reads: tf.Tensor[],
): Shader {
  const frame = new AttentionFrame(traits);
  const { head, distance, causal, dropout } = frame;
  const tile = head.tile(WORKGROUP_BYTES / 2);
  const first = causal ? "u32(place.z)" : "start";
  return frame.shader("attentionKeys", { changes: [dqkv], reads, outputs: [] }, () => `
    ${frame.bindings(["dqkv"], ["qkv", "tiles", "dy", "logSums", "y"])}
    var<workgroup> queries : array<vec4<f32>, ${tile * head.parts}>;
    var<workgroup> slopes : array<vec4<f32>, ${tile * head.parts}>;
    var<workgroup> logs : array<f32, ${tile}>;
    var<workgroup> inners : array<f32, ${tile}>;
    ${distance.when(`var<workgroup> sides : array<vec4<f32>, ${tile}>;`)}
    ${dropout ? `var<workgroup> masks : array<u32, ${tile * 3}>;` : ""}
    ${frame.start}
      ${frame.parts((r, i) => `let k${r}_${i} = ${head.at("qkv", `at${r} + uniforms.c`, i)};`)}
      ${frame.parts((r, i) => `let v${r}_${i} = ${head.at("qkv", `at${r} + 2u * uniforms.c`, i)};`)}
      ${
    frame.parts((r, i) => `var dk${r}_${i} = vec4<f32>(0.0); var dv${r}_${i} = vec4<f32>(0.0);`)
  }
      for (var base = ${first}; base < end; base = base + ${tile}u) {
        workgroupBarrier();
        ${loadQueries(frame, tile)}
        workgroupBarrier();
        for (var j = 0u; j < min(${tile}u, end - base); j = j + 1u) {
          let query = base + j;
          ${causal ? "if (query < row0) { continue; }" : ""}
          ${head.each((i) => `let q${i} = queries[j * PARTS + ${i}u];`)}
          ${head.each((i) => `let g${i} = slopes[j * PARTS + ${i}u];`)}
          ${
    frame.each((r) =>
      `${causal ? `if (query >= row${r})` : ""} {
            var score = ${head.dot((i) => `k${r}_${i}`, (i) => `q${i}`)};
            var slope = ${head.dot((i) => `v${r}_${i}`, (i) => `g${i}`)};
            ${distance.of(`i32(row${r}) - i32(query)`)}
            ${
        distance.choose({
          near: `score = score + ${distance.dot("q", "keyTable(distance)")};
              slope = slope + ${distance.dot("g", "valueTable(distance)")};`,
          low: "score = score + sides[j].x; slope = slope + sides[j].z;",
          high: "score = score + sides[j].y; slope = slope + sides[j].w;",
        })
      }
            let weight = exp(uniforms.scale * score - logs[j]);
            ${
        dropout
          ? `let before = (query - start) * stride;
            let element = before + row${r} - start;
            let word = element / 32u - (before + u32(place.z) - start) / 32u;
            let bit = (masks[j * 3u + word] >> (element & 31u)) & 1u;
            let keep = select(0.0, uniforms.factor, bit == 1u);`
          : ""
      }
            let used = ${frame.kept("weight")};
            ${head.each((i) => `dv${r}_${i} = dv${r}_${i} + used * g${i};`)}
            let ds = weight * (${frame.kept("slope")} - inners[j]);
            ${head.each((i) => `dk${r}_${i} = dk${r}_${i} + ds * q${i};`)}
          }`
    )
  }
        }
      }
      ${
    frame.each((r) => {
      const put = (at: string, value: (i: number) => string) =>
        head.each((i) => head.put("dqkv", at, { i, value: value(i) }));
      return `
      if (row${r} < end) {
        ${put(`at${r} + uniforms.c`, (i) => `dk${r}_${i} * uniforms.scale`)}
        ${put(`at${r} + 2u * uniforms.c`, (i) => `dv${r}_${i}`)}
      }`;
    })
  }
    }`);
}

/** Fills the workgroup's memory with what `tile` queries bring, from `base` on. */
function loadQueries({ head, distance, dropout, lanes }: AttentionFrame, tile: number): string {
  const ofTile = (tile: string, at: string) =>
    head.dot((i) => `${tile}[j * PARTS + ${i}u]`, (i) => head.at("tables", at, i));
  return `
        for (var i = lane; i < ${tile}u * PARTS; i = i + ${lanes}u) {
          let other = min(base + i / PARTS, end - 1u);
          queries[i] = ${head.part("qkv", "other * 3u * uniforms.c + head * WIDTH")};
          slopes[i] = ${head.part("dy", "other * uniforms.c + head * WIDTH")};
        }
        ${
    dropout
      ? `for (var i = lane; i < ${tile * 3}u; i = i + ${lanes}u) {
          let element = (base + i / 3u - start) * stride + u32(place.z) - start;
          masks[i] = maskOf(key, element / 32u + i % 3u);
        }`
      : ""
  }
        workgroupBarrier();
        if (lane < ${tile}u) {
          let j = lane;
          let other = min(base + j, end - 1u);
          let out = other * uniforms.c + head * WIDTH;
          logs[j] = logSums[other * uniforms.heads + head];
          inners[j] = ${
    head.dot((i) => `slopes[j * PARTS + ${i}u]`, (i) => head.at("y", "out", i))
  };
          ${
    distance.when(`
          sides[j] = vec4<f32>(
            ${ofTile("queries", "keyTable(0u)")},
            ${ofTile("queries", "keyTable(LAST)")},
            ${ofTile("slopes", "valueTable(0u)")},
            ${ofTile("slopes", "valueTable(LAST)")});`)
  }
        }`;
}
