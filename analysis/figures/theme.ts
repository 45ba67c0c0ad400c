/**
 * The look all charts share: colours distinct to colour-blind readers and in grey print, one
 * typeface, no ornament.
 *
 * @module
 */
import type { Frame } from "./frame.ts";

/**
 * Okabe & Ito's palette without black, which is left to text. Orange and sky blue are darkened: every
 * colour has a contrast of 3 or more on a white page and on a dark one.
 */
export const COLOURS = [
  "#0072B2",
  "#D55E00",
  "#009E73",
  "#CC79A7",
  "#B97A00",
  "#2C94CE",
  "#8C6BB1",
  "#6B6B6B",
] as const;
/** Colour is never the only sign: each series has its own shape or dash as well. */
const SHAPES = [
  "circle",
  "square",
  "triangle-up",
  "diamond",
  "cross",
  "triangle-down",
  "triangle-right",
  "triangle-left",
] as const;
const DASHES = [
  [1, 0],
  [6, 3],
  [2, 2],
  [8, 3, 2, 3],
  [4, 2],
  [1, 3],
  [10, 4],
  [3, 1],
] as const;

/** Pixels that a figure may take of a page of 1280. */
export const PAGE = 1180;

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
  mark: { color: COLOURS[0] },
  range: { category: COLOURS, symbol: SHAPES },
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

/**
 * Width of a text in pixels, a little more than in the shipped font. Vega would ask a canvas for
 * the machine's fonts, or without one reserve half as much again.
 */
export function textWidth(text: string, fontSize: number): number {
  let em = 0;
  for (const mark of text) {
    em += /[ijl.,:;'|()[\]! ]/.test(mark)
      ? 0.31
      : /[mwMW%@±]/.test(mark)
      ? 0.86
      : /[A-Z]/.test(mark)
      ? 0.62
      : 0.53;
  }
  return em * fontSize;
}

/** A figure's title, and below it how to read the figure, in lines that fit. */
export function titleOf(
  { title, subtitle }: { readonly title: string; readonly subtitle: string },
  width: number,
): Record<string, unknown> {
  const room = Math.max(320, width);
  return {
    text: wrapText(title, room / 8.5),
    frame: "bounds",
    subtitle: wrapText(subtitle, room / 6),
  };
}

/** A panel's title in lines that fit; `lines` of them at least, so that panels of a row are level. */
export function panelTitle(text: string, width: number, lines = 1): Record<string, unknown> {
  const own = panelLines(text, width);
  const blank = Array.from({ length: Math.max(0, lines - own.length) }, () => " ");
  return { text: [...own, ...blank], fontSize: 13, offset: 4, frame: "bounds" };
}

/** The lines of a panel's title. */
export function panelLines(text: string, width: number): string[] {
  return wrapText(text, width / 7);
}

/** A layer of a chart; none of nothing. */
export function layer(values: readonly unknown[], mark: object, encoding: object): object[] {
  return values.length === 0 ? [] : [{ data: { values }, mark, encoding }];
}

/** A figure of nothing, which says so. */
export function emptyChart(frame: Omit<Frame, "description">, width: number): Chart {
  const text = "Nothing was measured that this figure would show";
  return {
    ...frame,
    description: `${text}.`,
    spec: {
      title: titleOf({ title: frame.title, subtitle: "" }, width),
      width,
      height: 60,
      data: { values: [{}] },
      mark: { type: "text", text, fontSize: 13, color: FAINT },
    },
  };
}

/** A whole chart: its Vega-Lite specification and what it says in words. */
export interface Chart extends Frame {
  readonly spec: Readonly<Record<string, unknown>>;
}
