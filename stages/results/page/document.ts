/**
 * The document around a report's sections: head, navigation, footer.
 *
 * @module
 */
import { traceLink } from "../sources.ts";
import { type Html, html, trusted } from "../../../pipeline/html.ts";
import { STYLE } from "../../../analysis/page/style.ts";

/** One section of a report. */
export interface Section {
  readonly id: string;
  readonly title: string;
  readonly body: Html;
}

/** What differs between the documents of two reports. */
export interface DocumentParts {
  readonly title: string;
  readonly lead: string;
  /** What to know before comparing; `null` for nothing. */
  readonly notice: Html | null;
  readonly sections: readonly Section[];
  readonly resultsSha256: string;
}

/** A whole self-contained page. */
export function documentHtml(
  { title, lead, notice, sections, resultsSha256 }: DocumentParts,
): string {
  const page = html`
    <!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8">
        <meta name="viewport" content="width=device-width, initial-scale=1">
        <title>${title}: what was reproduced</title>
        <style>${trusted(STYLE)}</style>
      </head>
      <body>
        <a class="skip" href="#content">Skip to the results</a>
        <header>
    <h1>${title}</h1>
    <p class="lead">${lead}</p>
    <p>Numbers are links: a mean leads to its runs, a run to how it was made.
    <a href="${traceLink(resultsSha256)}">Trace of these results</a></p>
    ${notice}
    <nav aria-label="Sections"><ul>
    ${sections.map((section) =>
      html`
        <li><a href="#${section.id}">${section.title}</a></li>
      `
    )}</ul></nav>
        </header>
        <main id="content" tabindex="-1">
    ${sections.map((section) =>
      html`
        <section aria-labelledby="${section.id}">
        <h2 id="${section.id}">${section.title}</h2>
        ${section.body}</section>
      `
    )}</main>
        <footer>
          <p>Made by Lockstep from the results file with SHA-256 <a
            href="${traceLink(
              resultsSha256,
            )}"><code>${resultsSha256}</code></a>. Where there is no trace page,
            <code>deno task trace</code> followed by a digest prints the same.</p>
        </footer>
      </body>
    </html>
  `;
  return page.html;
}
