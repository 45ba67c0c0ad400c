import { assert, assertEquals } from "@std/assert";
import { parse } from "@std/yaml";
import { plan, previews } from "../../rig/planned.ts";

/** Claims that are decided nine times in ten if the paper is exactly right, by a plan's own simulation. */
async function decided(name: string, profile: string): Promise<string[]> {
  const said = await previews(name, profile);
  return said.flatMap((each) => "rows" in each ? each.rows : [])
    .filter(([, , truth]) => truth === "the paper is exactly right")
    // Of 2,000 simulated experiments, a share of 0.9 is known to a percent or two.
    .filter((row) => parseInt(row[6]!) <= 11 && parseInt(row[7]!) === 0)
    .map(([id]) => id!);
}

Deno.test("the profiles with many seeds decide what they say that they decide, and the papers' seeds nothing", async () => {
  assertEquals(await decided("fusion", "decisive"), ["A1", "A2", "A3", "A4", "A8"]);
  assertEquals(await decided("intensity", "decisive"), ["B1", "B2", "B4", "B6"]);
  assertEquals(await decided("fusion", "paper"), []);
  assertEquals(await decided("intensity", "paper"), []);
});

Deno.test("every profile of every paper names what there is, so that it can be planned", async () => {
  for (const name of ["fusion", "intensity", "averaging"]) {
    const file = new URL(`../../../experiments/${name}/experiment.yaml`, import.meta.url);
    const { profiles } = parse(Deno.readTextFileSync(file)) as { profiles: object };
    assert(Object.keys(profiles).length > 1);
    for (const profile of Object.keys(profiles)) await plan(name, profile);
  }
});
