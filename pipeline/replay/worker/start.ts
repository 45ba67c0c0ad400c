/**
 * The first script of a worker, which comes with nothing but itself: makes URLs of the modules that it is
 * sent and imports the worker's program. It makes them here, since a worker of a page that was opened as a
 * file may import no others.
 *
 * Of a module's text nothing changes but where its imports lead.
 *
 * @module
 */

/** What a worker is sent: once. */
export interface Start {
  /** Texts of modules by path; what stands in for Node's is below `node:`. */
  readonly modules: ReadonlyMap<string, string>;
  /** The worker's program, which exports `work`. */
  readonly program: string;
  /** The module that `work` is to run. */
  readonly module: string;
  readonly assignment: unknown;
}

const SPECIFIER = /(\b(?:from|import)\s*\(?\s*)(["'])((?:\.{0,2}\/|node:)[^"'\s]*)\2/g;

/** URLs of modules whose imports lead to each other. */
class Linker {
  readonly #modules: ReadonlyMap<string, string>;
  readonly #urls = new Map<string, string>();
  readonly #open = new Set<string>();

  constructor(modules: ReadonlyMap<string, string>) {
    this.#modules = modules;
  }

  url(name: string): string {
    const known = this.#urls.get(name);
    if (known !== undefined) return known;
    const text = name.startsWith("node:") ? this.#builtin(name) : this.#modules.get(name)!;
    if (this.#open.has(name)) throw new Error(`Cannot load "${name}": it must not import itself`);
    this.#open.add(name);
    const linked = text.replace(SPECIFIER, (whole, start: string, quote: string, to: string) => {
      const target = to.startsWith("node:") ? to : new URL(to, `file:///${name}`).pathname.slice(1);
      // Elsewhere than in code a text may look like an import.
      const isThere = this.#modules.has(target) || to.startsWith("node:");
      return isThere ? start + quote + this.url(target) + quote : whole;
    });
    this.#open.delete(name);
    const url = URL.createObjectURL(new Blob([linked], { type: "text/javascript" }));
    this.#urls.set(name, url);
    return url;
  }

  /** A module of Node's: with every name that some module imports, though it may fail when called. */
  #builtin(name: string): string {
    const own = this.#modules.get(name) ?? "";
    const imports = new RegExp(
      `import\\s*([\\w$]+)?\\s*,?\\s*(?:\\{([^}]*)\\})?\\s*from\\s*"${name}"`,
      "g",
    );
    const wanted = new Set<string>();
    for (const text of this.#modules.values()) {
      for (const [, main, names = ""] of text.matchAll(imports)) {
        if (main !== undefined) wanted.add("default");
        for (const each of names.split(",")) wanted.add(each.trim().split(/\s/)[0]!);
      }
    }
    wanted.delete("");
    const absent = [...wanted].filter((each) =>
      !new RegExp(`export (class|function|const) ${each}\\b`).test(own)
    );
    const lines = absent.map((each, index) =>
      `const absent${index} = () => { throw new Error("${each} of ${name} is not here"); };\n` +
      `export { absent${index} as ${each} };`
    );
    return [own, ...lines].join("\n");
  }
}

const scope = globalThis as unknown as {
  postMessage(message: unknown): void;
  onmessage: ((event: { readonly data: Start }) => void) | null;
};

scope.onmessage = async ({ data }) => {
  scope.onmessage = null;
  const post = scope.postMessage.bind(scope);
  try {
    const linker = new Linker(data.modules);
    const { work } = await import(linker.url(data.program));
    await work(data.assignment, linker.url(data.module));
  } catch (error) {
    const message = error instanceof Error ? error.stack ?? error.message : String(error);
    post({ type: "failed", message });
  }
};
