/**
 * Compiles the loops of `models/kernels/assembly/` and `data/assembly/` to `compiled/` beside them; see
 * `docs/kernels.md`.
 *
 * @module
 */
import asc from "assemblyscript/asc";

const root = new URL("../../", import.meta.url);
const kernels = "models/kernels";

/** Each compiled file, and what it is compiled from. */
const COMPILED: Readonly<Record<string, readonly string[]>> = {
  [`${kernels}/compiled/strict.wasm`]: [`${kernels}/assembly/loops.ts`],
  [`${kernels}/compiled/fused.wasm`]: [
    ...[`${kernels}/assembly/loops.ts`, "--enable", "relaxed-simd", "--use", "FUSED=1"],
  ],
  [`${kernels}/compiled/averaging.wasm`]: [`${kernels}/assembly/averaging.ts`],
  "data/compiled/json.wasm": ["data/assembly/json.ts"],
  "data/compiled/words.wasm": ["data/assembly/words.ts"],
};

const OPTIONS = ["-O3", "--enable", "simd", "--noAssert", "--runtime", "stub", "--importMemory"]
  // Of vectors in exports, which there are none of in the entry files.
  .concat(["--initialMemory", "0", "--disableWarning", "112"]);

/** What each compiled file is to hold, by its path in the project. */
export async function compiledKernels(): Promise<Map<string, Uint8Array>> {
  const files = new Map<string, Uint8Array>();
  for (const [file, [entry, ...options]] of Object.entries(COMPILED)) {
    let code: Uint8Array | undefined;
    const { error, stderr } = await asc.main([entry!, ...OPTIONS, ...options, "-o", file], {
      readFile: (name) => {
        try {
          return Deno.readTextFileSync(new URL(name, root));
        } catch {
          return null;
        }
      },
      writeFile: (_, content) => {
        code = content as Uint8Array;
      },
      listFiles: () => [],
    });
    if (error !== null) throw new Error(`Cannot compile ${entry}: ${stderr}`);
    files.set(file, code!);
  }
  return files;
}

if (import.meta.main) {
  for (const [file, code] of await compiledKernels()) {
    Deno.writeFileSync(new URL(file, root), code);
  }
}
