import { assert, assertEquals } from "@std/assert";
import { normal, streamKey } from "../../../models/random.ts";
import type { Study } from "../../../analysis/study.ts";
import { axis, bakery, metrics, tables, texts, tidy } from "./made_up.ts";

/** Loaves a minute of four ovens, of which two are the first by another name, with 2 % noise. */
function bakeries(experiment: number): Study {
  const speeds = { brick: 100, mirror: 100, twin: 100, tin: 70 };
  const [days, rounds] = [4, 10];
  const draws = normal(streamKey(20_261_122, `noise/${experiment}`), 4 * days * rounds);
  const rows = Object.entries(speeds).flatMap(([oven, speed], place) =>
    Array.from({ length: days * rounds }, (_, index) => ({
      ...{ oven, day: String(Math.floor(index / rounds)), round: index % rounds },
      loaves: speed * Math.exp(0.02 * draws[place * days * rounds + index]!),
    }))
  );
  return {
    ...bakery(),
    seeds: "day",
    axes: [
      axis("oven", { brick: "Brick", mirror: "Mirror", twin: "Twin", tin: "Tin" }, {
        baseline: "brick",
      }),
      axis("day", { "0": "0", "1": "1", "2": "2", "3": "3" }),
    ],
    metrics: metrics({
      loaves: {
        ...{ title: "Speed", table: "rounds", unit: "loaves", better: "greater" },
        ...{ change: "ratio", within: "round", timed: true, floor: { oven: "mirror" } },
      },
    }),
    tidy: { rounds: tidy("rounds", ["oven", "day"], rows) },
    corpora: [],
    published: [],
  };
}

const SPEC = {
  speeds: {
    ...{ caption: "Speeds", table: "rounds", rows: ["oven"] },
    columns: [{ metric: "loaves", show: "change" }],
  },
};

Deno.test("identical programs with 2 % noise come out as no difference, slower ones as slower", () => {
  const experiments = 300;
  let resolved = 0;
  for (let experiment = 0; experiment < experiments; experiment++) {
    const rows = texts(tables(bakeries(experiment), SPEC).get("speeds"));
    const [mirror, twin, tin] = rows.slice(-3).map((row) => row.at(-1)!);
    assertEquals(rows.slice(-3).map(([oven]) => oven), ["Mirror", "Twin", "Tin"]);
    assert(!mirror!.includes("resolved"), "the noise itself is shown as it is");
    if (!twin!.endsWith("(not resolved)")) resolved++;
    assert(/^−(2[6-9]|3[0-4])\.\d+$/.test(tin!), tin);
  }
  assert(resolved <= 0.05 * experiments, `${resolved} of ${experiments}`);
});
