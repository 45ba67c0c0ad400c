/**
 * The code of a stage's run as one tree-shaken, minified module. Its digest is the stage's code
 * fingerprint, and the same bytes are what runs: what was hashed can't differ from what was
 * executed, even if a source file is edited meanwhile.
 *
 * esbuild bundles and shakes; terser gives the names. esbuild's own short names follow how often
 * each letter occurs in the source, unused functions and old names included, so that renaming a
 * local could rename everything; terser's follow only what stays.
 *
 * @module
 */
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { ConfigError } from "../errors.ts";
import { hashFile, type Sha256, sha256 } from "./hash.ts";
import type { Packages } from "./packages.ts";

/** A stage's code and everything about it that belongs in a key. */
export interface Bundle {
  readonly fingerprint: Sha256;
  /** Imported npm package to resolved version and digest of its dependencies. */
  readonly packages: Readonly<Record<string, string>>;
  /** Source files that went in, relative to the project, with their digests: to explain a change. */
  readonly sources: Readonly<Record<string, Sha256>>;
  /** The bundlers and their versions. */
  readonly bundler: string;
}

/** Changes when the options below do: code bundled another way is another code. */
export const BUNDLE_FORMAT = 2;

/** A bundle just made, with its code. */
export interface FreshBundle extends Omit<Bundle, "bundler"> {
  readonly code: string;
  /** Source map, so that a failing stage's stack names the lines someone wrote. Not in the hash. */
  readonly map: string;
}

/** The file that exports a stage's `run`, beside that of its declaration. */
export function runPath(root: string, stage: string): string {
  return join(root, "stages", `${stage}.run.ts`);
}

/** The bundlers as a project pins them, an ingredient of every key. */
export function bundlerVersion(packages: Packages): string {
  return `esbuild ${packages.version("esbuild")}, terser ${packages.version("terser")}`;
}

/**
 * Bundles the given stages.
 *
 * @throws {ConfigError} If a stage does not compile, imports something computed at run time, or
 * imports a package that is not pinned.
 */
export async function bundleStages(
  root: string,
  stages: readonly string[],
  packages: Packages,
): Promise<Map<string, FreshBundle>> {
  const [esbuild, terser] = await Promise.all([import("esbuild"), import("terser")]);
  const bundles = new Map<string, FreshBundle>();
  try {
    await Promise.all(stages.map(async (stage) => {
      const result = await esbuild.build({
        absWorkingDir: root,
        stdin: {
          contents: `export { run } from ${JSON.stringify(runPath(root, stage))};`,
          resolveDir: root,
          // In TypeScript a name that is not exported might be a type's, and would pass.
          loader: "js",
        },
        bundle: true,
        minifySyntax: true,
        minifyWhitespace: true,
        treeShaking: true,
        format: "esm",
        platform: "neutral",
        target: "esnext",
        charset: "utf8",
        legalComments: "none",
        metafile: true,
        outfile: join(root, "stage.mjs"),
        sourcemap: "external",
        write: false,
        logLevel: "silent",
        // A hash of the code can't see what an import computed at run time brings in.
        logOverride: { "unsupported-dynamic-import": "error" },
        plugins: [{
          name: "pinned-packages",
          setup(build) {
            build.onResolve({ filter: /^[^./]/ }, ({ path }) => {
              const pinned = packages.specifier(path);
              if (pinned !== undefined) return { path: pinned, external: true };
              if (path.startsWith("node:")) return { path, external: true };
              const local = packages.local(path);
              if (local !== undefined) return { path: join(root, local) };
              const text = `"${path}" must be a relative file, a package of deno.json or node:`;
              return { errors: [{ text }] };
            });
          },
        }],
      }).catch((error) => {
        throw describe(stage, error);
      });
      const imported = Object.values(result.metafile.outputs).flatMap(({ imports }) => imports);
      const versions: Record<string, string> = {};
      for (const path of imported.map((entry) => entry.path).sort()) {
        if (/^(npm|jsr):/.test(path)) versions[path] = packages.version(path);
      }
      const sources: Record<string, Sha256> = {};
      for (const path of Object.keys(result.metafile.inputs).sort()) {
        if (path !== "<stdin>") {
          sources[path] = hashFile(join(root, path));
        }
      }
      const output = (suffix: string) =>
        result.outputFiles.find(({ path }) => path.endsWith(suffix))!.text;
      const named = await terser.minify(output(".mjs"), {
        module: true,
        compress: false,
        mangle: { toplevel: true },
        sourceMap: { content: output(".map"), root: pathToFileURL(`${root}/`).href },
      });
      const code = named.code!;
      const map = named.map as string;
      bundles.set(stage, { fingerprint: sha256(code), code, map, packages: versions, sources });
    }));
  } finally {
    await esbuild.stop();
  }
  return bundles;
}

interface BuildMessage {
  readonly text: string;
  readonly location: { file: string; line: number; column: number; lineText: string } | null;
}

function describe(stage: string, error: unknown): Error {
  const messages = (error as { errors?: readonly BuildMessage[] }).errors;
  if (!Array.isArray(messages)) return error as Error;
  const lines = messages.map(({ text, location }: BuildMessage) => {
    const where = location ? `${location.file}:${location.line}:${location.column + 1}: ` : "";
    const excerpt = location ? `\n    ${location.lineText.trim()}` : "";
    return `${where}${text}${excerpt}`;
  });
  return new ConfigError(
    `Cannot take the fingerprint of stage "${stage}": its code must bundle, imports being literal\n` +
      lines.join("\n"),
    { cause: error },
  );
}
