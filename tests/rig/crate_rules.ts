/**
 * What RO-Crate 1.1 and the profiles Process, Workflow and Provenance Run Crate 0.5 say a crate MUST have,
 * checked on its metadata. The rules are those of the profiles' texts, https://w3id.org/ro/wfrun/provenance/0.5
 * and what it extends.
 *
 * @module
 */
import { isSha256, sha256 } from "../../pipeline/key/hash.ts";

/** An entity of a crate. */
export interface Entity {
  "@id": string;
  "@type": string | string[];
  [name: string]: unknown;
}

type Ref = { "@id": string };

/** The rules that a crate breaks. */
export function brokenRules(
  metadata: { "@context": unknown; "@graph": Entity[] },
  bytesOf: (path: string) => Uint8Array | undefined,
): string[] {
  const broken: string[] = [];
  const graph = metadata["@graph"];
  const byId = new Map(graph.map((entity) => [entity["@id"], entity]));
  const must = (holds: boolean, rule: string) => holds || broken.push(rule);
  const refs = (entity: Entity | undefined, name: string): string[] =>
    [entity?.[name] ?? []].flat().map((value) => (value as Ref)["@id"]);
  const are = (ids: readonly string[], types: readonly string[]) =>
    ids.length > 0 &&
    ids.every((id) => [byId.get(id)?.["@type"] ?? []].flat().some((type) => types.includes(type)));
  const all = (type: string) => graph.filter((entity) => [entity["@type"]].flat().includes(type));
  const TOOLS = ["SoftwareApplication", "SoftwareSourceCode", "ComputationalWorkflow"];

  must(byId.size === graph.length, "each entity has an @id of its own");
  for (const entity of graph) {
    for (const value of Object.values(entity).flat()) {
      const id = (value as Ref | null)?.["@id"];
      const isKnown = id === undefined || byId.has(id) ||
        /^https:\/\/w3id\.org\/ro\/crate/.test(id);
      must(isKnown, `${entity["@id"]} refers to what is there: ${id}`);
    }
  }
  const descriptor = byId.get("ro-crate-metadata.json");
  must(descriptor?.["@type"] === "CreativeWork", "the descriptor is a CreativeWork");
  must(refs(descriptor, "about").join() === "./", "the descriptor is about the root");
  must(
    refs(descriptor, "conformsTo").includes("https://w3id.org/ro/crate/1.1"),
    "the descriptor conforms to RO-Crate 1.1",
  );
  const root = byId.get("./");
  must(root?.["@type"] === "Dataset", "the root is a Dataset");
  for (const name of ["name", "description", "license", "datePublished"]) {
    must(typeof root?.[name] === "string" && root[name] !== "", `the root has a ${name}`);
  }
  must(/^\d{4}-\d\d-\d\d/.test(String(root?.["datePublished"])), "datePublished is a date");
  for (const profile of ["process", "workflow", "provenance"]) {
    const id = `https://w3id.org/ro/wfrun/${profile}/0.5`;
    must(
      refs(root, "conformsTo").includes(id) && are([id], ["CreativeWork"]),
      `the root conforms to ${profile}, a CreativeWork`,
    );
  }
  const parts = new Set(refs(root, "hasPart"));
  for (const { "@id": id } of all("File")) {
    must(parts.has(id), `the file ${id} is a part of the root`);
    must(
      /^[a-z][a-z+.-]*:/.test(id) || bytesOf(decodeURIComponent(id)) !== undefined,
      `${id} is there`,
    );
    const { sha256: digest, contentSize } = byId.get(id)!;
    const bytes = bytesOf(decodeURIComponent(id));
    if (bytes && digest !== undefined) {
      must(sha256(bytes) === digest, `${id} has the digest that is said`);
      must(String(bytes.length) === contentSize, `${id} has the size that is said`);
    }
    if (digest !== undefined) must(isSha256(String(digest)), `${id} has a digest`);
  }

  const [workflow = ""] = refs(root, "mainEntity");
  for (const type of ["File", "SoftwareSourceCode", "ComputationalWorkflow", "HowTo"]) {
    must(are([workflow], [type]), `the main entity is a ${type}`);
  }
  const main = byId.get(workflow);
  must(are(refs(main, "programmingLanguage"), ["ComputerLanguage"]), "the workflow has a language");
  must(are(refs(main, "hasPart"), TOOLS), "the workflow's parts are the tools");
  must(are(refs(main, "step"), ["HowToStep"]), "the workflow's steps are HowToSteps");
  const actions = all("CreateAction");
  must(
    actions.some((action) => refs(action, "instrument").includes(workflow)),
    "an action is the workflow's execution",
  );
  for (const action of actions) {
    must(are(refs(action, "instrument"), TOOLS), `${action["@id"]} has a tool as instrument`);
    const used = [...refs(action, "object"), ...refs(action, "result")];
    must(
      used.length === 0 ||
        are(used, ["File", "Dataset", "Collection", "CreativeWork", "PropertyValue"]),
      `${action["@id"]} uses and makes files or values`,
    );
    for (const name of ["startTime", "endTime"]) {
      must(
        /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}\+00:00$/.test(String(action[name])),
        `${action["@id"]} has a ${name} in ISO 8601`,
      );
    }
    must(refs(root, "mentions").includes(action["@id"]), `the root mentions ${action["@id"]}`);
  }
  for (const tool of refs(main, "hasPart")) {
    must(
      actions.some((action) => refs(action, "instrument").includes(tool)),
      `the tool ${tool} is the instrument of an action`,
    );
  }
  for (const step of all("HowToStep")) {
    must(refs(main, "step").includes(step["@id"]), `${step["@id"]} is a step of the workflow`);
    must(are(refs(step, "workExample"), TOOLS), `${step["@id"]} names its tool`);
  }
  const controls = all("ControlAction");
  for (const control of controls) {
    must(
      are(refs(control, "instrument"), ["HowToStep"]),
      `${control["@id"]} has a step as instrument`,
    );
    must(
      are(refs(control, "object"), ["CreateAction"]),
      `${control["@id"]} has an action as object`,
    );
  }
  must(controls.length === actions.length - 1, "each tool's execution has a ControlAction");
  for (const organize of all("OrganizeAction")) {
    must(
      are(refs(organize, "instrument"), TOOLS),
      "the OrganizeAction has the engine as instrument",
    );
    must(are(refs(organize, "result"), ["CreateAction"]), "the OrganizeAction results in the run");
    must(
      are(refs(organize, "object"), ["ControlAction"]) &&
        refs(organize, "object").length === controls.length,
      "the OrganizeAction has the ControlActions as objects",
    );
  }
  must(all("OrganizeAction").length === 1, "there is one OrganizeAction");
  return broken;
}
