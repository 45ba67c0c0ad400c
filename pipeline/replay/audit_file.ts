/**
 * The audit file of a run: a tar archive of its lock, traces, code and artifacts, with an index of all
 * of them in front. The same run gives the same bytes.
 *
 * ```text
 * audit.json                     the index, sealed: what run it is, each instance's key, each file's digest
 * blobs/3fa1…                    code, manifests of folders, artifacts, by their SHA-256
 * certificates/9c02….json        what executions past all caches showed of a key, if there were any
 * lock/fusion.smoke.lock         the run's lock
 * traces/9c02….json              what each key produced
 * ```
 *
 * Files come in the order of their names.
 *
 * @module
 */
import { type Sha256, sha256 } from "../key/hash.ts";
import { LockstepError } from "../errors.ts";
import { unseal } from "../store/sealed.ts";
import { isCount, isDigest, isRecord, isRecordOf, isText } from "../store/shape.ts";
import { type Archive, digestOf } from "./archive.ts";
import { readRecord, recordBytes } from "./record.ts";
import { type Entry, type Member, readTar } from "./tar.ts";

export const FORMAT = "lockstep-audit/2";
export const INDEX = "audit.json";

/** What is in an audit file. */
export interface AuditIndex {
  readonly format: typeof FORMAT;
  readonly experiment: string;
  readonly profile: string;
  readonly backend: string;
  /** The `--set` options of the run. */
  readonly set: readonly string[];
  /** The commit that was checked out as the run ended. */
  readonly commit?: string;
  /** Instance to key. */
  readonly instances: Readonly<Record<string, Sha256>>;
  /** Every other file's digest. */
  readonly files: Readonly<Record<string, Sha256>>;
  /** Artifacts of the run that are not in the file, with their sizes in bytes. */
  readonly leftOut: Readonly<Record<string, number>>;
}

/** An audit file that was read: its index holds to its seal, nothing else is checked yet. */
export interface AuditFile {
  readonly index: AuditIndex;
  /** Digest of the index: of all that the file says. */
  readonly root: Sha256;
  readonly files: Files;
}

/** Files by their names; each is read when it is asked for. */
export class Files {
  readonly #entries: ReadonlyMap<string, Entry>;

  constructor(entries: readonly Entry[]) {
    this.#entries = new Map(entries.map((entry) => [entry.name, entry]));
  }

  has(name: string): boolean {
    return this.#entries.has(name);
  }

  get(name: string): Uint8Array<ArrayBuffer> | undefined {
    const content = this.#entries.get(name)?.content;
    return content?.read(0, content.length);
  }

  /** The digest of a file, which is not read into memory whole. */
  digest(name: string): Sha256 | undefined {
    const content = this.#entries.get(name)?.content;
    return content && digestOf(content);
  }

  /** How long a file is, in bytes. */
  bytes(name: string): number | undefined {
    return this.#entries.get(name)?.content.length;
  }

  /** The names, in the archive's order. */
  keys(): Iterable<string> {
    return this.#entries.keys();
  }
}

/** The index as the first file of an archive. */
export function indexMember(index: AuditIndex): Member {
  return { name: INDEX, content: recordBytes(index) };
}

/**
 * Reads an audit file.
 *
 * @throws {LockstepError} If it is no archive with an index as they are written here.
 */
export function readAuditFile(archive: Archive): AuditFile {
  const [first, ...rest] = readTar(archive);
  if (first?.name !== INDEX) {
    throw new LockstepError(
      `Cannot read the audit file: its first file must be ${INDEX}, found ${first?.name ?? "none"}`,
    );
  }
  const content = first.content.read(0, first.content.length);
  const index = readRecord(content, INDEX, (text) => toIndex(unseal(text, INDEX)));
  if (index === undefined) {
    throw new LockstepError(
      `Cannot read the audit file: ${INDEX} must be of format "${FORMAT}", with names and a commit as the engine writes them`,
    );
  }
  return {
    index,
    root: sha256(content),
    files: new Files(rest),
  };
}

/** Names as the engine gives them: a lock is looked for by them, and a terminal shows them. */
const NAME = /^[a-z][a-z0-9_]{0,99}$/;
const BACKEND = /^[a-z0-9+]{1,100}$/;
const COMMIT = /^[0-9a-f]{7,64}(, edited|, not compared with the files)?$/;
const INSTANCE = /^[a-z][a-z0-9_]*(\/[^/*?\s\p{Cc}]+)*$/u;

function toIndex(value: unknown): AuditIndex | undefined {
  if (!isRecord(value)) return undefined;
  const { format, experiment, profile, backend, set, commit, instances, files, leftOut, ...more } =
    value;
  const isIndex = Object.keys(more).length === 0 && format === FORMAT &&
    isNamed(experiment, NAME) && isNamed(profile, NAME) && isNamed(backend, BACKEND) &&
    (commit === undefined || isNamed(commit, COMMIT)) &&
    Array.isArray(set) && set.every(isText) && isRecordOf(instances, isDigest) &&
    Object.keys(instances).every((name) => isNamed(name, INSTANCE)) &&
    isRecordOf(files, isDigest) && isRecordOf(leftOut, isCount) &&
    Object.keys(leftOut).every(isDigest);
  return isIndex ? value as unknown as AuditIndex : undefined;
}

function isNamed(value: unknown, pattern: RegExp): boolean {
  return typeof value === "string" && pattern.test(value);
}
