/**
 * HTML as values: text put into a template is escaped, HTML put into one is not.
 *
 * @module
 */

/** A piece of HTML. */
export interface Html {
  readonly html: string;
}

type Part = string | number | Html | readonly Html[] | null;

/** Template tag: ``html`<b>${text}</b>` ``. A list is joined, `null` leaves nothing. */
export function html(strings: TemplateStringsArray, ...parts: readonly Part[]): Html {
  const text = parts.map((part, index) => htmlOf(part) + strings[index + 1]);
  return { html: strings[0] + text.join("") };
}

/** Takes a string for HTML as it is; only for text made here. */
export function trusted(text: string): Html {
  return { html: text };
}

function htmlOf(part: Part): string {
  if (part === null) return "";
  if (typeof part === "string" || typeof part === "number") return escapeXml(String(part));
  if ("html" in part) return part.html;
  return part.map((each) => each.html).join("");
}

/** Text as it must be written in XML and HTML, in an attribute's quotes too. */
export function escapeXml(text: string): string {
  const entities: Readonly<Record<string, string>> = {
    "&": "&amp;",
    "<": "&lt;",
    ">": "&gt;",
    '"': "&quot;",
    "'": "&#39;",
  };
  return text.replace(/[&<>"']/g, (character) => entities[character]!);
}

/** What all pages share: readable type, narrow tables, the reader's colour scheme. */
const STYLE = `
:root { color-scheme: light dark; --line: #8884; --soft: #8882; --mark: #2f6fb5; }
@media (prefers-color-scheme: dark) { :root { --mark: #7db4ee; } }
html { background: Canvas; color: CanvasText; }
body { font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 64rem; padding: 0 1rem; }
h1 { font-size: 1.4rem; } h2 { font-size: 1.1rem; margin: 2rem 0 .5rem; }
a { color: var(--mark); }
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; }
th, td { text-align: left; padding: .25rem .75rem .25rem 0; border-bottom: 1px solid var(--line);
  vertical-align: top; overflow-wrap: anywhere; }
.number { text-align: right; white-space: nowrap; }
code { background: var(--soft); padding: 0 .25em; overflow-wrap: anywhere; }
progress { accent-color: var(--mark); width: 100%; min-width: 6rem; }
svg { stroke: var(--mark); fill: none; display: block; }
.wide { overflow-x: auto; } .note { opacity: .75; } .failed { color: #c33; font-weight: 600; }
@media print { body { max-width: none; margin: 0; } }
`;

/** A whole page. `head` is put into its head as it is. */
export function htmlPage(
  title: string,
  { body, head = { html: "" } }: { readonly body: Html; readonly head?: Html },
): string {
  return `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escapeXml(title)}</title>
<style>${STYLE}</style>
${head.html}
${body.html}
</html>
`;
}
