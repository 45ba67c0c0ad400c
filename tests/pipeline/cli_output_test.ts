import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { stripVTControlCharacters } from "node:util";
import { hanging, wrapping } from "../../pipeline/cli/layout.ts";
import { type TestProject, toyProject } from "../rig/project.ts";

/** Runs a command under a pseudo-terminal, with util-linux's `script`; `undefined` without it. */
async function onTerminal(
  project: TestProject,
  command: string,
  env: Readonly<Record<string, string>>,
): Promise<string | undefined> {
  try {
    const deno = `'${Deno.execPath()}' run -A --quiet main.ts ${command}`;
    const { stdout } = await new Deno.Command("script", {
      args: ["--quiet", "--return", "--command", `stty cols 60; ${deno}`, "/dev/null"],
      cwd: project.root,
      env: { NO_COLOR: "1", ...env },
      stdin: "null",
    }).output();
    return new TextDecoder().decode(stdout);
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
    console.warn("SKIPPED: output on a terminal: this machine has no script(1)");
    return undefined;
  }
}

Deno.test("every command's text fits 80 columns on a pipe, but for words that are longer", async () => {
  using project = toyProject();
  const [before, now] = ["A b ".repeat(30), "C d ".repeat(30)];
  project.edit("experiments/toy/experiment.yaml", "text: Ann }", `text: "${before}" }`);
  await project.executed();
  Deno.copyFileSync(project.path("lock/toy.smoke.lock"), project.path("before.lock"));
  project.edit("experiments/toy/experiment.yaml", before, now);
  const commands = [
    ...[["plan"], ["plan", "--all"], ["status"], ["metrics"], ["why", "word/ann"], [
      "why",
      "gather",
    ]],
    ...[["reproduce", "--only", "steps"], ["trace", "gather"], [
      "diff",
      "before.lock",
      "toy.smoke",
    ]],
    ...[["logs", "word/ann"], ["export", "word/ann", "--to", "x"], ["audit"], ["--version"]],
  ];
  for (const args of commands) {
    const { stdout } = await project.run(args);
    assert(stdout.length > 0, args.join(" "));
    const wide = stdout.split("\n").filter((line) =>
      [...line].length > 80 && line.trim().split(" ").every((word) => word.length < 60)
    );
    assertEquals(wide, [], args.join(" "));
  }
});

Deno.test("wrapped lines keep their indentation, and words and long paths stay whole", () => {
  assertEquals(hanging("one two three", { width: 7, indent: "  " }), ["  one", "  two", "  three"]);
  assertEquals(hanging("a\n  as it is", { width: 3 }), ["a", "  as it is"]);
  const lines: string[] = [];
  const path = "/".repeat(90);
  wrapping((line) => lines.push(line))(`  ${"word ".repeat(20)}\n  ${path} end`);
  assert(lines[0]!.startsWith("  word") && lines[0]!.length <= 80);
  assert(lines[1]!.startsWith("      word"));
  assertEquals(lines.slice(2), [`  ${path}`, "      end"]);
});

Deno.test("on a terminal what runs is shown below and taken away; on a dumb one nothing is overwritten", async () => {
  using project = toyProject();
  const slow = "reproduce --set steps.delayMs=200";
  const terminal = await onTerminal(project, slow, { TERM: "xterm" });
  if (terminal === undefined) return;
  assertStringIncludes(terminal, "▸ steps/ann/1");
  assertStringIncludes(terminal, "\x1b[");
  const rows = stripVTControlCharacters(terminal).split(/\r?\n/);
  assertEquals(rows.filter((row) => [...row].length > 60 && row.includes("▸")), []);
  using other = toyProject();
  const dumb = await onTerminal(other, slow, { TERM: "dumb" });
  assert(!dumb!.includes("\x1b"), dumb);
  assertStringIncludes(dumb!, "steps/ann/1 starts: first run");
});

Deno.test("a command whose reader has gone ends at once, with the code of a broken pipe", async () => {
  using project = toyProject();
  project.edit(
    "experiments/toy/experiment.yaml",
    "seed: [1, 2]",
    `seed: [${Array.from({ length: 2000 }, (_, i) => i)}]`,
  );
  for (const command of ["plan --all", "plan --json", "graph --all", "completions bash"]) {
    const { stdout, stderr } = await new Deno.Command("bash", {
      args: [
        "-c",
        `'${Deno.execPath()}' run -A --quiet main.ts ${command} | head -n 1 >/dev/null; echo \${PIPESTATUS[0]}`,
      ],
      cwd: project.root,
      env: { NO_COLOR: "1" },
    }).output();
    const code = new TextDecoder().decode(stdout).trim();
    // What fits into the pipe is written whether it is read or not.
    assertEquals(code, command === "completions bash" ? "0" : "141", command);
    assertEquals(new TextDecoder().decode(stderr), "", command);
  }
});
