/**
 * `doctor`: looks at what this machine has, holds every operation against doubles, and measures how fast
 * it computes, all within a minute.
 *
 * @module
 */
import { type BackendName, startBackend } from "../models/backend.ts";
import type { DoctorOptions } from "../pipeline/cli/project.ts";
import { processorBackend } from "../pipeline/key/platform.ts";
import { lookAround, type Machine } from "./machine.ts";
import { type Examined, failed, isSound, type ProfileTime, type Report } from "./report.ts";
import { screen } from "./screen.ts";
import { testOperations } from "./self_test.ts";
import { speedOf } from "./speed.ts";
import { measureStep } from "./step.ts";
import { Deadline, within } from "./timing.ts";
import { operationsOf, type Training, trainingOf } from "./training.ts";

/** For all of it, with some to spare below a minute. */
const TOTAL_S = 42;
/** Of what is left when a backend's turn comes, the share that its self-tests may take. */
const TESTS_SHARE = 0.5;
/** The least that a step is given; below it is skipped. */
const STEP_S = 1;

/** Examines this machine and prints what it finds. @returns The exit code. */
export async function doctor(options: DoctorOptions): Promise<number> {
  const deadline = new Deadline(TOTAL_S);
  const say = options.json ? () => {} : options.progress;
  say("looking at this machine");
  const machine = await lookAround();
  const trainings = plansOf(await options.plans());
  const names = backendsOf(options, machine);
  const backends: Examined[] = [];
  for (const [i, name] of names.entries()) {
    const seconds = deadline.secondsLeft / (names.length - i);
    backends.push(await examine(name, { machine, trainings, seconds, say }));
  }
  const report: Report = {
    event: "doctor",
    commit: options.commit ?? null,
    machine,
    backends,
    profiles: profileTimes(trainings, backends),
    advice: adviceOf(machine, backends),
    ok: backends.every(isSound),
  };
  say("");
  if (options.json) options.print(JSON.stringify(report));
  else screen(report).forEach(options.print);
  return report.ok ? 0 : 1;
}

/** The backend that was asked for, or what trains here: `cpu` is a reference and far too slow. */
function backendsOf({ backend }: DoctorOptions, { adapter }: Machine): BackendName[] {
  if (backend !== "auto") return [backend];
  return adapter === undefined ? [processorBackend()] : [processorBackend(), "webgpu"];
}

/** A profile's trainings: how many of each, and one to measure for each model. */
interface PlannedProfile {
  readonly experiment: string;
  readonly profile: string;
  readonly trainings: readonly Training[];
}

function plansOf(plans: Awaited<ReturnType<DoctorOptions["plans"]>>): PlannedProfile[] {
  return plans.flatMap(({ experiment, profile, graph }) => {
    const found = graph.map(trainingOf).filter((training) => training !== undefined);
    return found.length === 0 ? [] : [{ experiment, profile, trainings: found }];
  });
}

/** The first training of each experiment's profile `paper`. */
function paperTrainings(profiles: readonly PlannedProfile[]): Training[] {
  return profiles.filter(({ profile }) => profile === "paper").map(({ trainings }) =>
    trainings[0]!
  );
}

async function examine(name: BackendName, o: {
  readonly machine: Machine;
  readonly trainings: readonly PlannedProfile[];
  readonly seconds: number;
  readonly say: (what: string) => void;
}): Promise<Examined> {
  const deadline = new Deadline(o.seconds);
  const skipped: string[] = [];
  try {
    await within(deadline.secondsLeft, startBackend(name));
  } catch (error) {
    return { backend: name, refused: messageOf(error), tested: [], steps: [], skipped };
  }
  const tested = await testOperations(
    new Deadline(TESTS_SHARE * deadline.secondsLeft),
    (operation) => o.say(`${name}: ${operation}`),
  );
  const examined = { backend: name, tested, steps: [], skipped };
  if (name === "cpu") return examined;
  const attempt = async <T>(what: string, work: () => Promise<T>): Promise<T | undefined> => {
    o.say(`${name}: ${what}`);
    if (deadline.secondsLeft < STEP_S) {
      skipped.push(`${what} was skipped: there was no time left`);
      return undefined;
    }
    try {
      return await within(deadline.secondsLeft, work());
    } catch (error) {
      skipped.push(`${what} was not measured: ${messageOf(error)}`);
      return undefined;
    }
  };
  const speed = await attempt(
    "the speed of products and copies",
    () => speedOf(name === "wasm+fma"),
  );
  const steps = [];
  const trainings = paperTrainings(o.trainings)
    // What averages words does so in WebAssembly, whatever the backend.
    .filter(({ model }) => model !== "averaging" || name !== "webgpu");
  for (const [i, training] of trainings.entries()) {
    const seconds = deadline.secondsLeft / (trainings.length - i) / 2;
    steps.push(await attempt(`a step of ${training.model}`, () => measureStep(training, seconds)));
  }
  return {
    ...examined,
    ...(speed === undefined ? {} : { speed }),
    steps: steps.filter((step) => step !== undefined),
  };
}

/** Takes operations to go as fast as in the step that was measured of the same model. */
function profileTimes(
  profiles: readonly PlannedProfile[],
  backends: readonly Examined[],
): ProfileTime[] {
  const measured = new Map(paperTrainings(profiles).map((one) => [one.model, operationsOf(one)]));
  return profiles.map(({ experiment, profile, trainings }) => {
    const hours: Record<string, number> = {};
    for (const { backend, steps } of backends) {
      const speeds = new Map(
        steps.map(({ model, seconds }) => [model, measured.get(model)! / seconds]),
      );
      const seconds = trainings.reduce(
        (sum, one) => sum + one.steps * operationsOf(one) / (speeds.get(one.model) ?? NaN),
        0,
      );
      if (!Number.isNaN(seconds)) hours[backend] = seconds / 3600;
    }
    return { experiment, profile, trainings: trainings.length, hours };
  });
}

function adviceOf(machine: Machine, backends: readonly Examined[]): string[] {
  const advice: string[] = [];
  if (machine.adapter === undefined) {
    advice.push(
      "No WebGPU adapter: install the graphics driver of your device (Linux: its Vulkan driver, " +
        "e.g. Debian's nvidia-driver or mesa-vulkan-drivers, which has a software adapter too); " +
        `without one everything runs with --backend ${processorBackend()}.`,
    );
  } else if (machine.adapter.software) {
    advice.push(
      "The WebGPU adapter is a program on the processor: it is for tests. Train with --backend " +
        `${processorBackend()}.`,
    );
  }
  for (const each of backends) {
    const wrong = failed(each).map(({ operation }) => operation);
    const other = each.backend === "wasm" ? "cpu" : "wasm";
    if (!isSound(each)) {
      const why = wrong.length > 0
        ? `computes ${wrong.join(", ")} wrongly`
        : each.refused === undefined
        ? "gives no answer in time"
        : "cannot be started";
      advice.push(
        `Backend ${each.backend} ${why} here: use --backend ${other}, and report it with the ` +
          "output of: deno task doctor --json",
      );
    }
  }
  return advice;
}

const messageOf = (error: unknown) => error instanceof Error ? error.message : String(error);
