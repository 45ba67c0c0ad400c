/**
 * Charts to SVG text and PNG bytes, the same on every machine: no font, canvas or locale of the
 * machine takes part.
 *
 * @module
 */
import { initWasm, Resvg } from "@resvg/resvg-wasm";
import rasteriserBinary from "@resvg/resvg-wasm/index_bg.wasm" with { type: "bytes" };
import * as vega from "vega";
import { compile, type TopLevelSpec } from "vega-lite";
import { FONT_FILES } from "./fonts.ts";
import { framedSvg } from "./frame.ts";
import { type Chart, CONFIG, textWidth } from "./theme.ts";

/** Vega's own text measuring, which it exports without a type. */
const measureText = (vega as unknown as {
  textMetrics: { width: (item: { fontSize?: number }, text: unknown) => number };
}).textMetrics;

/** A figure is drawn from its specification alone: nothing is fetched. */
const NO_LOADER = vega.loader();
NO_LOADER.load = (uri) => {
  throw new Error(`renderSvg: a figure loads nothing, "${uri}" neither`);
};

const SVG_START = /^<svg\b[^>]*>/;

/**
 * Renders a chart to standalone SVG with a title and a description for screen readers.
 * Coordinates are rounded to a hundredth of a pixel.
 */
export async function renderSvg(chart: Chart): Promise<string> {
  // deno-lint-ignore no-explicit-any
  const spec: any = { ...chart.spec, config: CONFIG };
  const compiled = compile(spec as TopLevelSpec, { logger: vega.logger(vega.Error) }).spec;
  measureText.width = (item, text) => textWidth(String(text), item.fontSize ?? 11);
  // Clip paths are numbered by a counter of the whole process.
  vega.resetSVGDefIds();
  const view = new vega.View(vega.parse(compiled), { renderer: "none", loader: NO_LOADER });
  const svg = await view.toSVG();
  view.finalize();
  const start = svg.match(SVG_START)?.[0];
  if (start === undefined) throw new Error("renderSvg: expected an <svg> element first");
  const body = svg.slice(start.length)
    // The whole is one image with a description; parts that announce themselves only distract.
    .replace(/ (?:role="graphics-[a-z]+"|aria-[a-z]+="[^"]*")/g, "")
    // Tags alone: what is written between them are labels, whose digits mean something.
    .replace(/<[^>]*>/g, (tag) => tag.replace(/-?\d+\.\d{3,}(?:e-?\d+)?/g, rounded));
  return framedSvg(chart, { ...sizeOf(start), body: body.replace(/<\/svg>\s*$/, "") });
}

function rounded(number: string): string {
  return String(Number(Number(number).toFixed(2)));
}

/**
 * Rasterises an SVG on a white ground with the shipped font.
 *
 * @param options.scale Pixels per SVG unit.
 */
export async function renderPng(
  svg: string,
  options: { readonly scale: number },
): Promise<Uint8Array> {
  await loadRasteriser();
  const resvg = new Resvg(svg, {
    background: "#ffffff",
    fitTo: { mode: "zoom", value: options.scale },
    font: {
      fontBuffers: [...FONT_FILES],
      defaultFontFamily: "Source Sans 3",
      sansSerifFamily: "Source Sans 3",
    },
  });
  const image = resvg.render();
  const png = image.asPng();
  image.free();
  resvg.free();
  return png;
}

let rasteriser: Promise<void> | undefined;

function loadRasteriser(): Promise<void> {
  rasteriser ??= WebAssembly
    .compile(rasteriserBinary)
    .then((module) => initWasm(module));
  return rasteriser;
}

function sizeOf(svgStart: string): { width: number; height: number } {
  const read = (name: string) =>
    Number(svgStart.match(new RegExp(`\\b${name}="([\\d.]+)"`))?.[1] ?? 0);
  return { width: read("width"), height: read("height") };
}
