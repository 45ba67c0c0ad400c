import { assert, assertEquals, assertStringIncludes, assertThrows } from "@std/assert";
import { type ArchiveServer, archiveServer, COMMITS, KNOWN } from "../rig/archive_server.ts";
import { copyOfThisProject } from "../rig/this_project.ts";
import { type TestProject, unwrapped } from "../rig/project.ts";

const EXPERIMENT = `experiment: imported
grid: { dataset: [hub, record] }
axes:
  dataset:
    hub:
      download:
        source:
          name: hub
          title: Of a hub
          kind: official
          format: text
          hf: owner/name@main
          files: [{ name: "data/t*.txt" }, { name: README.md }]
    record:
      download:
        source:
          name: record
          title: Of a record
          kind: official
          format: text
          doi: 10.5281/zenodo.55
          files: [{ name: train.txt }]
stages:
  download: { each: [dataset] }
profiles: { smoke: {} }
`;
const TOKEN = "hf_a_secret_of_the_test";

/** This project with an experiment that downloads from archives, which are at a server. */
function importing(): TestProject {
  const project = copyOfThisProject("");
  project.write("experiments/imported/experiment.yaml", EXPERIMENT);
  return project;
}

function run(project: TestProject, server: ArchiveServer, args: readonly string[]) {
  return project.run([...args, "--experiment", "imported"], {
    HF_ENDPOINT: server.url,
    ZENODO_ENDPOINT: `${server.url}/`,
    HF_TOKEN: TOKEN,
  });
}

async function reproduced(project: TestProject, server: ArchiveServer, ...args: string[]) {
  const ended = await run(project, server, ["reproduce", "--json", ...args]);
  assertEquals(ended.code, 0, ended.stdout + ended.stderr);
  return ended.events.flatMap((event) => event.event === "executed" ? [event.instance] : []).sort();
}

/** All text below a folder. */
function textBelow(folder: string): string {
  return [...Deno.readDirSync(folder)].map(({ name, isDirectory, isFile }) => {
    const path = `${folder}/${name}`;
    return isDirectory ? textBelow(path) : isFile ? Deno.readTextFileSync(path) : "";
  }).join("\n");
}

Deno.test("a first run pins what archives have, and then neither a new version nor another address counts", async () => {
  using project = importing();
  await using server = archiveServer();
  const planned = await run(project, server, ["plan"]);
  assertEquals(planned.code, 2);
  assertStringIncludes(
    unwrapped(planned.stderr),
    "experiments/imported/experiment.yaml:12: axes.dataset.hub.download.source.hf: " +
      "hf:owner/name@main is not pinned in lock/pins.lock yet: reproduce looks it up and pins it",
  );
  const locked = await run(project, server, ["reproduce", "--locked"]);
  assertEquals(locked.code, 2);
  assertStringIncludes(
    unwrapped(locked.stderr),
    "--locked or --set pins nothing, so run once without",
  );
  assertEquals(server.asked, []);

  const both = ["download/hub", "download/record"];
  assertEquals(await reproduced(project, server), both);
  assertEquals(project.read("lock/pins.lock").split("\n").slice(1, -1), [
    "doi:10.5281/zenodo.55  record 57",
    `doi:10.5281/zenodo.57/train.txt  md5:${KNOWN.alphabet.md5} 26 bytes`,
    `hf:owner/name@${COMMITS.first}/README.md  git_oid:${KNOWN.book.oid} 13 bytes`,
    `hf:owner/name@${COMMITS.first}/data/t*.txt  2 files`,
    `hf:owner/name@${COMMITS.first}/data/test.txt  sha256:${KNOWN.alphabet.sha256} 26 bytes`,
    `hf:owner/name@${COMMITS.first}/data/train.txt  sha256:${KNOWN.letters.sha256} 3 bytes`,
    `hf:owner/name@main  commit ${COMMITS.first}`,
  ]);
  assert(
    server.asked.some(({ path, authorization }) =>
      path.includes("/resolve/") && authorization === `Bearer ${TOKEN}`
    ),
  );

  const pins = project.read("lock/pins.lock");
  server.branches.set("main", COMMITS.second);
  server.concepts.set("55", "56");
  const before = server.asked.length;
  assertEquals(await reproduced(project, server), []);
  assertEquals(server.asked.length, before, "nothing is asked again");
  await using elsewhere = archiveServer();
  assertEquals(await reproduced(project, elsewhere, "--force", "download"), both);
  assertEquals(project.read("lock/pins.lock"), pins);
  assert(elsewhere.asked.every(({ path }) => !path.startsWith("/api/datasets")));
  assertEquals((await run(project, elsewhere, ["reproduce", "--locked"])).code, 0);

  const written = textBelow(project.path("outputs")) + textBelow(project.path("lock"));
  assert(!written.includes(TOKEN), "the token is in what was written");
  for (const { url } of [server, elsewhere]) {
    assert(!written.includes(new URL(url).host), "an address is in what was written");
  }
  assertStringIncludes(written, KNOWN.letters.sha256);
});

Deno.test("other bytes than those pinned are refused with both digests, and keep nothing", async () => {
  using project = importing();
  await using server = archiveServer();
  server.misbehave = (path) => path.includes("README") ? new Response("test-content\n") : undefined;
  const { code, stdout } = await run(project, server, ["reproduce"]);
  assertEquals(code, 1);
  const said = unwrapped(stdout);
  assertStringIncludes(said, `must have git_oid ${KNOWN.book.oid}, found `);
  assertStringIncludes(said, 'Cannot get "README.md"');
  server.misbehave = () => undefined;
  assertEquals(await reproduced(project, server), ["download/hub"]);
});

Deno.test("with a mirror that has the files, an archive is asked what they are, and for none of them", async () => {
  using project = importing();
  await using server = archiveServer();
  for (
    const [path, { text }] of [
      ["hub/README.md", KNOWN.book],
      ["hub/data/test.txt", KNOWN.alphabet],
      ["hub/data/train.txt", KNOWN.letters],
      ["record/train.txt", KNOWN.alphabet],
    ] as const
  ) project.write(`mirrored/${path}`, text);
  await reproduced(project, server, "--mirror", project.path("mirrored"));
  assert(server.asked.length > 0);
  assertEquals(
    server.asked.filter(({ path }) => !path.startsWith("/api/") || path.endsWith("content")),
    [],
  );
});

Deno.test("an experiment's file can't say where an archive is, and so where a token goes", async () => {
  using project = importing();
  await using server = archiveServer();
  await using other = archiveServer();
  project.edit(
    "experiments/imported/experiment.yaml",
    "{ each: [dataset] }",
    `{ each: [dataset], params: { endpoints: { HF_ENDPOINT: "${other.url}" } } }`,
  );
  const { code, stderr } = await run(project, server, ["reproduce"]);
  assertEquals(code, 2);
  assertStringIncludes(
    unwrapped(stderr),
    "experiments/imported/experiment.yaml:24: stages.download.params.endpoints: must be empty",
  );
  assertEquals([...server.asked, ...other.asked], []);
});

Deno.test("once files are pinned, a variable that can't be used still stops a run, and is in no log", async () => {
  using project = importing();
  await using server = archiveServer();
  await reproduced(project, server);
  server.asked.length = 0;
  for (
    const [name, value] of [
      ["HF_TOKEN", "hf_a_secret\nof_two_lines"],
      ["ZENODO_ENDPOINT", server.url.replace("//", "//ann:a_secret@")],
    ] as const
  ) {
    const { code, stdout, stderr } = await project.run(
      ["reproduce", "--experiment", "imported", "--force", "download"],
      { HF_ENDPOINT: server.url, ZENODO_ENDPOINT: server.url, [name]: value },
    );
    assertEquals(code, 1);
    assertStringIncludes(unwrapped(stderr), `Cannot use ${name}: it must be `);
    assert(!(stdout + stderr + textBelow(project.path("outputs"))).includes("a_secret"));
  }
  assertEquals(server.asked, []);
});

Deno.test("what files of an archive can't be chosen is said at their line, before and after they are pinned", async () => {
  using project = importing();
  await using server = archiveServer();
  const file = "experiments/imported/experiment.yaml";
  const line = `${file}:13: axes.dataset.hub.download.source.files: `;
  const written = '[{ name: "data/t*.txt" }, { name: README.md }]';
  for (
    const [files, message] of [
      ["[{ name: none.txt }]", 'Cannot take "none.txt" of hf:owner/name@main'],
      [
        "[{ name: '**' }, { name: README.md }]",
        '"README.md" of hf:owner/name@main is chosen twice',
      ],
    ] as const
  ) {
    project.edit(file, written, files);
    const { code, stderr } = await run(project, server, ["reproduce"]);
    assertEquals(code, 2);
    assertStringIncludes(unwrapped(stderr), line + message);
    assertThrows(() => project.read("lock/pins.lock"), Deno.errors.NotFound);
    project.edit(file, files, written);
  }
  await reproduced(project, server);
  project.edit("lock/pins.lock", "t*.txt  2 files", "t*.txt  3 files");
  const damaged = await run(project, server, ["plan"]);
  assertEquals(damaged.code, 2);
  assertStringIncludes(unwrapped(damaged.stderr), `${line}lock/pins.lock must have the files`);
});

Deno.test("Ctrl-C while an archive is asked ends the run with a message, and nothing is pinned", async () => {
  using project = importing();
  const { promise: isAsked, resolve } = Promise.withResolvers<void>();
  const end = new AbortController();
  const server = Deno.serve(
    { port: 0, hostname: "127.0.0.1", signal: end.signal, onListen() {} },
    () => {
      resolve();
      return new Promise<Response>(() => {});
    },
  );
  const child = project.start(["reproduce", "--experiment", "imported"], {
    HF_ENDPOINT: `http://127.0.0.1:${server.addr.port}`,
  });
  await isAsked;
  child.kill("SIGINT");
  const { code, stdout } = await child.output();
  end.abort();
  await server.finished;
  assertEquals(code, 130);
  assertStringIncludes(new TextDecoder().decode(stdout), "interrupted: what is pinned is kept");
  assertThrows(() => project.read("lock/pins.lock"), Deno.errors.NotFound);
});
