/**
 * A comparison of two runs as one self-contained HTML page.
 *
 * @module
 */
import { shorten } from "../../key/shorten.ts";
import { type Html, html, htmlPage } from "../../html.ts";
import { type Comparison, describeCause, signed, stateCounts } from "./comparison.ts";

/** The page. */
export function diffPage(comparison: Comparison): string {
  const { before, now, runs } = comparison;
  const counts = stateCounts(comparison);
  const body = html`
    <h1>Two runs compared</h1>
    <table>
      <tr>
        <th>A</th>
        <td>${before.label}</td>
      </tr>
      <tr>
        <th>B</th>
        <td>${now.label}</td>
      </tr>
    </table>
    <h2>Instances</h2>
    <table>
    ${rows([
      ["the same key and result", counts.same],
      ["another key, the same result", counts.unmoved],
      ["another key, measured again and not compared", counts.uncompared],
      ["changed", counts.changed],
      ["another result under the same key", counts.unstable],
      ["only in A", counts.onlyBefore],
      ["only in B", counts.onlyNow],
    ])}
    </table>
    ${names("only in A", runs.onlyBefore)}
    ${names("only in B", runs.onlyNow)}
    ${causes(comparison)}
    ${cutOffs(comparison)}
    ${metrics(comparison)}
    ${values(comparison)}
  `;
  return htmlPage("Two runs compared", { body });
}

const NOTHING: Html = { html: "" };

function rows(cells: readonly (readonly (string | number)[])[]): Html[] {
  return cells.map((row) =>
    html`
      <tr>${row.map((cell) =>
        typeof cell === "number" ? html`<td class="number">${cell}</td>` : html`<td>${cell}</td>`
      )}</tr>
    `
  );
}

function table(title: string, head: readonly string[], body: readonly Html[]): Html {
  if (body.length === 0) return NOTHING;
  return html`
    <h2>${title}</h2>
    <div class="wide">
      <table>
    <tr>${head.map((name) => html`<th>${name}</th>`)}</tr>
    ${body}</table>
    </div>
  `;
}

function names(title: string, list: readonly string[]): Html {
  if (list.length === 0) return NOTHING;
  return html`
    <details>
      <summary>${list.length} ${title}</summary>
      <p>${list.join(", ")}</p>
    </details>
  `;
}

function causes({ runs }: Comparison): Html {
  if (runs.causes.length === 0 && runs.unexplained.length === 0) return NOTHING;
  return html`<h2>What changed</h2>
${
    runs.causes.map((cause) =>
      html`<h3><code>${describeCause(cause)}</code></h3>
${
        cause.change.before !== shorten(cause.change.before) && cause.kind === "ingredient"
          ? html`<p class="note">${cause.change.before ?? "(absent)"} → ${
            cause.change.now ?? "(absent)"
          }</p>`
          : NOTHING
      }
${cause.sources.map((file) => html`<p>source changed: <code>${file}</code></p>`)}
${names("have it in themselves", cause.direct)}
${names("got it through their inputs", cause.through)}`
    )
  }
${names("differ, and why is not known: the store lacks a trace", runs.unexplained)}`;
}

function cutOffs({ runs }: Comparison): Html {
  const body = runs.cutOffs.map(({ instance, spared }) => [instance, spared.join(", ")]);
  return table("Cut off", ["ran again to the same result", "so unchanged"], rows(body));
}

function metrics({ runs }: Comparison): Html {
  const body = runs.both.flatMap(({ instance, metrics }) =>
    metrics.map(({ metric, before, now, difference }) => [
      instance,
      metric,
      before ?? "(absent)",
      now ?? "(absent)",
      difference === undefined ? "" : signed(difference),
    ])
  );
  return table("Metrics", ["instance", "metric", "A", "B", "B − A"], rows(body));
}

function values({ values }: Comparison): Html {
  const body = values.flatMap(({ instance, output, words, numbers }) => [
    ...words.map(({ path, before, now }) => [
      ...[instance, output, path],
      before ?? "(absent)",
      now ?? "(absent)",
    ]),
    ...(numbers > 0 ? [[instance, output, `${numbers} numbers differ`, "", ""]] : []),
  ]);
  return table("Values in JSON results", ["instance", "output", "value", "A", "B"], rows(body));
}
