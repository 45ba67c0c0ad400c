/**
 * Compiles the loops of `models/kernels/assembly/` to `models/kernels/compiled/`; see `docs/kernels.md`.
 *
 * @module
 */
import asc from "assemblyscript/asc";

const folder = new URL("../../models/kernels/", import.meta.url);

/** Each compiled file, and what it is compiled from. */
const COMPILED: Readonly<Record<string, readonly string[]>> = {
  "strict.wasm": ["loops.ts"],
  "fused.wasm": ["loops.ts", "--enable", "relaxed-simd", "--use", "FUSED=1"],
  "averaging.wasm": ["averaging.ts"],
};

const OPTIONS = ["-O3", "--enable", "simd", "--noAssert", "--runtime", "stub", "--importMemory"]
  // Of vectors in exports, which there are none of in the entry files.
  .concat(["--initialMemory", "0", "--disableWarning", "112"]);

/** What each file of `compiled/` is to hold. */
export async function compiledKernels(): Promise<Map<string, Uint8Array>> {
  const files = new Map<string, Uint8Array>();
  for (const [file, [entry, ...options]] of Object.entries(COMPILED)) {
    let code: Uint8Array | undefined;
    const { error, stderr } = await asc.main([entry!, ...OPTIONS, ...options, "-o", file], {
      readFile: (name) => {
        try {
          return Deno.readTextFileSync(new URL(`assembly/${name}`, folder));
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
    Deno.writeFileSync(new URL(`compiled/${file}`, folder), code);
  }
}
