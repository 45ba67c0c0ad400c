/**
 * Signatures beside files, and their verification: a file's is `FILE.sig`, an envelope of an in-toto
 * statement that names the file's digest.
 *
 * @module
 */
import { basename } from "node:path";
import { hashFile } from "../key/hash.ts";
import { readText } from "../files.ts";
import { isRecord, isText } from "../store/shape.ts";
import { type Envelope, sign, toEnvelope, verify } from "./envelope.ts";
import type { PublicKey, SigningKey } from "./keys.ts";
import type { Statement } from "./statement.ts";

/** The statement that a file has these bytes, and that the signer says so. */
const FILE_TYPE = "urn:lockstep:file:1";

/** Where the signature of a file is. */
export function signaturePath(path: string): string {
  return `${path}.sig`;
}

/** The text of a file's signature. */
export async function signatureOf(path: string, key: SigningKey): Promise<string> {
  const statement: Statement = {
    _type: "https://in-toto.io/Statement/v1",
    subject: [{ name: basename(path), digest: { sha256: hashFile(path) } }],
    predicateType: FILE_TYPE,
    predicate: {},
  };
  return `${JSON.stringify(await sign(JSON.stringify(statement), key))}\n`;
}

/** Why a file is not signed by a key as it is; `undefined` if it is. */
export async function signatureProblem(path: string, key: PublicKey): Promise<string | undefined> {
  const text = readText(signaturePath(path));
  if (text === undefined) return `it has no signature, ${basename(signaturePath(path))}`;
  const envelope = toEnvelope(text);
  if (!envelope) return `${basename(signaturePath(path))} is no DSSE envelope`;
  const statement = await statementIn(envelope, key);
  if (typeof statement === "string") return statement;
  const digest = hashFile(path);
  if (statement.predicateType !== FILE_TYPE) return "what was signed is no file";
  const [subject, ...others] = statement.subject;
  if (others.length > 0 || subject?.name !== basename(path)) {
    return `the signature is of ${statement.subject.map(({ name }) => name).join(", ")}`;
  }
  return subject.digest.sha256 === digest
    ? undefined
    : `it was signed with SHA-256 ${subject.digest.sha256}, found ${digest}`;
}

/** The envelopes in a text, one a line; `undefined` if it is something else. */
export function envelopesIn(text: string): Envelope[] | undefined {
  const lines = text.split("\n").filter((line) => line !== "");
  const envelopes = lines.flatMap((line) => toEnvelope(line) ?? []);
  return lines.length > 0 && envelopes.length === lines.length ? envelopes : undefined;
}

/** The statement that a key signed, or why there is none. */
export async function statementIn(envelope: Envelope, key: PublicKey): Promise<Statement | string> {
  const text = await verify(envelope, key);
  if (text === undefined) {
    const ids = envelope.signatures.map(({ keyid }) => String(keyid).slice(0, 12)).join(", ");
    return `no signature in it is by the key ${key.id.slice(0, 12)}; it names ${ids || "none"}`;
  }
  return toStatement(text) ?? "what was signed is no in-toto statement";
}

function toStatement(text: string): Statement | undefined {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return undefined;
  }
  if (!isRecord(value) || value["_type"] !== "https://in-toto.io/Statement/v1") return undefined;
  const { subject, predicateType } = value;
  const isStatement = isText(predicateType) && Array.isArray(subject) &&
    subject.every((one) =>
      isRecord(one) && isText(one["name"]) && isRecord(one["digest"]) &&
      isText(one["digest"]["sha256"])
    );
  return isStatement ? value as unknown as Statement : undefined;
}
