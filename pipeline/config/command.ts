/**
 * A stage that is a program, as an experiment's file declares it.
 *
 * @module
 */
import { z } from "zod";
import { isPlainPath } from "../files.ts";
import { defineStage, type Stage } from "../stage.ts";

const name = z.string().max(100).regex(
  /^[a-z][a-z0-9_]*$/,
  "must be lower-case letters, digits and _",
);
/** What a process can be started with. */
const text = z.string().max(10_000).regex(/^[^\0]*$/, "must hold no NUL");
const file = text.refine(isPlainPath, "must be a file below the experiment's folder");
/** What is no part of a system's programs, or holds what is nobody's business. */
const NOT_SHOWN = /^\/(proc|sys|dev|run|stage|tmp\/?$|[^/]+$)/;
const folder = text.regex(/^(\/[^/\s]+)+$/, "must be an absolute path without a slash at its end")
  .refine(
    (path) => !NOT_SHOWN.test(path) && !path.split("/").some((part) => part.startsWith("..")),
    "must be a folder of its own, such as /opt/venv: neither the system's nor a whole tree",
  );

const output = z.strictObject({
  kind: z.enum(["file", "folder"]).default("file"),
  exactness: z.enum(["exact", "numeric", "measured"]).describe(
    "exact: same bits everywhere; numeric: on one computer; measured: timings",
  ),
  measures: z.record(z.string(), z.array(z.string())).optional().describe(
    "Tables of measurements that it holds, with their columns",
  ),
});

/** `command` of a stage. */
export const commandSchema = z.strictObject({
  program: text.min(1).describe("Absolute path of a program, or one of files"),
  arguments: z.array(text).max(1000).default([]),
  files: z.array(file).max(1000).default([]).describe(
    "Scripts, lock files and what else it reads of the experiment's folder",
  ),
  packages: z.array(z.string().regex(/^[a-z0-9][a-z0-9+.-]+$/, "must be a Debian package"))
    .max(1000).default([]).describe(
      "Debian packages it rests on; they and all they need are in the key. Without any, all are",
    ),
  folders: z.array(folder).max(100).default([]).describe(
    "Folders it reads besides the system's, such as a virtual environment; hashed whole",
  ),
  asks: z.record(name, z.array(text).min(1)).default({}).describe(
    "Arguments with which the program prints what it rests on, such as the versions of libraries",
  ),
  variables: z.record(
    z.string().regex(/^[A-Za-z_][A-Za-z0-9_]*$/, "must be the name of a variable"),
    text,
  ).default({}).describe("Environment"),
  outputs: z.record(name, output).refine(
    (outputs) => Object.keys(outputs).length > 0,
    "must have an output",
  ),
});

/** A command after validation. */
export type CommandEntry = z.infer<typeof commandSchema>;

/** The version of a program that is none of the command's own files. */
const VERSION = { version: ["--version"] };

/** The stage that a command is: an input that is wired to a list takes many. */
export function commandStage(
  stage: string,
  { command, inputs, experiment }: {
    readonly command: CommandEntry;
    readonly inputs: Readonly<Record<string, string | readonly string[]>>;
    readonly experiment: string;
  },
): Stage {
  const { program, asks, outputs, ...rest } = command;
  return defineStage<unknown>({
    name: stage,
    params: z.record(z.string(), z.unknown()),
    inputs: Object.fromEntries(
      Object.entries(inputs).map(([input, from]) => [input, { many: typeof from !== "string" }]),
    ),
    outputs: Object.fromEntries(
      Object.entries(outputs).map(([output, { measures, ...spec }]) => [
        output,
        measures === undefined ? spec : { ...spec, measures },
      ]),
    ),
    command: {
      ...rest,
      folder: `experiments/${experiment}`,
      program,
      asks: rest.files.includes(program) ? asks : { ...VERSION, ...asks },
    },
  });
}
