/**
 * Which files of elsewhere a project's modules lead to, and a command line names.
 *
 * @module
 */
import { assertEquals } from "@std/assert";
import { join } from "node:path";
import { filesNamed, importedBesides } from "../../pipeline/cli/imported.ts";

function folder(files: Readonly<Record<string, string>>) {
  const root = Deno.makeTempDirSync({ prefix: "lockstep-" });
  const path = (name: string) => join(root, name);
  for (const [name, text] of Object.entries(files)) {
    Deno.mkdirSync(join(path(name), ".."), { recursive: true });
    Deno.writeTextFileSync(path(name), text);
  }
  const names = (paths: Iterable<string>) =>
    [...paths].map((found) => found.slice(root.length + 1)).sort();
  return { path, names, [Symbol.dispose]: () => Deno.removeSync(root, { recursive: true }) };
}

Deno.test("what modules import from elsewhere is found, by whatever path or name, and what that imports", () => {
  using at = folder({
    "project/main.ts": [
      `import { a } from "../a.ts";`,
      `export * from '../b%20b.mjs';`,
      `import "./.hidden/c.ts"`,
      `const load = () => import(\n  "../d.ts");`,
      `import data from "../data.json" with { type: "json" };`,
      `import { e } from "shared/e.ts"; import f from "effs";`,
      `import g from "parent/g.ts"; import z from "zod"; import none from "../none.ts";`,
      `// from "//host/x.ts", from "./%zz.ts" and from "./%00.ts"`,
      `import own from "./own.ts"; import n from "node:fs"; import far from "https://host/far.ts";`,
    ].join("\n"),
    "project/own.ts": "",
    "project/deno.json": JSON.stringify({
      imports: { "shared/": "../shared/", "effs": "../f.ts", "zod": "npm:zod@4" },
    }),
    "deno.json": JSON.stringify({ imports: { "parent/": "./shared/" } }),
    "a.ts": `import type { H } from "./h.ts"; import a from "./a.ts";`,
    "b b.mjs": "",
    "project/.hidden/c.ts": "",
    "d.ts": `const i = require("./i.cjs");`,
    "data.json": "[]",
    "shared/e.ts": `import "../project/main.ts";`,
    "shared/g.ts": "",
    "f.ts": "",
    "h.ts": "",
    "i.cjs": "",
    "unused.ts": "",
  });
  const modules = ["project/main.ts", "project/own.ts"].map(at.path);
  const configs = ["project/deno.json", "deno.json"].map(at.path);
  assertEquals(at.names(importedBesides(modules, configs)), [
    "a.ts",
    "b b.mjs",
    "d.ts",
    "data.json",
    "f.ts",
    "h.ts",
    "i.cjs",
    "project/.hidden/c.ts",
    "shared/e.ts",
    "shared/g.ts",
  ]);
});

Deno.test("files that Deno's own options name are found", () => {
  using at = folder({ "deno.json": "{}", "map.json": "{}", "main.ts": "", "sub/x": "" });
  const line = [
    "deno",
    "run",
    "-A",
    "--config",
    "deno.json",
    `--import-map=${at.path("map.json")}`,
  ];
  const found = filesNamed(
    [...line, "main.ts", "reproduce", "--outputs", "sub", ""].join("\0"),
    at.path(""),
  );
  assertEquals(at.names(found), ["deno.json", "main.ts", "map.json"]);
});
