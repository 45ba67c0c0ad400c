/**
 * Draws the pictures of the README, from the results of a run and the trace page beside them:
 *
 * ```sh
 * deno run -A tests/rig/draw_pages.ts outputs/fusion.smoke docs/pictures
 * ```
 *
 * @module
 */
import { basename, dirname, join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { renderPng } from "../../analysis/figures/render.ts";
import { startBrowser } from "./browser.ts";

const [results, folder] = Deno.args;
if (results === undefined || folder === undefined) {
  throw new TypeError("Cannot draw pages: give the folder of a run's results and one for pictures");
}
const at = resolve(results);
const write = (name: string, png: Uint8Array) => Deno.writeFileSync(join(folder, name), png);

await using browser = await startBrowser("pictures");
if (browser === undefined) throw new Error("Cannot draw pages: install Chromium");
/** Opens a page at one of its headings, and draws what is seen. */
async function draw(
  name: string,
  page: string,
  { heading, dark }: { heading: string; dark: boolean },
) {
  await browser!.open(pathToFileURL(page), { dark, width: 1000 });
  const found = await browser!.evaluate(`(() => {
    const wanted = ${JSON.stringify(heading)};
    const heading = [...document.querySelectorAll("h2")].find((each) => each.innerText === wanted);
    document.documentElement.style.scrollbarWidth = "none";
    heading?.scrollIntoView({ behavior: "instant" });
    return heading !== undefined;
  })()`);
  if (!found) throw new Error(`Cannot draw ${page}: no heading is "${heading}"`);
  write(name, await browser!.picture());
}

const report = join(at, "report.html");
await draw("report_light.png", report, { heading: "What held", dark: false });
await draw("report_dark.png", report, { heading: "Accuracy beside the paper's", dark: true });
const trace = join(dirname(at), "trace/index.html");
await draw("trace.png", trace, { heading: basename(at), dark: false });
const figure = Deno.readTextFileSync(join(at, "figures/accuracy.svg"));
write("figure.png", await renderPng(figure, { scale: 0.8 }));
