/**
 * Stage `download`: brings a source's raw files in, verified, or generates a synthetic corpus.
 *
 * @module
 */
import { join } from "node:path";
import { z } from "zod";
import { hostsOf, type Source, sourceSchema } from "../data/source.ts";
import { defineStage } from "../pipeline/stage.ts";

const params = z.strictObject({
  /** A record of data/sources.yaml, or one of the same form. */
  source: sourceSchema,
  /** What to take, the first that the mirror folder holds, where it does not hold the source. */
  fallbacks: z.array(sourceSchema).default([]),
});

/** Validated params of `download`. */
export type DownloadParams = z.infer<typeof params>;

/**
 * Output `raw` holds the source's files as verified, and `source.json`, which says how to read
 * them. A file is taken from the mirror if it is there, else from its URLs. URLs and mirror paths
 * do not reach the output: a moved file leaves everything after this stage as it was.
 */
export const download = defineStage<DownloadParams>({
  name: "download",
  params,
  inputs: {},
  outputs: { raw: { kind: "folder", exactness: "exact" } },
  checkpoints: true,
  access: ({ source }) =>
    source.format === "generated" ? {} : { hosts: hostsOf(source), mirror: true },
  settle: (params, { mirror }) => ({ source: settleSource(params, mirror), fallbacks: [] }),
});

/**
 * The source, unless a mirror folder lacks some of its files and has all of a fallback's. What was
 * taken is in the artifacts: their `kind` and `note` are the record's.
 */
function settleSource({ source, fallbacks }: DownloadParams, mirror: string | undefined): Source {
  if (mirror === undefined || URL.canParse(mirror)) return source;
  const held = (candidate: Source) =>
    candidate.format === "generated" ||
    candidate.files.every(({ mirror: path }) => path !== undefined && exists(join(mirror, path)));
  return [source, ...fallbacks].find(held) ?? source;
}

function exists(path: string): boolean {
  try {
    return Deno.statSync(path).isFile;
  } catch {
    return false;
  }
}
