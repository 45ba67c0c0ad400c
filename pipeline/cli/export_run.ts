/**
 * `export [RUN] --format crate|slsa|sbom --to PATH`: describes a run in formats that others' tools read.
 *
 * @module
 */
import { counted } from "../amounts.ts";
import { dirname, join, resolve } from "node:path";
import { LockstepError, UsageError } from "../errors.ts";
import { lookAt } from "../files.ts";
import { type Crate, crateOf } from "../provenance/crate.ts";
import { METADATA_FILE } from "../provenance/crate_graph.ts";
import { describeRun } from "../provenance/described_run.ts";
import { sign } from "../provenance/envelope.ts";
import { readSigningKey } from "../provenance/keys.ts";
import { billOfMaterials } from "../provenance/sbom.ts";
import { type Statement, statementsOf } from "../provenance/statement.ts";
import type { LocalStore } from "../store/local_store.ts";
import type { Options } from "./options.ts";
import type { Print, Project } from "./project.ts";
import { openStore } from "./session.ts";
import { putInstead, writeWhole, writeWholeText } from "./write_whole.ts";

/**
 * Describes a run.
 *
 * @throws {UsageError} If there is no such run, or something is in the way.
 */
export async function exportRun(project: Project, options: Options, print: Print): Promise<void> {
  const { format, to, key, operands } = options;
  const name = operands[0] ?? `${options.experiment ?? project.experiment}.${options.profile}`;
  if (to === undefined) throw new UsageError(`Cannot export ${name}: it needs --to PATH`);
  if (key !== undefined && format !== "slsa") {
    throw new UsageError(
      `Cannot sign with --format ${format}: only slsa has signatures in it; sign the file ` +
        '"deno task sign"',
    );
  }
  const target = resolve(to);
  refuseOverwriting(target, { name, options });
  const store = openStore(project, options, print);
  if (!store) {
    throw new LockstepError(
      `Cannot export ${name}: it must be recorded in this store, and nothing was run there yet`,
    );
  }
  try {
    const run = await describeRun(name, store);
    if (format === "crate") {
      const crate = crateOf(run);
      await writeWhole(target, (beside) => writeCrate(crate, beside, store), putInstead);
    } else if (format === "sbom") {
      const bill = billOfMaterials(run, project.root);
      await writeWholeText(target, `${JSON.stringify(bill, null, 1)}\n`);
    } else await writeWholeText(target, await lines(statementsOf(run), key));
    const { tag } = run;
    if (options.json) {
      print(JSON.stringify({ event: "exported", run: run.name, tag, format, path: to }));
    } else {
      const of = tag === undefined ? run.name : `${run.name}, tag ${tag}`;
      print(`wrote ${to}: ${format} of ${of}, ${counted(run.instances.length, "instance")}`);
    }
  } finally {
    store.close();
  }
}

function refuseOverwriting(
  target: string,
  { name, options }: { readonly name: string; readonly options: Options },
): void {
  const found = lookAt(target);
  if (!found) return;
  const fits = options.format === "crate"
    ? lookAt(join(target, METADATA_FILE)) !== undefined
    : found.kind === "a file";
  if (options.overwrite && fits) return;
  throw new UsageError(
    `Cannot export ${name} to ${target}: something is there; give another path` +
      (fits ? " or --overwrite" : ""),
  );
}

/** A statement a line, each in an envelope where they are signed. */
async function lines(statements: readonly Statement[], key: string | undefined): Promise<string> {
  const signing = key === undefined ? undefined : await readSigningKey(resolve(key));
  const written: string[] = [];
  for (const statement of statements) {
    const text = JSON.stringify(statement);
    written.push(signing ? JSON.stringify(await sign(text, signing)) : text);
  }
  return written.map((line) => `${line}\n`).join("");
}

async function writeCrate(crate: Crate, folder: string, store: LocalStore): Promise<void> {
  for (const [path, text] of crate.texts) {
    Deno.mkdirSync(dirname(join(folder, path)), { recursive: true });
    Deno.writeTextFileSync(join(folder, path), text);
  }
  for (const [path, digest] of crate.blobs) {
    Deno.mkdirSync(dirname(join(folder, path)), { recursive: true });
    await store.copy(digest, join(folder, path));
  }
}
