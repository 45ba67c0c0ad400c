/**
 * The certificates of a store: sealed files named by the key they are of.
 *
 * @module
 */
import { dirname, join } from "node:path";
import { type Certificate, isOf, toCertificate } from "./certificate.ts";
import { readSealed, writeSealed } from "./sealed.ts";
import type { Trace } from "./trace.ts";
import { makeFolder, type Workspace } from "./workspace.ts";

/** Where the certificate of a key is kept. */
export function certificatePath({ root }: Pick<Workspace, "root">, key: string): string {
  return join(root, "certificates", key.slice(0, 2), `${key.slice(2)}.json`);
}

/** The certificate of a trace's result; `undefined` if there is none intact, or it is of another. */
export function readCertificate(workspace: Workspace, trace: Trace): Certificate | undefined {
  const certificate = readSealed(certificatePath(workspace, trace.key), {
    parse: toCertificate,
    onDamage: (path, message) => workspace.setAside(path, message),
  });
  return certificate && isOf(certificate, trace) ? certificate : undefined;
}

/** Writes a certificate in the place of the one that its key had. */
export function writeCertificate(workspace: Workspace, certificate: Certificate): void {
  const path = certificatePath(workspace, certificate.key);
  makeFolder(workspace, dirname(path));
  writeSealed(path, certificate);
}
