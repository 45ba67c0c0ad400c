/**
 * Edits of source files: a mark in each function, and the same code written in another way.
 *
 * @module
 */
import type { TransformOptions } from "esbuild";
import { join } from "node:path";
import { LockstepError } from "../errors.ts";

/** A place at which a function's body begins. */
export interface Site {
  readonly file: string;
  /** From 1: of the line that the body begins after. */
  readonly line: number;
  /** What stands there in the file. */
  readonly text: string;
}

/** A line after which the body of a function begins, as `deno fmt` writes it. */
const BODY = new RegExp(
  [
    String.raw`=> \{$`,
    String.raw`^\s*(export )?(default )?(async )?function\b.*\{$`,
    // The last line of parameters, or a method.
    String.raw`^\s*\)(: .*)? \{$`,
    String.raw`^\s+((static|async|get|set) )*[#*]?[\w$]+(<.*>)?\(.*\)(: .*)? \{$`,
  ].join("|"),
);

/** The places in a file at which a function's body begins, and a statement may be put. */
export async function sitesOf(file: string, text: string): Promise<Site[]> {
  const sites: Site[] = [];
  const lines = text.split("\n");
  for (const [index, line] of lines.entries()) {
    if (!BODY.test(line) || /^\s*(if|for|while|switch|catch|\}|\*|\/\/)/.test(line)) continue;
    const site = { file, line: index + 1, text: line.trim() };
    if (await isCode(withMarks(text, [[site, "mark"]]), loaderOf(file))) sites.push(site);
  }
  return sites;
}

/** A text with a statement at the beginning of functions that does nothing but be there. */
export function withMarks(text: string, marks: readonly (readonly [Site, string])[]): string {
  const lines = text.split("\n");
  for (const [{ line }, mark] of marks) lines[line - 1] += ` globalThis.${mark} = 0;`;
  return lines.join("\n");
}

async function isCode(text: string, loader: "ts" | "js"): Promise<boolean> {
  const { transform } = await import("esbuild");
  try {
    await transform(text, { loader, logLevel: "silent" });
    return true;
  } catch {
    return false;
  }
}

function loaderOf(file: string): "ts" | "js" {
  return /\.m?ts$/.test(file) ? "ts" : "js";
}

/** How source files are written in another way. */
export interface Rewriting {
  readonly kind: string;
  readonly to: Rewrite;
}

/** Writes the code of files in another way, by their paths. */
export type Rewrite = (texts: ReadonlyMap<string, string>) => Promise<ReadonlyMap<string, string>>;

/** Ways to write the same code. */
export const REWRITINGS: readonly Rewriting[] = [
  {
    kind: "comments of declarations removed",
    to: each((text) => Promise.resolve(text.replaceAll(/^[ ]*\/\*\*[\s\S]*?\*\/\n/gm, ""))),
  },
  {
    kind: "comments added",
    to: each((text) => Promise.resolve(`/* Edited. */ // Edited.\n${text}\n/** Edited. */\n`)),
  },
  { kind: "another layout of the code", to: formatted },
];

/** Gives all locals, parameters and private members of a file other names. */
export const RENAMING: Rewriting & { readonly from: Rewrite } = {
  kind: "locals, parameters and private members of a file renamed",
  // Without types, since what renames takes them away.
  from: each((text, file) => transformed(text, file, {})),
  to: each((text, file) => transformed(text, file, { minifyIdentifiers: true })),
};

function each(rewrite: (text: string, file: string) => Promise<string>): Rewrite {
  return async (texts) => {
    const written = [...texts].map(async ([file, text]) =>
      [file, await rewrite(text, file)] as const
    );
    return new Map(await Promise.all(written));
  };
}

async function transformed(
  text: string,
  file: string,
  options: TransformOptions,
): Promise<string> {
  const { transform } = await import("esbuild");
  const { code } = await transform(text, {
    ...{ loader: loaderOf(file), target: "esnext", supported: { decorators: false } },
    ...{ charset: "utf8", tsconfigRaw: "{}" },
    ...options,
  });
  return code;
}

/** As Deno's formatter writes it with other options. */
async function formatted(texts: ReadonlyMap<string, string>): Promise<Map<string, string>> {
  const folder = Deno.makeTempDirSync({ prefix: "lockstep-" });
  try {
    // The formatter sets HTML in templates in another way too, which is another text.
    const plain = [...texts.keys()].filter((file) => !texts.get(file)!.includes("html`"));
    const names = new Map(plain.map((file, index) => [
      file,
      join(folder, `${index}.${loaderOf(file)}`),
    ]));
    for (const [file, path] of names) Deno.writeTextFileSync(path, texts.get(file)!);
    const { success, stderr } = await new Deno.Command(Deno.execPath(), {
      args: [
        ...["fmt", "--no-config", "--line-width", "60", "--indent-width", "3"],
        ...["--single-quote", "--no-semicolons", folder],
      ],
      stdout: "null",
      stderr: "piped",
    }).output();
    if (!success) {
      throw new LockstepError(
        `Cannot write the code in another layout: ${new TextDecoder().decode(stderr)}`,
      );
    }
    const written = [...names].map(([file, path]) => [file, Deno.readTextFileSync(path)] as const);
    return new Map([...texts, ...written]);
  } finally {
    Deno.removeSync(folder, { recursive: true });
  }
}
