/**
 * Certifies an instance: executes it again and again, in the circumstances of a usual run and in others,
 * on this platform and on others, and notes what came out. What moved it is looked for where something
 * did.
 *
 * @module
 */
import { join } from "node:path";
import type { Json } from "../key/canonical.ts";
import { describeMachine } from "../key/machine.ts";
import type { Platform } from "../key/platform.ts";
import { type Instance, upstream } from "../plan/graph.ts";
import {
  type Certificate,
  type Circumstance,
  CIRCUMSTANCES,
  type Execution,
  type Seen,
} from "../store/certificate.ts";
import type { Trace } from "../store/trace.ts";
import { type Means, type Setup, setupOf } from "./circumstances.ts";
import { type Ground, type Made, Place, type Subject } from "./execute.ts";

/** What is certified, and how far. */
export interface Request {
  readonly subject: Subject;
  /** What the store has of the instance. */
  readonly trace: Trace;
  /** How often it is executed here at least; the first time is like a usual run. */
  readonly times: number;
  /** What became of it on other platforms. */
  readonly elsewhere: readonly Elsewhere[];
}

/**
 * Certifies one instance.
 *
 * @param folder A folder to work in, of which nothing is left.
 * @throws {StageError} If its stage fails, as it would in a run.
 */
export async function certify(
  { subject, trace, times, elsewhere }: Request,
  { ground, folder }: { readonly ground: Ground; readonly folder: string },
): Promise<Certificate> {
  const means: Means = { home: folder, jobs: Math.max(2, ground.jobs) };
  const executions: Execution[] = [];
  const round = async (names: readonly Circumstance[], turn: number): Promise<boolean> => {
    const setup = setupOf(names, { turn, means });
    const found = await executeHere(subject, { trace, setup, ground, folder });
    executions.push(...found);
    return found.every((execution) => isAlike(trace, execution));
  };
  const isSteady = await round([], 0);
  let moves: number | undefined;
  for (let turn = 0; turn < times - 1; turn++) {
    if (!await round(CIRCUMSTANCES, turn)) moves ??= turn;
  }
  if (isSteady && moves !== undefined) {
    for (const name of CIRCUMSTANCES) await round([name], moves);
  }
  for (const other of elsewhere) {
    const execution = await other.execution(subject.instance, trace);
    if (execution) executions.push(execution);
  }
  const { key, instance, stage, run, ingredients, outputs, metrics } = trace;
  return {
    ...{ key, instance, stage, run, ingredients, outputs, metrics },
    ...{ machine: describeMachine(), executions },
  };
}

async function executeHere(
  subject: Subject,
  { trace, setup, ground, folder }: {
    readonly trace: Trace;
    readonly setup: Setup;
    readonly ground: Ground;
    readonly folder: string;
  },
): Promise<Execution[]> {
  // Elsewhere altogether, where the folder is what is varied.
  const root = setup.varied.folder === undefined
    ? join(folder, "place")
    : Deno.makeTempDirSync({ prefix: "lockstep-" });
  const place = new Place(root, ground);
  try {
    const all = await place.execute(subject, setup, ground.platform);
    const executions: Execution[] = [];
    for (const made of all) executions.push(await toExecution(made, { trace, place, setup }));
    return executions;
  } finally {
    place.close();
  }
}

async function toExecution(
  { outputs, metrics }: Made,
  { trace, place, setup, platform }: {
    readonly trace: Trace;
    readonly place: Place;
    readonly setup: Setup;
    readonly platform?: Platform;
  },
): Promise<Execution> {
  const seen: Record<string, Seen> = {};
  for (const [name, certified] of Object.entries(trace.outputs)) {
    // Nothing is promised of what is measured.
    seen[name] = certified.exactness === "measured"
      ? { sha256: outputs[name]!.sha256 }
      : await place.seen(certified, outputs[name]!);
  }
  const { varied } = setup;
  return {
    varied,
    ...(platform ? { platform: platform.ingredients } : {}),
    ...{ outputs: seen, metrics },
  };
}

/** Whether an execution left what is certified, but for what is measured. */
function isAlike({ outputs }: Trace, execution: Execution): boolean {
  return Object.entries(outputs).every(([name, { exactness, sha256 }]) =>
    exactness === "measured" || execution.outputs[name]!.sha256 === sha256
  );
}

/**
 * Another platform, on which instances are executed in order: each from what those that feed it made
 * there, as a run there would.
 */
export class Elsewhere {
  readonly platform: Platform;
  readonly #place: Place;
  readonly #ground: Ground;
  readonly #traceOf: (instance: Instance) => Trace;
  readonly #made = new Map<Instance, Promise<Made | undefined>>();

  /**
   * @param o.folder A folder where nothing is yet.
   * @param o.traceOf What the store has of an instance.
   */
  constructor(
    platform: Platform,
    o: {
      readonly ground: Ground;
      readonly folder: string;
      readonly traceOf: (instance: Instance) => Trace;
    },
  ) {
    this.platform = platform;
    this.#ground = o.ground;
    this.#place = new Place(o.folder, o.ground);
    this.#traceOf = o.traceOf;
  }

  /** What came out there; `undefined` where the platform makes no difference. */
  async execution(instance: Instance, trace: Trace): Promise<Execution | undefined> {
    const made = await this.#making(instance);
    const setup = usual(this.#ground.jobs);
    const { platform } = this;
    return made && await toExecution(made, { trace, place: this.#place, setup, platform });
  }

  #making(instance: Instance): Promise<Made | undefined> {
    let made = this.#made.get(instance);
    if (made === undefined) this.#made.set(instance, made = this.#make(instance));
    return made;
  }

  async #make(instance: Instance): Promise<Made | undefined> {
    const outputs = new Map<Instance, Trace["outputs"]>();
    let differs = instance.node.stage.numeric === true;
    for (const from of upstream(instance)) {
      const here = this.#traceOf(from);
      const made = await this.#making(from);
      outputs.set(from, made?.outputs ?? here.outputs);
      differs ||= made !== undefined && digests(made.outputs) !== digests(here.outputs);
    }
    if (!differs) return undefined;
    const { key } = this.#traceOf(instance);
    const subject = { instance, key, outputs: (from: Instance) => outputs.get(from)! };
    const [made] = await this.#place.execute(subject, usual(this.#ground.jobs), this.platform);
    return made;
  }

  close(): void {
    this.#place.close();
  }
}

function usual(jobs: number): Setup {
  return setupOf([], { turn: 0, means: { home: "", jobs } });
}

function digests(outputs: Trace["outputs"]): string {
  const all: Json = Object.entries(outputs).map(([name, { sha256 }]) => [name, sha256]);
  return JSON.stringify(all);
}
