import { assertEquals, assertStringIncludes } from "@std/assert";
import { COMMAND_NAMES } from "../../pipeline/cli/commands.ts";
import { type TestProject, toyProject } from "../rig/project.ts";

/** A project with the task that the scripts call, and its completions in a shell. */
function completing(): TestProject {
  const project = toyProject();
  const config = JSON.parse(project.read("deno.json"));
  project.write(
    "deno.json",
    JSON.stringify({ ...config, tasks: { lockstep: "deno run -A --quiet main.ts" } }),
  );
  return project;
}

async function shell(project: TestProject, command: string[]): Promise<string[]> {
  const { stdout, stderr } = await new Deno.Command(command[0]!, {
    args: command.slice(1),
    cwd: project.root,
    env: { NO_COLOR: "1" },
  }).output();
  assertEquals(new TextDecoder().decode(stderr), "");
  return new TextDecoder().decode(stdout).split("\n").filter((line) => line !== "");
}

async function has(program: string): Promise<boolean> {
  try {
    return (await new Deno.Command(program, { args: ["--version"], stdout: "null" }).output())
      .success;
  } catch {
    return false;
  }
}

/** A command line up to the cursor, split as bash splits it, and what must be offered. */
const LINES: readonly [words: string[], offered: (names: string[]) => void][] = [
  [["deno", "task", ""], (names) => assertEquals(names, COMMAND_NAMES)],
  [["deno", "task", "st"], (names) => assertEquals(names, ["status"])],
  [["deno", "task", "plan", "--pro"], (names) => assertEquals(names, ["--profile"])],
  [["deno", "task", "plan", "--profile", ""], (names) => assertEquals(names, ["smoke", "slow"])],
  [["deno", "task", "plan", "--profile", "=", "sl"], (names) => assertEquals(names, ["slow"])],
  [["deno", "task", "plan", "--profile", "="], (names) => assertEquals(names, ["smoke", "slow"])],
  [["deno", "task", "status", "--experiment", ""], (names) => assertEquals(names, ["toy"])],
  [["deno", "task", "why", "steps/b"], (names) => {
    assertEquals(names, ["steps/bob/1", "steps/bob/2"]);
  }],
  [
    ["deno", "task", "why", "--backend", "w"],
    (names) => assertEquals(names, ["webgpu", "wasm+fma", "wasm"]),
  ],
  [["deno", "task", "graph", "--format", ""], (names) => assertEquals(names, ["mermaid", "dot"])],
  [["deno", "task", "none", ""], (names) => assertEquals(names, [])],
  [["deno", "run", "ma"], (names) => assertEquals(names, ["before"])],
];

Deno.test({
  name: "in bash, commands, options, experiments, profiles and instances are completed",
  ignore: !await has("bash"),
  async fn() {
    using project = completing();
    project.write("completions.bash", (await project.run(["completions", "bash"])).stdout);
    for (const [words, check] of LINES) {
      const offered = await shell(project, [
        "bash",
        "-c",
        `before() { COMPREPLY=(before); }; complete -F before deno; source completions.bash
         COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)); _lockstep; printf '%s\\n' "\${COMPREPLY[@]}"`,
        "bash",
        ...words,
      ]);
      check(offered);
    }
  },
});

for (const name of ["zsh", "fish"] as const) {
  Deno.test({
    name: `${name} reads the script for it`,
    ignore: !await has(name),
    async fn() {
      using project = completing();
      project.write("completions", (await project.run(["completions", name])).stdout);
      assertEquals(await shell(project, [name, "-n", "completions"]), []);
    },
  });
}

Deno.test("a script for each shell is printed, and one for another is refused", async () => {
  using project = toyProject();
  for (const name of ["bash", "zsh", "fish"]) {
    assertStringIncludes((await project.run(["completions", name])).stdout, "lockstep __complete");
  }
  assertEquals((await project.run(["completions", "sh"])).code, 2);
});
