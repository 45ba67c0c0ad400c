import { assertEquals, assertStringIncludes } from "@std/assert";
import { blocksOf, type KnownNames, textViolations } from "../../../analysis/page/markdown.ts";

const KNOWN = { table: ["rise", "time"], figure: ["risen"] };

/** `LINE: MESSAGE` of everything that is wrong. */
function wrong(text: string, known: KnownNames = KNOWN): string[] {
  return textViolations(text, known).map(({ path, message }) => `${path.join()}: ${message}`);
}

Deno.test("holes, headings and prose come in the order in which they are written", () => {
  const text = "One *two*.\n\n{{claims}}\n\n## Rise & fall\n\n{{table rise}}\n{{figure risen}}\n";
  assertEquals(wrong(text), []);
  assertEquals(
    blocksOf(text).map((block) =>
      block.kind === "hole"
        ? Object.values(block.hole).join(" ")
        : block.kind === "heading"
        ? `${block.level} ${block.text} ${block.html.html}`
        : block.html.html.trim()
    ),
    [
      "<p>One <em>two</em>.</p>",
      "claims",
      "2 Rise & fall Rise &amp; fall",
      "table rise",
      "figure risen",
    ],
  );
});

Deno.test("a hole that names nothing is refused at its line, with the nearest name", () => {
  assertEquals(wrong("One.\n\n{{table rice}}\n\n{{figure risen}}\n{{figure raisin}}\n"), [
    '3: no table is called "rice"; did you mean "rise"?',
    '6: no figure is called "raisin"; did you mean "risen"?',
  ]);
  const [message] = wrong("{{tabel rise}}");
  assertStringIncludes(message!, "{{table NAME}} or {{figure NAME}}, found {{tabel rise}}");
  assertEquals(wrong("{{table}}").length, 1);
  assertEquals(wrong("{{claims now}}").length, 1);
  // What nobody says is not known, and not refused.
  assertEquals(wrong("{{table rice}}", { table: undefined, figure: [] }), []);
});

Deno.test("a hole within other text, or for the second time, is refused", () => {
  assertEquals(wrong("One\nsees {{table rise}} here.\n"), [
    '2: "{{…}}" must be on a line of its own, in no other text',
  ]);
  assertEquals(wrong("{{table rise}}\n\n{{table rise}}\n"), [
    "3: {{table rise}} must be in the text once, found it again",
  ]);
  assertEquals(wrong("Written `{{table rice}}`, it is code.\n\n    {{table rice}}\n"), []);
});

Deno.test("raw HTML, images and links that run something are refused at their lines", () => {
  const hostile: readonly [string, string][] = [
    ["One\n\n<script>alert(1)</script>\n", "3: must be Markdown without HTML"],
    ["One\ntwo <b onclick=x>three</b>\n", "2: must be Markdown without HTML"],
    ["- item\n- <img src=x onerror=y>\n", "2: must be Markdown without HTML"],
    ["<!-- a comment -->\n", "1: must be Markdown without HTML"],
    ["![alt](https://example.org/x.png)\n", "1: must hold no images but {{figure NAME}}"],
    ["[x](javascript:alert(1))\n", "1: a link must lead to http, https, # or a relative path"],
    ["[x](JaVaScRiPt&#58;alert(1))\n", "1: a link must lead to http"],
    ["[x](data:text/html,y)\n", "1: a link must lead to http"],
    ["[x](//example.org)\n", "1: a link must lead to http"],
    ["[x](file:///etc/passwd)\n", "1: a link must lead to http"],
    ["<vbscript:x>\n", "1: a link must lead to http"],
    ["[x][y]\n\n[y]: javascript:z\n", "1: a link must lead to http"],
  ];
  for (const [text, message] of hostile) {
    const found = wrong(text);
    assertStringIncludes(found[0] ?? "nothing", message, text);
  }
  assertEquals(
    wrong("[a](https://a.org/b:c) [b](#rise) [c](../x.md) [d](a/b:c) <http://a.org>"),
    [],
  );
});

Deno.test("headings begin below the page's title and leave no level out", () => {
  assertEquals(wrong("# Title\n"), [
    "1: must be a heading of level 2: the first level is the page's title",
  ]);
  assertEquals(wrong("## A\n\n#### B\n"), ["3: must be a heading of level 3: a level is left out"]);
  assertEquals(wrong("- ## A\n"), ["1: a heading must be in no list and no quotation"]);
  assertEquals(wrong("## A\n\n### B\n\n## C\n"), []);
});
