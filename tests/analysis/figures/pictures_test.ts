import { assert, assertEquals } from "@std/assert";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { comparePictures, decodePng } from "../../rig/png.ts";
import { temporaryFolder } from "../../rig/temporary.ts";

const ROOT = fileURLToPath(new URL("../../..", import.meta.url));
const REFERENCE = join(ROOT, "tests/reference/figures");
const KINDS = ["sprouted_changes", "growth", "scheme"];

/** Draws the reference figures in a process with no other environment than the given one. */
async function drawn(env: Readonly<Record<string, string>>): Promise<Map<string, Uint8Array>> {
  const info = await new Deno.Command(Deno.execPath(), { args: ["info", "--json"], cwd: ROOT })
    .output();
  const { denoDir } = JSON.parse(new TextDecoder().decode(info.stdout)) as { denoDir: string };
  const [folder, home] = [temporaryFolder(), temporaryFolder()];
  const { code, stderr } = await new Deno.Command(Deno.execPath(), {
    args: ["run", "-A", "--no-check", "tests/rig/draw_figures.ts", folder, "0.5", ...KINDS],
    cwd: ROOT,
    clearEnv: true,
    env: { DENO_DIR: denoDir, HOME: home, ...env },
  }).output();
  assertEquals(code, 0, new TextDecoder().decode(stderr));
  return new Map(KINDS.map((kind) => [kind, Deno.readFileSync(join(folder, `${kind}.png`))]));
}

Deno.test("figures have the same bytes in any process, whatever its language, time zone and fonts, and the reference's pixels", async () => {
  // The settings of neither process are those of the other, nor probably those of this one. No font
  // is to be found through either: the first has none in its home, the second not even a list.
  const [first, second] = await Promise.all([
    drawn({ LANG: "C", TZ: "America/St_Johns" }),
    drawn({
      LANG: "tr_TR.UTF-8",
      LC_ALL: "tr_TR.UTF-8",
      LANGUAGE: "tr",
      TZ: "Pacific/Kiritimati",
      FONTCONFIG_FILE: "/dev/null",
      FONTCONFIG_PATH: "/dev/null",
    }),
  ]);
  for (const kind of KINDS) {
    const own = first.get(kind)!;
    assertEquals(own, second.get(kind), kind);
    const reference = await decodePng(Deno.readFileSync(join(REFERENCE, `${kind}.png`)));
    assertEquals(
      comparePictures(await decodePng(own), reference),
      { pixels: 0, most: 0 },
      `${kind}: look at both, and draw the reference again with tests/rig/draw_figures.ts`,
    );
  }
});

Deno.test("a picture with one pixel changed is distinguished from the other, and every filter decodes", async () => {
  const picture = await decodePng(Deno.readFileSync(join(REFERENCE, "sprouted_changes.png")));
  assert(picture.width > 100 && picture.height > 50);
  // White ground in the corner, and something drawn.
  assertEquals([...picture.pixels.subarray(0, 4)], [255, 255, 255, 255]);
  assert(picture.pixels.some((value) => value < 64));
  const pixels = picture.pixels.slice();
  pixels[4 * 77] = 250;
  assertEquals(comparePictures(picture, { ...picture, pixels }), { pixels: 1, most: 5 });
});
