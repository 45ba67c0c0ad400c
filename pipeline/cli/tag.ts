/**
 * `tag`: keeps the latest run of an experiment and profile under a name, lists tags, removes one.
 *
 * @module
 */
import { experimentNames } from "../config/files.ts";
import { LockstepError, UsageError } from "../errors.ts";
import { Claims } from "../store/claims.ts";
import { latestNames, type LatestRun, readLatest } from "../store/latest.ts";
import { LocalStore } from "../store/local_store.ts";
import { holdForRun } from "../store/run_lock.ts";
import { isTagName, readTag, removeTag, tagNames, writeTag } from "../store/tags.ts";
import { suggestion } from "../suggestion.ts";
import { column } from "./layout.ts";
import type { Options } from "./options.ts";
import type { Print, Project } from "./project.ts";
import { openStore } from "./session.ts";

/**
 * Writes, lists or removes tags.
 *
 * @throws {UsageError} If there is no such tag, or one already.
 */
export async function tag(project: Project, options: Options, print: Print): Promise<void> {
  const opened = openStore(project, options, print);
  try {
    const [name] = options.operands;
    if (name === undefined) {
      if (options.delete) throw new UsageError("Cannot remove a tag: it needs the tag's name");
      return list(opened, options, print);
    }
    const names = opened ? tagNames(opened) : [];
    if (options.delete) {
      if (!opened || !names.includes(name)) {
        throw new UsageError(
          `Cannot remove tag "${name}": there is none${suggestion(name, names)}`,
        );
      }
      removeTag(name, opened);
      return say(options, print, { name, deleted: true }, `removed tag ${name}`);
    }
    const run = await keep(name, { project, options, store: opened });
    const of = `${run.experiment}.${run.profile}`;
    const results = Object.keys(run.keys).length;
    say(
      options,
      print,
      { name, run: of, results },
      `tag ${name} keeps ${results} results of ${of}`,
    );
  } finally {
    opened?.close();
  }
}

async function keep(
  name: string,
  { project, options, store }: {
    readonly project: Project;
    readonly options: Options;
    readonly store: LocalStore | undefined;
  },
): Promise<LatestRun> {
  if (!isTagName(name)) {
    throw new UsageError(
      `Cannot tag a run as "${name}": a name is at most 100 letters, digits, ".", "_" and "-", ` +
        'begins with a letter or digit and does not end with ".json"',
    );
  }
  // Where a run is named, these come first or mean something else, now or once they have run.
  const experiment = experimentNames(project.root).find((each) => name.startsWith(`${each}.`));
  if (experiment !== undefined) {
    throw new UsageError(
      `Cannot tag a run as "${name}": runs of experiment ${experiment} have such names; give one that ` +
        `does not begin with "${experiment}."`,
    );
  }
  if (name === "HEAD" || store && latestNames(store).includes(name)) {
    throw new UsageError(
      `Cannot tag a run as "${name}": a recorded run or a commit has that name; give another`,
    );
  }
  const of = `${options.experiment ?? project.experiment}.${options.profile}`;
  if (!store || !readLatest(of, store)) {
    throw new LockstepError(
      `Cannot tag ${of}: a run of it must be recorded in this store, and none is; run ` +
        '"deno task reproduce" first, or name another with --experiment and --profile',
    );
  }
  const held = holdForRun(store);
  const claims = new Claims(store, of);
  try {
    return await claims.keep(async () => {
      const run = readLatest(of, store)!;
      if (!options.overwrite && tagNames(store).includes(name)) {
        throw new UsageError(
          `Cannot tag a run as "${name}": there is such a tag; give another name, or --overwrite`,
        );
      }
      for (const [instance, key] of Object.entries(run.keys)) {
        if (await store.trace(key)) continue;
        throw new LockstepError(
          `Cannot tag ${of}: all that it made must be in the store, and the trace of ${instance} ` +
            'is not; run "deno task audit --repair"',
        );
      }
      writeTag(name, run, store);
      return run;
    });
  } finally {
    await claims.close();
    held.release();
  }
}

function list(store: LocalStore | undefined, options: Options, print: Print): void {
  const tags = (store ? tagNames(store) : []).map((name) => ({ name, run: readTag(name, store!) }));
  if (options.json) {
    for (const { name, run } of tags) print(JSON.stringify({ event: "tag", name, ...run }));
    return;
  }
  if (tags.length === 0) return print("no tags");
  const cells = [
    column("tag", tags.map(({ name }) => name)),
    column("run", tags.map(({ run }) => run ? `${run.experiment}.${run.profile}` : "(damaged)")),
    column("results", tags.map(({ run }) => String(Object.keys(run?.keys ?? {}).length))),
    column("backend", tags.map(({ run }) => run?.backend ?? "")),
    column("commit", tags.map(({ run }) => run?.commit?.slice(0, 12) ?? "")),
  ];
  cells[0]!.forEach((_, row) => print(cells.map((column) => column[row]).join("  ").trimEnd()));
}

function say(options: Options, print: Print, event: object, text: string): void {
  print(options.json ? JSON.stringify({ event: "tag", ...event }) : text);
}
