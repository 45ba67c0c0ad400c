/**
 * An audit file in the hands of someone who alters it and makes all that follows agree again: digests,
 * seals, sizes, keys, the lock, the index.
 *
 * @module
 */
import { bundle, bytesOf } from "../../pipeline/replay/bundle.ts";
import { type AuditIndex, readAuditFile } from "../../pipeline/replay/audit_file.ts";
import { recordBytes } from "../../pipeline/replay/record.ts";
import { tarEnd, tarHeader, tarPadding } from "../../pipeline/replay/tar.ts";
import { keyOf } from "../../pipeline/key/ingredients.ts";
import { type Sha256, sha256 } from "../../pipeline/key/hash.ts";
import { manifestText, toManifest, type Trace } from "../../pipeline/store/trace.ts";
import { parseTrace } from "../../pipeline/store/traces.ts";

/** A file with other files in it, and an index that lists them with their digests, or another index. */
export function relisted(
  file: Uint8Array<ArrayBuffer>,
  edit: (files: Map<string, Uint8Array<ArrayBuffer>>) => void,
  other?: unknown,
): Uint8Array<ArrayBuffer> {
  const { index, files: held } = readAuditFile(file);
  const files = new Map(held);
  edit(files);
  const sorted = [...files].sort(([a], [b]) => a < b ? -1 : 1);
  const digests = sorted.map(([name, content]) => [name, sha256(content)] as const);
  const listed = other ?? { ...index, files: Object.fromEntries(digests) };
  return archive([["audit.json", recordBytes(listed)], ...sorted]);
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
    const { index, files } = readAuditFile(file);
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
