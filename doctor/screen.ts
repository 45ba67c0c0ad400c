/**
 * A report on one screen of 80 columns.
 *
 * @module
 */
import { duration, hanging } from "../pipeline/cli/layout.ts";
import type { Finding } from "./check.ts";
import type { Machine } from "./machine.ts";
import { type Examined, failed, type Report } from "./report.ts";

const WIDTH = 80;
/** Columns of what stands before a line's text. */
const LABEL = 12;
/** Failed operations that are shown of a backend; `--json` has all. */
const MAX_FAILED = 4;

/** The lines of a report. */
export function screen(report: Report): string[] {
  return [
    ...machineLines(report),
    ...report.backends.flatMap((each) => ["", ...backendLines(each)]),
    ...profileLines(report),
    ...report.advice.flatMap((text) => ["", ...hanging(text, { width: WIDTH })]),
  ];
}

/** A label and what it is about, broken to the width. */
function labelled(label: string, text: string): string[] {
  const indent = " ".repeat(LABEL);
  const [first = "", ...rest] = hanging(text, { width: WIDTH, indent });
  return [`${label.padEnd(LABEL - 1)} ${first.slice(LABEL)}`, ...rest];
}

const mebibytes = (bytes: number) => `${Math.round(bytes / 2 ** 20)} MiB`;
const gibibytes = (bytes: number) => `${(bytes / 2 ** 30).toFixed(1)} GiB`;

function machineLines({ machine, commit }: Report): string[] {
  const { deno, v8, system, processor, cores, wasm, adapter, browser } = machine;
  const operations = [
    wasm.simd ? "SIMD" : "no SIMD",
    wasm.relaxedSimd ? "relaxed SIMD" : "no relaxed SIMD",
    wasm.fusesMultiplyAdd ? "fused multiply-add" : "no fused multiply-add",
  ];
  return [
    ...labelled("lockstep", `${commit?.slice(0, 10) ?? "(no git commit)"}, Deno ${deno}, V8 ${v8}`),
    ...labelled("system", system),
    ...labelled(
      "processor",
      `${processor}, ${cores} core${cores === 1 ? "" : "s"}, ` +
        `${gibibytes(machine.memoryBytes)} memory, ${gibibytes(machine.freeMemoryBytes)} free`,
    ),
    ...labelled("wasm", operations.join(", ")),
    ...(adapter === undefined ? labelled("webgpu", "no adapter") : adapterLines(adapter)),
    ...deviceLines(machine.devices),
    ...labelled("browser", browser ?? "none found"),
  ];
}

/** What `--adapter` takes. */
function deviceLines(devices: Machine["devices"]): string[] {
  return devices.flatMap(({ name, driver, pci, variables }, number) =>
    labelled(
      `--adapter ${number}`,
      [name, driver, ...pci === undefined ? [] : [pci], ...variables ? [] : ["can't be chosen"]]
        .join(", "),
    )
  );
}

function adapterLines(
  { description, vendor, device, architecture, driver, software, limits, features }: NonNullable<
    Machine["adapter"]
  >,
): string[] {
  const known = (name: string) => limits[name] ?? 0;
  const optional = ["shader-f16", "subgroups", "timestamp-query"].filter((name) =>
    features.includes(name)
  );
  return [
    ...labelled(
      "webgpu",
      `${description || `vendor ${vendor}, device ${device}`}: ` +
        (software ? "a software adapter" : "a device"),
    ),
    ...labelled("", `driver ${driver}; vendor ${vendor}${architecture && `, ${architecture}`}`),
    ...labelled(
      "",
      `bindings of ${mebibytes(known("maxStorageBufferBindingSize"))}, ` +
        `${known("maxStorageBuffersPerShaderStage")} a shader; workgroups of ` +
        `${known("maxComputeInvocationsPerWorkgroup")}, ` +
        `${known("maxComputeWorkgroupStorageSize") / 1024} KiB; ${optional.join(", ")}`,
    ),
  ];
}

function backendLines(examined: Examined): string[] {
  const { backend, refused, tested, speed, steps, skipped } = examined;
  if (refused !== undefined) return labelled(backend, `cannot be started: ${refused}`);
  const wrong = failed(examined), tried = tested.filter(({ ok }) => ok !== null);
  const worst = tried.filter(({ worst }) => worst !== undefined).map(({ operation, worst }) => ({
    operation,
    share: worst!.error / worst!.tolerance,
  })).reduce((a, b) => b.share > a.share ? b : a, { operation: "", share: 0 });
  const lines = wrong.length > 0
    ? labelled(backend, `${wrong.length} of ${tried.length} operations are WRONG`)
    : labelled(
      backend,
      `${tried.length} operations agree with doubles, to ${(100 * worst.share).toFixed(0)} % of ` +
        `what is allowed (${worst.operation})`,
    );
  for (const { operation, worst, error } of wrong.slice(0, MAX_FAILED)) {
    lines.push(...labelled("", `${operation}: ${error ?? describe(worst!)}`));
  }
  if (wrong.length > MAX_FAILED) {
    lines.push(...labelled("", `and ${wrong.length - MAX_FAILED} more: --json lists them`));
  }
  if (tried.length < tested.length) {
    lines.push(
      ...labelled(
        "",
        `${tested.length - tried.length} operations are not known: there was no time`,
      ),
    );
  }
  if (speed !== undefined) {
    const { productSize: n, productGflops, peakGflops, copyGBytes } = speed;
    lines.push(...labelled(
      "",
      `product of ${n}²: ${figure(productGflops)} GFLOP/s of ` +
        `${figure(peakGflops)} in registers; copy ${figure(copyGBytes)} GB/s`,
    ));
  }
  for (const { model, seconds, tokensPerSecond, batch, measured } of steps) {
    const part = measured < batch ? ` (${measured} of ${batch} timed)` : "";
    const speed = `${Math.round(tokensPerSecond)} tokens/s${part}`;
    lines.push(...labelled("", `a step of ${model}: ${time(seconds)}, ${speed}`));
  }
  return [...lines, ...skipped.flatMap((text) => labelled("", text))];
}

function describe({ what, inputs, error, tolerance, at, found, expected }: Finding): string {
  return `${what} of ${inputs}: off by ${error.toPrecision(3)} of the largest, ${tolerance} is ` +
    `allowed; element ${at} is ${found.toPrecision(8)}, not ${expected.toPrecision(8)}`;
}

/** From milliseconds to days. */
function time(seconds: number): string {
  if (seconds < 0.1) return `${(1000 * seconds).toFixed(1)} ms`;
  return seconds < 100 * 3600 ? duration(seconds) : `${Math.round(seconds / 86400)} days`;
}

const figure = (value: number) =>
  value < 1000 ? value.toPrecision(3) : Math.round(value).toString();

function profileLines({ profiles, backends }: Report): string[] {
  const names = backends.map(({ backend }) => backend)
    .filter((name) => profiles.some(({ hours }) => hours[name] !== undefined));
  if (names.length === 0) return [];
  const row = (name: string, trainings: string, cells: string[]) =>
    [name.padEnd(24), trainings.padStart(9), ...cells.map((cell) => cell.padStart(14))].join("  ");
  return [
    "",
    row("about, one at a time", "trainings", names),
    ...profiles.map(({ experiment, profile, trainings, hours }) =>
      row(
        `${experiment}.${profile}`,
        String(trainings),
        names.map((name) => hours[name] === undefined ? "-" : time(3600 * hours[name])),
      )
    ),
  ];
}
