/**
 * The line on which a value of a YAML file is written, for messages. `@std/yaml`, which parses what
 * is used, keeps no positions. The second parser is loaded when there is an error to report.
 *
 * @module
 */
import defer * as yaml from "yaml";
import type { Path } from "./document.ts";

/** Finds the line, from 1, of a path's key or list entry, or of the nearest above it that is there. */
export type Lines = (path: Path) => number | undefined;

/** Reads the lines of a YAML text. */
export function linesOf(text: string): Lines {
  const counter = new yaml.LineCounter();
  let document: yaml.Document.Parsed;
  try {
    document = yaml.parseDocument(text, { lineCounter: counter, uniqueKeys: false });
  } catch (error) {
    // What is nested too deeply has no line.
    if (error instanceof RangeError) return () => undefined;
    throw error;
  }
  return (path) => {
    let offset: number | undefined;
    let node: unknown = document.contents;
    for (const step of path) {
      if (yaml.isAlias(node)) node = node.resolve(document);
      if (yaml.isMap(node)) {
        const pair = node.items.find(({ key }) => yaml.isScalar(key) && String(key.value) === step);
        if (pair === undefined) break;
        offset = (pair.key as yaml.Scalar).range?.[0] ?? offset;
        node = pair.value;
      } else if (yaml.isSeq(node) && yaml.isNode(node.items[Number(step)])) {
        node = node.items[Number(step)];
        offset = (node as yaml.Node).range?.[0] ?? offset;
      } else break;
    }
    return offset === undefined ? undefined : counter.linePos(offset).line;
  };
}
