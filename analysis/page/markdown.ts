/**
 * The text of a report: Markdown with holes, `{{table NAME}}`, that tables and figures are put into.
 *
 * @module
 */
import MarkdownIt, { type Token } from "markdown-it";
import type { Violation } from "../../pipeline/stage.ts";
import { suggestion } from "../../pipeline/suggestion.ts";
import { type Html, trusted } from "../../pipeline/html.ts";

/** What a hole asks for. */
export type Hole =
  | { readonly part: "claims" | "sensitivity" | "paper" | "runs" }
  | { readonly part: "table" | "figure"; readonly name: string };

/** A piece of a text, in order. */
export type Block =
  | { readonly kind: "prose"; readonly html: Html }
  | { readonly kind: "heading"; readonly level: number; readonly html: Html; readonly text: string }
  | { readonly kind: "hole"; readonly hole: Hole };

/** Names that holes may have; what is left out is not known, and not checked. */
export interface KnownNames {
  readonly table?: readonly string[] | undefined;
  readonly figure?: readonly string[] | undefined;
}

/** Parts that every report has. */
const PARTS = ["claims", "sensitivity", "paper", "runs"] as const;

const LINE = /^\{\{\s*(.*?)\s*\}\}$/;

/** A text's pieces, as far as nothing is wrong with it. */
export function blocksOf(text: string): Block[] {
  return read(text, {}).blocks;
}

/** What is wrong with a text, at its lines from 1. */
export function textViolations(text: string, known: KnownNames): Violation[] {
  return read(text, known).violations.map(([line, message]) => ({ path: [line], message }));
}

interface Reading {
  readonly known: KnownNames;
  readonly blocks: Block[];
  readonly violations: [line: number, message: string][];
  /** Holes that were there before. */
  readonly seen: Set<string>;
  /** Level of the last heading; the page's title is 1. */
  level: number;
}

function read(text: string, known: KnownNames): Reading {
  const reading: Reading = { known, blocks: [], violations: [], seen: new Set(), level: 1 };
  // Raw HTML is recognized, to be refused; every link is checked here, to be refused with its line.
  const markdown = new MarkdownIt("commonmark");
  markdown.validateLink = () => true;
  const tokens = markdown.parse(text, {});
  for (let start = 0; start < tokens.length;) {
    let end = start + 1;
    for (let depth = tokens[start]!.nesting; depth > 0; end++) depth += tokens[end]!.nesting;
    const own = tokens.slice(start, end);
    start = end;
    refuse(own, reading);
    const html = () => trusted(markdown.renderer.render(own, markdown.options, {}));
    readBlock(own, {
      reading,
      html,
      inner: (token) =>
        trusted(markdown.renderer.renderInline(token.children ?? [], markdown.options, {})),
    });
  }
  return reading;
}

function readBlock(own: readonly Token[], { reading, html, inner }: {
  reading: Reading;
  html: () => Html;
  inner: (token: Token) => Html;
}): void {
  const [first, inline] = own as [Token, Token | undefined];
  const line = lineOf(first);
  if (first.type === "heading_open") {
    const level = Number(first.tag.slice(1));
    if (level === 1 || level > reading.level + 1) {
      const rule = level === 1 ? "the first level is the page's title" : "a level is left out";
      reading.violations.push([line, `must be a heading of level ${reading.level + 1}: ${rule}`]);
    }
    reading.level = level;
    reading.blocks.push({ kind: "heading", level, html: inner(inline!), text: plain(inline!) });
  } else if (first.type === "paragraph_open" && inline!.content.includes("{{")) {
    const lines = inline!.content.split("\n").map((each) => LINE.exec(each.trim())?.[1]);
    if (lines.every((each) => each !== undefined)) {
      lines.forEach((each, index) => readHole(each, line + index, reading));
    } else {
      checkInline(inline!, (child, at) => {
        if (child.type !== "text" || !child.content.includes("{{")) return;
        reading.violations.push([at, `"{{…}}" must be on a line of its own, in no other text`]);
      });
      reading.blocks.push({ kind: "prose", html: html() });
    }
  } else reading.blocks.push({ kind: "prose", html: html() });
}

function readHole(inside: string, line: number, { known, blocks, violations, seen }: Reading) {
  const fail = (message: string) => violations.push([line, message]);
  const [part = "", name, ...rest] = inside.split(/\s+/);
  if (PARTS.some((each) => each === part) && name === undefined) {
    blocks.push({ kind: "hole", hole: { part: part as typeof PARTS[number] } });
  } else if ((part === "table" || part === "figure") && name !== undefined && rest.length === 0) {
    const names = known[part];
    if (names !== undefined && !names.includes(name)) {
      return fail(`no ${part} is called "${name}"${suggestion(name, names)}`);
    }
    blocks.push({ kind: "hole", hole: { part, name } });
  } else {
    const parts = PARTS.map((each) => `{{${each}}}`).join(", ");
    return fail(
      `must be ${parts}, {{table NAME}} or {{figure NAME}}, found {{${inside}}}`,
    );
  }
  const whole = [part, name].join(" ").trim();
  if (seen.has(whole)) fail(`{{${whole}}} must be in the text once, found it again`);
  seen.add(whole);
}

/** Refuses what would reach out of the page, or into its HTML. */
function refuse(tokens: readonly Token[], { violations }: Reading): void {
  for (const token of tokens) {
    if (token.type === "html_block") {
      violations.push([
        lineOf(token),
        `must be Markdown without HTML, found ${quoted(token.content)}`,
      ]);
    }
    if (token.type === "heading_open" && token.level > 0) {
      violations.push([lineOf(token), "a heading must be in no list and no quotation"]);
    }
    if (token.type !== "inline") continue;
    checkInline(token, (child, line) => {
      if (child.type === "html_inline") {
        violations.push([line, `must be Markdown without HTML, found ${quoted(child.content)}`]);
      }
      if (child.type === "image") {
        violations.push([line, "must hold no images but {{figure NAME}}"]);
      }
      const to = child.type === "link_open" ? String(child.attrGet("href") ?? "") : "";
      if (!mayLead(to)) {
        violations.push([
          line,
          `a link must lead to http, https, # or a relative path, found ${quoted(to)}`,
        ]);
      }
    });
  }
}

function mayLead(to: string): boolean {
  if (/^https?:\/\//i.test(to)) return true;
  return !/^[/\\]{2}|^[^/?#]*:/.test(to);
}

/** Calls back for each piece of a paragraph, with its line. */
function checkInline(inline: Token, check: (child: Token, line: number) => void): void {
  let line = lineOf(inline);
  for (const child of inline.children ?? []) {
    if (child.type === "softbreak" || child.type === "hardbreak") line++;
    check(child, line);
  }
}

function lineOf(token: Token): number {
  return (token.map?.[0] ?? 0) + 1;
}

function plain(inline: Token): string {
  return (inline.children ?? []).map(({ content }) => content).join("");
}

function quoted(text: string): string {
  const [line = ""] = text.trim().split("\n");
  return JSON.stringify(line.length > 60 ? `${line.slice(0, 60)}…` : line);
}
