/**
 * Display order and display names, which must not depend on the order artifacts arrive in.
 *
 * @module
 */
import { ENCODINGS, FUSIONS } from "../../models/names.ts";
import type { Corpus } from "./inputs.ts";

const PAPER_DATASETS: Readonly<Record<string, string>> = {
  ag_news: "AG News",
  imdb: "IMDB",
  arxiv: "ArXiv",
};
const KINDS = ["official", "sample", "synthetic"];

/** Known fusion operators in the paper's order, then the others by name. */
export function compareOperators(a: string, b: string): number {
  return rank(FUSIONS, a) - rank(FUSIONS, b) || compareText(a, b);
}

/** The paper's four encodings in its order, what enters attention, then the others by name. */
export function compareEncodings(a: string, b: string): number {
  return rank(ENCODINGS, a) - rank(ENCODINGS, b) || compareText(a, b);
}

/** Real data before synthetic, then from short documents to long, then by name. */
export function compareDatasets(
  a: { dataset: string; corpus: Corpus | null },
  b: { dataset: string; corpus: Corpus | null },
): number {
  return (synthetic(a.corpus) - synthetic(b.corpus)) ||
    (meanLength(a.corpus) - meanLength(b.corpus)) ||
    compareText(a.dataset, b.dataset);
}

/** The paper's data sets in its order, then the others by name. */
export function comparePaperDatasets(a: string, b: string): number {
  const order = Object.keys(PAPER_DATASETS);
  return rank(order, a) - rank(order, b) || compareText(a, b);
}

/** By code unit: the same on every machine, whatever its locale. */
export function compareText(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

/** The paper's name of a dataset; others as they are. */
export function paperDataset(dataset: string): string {
  return PAPER_DATASETS[dataset] ?? dataset;
}

/** `gate_scalar` as people read it: `Gate-Scalar`. */
export function operatorTitle(operator: string): string {
  return operator.split("_").map(capitalized).join("-").replace("Cnn", "CNN").replace("Mlp", "MLP");
}

/** `rope_attention` as people read it: `Rope attention`. */
export function encodingTitle(encoding: string): string {
  return capitalized(encoding.replaceAll("_", " ")).replace("Rope", "RoPE");
}

function capitalized(word: string): string {
  return word.slice(0, 1).toUpperCase() + word.slice(1);
}

function rank(order: readonly string[], name: string): number {
  const index = order.indexOf(name);
  return index < 0 ? order.length : index;
}

function synthetic(corpus: Corpus | null): number {
  return corpus === null ? KINDS.length : corpus.source.kind === "synthetic" ? 1 : 0;
}

function meanLength(corpus: Corpus | null): number {
  return corpus?.splits["test"]?.lengths.mean ?? 0;
}
