/**
 * The fusion operators drawn: the paper's Figures 1 and 2 in our own form.
 *
 * @module
 */
import {
  arrowHead,
  diagramSvg,
  type Panel as Diagram,
  textSvg,
} from "../../../analysis/figures/diagram.ts";
import { framedSvg } from "../../../analysis/figures/frame.ts";
import { FAINT } from "../../../analysis/figures/theme.ts";

const EMBEDDINGS = { text: "E", note: "tokens", kind: "data" } as const;
const ENCODINGS = { text: "P", note: "positions", kind: "data" } as const;
const OUTPUT = { text: "H", note: "to the encoder", kind: "data", width: 116 } as const;

const ADD: Diagram = {
  heading: "Add",
  equation: "H = E + P",
  boxes: {
    e: { x: 60, y: 84, ...EMBEDDINGS },
    p: { x: 180, y: 84, ...ENCODINGS },
    sum: { x: 120, y: 250, text: "+", kind: "step", width: 60 },
    h: { x: 120, y: 408, ...OUTPUT },
  },
  arrows: [["e", "sum"], ["p", "sum"], ["sum", "h"]],
};

const CONCAT: Diagram = {
  heading: "Concat",
  equation: "H = W [E ; P]",
  boxes: {
    e: { x: 60, y: 84, ...EMBEDDINGS },
    p: { x: 180, y: 84, ...ENCODINGS },
    both: { x: 120, y: 180, text: "[E ; P]", kind: "step" },
    w: { x: 120, y: 290, text: "W", note: "2d to d, learned", kind: "learned", width: 130 },
    h: { x: 120, y: 408, ...OUTPUT },
  },
  arrows: [["e", "both"], ["p", "both"], ["both", "w"], ["w", "h"]],
};

const GATE_SCALAR: Diagram = {
  heading: "Gate-Scalar",
  equation: "g = σ(w · [E ; P] + b), one number a position",
  boxes: {
    e: { x: 50, y: 84, ...EMBEDDINGS },
    p: { x: 230, y: 84, ...ENCODINGS },
    both: { x: 140, y: 168, text: "[E ; P]", kind: "step" },
    g: {
      x: 140,
      y: 246,
      text: "σ(w · x + b)",
      note: "2d + 1, learned",
      kind: "learned",
      width: 128,
    },
    mix: { x: 140, y: 330, text: "g E + (1 − g) P", kind: "step", width: 280 },
    h: { x: 140, y: 408, ...OUTPUT },
  },
  arrows: [["e", "both"], ["p", "both"], ["both", "g"], ["g", "mix"], ["e", "mix"], ["p", "mix"], [
    "mix",
    "h",
  ]],
};

const GATE_CNN: Diagram = {
  heading: "Gate-CNN",
  equation: "g = σ(convolution of P), from positions alone",
  boxes: {
    e: { x: 54, y: 84, width: 84, ...EMBEDDINGS },
    p: { x: 246, y: 84, width: 84, ...ENCODINGS },
    conv: {
      x: 150,
      y: 172,
      text: "depth-wise conv.",
      note: "2K + 1 taps, learned",
      kind: "learned",
      width: 144,
    },
    g: { x: 150, y: 252, text: "σ", kind: "step", width: 60 },
    mix: { x: 150, y: 330, text: "g E + (1 − g) P", kind: "step", width: 280 },
    h: { x: 150, y: 408, ...OUTPUT },
  },
  arrows: [["p", "conv"], ["conv", "g"], ["g", "mix"], ["e", "mix"], ["p", "mix"], ["mix", "h"]],
};

const MARGIN = 12;
const GAP = 36;
const TOP = 54;
const PANEL_HEIGHT = 446;
const WIDTHS = new Map([[ADD, 240], [CONCAT, 240], [GATE_SCALAR, 290], [GATE_CNN, 300]]);

/** All fusion operators of the paper side by side, as SVG. */
export function operatorsSvg(options: { readonly title?: string | undefined }): string {
  const name = "operators";
  const title = options.title ?? "How tokens and positions are fused";
  let x = MARGIN;
  let body = arrowHead(`${name}-arrow`) +
    textSvg(title, { x: MARGIN, y: 24, size: 16, weight: 600, anchor: "start" }) +
    textSvg("Thick outline: learned. Dashed: computed. Square: data.", {
      x: MARGIN,
      y: 44,
      size: 12,
      fill: FAINT,
      anchor: "start",
    });
  for (const [diagram, width] of WIDTHS) {
    body += `<g transform="translate(${x},${TOP + 12})">${
      diagramSvg(diagram, `${name}-arrow`)
    }</g>`;
    x += width + GAP;
  }
  return framedSvg({
    name,
    title,
    description: "Add: H is E plus P. Concat: a learned matrix W maps E and P, joined, to H. " +
      "Gate-Scalar: one number g a position, computed from E and P joined, mixes E and P. " +
      "Gate-CNN: a learned convolution over P alone gives g, which mixes E and P.",
  }, { width: x - GAP + MARGIN, height: TOP + 12 + PANEL_HEIGHT, body });
}
