import { assertEquals } from "@std/assert";
import { parse as parseCsv } from "@std/csv";
import { parse } from "@std/yaml";
import { blocksOf, textViolations } from "../analysis/page/markdown.ts";
import { aggregate } from "../stages/aggregate.ts";
import { plot } from "../stages/plot.ts";

const TEXT = Deno.readTextFileSync(new URL("../docs/configuration.md", import.meta.url));
const ANALYSIS = TEXT.slice(TEXT.indexOf("## Analysis"), TEXT.indexOf("## Adding things"));

/** The section's blocks in a language. */
function examples(language: string): string[] {
  return [...ANALYSIS.matchAll(/```(\w+)\n([\s\S]*?)```/g)]
    .flatMap(([, found, block]) => found === language ? [block!] : []);
}

Deno.test("every example of an analysis in docs/configuration.md is valid", () => {
  const keys = examples("yaml").map((block) => {
    const params = parse(block, { schema: "core" }) as Record<string, unknown>;
    (("figures" in params) ? plot : aggregate).params.parse(params);
    return Object.keys(params);
  });
  assertEquals(keys.flat(), [
    ...["axes", "metrics", "claims", "sensitivity", "paper", "tables", "figures"],
  ]);
  for (const block of examples("csv")) {
    const published = parseCsv(block, { skipFirstRow: true });
    aggregate.params.parse({ published });
  }
  for (const block of examples("markdown")) {
    assertEquals(textViolations(block, { table: ["deltas"], figure: ["accuracy"] }), []);
    assertEquals(blocksOf(block).filter(({ kind }) => kind === "hole").length, 3);
  }
});

Deno.test("docs/configuration.md lists every key of an analysis", () => {
  const { properties } = aggregate.params.toJSONSchema({ io: "input" }) as Schema;
  const named = (keys: readonly string[]) =>
    keys.filter((key) => !new RegExp(`\`${key}\``).test(ANALYSIS));
  const claim = properties!["claims"]!.items!.properties!;
  const metric = properties!["metrics"]!.additionalProperties!.properties!;
  assertEquals(named([properties!, claim, metric].flatMap(Object.keys)), []);
});

interface Schema {
  readonly properties?: Record<string, Schema>;
  readonly items?: Schema;
  readonly additionalProperties?: Schema;
}
