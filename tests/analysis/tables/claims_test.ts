import { assert, assertEquals } from "@std/assert";
import type { JudgedClaim, JudgedComparison } from "../../../analysis/claims/judged.ts";
import { findingsTable } from "../../../analysis/tables/claims.ts";
import { cellText, type Row } from "../../../analysis/tables/table.ts";
import { bakery, tables, texts } from "./made_up.ts";

/** A comparison that was run, or was not. */
function compared(given: object = {}, n = 3): JudgedComparison {
  const comparison = {
    ...{ metric: "rise", at: { oven: "gas", flavour: "vanilla" }, against: { flavour: "plain" } },
    ...{ than: null, over: {}, test: "difference", direction: "greater", bounds: null },
    ...{ smallest: 1, tolerance: null, printed: null, spread: null, ...given },
  } as JudgedComparison["comparison"];
  return {
    ...{ comparison, text: "Gas: Vanilla − Plain", printed: 2.8 },
    provenance: n > 0 ? "full data" : "",
    ...{ asPaper: true, verdict: n > 0 ? "underpowered" : "not run" },
    outcome: {
      ...{ n, mean: n > 0 ? 5 : null, sd: 5, interval: [-7.42, 17.42], bootstrap: null },
      ...{ positive: 2, negative: 0, test: "paired t", p: 0.0917, against: 0.9083 },
      ...{ signedRankP: 0.25, seedsNeeded: 14 },
    },
  };
}

function claim(id: string, comparisons: readonly JudgedComparison[], more = {}): JudgedClaim {
  return {
    ...{ id, statement: `${id} holds`, source: "paper", note: "", verdict: "underpowered" },
    ...{ holds: null, p: 0.1834, against: 1, comparisons, chances: null, ...more },
  };
}

const links = ({ cells }: Row) =>
  cells.flatMap((cell) => typeof cell === "string" ? [] : [cell.to]);

Deno.test("a claim's verdict leads to its comparisons, and their means to the pairs of runs", () => {
  const made = tables(bakery(), {}, [
    claim("X1", [compared()]),
    claim("X2", [compared({}, 0)], { verdict: "not run", p: null, against: null }),
  ]);
  assertEquals(texts(made.get("claims")).slice(1), [
    ["X1", "X1 holds", "underpowered", "open", "full data", "0.1834", "1.0000"],
    ["X2", "X2 holds", "not run", "open", "", "–", "–"],
  ]);
  const rows = made.get("comparisons")!;
  assertEquals(texts(rows).slice(1), [[
    ...["X1", "Gas: Vanilla − Plain", "underpowered", "3", "+5.00", "[−7.42, +17.42]", "+2.80"],
    ...["1.00", "paired t", "0.0917", "0.9083", "0.2500", "14"],
  ]]);
  assert(rows.notes!.some((note) => note.startsWith("1 comparison not run")));
  assertEquals(links(made.get("claims")!.rows[0]!), [`#${rows.rows[0]!.anchor}`]);
  const pairs = made.get("every_pair")!;
  assertEquals(links(rows.rows[0]!), [`#${pairs.rows[0]!.anchor}`]);
  assertEquals(pairs.rows.map(({ cells }) => cellText(cells.at(-1)!)), ["+5.00", "+10.00", "0.00"]);
});

Deno.test("a claim's note stands beside what it was judged on, not in its place", () => {
  const noted = claim("X1", [compared()], { note: "A generalization" });
  const idle = claim("X2", [compared({}, 0)], { note: "Another", verdict: "not run" });
  const rows = texts(tables(bakery(), {}, [noted, idle]).get("claims")).slice(1);
  assertEquals(rows.map((row) => row[4]), ["full data. A generalization", "Another"]);
});

Deno.test("beside the paper's claims one of our own says so, and the caption is not of the paper's", () => {
  const [theirs, own] = [claim("X1", [compared()]), claim("S1", [compared()], { source: "own" })];
  const made = (claims: JudgedClaim[]) => tables(bakery(), {}, claims).get("claims")!;
  assertEquals(texts(made([theirs, own])).slice(1).map((row) => row[1]), [
    "X1 holds",
    "Our own: S1 holds",
  ]);
  assertEquals(made([theirs, own]).caption, "The claims and what became of them");
  assertEquals(made([theirs]).caption, "The paper's claims and what became of them");
  assertEquals(texts(made([own]))[1]![1], "S1 holds");
  assert(!made([own]).notes![0]!.includes("paper"));
});

Deno.test("an average of changes, or a change of changes, leads to all of its pairs", () => {
  const average = compared({ at: { flavour: "vanilla" }, over: { oven: ["gas", "electric"] } });
  const twice = compared({ than: { oven: "electric" } });
  for (const comparison of [average, twice]) {
    const made = tables(bakery(), {}, [claim("X1", [comparison])]);
    assertEquals(links(made.get("comparisons")!.rows[0]!), ["#every_pair"]);
    assertEquals(made.get("every_pair")!.data.rows.map((row) => row.slice(1, 3).join(" ")), [
      ...Array(3).fill("gas vanilla"),
      ...Array(3).fill("electric vanilla"),
    ]);
  }
});

Deno.test("a pair that a table and a claim both show is listed once", () => {
  const spec = {
    caption: "x",
    rows: ["oven", "flavour"],
    columns: [{ metric: "rise", show: "change" }],
  };
  const made = tables(bakery(), { one: spec }, [claim("X1", [compared()])]);
  assertEquals(made.get("every_pair")!.rows.length, 6);
  assertEquals(made.get("every_pair")!.rows.filter(({ anchor }) => anchor).length, 2);
});

Deno.test("a claim of a value itself leads to its runs, and is shown without a sign", () => {
  const value = compared({ at: { oven: "gas", flavour: "plain" }, against: null, test: "within" });
  const made = tables(bakery(), {}, [claim("X1", [value])]);
  const [row] = made.get("comparisons")!.rows;
  assertEquals(cellText(row!.cells[4]!), "5.00");
  const anchors = made.get("every_run")!.rows.flatMap(({ anchor }) => anchor ? [`#${anchor}`] : []);
  assert(anchors.includes(links(row!)[0]!));
});

Deno.test("each claim has its chance of each verdict, if the paper is right and if nothing has an effect", () => {
  const chances = {
    seeds: 5,
    isPrinted: true,
    printed: { "reproduced": 0.1404, "underpowered": 0.8596 },
    none: { "underpowered": 0.96, "contradicted": 0.04 },
  };
  const made = tables(bakery(), {}, [claim("X1", [], { chances }), claim("X2", [])]);
  assertEquals(texts(made.get("chances")), [
    [
      ...["Claim", "Seeds", "If"],
      ...["Reproduced", "Direction only", "Equivalent", "Underpowered", "Contradicted"],
    ],
    ["X1", "5", "the paper is exactly right", "14 %", "0 %", "0 %", "86 %", "0 %"],
    ["", "5", "nothing has an effect", "0 %", "0 %", "0 %", "96 %", "4 %"],
  ]);
  const own = tables(bakery(), {}, [
    claim("X1", [], { chances: { ...chances, isPrinted: false } }),
  ]);
  assertEquals(texts(own.get("chances"))[1]![2], "the claim is exactly right");
});

Deno.test("what can't be true at once comes first", () => {
  const found = findingsTable([{ agrees: true, text: "a" }, { agrees: false, text: "b" }]);
  assertEquals(texts(found).slice(1), [["no", "b"], ["yes", "a"]]);
});

Deno.test("claims of timings say that they are of this machine", () => {
  const comparison = { metric: "seconds", at: { oven: "gas", flavour: "vanilla" } };
  const made = tables(bakery(), {}, [claim("X1", [compared(comparison)])]);
  assertEquals(texts(made.get("claims"))[1]![4], "full data; this machine");
});
