/**
 * What git says of the project: the commit that is checked out, and whatever else it prints.
 *
 * @module
 */
import { dirname, join, relative, resolve } from "node:path";

/**
 * The commit whose files a run took, with `, edited` where some differ from it; locks count no more than
 * results do, wherever those are. Where git cannot be asked, that is said. `undefined` outside of a
 * repository.
 */
export async function revisionOf(root: string, outputs: string): Promise<string | undefined> {
  const commit = commitOf(root);
  if (commit === undefined) return undefined;
  // A copy that the repository around it ignores is no part of it.
  if (await git(root, ["ls-files", "--cached", "--others", "--exclude-standard"]) === "") {
    return undefined;
  }
  const results = relative(root, outputs);
  const paths = [".", ":!lock"];
  // Git refuses a path that is not in the repository.
  if (results !== "" && !results.startsWith("..")) paths.push(`:(exclude,literal)${results}`);
  const edited = await git(root, ["status", "--porcelain", "--", ...paths]);
  if (edited === undefined) return `${commit}, not compared with the files`;
  return edited === "" ? commit : `${commit}, edited`;
}

/**
 * The commit that is checked out, from git's files: to start git takes longer than all else here.
 * `undefined` outside of a repository.
 */
export function commitOf(root: string): string | undefined {
  const { head, branch, packed } = filesOf(root);
  const name = /^ref: (.*)$/.exec(read(head) ?? "")?.[1];
  if (branch === undefined || name === undefined) return read(head);
  return read(branch) ??
    new RegExp(`^([0-9a-f]{40,}) ${RegExp.escape(name)}$`, "m").exec(read(packed) ?? "")?.[1];
}

/** Git's files that say which commit is checked out, whether they are there or not. */
export function commitFiles(root: string): string[] {
  return [
    ...foldersUpTo(root).map((folder) => join(folder, "HEAD")),
    ...Object.values(filesOf(root)),
  ];
}

interface GitFiles {
  readonly head: string;
  /** The branch's own file, if a branch is checked out. */
  readonly branch?: string;
  readonly packed: string;
}

function filesOf(root: string): GitFiles {
  const folder = foldersUpTo(root).at(-1)!;
  const head = join(folder, "HEAD");
  const branch = /^ref: (.*)$/.exec(read(head) ?? "")?.[1];
  // A worktree has a HEAD of its own and shares branches with the repository.
  const common = resolve(folder, read(join(folder, "commondir")) ?? ".");
  return {
    head,
    ...(branch === undefined ? {} : { branch: join(common, branch) }),
    packed: join(common, "packed-refs"),
  };
}

/** Where git's files may be, from the project's folder up to the first that has them. */
function foldersUpTo(root: string): string[] {
  const folder = gitFolder(join(root, ".git"));
  const above = dirname(root);
  return above === root || read(join(folder, "HEAD")) !== undefined
    ? [folder]
    : [folder, ...foldersUpTo(above)];
}

/** The folder of git's files: `.git`, or the one that a file of that name points to. */
function gitFolder(path: string): string {
  const pointed = /^gitdir: (.*)$/.exec(read(path) ?? "")?.[1];
  return pointed === undefined ? path : resolve(path, "..", pointed);
}

function read(path: string): string | undefined {
  try {
    return Deno.readTextFileSync(path).trim();
  } catch {
    return undefined;
  }
}

/** What a hook of another repository leads git to. */
const ELSEWHERE = /^GIT_(DIR|WORK_TREE|COMMON_DIR|INDEX_FILE|OBJECT_DIRECTORY|PREFIX)$/;

/** What git prints; `undefined` if it fails or there is none. */
export async function git(root: string, args: readonly string[]): Promise<string | undefined> {
  try {
    const command = new Deno.Command("git", {
      args: ["-C", root, ...args],
      clearEnv: true,
      env: Object.fromEntries(
        Object.entries(Deno.env.toObject()).filter(([name]) => !ELSEWHERE.test(name)),
      ),
      stdin: "null",
      stderr: "null",
    });
    const { success, stdout } = await command.output();
    return success ? new TextDecoder().decode(stdout) : undefined;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return undefined;
    throw error;
  }
}
