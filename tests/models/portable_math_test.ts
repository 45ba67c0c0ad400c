import { assert, assertEquals } from "@std/assert";
import * as portable from "../../models/portable_math.ts";
import fixtures from "../reference/pytorch/portable_math.json" with { type: "json" };

function ulp(x: number): number {
  const view = new Float64Array([Math.abs(x)]);
  const bits = new BigUint64Array(view.buffer);
  bits[0]! += 1n;
  return view[0]! - Math.abs(x);
}

function worstUlps(name: keyof typeof fixtures, f: (x: number) => number): number {
  return Math.max(
    ...fixtures[name].map(([x, y]) => Math.abs(f(x!) - y!) / Math.max(ulp(y!), 2.3e-16 * 2e-4)),
  );
}

for (const name of ["exp", "ln", "sin", "cos"] as const) {
  Deno.test(`${name} is within an ulp of 60-digit arithmetic`, () => {
    const worst = worstUlps(name, portable[name]);
    assert(worst <= 1, `worst error ${worst} ulp`);
  });
}

for (const name of ["expm1", "log1p"] as const) {
  Deno.test(`${name} is within 4 ulp of 60-digit arithmetic, near 0 too`, () => {
    const worst = Math.max(
      ...fixtures[name].map(([x, y]) => Math.abs(portable[name](x!) - y!) / ulp(y!)),
    );
    assert(worst <= 4, `worst error ${worst} ulp`);
  });
}

for (const name of ["sinTurns", "cosTurns"] as const) {
  Deno.test(`${name} is within 2e-16 of 60-digit arithmetic`, () => {
    const worst = Math.max(...fixtures[name].map(([x, y]) => Math.abs(portable[name](x!) - y!)));
    assert(worst <= 2e-16, `worst error ${worst}`);
  });
}

Deno.test("the functions keep their exact values and limits", () => {
  assertEquals(portable.exp(0), 1);
  assertEquals(portable.exp(-Infinity), 0);
  assertEquals(portable.exp(Infinity), Infinity);
  assertEquals(portable.ln(1), 0);
  assertEquals(portable.ln(0), -Infinity);
  assertEquals(portable.sin(0), 0);
  assertEquals(portable.cos(0), 1);
  assertEquals(portable.cosTurns(0.5), -1);
  assertEquals([-Infinity, 0, Infinity].map(portable.expm1), [-1, 0, Infinity]);
  assertEquals([-1, 0, Infinity].map(portable.log1p), [-Infinity, 0, Infinity]);
  assert(Number.isNaN(portable.exp(NaN)) && Number.isNaN(portable.ln(-1)));
});
