/**
 * `verify FILE [INSTANCE…]`: verifies an audit file; with `--page`, writes a page that does.
 *
 * @module
 */
import { join } from "node:path";
import { lookAt, readText } from "../files.ts";
import { UsageError } from "../errors.ts";
import { commandCode } from "../store/command_code.ts";
import { inFile } from "../replay/archive.ts";
import { chosenBy } from "../replay/chosen.ts";
import { printable, stepText, verifiedText } from "../replay/text.ts";
import { verify, type VerifyOptions } from "../replay/verify.ts";
import { wrapping } from "./layout.ts";
import type { Options } from "./options.ts";
import type { Print, Project } from "./project.ts";

/** Prints what is wrong with an audit file, and what it is; 1 if anything is. */
export async function verifyFile(
  project: Project,
  options: Options,
  print: Print,
): Promise<number> {
  if (options.page !== undefined) {
    const { writePage } = await import("./verify_page.ts");
    await writePage(project, options, print);
    return 0;
  }
  const [path = "", ...patterns] = options.operands;
  const say = wrapping(print);
  const how: VerifyOptions = {
    ...chosenBy(patterns),
    ...againstOf(project, options),
    onStep(step) {
      const line = stepText(step);
      if (!options.json && line !== undefined) say(line);
    },
  };
  using file = Deno.openSync(readable(path));
  const verified = await verify(inFile(file), how);
  if (options.json) {
    const { findings, repeated, index, ...whole } = verified;
    const event = (value: unknown) => print(printable(JSON.stringify(value)));
    for (const finding of findings) event({ event: "finding", ...finding });
    for (const { findings: _, ...each } of repeated) {
      event({ event: "again", ...each });
    }
    const run = index === undefined ? undefined : `${index.experiment}.${index.profile}`;
    event({ event: "verified", ...whole, run, findings: findings.length });
  } else for (const line of verifiedText(verified)) say(line);
  return verified.findings.length === 0 ? 0 : 1;
}

/** What the file is held to besides itself. */
function againstOf({ root, stages }: Project, { lock, checkout }: Options): VerifyOptions {
  const given = lock === undefined
    ? undefined
    : new TextDecoder().decode(Deno.readFileSync(readable(lock)));
  if (!checkout) return given === undefined ? {} : { lock: () => given };
  return {
    lock: (name) => given ?? readText(join(root, name)),
    async code(names) {
      const { bundleUnedited } = await import("../store/bundling.ts");
      const known = names.filter((name) => Object.hasOwn(stages, name));
      const { made } = await bundleUnedited(root, known);
      return new Map([...made].map(([name, { bundle }]) => [name, bundle]));
    },
    commandCode: (trace) => commandCode(trace, root),
  };
}

/** A path at which there is a file. */
function readable(path: string): string {
  const found = lookAt(path)?.kind ?? "nothing";
  if (found === "a file" || found === "a symbolic link") return path;
  throw new UsageError(`Cannot verify ${path}: it must be a file, found ${found}`);
}
