import { assert, assertEquals } from "@std/assert";
import { normal, streamKey } from "../../../../models/random.ts";
import type { Verdict } from "../../../../stages/results/claims/claim.ts";
import {
  decide,
  holds,
  measure,
  type Question,
} from "../../../../stages/results/claims/verdict.ts";

const QUESTION: Question = {
  test: "difference",
  direction: "greater",
  smallest: 0.01,
  tolerance: 0.02,
  published: 0.0651,
  alpha: 0.05,
};

function verdictOf(differences: readonly number[], changes: Partial<Question> = {}): Verdict {
  const question = { ...QUESTION, ...changes };
  const outcome = measure(differences, question);
  return decide({ ...outcome, holm: outcome.p }, differences, question);
}

Deno.test("the paper's own Figure 3 reproduces its headline", () => {
  assertEquals(verdictOf([0.095, 0.0255, 0.0367, 0.0783, 0.0902]), "reproduced");
});

Deno.test("a difference of the claimed sign but another size is direction only", () => {
  assertEquals(verdictOf([0.021, 0.018, 0.025, 0.019, 0.022]), "direction only");
});

Deno.test("the opposite sign contradicts", () => {
  assertEquals(verdictOf([-0.05, -0.06, -0.055, -0.04, -0.07]), "contradicted");
  assertEquals(verdictOf([0.05, 0.06, 0.055, 0.04, 0.07], { direction: "less" }), "contradicted");
});

Deno.test("ruling out the claimed difference contradicts though the sign is open", () => {
  assertEquals(verdictOf([-0.02, 0.001, -0.015, 0.003, -0.011, -0.019, 0.005]), "contradicted");
});

Deno.test("differences all near zero are equivalent", () => {
  assertEquals(verdictOf([0.001, -0.002, 0.0005, -0.001, 0.0015]), "equivalent");
});

Deno.test("a wide spread is underpowered and says how many seeds would do", () => {
  const wide = [0.09, -0.05, 0.02, 0.08, -0.03];
  assertEquals(verdictOf(wide), "underpowered");
  // statsmodels: TTestPower().solve_power(0.0651 / 0.0630079, None, 0.05, 0.8) = 9.5
  assertEquals(measure(wide, QUESTION).seedsNeeded, 10);
});

Deno.test("one seed is underpowered and none is not run", () => {
  assertEquals(verdictOf([0.065]), "underpowered");
  assertEquals(verdictOf([]), "not run");
});

Deno.test("one seed against it contradicts a claim about every seed", () => {
  const sign = { test: "sign" } as const;
  assertEquals(verdictOf([0.01, 0.02, 0.03, 0.04, -0.001], sign), "contradicted");
  assertEquals(verdictOf([0.01, 0.02, 0.03, 0.04, 0.001], sign), "reproduced");
  assertEquals(verdictOf([0.01, 0.02, 0.03, 0.04], sign), "underpowered");
  assertEquals(verdictOf([0.01, 0.02, 0.03, 0.04, 0], sign), "contradicted");
});

Deno.test("claims of equivalence and of being no worse are decided by their margins", () => {
  const same = { test: "equivalence" } as const;
  assertEquals(verdictOf([0.001, -0.002, 0.0005, -0.001, 0.0015], same), "equivalent");
  assertEquals(verdictOf([0.03, 0.031, 0.029, 0.032, 0.028], same), "contradicted");
  assertEquals(verdictOf([0.03, -0.031, 0.009, 0.002, -0.018], same), "underpowered");
  const worse = { test: "noninferiority" } as const;
  assertEquals(verdictOf([0.03, 0.031, 0.029, 0.032, 0.028], worse), "reproduced");
  assertEquals(verdictOf([-0.03, -0.031, -0.029, -0.032, -0.028], worse), "contradicted");
  assertEquals(verdictOf([0.03, -0.031, 0.009, -0.04, -0.018], worse), "underpowered");
});

Deno.test("equivalence upholds a claim of no difference and refutes one of a difference", () => {
  const asPaper = true;
  assertEquals(holds("equivalent", { test: "equivalence", asPaper }), true);
  assertEquals(holds("equivalent", { test: "difference", asPaper }), false);
  assertEquals(holds("underpowered", { test: "difference", asPaper }), null);
});

Deno.test("what did not run as in the paper neither upholds its claim nor refutes it", () => {
  for (const verdict of ["reproduced", "equivalent", "contradicted"] as const) {
    assertEquals(holds(verdict, { test: "difference", asPaper: false }), null);
  }
});

Deno.test("differences that are all equal are no evidence, however large", () => {
  for (const test of ["difference", "equivalence", "noninferiority"] as const) {
    assertEquals(verdictOf([1 / 59, 1 / 59, 1 / 59], { test }), "underpowered");
    assertEquals(verdictOf([0, 0], { test }), "underpowered");
  }
});

/** Shares of verdicts over 2,000 simulated experiments whose true mean difference is `truth`. */
function simulate(
  truth: number,
  changes: Partial<Question> & { seeds: number; sd: number },
): Record<Verdict, number> {
  const { seeds, sd, ...question } = changes;
  const shares = {} as Record<Verdict, number>;
  const simulations = 2000;
  const key = streamKey(7, `verdict/${truth}/${seeds}/${sd}/${question.test ?? "difference"}`);
  const drawn = normal(key, simulations * seeds, { deviation: sd });
  for (let i = 0; i < simulations; i++) {
    const differences = Array.from(
      drawn.subarray(i * seeds, (i + 1) * seeds),
      (value) => truth + value,
    );
    const verdict = verdictOf(differences, question);
    shares[verdict] = (shares[verdict] ?? 0) + 1 / simulations;
  }
  return shares;
}

/** Three standard errors of a share of 0.05 over 2,000 simulations. */
const SLACK = 3 * Math.sqrt(0.05 * 0.95 / 2000);

Deno.test("without a true difference at most one in twenty finds one, whatever the spread", () => {
  for (const sd of [0.002, 0.01, 0.03]) {
    for (const seeds of [3, 5, 7]) {
      const shares = simulate(0, { seeds, sd });
      const found = (shares.reproduced ?? 0) + (shares["direction only"] ?? 0);
      // Two-sided at 0.05: half of the errors go each way.
      assert(found <= 0.025 + SLACK, `${found} at sd ${sd}, ${seeds} seeds`);
    }
  }
});

Deno.test("a true difference as printed is seldom called contradicted or equivalent", () => {
  for (const sd of [0.01, 0.03, 0.06]) {
    const shares = simulate(0.0651, { seeds: 5, sd });
    const wrong = (shares.contradicted ?? 0) + (shares.equivalent ?? 0);
    assert(wrong <= 0.05 + SLACK, `${wrong} at sd ${sd}`);
  }
  assert(simulate(0.0651, { seeds: 5, sd: 0.01 }).reproduced > 0.95);
});

Deno.test("a difference that just matters is called equivalent at most one time in twenty", () => {
  for (const sd of [0.003, 0.01]) {
    for (const truth of [0.01, -0.01]) {
      const shares = simulate(truth, { seeds: 5, sd, test: "equivalence" });
      assert((shares.equivalent ?? 0) <= 0.05 + SLACK, `${shares.equivalent} at ${truth}, ${sd}`);
    }
  }
  const none = simulate(0, { seeds: 5, sd: 0.003, test: "equivalence" });
  assert(none.equivalent > 0.95, `${none.equivalent} of true equivalences found`);
  assert((none.contradicted ?? 0) <= 0.05 + SLACK);
});

Deno.test("the share of true differences found is the power that was computed", async () => {
  const { pairedTPower } = await import("../../../../analysis/statistics/power.ts");
  for (const [seeds, sd] of [[5, 0.03], [5, 0.06], [7, 0.06]] as const) {
    const shares = simulate(0.0651, { seeds, sd, tolerance: 10 });
    const expected = pairedTPower({ effect: 0.0651, sd }, seeds);
    const slack = 3 * Math.sqrt(expected * (1 - expected) / 2000);
    assert(
      Math.abs((shares.reproduced ?? 0) - expected) <= slack,
      `${shares.reproduced}, ${expected}`,
    );
  }
});
