import { assert } from "@std/assert";
import { compiledKernels } from "../rig/compile_kernels.ts";

Deno.test("the committed kernels are what their sources compile to", async () => {
  for (const [file, code] of await compiledKernels()) {
    const committed = Deno.readFileSync(new URL(`../../${file}`, import.meta.url));
    assert(
      code.length === committed.length && code.every((byte, i) => byte === committed[i]),
      `${file} is of other sources: run deno task kernels`,
    );
  }
});
