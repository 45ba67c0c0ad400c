/**
 * The inputs in an audit file, wired otherwise by a hand that makes keys and digests agree. Of two results
 * whose coordinates are permutations of each other each keeps its own.
 *
 * @module
 */
import { assert, assertEquals } from "@std/assert";
import { findingText } from "../../pipeline/replay/finding.ts";
import { inspect } from "../../pipeline/replay/verify.ts";
import { Forger } from "../rig/forge.ts";
import { measured } from "../rig/measuring.ts";

const label = (stage: string, name: string, other: string) =>
  `inputs.results[${stage}.text{"name":"${name}","other":"${other}"}]`;

/** Alterations of inputs, and the words by which they must be found without any lock. */
const WIRINGS: Readonly<
  Record<string, readonly [(forger: Forger) => void, named: RegExp]>
> = {
  "results whose coordinates are permutations of each other": [
    (forger) => swap(forger, "table", label("pair", "ann", "bob"), label("pair", "bob", "ann")),
    /^input +(table|report), input results \[pair\.text\{.*must be made by what its label names/m,
  ],
  "times whose coordinates are permutations of each other": [
    (forger) => swap(forger, "times", label("time", "ann", "bob"), label("time", "bob", "ann")),
    /^input +times, input results \[time\.text\{.*must be made by what its label names/m,
  ],
  "results with other coordinates": [
    (forger) => swap(forger, "table", label("pair", "ann", "ann"), label("pair", "bob", "bob")),
    /^input +table, input results \[pair\.text\{.*must be made by what its label names/m,
  ],
  "a result that is not gathered": [
    (forger) =>
      forger.ingredients("table", (own) => {
        delete own[label("pair", "bob", "cat")];
      }),
    /^input +table, input results \[pair\.text\{"name":"bob","other":"cat"\}\]: must be text of pair\/cat\/bob, which the run has, found nothing$/m,
  ],
  "a result that is gathered twice": [
    (forger) =>
      forger.ingredients("table", (own) => {
        own['inputs.results[pair.text{"other":"ann","name":"ann"}]'] =
          own[label("pair", "ann", "ann")]!;
      }),
    /^input +table, input results \[pair\.text\{"other":"ann","name":"ann"\}\]: must be made by what/m,
  ],
  "one artifact from elsewhere": [
    (forger) => {
      const text = forger.trace("pair/ann/bob").ingredients["inputs.text"]!;
      const other = forger.trace("pair/cat/ann").outputs["text"]!.sha256;
      assert(text !== other);
      forger.ingredients("time/ann/bob", (own) => own["inputs.text"] = other);
    },
    /^input +time\/ann\/bob, input text: must be made where time\/ann\/bob is, on the axes that both have, found text of pair\/cat\/ann$/m,
  ],
  "an input under a name that nothing reads": [
    (forger) =>
      forger.ingredients("times_chart", (own) => {
        own["inputs.page[]x"] = own["inputs.page"]!;
      }),
    /^input +times_chart, inputs\.page\[\]x: must be the name of an input/m,
  ],
  "an input that is no digest": [
    (forger) => forger.ingredients("times_chart", (own) => own["inputs.page"] = "x"),
    /^input +times_chart, inputs\.page: must be a digest, found x$/m,
  ],
};

function swap(forger: Forger, instance: string, one: string, other: string): void {
  forger.ingredients(instance, (own) => {
    assert(own[one] !== undefined && own[other] !== undefined);
    [own[one], own[other]] = [own[other]!, own[one]!];
  });
}

Deno.test("an input is what its label names, in the order of its axes, and all that there is", async (test) => {
  const { file } = await measured();
  assertEquals(inspect(await new Forger(file).file()).findings, []);
  for (const [name, [edit, named]] of Object.entries(WIRINGS)) {
    await test.step(name, async () => {
      const forger = new Forger(file);
      edit(forger);
      const text = inspect(await forger.file()).findings.map(findingText).join("\n");
      assert(named.test(text), text || "nothing was found");
    });
  }
});
