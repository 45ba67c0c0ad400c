/**
 * What the pages of both papers have in common: verdicts, the list of every run, and tables that
 * lead to their trace.
 *
 * @module
 */
import { type Html, html } from "../../../pipeline/html.ts";
import { traceLink } from "../sources.ts";
import type { Table } from "../table.ts";
import type { Section } from "./document.ts";
import { tableHtml } from "./parts.ts";

/** A table with the way to the trace of the results it was made from. */
export function shown({ resultsSha256 }: { readonly resultsSha256: string }, table: Table): Html {
  return tableHtml(table, { trace: traceLink(resultsSha256) });
}

/** The verdicts, above everything else. */
export function verdictSection(
  page: { readonly resultsSha256: string },
  { claims, comparisons }: { readonly claims: Table; readonly comparisons: Table },
): Section | null {
  if (claims.rows.length === 0) return null;
  return {
    id: "verdicts",
    title: "What held",
    body: html`
      ${shown(page, claims)} ${comparisons.rows.length === 0 ? null : html`
        <details open>
          <summary>What each verdict rests on</summary>
          ${shown(page, comparisons)}
        </details>
      `}
    `,
  };
}

/** Every run and every pair of runs: links from above lead to their rows. */
export function everySection(
  page: { readonly resultsSha256: string },
  { runs, pairs }: { readonly runs: Table; readonly pairs: Table },
): Section | null {
  if (runs.rows.length === 0) return null;
  return {
    id: "runs",
    title: "Every run, one by one",
    body: html`
      <p>
        A linked number leads to its row's trace: what made it, from what, down to the first bytes.
      </p>
      ${shown(page, runs)} ${pairs.rows.length > 0 ? shown(page, pairs) : null}
    `,
  };
}
