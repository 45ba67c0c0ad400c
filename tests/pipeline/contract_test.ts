import { assertEquals } from "@std/assert";
import { build, stop } from "esbuild";
import { createHash } from "node:crypto";
import { fileURLToPath } from "node:url";
import { minify } from "terser";
import { CONTRACT } from "../../pipeline/stage.ts";

/** The contract, and the digest of the host's code under which it was last looked at. */
const SEEN = {
  contract: "1",
  host: "a28444bcc92d208ccc95f41376c1ec60de5d7dfffb0b773eac5f300ef1c56111",
};

/** The code of a stage's process, without comments and names. */
async function hostCode(): Promise<string> {
  const result = await build({
    entryPoints: [fileURLToPath(new URL("../../pipeline/run/executor/host.ts", import.meta.url))],
    bundle: true,
    format: "esm",
    platform: "neutral",
    external: ["node:*"],
    legalComments: "none",
    tsconfigRaw: "{}",
    write: false,
  });
  await stop();
  const named = await minify(result.outputFiles[0]!.text, {
    module: true,
    compress: false,
    mangle: { toplevel: true },
  });
  return named.code!;
}

Deno.test("a change of the program that runs stages is decided on: is it another contract?", async () => {
  const code = await hostCode();
  for (const imported of code.matchAll(/from"([^"]+)"/g)) {
    assertEquals(imported[1]!.startsWith("node:"), true, `the host imports ${imported[1]}`);
  }
  const found = { contract: CONTRACT, host: createHash("sha256").update(code).digest("hex") };
  assertEquals(
    found,
    SEEN,
    "The code of a stage's process changed, or the contract did. If a stage of the same code can " +
      "now see or leave something else, raise CONTRACT in pipeline/stage.ts: every key changes, and " +
      "everything runs again. If not, leave it. Then write what was found into SEEN",
  );
});
