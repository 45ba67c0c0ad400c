/**
 * Patterns over names whose parts are parted by slashes, as those of instances are.
 *
 * @module
 */

/**
 * What a pattern matches: `*` any characters within a part, `**` any parts; and everything below what it
 * names, so that `train/short` matches `train/short/wide/0`.
 */
export function expressionOf(pattern: string): RegExp {
  const source = pattern.replace(/\/$/, "").split("/").map((segment) =>
    segment === "**" ? ".*" : segment.split("*").map(escape).join("[^/]*")
  ).join("/").replaceAll(".*/", "(?:.*/)?");
  return new RegExp(`^${source}(?:/.*)?$`);
}

function escape(text: string): string {
  return text.replace(/[.+?^${}()|[\]\\]/g, "\\$&");
}
