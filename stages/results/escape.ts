/**
 * Escaping for XML and HTML.
 *
 * @module
 */

/** Escapes text for XML and HTML, in elements and in quoted attributes. */
export function escapeXml(text: string): string {
  return text.replace(/[&<>"']/g, (mark) => ESCAPES[mark]!);
}

const ESCAPES: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#39;",
};
