import { assert, assertEquals, assertMatch, assertStringIncludes, assertThrows } from "@std/assert";
import { ConfigError } from "../../pipeline/errors.ts";
import { type Sha256, sha256 } from "../../pipeline/key/hash.ts";
import { describeMachine } from "../../pipeline/key/machine.ts";
import { streamKey, words } from "../../models/random.ts";
import { compareWithLock, countResults } from "../../pipeline/store/lock_comparison.ts";
import { formatLock, type Lock, type LockEntry, parseLock } from "../../pipeline/store/lockfile.ts";
import { recipesOf } from "../../pipeline/store/recipe.ts";
import type { Exactness } from "../../pipeline/stage.ts";
import { addMeasuring } from "../rig/measured_stage.ts";
import { toyProject } from "../rig/project.ts";

const RUN = { experiment: "toy", profile: "smoke" };
const LOCK = "lock/toy.smoke.lock";

Deno.test("any name of an instance or a metric comes back from a lock as it was", () => {
  const drawn = words(streamKey(0, "names"), 50_000);
  let count = 0;
  const next = () => drawn[count++]!;
  const pieces = [
    ...[
      "F1",
      "length.my-corpus",
      "a",
      "Z",
      " ",
      "  ",
      "=",
      '"',
      "\\",
      "\n",
      "\r",
      "\t",
      "#",
      "key",
      "recipe",
    ],
    ...["\0", "\x7f", "\u2028", "\ufeff", "\u00a0", "é", "😀", "\ud800", "__proto__", "measured"],
    ...["exact:", "constructor", "\\n", "1e3", "-", "/", ".", sha256("x")],
  ];
  const name = () =>
    Array.from({ length: next() % 5 }, () => pieces[next() % pieces.length]).join("");
  const numbers = [0, 1, -1.5, 1e21, 1e-7, 5e-324, Number.MAX_VALUE, 0.1 + 0.2, 2 ** 53];
  for (let n = 0; n < 2000; n++) {
    const metrics = Array.from(
      { length: next() % 4 },
      () => [name(), numbers[next() % numbers.length]!] as const,
    );
    const entry: LockEntry = {
      key: sha256(String(n)),
      outputs: { text: { exactness: "exact", sha256: sha256(`${n}`) } },
      metrics: Object.fromEntries(metrics),
    };
    const lock: Lock = new Map([[name(), entry], [`${name()}2`, entry]]);
    const text = formatLock(RUN, lock);
    const read = parseLock(text, LOCK);
    assertEquals([...read].sort(), [...lock].sort(), text);
    assertEquals(formatLock(RUN, read), text);
  }
});

Deno.test("a line that is none is one message with its number", () => {
  const digest = sha256("x");
  for (
    const line of [
      "word",
      "word  text=exact:" + digest,
      `word  key=${digest} text=exact:${digest}`,
      `word  key=${digest}  text=exact:${digest.slice(1)}`,
      `word  key=${digest}  value=NaN`,
      `word  key=${digest}  value=0x10`,
      `word  key=${digest}  value=`,
      `word  key=${digest}  "value=1`,
      `word  key=${digest}  "\\x"=1`,
      `word  key=${digest}  `,
      `"word  key=${digest}`,
      `  key=${digest}`,
    ]
  ) {
    assertThrows(() => parseLock(`# title\n${line}\n`, LOCK), ConfigError, `${LOCK}:2: not a lock`);
  }
  const good = `word  key=${digest}  text=exact:${digest}\n`;
  assertThrows(() => parseLock(good + good, LOCK), ConfigError, "is there twice");
});

function entry(digest: string, metrics: Record<string, number> = {}): LockEntry {
  const key = sha256("key");
  return { key, outputs: { text: { exactness: "exact", sha256: digest as Sha256 } }, metrics };
}

Deno.test("whatever is missing, more or another number differs from the lock, and results are counted", () => {
  const a = sha256("a"), b = sha256("b");
  const locked: Lock = new Map([["one", entry(a, { F1: 0.5 })], ["two", entry(a)]]);
  const differ = (changes: Record<string, LockEntry | undefined>) => {
    const now = new Map(locked);
    for (const [name, change] of Object.entries(changes)) {
      if (change) now.set(name, change);
      else now.delete(name);
    }
    return compareWithLock(locked, now, { whole: true });
  };
  const { outputs } = entry(a);
  assertEquals(differ({}), []);
  assertEquals(differ({ one: { ...entry(a, { F1: 0.5 }), key: sha256("other") } }), []);
  const table: [LockEntry | undefined, string][] = [
    [undefined, "one is in the lock, and the run has no such instance"],
    [entry(b, { F1: 0.5 }), `one: output "text" must be ${a.slice(0, 12)}…`],
    [{ ...entry(a, { F1: 0.5 }), outputs: {} }, 'one: output "text" is in the lock, and the run'],
    [
      { ...entry(a, { F1: 0.5 }), outputs: { ...outputs, more: { exactness: "measured" } } },
      'one: output "more" is not in the lock',
    ],
    [
      { ...entry(a, { F1: 0.5 }), outputs: { text: { exactness: "measured" } } },
      'one: output "text" must be exact, found measured',
    ],
    [entry(a, { F1: 0.6 }), 'one: metric "F1" must be 0.5, found 0.6'],
    [entry(a, {}), 'one: metric "F1" must be 0.5, found none'],
    [entry(a, { F1: 0.5, toString: 1 }), 'one: metric "toString" must be absent, found 1'],
  ];
  for (const [now, message] of table) {
    const found = differ({ one: now });
    assertEquals(found.length, 1);
    assertStringIncludes(found[0]!.message, message);
  }
  const many = differ({ one: entry(b, { F1: 0.6 }), two: entry(b), three: entry(a) });
  assertEquals([many.length, countResults(many)], [4, 3]);
});

Deno.test("the lock of what is measured is the same after every run from scratch", async () => {
  using project = toyProject();
  addMeasuring(project);
  const first = await project.run(["reproduce"]);
  assertStringIncludes(first.stdout, "lock/toy.smoke.lock: 10 results are locked; commit the file");
  const lock = project.read(LOCK);
  assertMatch(
    lock,
    /\nsum {2}recipe=\w{64} {2}seconds=measured\ntime\/ann {2}recipe=\w{64} {2}seconds=measured\n/,
  );
  Deno.removeSync(project.path("outputs"), { recursive: true });
  const again = await project.run(["reproduce"]);
  assertEquals(project.read(LOCK), lock);
  assertEquals(again.stdout.includes(LOCK), false, again.stdout);
  const checked = await project.run(["reproduce", "--locked"]);
  assertStringIncludes(checked.stdout, "0 results differ; all 10 are as locked");
  // Without one of them, its line is missed.
  project.edit("experiments/toy/experiment.yaml", "time: { each: [name] }", "time: {}");
  const missing = await project.run(["reproduce", "--locked"]);
  assertEquals(missing.code, 1);
  assertStringIncludes(missing.stdout, "time/ann is in the lock, and the run has no such instance");
});

Deno.test("a recipe moves with code, params and inputs of what is measured, and with nothing else", async () => {
  using project = toyProject();
  addMeasuring(project);
  await project.executed();
  const recipes = () =>
    new Map(
      [...parseLock(project.read(LOCK), LOCK)].flatMap(([instance, { recipe }]) =>
        recipe === undefined ? [] : [[instance, recipe] as const]
      ),
    );
  let before = recipes();
  assertEquals([...before.keys()], ["sum", "time/ann", "time/bob"]);
  const moved = async (edit: () => void) => {
    edit();
    await project.executed();
    const now = recipes();
    const names = [...now].flatMap(([name, recipe]) => recipe === before.get(name) ? [] : [name]);
    before = now;
    return names;
  };
  const wiring = "experiments/toy/experiment.yaml", time = "  time: { each: [name] }";
  assertEquals(
    await moved(() => project.edit("stages/time.run.ts", "String(", "// the clock\n String(")),
    [],
  );
  const param = "const params = z.strictObject({ rate: z.int().default(1) });";
  const none = "const params = z.strictObject({});";
  assertEquals((await moved(() => project.edit("stages/time.ts", none, param))).length, 3);
  const own = "  time: { each: [name], params: { rate: 2 } }";
  assertEquals(await moved(() => project.edit(wiring, time, own)), ["time/ann", "time/bob"]);
  const read = "sum: { stage: time, inputs: { seconds: [time.seconds, word.text] } }";
  const now = () =>
    project.edit(wiring, "sum: { stage: time, inputs: { seconds: time.seconds } }", read);
  assertEquals(await moved(now), ["sum"]);
  assertEquals(await moved(() => project.edit(wiring, "text: Ann", "text: Eve")), ["sum"]);
  const code = () => project.edit("stages/time.run.ts", 'metric("seconds"', 'metric("minutes"');
  assertEquals((await moved(code)).length, 3);
});

Deno.test("a lock without recipes is refused, and the next run writes it again", async () => {
  using project = toyProject();
  addMeasuring(project);
  await project.executed();
  const lock = project.read(LOCK);
  project.write(LOCK, lock.replaceAll(/ {2}recipe=\w{64}/g, ""));
  const checked = await project.run(["reproduce", "--locked"]);
  assertEquals(checked.code, 2, checked.stderr);
  assertStringIncludes(checked.stderr, `${LOCK}:7: not a lock line: it has no recipe`);
  assertEquals((await project.run(["reproduce"])).code, 0);
  assertEquals(project.read(LOCK), lock);
});

Deno.test("of a recipe the machine is no part, nor what was measured", () => {
  const digests = (["a", "b", "c", "exact"] as const).map((text) => sha256(text));
  const [a, b, c, exact] = digests as [Sha256, Sha256, Sha256, Sha256];
  const traceOf = (ingredients: Record<string, string>, made: Sha256, exactness: Exactness) => ({
    ...{ key: sha256("key"), instance: "x", stage: "x", run: "x.y", ingredients, sources: {} },
    ...{ metrics: {}, started: "", seconds: 0, machine: {} },
    outputs: { text: { sha256: made, bytes: 1, kind: "file" as const, exactness } },
  });
  const recipeOf = (own: Record<string, string>, others: Record<string, [Sha256, Exactness]>) => {
    const trace = traceOf({ stage: "x", code: c, ...own }, sha256("own"), "measured");
    const made = Object.entries(others).map(([instance, [digest, exactness]]) =>
      [instance, traceOf({ stage: "y", code: c }, digest, exactness)] as const
    );
    return recipesOf(new Map([["x", trace], ...made]))(trace);
  };
  const one = recipeOf({ machine: "M1", "inputs.i": a }, { "time/0": [a, "measured"] });
  const same = recipeOf({ machine: "M2", "inputs.i": b }, { "time/1": [b, "measured"] });
  assertEquals(one, same);
  const differing = [
    recipeOf({ "inputs.i": a }, { "other/0": [a, "measured"] }),
    recipeOf({ "inputs.j": a }, { "time/0": [a, "measured"] }),
    recipeOf({ "inputs.i": exact }, { "time/0": [exact, "exact"] }),
    recipeOf({ "inputs.i": a }, { "time/0": [a, "measured"], "word/0": [a, "exact"] }),
    recipeOf({ "inputs.i": b }, { "time/0": [b, "exact"] }),
    recipeOf({ "inputs.i": "measured" }, { "time/0": [b, "exact"] }),
  ];
  assertEquals(new Set([one, ...differing]).size, differing.length + 1);
});

Deno.test("one stage serves exact and measured inputs: of timings it locks nothing and is keyed by machine", async () => {
  using project = toyProject();
  addMeasuring(project);
  const nodes = ["word.text", "time.seconds"].map((output) =>
    `  of_${output.split(".")[0]}: { stage: gather, inputs: { states: ${output} } }\n`
  );
  project.edit("experiments/toy/experiment.yaml", "  gather:", `${nodes.join("")}  gather:`);
  project.edit("stages/gather.ts", ', publish: () => "report/page.txt"', "");
  project.edit("stages/gather.ts", ', publish: () => "parts"', "");
  await project.executed();
  const lines = project.read(LOCK).split("\n");
  const lineOf = (name: string) => lines.find((line) => line.startsWith(`${name}  `))!;
  assertMatch(
    lineOf("of_time"),
    /^of_time {2}recipe=\w{64} {2}page=measured {2}parts=measured$/,
  );
  assertMatch(
    lineOf("of_word"),
    /^of_word {2}key=\w{64} {2}page=exact:\w{64} {2}parts=exact:\w{64}$/,
  );
  const machine = async (name: string) => {
    const { events } = await project.run(["trace", name, "--json"]);
    const traces = events as unknown as { instance: string; ingredients: Record<string, string> }[];
    return traces.find(({ instance }) => instance === name)!.ingredients["machine"];
  };
  assertEquals(await machine("of_time"), describeMachine());
  assertEquals(await machine("of_word"), undefined);
});

Deno.test("a new lock, other keys and other results are distinguished, results being counted", async () => {
  using project = toyProject();
  assertStringIncludes((await project.run(["reproduce"])).stdout, "7 results are locked");
  project.edit("lib/grow.ts", "value * factor + 1", "1 + value * factor");
  assertStringIncludes(
    (await project.run(["reproduce"])).stdout,
    `${LOCK}: 0 results differ; only keys do`,
  );
  project.edit("lib/grow.ts", '"of "', '"out of "');
  assertStringIncludes(
    (await project.run(["reproduce"])).stdout,
    `${LOCK}: 1 result changed; review it with git diff`,
  );
  project.edit("lib/grow.ts", "1 + value", "2 + value");
  assertStringIncludes(
    (await project.run(["reproduce"])).stdout,
    `${LOCK}: 5 results changed; review them with git diff`,
  );
});

Deno.test("--locked fails where only a metric moved or an output is gone", async () => {
  using project = toyProject();
  await project.executed();
  const lock = project.read(LOCK);
  for (
    const [from, to, message] of [
      ["value=40", "value=41", 'steps/ann/1: metric "value" must be 41, found 40'],
      [
        "  text=exact",
        "  text=exact:" + sha256("x") + "  more=exact",
        'output "more" is in the lock',
      ],
    ] as const
  ) {
    project.write(LOCK, lock.replace(from, to));
    assert(project.read(LOCK) !== lock);
    const ended = await project.run(["reproduce", "--locked"]);
    assertEquals(ended.code, 1);
    assertStringIncludes(ended.stdout, message);
  }
});

Deno.test("a deleted lock or record of a run is found, and --repair writes it again", async () => {
  using project = toyProject();
  await project.executed();
  const record = "outputs/store/runs/toy.smoke.json";
  for (const path of [LOCK, record]) {
    const before = project.read(path);
    Deno.removeSync(project.path(path));
    const found = await project.run(["audit"]);
    assertEquals(found.code, 1, path);
    assertStringIncludes(found.stdout, `missing   ${path === LOCK ? "lock" : "record"}`);
    const repaired = await project.run(["audit", "--repair"]);
    assertEquals(repaired.code, 0, repaired.stdout);
    assertEquals(project.read(path), before);
  }
  // Also where the run published nothing, or was the first one and was interrupted.
  await project.run(["reproduce", "--profile", "slow", "--only", "word"]);
  Deno.removeSync(project.path("outputs/store/runs/toy.slow.json"));
  // Both words are those of the other profile: no trace is of this one.
  assertEquals((await project.run(["audit"])).code, 0);
  await project.run(["reproduce", "--profile", "slow", "--only", "steps/ann/1"]);
  Deno.removeSync(project.path("outputs/store/runs/toy.slow.json"));
  assertStringIncludes((await project.run(["audit"])).stdout, "what it left names the run");
});

Deno.test("one record in another's place is found", async () => {
  using project = toyProject();
  await project.executed();
  await project.executed("--profile", "slow", "--only", "steps/ann/1");
  const runs = project.path("outputs/store/runs");
  const [a, b] = ["toy.smoke.json", "toy.slow.json"];
  Deno.renameSync(`${runs}/${a}`, `${runs}/c`);
  Deno.renameSync(`${runs}/${b}`, `${runs}/${a}`);
  Deno.renameSync(`${runs}/c`, `${runs}/${b}`);
  const found = await project.run(["audit"]);
  assertEquals(found.stdout.match(/altered {3}record/g)?.length, 2, found.stdout);
});
