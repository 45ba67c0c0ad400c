import { assertEquals, assertStringIncludes } from "@std/assert";
import { type TestProject, toyProject } from "../rig/project.ts";

/** Runs the toy with a first stage that does something it did not declare. */
async function failing(project: TestProject, act: string): Promise<string> {
  project.edit(
    "stages/word.run.ts",
    "  Deno.writeTextFileSync(",
    `  ${act}\n  Deno.writeTextFileSync(`,
  );
  const ended = await project.run(["reproduce", "--only", "word/ann"]);
  assertEquals(ended.code, 1);
  return ended.stdout;
}

Deno.test("an undeclared file read is refused and named", async () => {
  using project = toyProject();
  const text = await failing(project, 'Deno.readTextFileSync("/etc/hostname");');
  assertStringIncludes(
    text,
    'Stage "word" may not do this: Requires read access to "/etc/hostname"',
  );
});

Deno.test("an undeclared write is refused and named", async () => {
  using project = toyProject();
  const text = await failing(project, 'Deno.writeTextFileSync("/tmp/lockstep-undeclared", "x");');
  assertStringIncludes(text, 'Requires write access to "/tmp/lockstep-undeclared"');
});

Deno.test("an undeclared host is refused and named", async () => {
  using project = toyProject();
  const text = await failing(
    project,
    'return fetch("http://127.0.0.1:18081/").then(() => {}); // deno-lint-ignore no-unreachable',
  );
  assertStringIncludes(text, 'Requires net access to "127.0.0.1:18081"');
});

Deno.test("an undeclared environment read is refused and named", async () => {
  using project = toyProject();
  const text = await failing(project, 'Deno.env.get("HOME");');
  assertStringIncludes(text, 'Requires env access to "HOME"');
});

Deno.test("a subprocess is refused", async () => {
  using project = toyProject();
  const text = await failing(project, 'new Deno.Command("/bin/true").outputSync();');
  assertStringIncludes(text, "Requires run access to");
});

Deno.test("an import computed at run time is refused with its line", async () => {
  using project = toyProject();
  project.edit(
    "stages/word.run.ts",
    "export function run(context: StageContext<Params>): Promise<void> {",
    "export async function run(context: StageContext<Params>): Promise<void> {\n" +
      "  await import(context.params.text);",
  );
  const ended = await project.run(["reproduce"]);
  assertEquals(ended.code, 1);
  assertStringIncludes(ended.stderr, 'Cannot take the fingerprint of stage "word"');
  assertStringIncludes(ended.stderr, "stages/word.run.ts:");
});

Deno.test("a bug in a stage shows its stack in the source; an unwritten output is named", async () => {
  using project = toyProject();
  const text = await failing(project, "(undefined as unknown as string[]).map(String);");
  assertStringIncludes(text, "TypeError: Cannot read properties of undefined");
  assertStringIncludes(text, "stages/word.run.ts:");
  using silent = toyProject();
  silent.edit(
    "stages/word.run.ts",
    'Deno.writeTextFileSync(context.output("text"), context.params.text);',
    "",
  );
  const ended = await silent.run(["reproduce"]);
  assertStringIncludes(
    ended.stdout,
    'its stage must write output "text" as a file, and wrote none',
  );
});

Deno.test("an import that is neither the project's nor pinned is refused; an alias of a file is not", async () => {
  using project = toyProject();
  project.edit(
    "stages/word.run.ts",
    "export function",
    'import "file:///etc/hostname";\nexport function',
  );
  const refused = await project.run(["reproduce"]);
  assertEquals(refused.code, 1);
  using aliased = toyProject();
  aliased.edit("deno.json", '"imports":{', '"imports":{"grow":"./lib/grow.ts",');
  aliased.edit("stages/steps.run.ts", '"../lib/grow.ts"', '"grow"');
  assertEquals((await aliased.executed()).length, 7);
  aliased.edit("lib/grow.ts", "+ 1;", "+ 2;");
  assertEquals((await aliased.executed()).length, 5);
});
