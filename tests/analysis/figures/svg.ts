/**
 * Reads drawn figures: their texts, where these are, and the looks of their lines.
 *
 * @module
 */
import { assert, assertEquals } from "@std/assert";
import { textWidth } from "../../../analysis/figures/theme.ts";

/** A text and the box it takes on the whole figure. */
export interface PlacedText {
  readonly text: string;
  readonly box: readonly [left: number, top: number, right: number, bottom: number];
  readonly fill: string;
}

/** Throws unless every tag is closed in order and no mark is left unescaped. */
export function assertWellFormed(svg: string) {
  const open: string[] = [];
  const rest = svg.replace(
    /<(\/?)([A-Za-z]+)((?:\s[\w:-]+="[^"<]*")*)\s*(\/?)>/g,
    (_, end, name, __, empty) => {
      if (end) assertEquals(open.pop(), name);
      else if (!empty) open.push(name);
      return "";
    },
  );
  assertEquals(open, []);
  assert(!/[<>]|&(?!(amp|lt|gt|quot|#39);)/.test(rest), rest.slice(0, 200));
}

/** Every text, with the shifts of all groups around it added up. */
export function textsOf(svg: string): PlacedText[] {
  const shifts: [number, number][] = [];
  const found: PlacedText[] = [];
  for (const match of svg.matchAll(/<(\/?)(\w+)([^>]*?)(\/?)>/g)) {
    const [tag, end, name, attributes, empty] = match;
    if (end) shifts.pop();
    else {
      const read = (key: string) => attributes!.match(new RegExp(`\\b${key}="([^"]*)"`))?.[1];
      const [, x = "0", y = "0"] = read("transform")?.match(/translate\(([-\d.]+),([-\d.]+)\)/) ??
        [];
      if (!empty) shifts.push([Number(x), Number(y)]);
      if (name !== "text") continue;
      const from = match.index + tag.length;
      const lines = svg.slice(from, svg.indexOf("</text>", from)).split("</tspan>")
        .map((line) => unescaped(line.replace(/<[^>]*>/g, "").trim()))
        .filter((line, index) => index === 0 || line !== "");
      if (lines[0] === "" && lines.length === 1) continue;
      const size = Number(read("font-size")?.replace("px", "") ?? 11);
      const sum = (axis: 0 | 1) => shifts.reduce((total, shift) => total + shift[axis], 0);
      const [left, base] = [sum(0) + Number(read("x") ?? 0), sum(1) + Number(read("y") ?? 0)];
      const width = Math.max(...lines.map((line) => textWidth(line, size)));
      const back = { start: 0, middle: width / 2, end: width }[read("text-anchor") ?? "start"] ?? 0;
      const turned = read("transform")?.includes("rotate(-90)") === true;
      found.push({
        text: lines.join(" "),
        fill: read("fill") ?? "",
        box: turned ? [left - size, base - width + back, left, base + back] : [
          left - back,
          base - size * 0.8,
          left - back + width,
          base + size * (lines.length - 0.8),
        ],
      });
    }
  }
  return found;
}

/** Width and height of a figure. */
export function sizeOf(svg: string): [number, number] {
  const [, width, height] = svg.match(/^<svg[^>]*? width="([\d.]+)" height="([\d.]+)"/)!;
  return [Number(width), Number(height)];
}

/** Text between two tags, of the title or the description. */
export function elementText(svg: string, name: "title" | "desc"): string {
  return unescaped(svg.match(new RegExp(`<${name}[^>]*>([^<]*)<`))?.[1] ?? "");
}

/** Contrast of two colours, 1 to 21, by WCAG 2's relative luminance. */
export function contrast(a: string, b: string): number {
  const luminance = (colour: string) => {
    const [red, green, blue] = [1, 3, 5].map((at) => {
      const value = parseInt(colour.slice(at, at + 2), 16) / 255;
      return value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
    });
    return 0.2126 * red! + 0.7152 * green! + 0.0722 * blue!;
  };
  const [low, high] = [luminance(a), luminance(b)].sort((x, y) => x - y);
  return (high! + 0.05) / (low! + 0.05);
}

function unescaped(text: string): string {
  const entities: Readonly<Record<string, string>> = {
    "&lt;": "<",
    "&gt;": ">",
    "&quot;": '"',
    "&#39;": "'",
    "&amp;": "&",
  };
  return text.replace(/&(?:lt|gt|quot|#39|amp);/g, (entity) => entities[entity]!);
}
