/**
 * A temporary project with small stages of its own, driven through the real command line in real
 * processes: for tests of what the engine does.
 *
 * @module
 */
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Event } from "../../pipeline/event.ts";

const REPOSITORY = fileURLToPath(new URL("../../", import.meta.url));

/** Each stage's declaration and run. */
const STAGES: Readonly<Record<string, readonly [declaration: string, run: string]>> = {
  // Writes a word. Its file is the start of everything.
  word: [
    `
const params = z.strictObject({ text: z.string(), style: z.string().default("plain") });
export type Params = z.infer<typeof params>;
export const word = defineStage({
  name: "word",
  params,
  inputs: {},
  outputs: { text: { kind: "file", exactness: "exact" } },
});`,
    `
export function run(context: StageContext<Params>): Promise<void> {
  Deno.writeTextFileSync(context.output("text"), context.params.text);
  return Promise.resolve();
}`,
  ],
  // Works in steps, with a checkpoint after each, and is slow enough to be interrupted.
  steps: [
    `
const params = z.strictObject({
  seed: z.int(),
  steps: z.int().default(3),
  delayMs: z.int().default(0),
  rate: z.number().default(1),
  fail: z.boolean().default(false),
});
export type Params = z.infer<typeof params>;
export const steps = defineStage({
  name: "steps",
  params,
  inputs: { text: {} },
  outputs: { state: { kind: "file", exactness: "exact" }, log: { kind: "folder", exactness: "exact" } },
  checkpoints: true,
  operational: ["delayMs"],
});`,
    `
import { StageError } from "${REPOSITORY}pipeline/errors.ts";
import { grow } from "../lib/grow.ts";
export async function run(context: StageContext<Params>): Promise<void> {
  const { seed, steps, delayMs, rate, fail } = context.params;
  const text = Deno.readTextFileSync(context.input("text").path);
  if (fail) throw new StageError("Cannot grow: asked to fail");
  const checkpoint = context.checkpoints + "/state.json";
  let state = { step: 0, value: seed * rate };
  try {
    state = JSON.parse(Deno.readTextFileSync(checkpoint));
  } catch {}
  for (; state.step < steps; ) {
    if (delayMs > 0) await new Promise((resolve) => setTimeout(resolve, delayMs));
    state = { step: state.step + 1, value: grow(state.value) };
    Deno.writeTextFileSync(checkpoint + ".tmp", JSON.stringify(state));
    Deno.renameSync(checkpoint + ".tmp", checkpoint);
    context.progress({ done: state.step, total: steps, unit: "steps" });
  }
  Deno.writeTextFileSync(context.output("state"), text + " " + state.value);
  for (const part of ["a", "sub/b"]) {
    Deno.mkdirSync(context.output("log") + "/sub", { recursive: true });
    Deno.writeTextFileSync(context.output("log") + "/" + part, part + state.value);
  }
  context.metric("value", state.value);
}`,
  ],
  // Gathers all states and publishes them.
  gather: [
    `
const params = z.strictObject({ title: z.string().default("All") });
export type Params = z.infer<typeof params>;
export const gather = defineStage({
  name: "gather",
  params,
  inputs: { states: { many: true }, logs: { many: true } },
  outputs: {
    page: { kind: "file", exactness: "exact", publish: () => "report/page.txt" },
    parts: { kind: "folder", exactness: "exact", publish: () => "parts" },
  },
});`,
    `
import { sum } from "../lib/grow.ts";
export function run(context: StageContext<Params>): Promise<void> {
  const states = context.inputs("states").map(({ at, path }) =>
    JSON.stringify(at) + " " + Deno.readTextFileSync(path)
  );
  const text = [context.params.title, ...states, sum(states.length)].join("\\n");
  Deno.writeTextFileSync(context.output("page"), text);
  for (const { at, files } of context.inputs("logs")) {
    const parts = [...files].map(([name, path]) => name + "=" + Deno.readTextFileSync(path));
    Deno.writeTextFileSync(context.output("parts") + "/" + at.seed + at.name + ".txt", parts.join("\\n"));
  }
  return Promise.resolve();
}`,
  ],
};

const EXPERIMENT = `experiment: toy
axes:
  name:
    ann: { word: { text: Ann } }
    bob: { word: { text: Bob } }
grid:
  name: [ann, bob]
  seed: [1, 2]
stages:
  word:
    each: [name]
  steps:
    each: [name, seed]
    inputs: { text: word.text }
    params: { seed: $seed }
  gather:
    inputs: { states: steps.state, logs: steps.log }
profiles:
  smoke: {}
  slow:
    stages: { steps: { params: { steps: 20, delayMs: 5 } } }
`;

/** How a command ended. */
export interface Ended {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
  /** With `--json`: its events. */
  readonly events: readonly Event[];
}

/** A text that was wrapped for a terminal, on one line. */
export function unwrapped(text: string): string {
  return text.replace(/\s+/g, " ");
}

/** A temporary project. */
export interface TestProject {
  readonly root: string;
  path(name: string): string;
  read(name: string): string;
  write(name: string, text: string): void;
  /** Replaces the one occurrence of `from` in a file. */
  edit(name: string, from: string, to: string): void;
  /** Starts a command without waiting for it. */
  start(args: readonly string[], env?: Readonly<Record<string, string>>): Deno.ChildProcess;
  run(args: readonly string[], env?: Readonly<Record<string, string>>): Promise<Ended>;
  /** `reproduce --json` and the names of what it executed, sorted. */
  executed(...args: string[]): Promise<string[]>;
  /** `reproduce` by a user whom permissions bind: as root, without root's ways round them. */
  reproduceBound(...args: string[]): Promise<Ended>;
  [Symbol.dispose](): void;
}

/** Makes a project with the toy experiment; `where` is the folder to make it in. */
export function toyProject(where?: string): TestProject {
  const root = Deno.makeTempDirSync({ prefix: "lockstep-", ...(where ? { dir: where } : {}) });
  const project = openProject(root);
  const config = JSON.parse(Deno.readTextFileSync(join(REPOSITORY, "deno.json")));
  delete config.tasks;
  delete config.compilerOptions.types;
  project.write("deno.json", JSON.stringify(config));
  project.write("lock/deno.lock", Deno.readTextFileSync(join(REPOSITORY, "lock/deno.lock")));
  project.write("experiments/toy/experiment.yaml", EXPERIMENT);
  project.write(
    "lib/grow.ts",
    `/** One step. */
export function grow(value: number): number {
  const factor = 3;
  return value * factor + 1;
}
export function sum(count: number): string {
  return "of " + count;
}
export function unused(): number {
  return 1;
}
`,
  );
  for (const [name, [declaration, run]] of Object.entries(STAGES)) {
    writeStage(project, { name, declaration, run });
  }
  project.write("main.ts", mainText(Object.keys(STAGES)));
  return project;
}

/** Writes a stage's two files. The declaration exports the type `Params`, the run uses it. */
export function writeStage(
  project: TestProject,
  { name, declaration, run }: { name: string; declaration: string; run: string },
): void {
  const contract = `${REPOSITORY}pipeline/stage.ts`;
  project.write(
    `stages/${name}.ts`,
    `import { z } from "zod";\nimport { defineStage } from "${contract}";\n${declaration}\n`,
  );
  project.write(
    `stages/${name}.run.ts`,
    `import type { StageContext } from "${contract}";
import type { Params } from "./${name}.ts";
${run}
`,
  );
}

/** The `main.ts` of a project with these stages. */
export function mainText(stages: readonly string[]): string {
  return `import { main } from "${REPOSITORY}pipeline/cli/main.ts";
const project = {
  root: import.meta.dirname!,
  stages: { ${stages.map((name) => `${name}: () => import("./stages/${name}.ts")`).join(", ")} },
  experiment: "toy",
};
Deno.exit(await main(project, Deno.args));
`;
}

function endedOf(args: readonly string[], { code, stdout, stderr }: Deno.CommandOutput): Ended {
  const text = new TextDecoder().decode(stdout);
  const events = args.includes("--json")
    ? text.split("\n").filter((line) => line !== "").map((line) => JSON.parse(line))
    : [];
  return { code, stdout: text, stderr: new TextDecoder().decode(stderr), events };
}

/** Drives the project at a folder. Disposing removes the folder. */
export function openProject(root: string): TestProject {
  const path = (name: string) => join(root, name);
  const command = (
    args: readonly string[],
    env: Readonly<Record<string, string>>,
    prefix: readonly string[] = [],
  ) => {
    const [program, ...rest] = [...prefix, Deno.execPath(), "run", "-A", "--quiet"] as const;
    return new Deno.Command(program!, {
      args: [...rest, path("main.ts"), ...args],
      cwd: root,
      env: { ...env, NO_COLOR: "1" },
      stdin: "null",
      stdout: "piped",
      stderr: "piped",
    });
  };
  const project: TestProject = {
    root,
    path,
    read: (name) => Deno.readTextFileSync(path(name)),
    write(name, text) {
      Deno.mkdirSync(dirname(path(name)), { recursive: true });
      Deno.writeTextFileSync(path(name), text);
    },
    edit(name, from, to) {
      const parts = project.read(name).split(from);
      if (parts.length !== 2) {
        throw new Error(`"${from}" is ${parts.length - 1} times in ${name}`);
      }
      project.write(name, parts.join(to));
    },
    start: (args, env = {}) => command(args, env).spawn(),
    run: async (args, env = {}) => endedOf(args, await command(args, env).output()),
    async reproduceBound(...options) {
      const args = ["reproduce", ...options];
      const prefix = Deno.uid() === 0
        ? ["setpriv", "--bounding-set", "-dac_override,-dac_read_search"]
        : [];
      return endedOf(args, await command(args, {}, prefix).output());
    },
    async executed(...args) {
      const ended = await project.run(["reproduce", "--json", ...args]);
      if (ended.code !== 0) {
        throw new Error(`exit code ${ended.code}\n${ended.stdout}${ended.stderr}`);
      }
      return ended.events.flatMap((event) => event.event === "executed" ? [event.instance] : [])
        .sort();
    },
    [Symbol.dispose]() {
      Deno.removeSync(root, { recursive: true });
    },
  };
  return project;
}
