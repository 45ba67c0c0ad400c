/**
 * An audit file in the hands of someone who alters it and makes all that follows agree again: digests,
 * seals, sizes, keys, the lock, the index.
 *
 * @module
 */
import { inMemory } from "../../pipeline/replay/archive.ts";
import { bundle, bytesOf } from "../../pipeline/replay/bundle.ts";
import { type AuditIndex, readAuditFile } from "../../pipeline/replay/audit_file.ts";
import { recordBytes } from "../../pipeline/replay/record.ts";
import { tarEnd, tarHeader, tarPadding } from "../../pipeline/replay/tar.ts";
import { keyOf } from "../../pipeline/key/ingredients.ts";
import { type Sha256, sha256 } from "../../pipeline/key/hash.ts";
import { inputsIn, replay } from "../../pipeline/replay/replay.ts";
import { manifestText, toManifest, type Trace } from "../../pipeline/store/trace.ts";
import { parseTrace } from "../../pipeline/store/traces.ts";

/** The index of an audit file, and its other files. */
export function opened(
  file: Uint8Array<ArrayBuffer>,
): { readonly index: AuditIndex; readonly files: Map<string, Uint8Array<ArrayBuffer>> } {
  const { index, files } = readAuditFile(inMemory(file));
  return { index, files: new Map([...files.keys()].map((name) => [name, files.get(name)!])) };
}

/** A file with other files in it, and an index that lists them with their digests, or another index. */
export function relisted(
  file: Uint8Array<ArrayBuffer>,
  edit: (files: Map<string, Uint8Array<ArrayBuffer>>) => void,
  other?: unknown,
): Uint8Array<ArrayBuffer> {
  const { index, files } = opened(file);
  edit(files);
  const sorted = [...files].sort(([a], [b]) => a < b ? -1 : 1);
  const digests = sorted.map(([name, content]) => [name, sha256(content)] as const);
  const listed = other ?? { ...index, files: Object.fromEntries(digests) };
  return archive([["audit.json", recordBytes(listed)], ...sorted]);
}

/** The file with a certificate of an instance in it. */
export function certified(
  file: Uint8Array<ArrayBuffer>,
  instance: string,
): Uint8Array<ArrayBuffer> {
  const { key, stage, run, ingredients, outputs, metrics, ...trace } = new Forger(file).trace(
    instance,
  );
  const execution = { varied: { clock: "a year on" }, outputs, metrics };
  const certificate = {
    ...{ key, instance: trace.instance, stage, run, ingredients, outputs, metrics },
    ...{ machine: "unknown", executions: [execution] },
  };
  return relisted(file, (files) => {
    files.set(`certificates/${key}.json`, recordBytes(certificate));
  });
}

/** An archive of some files as they are. */
export function archive(
  files: Iterable<readonly [name: string, content: Uint8Array<ArrayBuffer>]>,
): Uint8Array<ArrayBuffer> {
  const parts = [...files].flatMap(([name, content]) => [
    ...[tarHeader(name, content.length), content, tarPadding(content.length)],
  ]);
  const whole = new Uint8Array(
    [...parts, tarEnd()].reduce((sum, { length }) => sum + length, 0),
  );
  parts.reduce((at, part) => (whole.set(part, at), at + part.length), 0);
  return whole;
}

/** See the module's comment. */
export class Forger {
  readonly #index: AuditIndex;
  readonly #traces = new Map<string, Trace>();
  readonly #blobs = new Map<string, Uint8Array<ArrayBuffer>>();

  constructor(file: Uint8Array<ArrayBuffer>) {
    const { index, files } = opened(file);
    this.#index = index;
    for (const [name, content] of files) {
      if (name.startsWith("blobs/")) this.#blobs.set(name.slice("blobs/".length), content);
    }
    for (const [instance, key] of Object.entries(index.instances)) {
      const path = `traces/${key}.json`;
      const text = new TextDecoder().decode(files.get(path));
      this.#traces.set(instance, parseTrace(text, { key, path }));
    }
  }

  trace(instance: string): Trace {
    return this.#traces.get(instance)!;
  }

  /** The text of an output; of a folder's file with its path. */
  text(instance: string, output: string, path?: string): string {
    const { sha256 } = this.trace(instance).outputs[output]!;
    const bytes = this.#blobs.get(sha256)!;
    if (path === undefined) return new TextDecoder().decode(bytes);
    const entry = toManifest(new TextDecoder().decode(bytes))![path]!;
    return new TextDecoder().decode(this.#blobs.get(entry.sha256));
  }

  /** Alters an output, and the trace that names it. What was made from it is not made again. */
  alter(instance: string, output: string, edit: (text: string) => string, path?: string): void {
    const trace = this.trace(instance), record = trace.outputs[output]!;
    let sha256 = this.keep(edit(this.text(instance, output, path)));
    let bytes = this.#blobs.get(sha256)!.length;
    if (path !== undefined) {
      const manifest = { ...toManifest(new TextDecoder().decode(this.#blobs.get(record.sha256)))! };
      manifest[path] = { sha256, bytes };
      sha256 = this.keep(manifestText(manifest));
      bytes = Object.values(manifest).reduce((sum, entry) => sum + entry.bytes, 0);
    }
    this.set(instance, {
      ...trace,
      outputs: { ...trace.outputs, [output]: { ...record, sha256, bytes } },
    });
  }

  /** Puts other ingredients into a trace, and the key that follows from them. */
  ingredients(instance: string, edit: (ingredients: Record<string, string>) => void): void {
    const ingredients = { ...this.trace(instance).ingredients };
    edit(ingredients);
    this.set(instance, { ...this.trace(instance), ingredients, key: keyOf(ingredients) });
  }

  set(instance: string, trace: Trace): void {
    this.#traces.set(instance, trace);
  }

  keep(text: string): Sha256 {
    const content = new TextEncoder().encode(text), digest = sha256(content);
    this.#blobs.set(digest, content);
    return digest;
  }

  /** Hands every instance the outputs that those before it have now, and gives it the key for that. */
  rekey(before: Forger): void {
    const now = new Map<string, string>();
    for (const [instance, { outputs }] of before.#traces) {
      for (const [name, { sha256 }] of Object.entries(outputs)) {
        now.set(sha256, this.trace(instance).outputs[name]!.sha256);
      }
    }
    for (const instance of this.#traces.keys()) {
      this.ingredients(instance, (ingredients) => {
        for (const [name, value] of Object.entries(ingredients)) {
          if (name.startsWith("inputs.")) ingredients[name] = now.get(value) ?? value;
        }
      });
    }
  }

  get instances(): readonly string[] {
    return [...this.#traces.keys()];
  }

  /** The text of a digest. */
  blob(digest: string): string {
    return new TextDecoder().decode(this.#blobs.get(digest));
  }

  /** Takes an instance out of the run. */
  remove(instance: string): void {
    this.#traces.delete(instance);
  }

  /**
   * Hands every instance what those before it have now, and runs those again that are given something else
   * than before, but for what measures time: as whoever has all code can.
   */
  async rederive(before: Forger): Promise<void> {
    const makers = new Map<string, string>();
    const now = new Map<string, string>();
    for (const [instance, { outputs }] of before.#traces) {
      for (const { sha256 } of Object.values(outputs)) makers.set(sha256, instance);
    }
    const visited = new Set<string>();
    const visit = async (instance: string): Promise<void> => {
      if (visited.has(instance) || !this.#traces.has(instance)) return;
      visited.add(instance);
      for (const { digest } of inputsIn(this.trace(instance))) {
        const maker = makers.get(digest);
        if (maker !== undefined) await visit(maker);
      }
      this.ingredients(instance, (own) => {
        for (const [name, value] of Object.entries(own)) own[name] = now.get(value) ?? value;
      });
      const was = before.#traces.get(instance);
      if (was === undefined) return;
      const trace = this.trace(instance);
      if (trace.key !== was.key && trace.ingredients["alone"] === undefined) {
        await this.#run(instance);
      }
      for (const [name, { sha256 }] of Object.entries(was.outputs)) {
        now.set(sha256, this.trace(instance).outputs[name]!.sha256);
      }
    };
    for (const instance of this.instances) await visit(instance);
  }

  async #run(instance: string): Promise<void> {
    const trace = this.trace(instance);
    const blob = (digest: string) => this.#blobs.get(digest);
    const { outputs, metrics } = await replay(trace, { blob, isFolder: () => false });
    const made = Object.entries(trace.outputs).map(([name, record]) => {
      const content = outputs[name]!.files.get("")!;
      this.#blobs.set(sha256(content), content);
      return [name, { ...record, sha256: sha256(content), bytes: content.length }] as const;
    });
    this.set(instance, { ...trace, outputs: Object.fromEntries(made), metrics });
  }

  /** The file with all that must agree. */
  async file(): Promise<Uint8Array<ArrayBuffer>> {
    const byKey = new Map([...this.#traces.values()].map((trace) => [trace.key, trace]));
    const keys = Object.fromEntries(
      [...this.#traces].map(([instance, { key }]) => [instance, key]),
    );
    return bytesOf(
      await bundle({ ...this.#index, keys }, {
        trace: (key) => Promise.resolve(byKey.get(key)),
        blob: (digest) => this.#blobs.get(digest),
      }, { largestBytes: Infinity }),
    );
  }
}
