/**
 * A project that measures: stages on two axes of the same values, one of which times, what gathers their
 * results, and what is made from that; and the audit file of a run of it.
 *
 * @module
 */
import { type AuditFile, auditFileOf } from "./audit_file.ts";
import { mainText, type TestProject, toyProject, writeStage } from "./project.ts";

interface Spec {
  readonly params?: string;
  readonly inputs: string;
  readonly exactness?: string;
  readonly alone?: boolean;
  /** Of `run(context)`, which has `text(file)`. */
  readonly body: string;
}

const STAGES: Readonly<Record<string, Spec>> = {
  // Two words: what it makes is another for each pair of coordinates.
  pair: {
    params: "other: z.string()",
    inputs: "text: {}",
    body: 'return text(context.input("text")) + " and " + context.params.other;',
  },
  time: {
    params: "times: z.int().default(3)",
    inputs: "text: {}",
    exactness: "measured",
    alone: true,
    body: `
    context.metric("seconds", Math.random());
    return text(context.input("text")).length + " in " + Math.random();`,
  },
  // Gathers, and times nothing itself.
  list: {
    params: 'title: z.string().default("All")',
    inputs: "results: { many: true }",
    body: `
    const lines = context.inputs("results").map((file) => JSON.stringify(file.at) + " " + text(file));
    return [context.params.title, ...lines].join("\\n");`,
  },
  // Made from what gathers.
  chart: { inputs: "page: {}", body: 'return "chart of " + text(context.input("page"));' },
};

const EXPERIMENT = `experiment: toy
axes:
  name:
    ann: { word: { text: Ann } }
    bob: { word: { text: Bob } }
grid:
  name: [ann, bob]
  other: [ann, bob, cat]
stages:
  word: { each: [name] }
  pair: { each: [other, name], inputs: { text: word.text }, params: { other: $other } }
  time: { each: [other, name], inputs: { text: pair.text } }
  table: { stage: list, inputs: { results: pair.text } }
  times: { stage: list, inputs: { results: time.text } }
  times_chart: { stage: chart, inputs: { page: times.text } }
  table_chart: { stage: chart, inputs: { page: table.text } }
  report: { stage: list, inputs: { results: [table.text, times.text] } }
profiles:
  smoke: {}
`;

/** The project; its instances are 19. */
export function measuringProject(): TestProject {
  const project = toyProject();
  for (const [name, spec] of Object.entries(STAGES)) {
    const { params = "", inputs, exactness = "exact", alone = false, body } = spec;
    writeStage(project, {
      name,
      declaration: `
const params = z.strictObject({ ${params} });
export type Params = z.infer<typeof params>;
export const ${name} = defineStage({
  name: "${name}",
  params,
  inputs: { ${inputs} },
  outputs: { text: { kind: "file", exactness: "${exactness}" } },
  alone: ${alone},
});`,
      run: `
const text = ({ path }: { path: string }) => Deno.readTextFileSync(path);
export function run(context: StageContext<Params>): Promise<void> {
  Deno.writeTextFileSync(context.output("text"), made(context));
  return Promise.resolve();
}
function made(context: StageContext<Params>): string {
  ${body}
}`,
    });
  }
  project.write("main.ts", mainText(["word", ...Object.keys(STAGES)]));
  project.write("experiments/toy/experiment.yaml", EXPERIMENT);
  return project;
}

let made: Promise<AuditFile> | undefined;

/** The audit file and the lock of a run of it; made once. */
export function measured(): Promise<AuditFile> {
  return made ??= (async () => {
    using project = measuringProject();
    return await auditFileOf(project);
  })();
}
