/**
 * Whether WebAssembly here adds a product without rounding it first, as processors with fused
 * multiply-add do: x86-64 since 2013, ARM64. The specification leaves that open. V8 asks the processor
 * once, for code of all its tiers.
 *
 * @module
 */

/** A module with function `a(x, y, z)`: a lane of `f32x4.relaxed_madd`, which is x y + z. */
const MODULE = Uint8Array.fromHex(
  "0061736d01000000" + "0108016003" + "7d7d7d017d" + "03020100" + "0705010161" + "0000" +
    "0a160114002000fd132001fd132002fd13fd8502fd1f000b",
);

/** Whether it does. */
export function fusesMultiplyAdd(): boolean {
  if (!WebAssembly.validate(MODULE)) return false;
  const { a } = new WebAssembly.Instance(new WebAssembly.Module(MODULE)).exports as {
    a: (x: number, y: number, z: number) => number;
  };
  // (1 + 2⁻¹²)² is 1 + 2⁻¹¹ + 2⁻²⁴, of which a float32 keeps 1 + 2⁻¹¹.
  return a(1 + 2 ** -12, 1 + 2 ** -12, -1 - 2 ** -11) === 2 ** -24;
}
