/**
 * `sign FILE --key KEY`: writes `FILE.sig`; with `--check` holds a file against its signature, or each line
 * of what `export --format slsa` signed against the key and the store.
 *
 * @module
 */
import { resolve } from "node:path";
import { ConfigError, UsageError } from "../errors.ts";
import { lookAt, readText, statOf } from "../files.ts";
import { foldersOf } from "../provenance/described_run.ts";
import { type PublicKey, readPublicKey, readSigningKey } from "../provenance/keys.ts";
import {
  envelopesIn,
  signatureOf,
  signaturePath,
  signatureProblem,
  statementIn,
} from "../provenance/signatures.ts";
import { agree, identityOf, type Statement, statementOf } from "../provenance/statement.ts";
import type { LocalStore } from "../store/local_store.ts";
import type { Options } from "./options.ts";
import type { Print, Project } from "./project.ts";
import { openStore } from "./session.ts";
import { writeWholeText } from "./write_whole.ts";

/** Signs a file, or checks it; 0 if that went well. */
export async function sign(project: Project, options: Options, print: Print): Promise<number> {
  const [file = ""] = options.operands;
  const path = resolve(file);
  if (!isFile(path)) {
    throw new ConfigError(`Cannot sign or check ${file}: it must be a file, and is none`);
  }
  if (options.key === undefined) {
    throw new UsageError(
      `Cannot ${
        options.check ? "check" : "sign"
      } ${file}: it needs --key FILE; docs/export.md shows ` +
        "how OpenSSL makes a pair",
    );
  }
  if (options.check) {
    const key = await readPublicKey(resolve(options.key));
    return await check({ project, options, print }, { file, path, key });
  }
  const key = await readSigningKey(resolve(options.key));
  const signature = signaturePath(path);
  await writeWholeText(signature, await signatureOf(path, key));
  const shown = signaturePath(file);
  if (options.json) print(JSON.stringify({ event: "signed", file, signature: shown, key: key.id }));
  else print(`wrote ${shown}, by key ${key.id.slice(0, 12)}`);
  return 0;
}

/** Whether there is a file, also by way of a link: what is signed is what whoever opens it reads. */
function isFile(path: string): boolean {
  return statOf(path) !== undefined && lookAt(Deno.realPathSync(path))?.kind === "a file";
}

interface Context {
  readonly project: Project;
  readonly options: Options;
  readonly print: Print;
}

interface Checked {
  readonly file: string;
  readonly path: string;
  readonly key: PublicKey;
}

async function check(context: Context, { file, path, key }: Checked): Promise<number> {
  const { options, print } = context;
  const envelopes = lookAt(signaturePath(path)) ? undefined : envelopesIn(textOf(path));
  const problems: string[] = [];
  let good = `${file} is as it was signed by key ${key.id.slice(0, 12)}`;
  if (envelopes === undefined) {
    const problem = await signatureProblem(path, key);
    if (problem !== undefined) problems.push(`${file}: ${problem}`);
  } else {
    const store = openStore(context.project, options, print);
    let known = 0;
    try {
      for (const [index, envelope] of envelopes.entries()) {
        const statement = await statementIn(envelope, key);
        const found = typeof statement === "string"
          ? statement
          : await compareWithStore(statement, store);
        if (found === "known") known++;
        else if (found !== undefined) problems.push(`${file}:${index + 1}: ${found}`);
      }
    } finally {
      store?.close();
    }
    good = `${file}: ${envelopes.length} statements are as they were signed by key ` +
      `${key.id.slice(0, 12)}; ${known} are what this store's traces say, the others are not in ` +
      "it; that none was left out, this does not say";
  }
  const holds = problems.length === 0;
  if (options.json) print(JSON.stringify({ event: "checked", file, holds, problems }));
  else print(holds ? good : problems.join("\n"));
  return holds ? 0 : 1;
}

/** A file that is no text has its signature beside it. */
function textOf(path: string): string {
  try {
    return readText(Deno.realPathSync(path)) ?? "";
  } catch {
    return "";
  }
}

/** `known` if a trace of the store says the same; `undefined` if none has its key; else what is wrong. */
async function compareWithStore(
  statement: Statement,
  store: LocalStore | undefined,
): Promise<string | undefined> {
  const identity = identityOf(statement);
  if (!identity) {
    return "it is about no instance, so nothing was checked; a file's signature is beside it, as " +
      "FILE.sig";
  }
  const trace = await store?.trace(identity.key);
  if (!store || !trace) return undefined;
  const again = statementOf(identity.instance, trace, await foldersOf(trace, store));
  return agree(again, statement, trace)
    ? "known"
    : `it is not what the trace of ${identity.key} in this store says`;
}
