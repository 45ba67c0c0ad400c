import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { trainLanguage } from "../../stages/train_language.ts";
import { samplesFolder } from "../data/samples.ts";
import { artifact, measuredRows, runStage } from "../rig/run_stage.ts";
import { comparisons, outcome, table } from "./bands.ts";
import { type ClassifierRun, type LanguageRun, LEARNING, readPair } from "./curves.ts";
import { figures } from "./draw.ts";
import { sha256, tokensOf } from "./strict_case.ts";
import { temporaryFolder } from "../rig/temporary.ts";

const language = readPair<LanguageRun>("tinyshakespeare");
const classifier = readPair<ClassifierRun>("ag_news");
const all = comparisons(language, classifier);

for (const each of all) {
  Deno.test(`${each.text}, ${each.figure}: Lockstep's mean is within the band of PyTorch's`, () => {
    assertEquals(each.ours.length, 3);
    assertEquals(each.pytorch.length, 3);
    const { difference, within } = outcome(each);
    assert(within, `differs by ${difference} ${each.unit}, the band is ${each.band}`);
  });
}

Deno.test("the outcome of known numbers is known", () => {
  const example = { text: "t", figure: "f", unit: "nats", band: 1 } as const;
  const found = outcome({ ...example, ours: [1, 2, 3], pytorch: [4, 4, 7] });
  assertEquals(found, {
    ours: 2,
    pytorch: 5,
    difference: -3,
    standardError: Math.sqrt(1 / 3 + 3 / 3),
    within: false,
  });
});

Deno.test("docs/learning.md states what the curves show, and its figures are theirs", async () => {
  const page = Deno.readTextFileSync(`${LEARNING}../learning.md`).replace(/ +/g, " ");
  for (const row of table(all)) assertStringIncludes(page, `| ${row.join(" | ")} |`);
  for (const [name, svg] of Object.entries(await figures(language, classifier))) {
    assertEquals(Deno.readTextFileSync(LEARNING + name), svg, name);
    assertStringIncludes(page, `(learning/${name})`);
  }
});

const samples = samplesFolder();

Deno.test({
  name: "Lockstep's curve on tinyshakespeare starts today as it started when it was recorded",
  ignore: samples === undefined,
  fn: async () => {
    const { source, train, tokens: digest, runs: [recorded] } = language.ours;
    const directory = temporaryFolder();
    const shares = { train: 0.9, validation: 0.1 };
    const tokens = await tokensOf(
      { source, tokenize: { unit: "character", shares } },
      { directory, mirror: samples },
    );
    assertEquals(sha256(Deno.readFileSync(tokens)), digest);
    const { outputs } = await runStage(trainLanguage, {
      ...train,
      seed: recorded!.seed,
      iterations: 100,
      decay_until: train.iterations,
    }, { directory, inputs: { tokens: artifact(tokens) } });
    const curve = measuredRows(outputs.history!, "curve");
    for (const [i, row] of curve.entries()) {
      const then = recorded!.evaluations[i]!;
      const { iteration, train_loss, validation_loss } = row as unknown as typeof then;
      assertEquals(iteration, then.iteration);
      // Another order of sums moves these by 1e-6; another mask or start by 1e-2.
      assert(Math.abs(train_loss - then.train_loss) < 1e-3, `training loss ${train_loss}`);
      assert(Math.abs(validation_loss - then.validation_loss) < 1e-3, `loss ${validation_loss}`);
    }
    assertEquals(curve.length, 2);
  },
});
