/**
 * Modules held as text, as the URLs that a worker can import: the code of a stage, the packages beside
 * it, and what stands in for the modules of Node that they name. Of a module's text nothing changes
 * but where its imports lead.
 *
 * @module
 */
import crypto from "./builtins/crypto.ts" with { type: "text" };
import module from "./builtins/module.ts" with { type: "text" };
import path from "./builtins/path.ts" with { type: "text" };
import context from "../run/executor/context.ts" with { type: "text" };
import protocol from "../run/executor/protocol.ts" with { type: "text" };
import files from "./worker/files.ts" with { type: "text" };
import worker from "./worker/worker.ts" with { type: "text" };
import { stripTypeScriptTypes } from "node:module";
import { LockstepError } from "../errors.ts";

/** Texts of modules by path, `packages/zod.mjs`. */
export type Modules = ReadonlyMap<string, string>;

/** The worker's own. */
const OWN = withoutTypes({
  "replay/worker/worker.ts": worker,
  "replay/worker/files.ts": files,
  "run/executor/context.ts": context,
  "run/executor/protocol.ts": protocol,
});

/** What stands in for modules of Node; all others hold functions that fail when they are called. */
const BUILTINS = withoutTypes({ "node:crypto": crypto, "node:module": module, "node:path": path });

function withoutTypes(texts: Readonly<Record<string, string>>): Modules {
  return new Map(
    Object.entries(texts).map(([name, text]) => [name, stripTypeScriptTypes(text)] as const),
  );
}

/** URLs, until they are given back. */
export interface Linked extends Disposable {
  readonly url: string;
}

let program: Linked | undefined;

/** URL of the program of a worker. It is never given back: a worker that is ended may be loading it. */
export function workerUrl(): string {
  return (program ??= link(OWN, "replay/worker/worker.ts")).url;
}

const SPECIFIER = /(\b(?:from|import)\s*\(?\s*)(["'])((?:\.{0,2}\/|node:)[^"'\s]*)\2/g;

/**
 * The URL of a module whose imports lead to the others.
 *
 * @throws {LockstepError} If modules import each other.
 */
export function link(modules: Modules, entry: string): Linked {
  const urls = new Map<string, string>();
  const open = new Set<string>();
  const urlOf = (name: string, from: string): string => {
    const known = urls.get(name);
    if (known !== undefined) return known;
    const text = name.startsWith("node:") ? builtin(name, modules) : modules.get(name)!;
    if (open.has(name)) {
      throw new LockstepError(`Cannot run ${entry}: "${name}" must not import itself, by ${from}`);
    }
    open.add(name);
    const linked = text.replace(SPECIFIER, (whole, start: string, quote: string, to: string) => {
      if (to.startsWith("node:")) return start + quote + urlOf(to, name) + quote;
      const target = new URL(to, `file:///${name}`).pathname.slice(1);
      // Elsewhere than in code a text may look like an import.
      return modules.has(target) ? start + quote + urlOf(target, name) + quote : whole;
    });
    open.delete(name);
    const url = URL.createObjectURL(new Blob([linked], { type: "text/javascript" }));
    urls.set(name, url);
    return url;
  };
  const url = urlOf(entry, "nothing");
  return {
    url,
    [Symbol.dispose]() {
      for (const each of urls.values()) URL.revokeObjectURL(each);
    },
  };
}

/** A module of Node's as far as it is there: with every name that some module imports from it. */
function builtin(name: string, modules: Modules): string {
  const own = BUILTINS.get(name) ?? "";
  const wanted = new Set<string>();
  const imports = new RegExp(
    `import\\s*([\\w$]+)?\\s*,?\\s*(?:\\{([^}]*)\\})?\\s*from\\s*"${name}"`,
    "g",
  );
  for (const text of modules.values()) {
    for (const [, main, names = ""] of text.matchAll(imports)) {
      if (main !== undefined) wanted.add("default");
      for (const each of names.split(",")) {
        const imported = each.trim().split(/\s/)[0]!;
        if (imported !== "") wanted.add(imported);
      }
    }
  }
  const absent = [...wanted].filter((each) =>
    !new RegExp(`export (class|function|const) ${each}\\b`).test(own)
  );
  const lines = absent.map((each, index) =>
    `const absent${index} = () => { throw new Error("${each} of ${name} is not here"); };\n` +
    `export { absent${index} as ${each} };`
  );
  return [own, ...lines].join("\n");
}
