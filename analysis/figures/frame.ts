/**
 * The element around every figure, with its title and description for screen readers.
 *
 * @module
 */
import { escapeXml } from "../../pipeline/html.ts";

/** What a figure is called and says. */
export interface Frame {
  /** File stem, also the start of its ids: `delta`. */
  readonly name: string;
  readonly title: string;
  readonly description: string;
}

/** A standalone SVG around `body`, which is SVG already. */
export function framedSvg(
  frame: Frame,
  content: { readonly width: number; readonly height: number; readonly body: string },
): string {
  const { name } = frame;
  const { width, height, body } = content;
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" ` +
    `viewBox="0 0 ${width} ${height}" role="img" ` +
    `aria-labelledby="${name}-title ${name}-desc">` +
    `<title id="${name}-title">${escapeXml(frame.title)}</title>` +
    `<desc id="${name}-desc">${escapeXml(frame.description)}</desc>${body}</svg>\n`;
}
