/**
 * What instances ran: many share a bundle, so it is there once.
 *
 * @module
 */
import { type Html, html } from "../../html.ts";
import type { Trace } from "../../store/trace.ts";
import { definitions, table } from "./parts.ts";

/** A bundle with its source files and what it rested on, as traces recorded them. */
export interface CodeUse {
  readonly id: string;
  readonly fingerprint: string;
  readonly stages: ReadonlySet<string>;
  /** Ingredients that are neither params nor inputs: runtime, bundler, packages, platform. */
  readonly ground: readonly (readonly [string, string])[];
  readonly sources: Trace["sources"];
}

/** By key. Traces that ran the same on the same share one. */
export function codeUses(traces: Iterable<Trace>): Map<string, CodeUse> {
  const uses = new Map<string, CodeUse & { readonly stages: Set<string> }>();
  const taken = new Map<string, number>();
  const byKey = new Map<string, CodeUse>();
  for (const { key, stage, ingredients, sources } of traces) {
    const fingerprint = ingredients["code"] ?? "unknown";
    const ground = Object.entries(ingredients).filter(([name]) =>
      !/^(params|inputs)\.|^(stage|code)$/.test(name)
    );
    const same = JSON.stringify([fingerprint, ground, sources]);
    let use = uses.get(same);
    if (!use) {
      const count = (taken.get(fingerprint) ?? 0) + 1;
      taken.set(fingerprint, count);
      const id = `code.${fingerprint}${count === 1 ? "" : `.${count}`}`;
      uses.set(same, use = { id, fingerprint, stages: new Set(), ground, sources });
    }
    use.stages.add(stage);
    byKey.set(key, use);
  }
  return byKey;
}

/** One bundle. */
export function codeSection(use: CodeUse): Html {
  const { id, fingerprint, stages, ground, sources } = use;
  const blob = `../store/blobs/${fingerprint.slice(0, 2)}/${fingerprint.slice(2)}`;
  return html`
    <section id="${id}" aria-labelledby="${id}.name">
    <h3 id="${id}.name">Code of ${[...stages].join(", ")}, ${fingerprint.slice(0, 8)}${id.slice(
      `code.${fingerprint}`.length,
    )}</h3>
    ${definitions([[
      "Fingerprint",
      html`<a href="${blob}"><code>${fingerprint}</code></a>`,
    ]])}${table("What it rested on", {
      head: ["Ingredient", "Value"],
      rows: ground.map((
        [name, value],
      ) => [html`<code>${name}</code>`, html`<code>${value}</code>`]),
    })}${table("Source files", {
      head: ["File", "SHA-256"],
      rows: Object.entries(sources)
        .map(([path, digest]) => [html`<code>${path}</code>`, html`<code>${digest}</code>`]),
    })}</section>
  `;
}
