import { assert, assertEquals } from "@std/assert";
import { dirname, join, normalize, relative } from "node:path";
import { fileURLToPath } from "node:url";
import MarkdownIt from "markdown-it";
import { parse } from "yaml";
import { COMMAND_NAMES } from "../pipeline/cli/commands.ts";
import { parseOptions } from "../pipeline/cli/options.ts";
import { entriesBelow, lookAt } from "../pipeline/files.ts";

const ROOT = fileURLToPath(new URL("../", import.meta.url));
const PAGES = [
  ...["README.md", "CONTRIBUTING.md", "CHANGELOG.md"],
  ...[...entriesBelow(join(ROOT, "docs"))].map(({ path }) => relative(ROOT, path))
    .filter((path) => path.endsWith(".md")),
];
const WORKFLOW = "docs/ci/reproduce.yml";

const read = (path: string) => Deno.readTextFileSync(join(ROOT, path));
/** The blocks and spans of a page, on one level. */
const tokensOf = (path: string) =>
  new MarkdownIt({ html: true }).parse(read(path), {}).flatMap((token) => [
    token,
    ...token.children ?? [],
  ]);

/** What a page links to or shows, as it is written. */
function linksOf(path: string): string[] {
  return tokensOf(path).flatMap((token) => {
    const address = token.attrGet("href") ?? token.attrGet("src");
    const tags = token.type.startsWith("html") ? token.content : "";
    const inTags = [...tags.matchAll(/\b(?:href|src)="([^"]*)"/g)].map(([, found]) => found!);
    return [...address === null ? [] : [String(address)], ...inTags];
  });
}

/** The anchors of a page's headings, as GitHub makes them. */
function anchorsOf(path: string): Set<string> {
  const tokens = tokensOf(path), anchors = new Set<string>();
  tokens.forEach(({ type, tag }, index) => {
    if (type !== "inline" || tokens[index - 1]?.type !== "heading_open" || tag !== "") return;
    const text = tokens[index]!.children!.map(({ content }) => content).join("");
    const plain = text.toLowerCase().replace(/[^\p{L}\p{N}\p{M}\p{Pc} -]/gu, "").replaceAll(
      " ",
      "-",
    );
    for (let count = 0;; count++) {
      const anchor = count === 0 ? plain : `${plain}-${count}`;
      if (anchors.has(anchor)) continue;
      anchors.add(anchor);
      return;
    }
  });
  return anchors;
}

Deno.test("every link of the docs leads to a file, and to a heading where it names one", () => {
  const broken: string[] = [];
  let count = 0;
  for (const page of PAGES) {
    for (const link of linksOf(page)) {
      if (/^[a-z]+:/.test(link)) continue;
      count++;
      const [path = "", anchor] = link.split("#");
      const target = path === "" ? page : normalize(join(dirname(page), path));
      const isThere = lookAt(join(ROOT, target)) !== undefined;
      if (!isThere || anchor !== undefined && !anchorsOf(target).has(anchor)) {
        broken.push(`${page}: ${link}`);
      }
    }
  }
  assertEquals(broken, []);
  assert(count > 50, `${count} links`);
});

Deno.test("the README leads to every page of the docs", () => {
  const linked = new Set(linksOf("README.md").map((link) => link.split("#")[0]));
  assertEquals(PAGES.filter((page) => page !== "README.md" && !linked.has(page)), []);
});

/** `deno task …` in a text, each as the words that a shell makes of it. */
function tasksIn(text: string): string[][] {
  const lines = text.replaceAll("\\\n", " ").split("\n");
  return lines.flatMap((line) => {
    const [, quote, found] = /(["'])?\bdeno(?:@[\d.]+)? task (?:--quiet )?([a-z].*)/i.exec(line) ??
      [];
    // One that another command is given, in quotes, ends with them.
    const rest = quote === undefined ? found : found?.split(quote)[0];
    const words = rest?.split(/\s(?:\d?>|[|#;])/)[0]?.trim().match(/'[^']*'|"[^"]*"|\S+/g) ?? [];
    return words.length > 0 ? [words.map((word) => word.replace(/^(['"])(.*)\1$/, "$2"))] : [];
  });
}

Deno.test("every command in the docs exists and has the options that it is shown with", () => {
  const { tasks } = JSON.parse(read("deno.json"));
  const shown = [
    ...PAGES.filter((page) => page !== "CHANGELOG.md").flatMap((page) =>
      tokensOf(page).flatMap(({ type, info, content }) =>
        type === "fence" && info === "sh" || type === "code_inline"
          ? tasksIn(content).map((words) => [page, words] as const)
          : []
      )
    ),
    ...Object.values<Step>(parse(read(WORKFLOW)).jobs.reproduce.steps).flatMap(({ run = "" }) =>
      tasksIn(run).map((words) => [WORKFLOW, words] as const)
    ),
  ];
  assert(shown.length > 50, `${shown.length} commands`);
  for (const [page, words] of shown) {
    const [name = ""] = words;
    // `NAME` stands for any; a task's description in deno.json says what it is.
    if (name === "NAME") continue;
    assert(Object.hasOwn(tasks, name), `${page}: deno task ${name}`);
    if (!COMMAND_NAMES.some((command) => command === name)) continue;
    try {
      parseOptions(words.map((word) => word === "URL" ? "https://example.org" : word));
    } catch (error) {
      throw new Error(`${page}: deno task ${words.join(" ")}`, { cause: error });
    }
  }
});

interface Step {
  readonly run?: string;
}
