/**
 * The report: one page that opens without a network.
 *
 * @module
 */
import { type Html, html, trusted } from "../../pipeline/html.ts";
import { NO_EVIDENCE } from "../claims/judged.ts";
import { axisOf } from "../study.ts";
import { counted, decimal, percent } from "../tables/format.ts";
import { type Figure, figureHtml } from "./figure_html.ts";
import { type About, headerHtml } from "./header.ts";
import { type Block, blocksOf, type Hole } from "./markdown.ts";
import { type Merged, type ShownTable, traceLink } from "./merge.ts";
import { RUN_ID } from "./run_facts.ts";
import { STYLE } from "./style.ts";
import { tableHtml } from "./table_html.ts";

/** What the page is made of. */
export interface PageParts extends About {
  readonly merged: Merged;
  readonly figures: readonly Figure[];
  /** Markdown with holes; without it everything is in a sensible order. */
  readonly text: string | undefined;
}

type Part = "claims" | "sensitivity" | "paper" | "runs";

/** What every report has, in which section, the tables that are part of it, and what is said of none. */
const PARTS: Readonly<
  Record<Part, { readonly title: string; readonly tables: RegExp; readonly none: string }>
> = {
  claims: {
    title: "What held",
    tables: /^(claims|comparisons|chances)(_\d+)?$/,
    none: "No claims are judged here.",
  },
  sensitivity: {
    title: "What hangs on what the paper leaves open",
    tables: /^sensitivity(_\d+)?$/,
    none: "No choice that the paper leaves open was varied here.",
  },
  paper: {
    title: "The paper's own numbers, re-analysed",
    tables: /^(paper_figures|paper_tables|findings)(_\d+)?$/,
    none: "No printed numbers here can be tested or held against each other.",
  },
  runs: { title: "Every run, one by one", tables: /^every_/, none: "No run is listed here." },
};

/** The page as it grows. */
interface Page extends PageParts {
  /** Tables and figures that the text names: no part repeats them. */
  readonly named: ReadonlySet<string>;
  readonly count: { table: number; figure: number };
  /** Ids that are taken. */
  readonly ids: Set<string>;
}

/** A heading, or what is below one; `null` where a hole has nothing to show. */
type Item =
  | { readonly level: number; readonly id: string; readonly title: Html }
  | { readonly hole: boolean; readonly html: Html | null };

/** The whole page as text. */
export function pageHtml(parts: PageParts): string {
  const { merged, figures, text } = parts;
  const given = text === undefined ? [] : blocksOf(text);
  const named = new Set(
    given.flatMap((block) =>
      block.kind === "hole" && "name" in block.hole ? [`${block.hole.part} ${block.hole.name}`] : []
    ),
  );
  const ids = new Set([
    "content",
    RUN_ID,
    ...merged.shown.keys(),
    ...[...merged.shown.values()].flatMap(({ rows }) => rows.flatMap(({ anchor }) => anchor ?? [])),
    ...figures.map(({ name }) => `figure-${name}`),
  ]);
  const page: Page = { ...parts, named, count: { table: 0, figure: 0 }, ids };
  const items = pruned(
    wholeOf(given, page).map((block) => itemOf(block, { page, isAsked: given.includes(block) })),
  );
  const sections = sectionsOf([...items, ...traceItems(page)]);
  return withoutDeadEnds(
    html`
      <!doctype html>
      <html lang="en">
        <head>
          <meta charset="utf-8">
          <meta name="viewport" content="width=device-width, initial-scale=1">
          <title>${parts.title}</title>
          <style>${trusted(STYLE)}</style>
        </head>
        <body>
      <a class="skip" href="#content">Skip to the results</a>
      ${headerHtml(parts, {
        merged,
        sections: sections.flatMap(({ heading }) => heading ?? []),
      })}<main
      id="content" tabindex="-1">
      ${sections.map(({ heading, body }) =>
        heading === null ? html`${body}` : html`<section aria-labelledby="${heading.id}">
<h2 id="${heading.id}">${heading.title}</h2>
${body}</section>`
      )}</main>
      <footer><p>Made by Lockstep from ${merged.analyses.length === 1
        ? "the results"
        : "results"} with SHA-256 ${merged.analyses.map(({ sha256 }) =>
          html`
            <a href="${traceLink(sha256)}"><code>${sha256}</code></a>
          `
        )}. Where there is no trace page, <code>deno task trace</code> followed by a digest prints the
      same.</p></footer>
        </body>
      </html>
    `.html,
  );
}

/** The text's blocks with all that it leaves out: verdicts first, the rest at the end. */
function wholeOf(given: readonly Block[], { merged, figures, named }: Page): Block[] {
  const has = (part: Part) =>
    given.some((block) => block.kind === "hole" && block.hole.part === part);
  const hole = (hole: Hole): Block => ({ kind: "hole", hole });
  const heading = (text: string): Block => ({
    kind: "heading",
    level: 2,
    text,
    html: html`${text}`,
  });
  const isPart = (id: string) => Object.values(PARTS).some(({ tables }) => tables.test(id));
  const tables = [...merged.shown.keys()].filter((id) => !isPart(id) && !named.has(`table ${id}`))
    .map((name) => hole({ part: "table", name }));
  const drawn = figures.filter(({ name }) => !named.has(`figure ${name}`))
    .map(({ name }) => hole({ part: "figure", name }));
  const first = given.findIndex(({ kind }) => kind === "heading");
  const start = first < 0 ? given.length : first;
  const other = given.length > 0 ? "Other " : "";
  const title = (text: string) => other === "" ? text : other + text.toLowerCase();
  return [
    // What the text places before its first heading gets a heading of its own.
    ...given.slice(0, start).flatMap((block) =>
      block.kind === "hole" && block.hole.part in PARTS
        ? [heading(PARTS[block.hole.part as Part].title), block]
        : [block]
    ),
    ...has("claims") ? [] : [heading(PARTS.claims.title), hole({ part: "claims" })],
    ...has("sensitivity") ? [] : [heading(PARTS.sensitivity.title), hole({ part: "sensitivity" })],
    ...given.slice(start),
    ...tables.length > 0 ? [heading(title("Tables")), ...tables] : [],
    ...drawn.length > 0 ? [heading(title("Figures")), ...drawn] : [],
    ...(["paper", "runs"] as const).flatMap((part) =>
      has(part) ? [] : [heading(PARTS[part].title), hole({ part })]
    ),
  ];
}

/** @param options.isAsked Whether the text has it: then a part without anything is not left out. */
function itemOf(
  block: Block,
  { page, isAsked }: { readonly page: Page; readonly isAsked: boolean },
): Item {
  if (block.kind === "prose") return { hole: false, html: block.html };
  if (block.kind === "hole") {
    const { part } = block.hole;
    const none = isAsked && part in PARTS
      ? html`<p class="note">${PARTS[part as Part].none}</p>`
      : null;
    return { hole: true, html: holeHtml(block.hole, page) ?? none };
  }
  return { level: block.level, id: freeId(block.text, page), title: block.html };
}

function freeId(text: string, { ids }: Page): string {
  const slug = text.toLowerCase().replace(/[^\p{L}\p{N}]+/gu, "-").replace(/^-|-$/g, "") ||
    "section";
  let id = slug;
  for (let number = 2; ids.has(id); number++) id = `${slug}-${number}`;
  ids.add(id);
  return id;
}

function holeHtml(hole: Hole, page: Page): Html | null {
  const { merged, figures, count } = page;
  if (hole.part === "figure") {
    const figure = figures.find(({ name }) => name === hole.name);
    return figure === undefined ? null : figureHtml(figure, { number: `Figure ${++count.figure}` });
  }
  if (hole.part === "table") {
    const table = merged.shown.get(hole.name);
    return table === undefined ? null : numbered(table, page);
  }
  const { part } = hole;
  const own = [...merged.shown.values()].filter(({ id }) =>
    PARTS[part].tables.test(id) && !page.named.has(`table ${id}`)
  ).map((table) => numbered(table, page));
  const lead = LEADS[part](merged);
  return own.length === 0 && lead === null ? null : html`${lead}${own}`;
}

function numbered(table: ShownTable, { count }: Page): Html {
  return tableHtml(table, { number: `Table ${++count.table}` });
}

/** What is said before a part's tables. */
const LEADS: Readonly<Record<Part, (merged: Merged) => Html | null>> = {
  claims({ idle, claims, synthetic }) {
    if (idle.length === 0) return null;
    const all = idle.length === claims;
    const why = synthetic.length === 0
      ? null
      : `${synthetic.join(", ")} ran on synthetic data alone: ${NO_EVIDENCE}.`;
    return html`<p>${
      all
        ? "None of the claims was"
        : `${decimal(idle.length)} of ${counted(claims, "claim")} ${
          idle.length === 1 ? "was" : "were"
        } not`
    } covered by what was run: ${idle.join(", ")}. ${why}</p>`;
  },
  sensitivity: ({ analyses }) => {
    const texts = analyses.map(({ results }) => results.sensitivity).filter((text) => text !== "");
    return texts.length === 0 ? null : html`<p>${texts.join(" ")}</p>`;
  },
  paper({ findings }) {
    if (findings.length === 0) return null;
    const unfit = findings.filter(({ agrees }) => !agrees).length;
    return html`<p>Of ${counted(findings.length, "comparison")} of the paper's numbers with each
other, ${decimal(unfit)} ${unfit === 1 ? "does" : "do"} not fit.</p>`;
  },
  runs: ({ shown }) =>
    [...shown.keys()].some((id) => PARTS.runs.tables.test(id))
      ? html`<p>A linked number leads to its row's trace: what made it, from what, down to the first
bytes.</p>`
      : null,
};

const NOTHING = html`
  <p class="note">Nothing of this was run.</p>
`;

type Content = Exclude<Item, { level: number }>;

/** The items without headings that have nothing below them. */
function pruned(items: readonly Item[]): Item[] {
  /** What is below a heading, up to the next that ends it. */
  const below = (start: number, ends: (level: number) => boolean): Content[] => {
    const rest = items.slice(start);
    const end = rest.findIndex((each) => "level" in each && ends(each.level));
    return rest.slice(0, end < 0 ? rest.length : end).filter((each) => "hole" in each);
  };
  let isSaid = false;
  return items.flatMap((item, index): Item[] => {
    if (!("level" in item)) {
      if (item.html !== null || isSaid) return item.html === null ? [] : [item];
      // Text introduces what is not there: then the page says so.
      const start = items.slice(0, index).findLastIndex((each) => "level" in each) + 1;
      const own = below(start, () => true);
      isSaid = own.some(({ hole }) => !hole) &&
        own.every(({ hole, html }) => !hole || html === null);
      return isSaid ? [{ hole: false, html: NOTHING }] : [];
    }
    isSaid = false;
    if (below(index + 1, (level) => level <= item.level).every(({ html }) => html === null)) {
      return [];
    }
    return [item];
  });
}

interface Section {
  readonly heading: { readonly id: string; readonly title: Html } | null;
  readonly body: Html[];
}

function sectionsOf(items: readonly Item[]): Section[] {
  const sections: Section[] = [{ heading: null, body: [] }];
  for (const item of items) {
    if (!("level" in item)) sections.at(-1)!.body.push(item.html!);
    else if (item.level === 2) sections.push({ heading: item, body: [] });
    else {
      const tag = trusted(`h${item.level}`);
      sections.at(-1)!.body.push(html`<${tag} id="${item.id}">${item.title}</${tag}>`);
    }
  }
  return sections.filter(({ heading, body }) => heading !== null || body.length > 0);
}

/** Where the numbers come from. */
function traceItems(page: Page): Item[] {
  const { analyses } = page.merged;
  const ways = analyses.map(({ results: { study } }) =>
    `one ${(axisOf(study, study.seeds)?.title ?? study.seeds).toLowerCase()}`
  );
  const levels = new Set(analyses.map(({ results }) => percent(results.study.confidence)));
  const title = "Where the numbers come from";
  return [{ level: 2, id: freeId(title, page), title: html`${title}` }, {
    hole: false,
    html:
      html`<p>Every number is computed from the runs listed under “${PARTS.runs.title}”; differences
are taken between runs of ${[...new Set(ways)].join(" or ")}. Intervals have ${
        [...levels].join(" or ")
      } coverage if differences are close to normal. Each table's trace names every artifact behind
it.</p>
<p>All tables for programs and papers are in <code>tables/</code>, beside this page; with
<a href="tables/numbers.tex">numbers.tex</a> a manuscript can name each number instead of copying
it.</p>`,
  }];
}

/** The page with the text alone of links to rows that are not on it. */
function withoutDeadEnds(page: string): string {
  const ids = new Set([...page.matchAll(/\sid="([^"]*)"/g)].map(([, id]) => id));
  return page.replace(
    /<a\b[^>]* href="#([^"]*)"[^>]*>(.*?)<\/a>/gs,
    (link, id: string, text: string) => ids.has(id) ? link : text,
  );
}
