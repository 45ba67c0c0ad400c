import { assert } from "@std/assert";
import { parse } from "@std/yaml";
import { plan } from "../../rig/planned.ts";

Deno.test("every profile of every paper names what there is, so that it can be planned", async () => {
  for (const name of ["fusion", "intensity", "averaging"]) {
    const file = new URL(`../../../experiments/${name}/experiment.yaml`, import.meta.url);
    const { profiles } = parse(Deno.readTextFileSync(file)) as { profiles: object };
    assert(Object.keys(profiles).length > 1);
    for (const profile of Object.keys(profiles)) await plan(name, profile);
  }
});
