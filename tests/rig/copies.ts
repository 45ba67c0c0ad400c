/**
 * Copies of a project that take its place in turn, each as a run with nothing to do left it: such a run
 * is remembered only once the files have been as they are for some seconds, and all copies wait together.
 *
 * @module
 */
import { join } from "node:path";

/** Longer than a file's time is mistrusted after it was written. */
const SETTLING_MS = 2200;

/** See the module's comment. */
export class Copies {
  readonly #root: string;
  readonly #folder: string;
  readonly #count: number;

  /** Copies a folder with its times and leads its path to the first copy. */
  constructor(root: string, count: number) {
    this.#root = root;
    this.#count = count;
    this.#folder = Deno.makeTempDirSync({ dir: join(root, "..") });
    for (let n = 0; n < count; n++) {
      const { success } = new Deno.Command("cp", { args: ["-a", root, this.path(n)] }).outputSync();
      if (!success) throw new Error(`Cannot copy ${root}`);
    }
    Deno.removeSync(root, { recursive: true });
    this.#lead(0);
  }

  /** Where a copy is. */
  path(n: number): string {
    return join(this.#folder, String(n));
  }

  /** Has the project's path lead to a copy. */
  take(n: number): void {
    Deno.removeSync(this.#root);
    this.#lead(n);
  }

  #lead(n: number): void {
    Deno.symlinkSync(this.path(n), this.#root);
  }

  /**
   * Runs the project in each copy until the run is remembered: it first notes that the copies of files
   * hold what the files held, then that what it noted is to be trusted.
   */
  async settle(run: () => Promise<unknown>): Promise<void> {
    for (let round = 0; round < 3; round++) {
      if (round > 0) await new Promise((resolve) => setTimeout(resolve, SETTLING_MS));
      for (let n = 0; n < this.#count; n++) {
        this.take(n);
        await run();
      }
    }
  }

  [Symbol.dispose](): void {
    Deno.removeSync(this.#folder, { recursive: true });
  }
}
