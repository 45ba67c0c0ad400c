import { assertEquals } from "@std/assert";
import { lineOf, refused } from "../../rig/planned.ts";

const WIRED = "{ results: aggregate.results, shown: aggregate.shown, figures: plot.figures }";

Deno.test("an input that takes results of one kind is not wired to another, before anything is trained", async () => {
  const crosswise = WIRED.replace("aggregate.results", "aggregate.shown")
    .replace("shown: aggregate.shown", "shown: aggregate.results");
  assertEquals(
    await refused("averaging", [["experiment.yaml", WIRED, crosswise]]),
    `${
      lineOf("averaging", "experiment.yaml", WIRED)
    }: stages.report.inputs.results: must be wired to results, found ` +
      '"aggregate.shown"; outputs with results: aggregate.results',
  );
  const drawn = "{ results: aggregate.results }";
  assertEquals(
    await refused("averaging", [["experiment.yaml", drawn, "{ results: aggregate.shown }"]]),
    `${
      lineOf("averaging", "experiment.yaml", drawn)
    }: stages.plot.inputs.results: must be wired to results, found ` +
      '"aggregate.shown"; outputs with results: aggregate.results',
  );
});

Deno.test("a report that lacks what is shown of results, or any results, is refused at its stage", async () => {
  const at = `${lineOf("fusion", "experiment.yaml", "report:\n    inputs")}: stages.report: ` +
    "must have results and shown of the same stages, found results of";
  const shown = "      shown: [aggregate.shown, timings.shown],\n";
  assertEquals(
    await refused("fusion", [["experiment.yaml", shown, shown.replace(", timings.shown", "")]]),
    `${at} aggregate, timings and shown of aggregate; wire both of each stage that aggregates`,
  );
  const none = [["experiment.yaml", WIRED, "{ figures: plot.figures }"]] as const;
  assertEquals(
    (await refused("averaging", none)).split(": must")[1],
    " have results and shown of the same stages, found results of none and shown of none; wire " +
      "both of each stage that aggregates",
  );
});

Deno.test("a misspelt column of published.csv is one message, at the header, with the name it is near", async () => {
  const header = "source,page,metric,dataset,depth,word_dropout,value,spread,n,words";
  const misspelt = (from: string, to: string) =>
    refused("averaging", [["published.csv", header, header.replace(from, to)]]);
  const from = lineOf("averaging", "experiment.yaml", "published: $published");
  const at = (name: string, message: string) =>
    `experiments/averaging/published.csv:1: ${name}${message}\n` +
    `  from ${from}: stages.aggregate.params.published: $published`;
  assertEquals(
    await misspelt("source", "sorce"),
    at("source: ", 'must be text, found nothing; "sorce" is near'),
  );
  assertEquals(
    await misspelt("spread", "spred"),
    at("", 'there is no axis or column "spred"; did you mean "spread"?'),
  );
  assertEquals(
    await misspelt("word_dropout", "word_dropuot"),
    at("", 'there is no axis or column "word_dropuot"; did you mean "word_dropout"?'),
  );
  // Two stages are given it.
  const twice = await refused("fusion", [["published.csv", ",spread,", ",spred,"]]);
  assertEquals(twice.split("spred").length, 2, twice);
});

Deno.test("a slip that aliases repeat is one message, at its line", async () => {
  const slip = "&texts { dataset: [tinyshakespear";
  const found = await refused("intensity", [["claims.yaml", slip + "e", slip]]);
  assertEquals(found.split("\n").map((line) => line.split(": ")[0]), [
    lineOf("intensity", "claims.yaml", "&texts"),
    `  from ${lineOf("intensity", "experiment.yaml", "claims: $claims.loss")}`,
  ]);
  // Two slips of one line are two.
  const both = "equals: &news { d_model: 256, heads: 8";
  const two = await refused("fusion", [[
    "analysis.yaml",
    both,
    "equals: &news { d_modle: 256, haeds: 8",
  ]]);
  assertEquals(two.match(/there is no column "\w+"/g), [
    'there is no column "d_modle"',
    'there is no column "haeds"',
  ]);
});

Deno.test("a claim about what is timed together names a value of every axis that is timed", async () => {
  const at = "at: { dataset: arxiv, encoding: sinusoidal }";
  const found = await refused("fusion", [["claims.yaml", at, "at: { dataset: arxiv }"]]);
  const message =
    "at must name a value of every axis of the metric's runs but seed, found none of " +
    "encoding; name it, or average over its values with over";
  assertEquals(found.split(message).length, 3, found);
});
