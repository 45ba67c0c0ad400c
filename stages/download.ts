/**
 * Stage `download`: brings a source's raw files in, verified, or generates a synthetic corpus.
 *
 * @module
 */
import { join } from "node:path";
import { z } from "zod";
import { atEndpoints, hubsOf } from "../data/archives.ts";
import { accessOf } from "../data/hub_access.ts";
import { ChoiceError, expandSource, HubError, lookUpSource, type PinMap } from "../data/hub.ts";
import { type FileSource, hostsOf, type Source, sourceSchema } from "../data/source.ts";
import { LockstepError, UnpinnedError, UnsettledError } from "../pipeline/errors.ts";
import { defineStage } from "../pipeline/stage.ts";

const params = z.strictObject({
  /** A record of data/sources.yaml, or one of the same form. */
  source: sourceSchema,
  /** What to take, the first that the mirror folder holds, where it does not hold the source. */
  fallbacks: z.array(sourceSchema).default([]),
  /**
   * Base URLs of archives, by the variable that names one, where they are not their own. A file that names
   * them could send a user's token anywhere.
   */
  endpoints: z.record(z.string(), z.string()).refine((own) => Object.keys(own).length === 0, {
    error: "must be empty: variables of the environment say where an archive is",
  }).default({}),
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
  operational: ["endpoints"],
  access: ({ source, endpoints }) =>
    source.format === "generated" ? {} : {
      hosts: hostsOf(atEndpoints(source, endpoints)),
      mirror: true,
      secrets: hubsOf(source).flatMap(({ token }) => token ?? []),
    },
  settle(params, { mirror, pins }) {
    const source = settleSource(params, mirror, pins);
    return { source, fallbacks: [], endpoints: endpointsOf(source) };
  },
});

/** The base URLs that the environment names, as the archives' own clients take them. They are in no key. */
function endpointsOf(source: Source): Record<string, string> {
  if (source.format === "generated") return {};
  try {
    return Object.fromEntries(
      hubsOf(source).flatMap((hub) => {
        const { endpoint } = accessOf(hub, variable);
        return endpoint ? [[hub.endpoint, endpoint]] : [];
      }),
    );
  } catch (error) {
    throw asExpected(error);
  }
}

const variable = (name: string) => Deno.env.get(name);

/**
 * The source, unless a mirror folder lacks some of its files and has all of a fallback's. What was
 * taken is in the artifacts: their `kind` and `note` are the record's.
 */
function settleSource(
  { source, fallbacks }: DownloadParams,
  mirror: string | undefined,
  pins: PinMap,
): Source {
  const isHere = (candidate: Source) =>
    candidate.format === "generated" ||
    candidate.files.every(({ mirror: path }) => path !== undefined && exists(join(mirror!, path)));
  const looked = mirror === undefined || URL.canParse(mirror) ? [] : [
    expanded(source, pins),
    ...fallbacks.map((each, i) => expanded(each, pins, ["fallbacks", i])),
  ];
  return looked.find((each) => each !== undefined && isHere(each)) ?? expanded(source, pins) ??
    lookUp(source as FileSource, pins);
}

/** A source with its files; `undefined` if they are to be looked up first. `place` is where it is written. */
function expanded(source: Source, pins: PinMap, place: Place = ["source"]): Source | undefined {
  try {
    return source.format === "generated" ? source : expandSource(source, pins);
  } catch (error) {
    throw asExpected(error, place);
  }
}

function lookUp(source: FileSource, pins: PinMap): never {
  const name = source.hf === undefined ? "doi" : "hf";
  throw new UnpinnedError({
    subject: `${name}:${source[name]}`,
    path: ["source", name],
    look: async () => {
      try {
        return await lookUpSource(source, pins, { variable });
      } catch (error) {
        throw asExpected(error);
      }
    },
  });
}

type Place = readonly (string | number)[];

function asExpected(error: unknown, place: Place = ["source"]): unknown {
  if (error instanceof ChoiceError) {
    return new UnsettledError(error.message, [...place, "files"], { cause: error });
  }
  return error instanceof HubError ? new LockstepError(error.message, { cause: error }) : error;
}

function exists(path: string): boolean {
  try {
    return Deno.statSync(path).isFile;
  } catch {
    return false;
  }
}
