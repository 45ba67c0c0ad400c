/**
 * The certificates of a store: sealed files named by the key they are of.
 *
 * @module
 */
import { dirname, join } from "node:path";
import type { Sha256 } from "../key/hash.ts";
import { type Certificate, isOf, toCertificate } from "./certificate.ts";
import { readSealed, SealError, writeSealed } from "./sealed.ts";
import type { Trace } from "./trace.ts";
import { makeFolder, type Workspace } from "./workspace.ts";

/** Where the certificate of a key is kept. */
export function certificatePath({ root }: Pick<Workspace, "root">, key: string): string {
  return join(root, "certificates", key.slice(0, 2), `${key.slice(2)}.json`);
}

/** The certificate that a key has; `undefined` if there is none intact. */
export function certificateOf(workspace: Workspace, key: Sha256): Certificate | undefined {
  const certificate = readSealed(certificatePath(workspace, key), {
    parse: toCertificate,
    onDamage: (path, message) => workspace.setAside(path, message),
  });
  return certificate?.key === key ? certificate : undefined;
}

/** The certificate of a trace's result; `undefined` if there is none intact, or it is of another. */
export function readCertificate(workspace: Workspace, trace: Trace): Certificate | undefined {
  const certificate = certificateOf(workspace, trace.key);
  return certificate && isOf(certificate, trace) ? certificate : undefined;
}

/** Writes a certificate in the place of the one that its key had. */
export function writeCertificate(workspace: Workspace, certificate: Certificate): void {
  const path = certificatePath(workspace, certificate.key);
  makeFolder(workspace, dirname(path));
  writeSealed(path, certificate);
}

/** Where the certificates that go with a lock are: committed, so that other machines have them. */
export function lockedCertificatesName(lock: string): string {
  return lock.replace(/[.]lock$/, ".certificates");
}

/** Whether a path is that of certificates beside a lock. */
export function isCertificatesName(name: string): boolean {
  return name.endsWith(".certificates");
}

/**
 * The certificates that go with a lock, by key; none if there is no such file.
 *
 * @throws {LockstepError} If the file is not as it was written.
 */
export function readLockedCertificates(path: string): ReadonlyMap<Sha256, Certificate> {
  const all = readSealed(path, {
    parse(value) {
      const found = Array.isArray(value) ? value.map(toCertificate) : [undefined];
      return found.includes(undefined) ? undefined : found as Certificate[];
    },
    onDamage(_, message) {
      throw new SealError(`${message}; restore the file, or certify again`);
    },
  });
  return new Map((all ?? []).map((certificate) => [certificate.key, certificate]));
}

/** Writes the certificates that go with a lock; says whether the file changed. */
export function writeLockedCertificates(path: string, all: Iterable<Certificate>): boolean {
  return writeSealed(path, [...all].sort((a, b) => a.instance < b.instance ? -1 : 1));
}
