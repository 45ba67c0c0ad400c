/**
 * Makes a page, one self-contained file, on which chosen instances of an audit file run again in the
 * reader's browser.
 *
 * @module
 */
import type { Plugin } from "esbuild";
import { stripTypeScriptTypes } from "node:module";
import { fileURLToPath } from "node:url";
import { LockstepError } from "../../errors.ts";
import { type Html, html, htmlPage, trusted } from "../../html.ts";
import { inspect } from "../verify.ts";
import { PLAIN_TITLE } from "./body.ts";
import { choicesOf, pack } from "./material.ts";

/**
 * The page of some instances.
 *
 * @param file An audit file that holds their code and inputs.
 * @throws {LockstepError} If the file is not sound.
 */
export async function replayPage(
  file: Uint8Array<ArrayBuffer>,
  instances: readonly string[],
): Promise<string> {
  const { findings } = inspect(file, { choices: choicesOf(instances) });
  if (findings[0] !== undefined) {
    throw new LockstepError(
      `Cannot write the page: its material must be sound, and ${findings[0].where} is not`,
    );
  }
  // All else is written by the script, from what it verified: text here could be edited unseen.
  const body = html`
    <main>
      <h1>${PLAIN_TITLE}</h1>
      <p id="records" role="status">Reading the records …</p>
      <noscript><p class="failed">This page needs scripts: all that it shows is read from the records in it.</p></noscript>
    </main>
    <script type="application/json" id="instances">${trusted(
      JSON.stringify(instances).replaceAll("<", "\\u003c"),
    )}</script>
    <script type="application/octet-stream" id="material">${trusted(await pack(file))}</script>
    <script type="module">${trusted(await script())}</script>
  `;
  return htmlPage(PLAIN_TITLE, { body, head: HEAD });
}

/** No address can be reached from the page, whatever the code in it tries. */
const POLICY = [
  "default-src 'none'",
  // What makes functions of text: WebAssembly, and packages that draw.
  "script-src 'unsafe-inline' 'unsafe-eval' blob:",
  "worker-src data:",
  "connect-src data:",
  "style-src 'unsafe-inline'",
].join("; ");

const HEAD: Html = html`<meta http-equiv="Content-Security-Policy" content="${POLICY}">
${
  trusted(`<style>
dl { display: grid; grid-template-columns: max-content 1fr; gap: .1rem 1rem; }
dt { font-weight: 600; } dd { margin: 0; overflow-wrap: anywhere; }
section { border-top: 1px solid var(--line); padding: .5rem 0 1rem; }
h2 { margin: .5rem 0; overflow-wrap: anywhere; }
button { font: inherit; padding: .3rem .9rem; cursor: pointer; }
button:disabled { cursor: default; }
button:focus-visible { outline: 3px solid var(--mark); outline-offset: 2px; }
table { font-size: .85rem; } th { overflow-wrap: normal; } td:first-child, td.same { white-space: nowrap; } td.same { font-weight: 600; }
figure { margin: .5rem 0; font-size: .85rem; } svg { width: 100%; max-width: 30rem; stroke-width: 2; }
#records { border-left: .3rem solid var(--line); padding-left: .8rem; overflow-wrap: anywhere; }
[data-state=same], #records[data-state=same] { border-color: #2a8a4a; }
[data-state=differs], #records[data-state=differs] { border-color: #c33; }
[data-state=same] output { color: light-dark(#1d6f39, #6fd08c); font-weight: 600; }
[data-state=differs] output { color: light-dark(#b22, #f77); font-weight: 600; }
.failed { color: light-dark(#b22, #f77); } li { overflow-wrap: anywhere; white-space: pre-wrap; }
</style>`)
}`;

const at = (name: string) => fileURLToPath(new URL(name, import.meta.url));

/** The page's script, with the verifier in it. */
async function script(): Promise<string> {
  const esbuild = await import("esbuild");
  const made = esbuild.build({
    entryPoints: [at("./script.ts")],
    bundle: true,
    minify: true,
    format: "esm",
    platform: "browser",
    target: "es2022",
    charset: "utf8",
    legalComments: "none",
    tsconfigRaw: "{}",
    write: false,
    logLevel: "silent",
    plugins: [inBrowser],
  });
  return (await made.finally(() => esbuild.stop())).outputFiles[0]!.text;
}

/** What takes the place of Node's modules in a page. What else of Node the engine names is not reached. */
const inBrowser: Plugin = {
  name: "in a browser",
  setup(build) {
    build.onResolve({ filter: /^node:crypto$/ }, () => ({ path: at("../builtins/crypto.ts") }));
    build.onResolve(
      { filter: /^node:/ },
      ({ path }) => ({ path, namespace: "node", sideEffects: false }),
    );
    build.onLoad({ filter: /.*/, namespace: "node" }, () => ({
      // A page's texts have no types any more, so that there are none to take out.
      contents: "module.exports = { stripTypeScriptTypes: (text) => text }",
    }));
    build.onLoad(
      { filter: /\.ts$/ },
      ({ path, with: { type } }) =>
        type === "text"
          ? { contents: stripTypeScriptTypes(Deno.readTextFileSync(path)), loader: "text" }
          : undefined,
    );
  },
};
