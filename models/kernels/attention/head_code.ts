/**
 * WGSL over the features of an attention head, written for one width: sums and loads are spelt out,
 * since a register cannot be indexed.
 *
 * @module
 */

/** Code for heads of `width` features, taken as vec4s of which the last is filled up with zeros. */
export class HeadCode {
  /** vec4s of a head. */
  readonly parts: number;
  /** Whether heads are whole vec4s: tensors of features are then bound as such. */
  readonly whole: boolean;

  constructor(readonly width: number) {
    this.parts = Math.ceil(width / 4);
    this.whole = width % 4 === 0;
  }

  /** Element type of tensors whose rows are heads. */
  get element(): string {
    return this.whole ? "vec4<f32>" : "f32";
  }

  /** `code` for every vec4. */
  each(code: (part: number) => string): string {
    return Array.from({ length: this.parts }, (_, i) => code(i)).join("\n");
  }

  dot(a: (part: number) => string, b: (part: number) => string): string {
    const parts = Array.from({ length: this.parts }, (_, i) => `dot(${a(i)}, ${b(i)})`);
    return `(${parts.join(" + ")})`;
  }

  /** vec4 number `i` of the head that starts at element `at`. */
  at(tensor: string, at: string, i: number): string {
    if (this.whole) return `${tensor}[(${at}) / 4u + ${i}u]`;
    const lanes = [0, 1, 2, 3].map((lane) => 4 * i + lane);
    return `vec4<f32>(${
      lanes.map((f) => f < this.width ? `${tensor}[${at} + ${f}u]` : "0.0").join(", ")
    })`;
  }

  /** Sets vec4 number `i` of the head that starts at element `at`. */
  put(tensor: string, at: string, { i, value }: { i: number; value: string }): string {
    if (this.whole) return `${tensor}[(${at}) / 4u + ${i}u] = ${value};`;
    const lanes = ["x", "y", "z", "w"].slice(0, Math.min(4, this.width - 4 * i));
    return lanes.map((lane, k) => `${tensor}[${at} + ${4 * i + k}u] = (${value}).${lane};`)
      .join("\n");
  }

  /** vec4 number `i % PARTS`, a value of the shader, of the head that starts at element `at`. */
  part(tensor: string, at: string): string {
    if (this.whole) return `${tensor}[(${at}) / 4u + i % PARTS]`;
    const feature = (lane: number) => `4u * (i % PARTS) + ${lane}u`;
    return `vec4<f32>(${
      [0, 1, 2, 3].map((lane) =>
        `select(0.0, ${tensor}[${at} + min(${feature(lane)}, WIDTH - 1u)], ` +
        `${feature(lane)} < WIDTH)`
      ).join(", ")
    })`;
  }

  /** Heads, at most `most` and a power of 2, that two tiles have room for in `bytes`. */
  tile(bytes: number, max = 32): number {
    let tile = max;
    while (tile > 1 && 2 * tile * this.parts * 16 > bytes) tile /= 2;
    return tile;
  }
}
