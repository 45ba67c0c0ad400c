/**
 * Files below a folder for a browser: which of them a URL's path names, and none outside.
 *
 * @module
 */
import { extname, join, relative, sep } from "node:path";
import { type Html, html, htmlPage } from "../../html.ts";

/** What a path names. */
export type Found =
  | { readonly kind: "file"; readonly path: string; readonly bytes: number }
  | { readonly kind: "folder"; readonly path: string; readonly segments: readonly string[] };

/** The folder below `outputs/` of which nothing is shown but {@linkcode BLOB}s. */
const STORE = "store";
/** An artifact, to which the trace page leads, by its path in the store. */
const BLOB = /^blobs[/\\][0-9a-f]{2}[/\\][0-9a-f]{62}$/;

/**
 * What a URL's path names below a folder; `undefined` for nothing, for what is hidden, for the store
 * except for artifacts, and for what a symbolic link leads to outside of the folder.
 */
export function findPath(folder: string, pathname: string): Found | undefined {
  let segments: string[];
  try {
    segments = decodeURIComponent(pathname).split("/").filter((segment) => segment !== "");
  } catch {
    return undefined;
  }
  // Also ".." and, where it separates, "\".
  if (segments.some((segment) => segment.startsWith(".") || /[\\\0]/.test(segment))) {
    return undefined;
  }
  try {
    const path = Deno.realPathSync(join(folder, ...segments));
    if (!isVisible(folder, path)) return undefined;
    const { isFile, isDirectory, size } = Deno.statSync(path);
    if (isFile) return { kind: "file", path, bytes: size };
    return isDirectory ? { kind: "folder", path, segments } : undefined;
  } catch {
    return undefined;
  }
}

/** Whether a real path is in the folder, and not in its store unless it is an artifact. */
function isVisible(folder: string, path: string): boolean {
  const root = Deno.realPathSync(folder);
  if (!isWithin(root, path)) return false;
  try {
    const store = Deno.realPathSync(join(folder, STORE));
    return !isWithin(store, path) || BLOB.test(relative(store, path));
  } catch {
    return true;
  }
}

function isWithin(folder: string, path: string): boolean {
  return path === folder || path.startsWith(folder + sep);
}

const TYPES: Readonly<Record<string, string>> = {
  ".html": "text/html; charset=utf-8",
  ".css": "text/css; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".json": "application/json",
  ".jsonl": "application/jsonl",
  ".csv": "text/csv; charset=utf-8",
  // As plain text browsers show these; under their own types they would save them.
  ".md": "text/plain; charset=utf-8",
  ".tex": "text/plain; charset=utf-8",
  ".txt": "text/plain; charset=utf-8",
  ".yaml": "text/plain; charset=utf-8",
  ".svg": "image/svg+xml",
  ".png": "image/png",
  ".pdf": "application/pdf",
};

/** The content type of a file by its name. */
export function contentType(path: string): string {
  return TYPES[extname(path).toLowerCase()] ?? "application/octet-stream";
}

/** A page that lists a folder. */
export function folderPage(
  folder: string,
  { path, segments }: Extract<Found, { kind: "folder" }>,
): string {
  const entries = [...Deno.readDirSync(path)].map(({ name }) => name).sort()
    .flatMap((name) => {
      const found = findPath(folder, [...segments, name].map(encodeURIComponent).join("/"));
      return found ? [{ name, found }] : [];
    });
  const title = ["outputs", ...segments].join(" / ");
  const body = html`<h1>${title}</h1>
<p>${segments.length > 0 ? html`<a href="../">up</a>` : topLinks(folder)}</p>
<table>
${
    entries.map(({ name, found }) =>
      found.kind === "folder"
        ? html`
          <tr>
            <td><a href="${encodeURIComponent(name)}/">${name}/</a></td>
            <td></td>
          </tr>
        `
        : html`
          <tr>
            <td><a href="${encodeURIComponent(name)}">${name}</a></td>
            <td class="number">${found.bytes.toLocaleString("en")} bytes</td>
          </tr>
        `
    )
  }</table>
${entries.length === 0 ? html`<p>Nothing is here yet.</p>` : html``}`;
  return htmlPage(title, { body });
}

/** Links to the trace page and to the pages that runs published. */
function topLinks(folder: string): Html {
  const pages = [...Deno.readDirSync(folder)].map(({ name }) => name).sort().flatMap((name) => {
    const found = findPath(folder, encodeURIComponent(name));
    if (found?.kind !== "folder") return [];
    return [...Deno.readDirSync(found.path)].map((entry) => `${name}/${entry.name}`)
      .filter((path) => path.endsWith(".html")).sort();
  });
  const links = pages.map((path) =>
    html`
      <a href="/${path.split("/").map(encodeURIComponent).join("/")}">${path}</a> ·
    `
  );
  return html`${links}<a href="/live">runs going on</a>`;
}
