/**
 * A project whose one stage depends on what a stage must not, one kind of instance for each, and its
 * certification in the test's own process.
 *
 * @module
 */
import { join } from "node:path";
import { certify, Elsewhere } from "../../pipeline/certify/certify.ts";
import type { Ground } from "../../pipeline/certify/execute.ts";
import { parseOptions } from "../../pipeline/cli/options.ts";
import type { Project } from "../../pipeline/cli/project.ts";
import { openSession } from "../../pipeline/cli/session.ts";
import type { Instance } from "../../pipeline/plan/graph.ts";
import type { Execution, Executor, Metrics, Task } from "../../pipeline/run/executor.ts";
import { type LocalCircumstances, LocalExecutor } from "../../pipeline/run/executor/local.ts";
import type { Certificate } from "../../pipeline/store/certificate.ts";
import type { Backend } from "../../pipeline/stage.ts";
import { Pins } from "../../pipeline/store/pins.ts";
import type { Trace } from "../../pipeline/store/trace.ts";
import { projectAt, reproduceHere } from "./in_process.ts";
import { mainText, type TestProject, toyProject, writeStage } from "./project.ts";

/** What an instance of the stage writes, by its kind. */
const KINDS: Readonly<Record<string, string>> = {
  steady: `"the same"`,
  random: `Math.random()`,
  folder: `context.output("text").includes(" ")`,
  zone: `new Date(0).getTimezoneOffset()`,
  locale: `(1234.5).toLocaleString()`,
  clock: `new Date().getFullYear()`,
  temporal: `Temporal.Now.plainDateISO().year`,
  memory: `getHeapStatistics().heap_size_limit`,
  home: `home()`,
  // What these write, whoever runs the stage adds to.
  jobs: `"beside "`,
  load: `"busy beside "`,
};

const DECLARATION = `
const params = z.strictObject({ kind: z.string() });
export type Params = z.infer<typeof params>;
export const probe = defineStage({
  name: "probe", params, inputs: {},
  outputs: { text: { kind: "file", exactness: "exact" } },
});`;

const RUN = `
import { getHeapStatistics } from "node:v8";
function home(): string {
  return Deno.env.get("HOME")!;
}
export function run(context: StageContext<Params>): Promise<void> {
  const values: Record<string, () => unknown> = {
    ${Object.entries(KINDS).map(([name, value]) => `${name}: () => ${value}`).join(",\n    ")},
  };
  Deno.writeTextFileSync(context.output("text"), String(values[context.params.kind]!()));
  return Promise.resolve();
}`;

/** Computes on a backend: numbers that differ a little, and words that differ, between backends. */
const NUMERIC = {
  name: "compute",
  declaration: `
const params = z.strictObject({});
export type Params = z.infer<typeof params>;
export const compute = defineStage({
  name: "compute", params, inputs: {}, numeric: true,
  outputs: {
    curve: { kind: "file", exactness: "numeric" },
    words: { kind: "file", exactness: "numeric" },
    same: { kind: "file", exactness: "numeric" },
  },
});`,
  run: `
export function run(context: StageContext<Params>): Promise<void> {
  const other = context.backend === "cpu";
  const loss = [4, 3, other ? 2.5 : 2, other ? 1.125 : 1];
  const write = (name: string, value: unknown) =>
    Deno.writeTextFileSync(context.output(name), JSON.stringify(value));
  write("curve", { curve: { epoch: [10, 20, 30, 40], loss } });
  write("words", { verdict: other ? "refuted" : "supported" });
  write("same", [1, 2, 3]);
  context.metric("loss", loss[3]!);
  return Promise.resolve();
}`,
};

/** Follows `compute`. */
const FOLLOWING = {
  name: "follow",
  declaration: `
const params = z.strictObject({});
export type Params = z.infer<typeof params>;
export const follow = defineStage({
  name: "follow", params, inputs: { curve: {} },
  outputs: { page: { kind: "file", exactness: "numeric" } },
});`,
  run: `
export function run(context: StageContext<Params>): Promise<void> {
  const { path, sha256 } = context.input("curve");
  const { curve } = JSON.parse(Deno.readTextFileSync(path));
  Deno.writeTextFileSync(context.output("page"), "loss " + curve.loss[3] + " of " + sha256 + "\\n");
  return Promise.resolve();
}`,
};

/** Times something. */
const TIMED = {
  name: "timed",
  declaration: `
const params = z.strictObject({});
export type Params = z.infer<typeof params>;
export const timed = defineStage({
  name: "timed", params, inputs: {}, outputs: { seconds: { kind: "file", exactness: "measured" } },
});`,
  run: `
export function run(context: StageContext<Params>): Promise<void> {
  Deno.writeTextFileSync(context.output("seconds"), String(performance.now()));
  return Promise.resolve();
}`,
};

/** Makes the project. */
export function probeProject(): { readonly toy: TestProject; readonly project: Project } {
  const toy = toyProject();
  writeStage(toy, { name: "probe", declaration: DECLARATION, run: RUN });
  for (const stage of [NUMERIC, FOLLOWING, TIMED]) writeStage(toy, stage);
  const stages = ["probe", "compute", "follow", "timed"];
  toy.write("main.ts", mainText(stages));
  toy.write(
    "experiments/toy/experiment.yaml",
    `experiment: toy
axes:
  kind: { ${Object.keys(KINDS).map((kind) => `${kind}: {}`).join(", ")} }
grid: { kind: [${Object.keys(KINDS).join(", ")}] }
stages:
  probe: { each: [kind], params: { kind: $kind } }
  compute: {}
  follow: { inputs: { curve: compute.curve } }
  timed: {}
profiles: { smoke: {} }
`,
  );
  return { toy, project: projectAt(toy.root, { stages, experiment: "toy" }) };
}

/**
 * Runs stages as ever, but lets two circumstances into results that no stage can see: how many are
 * executed at once, and how many processes keep this one's processors busy. HOME a stage may read.
 */
class LeakyExecutor implements Executor {
  readonly #local: LocalExecutor;
  #going = 0;

  constructor({ variables = {}, flags = [] }: LocalCircumstances) {
    this.#local = new LocalExecutor({ variables, flags: [...flags, "--allow-env=HOME"] });
  }

  platform: Executor["platform"] = (wanted) => this.#local.platform(wanted);
  examine: Executor["examine"] = (command) => this.#local.examine(command);
  readonly limits = { gpus: 1, memoryBytes: Infinity, cpus: Infinity };

  async execute(task: Task, execution: Execution): Promise<Metrics> {
    this.#going++;
    const metrics = await this.#local.execute(task, execution);
    const { kind } = task.params as { kind?: string };
    const path = task.outputs["text"]!;
    if (kind === "jobs") Deno.writeTextFileSync(path, String(this.#going), { append: true });
    if (kind === "load") Deno.writeTextFileSync(path, String(busyProcesses()), { append: true });
    this.#going--;
    return metrics;
  }
}

/** Children of this process that do nothing but compute. */
function busyProcesses(): number {
  const children = [...Deno.readDirSync("/proc/self/task")].flatMap(({ name }) =>
    Deno.readTextFileSync(`/proc/self/task/${name}/children`).split(" ").filter(Boolean)
  );
  return children.filter((pid) => {
    try {
      return Deno.readTextFileSync(`/proc/${pid}/cmdline`).includes("while (Deno.ppid");
    } catch {
      return false;
    }
  }).length;
}

/** What is certified, and how. */
export interface CertifyHereOptions {
  readonly instance: string;
  readonly times?: number;
  readonly also?: readonly Backend[];
}

/** Certifies instances of the project, in which all have run. */
export async function certifyHere(
  project: Project,
  wanted: readonly CertifyHereOptions[],
): Promise<Certificate[]> {
  const executorIn = (circumstances: LocalCircumstances) => new LeakyExecutor(circumstances);
  await reproduceHere(project, [], executorIn({}));
  const session = await openSession(project, parseOptions(["plan", "--backend", "wasm"]));
  const { store, bundles, platform, graph, decisions } = session;
  const folder = Deno.makeTempDirSync({ prefix: "lockstep-" });
  const ground: Ground = {
    ...{ store, bundles, platform, executorIn },
    mirror: undefined,
    pins: new Pins(project.root, { keep: false }),
    jobs: 2,
    signal: new AbortController().signal,
  };
  const elsewhere: Elsewhere[] = [];
  try {
    const traces = new Map<Instance, Trace>();
    for (const instance of graph) {
      const decision = decisions.get(instance)!;
      if (decision.action !== "cached") throw new Error(`${instance.name} has not run`);
      traces.set(instance, (await store.trace(decision.key))!);
    }
    const certificates: Certificate[] = [];
    for (const { instance: name, times = 2, also = [] } of wanted) {
      const instance = graph.find((each) => each.name === name)!;
      const own = await Promise.all(
        also.map(async (backend) =>
          new Elsewhere(await executorIn({}).platform(backend), {
            ...{ ground, folder: join(folder, `${name.replaceAll("/", ".")} ${backend}`) },
            traceOf: (from) => traces.get(from)!,
          })
        ),
      );
      elsewhere.push(...own);
      const trace = traces.get(instance)!;
      const outputs = (from: Instance) => traces.get(from)!.outputs;
      const subject = { instance, key: trace.key, outputs };
      const request = { subject, trace, times, elsewhere: own };
      certificates.push(await certify(request, { ground, folder: join(folder, "work") }));
    }
    return certificates;
  } finally {
    for (const each of elsewhere) each.close();
    store.close();
    Deno.removeSync(folder, { recursive: true });
  }
}
