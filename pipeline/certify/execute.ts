/**
 * Executes an instance past all caches, in a place of its own: nothing of it reaches the store, and no
 * checkpoint is found.
 *
 * @module
 */
import { join } from "node:path";
import { StageError } from "../errors.ts";
import { lookAt } from "../files.ts";
import type { Bundle } from "../key/bundle_format.ts";
import type { Sha256 } from "../key/hash.ts";
import type { Platform } from "../key/platform.ts";
import type { Instance } from "../plan/graph.ts";
import type { Executor, Watch } from "../run/executor.ts";
import type { LocalCircumstances } from "../run/executor/local.ts";
import { makeInstance, takeOutputs } from "../run/instance.ts";
import { Tail } from "../run/logs.ts";
import { needsOf } from "../run/share.ts";
import { withinTime } from "../run/time_limit.ts";
import { writeModules } from "../store/code.ts";
import { LocalStore } from "../store/local_store.ts";
import type { Pins } from "../store/pins.ts";
import type { OutputRecord, Trace } from "../store/trace.ts";
import type { Seen } from "../store/certificate.ts";
import { keepBusy } from "./busy.ts";
import type { Setup } from "./circumstances.ts";
import { differenceOf } from "./contents.ts";
import { Overlay } from "./overlay.ts";

/** What all executions rest on. */
export interface Ground {
  readonly store: LocalStore;
  readonly bundles: ReadonlyMap<string, Bundle>;
  /** The platform of the keys that are certified. */
  readonly platform: Platform;
  readonly mirror: string | undefined;
  readonly pins: Pick<Pins, "check">;
  readonly jobs: number;
  /** What runs stages in given circumstances. */
  readonly executorIn: (circumstances: LocalCircumstances) => Executor;
  readonly signal: AbortSignal;
}

/** An instance and what feeds it. */
export interface Subject {
  readonly instance: Instance;
  readonly key: Sha256;
  readonly outputs: (upstream: Instance) => Trace["outputs"];
}

/** What an execution made. */
export interface Made {
  readonly outputs: Trace["outputs"];
  readonly metrics: Readonly<Record<string, number>>;
}

const SHOWN_LINES = 5;

/** A failure, with what was not as usual and the last lines that its stage printed. */
function failedIn({ varied }: Setup, cause: StageError, printed: readonly string[]): StageError {
  const words = Object.entries(varied).map(([name, what]) => `${name}: ${what}`).join("; ");
  const lines = [cause.message, ...printed, ...(words === "" ? [] : [`varied were ${words}`])];
  return new StageError(lines.join("\n"), { cause });
}

/** A folder in which executions leave what they make, as long as that is needed. */
export class Place {
  readonly #ground: Ground;
  readonly #root: string;
  readonly #own: LocalStore;
  readonly #content: Overlay;
  readonly #modules = new Map<string, string>();
  #count = 0;

  /** Makes a place in a folder where nothing is yet. */
  constructor(root: string, ground: Ground) {
    this.#ground = ground;
    this.#root = root;
    this.#own = new LocalStore(join(root, "made"));
    this.#content = new Overlay(this.#own, ground.store);
  }

  /** Executes as often as the setup says, at once. */
  async execute(subject: Subject, setup: Setup, platform: Platform): Promise<Made[]> {
    using _busy = keepBusy(setup.busy);
    const { HOME } = setup.process.variables;
    if (HOME !== undefined) Deno.mkdirSync(HOME, { recursive: true });
    const executor = this.#ground.executorIn(setup.process);
    const ended = await Promise.allSettled(
      Array.from(
        { length: setup.copies },
        () => this.#once(subject, { setup, platform, executor }),
      ),
    );
    return ended.map((end) => {
      if (end.status === "rejected") throw end.reason;
      return end.value;
    });
  }

  async #once(
    { instance, key, outputs }: Subject,
    { setup, platform, executor }: {
      readonly setup: Setup;
      readonly platform: Platform;
      readonly executor: Executor;
    },
  ): Promise<Made> {
    const { bundles, mirror, pins, signal } = this.#ground;
    const place = join(this.#root, setup.folder);
    const folder = join(place, String(this.#count++));
    const cache = join(place, "cache");
    for (const path of [folder, cache]) Deno.mkdirSync(path, { recursive: true });
    const scratch = { module: (bundle: Bundle) => this.#module(place, bundle), cache };
    const bundle = bundles.get(instance.node.stage.name)!;
    // Checkpoints are found by a key in a workspace: no execution may go on from another's.
    const workspace = { root: folder, setAside: this.#own.setAside.bind(this.#own) };
    const printed = new Tail(SHOWN_LINES);
    const watch: Omit<Watch, "platform"> = {
      progress() {},
      log: (text) => printed.take(text),
      pin: (name, value) => pins.check(name, value),
    };
    try {
      const share = { ...needsOf(instance, platform), adapters: [] };
      using within = withinTime(instance, { share, signal });
      const order = { instance, key, bundle, platform, outputs, folder, scratch, mirror, share };
      const places = { store: this.#content, workspace };
      const made = await makeInstance(order, places, {
        ...{ executor, watch },
        signal: within.signal,
      });
      return { outputs: await takeOutputs(order, made, this.#content), metrics: made.metrics };
    } catch (error) {
      throw signal.aborted || !(error instanceof StageError)
        ? error
        : failedIn(setup, error, printed.lines());
    }
  }

  #module(within: string, bundle: Bundle): string {
    const id = `${within} ${bundle.code} ${bundle.packages}`;
    let module = this.#modules.get(id);
    if (module === undefined) {
      const folder = join(within, `code ${this.#modules.size}`);
      Deno.mkdirSync(folder);
      this.#modules.set(id, module = writeModules(this.#ground.store, bundle, folder));
    }
    return module;
  }

  /** An output as it was made here, beside the certified one. */
  async seen(certified: OutputRecord, { sha256, kind }: OutputRecord): Promise<Seen> {
    if (sha256 === certified.sha256) return { sha256 };
    const difference = await differenceOf(certified, { sha256, kind }, this.#content);
    return { sha256, ...(difference === undefined ? {} : { difference }) };
  }

  close(): void {
    this.#own.close();
    if (lookAt(this.#root)) Deno.removeSync(this.#root, { recursive: true });
  }
}
