/**
 * The inputs in an audit file, wired otherwise by a hand that makes keys and digests agree. Of two results
 * whose coordinates are permutations of each other each keeps its own.
 *
 * @module
 */
import { assert, assertEquals } from "@std/assert";
import { parse } from "@std/yaml";
import { sha256 } from "../../pipeline/key/hash.ts";
import type { Graph, Instance } from "../../pipeline/plan/graph.ts";
import { ingredientsOf } from "../../pipeline/plan/ingredients.ts";
import { type Finding, findingText } from "../../pipeline/replay/finding.ts";
import { checkInputs } from "../../pipeline/replay/inputs.ts";
import { inspect, verify } from "../../pipeline/replay/verify.ts";
import type { Trace } from "../../pipeline/store/trace.ts";
import { Forger } from "../rig/forge.ts";
import { measured } from "../rig/measuring.ts";
import { numbersOf } from "../rig/numbers.ts";
import { planned } from "../rig/planned.ts";

const label = (stage: string, name: string, other: string) =>
  `inputs.results[${stage}.text{"name":"${name}","other":"${other}"}]`;

/** Alterations of inputs, and the words by which they must be found without any lock. */
const WIRINGS: Readonly<
  Record<string, readonly [(forger: Forger) => void, named: RegExp]>
> = {
  "results whose coordinates are permutations of each other": [
    (forger) => swap(forger, "table", label("pair", "ann", "bob"), label("pair", "bob", "ann")),
    /^input +(table|report), input results \[pair\.text\{.*must be made by what its label names/m,
  ],
  "times whose coordinates are permutations of each other": [
    (forger) => swap(forger, "times", label("time", "ann", "bob"), label("time", "bob", "ann")),
    /^input +times, input results \[time\.text\{.*must be made by what its label names/m,
  ],
  "results with other coordinates": [
    (forger) => swap(forger, "table", label("pair", "ann", "ann"), label("pair", "bob", "bob")),
    /^input +table, input results \[pair\.text\{.*must be made by what its label names/m,
  ],
  "a result that is not gathered": [
    (forger) =>
      forger.ingredients("table", (own) => {
        delete own[label("pair", "bob", "cat")];
      }),
    /^input +table, input results \[pair\.text\{"name":"bob","other":"cat"\}\]: must be text of pair\/cat\/bob, which the run has, found nothing$/m,
  ],
  "a result that is gathered twice": [
    (forger) =>
      forger.ingredients("table", (own) => {
        own['inputs.results[pair.text{"other":"ann","name":"ann"}]'] =
          own[label("pair", "ann", "ann")]!;
      }),
    /^input +table, input results \[pair\.text\{"other":"ann","name":"ann"\}\]: must be made by what/m,
  ],
  "one artifact from elsewhere": [
    (forger) => {
      const text = forger.trace("pair/ann/bob").ingredients["inputs.text"]!;
      const other = forger.trace("pair/cat/ann").outputs["text"]!.sha256;
      assert(text !== other);
      forger.ingredients("time/ann/bob", (own) => own["inputs.text"] = other);
    },
    /^input +time\/ann\/bob, input text: must be made where time\/ann\/bob is, on the axes that both have, found text of pair\/cat\/ann$/m,
  ],
  "an input under a name that nothing reads": [
    (forger) =>
      forger.ingredients("times_chart", (own) => {
        own["inputs.page[]x"] = own["inputs.page"]!;
      }),
    /^input +times_chart, inputs\.page\[\]x: must be the name of an input/m,
  ],
  "an input that is no digest": [
    (forger) => forger.ingredients("times_chart", (own) => own["inputs.page"] = "x"),
    /^input +times_chart, inputs\.page: must be a digest, found x$/m,
  ],
};

/** Alterations of what measures or follows from that, which a lock names by its recipes. */
const RECIPES: Readonly<Record<string, readonly [(forger: Forger) => void, instance: string]>> = {
  "a param of what measures": [
    (forger) => forger.ingredients("time/cat/bob", (own) => own["params.times"] = "30"),
    "time/cat/bob",
  ],
  "code of what measures": [
    (forger) =>
      forger.ingredients(
        "time/cat/bob",
        (own) => own["code"] = forger.keep("export const run = 1;"),
      ),
    "time/cat/bob",
  ],
  "what something measured was made from": [
    (forger) => {
      const from = forger.trace("pair/cat/ann").outputs["text"]!.sha256;
      forger.ingredients("time/cat/bob", (own) => own["inputs.text"] = from);
    },
    "time/cat/bob",
  ],
  "a title of a report of times": [
    (forger) => {
      forger.ingredients("report", (own) => own["params.title"] = '"Best"');
      forger.alter("report", "text", (text) => text.replace("All", "Best"));
    },
    "report",
  ],
  "a report that leaves the times out": [
    (forger) => {
      forger.ingredients("report", (own) => delete own["inputs.results[times.text{}]"]);
      forger.alter("report", "text", (text) => text.split("\n{}")[0]!);
    },
    "report",
  ],
  "a chart of something else": [
    (forger) => {
      const { sha256 } = forger.trace("time/ann/ann").outputs["text"]!;
      forger.ingredients("times_chart", (own) => own["inputs.page"] = sha256);
      forger.alter("times_chart", "text", () => `chart of ${forger.text("time/ann/ann", "text")}`);
    },
    "times_chart",
  ],
  "a report that says that it times": [
    (forger) => {
      forger.alter("report", "text", (text) => text.replace("Ann", "Eve"));
      forger.ingredients("report", (own) => own["alone"] = "true");
    },
    "report",
  ],
};

Deno.test("a lock holds code, params and inputs of what measures, and of what follows from it", async (test) => {
  const { file, lock } = await measured();
  assertEquals(inspect(file, { lock: () => lock }).findings, []);
  for (const [name, [edit, instance]] of Object.entries(RECIPES)) {
    await test.step(name, async () => {
      const forger = new Forger(file);
      edit(forger);
      const { findings } = inspect(await forger.file(), { lock: () => lock });
      const text = findings.map(findingText).join("\n");
      const line =
        `lock    lock/toy.smoke.lock, against the one given, ${instance}: must be recipe=`;
      assert(text.includes(line), text || "nothing was found");
    });
  }
  // Other times are another run of the same.
  const forger = new Forger(file);
  const before = new Forger(file);
  forger.alter("time/cat/bob", "text", () => "11 in 0.5");
  forger.ingredients("time/cat/bob", (own) => own["machine"] = "another");
  for (const [name, from] of [["times", "time/cat/bob"], ["times_chart", "times"]] as const) {
    forger.rekey(before);
    forger.alter(
      name,
      "text",
      (text) => text.replace(before.text(from, "text"), forger.text(from, "text")),
    );
  }
  forger.rekey(before);
  assertEquals(inspect(await forger.file(), { lock: () => lock }).findings, []);
});

Deno.test("what follows from times is held to its bits, though a lock has no digest of it", async () => {
  const { file } = await measured();
  for (const instance of ["times", "times_chart", "report"]) {
    const forger = new Forger(file);
    forger.alter(instance, "text", (text) => text.replace("All", "None"));
    forger.rekey(new Forger(file));
    const { findings } = await verify(await forger.file());
    const text = findings.map(findingText).join("\n");
    assert(text.includes(`result  ${instance}, output text at line 1: recorded "`), text);
  }
});

function swap(forger: Forger, instance: string, one: string, other: string): void {
  forger.ingredients(instance, (own) => {
    assert(own[one] !== undefined && own[other] !== undefined);
    [own[one], own[other]] = [own[other]!, own[one]!];
  });
}

Deno.test("an input is what its label names, in the order of its axes, and all that there is", async (test) => {
  const { file } = await measured();
  assertEquals(inspect(await new Forger(file).file()).findings, []);
  for (const [name, [edit, named]] of Object.entries(WIRINGS)) {
    await test.step(name, async () => {
      const forger = new Forger(file);
      edit(forger);
      const text = inspect(await forger.file()).findings.map(findingText).join("\n");
      assert(named.test(text), text || "nothing was found");
    });
  }
});

/** What a run of an experiment would leave: of each output a digest of its own. */
function tracesOf(graph: Graph): Map<string, Trace> {
  const digest = ({ name }: Instance, output: string) => sha256(`${output} of ${name}`);
  return new Map(graph.map((instance) => {
    const { name, node, inputs } = instance;
    const bound = Object.fromEntries(
      Object.entries(inputs).map(([input, bindings]) =>
        [
          input,
          bindings.map(({ label, instance, output }) => [label, digest(instance, output)] as const),
        ] as const
      ),
    );
    const outputs = Object.entries(node.stage.outputs).map(([output, { kind, exactness }]) =>
      [output, { kind, exactness, bytes: 0, sha256: digest(instance, output) }] as const
    );
    const trace: Trace = {
      ...{ key: sha256(name), instance: name, stage: node.stage.name, run: "x.y", started: "" },
      ...{ ingredients: ingredientsOf(instance, {}, bound), sources: {}, metrics: {}, seconds: 0 },
      ...{ outputs: Object.fromEntries(outputs), machine: {} },
    };
    return [name, trace];
  }));
}

function problemsOf(traces: ReadonlyMap<string, Trace>): string[] {
  const found: Finding[] = [];
  checkInputs(traces, (finding) => found.push(finding));
  return found.map(findingText);
}

const EXPERIMENTS = new URL("../../experiments/", import.meta.url);

Deno.test("of every experiment and profile the inputs are sound, and two that changed places are found", async () => {
  const number = numbersOf("experiments");
  const names = [...Deno.readDirSync(EXPERIMENTS)].filter(({ isDirectory, name }) =>
    isDirectory && name !== "_template"
  ).map(({ name }) => name);
  for (const name of names) {
    const text = Deno.readTextFileSync(new URL(`${name}/experiment.yaml`, EXPERIMENTS));
    const { profiles } = parse(text, { schema: "core" }) as { profiles: object };
    for (const profile of Object.keys(profiles)) {
      const traces = tracesOf((await planned(name, profile)).graph);
      assertEquals(problemsOf(traces), [], `${name}.${profile}`);
      const gathering = [...traces].flatMap(([instance, { ingredients }]) => {
        const labels = Object.keys(ingredients).filter((ingredient) =>
          /^inputs\..*\]$/.test(ingredient)
        );
        return labels.length > 1 ? [{ instance, labels }] : [];
      });
      const { instance, labels } = gathering[number(gathering.length)]!;
      const one = labels[number(labels.length)]!;
      const other = labels.filter((label) => label !== one)[number(labels.length - 1)]!;
      const trace = traces.get(instance)!;
      const swapped = { [one]: trace.ingredients[other]!, [other]: trace.ingredients[one]! };
      const ingredients = { ...trace.ingredients, ...swapped };
      const problems = problemsOf(new Map(traces).set(instance, { ...trace, ingredients }));
      assert(problems.length > 0, `${name}.${profile}: ${one} and ${other} of ${instance}`);
    }
  }
});
