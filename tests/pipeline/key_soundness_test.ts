import { assertEquals } from "@std/assert";
import { dirname } from "node:path";
import { fileURLToPath } from "node:url";
import type { Memory } from "../../pipeline/cli/recall.ts";
import { unseal } from "../../pipeline/store/sealed.ts";
import { type Edit, EDITS } from "./soundness/edits.ts";
import { soundnessProject } from "./soundness/project.ts";

type Project = ReturnType<typeof soundnessProject>;

/** Instances that the plan runs, with the reasons. */
async function planned(project: Project, edit: Partial<Edit>): Promise<Map<string, string>> {
  const { code, events, stdout, stderr } = await project.run(
    ["plan", "--json", ...edit.args ?? []],
    { DENO_DIR: project.path(".cache"), ...edit.env },
  );
  if (code !== 0) throw new Error(`exit code ${code}\n${stdout}${stderr}`);
  const decisions = events as unknown as {
    event: string;
    action: string;
    instance: string;
    reason: string;
  }[];
  return new Map(
    decisions.filter(({ event, action }) => event === "decision" && action === "run")
      .map(({ instance, reason }) => [instance, reason] as const),
  );
}

/**
 * Takes the text of every file that an edit may change, and returns what puts them back. That returns what
 * was edited, and of a file that is new its folder.
 */
function snapshot(project: Project): () => string[] {
  const below = (folder: string) =>
    [...Deno.readDirSync(folder)].filter(({ isFile }) => isFile).map(({ name }) =>
      `${folder}/${name}`
    );
  const folders = ["lib", "stages", "experiments/toy", "lock", "."].map(project.path)
    .concat(["tar-stream/3.2.2", "streamx/2.28.1"].map((name) => `${project.packages}/${name}`));
  const texts = new Map(
    folders.flatMap(below).map((path) => [path, Deno.readTextFileSync(path)] as const),
  );
  return () => {
    const edited: string[] = [];
    for (const path of folders.flatMap(below)) {
      const text = texts.get(path);
      if (text === Deno.readTextFileSync(path)) continue;
      // Removed, not written over: a file of the cache may be a link to the machine's own.
      Deno.removeSync(path);
      if (text !== undefined) Deno.writeTextFileSync(path, text);
      edited.push(text === undefined ? dirname(path) : path);
    }
    return edited;
  };
}

/** What a remembered run looks at before it says that there is nothing to do. */
async function lookedAt(
  project: Project,
  env: Readonly<Record<string, string>>,
): Promise<ReadonlySet<string>> {
  for (let n = 0; n < 3; n++) {
    await new Promise((resolve) => setTimeout(resolve, 2200));
    await project.run(["reproduce", "--backend", "wasm"], env);
  }
  const folder = project.path("outputs/store/remembered");
  const [place] = [...Deno.readDirSync(folder)].map(({ name }) => `${folder}/${name}`);
  const { sources } = unseal(Deno.readTextFileSync(place!), place!) as Memory;
  return new Set(sources.paths);
}

/** The table in docs/design.md. */
function table(): string {
  const rows = Object.entries(EDITS).flatMap(([about, edits]) =>
    edits.map(({ what, moves }) =>
      `| ${about} | ${what} | ${moves === undefined ? "none" : `\`${moves}\``} |`
    )
  );
  return ["| edit of | what is edited | ingredient that moves |", "| --- | --- | --- |", ...rows]
    .join("\n");
}

Deno.test("each edit moves the ingredient it should, and re-runs no more and no less", async () => {
  using project = soundnessProject();
  const env = { DENO_DIR: project.path(".cache") };
  const first = await project.run(["reproduce", "--backend", "wasm"], env);
  assertEquals(first.code, 0, first.stdout + first.stderr);
  const looked = await lookedAt(project, env);
  const restore = snapshot(project);
  const wrong: string[] = [];
  let tried = 0;
  for (const edit of Object.values(EDITS).flat()) {
    edit.apply(project);
    tried++;
    const args = edit.args?.includes("--backend")
      ? edit.args
      : ["--backend", "wasm", ...edit.args ?? []];
    const found = await planned(project, { ...edit, args }).catch((error) => error as Error);
    for (const path of restore()) {
      if (edit.runs.length > 0 && !looked.has(path)) {
        wrong.push(`${edit.what}: a remembered run does not look at ${path}`);
      }
    }
    if (found instanceof Error) {
      wrong.push(`${edit.what}: ${found.message}`);
      continue;
    }
    const runs = [...found.keys()].sort();
    if (JSON.stringify(runs) !== JSON.stringify([...edit.runs].sort())) {
      wrong.push(
        `${edit.what}: runs ${runs.join(" ") || "nothing"}, expected ${
          edit.runs.join(" ") || "nothing"
        }`,
      );
      continue;
    }
    for (const [instance, reason] of found) {
      if (!reason.startsWith(edit.moves ?? "")) {
        wrong.push(`${edit.what}: ${instance} for ${reason}`);
      }
    }
  }
  assertEquals(wrong, []);
  assertEquals(tried >= 60, true, `${tried} edits`);
  assertEquals([...await (await planned(project, { args: ["--backend", "wasm"] })).keys()], []);
});

Deno.test("the table of edits in the docs is the one that is tested", () => {
  const path = fileURLToPath(new URL("../../docs/design.md", import.meta.url));
  const text = Deno.readTextFileSync(path);
  const found = /<!-- edits -->\n\n([\s\S]*?)\n\n<!-- end of edits -->/.exec(text)?.[1] ?? "";
  const cells = (markdown: string) =>
    markdown.split("\n").filter((line) => !/^\| -/.test(line))
      .map((line) => line.split("|").map((cell) => cell.trim()));
  assertEquals(cells(found), cells(table()), `put this there:\n${table()}`);
});
