/**
 * Audit files of temporary projects.
 *
 * @module
 */
import { assertEquals } from "@std/assert";
import type { TestProject } from "./project.ts";

/** What a reader is handed of a run. */
export interface AuditFile {
  readonly file: Uint8Array<ArrayBuffer>;
  readonly lock: string;
}

/** The audit file and the lock of what a project runs. */
export async function auditFileOf(project: TestProject): Promise<AuditFile> {
  await project.executed();
  const { code, stderr } = await project.run(["bundle", "--to", "toy.tar"]);
  assertEquals(code, 0, stderr);
  return {
    file: Deno.readFileSync(project.path("toy.tar")),
    lock: project.read("lock/toy.smoke.lock"),
  };
}
