/**
 * Figures on their way from the plot stage to a page.
 *
 * @module
 */
import { basename } from "node:path";
import type { Artifact } from "../../../pipeline/stage.ts";
import { compareText } from "../order.ts";
import { traceLink } from "../sources.ts";
import type { Html } from "../../../pipeline/html.ts";
import { figureHtml, svgText } from "./parts.ts";

/** A figure as it was drawn. */
export interface Figure {
  /** File stem. */
  readonly name: string;
  readonly svg: string;
  /** Digest of the folder it was drawn into. */
  readonly sha256: string;
}

/** The figures in the plot stage's artifacts, by name. */
export function figuresOf(artifacts: readonly Artifact[]): Figure[] {
  return artifacts.flatMap(({ files, sha256 }) =>
    [...files].filter(([name]) => name.endsWith(".svg"))
      .map(([name, path]) => ({
        name: basename(name, ".svg"),
        svg: Deno.readTextFileSync(path),
        sha256,
      }))
  ).sort((a, b) => compareText(a.name, b.name));
}

/** A figure on a page. */
export function drawn({ name, svg, sha256 }: Figure): Html {
  return figureHtml(svg, {
    id: `figure-${name}`,
    title: svgText(svg, "title") || name,
    words: svgText(svg, "desc"),
    trace: traceLink(sha256),
  });
}
