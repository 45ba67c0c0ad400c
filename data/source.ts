/**
 * What a source record says: where a corpus comes from, how its bytes are checked, how to read it.
 *
 * @module
 */
import { z } from "zod";

/**
 * A path below a folder: relative, `/` between its parts, nothing that leads out of the folder.
 */
const relativePath = z.string().refine(
  (path) =>
    path !== "" && !path.includes("\\") &&
    path.split("/").every((part) => part !== "" && part !== "." && part !== ".."),
  { error: 'must be a relative path with "/" between its parts and no "." or ".."' },
);

const count = z.int().min(0);

function isPattern(text: string): boolean {
  try {
    return new RegExp(text, "gu").global;
  } catch {
    return false;
  }
}

/** Which documents of a source a file holds; `all` leaves the split to be drawn by seed. */
const split = z.enum(["train", "validation", "test", "all"]);

/** One raw file. With no checksum at all it is taken as it comes: see "Pinning" in docs/data.md. */
export const rawFileSchema = z.strictObject({
  /** Path in the raw folder. */
  name: relativePath,
  /** Where it can be fetched, tried in order. */
  urls: z.array(z.url({ protocol: /^https?$/ })).default([]),
  /** Path below the mirror folder. */
  mirror: relativePath.optional(),
  bytes: count.optional(),
  sha256: z.string().regex(/^[0-9a-f]{64}$/).optional(),
  sha1: z.string().regex(/^[0-9a-f]{40}$/).optional(),
  md5: z.string().regex(/^[0-9a-f]{32}$/).optional(),
  /** What git calls the content, by its SHA-1; needs `bytes`. */
  git_oid: z.string().regex(/^[0-9a-f]{40}$/).optional(),
  /** Most bytes it may hold once decompressed; more is refused. */
  unpacked_bytes: count.optional(),
  /** An archive's layout names its splits itself. */
  split: split.default("all"),
  /** text: class of the file's documents. */
  class: z.string().min(1).optional(),
});

/** Params of a synthetic corpus; see data/synthetic.ts. */
export const generatorSchema = z.strictObject({
  documents: z.strictObject({ train: count.min(1), test: count.min(1) }),
  /** Word topics; there are twice as many classes. */
  topics: z.int().min(1).max(50),
  /** Distinct words that say nothing about the class. */
  filler_words: z.int().min(1).max(1_000_000),
  /** Fewest and most tokens of a document. */
  length: z.tuple([z.int().min(4), z.int().max(1_000_000)]),
  /** Thousandths of a document's tokens that are topic words; as many are markers. */
  signal: z.int().min(0).max(400),
  /** Thousandths of the documents that also hold a word that gives the order away. */
  hinted: z.int().min(0).max(1000),
  /** Thousandths of the documents whose class is replaced by one drawn from all classes. */
  noise: z.int().min(0).max(1000),
  seed: count,
});

/** Params of a synthetic text; see data/synthetic_text.ts. */
export const textGeneratorSchema = z.strictObject({
  characters: z.int().min(1).max(100_000_000),
  /** Distinct letters. */
  symbols: z.int().min(4).max(26),
  /** Letters that a letter depends on. */
  order: z.int().min(1).max(4),
  seed: count,
});

/** How the columns, fields or paths of a format make documents. */
export const layoutSchema = z.strictObject({
  /** csv: whether the first row names the columns. */
  header: z.boolean().optional(),
  /** csv: what separates fields. */
  separator: z.string().length(1).optional(),
  /** csv, jsonl, parquet: name or, for a csv without header, number from 0 of the label column. */
  label: z.union([z.string(), count]).optional(),
  /** csv, jsonl, parquet: columns joined by a space to make the text. */
  text: z.array(z.union([z.string(), count])).min(1).optional(),
  /** Number that the first class has where labels are numbers. Without it, labels are names. */
  first_label: count.optional(),
  /** tar, zip: path of a document, with `{split}`, `{class}` and `*`, none of which matches `/`. */
  documents: z.string().optional(),
  /** characters: path of the text in an archive; with `*`, all that fit, joined by name. */
  member: z.string().optional(),
  /** Regular expressions whose matches are taken out of every text. */
  remove: z.array(
    z.string().refine(isPattern, { error: "must be a regular expression" }),
  ).optional(),
});

const base = {
  name: z.string().regex(/^[a-z][a-z0-9_]*$/),
  title: z.string().min(1),
  /** `official`: the files others measured on. `sample`: a part or relative of them. */
  kind: z.enum(["official", "sample", "synthetic"]),
  licence: z.string().optional(),
  citation: z.string().optional(),
  note: z.string().default(""),
};

/** A source whose bytes are fetched or found in the mirror. */
export const fileSourceSchema = z.strictObject({
  ...base,
  kind: z.enum(["official", "sample"]),
  format: z.enum(["csv", "jsonl", "parquet", "tar", "zip", "text", "characters"]),
  /** A data set of Hugging Face's hub: `files` are paths there, or patterns with `*` and `**`. */
  hf: z.string().regex(
    /^[A-Za-z0-9][\w.-]*\/[A-Za-z0-9][\w.-]*(@[\w./-]+)?$/,
    "must be owner/name@revision",
  ).optional(),
  /** A record of Zenodo; `files` likewise. */
  doi: z.string().regex(/^10\.5281\/zenodo\.[1-9]\d*$/, "must be 10.5281/zenodo.NUMBER").optional(),
  files: z.array(rawFileSchema).min(1),
  /** Hosts that the URLs may redirect to, besides their own. */
  redirect_hosts: z.array(z.string()).default([]),
  /** Class names, in order of their labels. Without it, the names found, sorted by code unit. */
  classes: z.array(z.string().min(1)).min(1).optional(),
  layout: layoutSchema.default({}),
});

/** A source that is generated. */
export const syntheticSourceSchema = z.strictObject({
  ...base,
  kind: z.literal("synthetic"),
  format: z.literal("generated"),
  /** Labelled documents, or one text. */
  generator: z.union([generatorSchema, textGeneratorSchema]),
});

/** Any source record. */
export const sourceSchema = z.discriminatedUnion("format", [
  fileSourceSchema,
  syntheticSourceSchema,
]).superRefine((source, context) => {
  if (source.format === "generated") {
    const [min, max] = "length" in source.generator ? source.generator.length : [0, 0];
    if (min > max) {
      context.addIssue({ code: "custom", path: ["generator", "length"], message: "is reversed" });
    }
    return;
  }
  const isOfArchive = source.hf !== undefined || source.doi !== undefined;
  if (source.hf !== undefined && source.doi !== undefined) {
    context.addIssue({ code: "custom", path: ["doi"], message: "must not be there besides hf" });
  }
  const names = new Set<string>();
  for (const [i, file] of source.files.entries()) {
    if (names.has(file.name) || file.name === descriptionName) {
      const message = `is taken: "${file.name}"`;
      context.addIssue({ code: "custom", path: ["files", i, "name"], message });
    }
    names.add(file.name);
    if (file.git_oid !== undefined && file.bytes === undefined) {
      context.addIssue({ code: "custom", path: ["files", i], message: "git_oid needs bytes" });
    }
    if (isOfArchive) {
      const own = ["urls", "bytes", "sha256", "sha1", "md5", "git_oid"] as const;
      const stated = own.find((field) => file[field] !== undefined && String(file[field]) !== "") ??
        (file.name.includes("*") && file.mirror !== undefined ? "mirror" : undefined);
      if (stated !== undefined) {
        const message = `must not be there: what ${
          source.hf ?? source.doi
        } has is asked and pinned`;
        context.addIssue({ code: "custom", path: ["files", i, stated], message });
      }
    } else if (file.urls.length === 0 && file.mirror === undefined) {
      const message = "needs urls, a mirror path or both";
      context.addIssue({ code: "custom", path: ["files", i], message });
    }
  }
});

export type RawFile = z.infer<typeof rawFileSchema>;
export type GeneratorParams = z.infer<typeof generatorSchema>;
export type TextGeneratorParams = z.infer<typeof textGeneratorSchema>;
export type Layout = z.infer<typeof layoutSchema>;
export type FileSource = z.infer<typeof fileSourceSchema>;
export type SyntheticSource = z.infer<typeof syntheticSourceSchema>;
export type Source = z.infer<typeof sourceSchema>;

/** Name of the description beside the raw files. */
export const descriptionName = "source.json";

/** What a statistics file says of where its corpus came from. */
export const provenanceSchema = z.strictObject({
  name: z.string(),
  title: z.string(),
  kind: z.enum(["official", "sample", "synthetic"]),
  note: z.string(),
});

/**
 * What a raw folder says of itself: what a reader needs, and nothing of URLs, mirrors or licences,
 * so that a moved file changes no artifact.
 */
export const descriptionSchema = z.strictObject({
  source: provenanceSchema,
  format: z.enum(["csv", "jsonl", "parquet", "tar", "zip", "text", "characters"]),
  classes: z.array(z.string()).optional(),
  layout: layoutSchema,
  files: z.array(
    z.strictObject({
      name: relativePath,
      split,
      class: z.string().optional(),
      unpacked_bytes: count.optional(),
    }),
  ),
});

export type Provenance = z.infer<typeof provenanceSchema>;
export type Description = z.infer<typeof descriptionSchema>;

/** Hosts of a source's URLs and those they may redirect to. */
export function hostsOf(source: FileSource): string[] {
  const hosts = source.files.flatMap(({ urls }) => urls.map((url) => new URL(url).host));
  return [...new Set([...hosts, ...source.redirect_hosts])].sort();
}

/** The order of a layout's fields in a description, whatever that of the record is. */
const layoutFields = [
  ...["header", "separator", "label", "text", "first_label"] as const,
  ...["documents", "member", "remove"] as const,
] satisfies (keyof Layout)[];

/** Describes the raw folder of a source whose bytes were fetched. */
export function describeSource(source: FileSource): Description {
  const { name, title, kind, note, format, classes, layout, files } = source;
  return {
    source: { name, title, kind, note },
    format,
    ...(classes === undefined ? {} : { classes }),
    layout: Object.fromEntries(
      layoutFields.filter((field) => layout[field] !== undefined)
        .map((field) => [field, layout[field]]),
    ),
    files: files.map(({ name, split, class: label, unpacked_bytes }) => ({
      name,
      split,
      ...(label === undefined ? {} : { class: label }),
      ...(unpacked_bytes === undefined ? {} : { unpacked_bytes }),
    })),
  };
}
