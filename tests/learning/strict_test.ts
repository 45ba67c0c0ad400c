import { assert, assertEquals } from "@std/assert";
import { samplesFolder } from "../data/samples.ts";
import strict from "../reference/learning/strict.json" with { type: "json" };
import { sha256, startOf, type StrictCase, tokensOf, trainedFrom } from "./strict_case.ts";
import { temporaryFolder } from "../rig/temporary.ts";

type Figures = Readonly<Record<string, number>>;
type Reference = StrictCase & {
  readonly digests: { readonly tokens: string; readonly weights: string; readonly batches: string };
  readonly float32: readonly Figures[];
  readonly float64: readonly Figures[];
};

const references = strict.cases as unknown as Reference[];
const samples = samplesFolder();

const differenceOf = (a: Figures, b: Figures) =>
  Math.max(...Object.keys(b).map((name) => Math.abs(a[name]! - b[name]!)));

/** How many evaluations PyTorch's float32 stays within 1e-6 of its float64: beyond is chaos. */
function steady({ float32, float64 }: Reference): number {
  const parted = float64.findIndex((each, i) => differenceOf(float32[i]!, each) > 1e-6);
  return parted < 0 ? float64.length : parted;
}

for (const reference of references) {
  const { name, source, float64 } = reference;
  Deno.test({
    name: `${name}: a training without dropout goes as PyTorch's does`,
    ignore: samples === undefined && !["chain_one", "synthetic_short"].includes(source),
    fn: async () => {
      const directory = temporaryFolder();
      const tokens = await tokensOf(reference, { directory, mirror: samples });
      const start = startOf(reference, tokens);
      // PyTorch trained on these bytes; where one differs, strict.json must be made again.
      const found = {
        tokens: sha256(Deno.readFileSync(tokens)),
        weights: sha256(start.weights),
        batches: sha256(start.batches),
      };
      assertEquals(found, reference.digests);
      const held = steady(reference);
      const own = await trainedFrom(
        reference.stage === "train"
          ? { ...reference, train: { ...reference.train, epochs: held } }
          : reference,
        { directory, tokens, start },
      );
      assertEquals(own.length, held);
      for (const [i, expected] of float64.slice(0, held).entries()) {
        const difference = differenceOf(own[i]!, expected);
        assert(difference < 1e-5, `evaluation ${i} differs by ${difference}`);
      }
    },
  });
}

Deno.test("PyTorch's figures hold long enough to be compared with", () => {
  const held = references.map((each) => [each.name, steady(each), each.float64.length]);
  assertEquals(held, [
    ["chain_one", 11, 11],
    ["short", 4, 8],
    ["tinyshakespeare", 11, 11],
    ["ag_news", 2, 8],
    ["ag_news_small_embedding", 8, 8],
  ]);
});
