/**
 * The folder `outputs/`, to which people have access too: what a run writes there replaces nothing
 * but what a run wrote, and follows no link.
 *
 * @module
 */
import { dirname, join } from "node:path";
import type { ArtifactStore } from "./artifact_store.ts";
import { ConfigError } from "../errors.ts";
import { lookAt } from "../files.ts";
import { hashFile, type Sha256 } from "../key/hash.ts";
import { parentsOf } from "./paths.ts";
import type { Workspace } from "./workspace.ts";

/** Some bytes, by their digest and size. */
export interface Content {
  readonly sha256: Sha256;
  readonly bytes: number;
}

/** See the module's comment. All paths are relative to the folder and were checked. */
export class OutputsFolder {
  readonly #root: string;
  readonly #workspace: Workspace;

  constructor(root: string, workspace: Workspace) {
    this.#root = root;
    this.#workspace = workspace;
  }

  /** Whether a file with this content is at a path, itself and no link. */
  holds(path: string, { sha256, bytes }: Content): boolean {
    const target = join(this.#root, path);
    const found = lookAt(target);
    return found?.kind === "a file" && found.stat.size === bytes && hashFile(target) === sha256;
  }

  /** Whether anything is at a path. */
  has(path: string): boolean {
    return lookAt(join(this.#root, path)) !== undefined;
  }

  /**
   * Checks that no path leads through a symbolic link: it would lead elsewhere.
   *
   * @throws {ConfigError} At the first that does.
   */
  checkInside(paths: Iterable<string>): void {
    for (const path of paths) {
      const link = this.#linkOn(path);
      if (link === undefined) continue;
      const target = join(this.#root, link);
      throw new ConfigError(
        `Cannot publish outputs/${path}: what it is in must be folders, found ${target} to be a ` +
          `symbolic link to ${Deno.readLinkSync(target)}; remove the link`,
      );
    }
  }

  /** A symbolic link among the folders a path leads through. */
  #linkOn(path: string): string | undefined {
    return parentsOf(path).find((parent) =>
      lookAt(join(this.#root, parent))?.kind === "a symbolic link"
    );
  }

  /**
   * Writes content to a path. What is there is replaced if a run put it there, else set aside.
   *
   * @param before What a run last put there, if anything.
   */
  async write(
    path: string,
    { content, before, store }: {
      readonly content: Content;
      readonly before: Content | undefined;
      readonly store: ArtifactStore;
    },
  ): Promise<void> {
    this.makeWay(path, { isOwn: () => before !== undefined && this.holds(path, before) });
    const target = join(this.#root, path);
    const scratch = `${target}.${Deno.pid}.tmp`;
    if (lookAt(scratch)) Deno.removeSync(scratch);
    await store.copy(content.sha256, scratch);
    Deno.chmodSync(scratch, 0o644);
    Deno.renameSync(scratch, target);
  }

  /**
   * Makes the folders a path leads through, and sets aside what is in their place or at the path,
   * unless it is a run's own: that may be replaced.
   */
  makeWay(path: string, { isOwn }: { readonly isOwn: () => boolean }): void {
    for (const parent of parentsOf(path)) {
      const found = lookAt(join(this.#root, parent));
      if (found === undefined) break;
      if (found.kind === "a folder") continue;
      const message = `a folder must be here, found ${found.kind}`;
      this.#workspace.setAside(join(this.#root, parent), message);
    }
    const target = join(this.#root, path);
    Deno.mkdirSync(dirname(target), { recursive: true });
    const found = lookAt(target);
    if (found === undefined || isOwn()) return;
    if (found.kind === "a folder" && isEmpty(target)) return Deno.removeSync(target);
    const message = found.kind === "a file"
      ? "no run wrote it as it is"
      : `a file must be here, found ${found.kind}`;
    this.#workspace.setAside(target, message);
  }

  /** Removes what a run put at a path, unless someone changed it. */
  remove(path: string, content: Content): void {
    if (this.#linkOn(path) === undefined && this.holds(path, content)) {
      Deno.removeSync(join(this.#root, path));
    }
  }

  /** Sets aside what is at a path, if it is in the folder. */
  setAside(path: string, message: string): void {
    const target = join(this.#root, path);
    if (this.#linkOn(path) === undefined && lookAt(target)) {
      this.#workspace.setAside(target, message);
    }
  }
}

function isEmpty(folder: string): boolean {
  return Deno.readDirSync(folder)[Symbol.iterator]().next().done === true;
}
