/**
 * Edits of the files of an experiment: each value changed, each map reordered, each comment written.
 *
 * @module
 */
import * as yaml from "yaml";

/** An edit of one file. */
export interface FileEdit {
  readonly file: string;
  /** From the top of the file; empty where it is not YAML. */
  readonly path: readonly (string | number)[];
  readonly what: string;
  /** The text after it. */
  readonly text: () => string;
}

/** A kind of edit, with those of a text. */
export interface EditKind {
  readonly kind: string;
  readonly edits: (file: string, text: string) => readonly FileEdit[];
}

type Path = FileEdit["path"];

/** The kinds. */
export const EDIT_KINDS: readonly EditKind[] = [
  { kind: "a value of the configuration", edits: values },
  { kind: "the order of keys in a map", edits: orders },
  { kind: "a comment in the configuration", edits: comments },
];

function values(file: string, text: string): FileEdit[] {
  if (!isYaml(file)) return words(file, text);
  return nodes(text, yaml.isScalar).map(({ path, node }) => {
    const { value } = node as yaml.Scalar;
    return edit(file, path, `${pathText(path)} of ${file}`, text, (found) => {
      (found as yaml.Scalar).value = changed(value);
    });
  });
}

/** A value like another, and not the same. */
function changed(value: unknown): unknown {
  switch (typeof value) {
    case "number":
      return Number.isInteger(value) ? value + 1 : value * 1.25 + 1e-9;
    case "boolean":
      return !value;
    case "string":
      return `${value}x`;
    default:
      return 1;
  }
}

/** Of a text that is no YAML, the numbers, and one word of each line. */
function words(file: string, text: string): FileEdit[] {
  return text.split("\n").flatMap((line, index) => {
    const at = /\d(?!\w)|[a-z](?=[a-z]* )/.exec(line)?.index;
    if (at === undefined) return [];
    const now = /\d/.test(line[at]!) ? String((Number(line[at]) + 1) % 10) : "q";
    const edited = () => {
      const lines = text.split("\n");
      lines[index] = line.slice(0, at) + now + line.slice(at + 1);
      return lines.join("\n");
    };
    return now === line[at]
      ? []
      : [{ file, path: [], what: `line ${index + 1} of ${file}`, text: edited }];
  });
}

function orders(file: string, text: string): FileEdit[] {
  if (!isYaml(file)) return [];
  return nodes(text, isOrderless).map(({ path }) =>
    edit(file, path, `the keys of ${pathText(path) || "the top"} of ${file}`, text, (found) => {
      (found as yaml.YAMLMap).items.reverse();
    })
  );
}

/** Whether a map can be written in another order: an alias must come after what it names. */
function isOrderless(node: unknown): boolean {
  if (!yaml.isMap(node) || node.items.length < 2) return false;
  let isFree = true;
  yaml.visit(node, (_, part) => {
    if (yaml.isAlias(part) || yaml.isNode(part) && part.anchor !== undefined) isFree = false;
  });
  return isFree;
}

function comments(file: string, text: string): FileEdit[] {
  if (!isYaml(file)) return [];
  return nodes(text, yaml.isMap).map(({ path }) =>
    edit(file, path, `above ${pathText(path) || "the top"} of ${file}`, text, (found) => {
      const key = (found as yaml.YAMLMap).items[0]?.key;
      if (yaml.isScalar(key)) key.commentBefore = " Edited.";
    })
  );
}

function isYaml(file: string): boolean {
  return /\.ya?ml$/.test(file);
}

function pathText(path: Path): string {
  return path.join(".");
}

function edit(
  file: string,
  path: Path,
  what: string,
  text: string,
  change: (node: unknown) => void,
): FileEdit {
  return {
    ...{ file, path, what },
    text() {
      const document = yaml.parseDocument(text);
      change(document.getIn(path, true));
      return document.toString({ lineWidth: 0 });
    },
  };
}

/** The nodes of a text that are such, with the paths to them. Aliases are of what they name. */
function nodes(
  text: string,
  isSuch: (node: unknown) => boolean,
): { readonly path: Path; readonly node: unknown }[] {
  const found: { path: Path; node: unknown }[] = [];
  const visit = (node: unknown, path: Path): void => {
    if (isSuch(node)) found.push({ path, node });
    if (yaml.isMap(node)) {
      for (const { key, value } of node.items) {
        if (yaml.isScalar(key)) visit(value, [...path, key.value as string | number]);
      }
    } else if (yaml.isSeq(node)) node.items.forEach((item, index) => visit(item, [...path, index]));
  };
  visit(yaml.parseDocument(text).contents, []);
  return found;
}
