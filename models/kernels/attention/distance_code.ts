/**
 * WGSL for relative embeddings: rows of two tables by the distance j − i of key and query, clipped
 * to −K..K. Without them every piece of code is empty.
 *
 * @module
 */
import type { HeadCode } from "./head_code.ts";

/** Code over `tables`, [2 (2K + 1), D]: the keys' embeddings, then the values'. */
export class DistanceCode {
  constructor(readonly head: HeadCode, readonly relative: boolean) {}

  when(code: string): string {
    return this.relative ? code : "";
  }

  /** Fields of the uniforms: K. */
  get fields(): string {
    return this.when("reach : u32,");
  }

  /** Where a distance's row of each table starts. */
  get functions(): string {
    return this.when(`
      fn keyTable(distance : u32) -> u32 { return distance * WIDTH; }
      fn valueTable(distance : u32) -> u32 {
        return (2u * uniforms.reach + 1u + distance) * WIDTH;
      }`);
  }

  /** How far the key is ahead of the query, and both tables' row where that is less than K. */
  of(ahead: string): string {
    return this.when(`let ahead = ${ahead};
            let near = abs(ahead) < i32(uniforms.reach);
            let distance = u32(ahead + i32(uniforms.reach));`);
  }

  /** What to do at less than K, at −K and before, and at K and beyond. */
  choose(code: { near: string; low: string; high: string }): string {
    return this.when(`if (near) {
              ${code.near}
            } else if (ahead < 0) {
              ${code.low}
            } else {
              ${code.high}
            }`);
  }

  /** The product of the vec4s `name` with the table's row that starts at `at`. */
  dot(name: string, at: string): string {
    return this.head.dot((i) => `${name}${i}`, (i) => this.head.at("tables", at, i));
  }

  /** Adds `factor` times the table's row that starts at `at` to the vec4s `name`. */
  add(name: string, factor: string, at: string): string {
    return this.head.each((i) =>
      `${name}${i} = ${name}${i} + ${factor} * ${this.head.at("tables", at, i)};`
    );
  }
}
