/**
 * Figures on a page: inlined, in the page's colours.
 *
 * @module
 */
import { type Html, html, trusted } from "../../pipeline/html.ts";
import { COLOURS, FAINT, INK, RULE } from "../figures/theme.ts";
import { traceLink } from "./merge.ts";

/** A figure as it was drawn. */
export interface Figure {
  /** File stem. */
  readonly name: string;
  readonly svg: string;
  /** Digest of the folder it was drawn into. */
  readonly sha256: string;
}

/**
 * A figure with its number: its ids made unique on the page, its inks and its two most frequent
 * colours handed to the page's theme.
 *
 * @param options.number `Figure 3`.
 * @throws {SyntaxError} If `svg` does not start with an `<svg>` element.
 */
export function figureHtml({ name, svg, sha256 }: Figure, { number }: {
  readonly number: string;
}): Html {
  if (!svg.startsWith("<svg")) throw new SyntaxError(`figureHtml: ${name} must start with <svg`);
  const id = `figure-${name}`;
  const title = svgText(svg, "title") || name;
  const own = svg.trimEnd()
    .replace(/\bid="([^"]*)"/g, `id="${id}-$1"`)
    .replace(/url\(#([^)]*)\)/g, `url(#${id}-$1)`)
    .replace(
      /\baria-labelledby="([^"]*)"/g,
      (_, ids: string) =>
        `aria-labelledby="${ids.split(" ").map((each) => `${id}-${each}`).join(" ")}"`,
    )
    .replaceAll(`"${INK}"`, '"var(--ink)"')
    .replaceAll(`"${FAINT}"`, '"var(--faint)"')
    .replaceAll(`"${RULE}"`, '"var(--rule)"')
    .replaceAll(`"${COLOURS[0]}"`, '"var(--first)"')
    .replaceAll(`"${COLOURS[1]}"`, '"var(--second)"');
  return html`
    <figure id="${id}">
      <div class="scroll" role="region" tabindex="0"
        aria-label="${number}: ${title}">${trusted(own)}</div>
      <figcaption>
        <p
          class="files"><b>${number}</b> <a href="figures/${name}.svg" aria-label="${number} as SVG">SVG</a>
    <a href="figures/${name}.png" aria-label="${number} as PNG">PNG</a>
    <a href="${traceLink(sha256)}" aria-label="Trace of ${number}: ${title}">Trace</a></p>
        <details>
          <summary>${number} in words</summary>
          <p>${svgText(svg, "desc")}</p>
        </details>
      </figcaption>
    </figure>
  `;
}

/** The text of an SVG's own `<title>` or `<desc>`; empty if it has none. */
function svgText(svg: string, element: "title" | "desc"): string {
  const text = svg.match(new RegExp(`<${element}\\b[^>]*>([^<]*)</${element}>`))?.[1] ?? "";
  return text.replaceAll("&lt;", "<").replaceAll("&gt;", ">").replaceAll("&quot;", '"')
    .replaceAll("&#39;", "'").replaceAll("&amp;", "&");
}
