/**
 * `bundle [EXPERIMENT[.PROFILE]|TAG]`: the audit file of a run.
 *
 * @module
 */
import { counted, megabytes } from "../amounts.ts";
import { createHash } from "node:crypto";
import { resolve } from "node:path";
import { UsageError } from "../errors.ts";
import { lookAt, pause } from "../files.ts";
import { sha256 } from "../key/hash.ts";
import { bundle as bundleRun, type Bundled, type Source } from "../replay/bundle.ts";
import { readCertificate } from "../store/certificates.ts";
import { latestNames, type LatestRun, readLatest } from "../store/latest.ts";
import type { LocalStore } from "../store/local_store.ts";
import { readNamed, tagNames } from "../store/tags.ts";
import { suggestion } from "../suggestion.ts";
import type { Options } from "./options.ts";
import type { Print, Project } from "./project.ts";
import { openStore, outputsFolder } from "./session.ts";
import { writeWhole } from "./write_whole.ts";

/**
 * Writes the audit file of a run: the latest of its name, or one that a tag keeps.
 *
 * @throws {UsageError} If there is no such run, or something is at its place.
 */
export async function bundle(project: Project, options: Options, print: Print): Promise<void> {
  const store = openStore(project, options, print);
  try {
    const operand = options.operands[0];
    const tagged = store && operand !== undefined ? readNamed(operand, store) : undefined;
    const run = tagged?.record ?? latestRun({ project, options, store });
    const of = `${run.experiment}.${run.profile}`;
    const name = tagged?.tag === undefined ? of : `${of}, tag ${tagged.tag}`;
    const path = resolve(options.to ?? `${tagged?.tag ?? of}.audit.tar`);
    if (!options.overwrite && lookAt(path) !== undefined) {
      throw new UsageError(
        `Cannot bundle ${name} to ${path}: something is there; give another path with --to, or --overwrite`,
      );
    }
    const bundled = await bundleRun(run, sourceIn(store!), { largestBytes: options.largest });
    const { digest, bytes } = await writeWhole(path, (beside) => write(beside, bundled));
    const left = Object.keys(bundled.index.leftOut).length;
    if (options.json) {
      const { leftOutBytes } = bundled;
      print(
        JSON.stringify({
          event: "bundled",
          path,
          sha256: digest,
          bytes,
          leftOut: left,
          leftOutBytes,
        }),
      );
      return;
    }
    print(
      `${name}: ${counted(Object.keys(run.keys).length, "instance")}, ${
        megabytes(bytes)
      }, sha256\n${digest}`,
    );
    if (left > 0) {
      const size = megabytes(bundled.leftOutBytes);
      print(
        `left out ${counted(left, "artifact")} of ${size} in all, each above ${
          megabytes(options.largest)
        }: see --largest`,
      );
    }
    print(`wrote ${path}`);
  } finally {
    store?.close();
  }
}

/** The latest run that the command line names: by its operand, else by `--experiment` and `--profile`. */
export function latestRun(
  { project, options, store }: {
    readonly project: Project;
    readonly options: Options;
    readonly store: LocalStore | undefined;
  },
): LatestRun {
  const operand = options.command === "bundle" ? options.operands[0] : undefined;
  const named = operand ?? options.experiment ?? project.experiment;
  const name = named.includes(".") ? named : `${named}.${options.profile}`;
  const run = store && readLatest(name, store);
  if (run) return run;
  const known = store
    ? [...latestNames(store), ...operand === undefined ? [] : tagNames(store)]
    : [];
  throw new UsageError(
    `Cannot use "${operand ?? name}": it must have run in ${
      outputsFolder(project, options)
    }, and did not` +
      suggestion(operand ?? name, known),
  );
}

/** A store as what an audit file is made of. */
export function sourceIn(store: LocalStore): Source {
  return {
    trace: (key) => store.trace(key),
    certificate: (trace) => readCertificate(store, trace),
    blob(digest) {
      const path = store.blobPath(digest);
      if (lookAt(path)?.kind !== "a file") return undefined;
      const content = Deno.readFileSync(path);
      return sha256(content) === digest ? content : undefined;
    },
  };
}

/** How much is written between two pauses. */
const BYTES_A_TURN = 16 << 20;

/** Writes the file, chunk by chunk: it may be larger than memory. */
async function write(
  path: string,
  bundled: Bundled,
): Promise<{ digest: string; bytes: number }> {
  using file = Deno.openSync(path, { write: true, createNew: true });
  const hash = createHash("sha256");
  let bytes = 0, pauseAt = BYTES_A_TURN;
  for (const chunk of bundled.chunks()) {
    hash.update(chunk);
    bytes += chunk.length;
    if (bytes > pauseAt) {
      await pause();
      pauseAt = bytes + BYTES_A_TURN;
    }
    for (let done = 0; done < chunk.length;) done += file.writeSync(chunk.subarray(done));
  }
  return { digest: hash.digest("hex"), bytes };
}
