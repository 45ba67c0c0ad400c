import { assertEquals } from "@std/assert";
import { sensitivityOf } from "../../../analysis/claims/sensitivity.ts";
import { claimSchema } from "../../../analysis/spec/claims.ts";
import type { Study } from "../../../analysis/study.ts";
import { sensitivityTable, sensitivityText } from "../../../analysis/tables/sensitivity.ts";
import { axis, metrics, texts, tidy } from "../tables/made_up.ts";

/** Gains of vanilla and nut over plain cakes by how "warm" is read; nuts know no temperature. */
const GAINS: Readonly<Record<string, Readonly<Record<string, readonly number[]>>>> = {
  // A gain of 5 that a hot oven makes a loss of 5; of nuts nothing but noise, around zero.
  vanilla: { warm: [5, 5.2, 4.8, 5.1], hot: [-5, -5.3, -4.9, -5.2] },
  nut: { warm: [0.1, -0.2, 0.3, -0.1] },
  egg: { warm: [0.1, -0.3, 0.4, 0.3], hot: [-0.2, 0.3, -0.4, -0.1] },
};

function study(): Study {
  const runs = Object.entries({ plain: { warm: [0, 0, 0, 0], hot: [0, 0, 0, 0] }, ...GAINS })
    .flatMap(
      ([flavour, choices]) =>
        Object.entries(choices).flatMap(([heat, gains]) =>
          gains.map((gain, batch) => ({
            flavour,
            heat,
            batch: String(batch),
            rise: 60 + batch + gain,
          }))
        ),
    );
  return {
    title: "Cakes",
    confidence: 0.95,
    seeds: "batch",
    axes: [
      axis("flavour", { plain: "Plain", vanilla: "Vanilla", nut: "Nut", egg: "Egg" }),
      axis("heat", { hot: "Hot", warm: "Warm" }, { baseline: "warm" }),
      axis("batch", { "0": "0", "1": "1", "2": "2", "3": "3" }),
    ],
    metrics: metrics({ rise: { title: "Rise", unit: "percent", better: "greater" } }),
    tidy: { runs: tidy("runs", ["flavour", "heat", "batch"], runs) },
    corpora: [{ at: {}, kind: "official", title: "Flour", note: "" }],
    published: [],
    paper: { reading_error: 0, whole: [], size: [] },
  };
}

const claims = ["vanilla", "nut", "egg", "vanilla"].map((flavour, index) =>
  claimSchema.parse({
    id: `C${index + 1}`,
    statement: `${flavour} helps`,
    metric: "rise",
    at: { flavour },
    against: { flavour: "plain" },
    smallest: 1,
  })
);

Deno.test("a conclusion is read under each choice, and what moves with one is named", () => {
  const found = sensitivityOf(study(), { axis: "heat", claims });
  const rows = found.readings.map(({ claims, choice, judged, moved }) => [
    ...[claims.join(), choice, judged.verdict],
    ...[Math.round(judged.outcome.mean! * 1000) / 1000, moved?.sign, moved?.from],
  ]);
  assertEquals(
    rows,
    [
      // The same comparison of two claims is read once.
      ["C1,C4", "warm", "reproduced", 5.025, undefined, undefined],
      ["C1,C4", "hot", "contradicted", -5.1, true, "reproduced"],
      // Nuts were baked warm only: beside plain cakes in a hot oven they are the warm ones.
      ["C2", "warm", "contradicted", 0.025, undefined, undefined],
      ["C2", "hot", "contradicted", 0.025, false, null],
      ["C3", "warm", "contradicted", 0.125, undefined, undefined],
      ["C3", "hot", "contradicted", -0.1, true, null],
    ],
  );
  const vanilla = found.readings[1]!.moved!;
  // The differences of differences are −10, −10.5, −9.7 and −10.3.
  assertEquals([vanilla.n, Math.round(vanilla.mean! * 1000) / 1000], [4, -10.125]);
  assertEquals(vanilla.interval!.map((bound) => bound.toFixed(2)), ["-10.68", "-9.57"]);
});

Deno.test("a sentence says which verdicts hang on which choice, and a table the effects", () => {
  const found = sensitivityOf(study(), { axis: "heat", claims });
  assertEquals(
    sensitivityText(study(), found),
    "The verdict on 1 of 3 conclusions hangs on what the paper leaves open: " +
      "C1, C4 (Vanilla − Plain) on Hot. " +
      "The sign alone, not the verdict, changes of C3 (Egg − Plain) on Hot. " +
      "1 of these 2 effects moves no further than chance may.",
  );
  const table = sensitivityTable({ study: study(), pairs: new Map() }, found);
  assertEquals(texts(table)[2], [
    ...[
      "",
      "",
      "Hot",
      "4",
      "−5.10",
      "[−5.39, −4.81]",
      "−10.12 [−10.68, −9.57]",
      "contradicted",
      "sign and verdict",
    ],
  ]);
  // Eggs differ by −0.3, 0.6, −0.8 and −0.4: that the sign is another is chance.
  assertEquals(texts(table)[6]!.slice(6), [
    "−0.23 [−1.17, +0.72]",
    "contradicted",
    "sign, within chance",
  ]);
});

Deno.test("where nothing was read in two ways that is said, and why, if it was asked", () => {
  const whole = study();
  const { runs } = whole.tidy;
  const warm = runs!.columns["heat"]!.flatMap((heat, row) => heat === "warm" ? [row] : []);
  const columns = Object.fromEntries(
    Object.entries(runs!.columns).map(([name, all]) => [name, warm.map((row) => all[row]!)]),
  );
  const one = {
    ...whole,
    axes: whole.axes.map((each) =>
      each.name === "heat" ? axis("heat", { warm: "Warm" }, { baseline: "warm" }) : each
    ),
    tidy: { runs: { ...runs!, columns, length: warm.length } },
  };
  const text = (own: Study, read = claims) =>
    sensitivityText(own, sensitivityOf(own, { axis: "heat", claims: read }));
  const none = "None of 3 conclusions was read under several choices that the paper leaves open";
  assertEquals(text(one), `${none}.`);
  assertEquals(text(one, []), "");
  const synthetic = whole.corpora.length > 0 ? whole.corpora : [{
    ...{ at: {}, title: "Made up", note: "" },
  }];
  const made = {
    ...whole,
    corpora: synthetic.map((each) => ({ ...each, kind: "synthetic" as const })),
  };
  const theirs = claims.map((claim) => ({ ...claim, source: "paper" as const }));
  assertEquals(
    text(made, theirs),
    `${none}; of 3 what ran is synthetic data, and that is no evidence for a paper's claim.`,
  );
  assertEquals(sensitivityOf(whole, { axis: "oven", claims }).readings, []);
});

Deno.test("an average is read over what of it was run", () => {
  const { "0": claim } = claims;
  const over = { ...claim!, at: {}, over: { flavour: ["vanilla", "egg", "lemon"] } };
  const [first, second] = sensitivityOf(study(), { axis: "heat", claims: [over] }).readings;
  // The means of 5.025 and 0.125, and of −5.1 and −0.1.
  assertEquals([first, second].map((each) => each!.judged.outcome.mean!.toFixed(4)), [
    "2.5750",
    "-2.6000",
  ]);
});
