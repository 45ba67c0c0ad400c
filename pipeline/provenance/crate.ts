/**
 * A Workflow Run RO-Crate, profile Provenance Run Crate 0.5, of a run: its published files, a list of
 * what ran, its lock, and in `ro-crate-metadata.json` who used and made what. Files that are not in the
 * crate are named by their digest, `ni:///sha-256;…` (RFC 6920).
 *
 * https://w3id.org/ro/wfrun/provenance/0.5
 *
 * @module
 */
import type { Sha256 } from "../key/hash.ts";
import { formatLock, lockOf } from "../store/lockfile.ts";
import { inputsOf } from "../store/trace.ts";
import {
  CrateGraph,
  FILES_FOLDER,
  LOCK_FILE,
  METADATA_FILE,
  WORKFLOW_FILE,
} from "./crate_graph.ts";
import { type DescribedRun, paramsOf } from "./described_run.ts";

/** Files of a crate: texts, and blobs by their digest. */
export interface Crate {
  readonly texts: ReadonlyMap<string, string>;
  readonly blobs: ReadonlyMap<string, Sha256>;
}

/** The crate of a run. Its bytes depend on the run as the store knows it alone. */
export function crateOf(run: DescribedRun): Crate {
  const graph = new CrateGraph(run);
  for (const [instance, trace] of run.instances) graph.addInstance(instance, trace);
  const { experiment, profile } = run.record;
  const lock = lockOf(new Map(run.instances));
  const metadata = {
    "@context": [
      "https://w3id.org/ro/crate/1.1/context",
      "https://w3id.org/ro/terms/workflow-run/context",
    ],
    "@graph": graph.entities(),
  };
  return {
    texts: new Map([
      [METADATA_FILE, json(metadata)],
      [WORKFLOW_FILE, json(workflowOf(run))],
      [LOCK_FILE, formatLock({ experiment, profile }, lock)],
    ]),
    blobs: new Map(run.published.map(([path, { sha256 }]) => [`${FILES_FOLDER}/${path}`, sha256])),
  };
}

function json(value: unknown): string {
  return `${JSON.stringify(value, null, 1)}\n`;
}

/** What ran, instance by instance: the params, and whose output each input was. */
function workflowOf({ record, instances }: DescribedRun): unknown {
  const makers = new Map<string, string>();
  for (const [instance, { outputs }] of instances) {
    for (const [name, { sha256 }] of Object.entries(outputs)) {
      if (!makers.has(sha256)) makers.set(sha256, `${instance}.${name}`);
    }
  }
  const { experiment, profile, backend, set, mirror } = record;
  return {
    ...{ experiment, profile, backend, set, ...(mirror === undefined ? {} : { mirror }) },
    instances: Object.fromEntries(instances.map(([instance, trace]) => [instance, {
      stage: trace.stage,
      params: Object.fromEntries(paramsOf(trace)),
      inputs: Object.fromEntries(
        inputsOf(trace).map(([name, digest]) => [name, makers.get(digest) ?? digest]),
      ),
    }])),
  };
}
