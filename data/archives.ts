/**
 * Public archives of data sets: where they are, and what of a source is theirs.
 *
 * @module
 */
import type { FileSource } from "./source.ts";

/** An archive: where it is, under which variables of the environment that is said otherwise. */
export interface Hub {
  readonly origin: string;
  /** Names the variable that holds another base URL. */
  readonly endpoint: string;
  /** Names the variable that holds a token, where one may be needed. */
  readonly token?: string;
}

/** The archives. */
export const HUBS: Readonly<Record<"hf" | "doi", Hub>> = {
  hf: { origin: "https://huggingface.co", endpoint: "HF_ENDPOINT", token: "HF_TOKEN" },
  doi: { origin: "https://zenodo.org", endpoint: "ZENODO_ENDPOINT" },
};

/** A source whose URLs begin at other places than the archives' own. */
export function atEndpoints(
  source: FileSource,
  endpoints: Readonly<Record<string, string>>,
): FileSource {
  const moved = (url: string) => {
    const hub = Object.values(HUBS).find(({ origin }) => url.startsWith(`${origin}/`));
    const base = hub && endpoints[hub.endpoint];
    return base === undefined ? url : base.replace(/\/+$/, "") + url.slice(hub!.origin.length);
  };
  const files = source.files.map((file) => ({ ...file, urls: file.urls.map(moved) }));
  return { ...source, files };
}

/** The archives that a source's URLs are of. */
export function hubsOf({ files, hf, doi }: FileSource): Hub[] {
  return Object.entries(HUBS).filter(([name, { origin }]) =>
    (name === "hf" ? hf : doi) !== undefined ||
    files.some(({ urls }) => urls.some((url) => url.startsWith(`${origin}/`)))
  ).map(([, hub]) => hub);
}
