/**
 * What is known of a run and may be in no artifact, since the same bits come from other commits, on
 * other days: for the header of a page that the run published, and of its part of the trace page.
 *
 * @module
 */
import { platformName } from "../../key/ingredients.ts";
import type { Trace } from "../../store/trace.ts";
import { inputsOf } from "../../store/trace.ts";
import { certifiedText } from "../certificate_text.ts";
import { publishedBytes, type Shown, type ShownRun } from "./shown.ts";

/** Facts of a run. */
export interface Facts {
  readonly name: string;
  readonly profile: string;
  /** With what was accepted of others, and the commands that ran without a cage. */
  readonly backend: string;
  readonly set: readonly string[];
  readonly commit?: string;
  /** Days on which its first and its last result were made, `2026-01-31`; absent if no trace is left. */
  readonly days?: readonly [first: string, last: string];
  /** What the certificates of its results come to, a sentence each; absent if there are none. */
  readonly certified?: readonly string[];
  /** Digests of what its published pages were made from. */
  readonly from: readonly string[];
}

/** A run's facts. */
export function factsOf(
  { name, run }: ShownRun,
  { traces, published, certificates }: Shown,
): Facts {
  const own = Object.values(run.keys).flatMap((key) => traces.get(key) ?? []);
  const days = own.map(({ started }) => started.slice(0, 10)).sort();
  const pages = own.filter(({ key, outputs }) =>
    Object.values(outputs).some(({ sha256 }) =>
      published.get(publishedBytes(key, sha256))?.some((path) => path.endsWith(".html"))
    )
  );
  const { profile, set, commit } = run;
  const keys = Object.values(run.keys);
  const certified = certifiedText(keys.flatMap((key) => certificates.get(key) ?? []), keys.length);
  return {
    ...{ name, profile, backend: backendOf(run, own), set },
    ...commit === undefined ? {} : { commit },
    ...days.length === 0 ? {} : { days: [days[0]!, days.at(-1)!] },
    ...certified.length === 0 ? {} : { certified },
    from: [...new Set(pages.flatMap((trace) => inputsOf(trace).map(([, digest]) => digest)))],
  };
}

/**
 * The backend, how many results are of another platform and which stages ran without a cage, as a run may
 * have been asked to accept.
 */
function backendOf({ backend, adapter }: ShownRun["run"], traces: readonly Trace[]): string {
  const others = traces.flatMap(({ ingredients }) => {
    const { "platform.backend": other, "platform.adapter": otherAdapter } = ingredients;
    const isOwn = other === undefined ||
      other === backend && (adapter === undefined || otherAdapter === adapter);
    return isOwn ? [] : platformName(ingredients)!;
  });
  const uncaged = traces.filter(({ ingredients }) => ingredients["cage"] === "none");
  const counts = Map.groupBy(others, (name) => name);
  return [
    backend,
    ...[...counts].map(([name, { length }]) =>
      `${length} result${length === 1 ? "" : "s"} of another platform: ${name}`
    ),
    ...new Set(uncaged.map(({ stage }) => `${stage} without a cage`)),
  ].join("; ");
}

/**
 * All runs' facts as a script, since a page that is opened as a file may load no JSON: it hands them to
 * the function `lockstepRuns` of the page, if that has one.
 */
export function factsScript(shown: Shown): string {
  const facts = shown.runs.map((run) => factsOf(run, shown));
  return `globalThis.lockstepRuns?.(${JSON.stringify(facts, null, 1)});\n`;
}
