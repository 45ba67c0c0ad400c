import { assert, assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import { doctor } from "../../doctor/doctor.ts";
import { worstOf } from "../../doctor/check.ts";
import { isSound, type Report } from "../../doctor/report.ts";
import { screen } from "../../doctor/screen.ts";
import { testOperations } from "../../doctor/self_test.ts";
import { Deadline, NotInTimeError, within } from "../../doctor/timing.ts";
import { operationsOf, trainingOf } from "../../doctor/training.ts";
import { peakLoops, wasmFeatures } from "../../doctor/wasm_module.ts";
import { project } from "../../main.ts";
import { startBackend } from "../../models/backend.ts";
import { scalarLoops } from "../../models/kernels/scalar.ts";
import { parseOptions } from "../../pipeline/cli/options.ts";
import type { DoctorOptions } from "../../pipeline/cli/project.ts";
import { openExperiment } from "../../pipeline/cli/wiring.ts";
import { type BackendChoice, processorBackend } from "../../pipeline/key/platform.ts";

/** An examination without trainings. */
async function examined(backend: BackendChoice, o: Partial<DoctorOptions> = {}) {
  const printed: string[] = [];
  const code = await doctor({
    ...{ backend, json: true, commit: undefined, plans: () => Promise.resolve([]) },
    ...{ print: (line: string) => printed.push(line), progress: () => {} },
    ...o,
  });
  return { code, printed };
}

const reportOf = ({ printed }: { printed: string[] }) => JSON.parse(printed[0]!) as Report;

Deno.test("a kernel that is wrong is found, named with its place, and another backend offered", async () => {
  await startBackend("cpu");
  const loops = scalarLoops as { gelu: typeof scalarLoops.gelu };
  const { gelu } = loops;
  loops.gelu = (x, y) => {
    gelu(x, y);
    y[2]! += 0.125;
  };
  try {
    const run = await examined("cpu");
    assertEquals(run.code, 1);
    const report = reportOf(run);
    assertEquals(report.ok, false);
    const wrong = report.backends[0]!.tested.filter(({ ok }) => !ok);
    assertEquals(wrong.map(({ operation }) => operation), ["gelu"]);
    const { what, at, found, expected } = wrong[0]!.worst!;
    assertEquals([what, at], ["values", 2]);
    assertEquals(Math.abs(found - expected - 0.125) < 1e-6, true);
    const text = screen(report).join("\n");
    assertStringIncludes(text, `1 of ${report.backends[0]!.tested.length} operations are WRONG`);
    assertStringIncludes(text, "gelu: values of [");
    assertStringIncludes(text.replaceAll(/\s+/g, " "), "use --backend wasm, and report it");
  } finally {
    loops.gelu = gelu;
  }
});

Deno.test("a kernel that gives no number is wrong, whatever comes after it", () => {
  assertEquals(worstOf([1, NaN, 3], [1, 2, 3], 1), { error: Infinity, at: 1 });
  assertEquals(worstOf([1, 2.5, 3], [1, 2, 4], 1), { error: 0.25, at: 2 });
});

Deno.test("without an adapter, the processor is examined, what to install is said, and all is well", async () => {
  const gpu = Object.getOwnPropertyDescriptor(Navigator.prototype, "gpu")!;
  Object.defineProperty(Navigator.prototype, "gpu", { ...gpu, get: () => undefined });
  try {
    const run = await examined("auto");
    assertEquals(run.code, 0);
    const report = reportOf(run);
    assertEquals(report.backends.map(({ backend }) => backend), [processorBackend()]);
    assertEquals(report.machine.adapter, undefined);
    const text = screen(report).join("\n");
    assertStringIncludes(text, "webgpu      no adapter");
    assertStringIncludes(text.replaceAll(/\s+/g, " "), "install the graphics driver");
    const asked = await examined("webgpu");
    assertEquals(asked.code, 1);
    assertStringIncludes(reportOf(asked).backends[0]!.refused!, "offers no adapter");
    assertStringIncludes(reportOf(asked).advice.join(), "use --backend wasm");
  } finally {
    Object.defineProperty(Navigator.prototype, "gpu", gpu);
  }
});

Deno.test("what there is no time for is neither right nor wrong, and one late answer holds up no other", async () => {
  await startBackend("cpu");
  const tested = await testOperations(new Deadline(0), () => {});
  assertEquals(new Set(tested.map(({ ok }) => ok)), new Set([null]));
  const unknown = { backend: "cpu", tested, steps: [], skipped: [] } as const;
  assertEquals(isSound(unknown), false);
  const one = { operation: "gelu", ok: true };
  assertEquals(isSound({ ...unknown, tested: [...tested, one] }), true);
  const never = new Promise<never>(() => {});
  await assertRejects(() => within(0.01, never), NotInTimeError, "no answer within 1 s");
  assertEquals(await within(1, Promise.resolve(7)), 7);
});

/** A report of a machine with all there can be. */
const full: Report = {
  event: "doctor",
  commit: "0123456789abcdef",
  machine: {
    ...{ deno: "2.9.6", v8: "15.0.245.2-rusty", system: "linux 6.18.44-generic x86_64" },
    ...{ processor: "AMD Ryzen Threadripper PRO 7995WX 96-Cores", cores: 192 },
    ...{ memoryBytes: 2 ** 40, freeMemoryBytes: 2 ** 39, browser: "Chromium 156.0.8078.79" },
    wasm: { simd: true, relaxedSimd: true, fusesMultiplyAdd: true },
    devices: [
      {
        ...{ name: "NVIDIA GeForce RTX 4090 Laptop GPU", driver: "NVIDIA, 580.95.05" },
        ...{ pci: "0000_17_00_0", variables: { DRI_PRIME: "pci-0000_17_00_0" } },
      },
      { name: "llvmpipe (LLVM 15.0.6, 256 bits)", driver: "llvmpipe, Mesa 22.3.6 (LLVM 15.0.6)" },
    ],
    adapter: {
      ...{ description: "NVIDIA GeForce RTX 4090 Laptop GPU", vendor: "4318", device: "10007" },
      ...{ architecture: "", driver: "NVIDIA, 580.95.05", software: false },
      features: ["shader-f16", "subgroups", "timestamp-query"],
      limits: { maxStorageBufferBindingSize: 2 ** 31 - 4, maxComputeWorkgroupStorageSize: 2 ** 15 },
    },
  },
  backends: (["wasm", "webgpu"] as const).map((backend) => ({
    backend,
    tested: Array.from({ length: 9 }, (_, i) => ({
      operation: `scaled queries with a factor a head, number ${i}`,
      ok: false,
      worst: {
        ...{ what: "slope along a direction of input 0", inputs: "[600, 70], [70, 600], [600]" },
        ...{ error: 12345.678, tolerance: 1e-6, at: 123456, found: -1.2345678e-12, expected: 1e3 },
      },
    })),
    speed: { productSize: 4096, productGflops: 12345, peakGflops: 23456.7, copyGBytes: 1234.5 },
    steps: (["classifier", "gpt", "averaging"] as const).map((model) => ({
      ...{ model, seconds: 1234.5, tokensPerSecond: 1234567, batch: 64, measured: 3 },
    })),
    skipped: [],
  })),
  profiles: Array.from({ length: 13 }, (_, i) => ({
    ...{ experiment: "intensity", profile: `authors_code_${i}`, trainings: 460 },
    hours: { wasm: 4.5 * 10 ** i, webgpu: 0.01 },
  })),
  advice: [
    "Something that is longer than a line of a terminal is, and so it goes on and on and on.",
  ],
  ok: false,
};

Deno.test("a report fits 80 columns, the usual one about 40 lines", () => {
  for (const line of screen(full)) assert([...line].length <= 80, line);
  const well = full.backends.map((each) => ({
    ...each,
    tested: each.tested.map((one) => ({
      ...{ ...one, operation: "linear", ok: true },
      worst: { ...one.worst!, error: 3e-7 },
    })),
  }));
  const usual = screen({ ...full, backends: well, ok: true });
  assert(usual.length <= 42 + 4, usual.join("\n"));
  const text = usual.join("\n");
  assertStringIncludes(text, "9 operations agree with doubles");
  assertStringIncludes(text, "(3 of 64 timed)");
  const [first = "", second = ""] = text.split("\n--adapter").slice(1);
  assert(first.startsWith(" 0 NVIDIA GeForce RTX 4090") && first.includes("0000_17_00_0"));
  assert(second.startsWith(" 1 llvmpipe") && second.includes("can't be chosen"), second);
  const software = { ...full.machine.adapter!, software: true };
  const named = screen({ ...full, machine: { ...full.machine, adapter: software } }).join("\n");
  assertStringIncludes(named, "a software adapter");
  assertEquals(text.includes("software adapter"), false);
});

Deno.test("--json prints one object: machine, backends with every operation, profiles", async () => {
  const run = await examined("cpu");
  assertEquals(run.printed.length, 1);
  const report = reportOf(run);
  assertEquals(Object.keys(report), [
    ...["event", "commit", "machine", "backends", "profiles", "advice", "ok"],
  ]);
  const { deno, v8, processor, cores, memoryBytes, wasm } = report.machine;
  assertEquals([deno, v8], [Deno.version.deno, Deno.version.v8]);
  assert(processor !== "" && cores >= 1 && memoryBytes > 2 ** 20 && wasm.simd);
  const { tested } = report.backends[0]!;
  assertEquals(new Set(tested.map(({ operation }) => operation)).size, tested.length);
  for (const { ok, worst } of tested) assert(ok && worst!.error < worst!.tolerance);
});

Deno.test("every profile's trainings have a size, and eight times the seeds take eight times as long", async () => {
  const work = async (experiment: string, profile: string) => {
    const options = parseOptions(["plan", "--experiment", experiment, "--profile", profile]);
    const { all } = await openExperiment(project, options);
    const trains = all.filter(({ node }) => node.stage.name.startsWith("train"));
    const found = trains.map(trainingOf).filter((one) => one !== undefined);
    assertEquals(found.length, trains.length, `${experiment}.${profile}`);
    return found.reduce((sum, one) => sum + one.steps * operationsOf(one), 0);
  };
  const paper = await work("fusion", "paper");
  assert(Math.abs(await work("fusion", "decisive") / paper / 8 - 1) < 1e-9);
  assert(await work("fusion", "smoke") < paper / 1000);
  for (const experiment of ["intensity", "averaging"]) {
    assert(await work(experiment, "smoke") < await work(experiment, "paper"));
  }
});

Deno.test("the loops for the peak compute what they say, with each rounding where it is not fused", () => {
  assert(wasmFeatures().simd);
  for (const { run, operations, vectors } of peakLoops(false)) {
    for (const turns of [1, 7, 1000]) {
      const steps = turns * operations / (8 * vectors);
      let v = 0;
      for (let i = 0; i < steps; i++) {
        v = Math.fround(Math.fround(v * Math.fround(0.999)) + Math.fround(0.001));
      }
      let sum = v;
      for (let i = 1; i < vectors; i++) sum = Math.fround(sum + v);
      assertEquals(run(turns), sum);
    }
  }
});
