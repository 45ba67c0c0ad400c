import { assert, assertEquals } from "@std/assert";
import { createHash } from "node:crypto";
import { join } from "node:path";
import { startBackend } from "../../../models/backend.ts";
import { type ParameterSpec, readParameters } from "../../../models/parameters.ts";
import {
  disposeState,
  openState,
  saveState,
  type TrainingState,
} from "../../../stages/training/state.ts";
import { temporaryFolder } from "../../rig/temporary.ts";
import { damaged } from "./damaged_checkpoints.ts";

const NEWEST = "checkpoint", PREVIOUS = "checkpoint.previous";
const specs: ParameterSpec[] = [
  { name: "a", shape: [3, 2], initial: { kind: "uniform", bound: 1 } },
  { name: "b", shape: [4], initial: { kind: "uniform", bound: 1 } },
];

interface Progress {
  step: number;
}

/** Saves the states of steps 1 and 2 in a new folder; gives what a state of each holds. */
async function savedTwice(of = specs): Promise<{ folder: string; contents: string[] }> {
  const folder = temporaryFolder();
  const contents: string[] = [];
  for (const step of [1, 2]) {
    const state = openState<Progress>(undefined, of, { start: { seed: step }, progress: { step } });
    state.best = new Map(
      [...await readParameters(state.parameters)].map(([name, { shape, values }]) => [
        name,
        { shape, values: values.map((x) => x * 2) },
      ]),
    );
    contents.push(await contentOf(state));
    await saveState(folder, state);
    disposeState(state);
  }
  return { folder, contents };
}

type State = TrainingState<Progress>;

const fresh = { start: { seed: 3 }, progress: { step: 0 } };

async function contentOf({ parameters, moments, best, progress }: State): Promise<string> {
  const hash = createHash("sha256").update(JSON.stringify(progress));
  const moment = (which: "first" | "second") =>
    readParameters(new Map([...moments].map(([name, m]) => [name, m[which]])));
  for (
    const part of [
      await readParameters(parameters),
      await moment("first"),
      await moment("second"),
      best,
    ]
  ) {
    for (const [name, { shape, values }] of part) {
      hash.update(`${name} ${shape} `).update(new Uint8Array(values.slice().buffer));
    }
  }
  return hash.digest("hex");
}

/** What is loaded from a folder, `undefined` for a fresh start, with what was said meanwhile. */
async function load(folder: string): Promise<{ content: string | undefined; said: string[] }> {
  const said: string[] = [];
  const { warn } = console;
  console.warn = (text: string) => said.push(text);
  try {
    const state = openState<Progress>(folder, specs, fresh);
    const content = state.progress.step === 0 ? undefined : await contentOf(state);
    disposeState(state);
    return { content, said };
  } finally {
    console.warn = warn;
  }
}

const names = (folder: string) => [...Deno.readDirSync(folder)].map(({ name }) => name).sort();

Deno.test("a whole checkpoint is loaded, and the one before it is kept", async () => {
  await startBackend("cpu");
  const { folder, contents } = await savedTwice();
  assertEquals(names(folder), [NEWEST, PREVIOUS]);
  assertEquals(await load(folder), { content: contents[1], said: [] });
  Deno.removeSync(join(folder, NEWEST));
  assertEquals(await load(folder), { content: contents[0], said: [] });
  Deno.removeSync(join(folder, PREVIOUS));
  assertEquals(await load(folder), { content: undefined, said: [] });
});

Deno.test("of 2,000 damaged checkpoints none is loaded: the one before it is, or none", async () => {
  await startBackend("cpu");
  const { folder, contents } = await savedTwice();
  const good = [NEWEST, PREVIOUS].map((name) => Deno.readFileSync(join(folder, name)));
  for (let trial = 0; trial < 2000; trial++) {
    const both = trial % 4 === 0;
    const bytes = damaged(good[0]!, trial);
    Deno.writeFileSync(join(folder, NEWEST), bytes);
    Deno.writeFileSync(join(folder, PREVIOUS), both ? damaged(good[1]!, trial + 1) : good[1]!);
    const { content, said } = await load(folder);
    assertEquals(content, both ? undefined : contents[0], `trial ${trial}`);
    assertEquals(said.length, both ? 2 : 1, `trial ${trial}`);
    assert(said[0]!.startsWith("Cannot resume from checkpoint: "), said[0]);
    const kept = both ? [] : [PREVIOUS];
    assertEquals(names(folder).filter((name) => !name.includes("bad")), kept);
    assertEquals(Deno.readFileSync(join(folder, `${NEWEST}.bad`)), bytes, `trial ${trial}`);
    for (const name of names(folder)) Deno.removeSync(join(folder, name));
  }
});

Deno.test("every kind of byte of a checkpoint is under its digest", async () => {
  await startBackend("cpu");
  const { folder } = await savedTwice();
  const good = Deno.readFileSync(join(folder, NEWEST));
  for (let at = 0; at < good.length; at++) {
    const changed = good.slice();
    changed[at]! ^= 1 << (at % 8);
    Deno.writeFileSync(join(folder, NEWEST), changed);
    Deno.removeSync(join(folder, PREVIOUS), { recursive: true });
    assertEquals((await load(folder)).content, undefined, `byte ${at}`);
    Deno.mkdirSync(join(folder, PREVIOUS));
  }
});

Deno.test("an empty file, a folder, a FIFO or a link in a checkpoint's place is set aside", async () => {
  await startBackend("cpu");
  const placed: Record<string, (path: string) => void> = {
    empty: (path) => Deno.writeFileSync(path, new Uint8Array()),
    folder: (path) => {
      Deno.mkdirSync(path);
      Deno.writeTextFileSync(join(path, "file"), "x");
    },
    fifo: (path) => void new Deno.Command("mkfifo", { args: [path] }).outputSync(),
    dangling: (path) => Deno.symlinkSync("/nowhere/at/all", path),
    device: (path) => Deno.symlinkSync("/dev/zero", path),
  };
  for (const [what, place] of Object.entries(placed)) {
    const { folder, contents } = await savedTwice();
    for (const name of [NEWEST, `${NEWEST}.partial`]) {
      if (name === NEWEST) Deno.removeSync(join(folder, name));
      place(join(folder, name));
    }
    const { content, said } = await load(folder);
    assertEquals(content, contents[0], what);
    assertEquals(said.length, 1, what);
    assert(names(folder).includes(`${NEWEST}.bad`), what);
    // It stands in the way of no later checkpoint, and what was set aside of no other.
    place(join(folder, NEWEST));
    assertEquals((await load(folder)).content, contents[0], what);
    const state = openState<Progress>(folder, specs, fresh);
    for (let i = 0; i < 2; i++) await saveState(folder, state);
    disposeState(state);
    assertEquals(await load(folder), { content: contents[0], said: [] }, what);
    assertEquals(names(folder), [NEWEST, `${NEWEST}.bad`, `${NEWEST}.bad.2`, PREVIOUS], what);
  }
});

Deno.test("a file that claims to be larger than it is is refused without being read", async () => {
  await startBackend("cpu");
  const { folder, contents } = await savedTwice();
  // A file with a hole: a terabyte that takes no room.
  Deno.truncateSync(join(folder, NEWEST), 2 ** 40);
  const started = performance.now();
  assertEquals((await load(folder)).content, contents[0]);
  assert(performance.now() - started < 10_000);
});

Deno.test("a whole checkpoint of another model is set aside", async () => {
  await startBackend("cpu");
  const others: ParameterSpec[][] = [
    [specs[0]!],
    [...specs, { name: "c", shape: [1], initial: { kind: "constant", value: 0 } }],
    [{ ...specs[0]!, shape: [2, 3] }, specs[1]!],
    [{ ...specs[0]!, name: "z" }, specs[1]!],
  ];
  for (const other of others) {
    const { folder } = await savedTwice(other);
    const { content, said } = await load(folder);
    assertEquals(content, undefined);
    assertEquals(said.length, 2);
    assertEquals(names(folder), [`${NEWEST}.bad`, `${PREVIOUS}.bad`]);
  }
});

Deno.test("a whole checkpoint whose progress is another training's is set aside", async () => {
  await startBackend("cpu");
  for (const progress of [null, 3, [], {}, { step: "1" }, { step: 1, more: 2 }, { steps: 1 }]) {
    const { folder } = await savedTwice();
    const state = openState<Progress>(folder, specs, fresh);
    for (let i = 0; i < 2; i++) await saveState(folder, { ...state, progress });
    disposeState(state);
    const { content, said } = await load(folder);
    assertEquals(content, undefined, JSON.stringify(progress));
    assert(said[0]!.includes("must have the form of"), said[0]);
    assertEquals(names(folder), [`${NEWEST}.bad`, `${PREVIOUS}.bad`]);
  }
});
