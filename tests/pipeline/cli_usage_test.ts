import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { COMMAND_NAMES } from "../../pipeline/cli/commands.ts";
import { toyProject } from "../rig/project.ts";

Deno.test("wrong options are refused with a near name", async () => {
  using project = toyProject();
  const table: [string[], string][] = [
    [["reproduse"], 'no such command; did you mean "reproduce"?'],
    [["reproduce", "--profil", "x"], "no such option; did you mean --profile?"],
    [["reproduce", "--repair"], "it is an option of audit"],
    [["reproduce", "--profile", "smok"], 'no profile "smok"; did you mean "smoke"?'],
    [["reproduce", "--experiment", "tyo"], 'no experiment "tyo"; did you mean "toy"?'],
    [["reproduce", "--jobs", "0"], "it must be a whole number from 1"],
    [["reproduce", "--backend", "wsam"], 'did you mean "wasm"?'],
    [["reproduce", "--set", "steps"], "it must have the form path=value"],
    [["reproduce", "--set", "stepz.rate=2"], 'did you mean "steps"?'],
    [["reproduce", "--set", "steps.rate=fast"], "--set steps.rate=fast: must be a number, found"],
    [
      ["reproduce", "--set", "steps.rtae=2"],
      '--set steps.rtae=2: unknown key "rtae"; did you mean "rate"?',
    ],
    [
      ["plan", "--set", "name.bbo.word.text=x"],
      '--set name.bbo.word.text=x: "bbo" is no value of grid.name; did you mean "bob"?',
    ],
    [
      ["plan", "--set", "grid.name=ann", "--set", "name.bob.word.text=x"],
      '--set name.bob.word.text=x: "bob" is no value of grid.name; known: ann',
    ],
    [["plan", "--set", "grid.sed=1"], 'no grid axis "sed"; did you mean "seed"?'],
    [["plan", "--set", "grid.seed=[]"], "must have at least 1 entry, found []"],
    [["plan", "--set", "define.foo=1"], "--set define.foo=1: no param refers to $foo\n"],
    [
      ["plan", "--set", "steps.rate=$rate", "--set", "define.rtae=1"],
      '--set define.rtae=1: no param refers to $rtae; did you mean "rate"?',
    ],
    [
      ["plan", "--set", "steps.rate=$rate.fast", "--set", "define.rate.fats=1"],
      '--set define.rate.fats=1: no param refers to $rate.fats; did you mean "rate.fast"?',
    ],
    [
      ["plan", "--set", "word.style=1e999"],
      "Cannot use --set word.style=1e999: the value must be a finite number, found .inf",
    ],
    [["reproduce", "--only", "stpes"], "it matches no instance"],
    [["reproduce", "--mirror", "nowhere"], "it must be a folder or a URL"],
    [["reproduce", "train"], "it takes no arguments, found train"],
    [["doctor"], "main.ts must name the module that examines a machine"],
    [["why"], 'Cannot run "why": it needs an instance, e.g. steps/ann/1\n'],
    [["why", "steps/anm/1"], 'no such instance in toy.smoke; did you mean "steps/ann/1"?'],
    [["diff", "HEAD"], "it takes A and B, found HEAD"],
    [["graph", "--format", "dto"], 'it must be one of mermaid, dot; did you mean "dot"?'],
    [["completions", "fishy"], 'the shell must be one of bash, zsh, fish; did you mean "fish"?'],
    [["help", "plna"], 'no such command; did you mean "plan"?'],
  ];
  for (const [args, message] of table) {
    const ended = await project.run(args);
    assertEquals(ended.code, 2, args.join(" "));
    assertStringIncludes(ended.stderr, message, args.join(" "));
    assertEquals(ended.stderr.includes("    at "), false, `${args.join(" ")}: no stack trace`);
  }
});

Deno.test("help describes every command and option in 80 columns", async () => {
  using project = toyProject();
  const overview = await project.run(["--help"]);
  assertEquals(overview.code, 0);
  for (const same of [[], ["-h"], ["help"]]) {
    assertEquals((await project.run(same)).stdout, overview.stdout);
  }
  const texts = [overview.stdout];
  for (const command of COMMAND_NAMES) {
    assertStringIncludes(overview.stdout, `  ${command}`);
    const help = await project.run([command, "--help"]);
    assertEquals(help.code, 0);
    assertStringIncludes(help.stdout, `deno task ${command}`);
    texts.push(help.stdout);
  }
  assertEquals(
    (await project.run(["plan", "-h"])).stdout,
    (await project.run(["help", "plan"])).stdout,
  );
  const long = texts.flatMap((text) => text.split("\n")).filter((line) => line.length > 80);
  assertEquals(long, []);
});

Deno.test("every command is a task, and every task says what it is for", () => {
  const { tasks } = JSON.parse(Deno.readTextFileSync(new URL("../../deno.json", import.meta.url)));
  for (const command of COMMAND_NAMES) {
    // Options of Deno are some commands' own.
    const words = tasks[command]?.command.split(" ").filter((word: string) =>
      !word.startsWith("--")
    );
    assertEquals(words, ["deno", "run", "-A", "main.ts", command]);
  }
  for (const [name, task] of Object.entries<{ description?: string }>(tasks)) {
    assert(task.description, name);
  }
});

Deno.test("help says of an option what it is for with each of its commands", async () => {
  using project = toyProject();
  const helpOf = async (command: string) =>
    (await project.run([command, "--help"])).stdout.replace(/\s+/g, " ");
  assertStringIncludes(await helpOf("push"), "shared cache to take results from or put them into");
  assertStringIncludes(await helpOf("tag"), "--delete remove the tag NAME");
  assertStringIncludes(await helpOf("gc"), "--delete remove what it lists");
  const others = new RegExp(`\\b(${COMMAND_NAMES.join("|")}): `);
  for (const command of ["reproduce", "audit", "certify", "export", "verify"]) {
    assertEquals(others.exec(await helpOf(command))?.[0], undefined, command);
  }
  assertStringIncludes(await helpOf("export"), "export INSTANCE|RUN");
});

Deno.test("help and usage errors load no schemas, no YAML, no database and no stage", async () => {
  const root = new URL("../../", import.meta.url);
  const { stdout } = await new Deno.Command(Deno.execPath(), {
    args: ["info", "--json", new URL("main.ts", root).href],
    stderr: "null",
  }).output();
  const { modules } = JSON.parse(new TextDecoder().decode(stdout)) as {
    modules: {
      specifier: string;
      dependencies?: { isDynamic?: boolean; code?: { specifier: string } }[];
    }[];
  };
  const files = new Map(modules.map((module) => [module.specifier, module]));
  const loaded = new Set<string>();
  const load = (specifier: string): void => {
    if (loaded.has(specifier)) return;
    loaded.add(specifier);
    for (const { isDynamic, code } of files.get(specifier)?.dependencies ?? []) {
      if (!isDynamic && code) load(code.specifier);
    }
  };
  for (
    const name of [
      "main.ts",
      ...["options", "help", "completions"].map((name) => `pipeline/cli/${name}.ts`),
    ]
  ) {
    load(new URL(name, root).href);
  }
  assert(loaded.has(new URL("pipeline/cli/commands.ts", root).href), "the walk found the modules");
  assertEquals([...loaded].filter((name) => /zod|yaml|sqlite|\/stages\//.test(name)), []);
});

Deno.test("--version names the commit that git has checked out, Deno and V8", async () => {
  using project = toyProject();
  const { deno, v8 } = Deno.version;
  assertEquals(
    (await project.run(["--version"])).stdout,
    `lockstep (no git commit), deno ${deno}, V8 ${v8}\n`,
  );
  const git = async (...args: string[]) => {
    const identity = ["-c", "user.name=a", "-c", "user.email=a@b"];
    const command = new Deno.Command("git", { args: ["-C", project.root, ...identity, ...args] });
    const { success, stdout, stderr } = await command.output();
    assert(success, new TextDecoder().decode(stderr));
    return new TextDecoder().decode(stdout).trim();
  };
  await git("init", "--quiet");
  await git("commit", "--quiet", "--allow-empty", "--message", "One");
  const commit = await git("rev-parse", "HEAD");
  const shown = async () => (await project.run(["--version"])).stdout;
  assertStringIncludes(await shown(), `lockstep ${commit.slice(0, 10)}, `);
  await git("pack-refs", "--all");
  assertStringIncludes(await shown(), commit.slice(0, 10), "packed");
  await git("checkout", "--quiet", "--detach");
  assertStringIncludes(await shown(), commit.slice(0, 10), "detached");
});

Deno.test("exit codes distinguish usage and configuration, failures and success", async () => {
  using project = toyProject();
  const code = async (...args: string[]) => (await project.run(args)).code;
  assertEquals(await code("audit"), 1, "nothing was run there");
  assertEquals(await code("reproduce", "--only", "word"), 0);
  assertEquals(await code("reproduce", "--jobs", "many"), 2);
  assertEquals(await code("reproduce", "--set", "steps.fail=true"), 1);
  project.edit("experiments/toy/experiment.yaml", "grid:", "gird:");
  assertEquals(await code("plan"), 2);
});

Deno.test("with --json an error is an object on standard output, and nothing is beside it", async () => {
  using project = toyProject();
  const error = async (...args: string[]) => {
    const ended = await project.run([...args, "--json"]);
    assertEquals(ended.stderr, "", args.join(" "));
    const { event, kind, message } = ended.events.at(-1) as unknown as Record<string, string>;
    assertEquals(event, "error");
    assert(message);
    return [ended.code, kind];
  };
  assertEquals(await error("audit"), [1, "failure"]);
  assertEquals(await error("reproduse"), [2, "usage"]);
  assertEquals(await error("why"), [2, "usage"]);
  assertEquals(await error("plan", "--profile", "none"), [2, "config"]);
  project.edit(
    "main.ts",
    "const project",
    'Object.entries = () => { throw new TypeError("odd"); };\nconst project',
  );
  assertEquals(await error("plan"), [1, "bug"]);
});

Deno.test("without packages and without a network there is one line that ends with what to do", async () => {
  using project = toyProject();
  const env = { DENO_DIR: project.path("empty"), NPM_CONFIG_REGISTRY: "http://127.0.0.1:1" };
  const ended = await project.run(["plan"], env);
  assertEquals(ended.code, 1);
  assertEquals(
    ended.stderr,
    "Cannot load the packages that lock/deno.lock pins: they are not all on this machine, and the " +
      'registry can\'t be reached; run "deno install" once with a network\n',
  );
  assertEquals((await project.run(["plan", "--json"], env)).events.length, 1);
});

Deno.test("an experiment's name given as a profile, a profile's as an experiment, an instance as an operand", async () => {
  using project = toyProject();
  project.write(
    "experiments/other/experiment.yaml",
    project.read("experiments/toy/experiment.yaml").replace("toy", "other"),
  );
  for (
    const [args, message] of [
      [
        ["plan", "--experiment", "slow"],
        'no experiment "slow", but toy has such a profile; did you mean --profile slow?',
      ],
      [
        ["plan", "--profile", "other"],
        'toy has no profile "other", but there is such an experiment; did you mean --experiment other?',
      ],
      [
        ["reproduce", "steps/ann"],
        "it takes no arguments, found steps/ann; did you mean --only steps/ann?",
      ],
    ] as const
  ) {
    const ended = await project.run(args);
    assertEquals(ended.code, 2);
    assertStringIncludes(ended.stderr, message);
  }
});

Deno.test("that the last run took its files from a mirror is said where this one would download others", async () => {
  using project = toyProject();
  project.edit(
    "stages/word.ts",
    "inputs: {},",
    `inputs: {},
  access: () => ({ mirror: true }),
  settle: (params, { mirror }) => ({ ...params, style: mirror ?? "none" }),`,
  );
  Deno.mkdirSync(project.path("files"));
  await project.executed("--mirror", "files");
  const said = async (...args: string[]) =>
    /the last run.*$/.exec((await project.run(args)).stdout.replaceAll(/\s+/g, " "))?.[0]?.trim();
  const from = "the last run took its files from files (--mirror files); this one does not";
  assertEquals(await said("plan"), from);
  assertEquals(await said("plan", "--mirror", "files"), undefined);
  assertEquals(await said("plan", "--mirror", project.path("files")), undefined, "the same folder");
  Deno.mkdirSync(project.path("others"));
  assertEquals(
    await said("plan", "--mirror", "others"),
    "the last run took its files from files (--mirror files); this one takes them from others",
  );
  assertStringIncludes(
    (await project.run(["reproduce", "--locked"])).stdout.replaceAll(/\s+/g, " "),
    from,
  );
  await project.executed();
  assertEquals(
    await said("plan", "--mirror", "others"),
    "the last run took no files from a mirror; this one takes them from others",
  );
});
