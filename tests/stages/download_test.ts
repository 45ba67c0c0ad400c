import { assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import { createHash } from "node:crypto";
import { join } from "node:path";
import { parse } from "@std/yaml";
import { sourceSchema } from "../../data/source.ts";
import { download } from "../../stages/download.ts";
import { StageError } from "../../pipeline/errors.ts";
import { samplesFolder } from "../data/samples.ts";
import { runStage } from "../rig/run_stage.ts";
import { temporaryFolder } from "../rig/temporary.ts";

const sources = parse(
  Deno.readTextFileSync(new URL("../../data/sources.yaml", import.meta.url)),
) as Record<string, unknown>;
const samples = samplesFolder();

function fresh<T>(body: (directory: string) => Promise<T>): Promise<T> {
  return body(temporaryFolder());
}

function sha256(bytes: Uint8Array | string): string {
  return createHash("sha256").update(bytes).digest("hex");
}

function mirrored(text: string, changed: Record<string, unknown> = {}) {
  return {
    name: "mine",
    title: "Mine",
    kind: "sample",
    format: "csv",
    files: [{
      name: "sub/a.csv",
      mirror: "mine/a.csv",
      bytes: text.length,
      sha256: sha256(text),
      ...changed,
    }],
  };
}

function mirror(directory: string, text: string): string {
  const folder = join(directory, "mirror");
  Deno.mkdirSync(join(folder, "mine"), { recursive: true });
  Deno.writeTextFileSync(join(folder, "mine/a.csv"), text);
  return folder;
}

Deno.test("every record of sources.yaml is valid and bears its own name", () => {
  for (const [name, record] of Object.entries(sources)) {
    const source = sourceSchema.parse(record);
    assertEquals(source.name, name);
    // Only the official files may be called so, and samples are never fetched.
    if (source.format !== "generated" && source.kind === "sample") {
      assertEquals(source.files.flatMap(({ urls }) => urls), []);
      for (const file of source.files) assertEquals(typeof file.sha256, "string");
    }
  }
});

Deno.test("a mirrored file is copied, verified and described without its URLs", async () => {
  await fresh(async (directory) => {
    const source = mirrored("1,a\n", { urls: ["https://example.org/a.csv"] });
    const { outputs } = await runStage(download, { source }, {
      directory,
      mirror: mirror(directory, "1,a\n"),
    });
    assertEquals(Deno.readTextFileSync(join(outputs.raw!, "sub/a.csv")), "1,a\n");
    const text = Deno.readTextFileSync(join(outputs.raw!, "source.json"));
    assertEquals(JSON.parse(text), {
      source: { name: "mine", title: "Mine", kind: "sample", note: "" },
      format: "csv",
      layout: {},
      files: [{ name: "sub/a.csv", split: "all" }],
    });
    assertEquals([...Deno.readDirSync(join(outputs.raw!, "sub"))].map(({ name }) => name), [
      "a.csv",
    ]);
  });
});

Deno.test("a mirrored file of the wrong content or size is refused and not kept", async () => {
  const right = "1,a\n";
  const cases: [text: string, message: string][] = [
    ["1,b\n", `must have sha256 ${sha256(right)}, found ${sha256("1,b\n")}`],
    ["1,a", "must have 4 bytes, found 3"],
    ["1,a\n\n", "must have 4 bytes, found more"],
  ];
  for (const [text, message] of cases) {
    await fresh(async (directory) => {
      const error = await assertRejects(
        () =>
          runStage(download, { source: mirrored(right) }, {
            directory,
            mirror: mirror(directory, text),
          }),
        StageError,
      );
      assertStringIncludes(error.message, `Cannot use "mine/a.csv" of the mirror as "sub/a.csv"`);
      assertStringIncludes(error.message, message);
      assertEquals([...Deno.readDirSync(join(directory, "raw/sub"))], []);
    });
  }
});

Deno.test("a file that is nowhere is named with the mirror path looked for", async () => {
  await fresh(async (directory) => {
    const source = mirrored("1,a\n");
    const without = await assertRejects(
      () => runStage(download, { source }, { directory }),
      StageError,
    );
    assertStringIncludes(
      without.message,
      'no mirror folder is given, where it would be "mine/a.csv"',
    );
    const empty = await assertRejects(
      () => runStage(download, { source }, { directory, mirror: directory }),
      StageError,
    );
    assertStringIncludes(empty.message, 'Cannot get "sub/a.csv": the mirror has no "mine/a.csv"');
  });
});

Deno.test("a record whose path leads out of the folder, or with a file from nowhere, is refused", () => {
  for (
    const changed of [
      { name: "../a.csv" },
      { name: "/a.csv" },
      { name: "a//b" },
      { name: "source.json" },
      { mirror: "../secret" },
      { mirror: undefined },
      { sha256: "abc" },
      { urls: ["file:///etc/passwd"] },
    ]
  ) {
    assertEquals(
      sourceSchema.safeParse(mirrored("x", changed)).success,
      false,
      JSON.stringify(changed),
    );
  }
});

Deno.test("the stage may reach the hosts of its source, with their tokens, and no others", () => {
  const access = (name: string) =>
    download.access?.({ source: sourceSchema.parse(sources[name]), fallbacks: [], endpoints: {} });
  const open = { mirror: true, secrets: [] };
  assertEquals(access("ag_news"), { hosts: ["raw.githubusercontent.com"], ...open });
  assertEquals(access("imdb_labelled"), { hosts: [], ...open });
  assertEquals(access("arxiv")?.secrets, ["HF_TOKEN"]);
  assertEquals(access("synthetic_short"), {});
});

Deno.test("a synthetic text is generated as one file, and as asked for", async () => {
  await fresh(async (directory) => {
    const { outputs } = await runStage(download, { source: sources.chain_two }, { directory });
    const text = Deno.readTextFileSync(join(outputs.raw!, "text.txt"));
    assertEquals([text.length, new Set(text).size], [100_000, 8]);
    const described = JSON.parse(Deno.readTextFileSync(join(outputs.raw!, "source.json")));
    assertEquals(described.format, "characters");
    assertEquals(described.source.kind, "synthetic");
  });
});

Deno.test("a synthetic source is generated as quoted CSV with its classes", async () => {
  await fresh(async (directory) => {
    const { outputs } = await runStage(download, { source: sources.synthetic_short }, {
      directory,
    });
    const lines = Deno.readTextFileSync(join(outputs.raw!, "train.csv")).trimEnd().split("\n");
    assertEquals(lines.length, 2000);
    for (const line of lines) assertEquals(/^"[1-4]","[^"]+","[^"]+"$/.test(line), true, line);
    const description = JSON.parse(Deno.readTextFileSync(join(outputs.raw!, "source.json")));
    assertEquals(description.source.kind, "synthetic");
    assertEquals(description.classes.length, 4);
  });
});

Deno.test({
  name: "the real samples are what sources.yaml says they are",
  ignore: samples === undefined,
  async fn() {
    for (const name of ["ag_news_sample", "imdb_labelled", "arxiv_sample"]) {
      await fresh(async (directory) => {
        const { outputs } = await runStage(download, { source: sources[name] }, {
          directory,
          mirror: samples!,
        });
        const source = sourceSchema.parse(sources[name]);
        if (source.format === "generated") throw new TypeError(name);
        for (const file of source.files) {
          assertEquals(sha256(Deno.readFileSync(join(outputs.raw!, file.name))), file.sha256!);
        }
      });
    }
  },
});

Deno.test("a fallback is taken only where the mirror holds it and not the source", async () => {
  await fresh((directory) => {
    const official = sourceSchema.parse(mirrored("1,a\n"));
    const sample = sourceSchema.parse({
      ...mirrored("x", { mirror: "mine/b.csv" }),
      name: "sample",
    });
    const folder = mirror(directory, "1,a\n");
    const settled = (mirror: string | undefined, fallbacks = [sample]) =>
      download.settle!({ source: official, fallbacks, endpoints: {} }, {
        mirror,
        at: {},
        grid: {},
        exclude: [],
        each: {},
        pins: new Map(),
      }).source.name;
    assertEquals(settled(folder), "mine");
    Deno.renameSync(join(folder, "mine/a.csv"), join(folder, "mine/b.csv"));
    assertEquals(settled(folder), "sample");
    assertEquals(settled(folder, []), "mine");
    assertEquals(settled(undefined), "mine");
    assertEquals(settled("https://example.org/"), "mine");
    Deno.removeSync(join(folder, "mine/b.csv"));
    assertEquals(settled(folder), "mine");
    return Promise.resolve();
  });
});

Deno.test("a file for which no checksum is published is taken, and what came is pinned", async () => {
  const pinned: unknown[] = [];
  for (const changed of [{ sha256: undefined, bytes: undefined }, {}]) {
    await fresh(async (directory) => {
      const source = mirrored("1,a\n", changed);
      const { pins } = await runStage(download, { source }, {
        directory,
        mirror: mirror(directory, "1,a\n"),
      });
      pinned.push(pins);
    });
  }
  assertEquals(pinned, [{ "mine/sub/a.csv": `sha256:${sha256("1,a\n")} 4 bytes` }, {}]);
});

/** Serves on the loopback while `body` runs. */
async function serving<T>(
  handler: (request: Request) => Response | Promise<Response>,
  body: (origin: string) => Promise<T>,
): Promise<T> {
  const server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen() {} }, handler);
  try {
    return await body(`http://127.0.0.1:${server.addr.port}`);
  } finally {
    await server.shutdown();
  }
}

function remote(origin: string, names: readonly string[]) {
  return {
    ...mirrored("x"),
    files: names.map((name) => ({
      name,
      urls: [`${origin}/${name}`],
      bytes: name.length,
      sha256: sha256(name),
    })),
  };
}

Deno.test("files are fetched several at a time, but not more than four", async () => {
  let open = 0;
  let most = 0;
  const names = Array.from({ length: 10 }, (_, i) => `file${i}`);
  const handler = async (request: Request) => {
    most = Math.max(most, ++open);
    await new Promise((resolve) => setTimeout(resolve, 20));
    open -= 1;
    return new Response(new URL(request.url).pathname.slice(1));
  };
  await serving(handler, (origin) =>
    fresh(async (directory) => {
      const { outputs } = await runStage(download, { source: remote(origin, names) }, {
        directory,
      });
      for (const name of names) {
        assertEquals(Deno.readTextFileSync(join(outputs.raw!, name)), name);
      }
    }));
  assertEquals(most, 4);
});

Deno.test("of several files that fail, the first in the record is named, whichever failed first", async () => {
  const names = ["late", "good", "early"];
  const handler = async (request: Request) => {
    const name = new URL(request.url).pathname.slice(1);
    if (name === "late") await new Promise((resolve) => setTimeout(resolve, 50));
    return new Response(name === "good" ? name : "wrong");
  };
  await serving(handler, (origin) =>
    fresh(async (directory) => {
      const error = await assertRejects(
        () => runStage(download, { source: remote(origin, names) }, { directory }),
        StageError,
      );
      assertStringIncludes(error.message, 'Cannot get "late"');
    }));
});

Deno.test("a fetch that an earlier attempt at the key left half done is gone on with", async () => {
  const text = "0123456789".repeat(1000);
  const ranges: (string | null)[] = [];
  const handler = (request: Request) => {
    ranges.push(request.headers.get("range"));
    return new Response(text.slice(4000), {
      status: 206,
      headers: { "content-range": `bytes 4000-9999/10000` },
    });
  };
  await serving(handler, (origin) =>
    fresh(async (directory) => {
      const checkpoints = join(directory, "checkpoints");
      Deno.mkdirSync(checkpoints);
      Deno.writeTextFileSync(join(checkpoints, "0.part"), text.slice(0, 4000));
      const source = {
        ...mirrored("x"),
        files: [{ name: "a", urls: [`${origin}/a`], bytes: 10_000, sha256: sha256(text) }],
      };
      const { outputs } = await runStage(download, { source }, { directory, checkpoints });
      assertEquals(Deno.readTextFileSync(join(outputs.raw!, "a")), text);
      assertEquals([...Deno.readDirSync(checkpoints)], []);
    }));
  assertEquals(ranges, ["bytes=4000-"]);
});
