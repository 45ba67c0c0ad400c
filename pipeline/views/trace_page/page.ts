/**
 * The trace page as HTML: runs, instances, and the code they ran.
 *
 * @module
 */
import { type Html, html, htmlPage } from "../../html.ts";
import { inputsOf, type Trace } from "../../store/trace.ts";
import { type Box, dagHtml } from "./dag.ts";
import { factsOf } from "./facts.ts";
import { certificateTables } from "./certificates.ts";
import { codeSection, type CodeUse, codeUses } from "./code.ts";
import { publishedBytes, type Shown, type ShownRun } from "./shown.ts";
import { definitions, NOTHING, SEARCH, SEARCH_SCRIPT, STYLE, table } from "./parts.ts";

/** The page, without its seal. */
export function tracePage(shown: Shown): string {
  const names = namesByKey(shown.runs);
  const codes = codeUses(shown.traces.values());
  const view: View = { shown, names, code: (trace) => codes.get(trace.key)! };
  const placed = new Set<string>();
  const own = shown.runs.map((run) => runPart(run, view, placed));
  const earlier = [...shown.traces.values()].filter(({ key }) => !placed.has(key));
  const body = html`
    <header>
      <h1>Trace</h1>
      <p>How each result of the latest runs in this folder was made, down to the first bytes. A number in
    a report leads to the artifact it was read from; from there, inputs lead to the stage that made
    them, and digests (SHA-256) to the very files.</p>
      ${SEARCH}
      <nav aria-label="Parts">
        <ul>${shown.runs.map(({ name }) =>
          html`
            <li><a href="#${name}">${name}</a></li>
          `
        )}${earlier.length === 0 ? NOTHING : html`
          <li><a href="#earlier">Earlier results</a></li>
        `}<li><a href="#code">Code</a></li></ul>
      </nav>
    </header>
    <main>${own}${earlier.length === 0 ? NOTHING : html`<h2 id="earlier">Earlier results</h2>
<p>No latest run holds these, but something it holds was made from them.</p>
${earlier.map((trace) => instancePart(trace, view))}`}<h2 id="code">Code</h2>
    <p>The bundles that ran, their source files as they were then, and what they rested on. An
    instance's key covers all of it but the digests of source files, which say what changed.</p>
    ${[...new Set(codes.values())].map((use) => codeSection(use))}</main>
    ${SEARCH_SCRIPT}
  `;
  return htmlPage("Trace", { body, head: STYLE });
}

interface View {
  readonly shown: Shown;
  readonly names: ReadonlyMap<string, readonly string[]>;
  readonly code: (trace: Trace) => CodeUse;
}

/** Key to the instances that have it, `fusion.smoke/train/short/add/0`. */
function namesByKey(runs: readonly ShownRun[]): Map<string, string[]> {
  const names = new Map<string, string[]>();
  for (const { name, run } of runs) {
    for (const [instance, key] of Object.entries(run.keys)) {
      const known = names.get(key);
      if (known) known.push(`${name}/${instance}`);
      else names.set(key, [`${name}/${instance}`]);
    }
  }
  return names;
}

function runPart({ name, run }: ShownRun, view: View, placed: Set<string>): Html {
  const { traces } = view.shown;
  const groups = Map.groupBy(Object.entries(run.keys), ([instance]) => nodeOf(instance));
  const own = new Map(
    Object.values(run.keys).flatMap((key) => {
      const trace = placed.has(key) ? undefined : traces.get(key);
      placed.add(key);
      return trace === undefined ? [] : [[key as string, trace] as const];
    }),
  );
  const boxes = boxesOf({ name, run }, groups, view);
  const { backend, commit, days } = factsOf({ name, run }, view.shown);
  return html`
    <h2 id="${name}">${name}</h2>
    ${definitions([
      ["Experiment", html`${run.experiment}`],
      ["Profile", html`${run.profile}`],
      ["Backend", html`${backend}`],
      ...(commit === undefined ? [] : [["Commit", html`<code>${commit}</code>`] as const]),
      ...(days === undefined ? [] : [["Made", html`${[...new Set(days)].join(" to ")}`] as const]),
      ...(run.set.length > 0 ? [["Set", html`<code>${run.set.join(" ")}</code>`] as const] : []),
      ...(run.lock === undefined ? [] : [["Lock", html`<code>${run.lock}</code>`] as const]),
      ["Check", html`<code>deno task bundle ${name}</code> writes one file that anyone can verify`],
      // Of what one graphics adapter computes, a reader's browser gives other bits.
      ...(run.backend === "webgpu" ? [] : [
        [
          "Run again",
          html`<code>deno task verify --page again.html --experiment ${run.experiment} --profile ${run.profile}
        INSTANCE</code> writes a page on which the instance runs in its reader's browser`,
        ] as const,
      ]),
    ])}
    ${dagHtml(boxes, `Stages of ${name}`)}
    ${boxes.map(({ name: stage, anchor }) =>
      html`<h3 id="${anchor}">${stage}</h3>${
        elsewhere(groups.get(stage)!.filter(([, key]) => !own.has(key)), traces)
      }${
        groups.get(stage)!.flatMap(([, key]) => {
          const trace = own.get(key);
          own.delete(key);
          return trace === undefined ? [] : [instancePart(trace, view)];
        })
      }`
    )}
  `;
}

/** Instances whose part is with another run's, or nowhere. */
function elsewhere(
  instances: readonly (readonly [string, string])[],
  traces: Shown["traces"],
): Html {
  if (instances.length === 0) return NOTHING;
  return html`<ul class="names">${
    instances.map(([instance, key]) =>
      traces.has(key)
        ? html`<li><a href="#${key}">${instance}</a></li>`
        : html`<li>${instance} (its trace is lost)</li>`
    )
  }</ul>`;
}

/** A run's stages, and by the keys of their instances what feeds them. */
function boxesOf(
  { name, run }: ShownRun,
  groups: ReadonlyMap<string, readonly (readonly [string, string])[]>,
  { shown: { traces, makers } }: View,
): Box[] {
  const stageOf = new Map(
    Object.entries(run.keys).map(([instance, key]) => [key as string, nodeOf(instance)]),
  );
  return [...groups].map(([stage, instances]) => {
    const from = new Set<string>();
    for (const [, key] of instances) {
      const trace = traces.get(key);
      for (const [, digest] of trace === undefined ? [] : inputsOf(trace)) {
        for (const maker of makers.get(digest) ?? []) {
          const other = stageOf.get(maker.trace.key);
          if (other !== undefined && other !== stage) from.add(other);
        }
      }
    }
    return { name: stage, instances: instances.length, from, anchor: `stage.${name}/${stage}` };
  });
}

/** The stage in the experiment that an instance is of: `train` of `train/short/0`. */
function nodeOf(instance: string): string {
  return instance.split("/")[0]!;
}

function instancePart(trace: Trace, view: View): Html {
  const { key } = trace;
  const names = view.names.get(key) ?? [`${trace.run}/${trace.instance}`];
  const [first = "", ...others] = names;
  const code = view.code(trace);
  const params = Object.entries(trace.ingredients).filter(([name]) => name.startsWith("params."));
  return html`
    <section id="${key}" aria-labelledby="${first}">
      <details class="instance"><summary><h4 id="${first}">${short(first)}</h4></summary>
    ${definitions([
      ...(others.length === 0 ? [] : [
        [
          "Also",
          html`${
            others.map((name) =>
              html`
                <span id="${name}">${name}</span>
              `
            )
          }`,
        ] as const,
      ]),
      ["Stage", html`${trace.stage}`],
      ["Key", html`<code>${key}</code>`],
      ["Code", html`<a href="#${code.id}"><code>${trace.ingredients["code"] ?? "?"}</code></a>`],
      [
        "Made",
        html`${trace.started} in ${trace.seconds} s for ${trace.run}, on ${
          Object.values(trace.machine).join(", ")
        }`,
      ],
    ])}
    ${outputTable(trace, view)}${inputTable(trace, view)}${table("Params", {
      head: ["Param", "Value"],
      foldable: true,
      rows: params.map(([name, value]) => [
        html`<code>${name.slice("params.".length)}</code>`,
        paramValue(value, view),
      ]),
    })}${table("Metrics", {
      head: ["Metric", "Value"],
      rows: Object.entries(trace.metrics).map(([name, value]) => [html`${name}`, html`${value}`]),
    })}${certificateTables(view.shown.certificates.get(key))}</details>
    </section>
  `;
}

/** An instance's name without its run, which the heading above has. */
function short(name: string): string {
  return name.slice(name.indexOf("/") + 1);
}

/** A digest among the params, as a checksum that a source declares, leads to the file that has it. */
function paramValue(value: string, { shown }: View): Html {
  let text: unknown;
  try {
    text = JSON.parse(value);
  } catch { /* shown as it is */ }
  if (typeof text === "string" && shown.makers.has(text)) {
    return html`<a href="#${text}"><code>${text}</code></a>`;
  }
  if (typeof text === "string" && /^https?:\/\//.test(text)) {
    return html`<a href="${text}" rel="noreferrer">${text}</a>`;
  }
  return html`<code>${value}</code>`;
}

function inputTable(trace: Trace, { shown }: View): Html {
  return table("Inputs", {
    head: ["Input", "Made by", "SHA-256"],
    rows: inputsOf(trace).map(([name, digest]) => {
      const maker = shown.makers.get(digest)?.[0];
      return [
        html`<code>${name}</code>`,
        maker
          ? html`<a href="#${digest}">${maker.trace.instance}, ${maker.output}</a>`
          : html`this store has no trace of it`,
        // The maker's place has all of it.
        html`<code>${maker ? `${digest.slice(0, 12)}…` : digest}</code>`,
      ];
    }),
  });
}

/** An output, or a file in it. */
interface Item {
  readonly name: string;
  readonly sha256: string;
  readonly bytes: number;
}

function outputTable(trace: Trace, view: View): Html {
  const { shown } = view;
  const rows = Object.entries(trace.outputs).flatMap(([name, output]) => {
    const { sha256, bytes, kind, exactness } = output;
    const files = Object.entries(kind === "folder" ? shown.manifests.get(sha256) ?? {} : {});
    const items: Item[] = [
      { name: kind === "folder" ? `${name}/` : name, sha256, bytes },
      ...files.map(([path, file]) => ({ name: `${name}/${path}`, ...file })),
    ];
    return items.map((item): readonly Html[] => [
      itemName(item, shown.published.get(publishedBytes(trace.key, item.sha256))),
      html`<span class="number">${item.bytes}</span>`,
      html`<span class="number">${exactness}</span>`,
      digestCell(item, trace, shown),
    ]);
  });
  return table("Outputs", { head: ["Output", "Bytes", "Exactness", "SHA-256"], rows });
}

function itemName({ name }: Item, published: readonly string[] = []): Html {
  const links = published.map((path) =>
    html`, published at <a href="${hrefOf(`../${path}`)}">outputs/${path}</a>`
  );
  return html`${name}${links}`;
}

/** A path as a relative URL: a `#` or `%` in a file's name is no part of the URL's syntax. */
function hrefOf(path: string): string {
  return path.split("/").map(encodeURIComponent).join("/");
}

/** The digest leads to the bytes. The first to make them is where links to the digest arrive. */
function digestCell({ sha256, name }: Item, trace: Trace, { makers }: Shown): Html {
  const all = makers.get(sha256) ?? [];
  const first = all[0];
  const isFirst = first?.trace === trace && first.output === name.replace(/\/$/, "");
  const blob = html`<a href="../store/blobs/${sha256.slice(0, 2)}/${
    sha256.slice(2)
  }"><code>${sha256}</code></a>`;
  if (first && !isFirst) {
    return html`${blob} the same bytes as <a href="#${sha256}">${first.trace.instance}, ${first.output}</a>`;
  }
  const others = all.slice(1).map(({ trace: other, output }) =>
    html`
      <a href="#${other.key}">${other.instance}, ${output}</a>
    `
  );
  return html`<span id="${sha256}">${blob}</span>${
    others.length === 0 ? NOTHING : html`
      made alike by ${others}
    `
  }`;
}
