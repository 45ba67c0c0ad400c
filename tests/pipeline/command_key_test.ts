import {
  assert,
  assertEquals,
  assertMatch,
  assertNotEquals,
  assertStringIncludes,
} from "@std/assert";
import { parsePackages, versionsOf } from "../../pipeline/run/executor/command/debian.ts";
import { alternativesIn, examineFiles } from "../../pipeline/run/executor/command/examine.ts";
import { hasCage } from "../rig/execute_command.ts";
import { type TestProject, toyProject, unwrapped } from "../rig/project.ts";
import { temporaryFolder } from "../rig/temporary.ts";

const ignore = !await hasCage();
const test = (name: string, fn: () => Promise<void>) => Deno.test({ name, ignore, fn });

const FOLDER = "experiments/cmd";
const FILE = `${FOLDER}/experiment.yaml`;

/** A project with an experiment `cmd`: two words, each repeated by a script, and all of them gathered. */
function commandProject(): TestProject {
  const project = toyProject();
  const library = project.path("library");
  project.write("library/part.txt", "part\n");
  project.write(
    FILE,
    `experiment: cmd
axes:
  name: { ann: { word: { text: Ann } }, bob: { word: { text: Bob } } }
grid: { name: [ann, bob] }
stages:
  word: { each: [name] }
  twice:
    each: [name]
    command:
      program: /bin/bash
      arguments: [twice.sh, "2"]
      files: [twice.sh, lock.txt]
      packages: [bash]
      folders: [${library}]
      variables: { WORDS: "few" }
      outputs: { text: { exactness: exact }, parts: { kind: folder, exactness: numeric } }
    inputs: { text: word.text }
    params: { rate: 0.5 }
    resources: { time: 10m }
  all:
    command:
      program: /usr/bin/env
      arguments: [sort, -r, /stage/inputs/texts/0, /stage/inputs/texts/1, -o, /stage/outputs/text]
      outputs: { text: { exactness: exact } }
    inputs: { texts: [twice.text] }
profiles: { smoke: {} }
`,
  );
  project.write(
    `${FOLDER}/twice.sh`,
    `read -r request
for i in $(seq $1); do cat /stage/inputs/text; done > /stage/outputs/text
echo >> /stage/outputs/text
mkdir /stage/outputs/parts/a && cat ${library}/part.txt > /stage/outputs/parts/a/b
echo '{"type": "metric", "name": "times", "value": 2}'
`,
  );
  project.write(`${FOLDER}/lock.txt`, "one==1\n");
  return project;
}

const EXPERIMENT = ["--experiment", "cmd"];
const BOTH = ["twice/ann", "twice/bob"];

test("commands feed each other, each with its files and folders, and are made once", async () => {
  using project = commandProject();
  assertEquals(await project.executed(...EXPERIMENT), ["all", ...BOTH, "word/ann", "word/bob"]);
  assertEquals(await project.executed(...EXPERIMENT), []);
  const to = project.path("all.txt");
  await project.run(["export", "all", ...EXPERIMENT, "--to", to]);
  assertEquals(Deno.readTextFileSync(to), "BobBob\nAnnAnn\n");
  assertEquals((await project.run(["audit"])).code, 0);
});

test("each edit of what a command rests on runs just its instances again", async () => {
  using project = commandProject();
  await project.executed(...EXPERIMENT);
  const edits: readonly (readonly [string, () => void, readonly string[], string])[] = [
    ["a script", () => project.edit(`${FOLDER}/twice.sh`, "read -r", "read  -r"), BOTH, "code"],
    ["a lock file", () => project.write(`${FOLDER}/lock.txt`, "one==2\n"), BOTH, "code"],
    [
      "a variable",
      () => project.edit(FILE, 'WORDS: "few"', 'WORDS: "many"'),
      BOTH,
      "command.variables.WORDS",
    ],
    [
      "a folder's file",
      () => project.write("library/other.txt", ""),
      BOTH,
      `folders.${project.path("library")}`,
    ],
    [
      "a folder's empty folder",
      () => Deno.mkdirSync(project.path("library/empty")),
      BOTH,
      `folders.${project.path("library")}`,
    ],
    ["a param", () => project.edit(FILE, "rate: 0.5", "rate: 0.25"), BOTH, "params.rate"],
    [
      "an output",
      () => project.edit(FILE, "exactness: numeric", "exactness: exact"),
      BOTH,
      "outputs.parts",
    ],
    [
      "what it asks",
      () => project.edit(FILE, "packages: [bash]", "asks: { more: [-c, 'echo more'] }"),
      BOTH,
      "asks.more",
    ],
    [
      "an argument",
      () => project.edit(FILE, 'twice.sh, "2"', 'twice.sh, "3"'),
      ["all", ...BOTH],
      "command.arguments[1]",
    ],
    ["its time", () => project.edit(FILE, "time: 10m", "time: 9m"), [], ""],
    ["a file's mode", () => Deno.chmodSync(project.path(`${FOLDER}/twice.sh`), 0o700), [], ""],
    ["a comment in the YAML", () => project.edit(FILE, "profiles:", "# more\nprofiles:"), [], ""],
    ["another file", () => project.write(`${FOLDER}/other.sh`, "exit 1\n"), [], ""],
  ];
  for (const [what, edit, runs, ingredient] of edits) {
    edit();
    const why = await project.run(["why", "twice/ann", ...EXPERIMENT]);
    if (ingredient !== "") assertStringIncludes(why.stdout, `\n  ${ingredient}\n`, what);
    else assertStringIncludes(why.stdout, "is up to date", what);
    assertEquals(await project.executed(...EXPERIMENT), runs, what);
  }
});

test("an audit file holds a command's files, which a checkout must have, and runs no program", async () => {
  using project = commandProject();
  await project.executed(...EXPERIMENT);
  const file = project.path("run.tar");
  const bundled = await project.run(["bundle", "cmd", "--to", file]);
  assertEquals(bundled.code, 0, bundled.stderr);
  const verified = await project.run(["verify", file, "--checkout"]);
  assertEquals(verified.code, 0, verified.stdout);
  project.edit(`${FOLDER}/twice.sh`, "read -r", "read  -r");
  const other = await project.run(["verify", file, "--checkout"]);
  assertEquals(other.code, 1);
  assertStringIncludes(unwrapped(other.stdout), "code of stage twice, of twice/ann: must be");
  const again = await project.run(["verify", file, "twice/ann"]);
  assertStringIncludes(
    unwrapped(again.stdout),
    "twice/ann, run again: must be possible, found a program, which reproduce alone runs",
  );
});

test("a program is not certified, and that is said", async () => {
  using project = commandProject();
  await project.executed(...EXPERIMENT);
  const ended = await project.run(["certify", "twice/ann", ...EXPERIMENT]);
  assertEquals(ended.code, 1);
  assertStringIncludes(unwrapped(ended.stdout + ended.stderr), "Cannot certify a program");
});

test("why names the script behind a command that changed", async () => {
  using project = commandProject();
  await project.executed(...EXPERIMENT);
  project.edit(`${FOLDER}/twice.sh`, "read -r", "read  -r");
  const { stdout } = await project.run(["why", "twice/ann", ...EXPERIMENT]);
  assertStringIncludes(stdout, "source changed: experiments/cmd/twice.sh");
  assert(!stdout.includes("source changed: experiments/cmd/lock.txt"));
});

test("a command is the same on another day, in another folder and by another user's variables", async () => {
  using project = commandProject();
  project.edit(FILE, `      folders: [${project.path("library")}]\n`, "");
  project.edit(
    `${FOLDER}/twice.sh`,
    ` && cat ${project.path("library")}/part.txt`,
    " && echo part",
  );
  using other = commandProject();
  for (const name of [FILE, `${FOLDER}/twice.sh`]) other.write(name, project.read(name));
  await project.executed(...EXPERIMENT);
  await other.executed(...EXPERIMENT);
  const lock = "lock/cmd.smoke.lock";
  assertEquals(other.read(lock), project.read(lock));
  const env = { LD_PRELOAD: "/nothing.so", PYTHONPATH: "/tmp", TZ: "Asia/Tokyo" };
  const ended = await other.run(["reproduce", "--locked", "--force", "**", ...EXPERIMENT], env);
  assertEquals(ended.code, 0, ended.stdout + ended.stderr);
});

test("what is wrong with a command is said at its line before anything runs", async () => {
  using project = commandProject();
  const good = project.read(FILE);
  const wrong: readonly (readonly [string, string, string])[] = [
    [
      "program: /bin/bash",
      "program: /usr/bin/bush",
      "twice.command.program: /usr/bin/bush must be a program, found nothing",
    ],
    [
      "program: /bin/bash",
      "program: bash",
      "bash must be an absolute path, or one of the command's files",
    ],
    ["program: /bin/bash", "program: /etc/passwd", "/etc/passwd must be executable, and is not"],
    ["program: /bin/bash", "program: lock.txt", "lock.txt is the program: it must be executable"],
    [
      "program: /bin/bash",
      "program: twice.sh",
      "twice.sh is a script: name what runs it as the program",
    ],
    [
      "packages: [bash]",
      "packages: [python3-torches]",
      "packages.0: python3-torches must be installed, and is not; apt-get install",
    ],
    [
      "files: [twice.sh, lock.txt]",
      "files: [twice.sh, luck.txt]",
      "files.1: experiments/cmd/luck.txt must be a file, found nothing",
    ],
    [
      "files: [twice.sh, lock.txt]",
      "files: [twice.sh, ../../main.ts]",
      "must be a file below the experiment's folder",
    ],
    [
      "files: [twice.sh, lock.txt]",
      "files: [twice.sh, link/passwd]",
      "experiments/cmd/link/passwd must be a file, found a symbolic link",
    ],
    ["files: [twice.sh, lock.txt]", "files: [twice.sh, twice.sh]", "is listed twice"],
    [
      `folders: [${project.path("library")}]`,
      "folders: [/opt/no/such]",
      "folders.0: /opt/no/such is not there",
    ],
    ["folders: [", "folders: [/etc, ", "must be a folder of its own"],
    [
      "packages: [bash]",
      "asks: { torch: [-c, 'echo no torch >&2; exit 1'] }",
      "asks.torch: /bin/bash -c echo no torch >&2; exit 1 must print",
    ],
    ["      outputs: { text: { exactness: exact } }", "      outputs: {}", "must have an output"],
    ["time: 10m", "time: 30d", "must be a time such as 90m, 2h30m or 1d, 20d at most"],
    [
      "    command:\n      program: /usr/bin/env",
      "    stage: word\n    command:\n      program: /usr/bin/env",
      "it must not have a stage definition",
    ],
    ["time: 10m", "minutes: 10", 'unknown key "minutes"'],
    ["  all:\n", "  steps:\n", 'there is a stage "steps" in main.ts'],
  ];
  project.write(`${FOLDER}/twice.sh`, "#!/bin/bash\n");
  Deno.symlinkSync("/etc", project.path(`${FOLDER}/link`));
  Deno.chmodSync(project.path(`${FOLDER}/twice.sh`), 0o755);
  for (const [from, to, message] of wrong) {
    project.write(FILE, good);
    project.edit(FILE, from, to);
    const ended = await project.run(["plan", ...EXPERIMENT]);
    assertEquals(ended.code, 2, `${to}: ${ended.stdout}`);
    assertMatch(ended.stderr, /^experiments\/cmd\/experiment\.yaml:\d+: /);
    assertStringIncludes(unwrapped(ended.stderr), message);
  }
});

test("where there is no cage a command is refused; with --uncaged it runs and is marked", async () => {
  using project = commandProject();
  project.edit(FILE, "/stage/inputs/texts/0, /stage/inputs/texts/1", "../inputs/texts/0");
  project.edit(FILE, "/stage/outputs/text]", "../outputs/text]");
  project.write(
    `${FOLDER}/twice.sh`,
    "cat ../inputs/text > ../outputs/text; [ -d /stage ] || echo 1 > ../outputs/parts/free\n",
  );
  const without = { PATH: "/nowhere" };
  const ended = await project.run(["reproduce", ...EXPERIMENT], without);
  assertEquals(ended.code, 2);
  assertStringIncludes(
    unwrapped(ended.stderr),
    "stages.twice.command: a command must run in a cage, and bubblewrap is not installed (Debian: " +
      "apt-get install bubblewrap); or give --uncaged",
  );
  const caged = await project.executed(...EXPERIMENT);
  assertEquals(caged, ["all", ...BOTH, "word/ann", "word/bob"]);
  const facts = () => project.read("outputs/trace/runs.js");
  assert(!facts().includes("without a cage"));
  // What a cage made is not what was made without: each has its key.
  const free = await project.run(["reproduce", "--uncaged", "--json", ...EXPERIMENT], without);
  assertEquals(free.code, 0, free.stdout + free.stderr);
  assertEquals(
    free.events.filter(({ event }) => event === "executed").length,
    3,
  );
  assertStringIncludes(facts(), "; twice without a cage; all without a cage");
  assertStringIncludes(project.read("outputs/trace/index.html"), "<code>cage</code>");
});

test("an interrupted engine, and one that is killed, leave no program running", async () => {
  for (const [signal, code] of [["SIGINT", 130], ["SIGKILL", 137]] as const) {
    using project = commandProject();
    const name = `lockstep-runs-${crypto.randomUUID()}`;
    project.write(`${FOLDER}/twice.sh`, `echo begun; (exec -a ${name} sleep 1000) & sleep 1000\n`);
    const engine = project.start(["reproduce", "--json", ...EXPERIMENT]);
    await until(() => isRunning(name));
    engine.kill(signal);
    assertEquals((await engine.output()).code, code);
    await until(() => !isRunning(name));
  }
});

/** Waits for something to hold, for half a minute. */
async function until(holds: () => boolean): Promise<void> {
  for (let tries = 0; tries < 600 && !holds(); tries++) {
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  assert(holds());
}

/** Whether there is a process whose command line begins with a name. */
function isRunning(name: string): boolean {
  return [...Deno.readDirSync("/proc")].some(({ name: pid }) => {
    try {
      return /^\d+$/.test(pid) && Deno.readTextFileSync(`/proc/${pid}/cmdline`).startsWith(name);
    } catch {
      return false;
    }
  });
}

Deno.test("a package's versions come with those of all that it needs, alternatives and providers too", () => {
  const packages = parsePackages(`Package: a
Status: install ok installed
Architecture: amd64
Version: 1.0-1
Depends: b (>= 2), c | d,
 virtual:any

Package: b
Status: install ok installed
Architecture: amd64
Version: 2.0
Depends: a

Package: d
Status: install ok installed
Architecture: all
Version: 4

Package: e
Status: install ok installed
Architecture: amd64
Version: 5
Provides: virtual (= 5), other

Package: gone
Status: deinstall ok config-files
Architecture: amd64
Version: 6

Package: unrelated
Status: install ok installed
Architecture: amd64
Version: 7
`);
  const versions = versionsOf(["a"], packages);
  assert(!("missing" in versions));
  assertEquals([...versions], [["a", "1.0-1 amd64"], ["b", "2.0 amd64"], ["d", "4 all"], [
    "e",
    "5 amd64",
  ]]);
  assertEquals(versionsOf(["a", "gone"], packages), { missing: "gone" });
});

Deno.test("a package on hold is installed", () => {
  const packages = parsePackages(`Package: held
Status: hold ok installed
Architecture: amd64
Version: 1

Package: broken
Status: hold ok half-installed
Architecture: amd64
Version: 2
`);
  assertEquals([...packages.installed.keys()], ["held"]);
});

Deno.test("each link of the alternatives counts, a program's as a library's", () => {
  const folder = temporaryFolder();
  const link = (name: string, target: string) => Deno.symlinkSync(target, `${folder}/${name}`);
  Deno.writeTextFileSync(`${folder}/README`, "no link");
  link("libblas.so.3", "/usr/lib/openblas/libblas.so.3");
  link("awk", "/usr/bin/mawk");
  const before = alternativesIn(folder);
  assertEquals(before["alternatives.libblas.so.3"], "/usr/lib/openblas/libblas.so.3");
  Deno.removeSync(`${folder}/awk`);
  link("awk", "/usr/bin/gawk");
  const after = alternativesIn(folder);
  assertNotEquals(after["alternatives"], before["alternatives"]);
  Deno.renameSync(`${folder}/awk`, `${folder}/nawk`);
  assertNotEquals(alternativesIn(folder)["alternatives"], after["alternatives"]);
  const command = {
    ...{ folder: "", program: "/bin/sh", arguments: [], files: [], packages: [], folders: [] },
    ...{ asks: {}, variables: {} },
  };
  const { alternatives } = examineFiles(command, { uncaged: true });
  assertEquals(alternatives, alternativesIn("/etc/alternatives")["alternatives"]);
});
