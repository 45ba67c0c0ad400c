import { assertEquals } from "@std/assert";
import { dirname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";

const ROOT = fileURLToPath(new URL("../", import.meta.url));

/** What a folder's modules may import of the project's own, besides themselves. */
const MAY_IMPORT: Readonly<Record<string, readonly string[]>> = {
  pipeline: [],
  models: [],
  data: [],
  stages: ["pipeline", "models", "data"],
  "main.ts": ["pipeline", "stages"],
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

Deno.test("imports point one way: main to stages to pipeline, models and data", () => {
  const wrong: string[] = [];
  let seen = 0;
  for (const [place, allowed] of Object.entries(MAY_IMPORT)) {
    for (const file of sources(place)) {
      for (const imported of imports(file).filter((name) => name.startsWith("."))) {
        const target = relative(ROOT, join(dirname(file), imported));
        const top = target.split("/")[0]!;
        seen++;
        if (top !== place && !allowed.includes(top)) {
          wrong.push(`${relative(ROOT, file)} → ${target}`);
        }
      }
    }
  }
  assertEquals(wrong, []);
  assertEquals(seen > 100, true, "the test found the project's imports");
});

Deno.test("stages do not import each other", () => {
  const wrong = sources("stages").filter((file) => dirname(file) === join(ROOT, "stages"))
    .flatMap((file) =>
      imports(file).filter((imported) => /^\.\/\w+\.ts$/.test(imported)).map((imported) =>
        `${relative(ROOT, file)} → ${imported}`
      )
    );
  assertEquals(wrong, []);
});

Deno.test("only models, stages and tests know tfjs", () => {
  const wrong = ["pipeline", "data", "main.ts"].flatMap(sources).filter((file) =>
    imports(file).some((imported) => imported.includes("tensorflow"))
  );
  assertEquals(wrong.map((file) => relative(ROOT, file)), []);
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
