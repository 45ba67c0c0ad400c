/**
 * Box-and-arrow diagrams as SVG.
 *
 * @module
 */
import { escapeXml } from "../../pipeline/html.ts";
import type { Diagram } from "../spec/figures.ts";
import { framedSvg } from "./frame.ts";
import { COLOURS, FAINT, FONT, INK, textWidth } from "./theme.ts";

/** One panel: boxes by name, placed by their centres, and arrows between them. */
type Panel = Diagram["panels"][number];
type Box = Panel["boxes"][string];

const BOX_WIDTH = 96;
const BOX_HEIGHT = 34;
const NOTED_HEIGHT = 48;
const MARGIN = 12;
const GAP = 36;
const TOP = 66;

/** All panels of a diagram side by side, as SVG. */
export function diagramFigure(name: string, diagram: Diagram): string {
  const { title, description, legend, panels, height } = diagram;
  const head = `${name}-arrow`;
  let x = MARGIN;
  let body = `<defs><marker id="${head}" viewBox="0 0 10 10" refX="9" refY="5" markerWidth="7" ` +
    `markerHeight="7" orient="auto"><path d="M0,0L10,5L0,10Z" fill="${FAINT}"/></marker></defs>` +
    textSvg(title, { x, y: 24, size: 16, weight: 600, anchor: "start" }) +
    textSvg(legend, { x, y: 44, size: 12, fill: FAINT, anchor: "start" });
  for (const panel of panels) {
    body += `<g transform="translate(${x},${TOP})">${panelSvg(panel, head)}</g>`;
    x += Math.max(panel.width, Math.ceil(textWidth(panel.equation, 13))) + GAP;
  }
  return framedSvg({ name, title, description }, {
    width: Math.ceil(Math.max(x - GAP, textWidth(title, 18), textWidth(legend ?? "", 12)) + MARGIN),
    height: TOP + height,
    body,
  });
}

/** SVG of a panel with its heading at (0, 0); `head` names the arrow head it shares. */
function panelSvg({ heading, equation, boxes, arrows }: Panel, head: string): string {
  // A plan refuses arrows to boxes that are not there.
  const lines = arrows.map(([from, to]) => arrowSvg(boxes[from]!, boxes[to]!, head));
  return textSvg(heading, { x: 0, y: 14, size: 14, weight: 600, anchor: "start" }) +
    textSvg(equation, { x: 0, y: 34, size: 13, fill: FAINT, anchor: "start" }) +
    lines.join("") + Object.values(boxes).map(boxSvg).join("");
}

/** Escaped text at a point; nothing of none. */
function textSvg(
  text: string | undefined,
  options: {
    readonly x: number;
    readonly y: number;
    readonly size: number;
    readonly weight?: number;
    readonly fill?: string;
    readonly anchor?: "start" | "middle";
  },
): string {
  if (text === undefined) return "";
  return `<text x="${options.x}" y="${options.y}" font-family="${FONT}" ` +
    `font-size="${options.size}px" font-weight="${options.weight ?? 400}" ` +
    `text-anchor="${options.anchor ?? "middle"}" fill="${options.fill ?? INK}">${
      escapeXml(text)
    }</text>`;
}

function heightOf(box: Box): number {
  return box.note === undefined ? BOX_HEIGHT : NOTED_HEIGHT;
}

function boxSvg(box: Box): string {
  const width = box.width ?? BOX_WIDTH;
  const height = heightOf(box);
  // Kinds differ in outline, not in colour alone.
  const line = {
    data: `stroke="${INK}" stroke-width="1.2"`,
    learned: `stroke="${COLOURS[0]}" stroke-width="2.4"`,
    step: `stroke="${FAINT}" stroke-width="1.2" stroke-dasharray="4,3"`,
  }[box.kind];
  const corner = box.kind === "data" ? 3 : height / 2;
  return `<rect x="${box.x - width / 2}" y="${box.y - height / 2}" width="${width}" ` +
    `height="${height}" rx="${corner}" fill="none" ${line}/>` +
    textSvg(box.text, { x: box.x, y: box.note === undefined ? box.y + 5 : box.y - 3, size: 14 }) +
    textSvg(box.note, { x: box.x, y: box.y + 14, size: 11.5, fill: FAINT });
}

/** From the bottom of one box to the top of the next, or sideways between boxes of one height. */
function arrowSvg(from: Box, to: Box, id: string): string {
  const level = from.y === to.y;
  const toward = to.x > from.x ? 1 : -1;
  const x1 = level ? from.x + toward * (from.width ?? BOX_WIDTH) / 2 : from.x;
  const y1 = level ? from.y : from.y + heightOf(from) / 2;
  const x2 = level ? to.x - toward * ((to.width ?? BOX_WIDTH) / 2 + 2) : spread(from, to);
  const y2 = level ? to.y : to.y - heightOf(to) / 2 - 2;
  // Down, across where there is room, and down again.
  const middle = y2 - 12;
  const path = level || x1 === x2
    ? `M${x1},${y1}L${x2},${y2}`
    : `M${x1},${y1}L${x1},${middle}L${x2},${middle}L${x2},${y2}`;
  return `<path d="${path}" fill="none" stroke="${FAINT}" stroke-width="1.3" ` +
    `marker-end="url(#${id})"/>`;
}

/** Arrows that come from the sides enter a box left and right of its middle. */
function spread(from: Box, to: Box): number {
  const reach = (to.width ?? BOX_WIDTH) / 2 - 14;
  return to.x + Math.max(-reach, Math.min(reach, from.x - to.x));
}
