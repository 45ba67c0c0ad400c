import { assert, assertAlmostEquals, assertEquals } from "@std/assert";
import {
  AS_PRINTED,
  chancesOf,
  NO_EFFECT,
  simulator,
  type World,
} from "../../../analysis/claims/chances.ts";
import { type Asked, askedBy } from "../../../analysis/claims/expected.ts";
import { seedsFor } from "../../../analysis/claims/seeds.ts";
import { tTestPower } from "../../../analysis/statistics/power.ts";
import type { Claim } from "../../../analysis/spec/claims.ts";
import { chancesTable } from "../../../analysis/tables/claims.ts";
import { claimsOf, FUSION, type Paper, shipped, withSpreads } from "./papers.ts";

const EXPERIMENTS = 2000;
const confidence = 0.95;
/** Three standard errors of a share of 0.05. */
const SLACK = 3 * Math.sqrt(0.05 * 0.95 / EXPERIMENTS);

const WORLDS: Readonly<Record<string, World>> = {
  "as printed": AS_PRINTED,
  "no effect": NO_EFFECT,
  "opposite effect": (asked) => asked.question.effect === null ? null : -asked.question.effect,
  // As near to what is claimed as what is false can be, and as near to false as what is true.
  "just not as claimed": ({ question: { claimed: [low, high] } }) => low === -Infinity ? high : low,
  "just as claimed": ({ question: { kept: [low, high] } }) => low === -Infinity ? high : low,
};

const B = await shipped("intensity");
const PAPERS: Readonly<Record<string, Paper>> = {
  A: await shipped("fusion"),
  "B, half its spreads": withSpreads(B, 0.5),
  "B, four times its spreads": withSpreads(B, 4),
  C: await shipped("averaging"),
};

/** More than a float is off by. */
const FLOAT = 1e-9;

/** A true mean as shown, along what is claimed. */
function along({ comparison: { metric, direction } }: Asked, mean: number): number {
  const shown = metric === "speed" || metric === "latency" ? 100 * (Math.exp(mean) - 1) : mean;
  return direction === "greater" ? shown : -shown;
}

/**
 * Whether a true mean is what the comparison claims; written from the words, not from the code.
 *
 * @param by How far from the bounds it must be.
 */
function isTrue(asked: Asked, mean: number, by = FLOAT): boolean {
  const { test, direction, smallest, bounds } = asked.comparison;
  const size = along(asked, mean);
  switch (test) {
    case "difference":
    case "sign":
      return size > by;
    case "equivalence":
      return Math.abs(size) < smallest! - by;
    case "noninferiority":
      return size > by - smallest!;
    case "within": {
      const shown = direction === "greater" ? size : -size;
      return shown > bounds![0] + by && shown < bounds![1] - by;
    }
  }
}

/** Whether calling the claim contradicted would be an error at this true mean. */
function mayStand(asked: Asked, mean: number): boolean {
  const { comparison: { test, smallest, direction }, printed } = asked;
  if (test !== "difference") return isTrue(asked, mean, -FLOAT);
  const isLarge = printed === null || (direction === "greater" ? printed : -printed) >= smallest!;
  return along(asked, mean) >= (isLarge ? smallest! : 0) - FLOAT;
}

/** Shares of experiments in which any verdict of the paper is false. */
function errors(paper: Paper, world: World, seeds: number) {
  const options = { ...paper.prints, seeds, confidence, experiments: EXPERIMENTS };
  const verdicts = simulator(paper.claims, options)(world);
  const asked = paper.claims.map((claim) => askedBy(claim, paper.prints));
  const all = (test: (asked: Asked, mean: number) => boolean) =>
    asked.map((own) => own.every((each) => test(each, world(each)!)));
  const [truth, stands] = [all((asked, mean) => isTrue(asked, mean)), all(mayStand)];
  const small = all(({ comparison }, mean) => Math.abs(mean) < comparison.smallest!);
  const share = (wrong: (claim: number, experiment: number) => boolean) =>
    Array.from(
      { length: EXPERIMENTS },
      (_, experiment) => verdicts.some((_, claim) => wrong(claim, experiment)),
    )
      .filter(Boolean).length / EXPERIMENTS;
  const at = (claim: number, experiment: number) => verdicts[claim]![experiment]!;
  return {
    reproduced: share((claim, experiment) =>
      !truth[claim]! && ["reproduced", "direction only"].includes(at(claim, experiment))
    ),
    contradicted: share((claim, experiment) =>
      stands[claim]! && at(claim, experiment) === "contradicted"
    ),
    equivalent: share((claim, experiment) =>
      !small[claim]! && at(claim, experiment) === "equivalent"
    ),
    found: paper.claims.map(({ id }, claim) => {
      const own = verdicts[claim]!;
      const held = own.filter((each) => each === "reproduced" || each === "direction only");
      const equivalent = own.filter((each) => each === "equivalent");
      const of = (list: readonly string[]) => (list.length / EXPERIMENTS).toFixed(2);
      return `${id} ${of(held)}${equivalent.length > 0 ? `+${of(equivalent)}` : ""}`;
    }),
  };
}

for (const [name, paper] of Object.entries(PAPERS)) {
  for (const [title, world] of Object.entries(WORLDS)) {
    Deno.test(`paper ${name}, ${title}: at most one paper in twenty has a false verdict`, () => {
      for (const seeds of [5, 10]) {
        const { reproduced, contradicted, equivalent, found } = errors(paper, world, seeds);
        console.log(
          `${seeds} seeds: falsely reproduced ${reproduced}, contradicted ${contradicted}, ` +
            `equivalent ${equivalent}; upheld ${found.join(", ")}`,
        );
        for (const share of [reproduced, contradicted, equivalent]) {
          assert(share <= 0.05 + SLACK, `${share} at ${seeds} seeds`);
        }
      }
    });
  }
}

const one = (changes: Record<string, unknown>) =>
  claimsOf([{
    ...{ id: "X", statement: "X", metric: "accuracy", against: { operator: "add" } },
    ...{ at: { dataset: "d", operator: "gate" }, smallest: 1, printed: 2, spread: 2 },
    ...changes,
  }]);

Deno.test("the chance to uphold a claim is the power of its test at the corrected level", () => {
  for (const [seeds, elsewhere] of [[5, 0], [10, 0], [10, 4]] as const) {
    const [found] = chancesOf(one({}), { ...FUSION.prints, seeds, confidence, elsewhere });
    const power = tTestPower({ effect: 2, sd: 2, alpha: 0.05 / (1 + elsewhere) }, seeds);
    assertAlmostEquals(found!.printed.reproduced ?? 0, power, 3 * Math.sqrt(0.25 / 2000));
    assertEquals(found!.seeds, seeds);
  }
});

Deno.test("what is compared with nothing has no effect to lack: its chances are those of the printed value alone", () => {
  const values = { against: undefined, test: "within", bounds: [0, 4] };
  const options = { ...FUSION.prints, seeds: 5, confidence, experiments: 200 };
  const claims = one(values);
  const [alone] = chancesOf(claims, options);
  assertEquals(alone!.none, null);
  assertEquals(chancesTable([{ id: "X", chances: alone! }]).rows.length, 1);
  // A change within bounds could as well be none.
  const [change] = chancesOf(one({ ...values, against: { operator: "add" } }), options);
  assertEquals(Object.keys(change!.none!).length > 0, true);
  assertEquals(chancesTable([{ id: "X", chances: change! }]).rows.length, 2);
});

Deno.test("claims that share conditions are simulated from the same runs", () => {
  const twice = [...one({}), ...one({ id: "Y" })];
  const [x, y] = simulator(twice, { ...FUSION.prints, seeds: 5, confidence })(AS_PRINTED);
  assertEquals(x, y);
});

Deno.test("chances need no runs, are the same each time, and those of no known spread are none", () => {
  const options = { ...FUSION.prints, seeds: 5, confidence, experiments: 200 };
  assertEquals(chancesOf(FUSION.claims, options), chancesOf(FUSION.claims, options));
  assertEquals(chancesOf(one({ spread: undefined }), options), [null]);
  for (const chances of chancesOf(FUSION.claims, options)) {
    for (const shares of [chances!.printed, chances!.none!]) {
      assertAlmostEquals(Object.values(shares).reduce((a, b) => a + b, 0), 1, 1e-9);
    }
  }
});

Deno.test("at the seeds that it needs a comparison has a power of 0.9, not at half", () => {
  const { claims, prints } = FUSION;
  const elsewhere = claims.length - 1;
  const power = (claim: Claim, seeds: number) => {
    const options = { ...prints, seeds, confidence, elsewhere, experiments: 500 };
    const [own] = simulator([claim], options)(AS_PRINTED);
    return own!.filter((each) => each === "reproduced" || each === "direction only").length / 500;
  };
  const slack = 3 * Math.sqrt(0.09 / 500);
  const needed = claims.flatMap((claim) =>
    askedBy(claim, prints).map(({ question, sd }, index) => {
      const seeds = seedsFor(question, { sd, alpha: 0.05 / claims.length });
      return { id: claim.id, seeds, alone: { ...claim, compare: [claim.compare[index]!] } };
    })
  );
  // 0.23 points from zero at a spread of 4.6, and 0.67 from the margin at 5.8, take over a thousand.
  const undecided = needed.filter(({ seeds }) => seeds === null).map(({ id }) => id);
  assertEquals(undecided, ["A6a", "A6b"]);
  for (const { id, seeds, alone } of needed) {
    if (seeds === null || seeds > 40) continue;
    assert(power(alone, seeds) > 0.9 - slack, `${id} at ${seeds}: ${power(alone, seeds)}`);
    const half = Math.ceil(seeds / 2);
    if (half < seeds && half > 1) assert(power(alone, half) < 0.9, `${id} at ${half}`);
  }
});
