import { assertEquals } from "@std/assert";
import { merge } from "../../../analysis/page/merge.ts";
import { chancesTable } from "../../../analysis/tables/claims.ts";
import { bakery, texts } from "../tables/made_up.ts";

/** An analysis that judges one claim, with some chance to uphold it. */
function analysis(id: string, reproduced: number) {
  const chances = {
    seeds: 5,
    isPrinted: true,
    printed: { reproduced, underpowered: 1 - reproduced },
    none: { underpowered: 1 },
  };
  const shown = { claims: [], findings: [], sensitivity: "", absent: [], missing: [] };
  return {
    results: { ...shown, study: bakery(), tables: [chancesTable([{ id, chances }])] },
    sources: { tables: {} },
    sha256: id,
  };
}

Deno.test("chances of several analyses are one table in the order of claims, which lacks no row that looks like another", () => {
  const merged = merge([analysis("C10", 0.5), analysis("C2", 1), analysis("C2", 1)]);
  assertEquals([...merged.shown.keys()], ["chances"]);
  const rows = texts(merged.shown.get("chances")).slice(1);
  assertEquals(rows.map(([claim, , truth, chance]) => [claim, truth, chance]), [
    ["C2", "the paper is exactly right", "100 %"],
    ["", "nothing has an effect", "0 %"],
    ["C10", "the paper is exactly right", "50 %"],
    ["", "nothing has an effect", "0 %"],
  ]);
});
