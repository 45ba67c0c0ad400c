import { assert, assertEquals, assertStringIncludes, assertThrows } from "@std/assert";
import { join } from "node:path";
import { z } from "zod";
import { loadExperiment } from "../../pipeline/config/experiment.ts";
import { readFiles } from "../../pipeline/config/files.ts";
import { ConfigError } from "../../pipeline/errors.ts";
import { defineStage, type Stage } from "../../pipeline/stage.ts";
import { loadFiles } from "../rig/experiment.ts";
import { toyProject } from "../rig/project.ts";
import { temporaryFolder } from "../rig/temporary.ts";

/** Far above what any case takes, and far below what an unbounded one does. */
const LIMIT_MS = 20_000;

const outputs = { out: { kind: "file", exactness: "exact" } } as const;
const stages = [
  defineStage({
    name: "make",
    params: z.strictObject({ rate: z.number().default(1), any: z.unknown().optional() }),
    inputs: {},
    outputs,
  }),
  defineStage({
    name: "join",
    params: z.strictObject({}),
    inputs: { all: { many: true } },
    outputs,
  }),
] as Stage[];

/** An experiment whose one stage has these params. */
const withParams = (params: string, more = "") =>
  `experiment: x
stages:
  make:
    params: ${params}
profiles: { p: {} }
${more}`;

/** What loading is refused with: one message, in bounded time, that changes no prototype. */
function refusal(load: () => unknown): string {
  const start = performance.now();
  const { message } = assertThrows(load, ConfigError);
  assert(performance.now() - start < LIMIT_MS, "bounded time");
  assert(message.length < 10_000, "a message, not the file");
  assertEquals("polluted" in {}, false, "no prototype is changed");
  return message;
}

const refusedFile = (text: string | Uint8Array, set: readonly string[] = []) =>
  refusal(() => loadFiles({ "experiment.yaml": text }, stages, { set }));

/** As many lines, each made from its number. */
const lines = (count: number, line: (index: number) => string) =>
  Array.from({ length: count }, (_, index) => `${line(index)}\n`).join("");

/** An alias of ten aliases of ten aliases …: 10²⁰ values. */
const BOMB = "a0: &a0 [x, x]\n" +
  lines(20, (i) => `a${i + 1}: &a${i + 1} [${Array(10).fill(`*a${i}`).join(", ")}]`);

const NESTED = "experiments/x/experiment.yaml: lists and maps are nested too deeply";
const TABLE: readonly [what: string, text: string | Uint8Array, message: string][] = [
  ["an empty file", "", "experiments/x/experiment.yaml: must be a mapping, found null"],
  ["a list at the top", "- 1\n", "experiments/x/experiment.yaml: must be a mapping, found [1]"],
  [
    "a scalar at the top",
    "word\n",
    'experiments/x/experiment.yaml: must be a mapping, found "word"',
  ],
  [
    "two documents",
    `${withParams("{}")}---\na: 1\n`,
    "experiments/x/experiment.yaml:6:1: not valid YAML: ",
  ],
  [
    "a tab",
    "experiment: x\nstages:\n\tmake: {}\n",
    'experiments/x/experiment.yaml:3: make: unknown key "make"',
  ],
  [
    "a key twice",
    "experiment: x\nexperiment: x\n",
    "experiments/x/experiment.yaml:2:1: not valid YAML: ",
  ],
  [
    "bytes that are no UTF-8",
    new Uint8Array([0x61, 0x3a, 0x20, 0xff, 0xfe]),
    "Cannot read experiments/x/experiment.yaml: it must be UTF-8 text",
  ],
  [
    "a huge file",
    "#".repeat(10_000_000),
    "Cannot read experiments/x/experiment.yaml: it must have at most 524288 bytes, found more",
  ],
  [
    "an alias that contains itself",
    withParams("{ any: &a [*a] }"),
    "must be nested at most 100 levels deep, never in itself, found more",
  ],
  [
    "an alias bomb",
    withParams("{}", `define:\n${BOMB.replaceAll(/^/gm, "  ")}`),
    "must have at most 4194304 values and characters, aliases written out, found more",
  ],
  [
    "references that expand to very much",
    withParams(
      `[${"$big, ".repeat(20_000)}]`.replace(/^/, "{ any: ").concat(" }"),
      `define: { big: [${"1, ".repeat(5000)}] }\n`,
    ),
    "must have at most 4194304 values and characters, aliases written out, found more\n  from " +
    "experiments/x/experiment.yaml:4: stages.make.params.any.",
  ],
  ["lists in lists in lists", "x: " + "[".repeat(250_000) + "]".repeat(250_000), NESTED],
  ["a list opened and not closed", "[".repeat(500_000), NESTED],
  ["lists on one line", "- ".repeat(250_000), NESTED],
  ["keys of keys of keys", "? ".repeat(250_000), NESTED],
  [
    "maps 200 deep",
    withParams(`{ any: ${"{ a: ".repeat(200)}1${" }".repeat(200)} }`),
    "must be nested at most 100 levels deep",
  ],
  [
    "a number that is none",
    withParams("{ rate: .nan }"),
    "experiments/x/experiment.yaml:4: stages.make.params.rate: must be a finite number, found .nan",
  ],
  [
    "an infinite number in a list",
    withParams("\n      any:\n        - 1\n        - -.inf"),
    "experiments/x/experiment.yaml:7: stages.make.params.any.1: must be a finite number, found -.inf",
  ],
  [
    "half a character",
    withParams('{ any: "\\ud800" }'),
    "experiments/x/experiment.yaml:4: stages.make.params.any: must be whole characters, found half of a " +
    "surrogate pair",
  ],
  [
    "a prototype as a key",
    withParams("{ any: { __proto__: { polluted: 1 } } }"),
    'experiments/x/experiment.yaml:4: stages.make.params.any: must have names as its keys, found "__proto__"',
  ],
  [
    "a prototype as a stage",
    "experiment: x\nstages: { __proto__: { params: { polluted: 1 } } }\nprofiles: { p: {} }\n",
    'experiments/x/experiment.yaml:2: stages: must have names as its keys, found "__proto__"',
  ],
  [
    "a merge key",
    withParams("{}", "define:\n  a: &a { b: 1 }\n  c: [{ d: 1 }, {\n    <<: *a }]\n"),
    "experiments/x/experiment.yaml:9: define.c.1.<<: YAML 1.2 has no merge keys; write the entries out, each " +
    "may be an alias",
  ],
  [
    "a constructor as a param",
    withParams("{ constructor: { prototype: { polluted: 1 } } }"),
    'experiments/x/experiment.yaml:4: stages.make.params.constructor: unknown key "constructor"',
  ],
  ["a name of half a million letters", `${"a".repeat(500_000)}: 1\n`, 'unknown key "aaaa'],
  [
    "9,000 stages that take from each other",
    `experiment: x
stages:
${lines(9000, (i) => `  s${i}: { stage: join, inputs: { all: s${i + 1}.out } }`)}profiles: { p: {} }
`,
    "experiments/x/experiment.yaml:2: stages: must have at most 1000 entries, found {",
  ],
  [
    "a stage of 21 axes",
    withParams("{}").replace("make:", `make:\n    each: [${lines(21, (i) => `a${i},`)}]`),
    "stages.make.each: must have at most 20 entries, found [",
  ],
  ["50,000 unknown keys", lines(50_000, (i) => `k${i}: 1`), "and 49983 more"],
  [
    "a grid of 10¹⁰ instances",
    `experiment: x
grid:
  a: [
${lines(20_000, (i) => `    ${i},`)}  ]
  b: [
${lines(20_000, (i) => `    ${i},`)}  ]
  c: [
${lines(25, (i) => `    ${i},`)}  ]
stages:
  make: { each: [a, b, c] }
profiles: { p: {} }
`,
    "experiments/x/experiment.yaml:40035: stages.make.each: a run may have at most 1000000 instances, and the " +
    "grid gives this stage 10000000000 (a 20000 × b 20000 × c 25)",
  ],
  [
    "10⁸ inputs",
    `experiment: x
grid:
  a: [
${lines(10_000, (i) => `    ${i},`)}  ]
  b: [
${lines(10_000, (i) => `    ${i},`)}  ]
stages:
  make: { each: [a] }
  join: { each: [b], inputs: { all: make.out } }
profiles: { p: {} }
`,
    "experiments/x/experiment.yaml:20009: stages.join.inputs.all: all instances together may have at most " +
    "10000000 inputs, found more",
  ],
];

for (const [what, text, message] of TABLE) {
  Deno.test(`${what} is one message in bounded time`, () => {
    assertStringIncludes(refusedFile(text), message);
  });
}

Deno.test("--set changes no prototype and nests no deeper than a file", () => {
  const cases: [string, string][] = [
    ["make.constructor.prototype.polluted=1", 'unknown key "constructor"'],
    ["make.any.__proto__.polluted=1", 'must have names as its keys, found "__proto__"'],
    ["make.any={ __proto__: { polluted: 1 } }", 'must have names as its keys, found "__proto__"'],
    ["__proto__.polluted=1", "the path must be grid.AXIS, define.NAME, STAGE.PARAM or"],
    ["constructor.prototype.polluted=1", "the path must be grid.AXIS, define.NAME"],
    ["define.__proto__.polluted=1", 'must have names as its keys, found "__proto__"'],
    ["define.constructor.prototype.polluted=1", "no param refers to $constructor"],
    ["grid.__proto__=1", 'no grid axis "__proto__"'],
    [`make.any.${"a.".repeat(50_000)}polluted=1`, "must be nested at most 100 levels deep"],
    [`make.any=${"[".repeat(50_000)}`, "the value must be YAML, and is lists and maps are nested"],
    [`make.${"a".repeat(1_000_000)}=1`, 'unknown key "aaaa'],
    ["make.any=&a [*a]", "the value must be nested at most 100 levels deep"],
    ["make.any=.inf", "the value must be a finite number, found .inf"],
    ["make.any=[", "the value must be YAML, and is not valid YAML"],
  ];
  for (const [option, message] of cases) {
    assertStringIncludes(refusedFile(withParams("{}"), [option]), message);
  }
});

Deno.test("a later --set wins over an earlier one, also where it goes deeper", () => {
  const of = (...set: string[]) =>
    loadFiles({ "experiment.yaml": withParams("{}") }, stages, { set }).graph[0]!.params;
  assertEquals(of("make.any=1", "make.any.b=2"), { any: { b: 2 }, rate: 1 });
  assertEquals(of("make.any.b=2", "make.any=1"), { any: 1, rate: 1 });
  assertEquals(of("make.any.b=2", "make.any.c=1"), { any: { b: 2, c: 1 }, rate: 1 });
});

Deno.test("an include is a file of the project and another than the experiment's own", () => {
  const of = (path: string) =>
    refusedFile(withParams("{}", `include:\n  more: ${JSON.stringify(path)}\n`));
  const at = "experiments/x/experiment.yaml:7: include.more: ";
  assertEquals(of("experiment.yaml"), `${at}must be another file than the experiment's own`);
  assertEquals(of("./a/../experiment.yaml"), `${at}must be another file than the experiment's own`);
  for (const path of ["../../../etc/passwd", "/etc/passwd", "a/../../../../x.yaml"]) {
    assertEquals(of(path), `${at}must be a file of the project, found "${path}"`);
  }
  assertEquals(of("gone.yaml"), `${at}gone.yaml must be a file, found none`);
  assertEquals(of("."), `${at}. must be a file, found a folder`);
  assertStringIncludes(of("a".repeat(100_000)), "cannot be read: File name too long");
});

Deno.test("names of ten million letters are refused by one short message", () => {
  const root = temporaryFolder();
  Deno.mkdirSync(join(root, "experiments/x"), { recursive: true });
  Deno.writeTextFileSync(join(root, "experiments/x/experiment.yaml"), withParams("{}"));
  const long = "a".repeat(10_000_000);
  const load = (name: string, profile: string, mirror?: string) => () =>
    loadExperiment(readFiles(name, root), {
      root,
      profile,
      mirror,
      set: [],
      stages: new Map(stages.map((stage) => [stage.name, stage])),
    });
  assertStringIncludes(refusal(load(long, "p")), "Cannot find experiments/aaaa");
  assertStringIncludes(refusal(load("x", long)), 'profiles: no profile "aaaa');
  assertStringIncludes(refusal(load("x", "p", long)), "Cannot use --mirror aaaa");
  for (const name of ["../experiments/x", "..", "", "X", "__proto__", "x.yaml", "x\0"]) {
    assertStringIncludes(refusal(load(name, "p")), "Cannot find experiments/");
  }
  for (const profile of ["__proto__", "constructor", "toString"]) {
    assertStringIncludes(refusal(load("x", profile)), `no profile "${profile}"; known: p`);
  }
});

/** Puts something that is no plain file where `path` says. */
const PLACES: readonly [what: string, place: (path: string) => Promise<unknown>, found: string][] =
  [
    [
      "a named pipe",
      (path) => new Deno.Command("mkfifo", { args: [path] }).output(),
      "must be a file, found a named pipe",
    ],
    ["a folder", (path) => Deno.mkdir(path), "must be a file, found a folder"],
    ["a device", (path) => Deno.symlink("/dev/zero", path), "must be a file, found a device"],
    ["a link to nothing", (path) => Deno.symlink("nowhere", path), "must be a file, found none"],
    ["a link to itself", (path) => Deno.symlink(path, path), "cannot be read: "],
  ];

for (const [what, place, found] of PLACES) {
  Deno.test(`${what} as an experiment, or included by one, is one message at once`, async () => {
    using project = toyProject();
    Deno.mkdirSync(project.path("experiments/odd"));
    await place(project.path("experiments/odd/experiment.yaml"));
    project.edit(
      "experiments/toy/experiment.yaml",
      "axes:\n",
      "include: { odd: ../odd/experiment.yaml }\naxes:\n",
    );
    const cases = [
      ["odd", `Cannot read experiments/odd/experiment.yaml: it ${found}`],
      ["toy", `experiments/toy/experiment.yaml:2: include.odd: ../odd/experiment.yaml ${found}`],
    ] as const;
    for (const [experiment, message] of cases) {
      const child = project.start(["plan", "--experiment", experiment]);
      const timer = setTimeout(() => child.kill("SIGKILL"), LIMIT_MS);
      const { code, stderr } = await child.output();
      clearTimeout(timer);
      assertEquals(code, 2, "it ended by itself");
      const text = new TextDecoder().decode(stderr);
      assert(text.startsWith(message), text);
      assertEquals(text.trimEnd().split("\n").length, 1, text);
    }
  });
}

Deno.test({
  name: "an experiment that this user may not read is one message",
  // Root may read everything.
  ignore: Deno.uid() === 0,
  fn() {
    const root = temporaryFolder();
    Deno.mkdirSync(join(root, "experiments/x"), { recursive: true });
    Deno.writeTextFileSync(join(root, "experiments/x/experiment.yaml"), "x: 1\n", { mode: 0o000 });
    const load = () =>
      loadExperiment(readFiles("x", root), {
        root,
        profile: "p",
        set: [],
        stages: new Map(),
        mirror: undefined,
      });
    assertStringIncludes(
      refusal(load),
      "Cannot read experiments/x/experiment.yaml: it cannot be read: ",
    );
  },
});
