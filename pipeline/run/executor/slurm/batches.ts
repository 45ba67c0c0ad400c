/**
 * Arrays of jobs in a store: for each a folder with its script and, by index, the orders, what Slurm
 * says of a job, and how the job ended.
 *
 * ```text
 * store/slurm/BATCH/keys.txt     the key of each job, a line each
 * store/slurm/BATCH/script.sh
 * store/slurm/BATCH/3.json       an order; gone once somebody has taken note of its job's end
 * store/slurm/BATCH/3.ended.json how the job ended, as it says itself
 * store/slurm/BATCH/3.now.json   how far it is
 * store/slurm/BATCH/3.txt        what Slurm, or the shell, prints
 * store/slurm/BATCH/3.waits.RUN  a run waits for it, while it holds the lock slurm-RUN
 * ```
 *
 * @module
 */
import { join } from "node:path";
import { lookAt, readText, removeTree } from "../../../files.ts";
import { isSha256, type Sha256 } from "../../../key/hash.ts";
import type { StageProgress } from "../../../stage.ts";
import { type HeldLock, isHeld, isLockedNow, tryLock } from "../../../store/mutex.ts";
import { writeAtomically } from "../../../store/sealed.ts";
import { locksFolder, makeFolder, type Workspace } from "../../../store/workspace.ts";
import type { QueueEnding } from "../../queue.ts";
import { type JobOrder, readJobOrder } from "./order.ts";

/** How a job ended, as it says itself. */
export type JobEnding = QueueEnding | { readonly ended: "failed"; readonly message: string };

/** One job of an array. */
export interface JobPlace {
  readonly batch: string;
  readonly index: number;
}

/** See the module's comment. */
export class Batches {
  readonly #workspace: Workspace;
  /** Names the run that waits, and its lock. */
  readonly #run = crypto.randomUUID();
  #lock: HeldLock | undefined;

  constructor(workspace: Workspace) {
    this.#workspace = workspace;
  }

  /** Has other runs see for which jobs this one waits. */
  async enter(): Promise<void> {
    const lock = await tryLock(locksFolder(this.#workspace), `slurm-${this.#run}`);
    if (isHeld(lock)) this.#lock = lock;
  }

  /** This run waits for no job any more. */
  leave(): void {
    this.#lock?.release();
    this.#lock = undefined;
  }

  get root(): string {
    return this.#workspace.root;
  }

  folder(batch: string): string {
    return join(this.#workspace.root, "slurm", batch);
  }

  /** Writes a new batch; the script last. Returns the script's path. */
  write(batch: string, orders: readonly JobOrder[], script: string): string {
    const folder = this.folder(batch);
    makeFolder(this.#workspace, folder);
    orders.forEach((order, index) => {
      Deno.writeTextFileSync(join(folder, `${index}.json`), JSON.stringify(order));
    });
    writeAtomically(join(folder, "keys.txt"), orders.map(({ key }) => `${key}\n`).join(""));
    const path = join(folder, "script.sh");
    writeAtomically(path, script, 0o755);
    return path;
  }

  /**
   * An order; `undefined` if somebody took note of its job's end.
   *
   * @throws {LockstepError} If it is damaged.
   */
  order(place: JobPlace): JobOrder | undefined {
    const path = this.#path(place), text = readText(path);
    return text === undefined ? undefined : readJobOrder(text, path);
  }

  /**
   * The orders of all jobs whose end nobody took note of yet.
   *
   * @throws {LockstepError} If one is damaged.
   */
  *openOrders(): Generator<JobOrder> {
    for (const { batch, keys } of this.all()) {
      for (const index of keys.keys()) {
        const order = this.order({ batch, index });
        if (order) yield order;
      }
    }
  }

  /** Whether a job makes its instance even if its key has a result. */
  isForced(place: JobPlace): boolean {
    return this.order(place)?.forced ?? false;
  }

  /** Whether nobody took note of a job's end yet. */
  isOpen(place: JobPlace): boolean {
    return lookAt(this.#path(place)) !== undefined;
  }

  /** Has a network's file system look again: it does so where one writes oneself. */
  refresh(batch: string): void {
    const folder = this.folder(batch);
    if (lookAt(folder)?.kind !== "a folder") return;
    const path = join(folder, `refresh.${crypto.randomUUID()}`);
    Deno.writeTextFileSync(path, "");
    Deno.removeSync(path);
  }

  /** All batches, with the key of each of their jobs. */
  *all(): Generator<{ readonly batch: string; readonly keys: readonly Sha256[] }> {
    const folder = join(this.#workspace.root, "slurm");
    if (lookAt(folder)?.kind !== "a folder") return;
    for (const { name: batch, isDirectory } of [...Deno.readDirSync(folder)]) {
      const text = isDirectory && readText(join(folder, batch, "keys.txt"));
      if (text) yield { batch, keys: text.split("\n").filter(isSha256) };
    }
  }

  /** Milliseconds since a batch was written. */
  age(batch: string): number {
    return Date.now() - (lookAt(join(this.folder(batch), "keys.txt"))?.stat.mtime ?? 0);
  }

  /** The indices of a batch's jobs that ended. */
  ended(batch: string): Set<number> {
    const found = new Set<number>();
    const folder = this.folder(batch);
    if (lookAt(folder)?.kind !== "a folder") return found;
    for (const { name } of Deno.readDirSync(folder)) {
      const [, index] = /^(\d+)\.ended\.json$/.exec(name) ?? [];
      if (index !== undefined) found.add(Number(index));
    }
    return found;
  }

  /** How a job ended, as it says itself; `undefined` while it does not. */
  ending(place: JobPlace): JobEnding | undefined {
    return this.#json(place, "ended.json") as JobEnding | undefined;
  }

  writeEnding(place: JobPlace, ending: JobEnding): void {
    this.#write(place, "ended.json", ending);
  }

  progress(place: JobPlace): StageProgress | undefined {
    return this.#json(place, "now.json") as StageProgress | undefined;
  }

  writeProgress(place: JobPlace, progress: StageProgress): void {
    this.#write(place, "now.json", progress);
  }

  /** What Slurm, or the shell, printed of a job. */
  printed({ batch, index }: JobPlace): string {
    try {
      return readText(join(this.folder(batch), `${index}.txt`)) ?? "";
    } catch {
      return "";
    }
  }

  /** Says that this run waits for a job: others leave there what it says. */
  wait({ batch, index }: JobPlace): void {
    Deno.writeTextFileSync(join(this.folder(batch), `${index}.waits.${this.#run}`), "");
  }

  /** Whether another living run waits for a job. */
  isAwaited({ batch, index }: JobPlace): boolean {
    const folder = this.folder(batch);
    if (lookAt(folder)?.kind !== "a folder") return false;
    return [...Deno.readDirSync(folder)].some(({ name }) => {
      const [number, what, run] = name.split(".");
      return number === String(index) && what === "waits" && run !== this.#run &&
        isLockedNow(locksFolder(this.#workspace), `slurm-${run}`);
    });
  }

  /**
   * Takes note of a job's end: it is nobody's any more, unless another run waits for it. The last one's
   * takes the folder with it.
   */
  forget({ batch, index }: JobPlace): void {
    const folder = this.folder(batch);
    if (lookAt(folder)?.kind !== "a folder") return;
    const own = join(folder, `${index}.waits.${this.#run}`);
    if (lookAt(own)) Deno.removeSync(own);
    if (this.isAwaited({ batch, index })) return;
    const path = join(folder, `${index}.json`);
    if (lookAt(path)) Deno.removeSync(path);
    const isOpen = [...Deno.readDirSync(folder)].some(({ name }) => /^\d+\.json$/.test(name));
    if (!isOpen) removeTree(folder);
  }

  #path({ batch, index }: JobPlace): string {
    return join(this.folder(batch), `${index}.json`);
  }

  #json({ batch, index }: JobPlace, suffix: string): unknown {
    const text = readText(join(this.folder(batch), `${index}.${suffix}`));
    return text === undefined ? undefined : JSON.parse(text);
  }

  #write({ batch, index }: JobPlace, suffix: string, value: unknown): void {
    const folder = this.folder(batch);
    // Nobody waits for it any more.
    if (lookAt(folder)?.kind !== "a folder") return;
    writeAtomically(join(folder, `${index}.${suffix}`), JSON.stringify(value));
  }
}
