/**
 * The schema of experiment files, and the JSON Schema for editors made from it.
 *
 * @module
 */
import { z } from "zod";
import type { Stage } from "../stage.ts";
import { commandSchema } from "./command.ts";
import { EXECUTORS } from "./executors.ts";
import { resourcesSchema } from "./resources.ts";
import { slurmSchema } from "./slurm.ts";

/** Longest name: instances are named by several. */
const MAX_NAME = 100;
/** Max combinations to leave out: each is held against every instance. */
const MAX_EXCLUDE = 100;
/** Max axes of one stage: an instance's name has a value of each. */
const MAX_AXES = 20;
/** Max stages of an experiment: what they take of each other is followed to the end. */
const MAX_STAGES = 1000;

const name = z.string().max(MAX_NAME)
  .regex(/^[a-z][a-z0-9_]*$/, "must be lower-case letters, digits and _");
/** The name of an experiment. */
export const experimentName = name;
const values = z.record(z.string(), z.unknown());
const axisValue = z.union([
  z.string().max(MAX_NAME).regex(/^[^/*?\s]+$/, "must not contain / * ? or spaces"),
  z.int(),
]);
const axisOverrides = z.record(z.string(), z.record(name, values).nullable()).describe(
  "What a grid value changes: stage name to params",
);
/** The values of one grid axis. */
export const gridValues = z.array(axisValue).min(1);
const grid = z.record(name, gridValues);
const exclude = z.array(
  z.record(name, z.union([axisValue, z.array(axisValue)])),
).max(MAX_EXCLUDE).describe("Combinations of grid values that are left out");
const reference = z.string().regex(/^[a-z][a-z0-9_]*\.[a-z][a-z0-9_]*$/, "must be stage.output");

/** One stage of an experiment: which grid axes it varies over, where its inputs come from. */
const stage = z.strictObject({
  stage: name.optional().describe("The stage definition to use; by default the one of this name"),
  command: commandSchema.optional().describe("A program that is the stage"),
  each: z.array(name).max(MAX_AXES).default([]).describe(
    "Grid axes: one instance for each combination",
  ),
  inputs: z.record(name, z.union([reference, z.array(reference)])).default({}),
  params: values.default({}),
  resources: resourcesSchema.optional().describe(
    "What an instance takes of a machine; in no key",
  ),
  executor: z.enum(EXECUTORS).optional().describe(
    "Where its instances are made, whatever --executor says of others",
  ),
  slurm: slurmSchema.optional().describe("What differs for this stage from the file's slurm"),
}).refine(({ stage, command }) => stage === undefined || command === undefined, {
  path: ["command"],
  message: "is a stage of its own: it must not have a stage definition, stage, besides",
});

const mirror = z.string().describe(
  "Folder of downloaded files, relative to the project, or a base URL; --mirror takes precedence",
);

/** What a profile may change. */
const profile = z.strictObject({
  mirror: mirror.optional(),
  define: values.optional(),
  axes: z.record(name, axisOverrides).optional(),
  grid: grid.optional(),
  exclude: exclude.optional(),
  slurm: slurmSchema.optional(),
  stages: z.record(
    name,
    z.strictObject({
      params: values.default({}),
      resources: resourcesSchema.optional(),
      slurm: slurmSchema.optional(),
    }),
  ).optional(),
});

/** A whole experiment file. */
export const experimentSchema = z.strictObject({
  experiment: name.describe("Name, as given to --experiment"),
  title: z.string().optional(),
  mirror: mirror.optional(),
  include: z.record(name, z.string()).default({}).describe(
    "YAML, CSV and Markdown files, by the name under which $name refers to them",
  ),
  define: values.default({}).describe("Values that $name refers to"),
  axes: z.record(name, axisOverrides).default({}),
  grid: grid.default({}).describe("Grid axes and their values"),
  exclude: exclude.default([]),
  slurm: slurmSchema.default({}).describe("How instances are made as Slurm jobs; in no key"),
  stages: z.record(name, stage).refine(
    (stages) => Object.keys(stages).length <= MAX_STAGES,
    `must have at most ${MAX_STAGES} entries`,
  ),
  profiles: z.record(name, profile),
});

/** An experiment file after validation. */
export type ExperimentFile = z.infer<typeof experimentSchema>;
/** A profile after validation. */
export type Profile = z.infer<typeof profile>;

/** The JSON Schema that lets an editor complete and check experiment files. */
export function editorSchema(stages: ReadonlyMap<string, Stage>): unknown {
  const schema = z.toJSONSchema(experimentSchema, { io: "input" }) as Record<string, unknown>;
  const params: Record<string, unknown> = {};
  for (const [stageName, definition] of stages) {
    const { $schema: _, ...own } = z.toJSONSchema(definition.params, {
      io: "input",
      unrepresentable: "any",
    });
    params[stageName] = relax(own);
  }
  const properties = schema["properties"] as Record<string, Record<string, unknown>>;
  const entries = properties["stages"]!;
  const common = entries["additionalProperties"] as Record<string, unknown>;
  // What has the name of a stage is no command.
  const { command: _, ...shared } = common["properties"] as Record<string, unknown>;
  entries["properties"] = Object.fromEntries(
    Object.entries(params).map(([stageName, own]) => [stageName, {
      ...common,
      properties: { ...shared, params: own },
    }]),
  );
  return schema;
}

/** In a file any value may also be a `$reference`, and a param may be left to another layer. */
function relax(schema: Record<string, unknown>): Record<string, unknown> {
  const { required: _, ...rest } = schema;
  const properties = rest["properties"] as Record<string, Record<string, unknown>> | undefined;
  if (!properties) return rest;
  const relaxed = Object.fromEntries(
    Object.entries(properties).map(([key, value]) => [key, {
      ...(typeof value["description"] === "string" ? { description: value["description"] } : {}),
      anyOf: [relax(value), { type: "string", pattern: "^\\$" }],
    }]),
  );
  return { ...rest, properties: relaxed };
}
