import { assert, assertEquals } from "@std/assert";
import { basename, dirname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { project } from "../main.ts";
import { ENCODINGS, FUSIONS } from "../models/names.ts";

const ROOT = fileURLToPath(new URL("../", import.meta.url));

/** What a folder's modules may import of the project's own besides themselves: folders, files. */
const MAY_IMPORT: Readonly<Record<string, readonly string[]>> = {
  pipeline: [],
  models: [],
  // There is one module of random streams, and it is tensors' neighbour.
  data: ["models/random.ts"],
  // It writes what stages hand each other, and stages' failures; nothing depends on a backend.
  analysis: [
    ...["pipeline/errors.ts", "pipeline/stage.ts", "pipeline/suggestion.ts", "pipeline/html.ts"],
    ...["models/portable_math.ts", "models/random.ts"],
  ],
  stages: ["analysis", "pipeline", "models", "data"],
  doctor: ["pipeline", "models"],
  "main.ts": ["pipeline", "stages", "doctor"],
};

function sources(place: string): string[] {
  const path = join(ROOT, place);
  if (Deno.statSync(path).isFile) return [path];
  return [...Deno.readDirSync(path)].flatMap((entry) => {
    const name = `${place}/${entry.name}`;
    if (entry.isDirectory) return sources(name);
    return name.endsWith(".ts") ? [join(ROOT, name)] : [];
  });
}

function imports(file: string): string[] {
  const text = Deno.readTextFileSync(file).replace(/\/\*[\s\S]*?\*\/|\/\/.*$/gm, "");
  return [...text.matchAll(/(?:from|import)\s*\(?\s*"([^"]+)"/g)].map((match) => match[1]!);
}

Deno.test("imports point one way: main to stages to analysis, pipeline, models and data", () => {
  const wrong: string[] = [];
  let seen = 0;
  for (const [place, allowed] of Object.entries(MAY_IMPORT)) {
    for (const file of sources(place)) {
      for (const imported of imports(file).filter((name) => name.startsWith("."))) {
        const target = relative(ROOT, join(dirname(file), imported));
        const top = target.split("/")[0]!;
        seen++;
        if (top !== place && !allowed.includes(top) && !allowed.includes(target)) {
          wrong.push(`${relative(ROOT, file)} → ${target}`);
        }
      }
    }
  }
  assertEquals(wrong, []);
  assertEquals(seen > 100, true, "the test found the project's imports");
});

/** The files of stages: declarations, or runs. */
function stages(kind: "declarations" | "runs"): string[] {
  return sources("stages").filter((file) =>
    dirname(file) === join(ROOT, "stages") && file.endsWith(".run.ts") === (kind === "runs")
  );
}

Deno.test("a stage imports no other, and a run its own declaration for types alone", () => {
  const wrong = [...stages("declarations"), ...stages("runs")].flatMap((file) => {
    const own = `./${basename(file).replace(".run.ts", ".ts")}`;
    const text = Deno.readTextFileSync(file);
    return imports(file).filter((imported) => /^\.\/[\w.]+\.ts$/.test(imported))
      .filter((imported) =>
        !(file.endsWith(".run.ts") && imported === own &&
          new RegExp(`import type [^;]*"${own}"`).test(text) &&
          text.split(`"${own}"`).length === 2)
      )
      .map((imported) => `${relative(ROOT, file)} → ${imported}`);
  });
  assertEquals(wrong, []);
});

Deno.test("every stage has a declaration and a run", () => {
  const names = (kind: "declarations" | "runs") =>
    stages(kind).map((file) => basename(file).replace(/(\.run)?\.ts$/, "")).sort();
  assertEquals(names("runs"), names("declarations"));
  assertEquals(names("runs"), Object.keys(project.stages).sort());
});

Deno.test("the command line loads no tensors, no charts and no run of a stage", async () => {
  const { stdout } = await new Deno.Command(Deno.execPath(), {
    args: ["info", "--json", join(ROOT, "main.ts")],
    stdout: "piped",
    stderr: "null",
  }).output();
  const { roots, modules } = JSON.parse(new TextDecoder().decode(stdout)) as {
    roots: string[];
    modules: {
      specifier: string;
      dependencies?: { code?: { specifier: string }; npmPackage?: string }[];
    }[];
  };
  const byName = new Map(modules.map((module) => [module.specifier, module]));
  const loaded = [...roots];
  for (const specifier of loaded) {
    // It computes, and is loaded for its command alone.
    if (specifier.endsWith("/doctor/doctor.ts")) continue;
    for (const { code } of byName.get(specifier)?.dependencies ?? []) {
      if (code !== undefined && !loaded.includes(code.specifier)) loaded.push(code.specifier);
    }
  }
  assert(loaded.some((specifier) => specifier.endsWith("/stages/train.ts")), "it found the stages");
  const heavy = /@tensorflow|npm:vega|\/vega\/|resvg|fontsource|hyparquet|tar-stream|\.run\.ts$/;
  assertEquals(loaded.filter((specifier) => heavy.test(specifier)), []);
});

Deno.test("only models, stages and tests know tfjs", () => {
  const wrong = ["pipeline", "data", "main.ts"].flatMap(sources).filter((file) =>
    imports(file).some((imported) => imported.includes("tensorflow"))
  );
  assertEquals(wrong.map((file) => relative(ROOT, file)), []);
});

/** What only a paper has: its title, its authors, its data sets and the values of its axes. */
const OF_A_PAPER = new RegExp(
  [
    ...[
      "fusion matters",
      "look harder",
      "unordered composition",
      "hallam",
      "iyyer",
      "paper [abc]\\b",
    ],
    ...["ag_?news", "arxiv", "imdb", "shakespeare", "enwik8", "text8", "gutenberg", "4_bypass"],
    ...[...FUSIONS, ...ENCODINGS].filter((name) => name.includes("_")),
    ...["sinusoidal", "gate-scalar", "nbow", "word.?dropout"],
  ].join("|"),
  "i",
);

Deno.test("no stage, no part of the engine and none of the analysis names a paper", () => {
  // A stage that trains a model has what its model has.
  const files = ["stages", "analysis", "pipeline"].flatMap(sources)
    .filter((file) => !/\/stages\/train\w*(\.run)?\.ts$/.test(file));
  const wrong = files.flatMap((file) =>
    Deno.readTextFileSync(file).split("\n").flatMap((line, index) =>
      OF_A_PAPER.test(line) ? [`${relative(ROOT, file)}:${index + 1}: ${line.trim()}`] : []
    )
  );
  assertEquals(wrong, []);
  assert(files.length > 100, "it found the files");
  const papers = ["fusion", "intensity", "averaging"].map((name) => `experiments/${name}`);
  const named = papers.filter((folder) =>
    [...Deno.readDirSync(join(ROOT, folder))].some(({ name }) =>
      OF_A_PAPER.test(Deno.readTextFileSync(join(ROOT, folder, name)))
    )
  );
  assertEquals(named, papers, "it knows what papers have");
});

Deno.test("models touch no file, clock, network or global randomness", () => {
  const forbidden = /\bMath\.random\b|\bDate\b|\bperformance\.|\bfetch\(|\bDeno\.(?!errors)/;
  const wrong = sources("models").flatMap((file) =>
    Deno.readTextFileSync(file).replace(/\/\*[\s\S]*?\*\/|\/\/.*$/gm, "").split("\n")
      .flatMap((line, index) =>
        forbidden.test(line) ? [`${relative(ROOT, file)}:${index + 1}: ${line.trim()}`] : []
      )
  );
  assertEquals(wrong, []);
});

/** The engine's rooms: each may import those before it, and the contract beside them. */
const ROOMS = [
  "key",
  "store",
  "config",
  "plan",
  "run",
  "gc",
  "provenance",
  "replay",
  "certify",
  "views",
  "selfaudit",
  "cli",
];

/** An import of one room's file by another's; no room is the contract beside them. */
interface Arrow {
  readonly from: string;
  readonly target: string;
  readonly rooms: readonly [from: string | undefined, to: string];
}

function arrows(): Arrow[] {
  const roomOf = (path: string) => /^pipeline\/(\w+)\//.exec(path)?.[1];
  return sources("pipeline").flatMap((file) => {
    const from = relative(ROOT, file), own = roomOf(from);
    return imports(file).filter((name) => name.startsWith(".")).flatMap((name) => {
      const target = relative(ROOT, join(dirname(file), name)), to = roomOf(target);
      return to === undefined || to === own ? [] : [{ from, target, rooms: [own, to] as const }];
    });
  });
}

Deno.test("the engine's rooms import one way, and views and the command line are never imported", () => {
  const found = arrows();
  const wrong = found.filter(({ rooms: [from, to] }) =>
    from === undefined || !ROOMS.includes(from) || !(ROOMS.indexOf(to) < ROOMS.indexOf(from))
  );
  assertEquals(wrong.map(({ from, target }) => `${from} → ${target}`), []);
  assertEquals(found.length > 100, true, "the test found the rooms' imports");
});

/** The rooms and what each imports, as a Mermaid graph. */
function picture(): string {
  const found = arrows();
  const lines = ROOMS.toReversed().flatMap((room) => {
    const to = ROOMS.filter((other) =>
      found.some(({ rooms }) => rooms[0] === room && rooms[1] === other)
    );
    return to.length === 0 ? [] : [`  ${room} --> ${to.toReversed().join(" & ")}`];
  });
  return ["```mermaid", "flowchart TD", ...lines, "```"].join("\n");
}

Deno.test("the picture of the engine's rooms in the docs is what their imports give", () => {
  const text = Deno.readTextFileSync(join(ROOT, "docs/design.md"));
  const found = /<!-- rooms -->\n\n([\s\S]*?)\n\n<!-- end of rooms -->/.exec(text)?.[1];
  assertEquals(found, picture(), `put this there:\n${picture()}`);
});
