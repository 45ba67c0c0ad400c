/**
 * A CycloneDX 1.6 bill of materials: the code that a run's stages ran, and the packages in it.
 *
 * https://cyclonedx.org/docs/1.6/json/
 *
 * @module
 */
import { join } from "node:path";
import { readText } from "../files.ts";
import { isRecord, isText } from "../store/shape.ts";
import { codeOf } from "../store/trace.ts";
import { type DescribedRun, type Package, packagesOf, purl } from "./described_run.ts";

interface Component {
  readonly type: string;
  readonly "bom-ref": string;
  readonly [name: string]: unknown;
}

/**
 * The bill of materials of a run.
 *
 * @param root The project's folder: its `lock/deno.lock` knows the packages' archives.
 */
export function billOfMaterials(run: DescribedRun, root: string): object {
  const components = new Map<string, Component>();
  const dependencies = new Map<string, Set<string>>();
  const integrity = integrities(root);
  const ref = `run:${run.name}`;
  const depend = (from: string, on: string) => {
    if (!dependencies.has(from)) dependencies.set(from, new Set());
    dependencies.get(from)!.add(on);
  };
  for (const [, trace] of run.instances) {
    const { code } = codeOf(trace);
    const own = `code:${code}`;
    components.set(own, {
      type: "file",
      "bom-ref": own,
      name: `stage ${trace.stage}`,
      hashes: [{ alg: "SHA-256", content: code }],
    });
    depend(ref, own);
    const runtime = `deno:${trace.ingredients["deno"]}`;
    components.set(runtime, {
      type: "platform",
      "bom-ref": runtime,
      name: "deno",
      version: trace.ingredients["deno"] ?? "",
    });
    depend(own, runtime);
    for (const one of packagesOf(trace)) {
      components.set(purl(one), library(one, integrity));
      depend(own, purl(one));
    }
  }
  for (const id of components.keys()) if (!dependencies.has(id)) dependencies.set(id, new Set());
  const { commit } = run.record;
  return {
    bomFormat: "CycloneDX",
    specVersion: "1.6",
    version: 1,
    metadata: {
      component: {
        type: "application",
        "bom-ref": ref,
        name: run.name,
        ...(commit === undefined ? {} : { version: commit }),
        ...(run.tag === undefined
          ? {}
          : { properties: [{ name: "lockstep:tag", value: run.tag }] }),
      },
    },
    components: [...components.values()].sort((a, b) => a["bom-ref"] < b["bom-ref"] ? -1 : 1),
    dependencies: [...dependencies].sort(([a], [b]) => a < b ? -1 : 1)
      .map(([id, on]) => ({ ref: id, dependsOn: [...on].sort() })),
  };
}

function library(one: Package, integrity: ReadonlyMap<string, string>): Component {
  const { name, version, files, registry } = one;
  const [, scope, rest = name] = /^(@[^/]+)\/(.+)$/.exec(name) ?? [];
  const sha512 = registry === "npm" ? integrity.get(`${name}@${version}`) : undefined;
  return {
    type: "library",
    "bom-ref": purl(one),
    ...(scope === undefined ? {} : { group: scope }),
    name: rest,
    version,
    purl: purl(one),
    ...(sha512 === undefined ? {} : {
      externalReferences: [{
        type: "distribution",
        // The archive of that name, wherever it is fetched from.
        url: purl(one),
        hashes: [{ alg: "SHA-512", content: sha512 }],
      }],
    }),
    properties: [{ name: "lockstep:bundled-files:sha256", value: files }],
  };
}

/** npm package and version to the SHA-512 of its archive, in hex, as the project pins it now. */
function integrities(root: string): Map<string, string> {
  const found = new Map<string, string>();
  let lock: unknown;
  try {
    lock = JSON.parse(readText(join(root, "lock/deno.lock")) ?? "{}");
  } catch {
    return found;
  }
  const packages = isRecord(lock) && isRecord(lock["npm"]) ? lock["npm"] : {};
  for (const [id, entry] of Object.entries(packages)) {
    const integrity = isRecord(entry) ? entry["integrity"] : undefined;
    if (!isText(integrity)) continue;
    const [, base64] = /^sha512-([A-Za-z0-9+/]{86}==)$/.exec(String(integrity)) ?? [];
    // The names of peers follow the version.
    const [, name] = /^(@?[^@]+@[^_]+)/.exec(id) ?? [];
    if (base64 && name) found.set(name, Uint8Array.fromBase64(base64).toHex());
  }
  return found;
}
