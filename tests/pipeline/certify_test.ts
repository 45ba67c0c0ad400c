import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { compareContents, Differences } from "../../pipeline/certify/difference.ts";
import {
  type Certificate,
  type Circumstance,
  CIRCUMSTANCES,
  gradeOf,
  isKept,
  noiseFloor,
  variedIn,
} from "../../pipeline/store/certificate.ts";
import { encodeTensors } from "../../models/safetensors.ts";
import { certifyHere, probeProject } from "../rig/certify.ts";

/** Certifies one instance of a kind, by two executions. */
async function certified(kind: string): Promise<Certificate> {
  const { toy, project } = probeProject();
  using _ = toy;
  const [certificate] = await certifyHere(project, [{ instance: `probe/${kind}` }]);
  return certificate!;
}

/** A kind of instance, and what moves it. */
const MOVED: Readonly<Record<string, Circumstance>> = {
  folder: "folder",
  home: "HOME",
  zone: "time zone",
  locale: "locale",
  clock: "clock",
  temporal: "clock",
  jobs: "jobs",
  memory: "memory",
  load: "CPU load",
};

Deno.test("the tests try each circumstance that is varied", () => {
  assertEquals([...new Set(Object.values(MOVED))].sort(), [...CIRCUMSTANCES].sort());
});

for (const [kind, circumstance] of Object.entries(MOVED)) {
  Deno.test({
    name:
      `a stage that depends on ${circumstance}, by "${kind}", is graded down, and ${circumstance} named`,
    // Processes are counted by what Linux says of them.
    ignore: kind === "load" && Deno.build.os !== "linux",
    async fn() {
      const certificate = await certified(kind);
      const { grade, movedBy } = gradeOf(certificate, "text");
      assertEquals({ grade, movedBy }, { grade: "stochastic", movedBy: [circumstance] });
      assertEquals(isKept(certificate), false);
    },
  });
}

Deno.test("a stage that depends on nothing is bit-exact, with all circumstances varied", async () => {
  const certificate = await certified("steady");
  assertEquals(gradeOf(certificate, "text").grade, "bit-exact");
  assertEquals(variedIn(certificate), [...CIRCUMSTANCES]);
  assert(isKept(certificate));
});

Deno.test("a stage that draws at random is stochastic by itself, and nothing is looked for", async () => {
  const certificate = await certified("random");
  const { grade, movedBy } = gradeOf(certificate, "text");
  assertEquals({ grade, movedBy }, { grade: "stochastic", movedBy: [] });
  // One as usual, two at once with all varied.
  assertEquals(certificate.executions.length, 3);
});

Deno.test("what is measured is graded as such and breaks no promise", async () => {
  const { toy, project } = probeProject();
  using _ = toy;
  const [certificate] = await certifyHere(project, [{ instance: "timed" }]);
  const digests = certificate!.executions.map(({ outputs }) => outputs["seconds"]!.sha256);
  assert(new Set(digests).size > 1, "it was executed, and timed again");
  assertEquals(gradeOf(certificate!, "seconds").grade, "measured");
  assert(isKept(certificate!));
});

Deno.test("other backends decide between bit-exact, numeric and exact on one platform", async () => {
  const { toy, project } = probeProject();
  using _ = toy;
  const [alone, both, following] = await certifyHere(project, [
    { instance: "compute" },
    { instance: "compute", also: ["cpu"] },
    { instance: "follow", also: ["cpu"] },
  ]);
  const grades = (certificate: Certificate) =>
    Object.keys(certificate.outputs).map((name) => [name, gradeOf(certificate, name).grade]);
  assertEquals(grades(alone!), [
    ["curve", "exact on this platform"],
    ["words", "exact on this platform"],
    ["same", "exact on this platform"],
  ]);
  assertEquals(grades(both!), [
    ["curve", "numeric"],
    ["words", "exact on this platform"],
    ["same", "bit-exact"],
  ]);
  // 2.5 for 2 at epoch 30 is the first and the largest; the largest loss is 4.
  assertEquals(gradeOf(both!, "curve").difference, {
    ...{ onlyNumbers: true, largest: 0.5, relative: 0.125, count: 2 },
    first: { at: "curve.loss[2]", step: 30, was: "2", is: "2.5" },
  });
  assertEquals(gradeOf(both!, "curve").platforms, ["cpu"]);
  assertEquals(noiseFloor(both!), { loss: 0.125 });
  assertEquals(noiseFloor(alone!), { loss: 0 });
  // It has what was computed there, whose digest is another; only the number says something else.
  const { grade, difference } = gradeOf(following!, "page");
  assertEquals([grade, difference?.largest, difference?.count], ["numeric", 0.125, 1]);
});

function compared(was: Uint8Array, is: Uint8Array) {
  const into = new Differences();
  compareContents(was, is, { name: "", into });
  return into.result();
}

Deno.test("arrays are compared element by element, each in proportion to its own array", () => {
  const file = (second: number) =>
    encodeTensors({
      metadata: {},
      tensors: new Map([
        ["a", { shape: [2], values: new Float32Array([1000, second]) }],
        ["b", { shape: [1], values: new Float32Array([0.5]) }],
      ]),
    });
  assertEquals(compared(file(2), file(2.5)), {
    ...{ onlyNumbers: true, largest: 0.5, relative: 0.0005, count: 1 },
    first: { at: "a[1]", was: "2", is: "2.5" },
  });
  assertEquals(compared(file(2), file(NaN))?.onlyNumbers, false);
});

Deno.test("text is compared number by number, and a digest in it names content and says nothing", () => {
  const text = (value: string, digest: string) =>
    new TextEncoder().encode(`loss ${value} of ${digest.repeat(8)}\n`);
  assertEquals(compared(text("0.25", "0f1e2d3c"), text("0.75", "ab34ab34"))?.largest, 0.5);
  assertEquals(compared(text("0.25", "0f1e2d3c"), text("0.25", "ab34ab34")), undefined);
  const words = compared(
    new TextEncoder().encode("won by 1"),
    new TextEncoder().encode("lost by 1"),
  );
  assertEquals(words?.onlyNumbers, false);
});

Deno.test("a number with many digits before its exponent is no digest", () => {
  const text = (value: string) =>
    new TextEncoder().encode(`p ${value} of ${"0f1e2d3c".repeat(8)}\n`);
  const numbers = [
    ["1.0234567890123e-7", "1.9234567890123e-7"],
    ["10234567890123e-7", "19234567890123e-7"],
    ["10234567890123e5", "19234567890123e5"],
  ] as const;
  for (const [was, is] of numbers) {
    const difference = compared(text(was), text(is));
    assertEquals(difference?.largest, Number(is) - Number(was), was);
  }
});

/** 400 days, 7 hours and 13 minutes. */
const AHEAD_MS = ((400 * 24 + 7) * 60 + 13) * 60_000;

Deno.test("the varied clock is ahead in every way that a stage has to ask for it", async () => {
  const program = `
    const now = Number(Deno.args[0]);
    console.log(JSON.stringify([Date.now(), +new Date(), +new (new Date().constructor)(),
      Temporal.Now.instant().epochMilliseconds, Temporal.Now.zonedDateTimeISO().epochMilliseconds,
      performance.timeOrigin].map((time) => Math.abs(time - now) < 3_600_000)));
    console.log(new Date(5).getTime(), new Date() instanceof Date, typeof Date());`;
  const { stdout } = await new Deno.Command(Deno.execPath(), {
    args: [
      ...["run", "--quiet", "--no-config"],
      `--preload=${import.meta.resolve("../../pipeline/certify/shifted_clock.ts")}`,
      ...[
        `data:application/javascript,${encodeURIComponent(program)}`,
        String(Date.now() + AHEAD_MS),
      ],
    ],
  }).output();
  const text = new TextDecoder().decode(stdout);
  assertStringIncludes(text, "[true,true,true,true,true,true]");
  assertStringIncludes(text, "5 true string");
});
