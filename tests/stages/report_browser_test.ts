import axe from "axe-core";
import { assert, assertEquals } from "@std/assert";
import { join } from "node:path";
import { aggregate } from "../../stages/aggregate.ts";
import { plot } from "../../stages/plot.ts";
import { plotLatency } from "../../stages/plot_latency.ts";
import { report } from "../../stages/report.ts";
import { artifact, runStage } from "../rig/run_stage.ts";
import { AG, ARXIV, gatheredLatencies, madeUpInputs, SHORT } from "./results/made_up.ts";

const PROGRAMS = ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"];

/**
 * A Chromium on this machine; `undefined`, with a warning, if there is none.
 *
 * @throws {Error} If there is none and LOCKSTEP_REQUIRE_CHROMIUM is set.
 */
function chromium(): string | undefined {
  const found = PROGRAMS.find((path) => {
    try {
      return Deno.statSync(path).isFile;
    } catch {
      return false;
    }
  });
  if (found === undefined) {
    if (Deno.env.get("LOCKSTEP_REQUIRE_CHROMIUM")) {
      throw new Error("This machine has no Chromium, and LOCKSTEP_REQUIRE_CHROMIUM is set");
    }
    console.warn("SKIPPED: the report in a browser: this machine has no Chromium");
  }
  return found;
}

/** Opens a page with a script added to it; returns the page as it then is, and what it complained of. */
async function open(
  program: string,
  page: string,
  options: { readonly script: string; readonly dark: boolean; readonly width: number },
): Promise<{ dom: string; complaints: string[] }> {
  const folder = Deno.makeTempDirSync();
  try {
    const path = join(folder, "page.html");
    // A function as the replacement: the script's own `$&` stand for themselves.
    Deno.writeTextFileSync(
      path,
      page.replace("</body>", () => `<script>${options.script}</script></body>`),
    );
    const { stdout, stderr } = await new Deno.Command(program, {
      args: [
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        "--no-first-run",
        "--disable-background-networking",
        "--disable-component-update",
        "--disable-sync",
        `--user-data-dir=${join(folder, "profile")}`,
        `--window-size=${options.width},900`,
        `--blink-settings=preferredColorScheme=${options.dark ? 0 : 1}`,
        "--enable-logging=stderr",
        "--virtual-time-budget=20000",
        "--dump-dom",
        `file://${path}`,
      ],
      stdout: "piped",
      stderr: "piped",
    }).output();
    const complaints = new TextDecoder().decode(stderr).split("\n")
      .filter((line) => line.includes(":CONSOLE"));
    return { dom: new TextDecoder().decode(stdout), complaints };
  } finally {
    Deno.removeSync(folder, { recursive: true });
  }
}

/** Runs axe and writes what it finds, and how wide the page is, where the test can read it. */
const AUDIT = `${axe.source};
axe.run().then((result) => {
  const found = result.violations.map(({ id, nodes }) => id + " " + nodes[0].html.slice(0, 100));
  const style = getComputedStyle(document.body);
  const said = document.createElement("pre");
  said.id = "said";
  said.textContent = "SAID" + JSON.stringify({
    violations: found,
    passes: result.passes.length,
    overflow: document.documentElement.scrollWidth - innerWidth,
    background: getComputedStyle(document.documentElement).backgroundColor + style.backgroundColor,
    requests: performance.getEntriesByType("resource").length,
  }) + "DIAS";
  document.body.append(said);
});`;

interface Said {
  readonly violations: string[];
  readonly passes: number;
  readonly overflow: number;
  readonly background: string;
  readonly requests: number;
}

async function madeUpPage(): Promise<string> {
  const directory = Deno.makeTempDirSync();
  const inputs = madeUpInputs(directory, [AG, ARXIV, SHORT]);
  const { outputs } = await runStage(aggregate, { title: "Made up" }, { directory, inputs });
  const results = artifact(outputs["results"]!);
  const figures = [];
  for (const kind of ["accuracy", "accuracy_bars", "delta", "curves", "operators"]) {
    const own = Deno.makeTempDirSync();
    const drawn = await runStage(plot, { kind }, { directory: own, inputs: { results } });
    figures.push(artifact(drawn.outputs["figures"]!, { figure: kind }));
  }
  const tables = artifact(outputs["tables"]!);
  const passMs = { add: [[100, 101], [99, 100]], gate_scalar: [[110, 111], [108, 109]] };
  const timed = await gatheredLatencies(results, { grids: [{ dataset: "arxiv", passMs }] });
  const own = Deno.makeTempDirSync();
  const drawn = await runStage(plotLatency, {}, {
    directory: own,
    inputs: { results, latencies: timed.latencies },
  });
  figures.push(artifact(drawn.outputs["figures"]!));
  const run = await runStage(report, {}, {
    directory,
    inputs: { results, tables, figures, ...timed },
  });
  return Deno.readTextFileSync(run.outputs["page"]!);
}

Deno.test("in Chromium the page breaks no accessibility rule, in light and dark, wide and narrow", async () => {
  const program = chromium();
  if (program === undefined) return;
  const page = await madeUpPage();
  const backgrounds = new Set<string>();
  for (const dark of [false, true]) {
    for (const width of [1100, 500]) {
      const { dom, complaints } = await open(program, page, { script: AUDIT, dark, width });
      const said = JSON.parse(/SAID(.*)DIAS/.exec(dom)?.[1]?.replaceAll("&lt;", "<") ?? "null") as
        | Said
        | null;
      assert(said !== null, `axe said nothing: ${complaints.join("\n")}`);
      assertEquals(said.violations, [], `${dark ? "dark" : "light"}, ${width} wide`);
      assert(said.passes > 15, `axe looked at the page: ${said.passes} rules passed`);
      assert(said.overflow <= 0, `at ${width} the page is ${said.overflow} px too wide`);
      assertEquals(said.requests, 0, "the page asks for nothing");
      assertEquals(complaints, []);
      backgrounds.add(said.background);
    }
  }
  assertEquals(backgrounds.size, 2, "light and dark differ");
});

Deno.test("axe as it is used here does find a fault", async () => {
  const program = chromium();
  if (program === undefined) return;
  const faulty =
    '<!doctype html><html lang="en"><title>x</title><body><img src="data:,"></body></html>';
  const { dom } = await open(program, faulty, { script: AUDIT, dark: false, width: 1100 });
  assert(/SAID.*image-alt/.test(dom));
});
