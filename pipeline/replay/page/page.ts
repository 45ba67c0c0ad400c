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
import type { Trace } from "../../store/trace.ts";
import { inspect } from "../verify.ts";
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
  const { findings, records, index } = inspect(file, { choices: choicesOf(instances) });
  if (findings.length > 0 || records === undefined || index === undefined) {
    throw new LockstepError(
      `Cannot write the page: its material must be sound, and ${findings[0]?.where} is not`,
    );
  }
  const title = `Run again: ${index.experiment}.${index.profile}`;
  const body = html`
    <main>
        <h1>${title}</h1>
        <p>This page holds code, inputs and records of ${instances
          .length} of the run's results, and needs no
        server and no network. A button runs the recorded code on the recorded inputs, here, and
        compares what comes out with what was recorded, digest by digest.</p>
        <dl><dt>Commit</dt><dd>${index.commit ?? "unknown"}</dd>
        <dt>Backend</dt><dd>${index.backend}</dd></dl>
        <p id="records" role="status">Reading the records …</p>
        <p><button id="all" disabled>Run all ${instances.length} again</button></p>
        ${instances.map((instance) => card(instance, records.traces.get(instance)!))}
        <noscript><p class="failed">Nothing runs without scripts.</p></noscript></main>
    <script type="application/octet-stream" id="material">${trusted(await pack(file))}</script>
    <script type="module">${trusted(await script())}</script>
  `;
  return htmlPage(title, { body, head: HEAD });
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

function card(instance: string, { stage, seconds, outputs, ingredients }: Trace): Html {
  const backend = ingredients["platform.backend"];
  const where = backend === undefined ? "" : ` on ${backend}`;
  return html`
    <section data-instance="${instance}">
      <h2>${instance}</h2>
      <p class="note">Stage ${stage}${where}; the recorded run took ${seconds.toFixed(1)} s.</p>
      <p><button class="again" disabled>Run again</button>
      ${backend === undefined ? null : html`
        <button class="webgpu" hidden>Run on this browser's WebGPU</button>
      `} <output></output></p>
      <progress hidden aria-label="Progress of ${instance}"></progress>
      <figure hidden>
        <svg role="img"></svg>
        <figcaption></figcaption>
      </figure>
      <table>
        <thead>
          <tr>
            <th scope="col">Output</th>
            <th scope="col">Recorded SHA-256</th>
            <th scope="col">SHA-256 now</th>
            <th scope="col">Bits</th>
          </tr>
        </thead>
        <tbody>${Object.entries(outputs).map(([name, { sha256 }]) =>
          html`
            <tr data-output="${name}">
              <td>${name}</td>
              <td><code>${sha256}</code></td>
              <td><code class="again"></code></td>
              <td class="same"></td>
            </tr>
          `
        )}</tbody>
      </table>
    </section>
  `;
}

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
