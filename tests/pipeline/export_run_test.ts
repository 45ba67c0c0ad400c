import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { join } from "node:path";
import { z } from "zod";
import { parseLock } from "../../pipeline/store/lockfile.ts";
import { brokenRules, type Entity } from "../rig/crate_rules.ts";
import { onDevice } from "../rig/device.ts";
import { type TestProject, toyProject } from "../rig/project.ts";

async function exported(
  project: TestProject,
  format: string,
  to: string,
  ...args: string[]
): Promise<void> {
  const ended = await project.run(["export", "--format", format, "--to", to, ...args]);
  assertEquals(ended.code, 0, ended.stdout + ended.stderr);
}

interface Metadata {
  "@context": unknown;
  "@graph": Entity[];
}

function metadataOf(project: TestProject, crate: string): Metadata {
  return JSON.parse(project.read(`${crate}/ro-crate-metadata.json`));
}

function bytesIn(project: TestProject, crate: string) {
  return (path: string): Uint8Array | undefined => {
    try {
      return Deno.readFileSync(join(project.path(crate), path));
    } catch {
      return undefined;
    }
  };
}

Deno.test("a crate keeps the rules of RO-Crate 1.1 and of Provenance Run Crate 0.5", async () => {
  using project = toyProject();
  await project.executed("--set", "steps.rate=2");
  await exported(project, "crate", "crate");
  const metadata = metadataOf(project, "crate");
  assertEquals(brokenRules(metadata, bytesIn(project, "crate")), []);
  const graph = metadata["@graph"];
  const action = graph.find((entity) => entity["@id"] === "#action/steps%2Fann%2F1")!;
  // The step reads what the word wrote, and its params are values.
  const digest = "17239b6e250110330eda64a29c610bf146f89883371fab093feda03bec61b646";
  const objects = JSON.stringify(action["object"]);
  const ann = graph.find((entity) => entity["sha256"] === digest)!;
  // RFC 6920 names "Ann" so; computed with openssl dgst -sha256 -binary | base64.
  assertEquals(ann["@id"], "ni:///sha-256;FyObbiUBEDMO2mSinGEL8Ub4mIM3H6sJP-2gO-xhtkY");
  assertStringIncludes(objects, ann["@id"]);
  assertStringIncludes(objects, "#param/rate/2");
  assertEquals(parseLock(project.read("crate/results.lock"), "lock").size, 7);
  assertEquals(
    project.read("crate/outputs/report/page.txt"),
    project.read("outputs/toy.smoke/report/page.txt"),
  );
});

Deno.test("the rules for crates notice what is missing or wrong", async () => {
  using project = toyProject();
  await project.executed();
  await exported(project, "crate", "crate");
  const find = (graph: Entity[], type: string) =>
    graph.find((entity) => [entity["@type"]].flat().includes(type))!;
  const edits: [string, (graph: Entity[]) => void][] = [
    ["the root has a license", (graph) => delete graph[1]!["license"]],
    ["the root conforms to provenance", (graph) => graph[1]!["conformsTo"] = []],
    ["is a part of the root", (graph) => graph[1]!["hasPart"] = []],
    ["the main entity is a HowTo", (graph) => find(graph, "HowTo")["@type"] = ["File"]],
    ["has a tool as instrument", (graph) => delete find(graph, "CreateAction")["instrument"]],
    ["has an action as object", (graph) => delete find(graph, "ControlAction")["object"]],
    ["names its tool", (graph) => delete find(graph, "HowToStep")["workExample"]],
    [
      "refers to what is there",
      (graph) => find(graph, "OrganizeAction")["result"] = { "@id": "#no" },
    ],
    ["has the digest that is said", (graph) => {
      graph.find(({ "@id": id }) => id.startsWith("outputs/"))!["sha256"] = "0".repeat(64);
    }],
  ];
  for (const [rule, edit] of edits) {
    const metadata = metadataOf(project, "crate");
    edit(metadata["@graph"]);
    const broken = brokenRules(metadata, bytesIn(project, "crate"));
    assert(broken.some((message) => message.includes(rule)), `${rule}: ${broken}`);
  }
});

Deno.test("bundle takes a tag as export does, and bundles the run that the tag keeps", async () => {
  using project = toyProject();
  await project.executed();
  assertEquals((await project.run(["bundle", "--to", "a.tar"])).code, 0);
  await project.run(["tag", "first"]);
  await project.executed("--set", "steps.rate=2");
  const ended = await project.run(["bundle", "first"]);
  assertEquals(ended.code, 0, ended.stderr);
  assertStringIncludes(ended.stdout, "toy.smoke, tag first: 7 instances");
  assertEquals(
    Deno.readFileSync(project.path("first.audit.tar")),
    Deno.readFileSync(project.path("a.tar")),
  );
  const wrong = await project.run(["bundle", "frist"]);
  assertEquals(wrong.code, 2);
  assertStringIncludes(wrong.stderr, 'did you mean "first"?');
});

Deno.test("what is exported of a run is the same bytes each time, and of a tag what the tag keeps", async () => {
  using project = toyProject();
  await project.executed();
  await project.run(["tag", "first"]);
  for (const format of ["slsa", "sbom"]) {
    await exported(project, format, "a");
    await exported(project, format, "b");
    assertEquals(project.read("b"), project.read("a"), format);
    Deno.removeSync(project.path("a"));
    Deno.removeSync(project.path("b"));
  }
  await exported(project, "crate", "a");
  await exported(project, "crate", "b");
  for (const name of ["ro-crate-metadata.json", "workflow.json", "results.lock"]) {
    assertEquals(project.read(`b/${name}`), project.read(`a/${name}`), name);
  }
  await project.executed("--set", "steps.rate=2");
  const tagged = await project.run(["export", "first", "--format", "crate", "--to", "c"]);
  assertEquals(tagged.code, 0, tagged.stderr);
  assertEquals(project.read("c/workflow.json"), project.read("a/workflow.json"));
  assertEquals(brokenRules(metadataOf(project, "c"), bytesIn(project, "c")), []);
  // Named as it ran, whatever the tag is called.
  const root = metadataOf(project, "c")["@graph"].find((entity) => entity["@id"] === "./")!;
  assertEquals(root["name"], "toy.smoke, run by Lockstep");
  assertStringIncludes(String(root["description"]), "What the run toy.smoke computed");
  assertStringIncludes(String(root["description"]), "tag first");
  await exported(project, "sbom", "bom", "first");
  const { component } = JSON.parse(project.read("bom")).metadata;
  assertEquals([component.name, component.properties[0].value], ["toy.smoke", "first"]);
  const wrong = await project.run(["export", "frist", "--format", "sbom", "--to", "d"]);
  assertStringIncludes(wrong.stderr, 'is neither; did you mean "first"?');
  const refused = await project.run(["export", "--format", "crate", "--to", "c"]);
  assertStringIncludes(refused.stderr, "something is there; give another path or --overwrite");
  await exported(project, "crate", "c", "--overwrite");
  assert(project.read("c/workflow.json") !== project.read("a/workflow.json"));
  const other = await project.run(["export", "--format", "crate", "--to", "stages", "--overwrite"]);
  assertEquals(other.code, 2, "a folder that is no crate is never replaced");
});

Deno.test("each instance has an in-toto statement with SLSA provenance of what it made", async () => {
  using project = toyProject();
  await project.executed();
  await exported(project, "slsa", "run.jsonl");
  const statements = project.read("run.jsonl").trim().split("\n").map((line) => JSON.parse(line));
  assertEquals(statements.length, 7);
  const lock = parseLock(project.read("lock/toy.smoke.lock"), "lock");
  for (const statement of statements) {
    // What v1 of the statement and of the predicate require.
    assertEquals(statement._type, "https://in-toto.io/Statement/v1");
    assertEquals(statement.predicateType, "https://slsa.dev/provenance/v1");
    const { buildDefinition, runDetails } = statement.predicate;
    const uri = /^[a-z][a-z0-9+.-]*:.+/;
    assert(uri.test(buildDefinition.buildType) && uri.test(runDetails.builder.id));
    const { instance } = buildDefinition.externalParameters;
    for (const one of buildDefinition.resolvedDependencies) assert(one.uri || one.digest);
    const names = statement.subject.map(({ name }: { name: string }) => name);
    assertEquals(new Set(names).size, names.length);
    for (const { digest } of statement.subject) assert(/^[0-9a-f]{64}$/.test(digest.sha256));
    assert(runDetails.metadata.startedOn <= runDetails.metadata.finishedOn);
    const { key, outputs } = lock.get(instance)!;
    assertEquals(runDetails.metadata.invocationId, `urn:lockstep:key:${key}`);
    for (const [output, { sha256 }] of Object.entries(outputs)) {
      const own = statement.subject.filter(({ name }: { name: string }) =>
        name === `${instance}/${output}` || name.startsWith(`${instance}/${output}/`)
      );
      // A folder's digest is that of its list, which is no file anyone has.
      assert(own.length > 1 || own[0].digest.sha256 === sha256, `${instance}/${output}`);
    }
  }
  const step = statements.find((one) => one.subject[0].name.startsWith("steps/ann/1/"));
  const { externalParameters, resolvedDependencies } = step.predicate.buildDefinition;
  assertEquals(externalParameters.params, { fail: false, rate: 1, seed: 1, steps: 3 });
  assertEquals(resolvedDependencies[0], {
    name: "inputs.text",
    digest: { sha256: "17239b6e250110330eda64a29c610bf146f89883371fab093feda03bec61b646" },
  });
});

/** The published schema; licences and signatures, which refer to other files, are not in these bills. */
function cycloneDx(): z.ZodType {
  const path = new URL("../reference/cyclonedx/bom-1.6.schema.json", import.meta.url);
  const schema = JSON.parse(
    Deno.readTextFileSync(path),
    (_, value) => /^(spdx|jsf)/.test(value?.$ref ?? "") ? {} : value,
  );
  return z.fromJSONSchema(schema);
}

Deno.test("a bill of materials is what the schema of CycloneDX 1.6 takes, with the packages in the keys", async () => {
  using project = toyProject();
  project.edit(
    "stages/word.run.ts",
    "import type { StageContext",
    'import "zod";\nimport type { StageContext',
  );
  project.edit(
    "stages/word.run.ts",
    "context.params.text",
    "String(z.string().parse(context.params.text))",
  );
  project.edit("stages/word.run.ts", 'import "zod"', 'import { z } from "zod"');
  await project.executed();
  await exported(project, "sbom", "bom.json");
  const bom = JSON.parse(project.read("bom.json"));
  const schema = cycloneDx();
  assertEquals(schema.safeParse(bom).error, undefined);
  const zod = bom.components.find(({ name }: { name: string }) => name === "zod");
  assertEquals(zod.purl, "pkg:npm/zod@4.6.7");
  // As the lock file has it, in another encoding.
  const [, base64 = ""] = /"zod@4\.6\.7": \{\s*"integrity": "sha512-([^"]+)"/.exec(
    project.read("lock/deno.lock"),
  ) ?? [];
  const { hashes } = zod.externalReferences[0];
  assertEquals(hashes, [{ alg: "SHA-512", content: Uint8Array.fromBase64(base64).toHex() }]);
  const dependents = bom.dependencies.filter(({ dependsOn }: { dependsOn: string[] }) =>
    dependsOn.includes(zod.purl)
  );
  assertEquals(dependents.length, 1, "of the stages, only one has it");
  // The schema is one that can be broken.
  for (
    const edit of [
      () => bom.components[0].type = "nonsense",
      () => delete bom.bomFormat,
      () => bom.components[0].hashes = [{ alg: "SHA-256", content: "xyz" }],
    ]
  ) {
    const before = JSON.stringify(bom);
    edit();
    assertEquals(schema.safeParse(bom).success, false);
    Object.assign(bom, JSON.parse(before));
  }
});

Deno.test({
  name: "what finds no room is one message, and nothing half written is left",
  // Only root can mount.
  ignore: Deno.uid() !== 0,
  async fn() {
    using project = toyProject();
    await project.executed();
    Deno.mkdirSync(project.path("small"));
    const size = ["-t", "tmpfs", "-o", "size=8k", "tmpfs"];
    await onDevice(project.path("small"), size, async (small) => {
      Deno.writeFileSync(join(small, "full"), new Uint8Array(8192));
      for (const format of ["crate", "slsa", "sbom"]) {
        const args = ["export", "--format", format, "--to", join(small, "it")];
        const { code, stderr } = await project.run(args);
        assertEquals(code, 1, format);
        assertStringIncludes(stderr, "there must be room for it");
        assertEquals(stderr.trim().split("\n").length, 1, stderr);
        assertEquals([...Deno.readDirSync(small)].map(({ name }) => name), ["full"], format);
      }
    });
  },
});
