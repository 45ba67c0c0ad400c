/**
 * HTML as values: text put into a template is escaped, HTML put into one is not.
 *
 * @module
 */
import { escapeXml } from "../escape.ts";

/** A piece of HTML. */
export interface Html {
  readonly html: string;
}

type Part = string | number | Html | readonly Html[] | null;

/** Template tag: ``html`<b>${text}</b>` ``. `null` leaves nothing, an array is joined. */
export function html(strings: TemplateStringsArray, ...parts: readonly Part[]): Html {
  let out = strings[0] ?? "";
  parts.forEach((part, index) => {
    out += htmlOf(part) + (strings[index + 1] ?? "");
  });
  return { html: out };
}

/** Takes a string for HTML as it stands; only for text made here. */
export function trusted(text: string): Html {
  return { html: text };
}

function htmlOf(part: Part): string {
  if (part === null) return "";
  if (typeof part === "string" || typeof part === "number") return escapeXml(String(part));
  if ("html" in part) return part.html;
  return part.map((each) => each.html).join("");
}
