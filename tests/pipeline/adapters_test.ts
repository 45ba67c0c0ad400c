import { assertEquals, assertStringIncludes } from "@std/assert";
import { join } from "node:path";
import type { Listed } from "../../pipeline/run/executor/adapters.ts";
import { LocalExecutor } from "../../pipeline/run/executor/local.ts";
import { hasWebgpu } from "../models/rig.ts";
import { execute } from "../rig/execute.ts";
import { type Ended, mainText, type TestProject, toyProject, writeStage } from "../rig/project.ts";
import { temporaryFolder } from "../rig/temporary.ts";

/** Two drivers in software, each with one device, that Vulkan's loader finds where its variables name them. */
const LIBRARIES = {
  llvmpipe: [
    "/usr/lib/x86_64-linux-gnu/libvulkan_lvp.so",
    "/usr/lib/aarch64-linux-gnu/libvulkan_lvp.so",
  ],
  swiftshader: ["/usr/lib/chromium/libvk_swiftshader.so"],
};

/** The file by which the loader finds a driver, under a name of its own; `undefined` if it is not here. */
function driverFile(driver: keyof typeof LIBRARIES): string | undefined {
  const library = LIBRARIES[driver].find((path) => {
    try {
      return Deno.statSync(path).isFile;
    } catch {
      return false;
    }
  });
  if (library === undefined) return undefined;
  const path = join(temporaryFolder(), `${driver}.json`);
  const file = {
    file_format_version: "1.0.0",
    ICD: { library_path: library, api_version: "1.3.0" },
  };
  Deno.writeTextFileSync(path, JSON.stringify(file));
  return path;
}

/** A test that needs both drivers, and says so where one is missing. */
function testWithDrivers(
  name: string,
  body: (drivers: { readonly llvmpipe: string; readonly swiftshader: string }) => Promise<void>,
): void {
  Deno.test({
    name,
    sanitizeOps: false,
    sanitizeResources: false,
    async fn() {
      const llvmpipe = driverFile("llvmpipe"), swiftshader = driverFile("swiftshader");
      if (await hasWebgpu() && llvmpipe && swiftshader) {
        return await body({ llvmpipe, swiftshader });
      }
      console.warn(`SKIPPED: ${name}: mesa-vulkan-drivers and chromium's SwiftShader are not here`);
    },
  });
}

/** A project with a stage that computes, in the sense of keys. */
function numericProject(): TestProject {
  const project = toyProject();
  writeStage(project, {
    name: "compute",
    declaration: `
const params = z.strictObject({ seed: z.int() });
export type Params = z.infer<typeof params>;
export const compute = defineStage({
  name: "compute", params, inputs: {}, numeric: true,
  outputs: { value: { kind: "file", exactness: "numeric" } },
});`,
    run: `
export async function run(context: StageContext<Params>): Promise<void> {
  const adapter = await navigator.gpu.requestAdapter();
  console.log("on", adapter!.info.description);
  Deno.writeTextFileSync(context.output("value"), String(context.params.seed));
}`,
  });
  project.write("main.ts", mainText(["compute"]));
  project.write(
    "experiments/toy/experiment.yaml",
    `experiment: toy
grid: { seed: [1, 2, 3, 4] }
stages:
  compute: { each: [seed], params: { seed: $seed } }
profiles: { smoke: {} }
`,
  );
  return project;
}

const ENVIRONMENT = { XDG_RUNTIME_DIR: "/tmp" };
const RUN = ["reproduce", "--json", "--backend", "webgpu", "--jobs", "4"];

function on(...drivers: readonly string[]): string[] {
  return [...RUN, ...drivers.flatMap((path) => ["--adapter", `VK_DRIVER_FILES=${path}`])];
}

/** How many instances ran at once, at most. */
function mostAtOnce({ events }: Ended): number {
  let running = 0, most = 0;
  for (const { event } of events) {
    if (event === "started") most = Math.max(most, ++running);
    if (event === "executed") running--;
  }
  return most;
}

function printed({ events }: Ended): Set<string> {
  return new Set(events.flatMap((event) => event.event === "log" ? [event.text.trim()] : []));
}

function notes({ events }: Ended): string[] {
  return events.flatMap((event) => event.event === "note" ? [event.message] : []);
}

testWithDrivers(
  "a stage's process is given the variables of its own adapter",
  async ({ llvmpipe }) => {
    const files = [llvmpipe, driverFile("llvmpipe")!];
    const executor = new LocalExecutor({
      adapters: files.map((path) => `VK_DRIVER_FILES=${path}`),
    });
    await executor.platform("webgpu");
    assertEquals(executor.limits.gpus, 2);
    for (const [number, file] of files.entries()) {
      const seen = new AbortController();
      let environment = "";
      const { platform } = await execute(
        `console.log(Deno.pid); await new Promise((_, fail) => context.stopping.onabort = fail);`,
        {
          executor,
          adapters: [number],
          task: { backend: "webgpu" },
          signal: seen.signal,
          watch: {
            log(text) {
              environment = Deno.readTextFileSync(`/proc/${text.trim()}/environ`);
              seen.abort();
            },
          },
        },
      );
      assertEquals(platform?.adapter?.name.split(" (")[0], "65541 /  / 0 / llvmpipe");
      assertEquals(environment.split("\0").filter((each) => each.startsWith("VK_DRIVER_FILES")), [
        `VK_DRIVER_FILES=${file}`,
      ]);
    }
  },
);

testWithDrivers("devices are listed with what makes a process see each alone", async (drivers) => {
  const script = join(temporaryFolder(), "list.ts");
  const module = new URL("../../pipeline/run/executor/adapters.ts", import.meta.url).href;
  Deno.writeTextFileSync(
    script,
    `import { givenAdapters, listAdapters } from "${module}";
const listed = await listAdapters();
const given = (await givenAdapters(["1", "0"])).map(({ found }) => found.title);
console.log(JSON.stringify({ listed, given }));`,
  );
  const { stdout } = await new Deno.Command(Deno.execPath(), {
    args: ["run", "-A", "--quiet", "--no-config", script],
    env: { ...ENVIRONMENT, VK_DRIVER_FILES: Object.values(drivers).join(":") },
    stderr: "null",
  }).output();
  const { listed, given }: { listed: Listed[]; given: string[] } = JSON.parse(
    new TextDecoder().decode(stdout),
  );
  assertEquals(listed.map(({ name }) => name.split(" ")[0]).sort(), ["SwiftShader", "llvmpipe"]);
  // What WebGPU finds under the variables of each is the device itself.
  for (const { name, adapter } of listed) assertEquals(adapter?.found.title, name);
  assertEquals(given, listed.map(({ name }) => name).reverse());
});

testWithDrivers(
  "trainings on two adapters that are alike have one platform, and one adapter each",
  async (drivers) => {
    using project = numericProject();
    const alike = driverFile("llvmpipe")!;
    const one = await project.run([...on(drivers.llvmpipe), "--only", "compute/1"], ENVIRONMENT);
    assertEquals(one.code, 0, one.stderr);
    const two = await project.run(on(drivers.llvmpipe, alike), ENVIRONMENT);
    assertEquals(two.code, 0, two.stderr);
    const executed = two.events.filter(({ event }) => event === "executed");
    assertEquals(executed.length, 3, "what one adapter made is up to date");
    assertEquals(mostAtOnce(two) <= 2, true);
    assertEquals(notes(two), []);
    assertEquals([...printed(two)].map((text) => text.split(" ")[1]), ["llvmpipe"]);
    // The default is the one adapter that every process finds.
    const usual = await project.run([...RUN, "--force", "compute"], {
      ...ENVIRONMENT,
      VK_DRIVER_FILES: drivers.swiftshader,
    });
    assertEquals(usual.code, 0, usual.stderr);
    assertEquals(mostAtOnce(usual), 1);
    assertEquals([...printed(usual)], ["on SwiftShader Device (Subzero)"]);
  },
);

testWithDrivers(
  "of adapters of two platforms a run uses those of the first, and says so",
  async (drivers) => {
    using project = numericProject();
    const run = await project.run(on(drivers.swiftshader, drivers.llvmpipe), ENVIRONMENT);
    assertEquals(run.code, 0, run.stderr);
    assertEquals(mostAtOnce(run), 1);
    assertEquals([...printed(run)], ["on SwiftShader Device (Subzero)"]);
    const [note = ""] = notes(run);
    assertStringIncludes(note, "left out: llvmpipe");
    assertStringIncludes(note, "this one's is software adapter SwiftShader Device (Subzero)");
  },
);

testWithDrivers("an adapter that is none is refused before anything runs", async (drivers) => {
  using project = numericProject();
  const cases = [
    [
      ["--backend", "webgpu", "--adapter", "17"],
      "Cannot use --adapter 17: there is none of this number",
    ],
    [["--backend", "webgpu", "--adapter", "fast"], "it must be a number that doctor shows"],
    [
      ["--backend", "webgpu", "--adapter", "LD_PRELOAD=/x"],
      "LD_PRELOAD chooses no graphics device",
    ],
    [
      ["--backend", "webgpu", "--adapter", "VK_DRIVER_FILES=/no/driver.json"],
      "under these variables there is no adapter",
    ],
    [["--adapter", `VK_DRIVER_FILES=${drivers.llvmpipe}`], "give --backend webgpu"],
  ] as const;
  for (const [args, message] of cases) {
    const { code, stderr } = await project.run(["reproduce", ...args], ENVIRONMENT);
    assertEquals(code, 2, stderr);
    assertStringIncludes(stderr.replace(/\s+/g, " "), message);
  }
});
