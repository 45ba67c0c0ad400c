/**
 * What stages use of `node:path`, for paths with slashes.
 *
 * @module
 */

/** A path made of parts, without `.`, `..` where they can be resolved, and empty parts. */
export function join(...parts: readonly string[]): string {
  const whole = parts.filter((part) => part !== "").join("/");
  const kept: string[] = [];
  for (const part of whole.split("/")) {
    if (part === ".." && kept.length > 0 && kept.at(-1) !== "..") kept.pop();
    else if (part !== "" && part !== "." && !(part === ".." && whole.startsWith("/"))) {
      kept.push(part);
    }
  }
  if (whole === "") return ".";
  const path = (whole.startsWith("/") ? "/" : "") + kept.join("/") || ".";
  return whole.endsWith("/") && path !== "/" ? `${path}/` : path;
}

/** The folder of a path. */
export function dirname(path: string): string {
  const end = path.replace(/\/+$/, "").lastIndexOf("/");
  if (end < 0) return path.startsWith("/") ? "/" : ".";
  return path.slice(0, end).replace(/\/+$/, "") || "/";
}

/** The last part of a path, without a suffix if it ends with one. */
export function basename(path: string, suffix = ""): string {
  const name = path.replace(/\/+$/, "").split("/").at(-1)!;
  return name !== suffix && name.endsWith(suffix)
    ? name.slice(0, name.length - suffix.length)
    : name;
}

/** From the last dot of a path's last part on; empty if there is none but perhaps at its start. */
export function extname(path: string): string {
  const name = basename(path), dot = name.lastIndexOf(".");
  return dot > 0 && name !== ".." ? name.slice(dot) : "";
}
