/**
 * Which artifact each number was read from, so that a page can lead from the one to the other.
 *
 * @module
 */
import { z } from "zod";
import { compareText } from "./order.ts";

/** Schema of the document, the same for all papers. */
export const sourcesSchema = z.object({
  format: z.literal("lockstep-sources/1"),
  artifacts: z.array(z.object({
    /** What it holds: `metrics`, `history`, `statistics`. */
    what: z.string(),
    /** Whose: `short/sinusoidal/add/0`, or a dataset's name. */
    of: z.string(),
    sha256: z.string().regex(/^[0-9a-f]{64}$/),
  })),
});
export type Sources = z.infer<typeof sourcesSchema>;

/** Builds the document; the order in which artifacts arrive leaves it as it is. */
export function sourcesOf(artifacts: Sources["artifacts"]): Sources {
  const name = (each: Sources["artifacts"][number]) => `${each.what}\n${each.of}`;
  return {
    format: "lockstep-sources/1",
    artifacts: artifacts.toSorted((a, b) => compareText(name(a), name(b))),
  };
}

/** Where the trace page has an artifact, relative to a report. */
export function traceLink(sha256: string): string {
  return `../trace/index.html#${sha256}`;
}

/** Finds the link to the trace of what something holds; `undefined` where no artifact is known. */
export type TraceLinks = (what: string, of: readonly (string | number)[]) => string | undefined;

/** The links of a document. */
export function traceLinks({ artifacts }: Sources): TraceLinks {
  const digests = new Map(artifacts.map(({ what, of, sha256 }) => [`${what}\n${of}`, sha256]));
  return (what, of) => {
    const digest = digests.get(`${what}\n${of.join("/")}`);
    return digest === undefined ? undefined : traceLink(digest);
  };
}
