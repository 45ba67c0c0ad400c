import { assertEquals } from "@std/assert";
import { dirname, join } from "node:path";
import { parse } from "@std/yaml";
import { readTokenFile } from "../../data/token_file.ts";
import { download } from "../../stages/download.ts";
import { tokenize } from "../../stages/tokenize.ts";
import { artifact, runStage } from "../rig/run_stage.ts";
import { temporaryFolder } from "../rig/temporary.ts";

const text = Deno.readTextFileSync(new URL("../../docs/data.md", import.meta.url));
const section = text.slice(text.indexOf("## Bring your own"));
const blocks = [...section.matchAll(/```(\w+)(?: (\S+))?\n([\s\S]*?)```/g)]
  .map(([, language, path, content]) => ({ language, path, content: content! }));

interface Dataset {
  readonly download: unknown;
  readonly tokenize?: unknown;
}

Deno.test("the example of an own corpus in docs/data.md runs as it is there", async () => {
  const directory = temporaryFolder();
  for (const { path, content } of blocks) {
    if (path === undefined) continue;
    Deno.mkdirSync(dirname(join(directory, path)), { recursive: true });
    Deno.writeTextFileSync(join(directory, path), content);
  }
  const yaml = blocks.find(({ language }) => language === "yaml")!.content;
  const { dataset } = parse(yaml) as { dataset: Record<string, Dataset> };
  const found: Record<string, unknown> = {};
  for (const [name, params] of Object.entries(dataset)) {
    const folder = join(directory, name);
    Deno.mkdirSync(folder);
    const mirror = join(directory, "my_data");
    const raw = await runStage(download, params.download, { directory: folder, mirror });
    const { outputs } = await runStage(tokenize, params.tokenize ?? {}, {
      directory: folder,
      inputs: { raw: artifact(raw.outputs.raw!) },
    });
    const { classes, splits } = readTokenFile(outputs.tokens!);
    const sizes = Object.values(splits).map(({ labels }) => labels.length);
    found[name] = [classes, sizes];
  }
  assertEquals(found, {
    reviews: [["bad", "good"], [4, 2]],
    tickets: [["hardware", "software"], [2, 2]],
    mail: [["ham", "spam"], [2, 2]],
  });
});

Deno.test("docs/data.md lists every source", () => {
  const sources = parse(
    Deno.readTextFileSync(new URL("../../data/sources.yaml", import.meta.url)),
  ) as Record<string, unknown>;
  for (const name of Object.keys(sources)) assertEquals(text.includes(`\`${name}\``), true, name);
});
