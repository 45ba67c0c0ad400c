/**
 * What an examination found: the object that `--json` prints.
 *
 * @module
 */
import type { BackendName } from "../models/backend.ts";
import type { Machine } from "./machine.ts";
import type { Tested } from "./self_test.ts";
import type { Speed } from "./speed.ts";
import type { StepTime } from "./step.ts";

/** How one backend does. */
export interface Examined {
  readonly backend: BackendName;
  /** Why it could not be started; nothing else is known then. */
  readonly refused?: string;
  readonly tested: readonly Tested[];
  readonly speed?: Speed;
  readonly steps: readonly StepTime[];
  /** What there was no time for, or failed, in sentences. */
  readonly skipped: readonly string[];
}

/** How long a profile's trainings would take, one after the other. */
export interface ProfileTime {
  readonly experiment: string;
  readonly profile: string;
  readonly trainings: number;
  /** By backend; without those whose step was not measured. */
  readonly hours: Readonly<Record<string, number>>;
}

/** The whole of it. */
export interface Report {
  readonly event: "doctor";
  readonly commit: string | null;
  readonly machine: Machine;
  readonly backends: readonly Examined[];
  readonly profiles: readonly ProfileTime[];
  /** What to do, in sentences. */
  readonly advice: readonly string[];
  /** Whether no operation gave a wrong result, and each backend gave right ones. */
  readonly ok: boolean;
}

/** Whether it started and computes; what there was no time for may still be wrong. */
export function isSound(examined: Examined): boolean {
  return failed(examined).length === 0 && examined.tested.some(({ ok }) => ok);
}

/** Operations that gave a wrong result, or none. */
export function failed({ tested }: Examined): Tested[] {
  return tested.filter(({ ok }) => ok === false);
}
