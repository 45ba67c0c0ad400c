import { assert, assertAlmostEquals, assertEquals } from "@std/assert";
import type { Event, ExpectedStage } from "../../pipeline/event.ts";
import { Pace } from "../../pipeline/views/pace.ts";

/** A stage as it goes: seconds of each instance, and how many steps it reports, if any. */
interface Going {
  readonly stage: string;
  readonly seconds: readonly number[];
  readonly steps?: number;
  readonly alone?: boolean;
}

/** Times of a whole run of each paper's smoke profile, measured on two busy cores. */
const FUSION: readonly Going[] = [
  { stage: "download", seconds: [0.5, 0.6, 1] },
  { stage: "tokenize", seconds: [0.9, 0.8, 1.4] },
  {
    stage: "train",
    seconds: [12, 11, 15, 15, 21, 20, 20, 19, 27, 25, 29, 27, 46, 46, 53, 53, 44, 45],
    steps: 300,
  },
  { stage: "evaluate", seconds: [3, 3, 3, 3, 3, 3, 4, 4, 4, 5, 4, 4, 5, 6, 6, 6, 6, 6] },
  { stage: "aggregate", seconds: [2] },
  { stage: "plot", seconds: [7, 8, 7, 14, 9, 7, 6] },
  { stage: "latency", seconds: [3, 3, 3, 2, 4, 4], alone: true },
  { stage: "report", seconds: [1] },
];
/** Many quick instances, then a few long ones of which nothing could be known. */
const LATE: readonly Going[] = [
  { stage: "download", seconds: Array.from({ length: 10 }, () => 0.3) },
  { stage: "tokenize", seconds: Array.from({ length: 10 }, () => 1) },
  { stage: "train", seconds: Array.from({ length: 20 }, () => 60), steps: 1000 },
  { stage: "evaluate", seconds: Array.from({ length: 20 }, () => 5) },
];

/** What a run shows as it goes, stage by stage on some jobs: `[elapsed, left]` each second. */
function simulate(
  run: readonly Going[],
  o: { jobs: number; earlier: (stage: Going) => readonly number[] | null; slower?: number },
): { total: number; shown: [elapsed: number, left: number | undefined][] } {
  const slower = o.slower ?? 1;
  const pace = new Pace();
  const stages: ExpectedStage[] = run.map((going) => ({
    stage: going.stage,
    instances: going.seconds.length,
    seconds: mean(o.earlier(going)),
    alone: going.alone ?? false,
    atOnce: o.jobs,
  }));
  pace.take({ ...PLAN, jobs: o.jobs, stages }, 0);
  const shown: [number, number | undefined][] = [];
  let now = 0;
  const DT = 0.1;
  for (const going of run) {
    const { stage, seconds, steps, alone } = going;
    const waiting = seconds.map((one, index) => ({
      instance: `${stage}/${index}`,
      seconds: one * slower,
      estimateSeconds: o.earlier(going)?.[index] ?? null,
    }));
    const running = new Map<string, { since: number; seconds: number }>();
    while (waiting.length + running.size > 0) {
      while (waiting.length > 0 && running.size < (alone ? 1 : o.jobs)) {
        const { instance, seconds, estimateSeconds } = waiting.shift()!;
        running.set(instance, { since: now, seconds });
        pace.take({ event: "started", instance, key: "", reason: "", estimateSeconds }, now);
      }
      now += DT;
      for (const [instance, { since, seconds }] of running) {
        if (now - since >= seconds) {
          running.delete(instance);
          pace.take({ event: "executed", instance, key: "", seconds, metrics: {} }, now);
        } else if (steps) {
          // Start and compilation take a tenth, in which no step is reported.
          const done = Math.floor(steps * ((now - since) / seconds - 0.1) / 0.9);
          if (done > 0) {
            pace.take({ event: "progress", instance, done, total: steps, unit: "steps" }, now);
          }
        }
      }
      if (Math.floor(now) > Math.floor(now - DT)) shown.push([now, pace.remaining(now)]);
    }
  }
  return { total: now, shown };
}

const mean = (seconds: readonly number[] | null) =>
  seconds && seconds.reduce((sum, one) => sum + one, 0) / seconds.length;

const PLAN: Extract<Event, { event: "plan" }> = {
  event: "plan",
  experiment: "toy",
  profile: "smoke",
  backend: "wasm",
  backendReason: "as asked",
  instances: 0,
  jobs: 2,
  stages: [],
  estimateSeconds: null,
};

/** The largest rise of what is shown to be left, but for the last twentieth of the run. */
function largestRise({ total, shown }: ReturnType<typeof simulate>): number {
  let least = Infinity, rise = 0;
  for (const [, left] of shown) {
    if (left === undefined) continue;
    rise = Math.max(rise, left / least);
    least = Math.min(least, Math.max(left, total / 20));
  }
  return rise;
}

for (const [name, run] of [["the first paper's", FUSION], ["a", LATE]] as const) {
  for (const jobs of [1, 2, 8]) {
    const cases: [string, Parameters<typeof simulate>[1]][] = [
      ["no earlier run", { jobs, earlier: () => null }],
      ["exact earlier runs", { jobs, earlier: ({ seconds }) => seconds }],
      ["a machine three times slower than before", {
        jobs,
        earlier: ({ seconds }) => seconds,
        slower: 3,
      }],
      ["a machine three times faster than before", {
        jobs,
        earlier: ({ seconds }) => seconds,
        slower: 1 / 3,
      }],
      ["earlier runs of the quick stages alone", {
        jobs,
        earlier: ({ seconds }) => mean(seconds)! < 2 ? seconds : null,
      }],
    ];
    for (const [what, options] of cases) {
      Deno.test(`what is left of ${name} run on ${jobs} jobs never rises fivefold: ${what}`, () => {
        const simulated = simulate(run, options);
        const rise = largestRise(simulated);
        assert(rise < 5, `it rises ${rise.toFixed(1)} times`);
        const said = simulated.shown.filter(([, left]) => left !== undefined).length;
        assert(
          said > simulated.shown.length / 2,
          `it is said for ${said} of ${simulated.shown.length} s`,
        );
      });
    }
  }
}

Deno.test("with exact earlier runs what is left is right within a third from the start", () => {
  const { total, shown } = simulate(FUSION, { jobs: 2, earlier: ({ seconds }) => seconds });
  for (const [elapsed, left] of shown.slice(0, -Math.ceil(total / 10))) {
    const error = (elapsed + left!) / total;
    assert(error > 2 / 3 && error < 4 / 3, `${elapsed} s + ${left} s of ${total} s`);
  }
});

Deno.test("a resumed training's pace is that of this run, not of what it found done", () => {
  const pace = new Pace();
  const stages = [{ stage: "train", instances: 1, seconds: null, alone: false, atOnce: 1 }];
  pace.take({ ...PLAN, jobs: 1, instances: 1, stages }, 0);
  const started = { event: "started", instance: "train/1", key: "", reason: "" } as const;
  pace.take({ ...started, estimateSeconds: null }, 0);
  const step = (done: number, at: number) =>
    pace.take({ event: "progress", instance: "train/1", done, total: 100, unit: "steps" }, at);
  step(60, 0);
  assertEquals(pace.remaining(0), undefined);
  step(70, 10);
  assertAlmostEquals(pace.remaining(10)!, 30);
});
