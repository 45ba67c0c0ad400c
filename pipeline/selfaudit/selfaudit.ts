/**
 * The engine's audit of itself by mutation: edits and alterations of a copy of a project, and whether
 * exactly those react that must. Nothing runs, for keys are enough to see who would.
 *
 * @module
 */
import { join } from "node:path";
import { statOf } from "../files.ts";
import type { Platform } from "../key/platform.ts";
import type { Stage } from "../stage.ts";
import { auditCode } from "./code.ts";
import { auditConfiguration, type Extent } from "./configuration.ts";
import { copyOf } from "./copy.ts";
import type { Subject } from "./handed.ts";
import { auditIngredients } from "./ingredients.ts";
import { auditStored } from "./stored.ts";
import type { Tally } from "./tally.ts";

/** What is audited. */
export interface SelfAudit {
  readonly root: string;
  /** Where its results are, if there are any. */
  readonly outputs: string;
  readonly experiment: string;
  readonly profile: string;
  readonly mirror: string | undefined;
  readonly stages: ReadonlyMap<string, Stage>;
  readonly platform: Platform;
}

/** What of a self-audit was not tried for want of what it alters, and where that is looked for. */
export interface Untried {
  readonly what: string;
  readonly store: string;
}

/** Audits; hands over each kind when it is done. Returns what could not be tried. */
export async function selfAudit(
  { root, outputs, ...what }: SelfAudit,
  extent: Extent,
  take: (tally: Tally) => void,
): Promise<Untried | undefined> {
  extent.progress("a copy of the project");
  using copy = copyOf({ root, outputs });
  const subject: Subject = { ...what, root: copy.root };
  (await auditConfiguration(subject, extent)).forEach(take);
  (await auditIngredients(subject, extent)).forEach(take);
  const stages = [...what.stages.keys()];
  (await auditCode({ root, stages }, extent)).forEach(take);
  const store = join(outputs, "store");
  if (!statOf(store)) return { what: "stored bytes, ingredients in stored traces", store };
  (await auditStored(copy, extent)).forEach(take);
  return undefined;
}
