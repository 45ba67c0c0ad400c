import {
  assert,
  assertEquals,
  assertRejects,
  assertStringIncludes,
  assertThrows,
} from "@std/assert";
import { createHash } from "node:crypto";
import { fileURLToPath } from "node:url";
import { ConfigError, StageError, UnpinnedError } from "../../pipeline/errors.ts";
import { withImports } from "../../pipeline/cli/pin_imports.ts";
import { Pins, readPins } from "../../pipeline/store/pins.ts";
import { mainText, type TestProject, toyProject, unwrapped } from "../rig/project.ts";
import { temporaryFolder } from "../rig/temporary.ts";

const REPOSITORY = fileURLToPath(new URL("../../", import.meta.url));
const sha256 = (text: string) => createHash("sha256").update(text).digest("hex");

/** A project whose one stage is this project's `download`, of a file without a checksum. */
function downloading(port: number): TestProject {
  const project = toyProject();
  for (const [file, name] of [["download.ts", "download"], ["download.run.ts", "run"]]) {
    project.write(`stages/${file}`, `export { ${name} } from "${REPOSITORY}stages/${file}";\n`);
  }
  project.write("main.ts", mainText(["download"]));
  project.write(
    "experiments/toy/experiment.yaml",
    `experiment: toy
stages:
  download:
    params:
      source:
        name: mine
        title: Mine
        kind: official
        format: csv
        files: [{ name: a b.csv, urls: ["http://127.0.0.1:${port}/data.csv"] }]
profiles: { smoke: {} }
`,
  );
  return project;
}

Deno.test("a file without a checksum is pinned as it was first seen, and a change is refused", async () => {
  let content = "one\n", requests = 0;
  const server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen() {} }, () => {
    requests++;
    return new Response(content);
  });
  using project = downloading(server.addr.port);
  const run = async (...args: string[]) => {
    const before = requests;
    const { code, stdout, stderr } = await project.run(["reproduce", ...args]);
    // Lines are broken to fit.
    const text = `${stdout}${stderr}`.replaceAll(/\s+/g, " ");
    return { code, text, requests: requests - before };
  };
  const pins = "lock/pins.lock";
  const pinned = () => project.read(pins).split("\n").filter((line) => !line.startsWith("#"));
  const [one, two] = ["one\n", "other\n"].map((text) =>
    `sha256:${sha256(text)} ${text.length} bytes`
  );
  try {
    const set = await run("--set", "download.source.note=x", "--outputs", project.path("set"));
    assertEquals(set.code, 0, set.text);
    assertStringIncludes(set.text, "mine/a b.csv is not pinned: a run without --locked and --set");
    assertThrows(() => project.read(pins), Deno.errors.NotFound);

    const first = await run();
    assertEquals(first.code, 0, first.text);
    assertStringIncludes(first.text, `${pins}: mine/a b.csv is pinned as ${one}; review it with`);
    assertEquals(pinned(), [`mine/a b.csv  ${one}`, ""]);

    content = "other\n";
    const again = await run();
    assertEquals([again.code, again.requests], [0, 0], "what is there is not asked for again");
    for (const args of [[], ["--locked"], ["--set", "download.source.note=y"]]) {
      const store = project.path(`other${args.length}`);
      const changed = await run("--outputs", store, ...args);
      assertEquals([changed.code, changed.requests], [1, 1], changed.text);
      assertStringIncludes(
        unwrapped(changed.text),
        `Cannot take mine/a b.csv: ${pins} has it pinned as ${one}, found ${two}; if the change is ` +
          "right, delete its line there and run again",
      );
      const status = await project.run(["status", "--outputs", store]);
      assertStringIncludes(status.stdout, "0 of 1 up to date", "its result does not count");
      assertEquals(pinned(), [`mine/a b.csv  ${one}`, ""]);
    }

    project.write(pins, "");
    const accepted = await run("--outputs", project.path("other0"));
    assertEquals(accepted.code, 0, accepted.text);
    assertEquals(pinned(), [`mine/a b.csv  ${two}`, ""]);

    Deno.removeSync(project.path(pins));
    const locked = await run("--locked", "--outputs", project.path("locked"));
    assertEquals(locked.code, 0, locked.text);
    assertStringIncludes(locked.text, "mine/a b.csv is not pinned: a run without --locked");
    assertThrows(() => project.read(pins), Deno.errors.NotFound);
  } finally {
    await server.shutdown();
  }
});

Deno.test("what is no pin is one message with its line", () => {
  const root = temporaryFolder();
  Deno.mkdirSync(`${root}/lock`);
  const pins = new Pins(root, { keep: true });
  const lines = [
    ...["name", "name value", " name  value", "name  value  more", "name   value", "name  "],
    ...["<<<<<<< HEAD", "a  1\na  1"],
  ];
  for (const line of lines) {
    Deno.writeTextFileSync(`${root}/lock/pins.lock`, `# Title\nx  1 2\n${line}\n`);
    assertThrows(() => pins.check("x", "1 2"), ConfigError, "lock/pins.lock:");
  }
  Deno.writeTextFileSync(`${root}/lock/pins.lock`, "# Title\n\nx  1 2\n");
  pins.check("x", "1 2");
  pins.check("y", "1");
  assertThrows(() => pins.check("x", "1"), StageError, "has it pinned as 1 2, found 1;");
  assertThrows(() => pins.add(new Map([["y", "1"], ["x", "1"]])), StageError, "Cannot take x");
  pins.check("y", "2");
});

Deno.test("pins of processes that write at once are all kept, in order", async () => {
  const root = temporaryFolder();
  const code = `import { Pins } from "${REPOSITORY}pipeline/store/pins.ts";
    const pins = new Pins(Deno.args[0], { keep: true });
    for (let i = 0; i < 25; i++) pins.add(new Map([[Deno.args[1] + i, "1"], ["shared", "1"]]));`;
  const ends = await Promise.all(
    ["a", "b", "c", "d"].map((name) =>
      new Deno.Command(Deno.execPath(), {
        args: ["eval", "--no-lock", code, root, name],
        cwd: REPOSITORY,
        stderr: "piped",
      }).output()
    ),
  );
  for (const { code, stderr } of ends) assertEquals(code, 0, new TextDecoder().decode(stderr));
  const [title, ...lines] = Deno.readTextFileSync(`${root}/lock/pins.lock`).split("\n");
  assert(title!.startsWith("# "));
  assertEquals(lines.length, 4 * 25 + 1 + 1);
  assertEquals(lines.slice(0, -1), lines.slice(0, -1).toSorted());
  assertEquals([...Deno.readDirSync(`${root}/lock`)].map(({ name }) => name), ["pins.lock"]);
});

Deno.test("of two runs that look the same up at once, the second takes what the first pinned", async () => {
  for (const theirs of ["commit b", "commit a"]) {
    const root = temporaryFolder();
    const said: string[] = [];
    let looked = 0;
    const open = () => {
      const pinned = readPins(root).get("name");
      if (pinned !== undefined) return Promise.resolve(pinned);
      throw new UnpinnedError({
        subject: "name",
        path: [],
        look: () => {
          looked++;
          new Pins(root, { keep: true }).add(new Map([["name", theirs]]));
          return Promise.resolve(new Map([["name", "commit a"]]));
        },
      });
    };
    const options = { locked: false, set: [] };
    const { signal } = new AbortController();
    const onPinned = (message: string) => void said.push(message);
    assertEquals(await withImports(open, { root, options, signal, onPinned }), theirs);
    assertEquals([looked, said], [1, []]);
  }
});

Deno.test("what contradicts the pins that were there is refused, not looked up for ever", async () => {
  const root = temporaryFolder();
  new Pins(root, { keep: true }).add(new Map([["name", "commit b"]]));
  const open = (): Promise<void> => {
    const look = () => Promise.resolve(new Map([["name", "commit a"]]));
    throw new UnpinnedError({ subject: "more", path: [], look });
  };
  const options = { locked: false, set: [] };
  const { signal } = new AbortController();
  await assertRejects(
    () => withImports(open, { root, options, signal, onPinned: () => {} }),
    StageError,
    "pinned as commit b, found commit a",
  );
});
