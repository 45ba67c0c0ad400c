import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { textView } from "../../pipeline/cli/terminal.ts";
import type { Event } from "../../pipeline/event.ts";
import { toyProject } from "../rig/project.ts";

const PLAN: Event = {
  event: "plan",
  experiment: "toy",
  profile: "smoke",
  backend: "wasm",
  backendReason: "as asked",
  instances: 9,
  jobs: 2,
  stages: [],
  estimateSeconds: null,
};
const failed = (instance: string, message: string): Event => ({
  event: "failed",
  instance,
  key: null,
  message,
  output: [],
});
const done = (failed: number): Event => ({
  event: "summary",
  executed: 1,
  cached: 0,
  failed,
  seconds: 2,
});

/** What a view prints for events, on a pipe of 80 columns. */
function shown(events: readonly Event[], quiet = false): string {
  let text = "";
  const sink = {
    isTerminal: false,
    columns: () => 80,
    write: (part: string) => void (text += part),
  };
  const view = textView(sink, { quiet });
  for (const event of events) view.listener(event);
  view.close();
  return text;
}

Deno.test("a failure that several instances have is printed once, and who had it at the end", () => {
  const text = shown([
    PLAN,
    ...["a", "b", "c", "d", "e"].map((name) => failed(`steps/${name}`, "Cannot grow: no\nuse")),
    failed("word/x", "Cannot spell"),
    { event: "skipped", instance: "gather", because: "steps/a" },
    done(7),
  ]);
  assertEquals(text.split("Cannot grow").length - 1, 2, "once as it happens, once in the list");
  assertStringIncludes(
    text,
    `failed    steps/a, steps/b, steps/c, … and 2 more
          Cannot grow: no
failed    word/x
          Cannot spell
not run   gather
done      1 ran, 0 up to date, 7 failed or could not run, 2.0 s
`,
  );
});

Deno.test("--quiet prints failures, damage, locks that do not hold, and the final line", () => {
  const events: Event[] = [
    PLAN,
    { event: "started", instance: "a", key: "", reason: "first run", estimateSeconds: null },
    { event: "executed", instance: "a", key: "", seconds: 1, metrics: {} },
    { event: "page", path: "x.html" },
    { event: "lock", path: "lock/x.lock", message: "all 9 results agree", holds: true },
  ];
  assertEquals(shown([...events, done(0)], true), "done      1 ran, 0 up to date, 2.0 s\n");
  const bad: Event[] = [
    failed("b", "Cannot grow"),
    { event: "damaged", path: "blob", message: "has content 00" },
    { event: "lock", path: "lock/x.lock", message: "1 result differs", holds: false },
  ];
  assertEquals(
    shown([...events, ...bad, done(1)], true),
    `[2/9] b  FAILED
          Cannot grow
damaged   blob
          has content 00
lock      lock/x.lock: 1 result differs
failed    b
          Cannot grow
done      1 ran, 0 up to date, 1 failed or could not run, 2.0 s
`,
  );
});

Deno.test("lines of a run fit 80 columns: messages are wrapped, metrics left out", () => {
  const metrics = Object.fromEntries(
    ["first", "second", "third"].map((name) => [name.repeat(4), 0.5]),
  );
  const text = shown([
    PLAN,
    { event: "executed", instance: `train/${"x".repeat(30)}`, key: "", seconds: 1, metrics },
    failed("b", `Cannot grow: ${"it must be one of these, ".repeat(8)}`),
    done(1),
  ]);
  assertEquals(text.split("\n").filter((line) => line.length > 80), []);
  assertStringIncludes(text, "firstfirstfirstfirst 0.5000\n");
});

Deno.test("an interrupted run says how much is done and what goes on from where", async () => {
  using project = toyProject();
  const child = project.start([
    "reproduce",
    "--jobs",
    "4",
    "--set",
    "steps.delayMs=300",
    "--set",
    "steps.steps=100",
  ]);
  const hasStates = () => {
    try {
      const keys = [...Deno.readDirSync(project.path("outputs/store/checkpoints"))];
      return keys.length === 4 &&
        keys.every(({ name }) =>
          [...Deno.readDirSync(project.path(`outputs/store/checkpoints/${name}`))]
            .some((file) => file.name === "state.json")
        );
    } catch {
      return false;
    }
  };
  while (!hasStates()) await new Promise((resolve) => setTimeout(resolve, 50));
  child.kill("SIGINT");
  const { code, stdout } = await child.output();
  assertEquals(code, 130);
  const text = new TextDecoder().decode(stdout);
  assertEquals(
    text.slice(text.indexOf("interrupted")),
    `interrupted: 2 of 7 done; the same command continues
steps/ann/1, steps/ann/2, steps/bob/1, steps/bob/2 go on from the last checkpoint
`,
  );
});

Deno.test("--fail-fast ends the run at the first failure; without it what can go on does", async () => {
  using project = toyProject();
  project.edit("experiments/toy/experiment.yaml", "bob: {", "bob: { steps: { fail: true },");
  const slow = ["reproduce", "--jobs", "4", "--set", "steps.delayMs=500"];
  const fast = await project.run([...slow, "--fail-fast"]);
  assertEquals(fast.code, 1);
  assert(/stopped {3}.*steps\/ann\/1/.test(fast.stdout), fast.stdout);
  assertEquals(
    (await project.run([...slow, "--fail-fast", "--json"])).events.at(-1)!.event,
    "summary",
  );
  const slower = await project.run(slow);
  assertEquals(slower.code, 1);
  assert(
    /failed {4}steps\/bob\/., steps\/bob\/.\n {10}Cannot grow: asked to fail\nnot run {3}gather\n/
      .test(slower.stdout),
    slower.stdout,
  );
  assert(/steps\/ann\/2 {2}[\d.]+ s/.test(slower.stdout), slower.stdout);
});

Deno.test("a bug's stack has no frames of the engine", async () => {
  using project = toyProject();
  project.edit(
    "stages/steps.run.ts",
    "let state",
    'if (seed) throw new TypeError("odd");\n  let state',
  );
  const { stdout } = await project.run(["reproduce", "--only", "steps/ann/1"]);
  const frames = stdout.split("\n").filter((line) => /^\s+at /.test(line));
  assert(frames.length > 0 && frames.every((line) => line.includes("stages/steps.run.ts")), stdout);
});
