/**
 * The look all charts share: colours told apart by colour-blind readers and in grey print, one
 * typeface, no ornament.
 *
 * @module
 */
import type { Frame } from "./frame.ts";

/** Okabe & Ito's palette, strongest contrast on white first; black is left to text. */
export const COLOURS = [
  "#0072B2",
  "#D55E00",
  "#009E73",
  "#CC79A7",
  "#E69F00",
  "#56B4E9",
  "#8C6BB1",
  "#6B6B6B",
] as const;
/** Colour is never the only sign: each series has its own shape or dash as well. */
export const SHAPES = [
  "circle",
  "square",
  "triangle-up",
  "diamond",
  "cross",
  "triangle-down",
  "triangle-right",
  "triangle-left",
] as const;
export const DASHES = [
  [1, 0],
  [6, 3],
  [2, 2],
  [8, 3, 2, 3],
  [4, 2],
  [1, 3],
  [10, 4],
  [3, 1],
] as const;

/** Ink, faint ink and rules; the page swaps these for its own in a dark theme. */
export const INK = "#1b1b1b";
export const FAINT = "#595959";
export const RULE = "#d6d6d6";

/**
 * Typeface of the shipped font, then what a reader's machine may have. A family whose name has a
 * word that starts with a digit must be quoted, or a browser drops the whole list.
 */
export const FONT = "'Source Sans 3', 'Helvetica Neue', Helvetica, Arial, sans-serif";

/** Vega-Lite configuration of every chart. */
export const CONFIG = {
  aria: false,
  background: "transparent",
  font: FONT,
  // Room on the right for typefaces wider than the shipped one.
  padding: { left: 8, top: 8, right: 28, bottom: 8 },
  title: {
    anchor: "start",
    frame: "group",
    color: INK,
    fontSize: 16,
    fontWeight: 600,
    subtitleColor: FAINT,
    subtitleFontSize: 12,
    subtitlePadding: 4,
    offset: 12,
    limit: 0,
  },
  axis: {
    labelColor: INK,
    titleColor: FAINT,
    domainColor: FAINT,
    tickColor: FAINT,
    gridColor: RULE,
    labelFontSize: 12,
    titleFontSize: 12,
    titleFontWeight: 400,
    labelLimit: 0,
    titleLimit: 0,
  },
  legend: {
    labelColor: INK,
    titleColor: FAINT,
    labelFontSize: 12,
    titleFontSize: 12,
    titleFontWeight: 400,
    labelLimit: 0,
    symbolStrokeWidth: 2,
  },
  view: { stroke: null },
} as const;

/** A series' colour, shape and dash by its place among all series. */
export function seriesLook(index: number): {
  colour: string;
  shape: string;
  dash: readonly number[];
} {
  const round = Math.floor(index / COLOURS.length);
  return {
    colour: COLOURS[index % COLOURS.length]!,
    // Shapes and dashes move on by one each time the colours start again, so no pair repeats for 64 series.
    shape: SHAPES[(index + round) % SHAPES.length]!,
    dash: DASHES[(index + round) % DASHES.length]!,
  };
}

/** The vertical axis of a panel with a labelled row for each entry, its labels `extent` pixels wide. */
export function rowAxis(labels: readonly string[], extent: number): Record<string, unknown> {
  return {
    field: "label",
    type: "nominal",
    sort: labels,
    axis: {
      title: null,
      domain: false,
      ticks: false,
      minExtent: extent,
      maxExtent: extent,
      labelPadding: 8,
    },
  };
}

/** Breaks a text into lines of at most `width` characters, at spaces. */
export function wrapText(text: string, width: number): string[] {
  const lines: string[] = [];
  for (const word of text.split(" ")) {
    const last = lines.at(-1);
    if (last !== undefined && last.length + 1 + word.length <= width) {
      lines[lines.length - 1] = `${last} ${word}`;
    } else {
      lines.push(word);
    }
  }
  return lines;
}

/** A whole chart: its Vega-Lite specification and what it says in words. */
export interface Chart extends Frame {
  readonly spec: Readonly<Record<string, unknown>>;
}
