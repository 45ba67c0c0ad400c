import { assertEquals } from "@std/assert";
import { join } from "node:path";
import { commitFiles, commitOf, git, revisionOf } from "../../pipeline/cli/git.ts";
import { temporaryFolder } from "../rig/temporary.ts";

const IDENTITY = ["-c", "user.name=a", "-c", "user.email=a@example.org"];

/** A repository with a project in a folder of it, and what git says of it. */
async function repository() {
  const top = temporaryFolder();
  const root = join(top, "papers/one");
  Deno.mkdirSync(join(root, "outputs"), { recursive: true });
  Deno.writeTextFileSync(join(root, "main.ts"), "1");
  Deno.writeTextFileSync(join(top, ".gitignore"), "ignored\n");
  const said = async (...args: string[]) => (await git(top, [...IDENTITY, ...args]) ?? "").trim();
  await said("init", "-q");
  await said("add", ".");
  await said("commit", "-qm", "All");
  return { top, root, said, commit: await said("rev-parse", "HEAD") };
}

Deno.test("a project in a folder of a repository has that repository's commit, edited by its own files alone", async () => {
  const { top, root, commit } = await repository();
  const revision = () => revisionOf(root, join(root, "outputs"));
  assertEquals(commit.length, 40);
  assertEquals(commitOf(root), commit);
  assertEquals(await revision(), commit);
  Deno.writeTextFileSync(join(root, "outputs/page.html"), "made");
  Deno.writeTextFileSync(join(top, "letter.txt"), "of another folder");
  assertEquals(await revision(), commit);
  Deno.writeTextFileSync(join(root, "main.ts"), "2");
  assertEquals(await revision(), `${commit}, edited`);
});

Deno.test("a project that the repository around it ignores has no commit", async () => {
  const { top } = await repository();
  const root = join(top, "ignored/copy");
  Deno.mkdirSync(root, { recursive: true });
  Deno.writeTextFileSync(join(root, "main.ts"), "1");
  assertEquals(await revisionOf(root, join(root, "outputs")), undefined);
});

Deno.test("what says which commit is checked out is in the nearest repository, and may come nearer", async () => {
  const { top, root } = await repository();
  assertEquals(commitFiles(root).includes(join(top, ".git/HEAD")), true);
  assertEquals(commitFiles(root).includes(join(root, ".git/HEAD")), true);
  await git(root, ["init", "-q"]);
  assertEquals(commitOf(root), undefined);
  assertEquals(commitFiles(root).includes(join(top, ".git/HEAD")), false);
});
