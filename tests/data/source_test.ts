import { assertEquals } from "@std/assert";
import { describeSource, type FileSource, layoutSchema } from "../../data/source.ts";

Deno.test("a description has its fields in one order, whatever order its record has them in", () => {
  const layout = {
    ...{ remove: ["x"], text: [1, 2], first_label: 1, label: 0, header: true, separator: ";" },
    ...{ member: "a", documents: "b" },
  };
  const source = (given: FileSource["layout"]): FileSource => ({
    name: "mine",
    title: "Mine",
    kind: "official",
    note: "",
    format: "csv",
    files: [],
    redirect_hosts: [],
    layout: given,
  });
  const reversed = Object.fromEntries(Object.entries(layout).toReversed());
  const described = describeSource(source(layout)).layout;
  assertEquals(JSON.stringify(describeSource(source(reversed)).layout), JSON.stringify(described));
  // That of the schema, in which records were described before their order was fixed.
  assertEquals(JSON.stringify(described), JSON.stringify(layoutSchema.parse(layout)));
  assertEquals(Object.keys(described), Object.keys(layoutSchema.shape), "no field is left out");
});
