/**
 * The tests of this folder that compute with WebGPU, in Chromium: another implementation (Dawn and
 * Tint, where Deno has wgpu and naga) over another software driver (SwiftShader).
 *
 * @module
 */
import { assert, assertEquals } from "@std/assert";
import { fileURLToPath } from "node:url";
import { type Browser, startBrowser } from "../rig/browser.ts";
import { bundleForPage } from "../rig/page_bundle.ts";
import type { PageResult } from "../rig/page_tests.ts";

/**
 * Files of tests, and which of theirs. Without those of what the processor alone decides, and without
 * device_programs_test, which reads the WGSL that these run. SwiftShader takes seconds to compile what is
 * spelt out for a wide head, so that not every width is tried.
 */
const FILES: Readonly<Record<string, RegExp>> = {
  accumulation_test: /./,
  attention_test: /./,
  classifier_test: /./,
  device_cross_entropy_test: /./,
  device_errors_test: /./,
  device_kernels_test: /./,
  device_operations_test: /./,
  gpt_test: /./,
  optimizer_test: /./,
  tiled_attention_test: /heads of 132\b|distances up to 16|twice|refused/,
};

const path = (name: string) => fileURLToPath(new URL(name, import.meta.url));

/** Serves a page for each of the files; what it runs comes from the same place. */
async function servePages() {
  const modules = await bundleForPage([
    path("../rig/page_tests.ts"),
    ...Object.keys(FILES).map((file) => path(`${file}.ts`)),
  ]);
  // What packages import of Node is not reached here.
  const node = "data:text/javascript,export const createRequire = () => () => ({})";
  const page = (file: string) =>
    `<!doctype html><title>${file}</title>
    <script type="importmap">${JSON.stringify({ imports: { "node:module": node } })}</script>
    <script type="module" src="/page_tests.js"></script>
    <script type="module" src="/${file}.js"></script>`;
  return Deno.serve({ hostname: "127.0.0.1", port: 0, onListen() {} }, ({ url }) => {
    const { pathname } = new URL(url);
    const module = modules.get(decodeURIComponent(pathname));
    if (module !== undefined) {
      return new Response(module, { headers: { "content-type": "text/javascript" } });
    }
    return Object.keys(FILES).includes(pathname.slice(1))
      ? new Response(page(pathname.slice(1)), { headers: { "content-type": "text/html" } })
      : new Response(null, { status: 404 });
  });
}

/** Those of them that compute with WebGPU. */
async function resultsOf(
  browser: Browser,
  { url, chosen }: { url: string; chosen: RegExp },
): Promise<PageResult[]> {
  await browser.open(url);
  return await browser.evaluate(
    `lockstepTests((name) => name.endsWith(" (webgpu)") && ${chosen}.test(name))`,
  );
}

Deno.test({
  name: "Chromium's WebGPU passes the tests of kernels and models",
  // The server may be closing a connection when the test ends.
  sanitizeOps: false,
  sanitizeResources: false,
  fn: async (test) => {
    await using browser = await startBrowser("WebGPU", "webgpu");
    if (browser === undefined) return;
    await using server = await servePages();
    const origin = `http://127.0.0.1:${server.addr.port}`;
    for (const [file, chosen] of Object.entries(FILES)) {
      let results: PageResult[] = [];
      await test.step(file, async () => {
        results = await resultsOf(browser, { url: `${origin}/${file}`, chosen });
        assert(results.length > 0, `no test of ${file} computes with WebGPU: take it off the list`);
      });
      for (const { name, failure } of results) {
        await test.step(`${file}: ${name}`, () => assertEquals(failure, undefined));
      }
    }
  },
});
