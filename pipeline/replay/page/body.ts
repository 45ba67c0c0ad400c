/**
 * What a page that runs instances again shows, made in the reader's browser from the verified records alone.
 *
 * @module
 */
import { type Html, html } from "../../html.ts";
import type { Trace } from "../../store/trace.ts";
import type { Inspected } from "../verify.ts";

/** The title of a page whose records were not read yet. */
export const PLAIN_TITLE = "Run again";

/** The title of a page of some run's instances. */
export function titleOf({ index }: Pick<Inspected, "index">): string {
  return index === undefined ? PLAIN_TITLE : `${PLAIN_TITLE}: ${index.experiment}.${index.profile}`;
}

/** The body of the page: of material that is no audit file its title alone. */
export function bodyOf(inspected: Inspected | undefined, instances: readonly string[]): Html {
  const { index, records } = inspected ?? {};
  const status = html`<p id="records" role="status"></p>`;
  if (index === undefined || records === undefined) {
    return html`<main><h1>${PLAIN_TITLE}</h1>${status}</main>`;
  }
  const traces = instances.flatMap((instance) => {
    const trace = records.traces.get(instance);
    return trace === undefined ? [] : [card(instance, trace)];
  });
  return html`
    <main>
      <h1>${titleOf({ index })}</h1>
      <p>This page holds code, inputs and records of ${traces
        .length} of the run's results, and needs no
      server and no network. A button runs the recorded code on the recorded inputs, here, and
      compares what comes out with what was recorded, digest by digest.</p>
      <dl><dt>Commit</dt><dd>${index.commit ?? "unknown"}</dd>
      <dt>Backend</dt><dd>${index.backend}</dd></dl>
      ${status}
      <p><button id="all" disabled>Run all ${traces.length} again</button></p>
      ${traces}
    </main>
  `;
}

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
