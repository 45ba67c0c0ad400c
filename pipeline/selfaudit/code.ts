/**
 * Edits the source files of stages, in memory, and compares whose code becomes another with what each stage
 * reaches: a mark in every function shows that in one go, and edits of one function at a time are held
 * against it.
 *
 * @module
 */
import { join } from "node:path";
import { bundleStage, type StageModule } from "../key/bundle.ts";
import { type Sha256, sha256 } from "../key/hash.ts";
import { Packages } from "../key/packages.ts";
import { SourceFiles } from "../key/source_files.ts";
import type { Extent } from "./configuration.ts";
import { RENAMING, REWRITINGS, type Site, sitesOf, withMarks } from "./source_edits.ts";
import { Count, draw, numbers, type Tally } from "./tally.ts";

/** Files of a project, some of them edited: nothing is written. */
class EditedFiles extends SourceFiles {
  readonly #edited: ReadonlyMap<string, string>;

  /** @param edited Absolute path to text. */
  constructor(edited: ReadonlyMap<string, string>) {
    super();
    this.#edited = edited;
  }

  override read(path: string): Uint8Array<ArrayBuffer> {
    const text = this.#edited.get(path);
    return text === undefined ? super.read(path) : new TextEncoder().encode(text);
  }

  override digest(path: string): Sha256 {
    return sha256(this.read(path));
  }
}

/** A stage's code, which is no more than its text. */
type Code = Pick<StageModule, "code" | "sources">;

/** Bundles stages of a project with some of its files edited, by their paths below its root. */
async function bundle(
  root: string,
  stages: Iterable<string>,
  edited: ReadonlyMap<string, string>,
): Promise<Map<string, Code>> {
  const texts = new Map([...edited].map(([path, text]) => [join(root, path), text]));
  const files = new EditedFiles(texts);
  const packages = new Packages(root, files);
  const all = [...stages].map(async (stage) =>
    [stage, await bundleStage(root, stage, { packages, files })] as const
  );
  return new Map(await Promise.all(all));
}

/** Where code is, and whose. */
export interface Sources {
  readonly root: string;
  readonly stages: readonly string[];
}

/** Tries edits of the code of stages. */
export async function auditCode(sources: Sources, extent: Extent): Promise<Tally[]> {
  const { root, stages } = sources;
  const { stop } = await import("esbuild");
  try {
    extent.progress("the code of stages as it is");
    const before = await bundle(root, stages, new Map());
    const texts = textsOf(root, before);
    return [
      ...await auditRewritings(sources, { before, texts, extent }),
      await auditRenaming(sources, { before, texts, extent }),
      await auditFunctions(sources, { before, texts, extent }),
    ];
  } finally {
    await stop();
  }
}

/** What all edits start from. */
interface Start {
  readonly before: ReadonlyMap<string, Code>;
  /** By path below the root: the code that stages are made of, whether it reaches them or not. */
  readonly texts: ReadonlyMap<string, string>;
  readonly extent: Extent;
}

function textsOf(root: string, bundles: ReadonlyMap<string, Code>): Map<string, string> {
  const paths = new Set([...bundles.values()].flatMap(({ sources }) => Object.keys(sources)));
  return new Map(
    [...paths].filter((path) => /\.m?[jt]s$/.test(path)).sort()
      .map((path) => [path, Deno.readTextFileSync(join(root, path))]),
  );
}

/** Code that is written in another way is the same code. */
async function auditRewritings(
  { root, stages }: Sources,
  { before, texts, extent }: Start,
): Promise<Tally[]> {
  const tallies: Tally[] = [];
  for (const { kind, to } of REWRITINGS) {
    const count = new Count(kind);
    extent.progress(kind);
    const edited = await to(texts);
    const now = await bundle(root, stages, edited);
    const moved = stages.filter((stage) => isAnother(stage, before, now));
    const causes = new Map<string, string>();
    for (const stage of moved.slice(0, MAX_BLAMED)) {
      extent.progress(`${kind}: what moves ${stage}`);
      const files = Object.keys(before.get(stage)!.sources).filter((path) => edited.has(path));
      const { code } = before.get(stage)!;
      causes.set(stage, `first by ${await blamed(root, stage, { files, edited, code })}`);
    }
    count.take(`${texts.size} files`, {
      all: stages,
      due: () => false,
      reacted: (stage) => moved.includes(stage),
      name: (stage) => stage,
      cause: (stage) => causes.get(stage) ?? "likewise",
    });
    count.tried = texts.size;
    tallies.push(count);
  }
  return tallies;
}

function isAnother(
  stage: string,
  before: ReadonlyMap<string, Code>,
  now: ReadonlyMap<string, Code>,
): boolean {
  return sha256(before.get(stage)!.code) !== sha256(now.get(stage)!.code);
}

/** A private member: terser gives it another name, but counts the letters of its own. */
const PRIVATE = /#[a-z]\w*/i;

/** Names that nobody outside a function or a class sees are no part of what it computes. */
async function auditRenaming(
  { root, stages }: Sources,
  { before, texts, extent }: Start,
): Promise<Tally> {
  const count = new Count(RENAMING.kind);
  extent.progress(RENAMING.kind);
  const [start, edited] = [await RENAMING.from(texts), await RENAMING.to(texts)];
  const old = await bundle(root, stages, start);
  const next = numbers(extent.seed, RENAMING.kind);
  for (const file of draw([...texts.keys()], { count: extent.times, next })) {
    extent.progress(`${RENAMING.kind}: ${file}`);
    const reading = stages.filter((stage) => file in before.get(stage)!.sources);
    const now = await bundle(root, reading, new Map([...start, [file, edited.get(file)!]]));
    count.take(file, {
      all: reading,
      due: () => false,
      reacted: (stage) => isAnother(stage, old, now),
      name: (stage) => stage,
      cause: () =>
        PRIVATE.test(start.get(file)!)
          ? "it has private members, whose letters count where short names are chosen"
          : "for a cause that is not known",
    });
  }
  return count;
}

/** Of how many stages it is found out which file moves their code. */
const MAX_BLAMED = 2;

/** A file without whose rewriting the code is another than with it, found by halves. */
async function blamed(
  root: string,
  stage: string,
  { files, edited, code }: {
    readonly files: readonly string[];
    readonly edited: ReadonlyMap<string, string>;
    readonly code: string;
  },
): Promise<string> {
  // With none of the first rewritten it is the same code, with all of them it is not.
  let none = 0, all = files.length;
  while (all - none > 1) {
    const middle = Math.floor((none + all) / 2);
    const some = files.slice(0, middle).map((file) => [file, edited.get(file)!] as const);
    const now = await bundle(root, [stage], new Map(some));
    if (now.get(stage)!.code === code) none = middle;
    else all = middle;
  }
  return files[all - 1]!;
}

/** A function that a stage reaches moves its code, and no other's. */
async function auditFunctions(
  { root, stages }: Sources,
  { before, texts, extent }: Start,
): Promise<Tally> {
  const count = new Count("a function");
  const marks = await marksOf(texts, extent);
  extent.progress(`which stage reaches which of ${marks.length} functions`);
  const marked = await bundle(root, stages, marksIn(texts, marks));
  const reaches = (stage: string, mark: string) => marked.get(stage)!.code.includes(`.${mark}=`);
  const drawn = draw(marks, { count: extent.times, next: numbers(extent.seed, "functions") });
  for (const [site, mark] of drawn) {
    const what = `${site.file}:${site.line}`;
    extent.progress(`a function: ${what}`);
    // A stage for which the file was never read cannot have it in its code.
    const reading = stages.filter((stage) => site.file in before.get(stage)!.sources);
    const now = await bundle(root, reading, marksIn(texts, [[site, mark]]));
    count.take(what, {
      all: reading,
      due: (stage) => reaches(stage, mark),
      reacted: (stage) => isAnother(stage, before, now),
      name: (stage) => stage,
      cause: () => "whose code lacks the function where all functions are marked",
    });
  }
  return count;
}

type Mark = readonly [Site, string];

async function marksOf(texts: Start["texts"], { progress }: Extent): Promise<Mark[]> {
  const sites: Site[] = [];
  for (const [path, text] of texts) {
    progress(`functions of ${path}`);
    sites.push(...await sitesOf(path, text));
  }
  return sites.map((site, index) => [site, `lockstep_mark_${index}_`]);
}

function marksIn(texts: Start["texts"], marks: readonly Mark[]): Map<string, string> {
  const byFile = Map.groupBy(marks, ([{ file }]) => file);
  return new Map([...byFile].map(([file, own]) => [file, withMarks(texts.get(file)!, own)]));
}
