/**
 * What a command rests on besides its files, for its key: the program, its packages, its folders, what
 * it says of itself.
 *
 * @module
 */
import { join } from "node:path";
import { lookAt, sortedEntries, statOf } from "../../../files.ts";
import { canonicalJson } from "../../../key/canonical.ts";
import { flatten, type Ingredients } from "../../../key/ingredients.ts";
import { hashFile, sha256 } from "../../../key/hash.ts";
import type { Command, Violation } from "../../../stage.ts";
import { cageArguments, environment, findCage, SYSTEM } from "./cage.ts";
import { withFilter } from "./system_calls.ts";
import { digestOf, installedPackages, versionsOf } from "./debian.ts";

/** What an answer may take. */
const ASK_MS = 60_000;
/** Characters of an answer. */
const MAX_ANSWER = 20_000;

/** Something wrong, at a path of the command. */
export class CommandProblem extends Error {
  readonly violation: Violation;

  constructor(path: Violation["path"], message: string) {
    super(message);
    this.violation = { path, message };
  }
}

/**
 * The ingredients of a command.
 *
 * @param options.uncaged Whether it runs without a cage.
 * @throws {CommandProblem} If the program or what it needs is not there.
 */
export async function examine(
  command: Command,
  options: { readonly uncaged: boolean },
): Promise<Ingredients> {
  const found: Record<string, string> = { ...examineFiles(command, options) };
  for (const name of Object.keys(command.asks).sort()) {
    found[`asks.${name}`] = await ask(command, name, options);
  }
  return found;
}

/**
 * All of them but the answers.
 *
 * @throws {CommandProblem} If the program or what it needs is not there.
 */
export function examineFiles(
  command: Command,
  options: { readonly uncaged: boolean },
): Ingredients {
  const found: Record<string, string> = {};
  const { program, variables, files } = command;
  found["command.program"] = program;
  flatten("command.arguments", command.arguments, found);
  if (Object.keys(variables).length > 0) flatten("command.variables", variables, found);
  // What ran in no cage may rest on anything.
  if (options.uncaged) found["cage"] = "none";
  if (!files.includes(program)) Object.assign(found, examineProgram(command, options));
  Object.assign(found, examinePackages(command));
  for (const [index, folder] of command.folders.entries()) {
    if (!statOf(folder)) throw new CommandProblem(["folders", index], `${folder} is not there`);
    found[`folders.${folder}`] = folderDigest(folder);
  }
  return found;
}

/** Its own bytes and where they are: a program looks for its library beside itself. */
function examineProgram(
  { program, folders }: Command,
  { uncaged }: { readonly uncaged: boolean },
): Ingredients {
  const refuse = (rule: string) => new CommandProblem(["program"], `${program} ${rule}`);
  if (!program.startsWith("/")) {
    throw refuse("must be an absolute path, or one of the command's files");
  }
  if (!statOf(program)) throw refuse("must be a program, found nothing; install it");
  const path = Deno.realPathSync(program);
  const { isFile, mode } = Deno.statSync(path);
  if (!isFile || ((mode ?? 0o111) & 0o111) === 0) throw refuse("must be executable, and is not");
  const hidden = [program, path].find((each) =>
    !isBelow(each, [...SYSTEM, ...folders]) ||
    each.startsWith("/usr/local/") && !isBelow(each, folders)
  );
  if (hidden !== undefined && !uncaged) {
    throw refuse(
      `must be where its cage shows it, below ${SYSTEM[0]} but not /usr/local, or in one of its ` +
        `folders, found ${hidden}`,
    );
  }
  return { "program.path": path, "program.sha256": fileDigest(path) };
}

function isBelow(path: string, folders: readonly string[]): boolean {
  return folders.some((folder) => path.startsWith(`${folder}/`));
}

function examinePackages({ packages: wanted }: Command): Ingredients {
  const packages = installedPackages();
  const found: Record<string, string> = { ...alternativesIn("/etc/alternatives") };
  if (wanted.length === 0) {
    const system = packages ? digestOf(packages) : fileDigest("/etc/os-release");
    return { ...found, system };
  }
  if (packages === undefined) {
    throw new CommandProblem(["packages"], "this system has no Debian packages; leave them out");
  }
  const versions = versionsOf(wanted, packages);
  if ("missing" in versions) {
    const { missing } = versions;
    throw new CommandProblem(
      ["packages", wanted.indexOf(missing)],
      `${missing} must be installed, and is not; apt-get install --no-install-recommends ${missing}`,
    );
  }
  for (const [name, version] of versions) found[`debian.${name}`] = version;
  return found;
}

/** Which of several installed programs and libraries is the one of a name; libraries by name too. */
export function alternativesIn(folder: string): Ingredients {
  const links = sortedEntries(folder).filter(({ isSymlink }) => isSymlink)
    .map(({ name }) => [name, Deno.readLinkSync(join(folder, name))] as const);
  const found: Record<string, string> = {
    alternatives: sha256(canonicalJson(Object.fromEntries(links))),
  };
  for (const [name, target] of links) {
    if (name.includes(".so")) found[`alternatives.${name}`] = target;
  }
  return found;
}

/** Digest of a file's bytes, or of there being none. */
function fileDigest(path: string): string {
  return statOf(path) ? hashFile(path) : sha256("");
}

/** Digest of all below a folder: folders, files by content, links by what they say, whether it can be run. */
function folderDigest(folder: string): string {
  const entries: Record<string, string> = {};
  const walk = (below: string) => {
    for (const { name } of sortedEntries(join(folder, below))) {
      const path = below === "" ? name : `${below}/${name}`;
      const whole = join(folder, path);
      const found = lookAt(whole);
      if (found?.kind === "a folder") {
        entries[path] = "folder";
        walk(path);
      }
      if (found?.kind === "a symbolic link") entries[path] = `link ${Deno.readLinkSync(whole)}`;
      if (found?.kind === "a file") {
        const runs = ((Deno.statSync(whole).mode ?? 0) & 0o111) === 0 ? "" : " runs";
        entries[path] = `${fileDigest(whole)}${runs}`;
      }
    }
  };
  walk("");
  return sha256(canonicalJson(entries));
}

/** What the program answers to some arguments, in the cage in which it will run. */
async function ask(
  { program, asks, folders, variables: own }: Command,
  name: string,
  { uncaged }: { readonly uncaged: boolean },
): Promise<string> {
  const variables = { ...environment("/tmp"), ...own };
  const asked = [program, ...asks[name]!];
  const cage = uncaged ? undefined : await findCage();
  const { success, stdout, stderr } = cage === undefined || "problem" in cage
    ? await output(asked, variables)
    : await withFilter((filter) => {
      const mounts = folders.map((folder) => [folder, folder, "read"] as const);
      return output(
        [...cageArguments({ ...cage, filter }, { mounts, variables, cwd: "/" }), ...asked],
        {},
      );
    });
  const text = [stdout, stderr].map((bytes) => new TextDecoder().decode(bytes)).join("").trim();
  if (success && text.length <= MAX_ANSWER) return text;
  const end = text.split("\n").at(-1)!.slice(-400);
  const shown = asked.join(" ");
  throw new CommandProblem(
    ["asks", name],
    success
      ? `the answer of ${shown} must have at most ${MAX_ANSWER} characters, found ${text.length}`
      : `${shown} must print what it rests on within a minute, and failed (give other arguments as ` +
        `asks.${name}): ${end}`,
  );
}

async function output(
  [program, ...args]: readonly string[],
  env: Record<string, string>,
): Promise<Deno.CommandOutput> {
  return await new Deno.Command(program!, {
    ...{ args, env, clearEnv: true, cwd: "/", signal: AbortSignal.timeout(ASK_MS) },
    ...{ stdin: "null", stdout: "piped", stderr: "piped" },
  }).output();
}
