/**
 * The entities of a crate's metadata: a run's instances as actions, their stages' code as tools, what they
 * read and made as files, values and collections.
 *
 * @module
 */
import type { Sha256 } from "../key/hash.ts";
import { inputsOf, type Manifest, type OutputRecord, type Trace } from "../store/trace.ts";
import { type DescribedRun, endOf, packagesOf, paramsOf, purl } from "./described_run.ts";

/** The name that the specification prescribes. */
export const METADATA_FILE = "ro-crate-metadata.json";
/** What ran: in the crate, the workflow that the profile asks for. */
export const WORKFLOW_FILE = "workflow.json";
/** What it produced, as a lock. */
export const LOCK_FILE = "results.lock";
/** Where published files are: none has the name of one of the crate's own. */
export const FILES_FOLDER = "outputs";

type Entity = Readonly<Record<string, unknown>> & {
  readonly "@id": string;
  readonly "@type": string | readonly string[];
};

const PROFILES = [
  ["https://w3id.org/ro/wfrun/process/0.5", "Process Run Crate", "0.5"],
  ["https://w3id.org/ro/wfrun/workflow/0.5", "Workflow Run Crate", "0.5"],
  ["https://w3id.org/ro/wfrun/provenance/0.5", "Provenance Run Crate", "0.5"],
  ["https://w3id.org/workflowhub/workflow-ro-crate/1.0", "Workflow RO-Crate", "1.0"],
] as const;

/** Media types of what runs publish, by the ends of names. */
const MEDIA_TYPES: Readonly<Record<string, string>> = {
  csv: "text/csv",
  html: "text/html",
  json: "application/json",
  md: "text/markdown",
  png: "image/png",
  svg: "image/svg+xml",
  tex: "application/x-tex",
  txt: "text/plain",
};

const ENGINE = "#engine";
const LANGUAGE = "#language";
const RUN = "#run";

/** A step of the workflow is a node of the experiment: what comes before the first slash. */
function stepOf(instance: string): string {
  return id("step", instance.split("/")[0]!);
}

/** Where a published file is in the crate, as a URI. */
function placeOf(path: string): string {
  return [FILES_FOLDER, ...path.split("/")].map(encodeURIComponent).join("/");
}

/** A reference within the crate. */
function id(kind: string, ...parts: readonly string[]): string {
  return `#${[kind, ...parts].map(encodeURIComponent).join("/")}`;
}

function ref(id: string): { readonly "@id": string } {
  return { "@id": id };
}

/** RFC 6920: a name that is a digest. */
function nameOf(digest: Sha256): string {
  const base64 = Uint8Array.fromHex(digest).toBase64({ alphabet: "base64url", omitPadding: true });
  return `ni:///sha-256;${base64}`;
}

/** Collects the entities of a run. */
export class CrateGraph {
  readonly #run: DescribedRun;
  readonly #entities = new Map<string, Entity>();
  /** Digest to where the crate has it. */
  readonly #paths = new Map<string, string>();
  readonly #parts = new Set<string>();
  readonly #actions: string[] = [];
  readonly #controls: string[] = [];
  readonly #steps = new Map<string, Set<string>>();
  readonly #tools = new Set<string>();
  readonly #collections = new Set<string>();
  /** What comes from outside of the run. */
  readonly #taken = new Set<string>();
  readonly #made = new Set<string>();

  constructor(run: DescribedRun) {
    this.#run = run;
    for (const [path, { sha256, bytes }] of run.published) {
      const at = placeOf(path);
      if (!this.#paths.has(sha256)) this.#paths.set(sha256, at);
      this.#addFile(at, { sha256, bytes });
    }
    for (const [, { outputs }] of run.instances) {
      for (const { sha256 } of Object.values(outputs)) this.#made.add(sha256);
    }
  }

  #add(entity: Entity): string {
    this.#entities.set(entity["@id"], entity);
    return entity["@id"];
  }

  #addFile(at: string, { sha256, bytes }: { sha256: Sha256; bytes: number }): string {
    this.#parts.add(at);
    return this.#add({
      "@id": at,
      "@type": "File",
      name: decodeURIComponent(at),
      encodingFormat: MEDIA_TYPES[/\.(\w+)$/.exec(at)?.[1] ?? ""] ?? "application/octet-stream",
      contentSize: String(bytes),
      sha256,
    });
  }

  #file(name: string, file: { sha256: Sha256; bytes: number }): string {
    const at = this.#paths.get(file.sha256);
    if (at !== undefined) return at;
    const own = nameOf(file.sha256);
    this.#parts.add(own);
    if (this.#entities.has(own)) return own;
    const { sha256, bytes } = file;
    return this.#add({ "@id": own, "@type": "File", name, contentSize: String(bytes), sha256 });
  }

  #output(name: string, { kind, sha256, bytes }: OutputRecord): string {
    if (kind === "file") return this.#file(name, { sha256, bytes });
    const own = nameOf(sha256);
    this.#collections.add(own);
    const manifest: Manifest = this.#run.folders.get(sha256) ?? {};
    const parts = Object.entries(manifest).map(([path, file]) =>
      this.#file(`${name}/${path}`, file)
    );
    return this.#add({
      "@id": own,
      "@type": "Collection",
      name,
      hasPart: [...new Set(parts)].sort().map(ref),
    });
  }

  #value(kind: string, name: string, value: unknown): string {
    const text = typeof value === "string" ? value : JSON.stringify(value);
    return this.#add({
      "@id": id(kind, name, text),
      "@type": "PropertyValue",
      name,
      value: text,
    });
  }

  addInstance(instance: string, trace: Trace): void {
    const results = Object.entries(trace.outputs).map(([name, output]) =>
      this.#output(`${instance}/${name}`, output)
    );
    const metrics = Object.entries(trace.metrics).map(([name, value]) =>
      this.#value("metric", `${instance}/${name}`, value)
    );
    const inputs = inputsOf(trace).map(([name, digest]) => this.#input(name, digest));
    const params = paramsOf(trace).map(([name, value]) => this.#value("param", name, value));
    const step = stepOf(instance), tool = this.#tool(trace);
    if (!this.#steps.has(step)) this.#steps.set(step, new Set());
    this.#steps.get(step)!.add(tool);
    const action = this.#add({
      "@id": id("action", instance),
      "@type": "CreateAction",
      name: instance,
      description: `${instance}: stage ${trace.stage}, key ${trace.key}`,
      instrument: ref(tool),
      startTime: timeOf(trace.started),
      endTime: timeOf(endOf(trace)),
      actionStatus: "http://schema.org/CompletedActionStatus",
      object: [...new Set([...inputs, ...params])].map(ref),
      result: [...new Set([...results, ...metrics])].map(ref),
    });
    this.#actions.push(action);
    this.#controls.push(this.#add({
      "@id": id("control", instance),
      "@type": "ControlAction",
      name: `run ${instance}`,
      instrument: ref(step),
      object: ref(action),
    }));
  }

  /** What an instance read: what another made, or something that is known by its digest alone. */
  #input(name: string, digest: Sha256): string {
    const at = this.#paths.get(digest) ?? nameOf(digest);
    if (!this.#made.has(digest)) this.#taken.add(at);
    if (this.#entities.has(at) || this.#made.has(digest)) return at;
    this.#parts.add(at);
    return this.#add({ "@id": at, "@type": "File", name, sha256: digest });
  }

  /** A stage's code, of which a run may have several. */
  #tool(trace: Trace): string {
    const { stage, ingredients } = trace;
    const code = ingredients["code"] ?? "", deno = ingredients["deno"] ?? "";
    const tool = id("tool", stage, code);
    this.#tools.add(tool);
    if (this.#entities.has(tool)) return tool;
    const packages = packagesOf(trace).map((one) =>
      this.#add({
        "@id": purl(one),
        "@type": "SoftwareApplication",
        name: one.name,
        softwareVersion: one.version,
      })
    );
    const runtime = this.#add({
      "@id": id("deno", deno),
      "@type": "SoftwareApplication",
      name: "Deno",
      url: "https://deno.com",
      softwareVersion: deno,
    });
    return this.#add({
      "@id": tool,
      "@type": "SoftwareApplication",
      name: stage,
      softwareVersion: code,
      softwareRequirements: [runtime, ...packages].map(ref),
    });
  }

  /** All entities: the descriptor and the root first, the others sorted by what names them. */
  entities(): Entity[] {
    this.#addSurroundings();
    this.#addWorkflow();
    for (const file of [WORKFLOW_FILE, LOCK_FILE]) this.#parts.add(file);
    const others = [...this.#entities.values()].sort((a, b) => a["@id"] < b["@id"] ? -1 : 1);
    return [
      {
        "@id": METADATA_FILE,
        "@type": "CreativeWork",
        about: ref("./"),
        conformsTo: [
          ref("https://w3id.org/ro/crate/1.1"),
          ref("https://w3id.org/workflowhub/workflow-ro-crate/1.0"),
        ],
      },
      this.#root(),
      ...others,
    ];
  }

  #root(): Entity {
    const { name, tag, record: { commit } } = this.#run;
    return {
      "@id": "./",
      "@type": "Dataset",
      name: `${name}, run by Lockstep`,
      description: `What the run ${name} computed, from what and how` +
        (tag === undefined ? "" : `; tag ${tag}`) +
        (commit === undefined ? "" : `; commit ${commit}`),
      datePublished: this.#times().at(-1)?.slice(0, 10) ?? "1970-01-01",
      license: "Not stated. Data sets, and what is made from them, have licences of their own.",
      conformsTo: PROFILES.map(([profile]) => ref(profile)),
      mainEntity: ref(WORKFLOW_FILE),
      hasPart: [...this.#parts].sort().map(ref),
      mentions: [RUN, ...this.#actions, ...[...this.#collections].sort()].map(ref),
    };
  }

  #times(): string[] {
    return this.#run.instances.flatMap(([, trace]) => [trace.started, endOf(trace)]).sort();
  }

  /** What the crate conforms to, and what ran the workflow. */
  #addSurroundings(): void {
    for (const [profile, title, version] of PROFILES) {
      this.#add({ "@id": profile, "@type": "CreativeWork", name: title, version });
    }
    this.#add({
      "@id": LANGUAGE,
      "@type": "ComputerLanguage",
      name: "Lockstep instances, as JSON",
    });
    this.#add({
      "@id": ENGINE,
      "@type": "SoftwareApplication",
      name: "Lockstep",
      softwareVersion: "1",
    });
    this.#add({
      "@id": LOCK_FILE,
      "@type": "File",
      name: "The run's lock: digests and metrics",
      encodingFormat: "text/plain",
    });
  }

  #addWorkflow(): void {
    const { name, record: { backend, experiment, profile, set }, published } = this.#run;
    for (const [step, tools] of this.#steps) {
      this.#add({
        "@id": step,
        "@type": "HowToStep",
        name: decodeURIComponent(step.split("/")[1]!),
        workExample: [...tools].sort().map(ref),
      });
    }
    this.#add({
      "@id": WORKFLOW_FILE,
      "@type": ["File", "SoftwareSourceCode", "ComputationalWorkflow", "HowTo"],
      name: `${experiment}, profile ${profile}`,
      encodingFormat: "application/json",
      programmingLanguage: ref(LANGUAGE),
      hasPart: [...this.#tools].sort().map(ref),
      step: [...this.#steps.keys()].sort().map(ref),
    });
    const times = this.#times();
    const options = [
      this.#value("option", "backend", backend),
      ...set.map((one) => this.#value("option", "set", one)),
    ];
    this.#add({
      "@id": RUN,
      "@type": "CreateAction",
      name,
      description: `Run of ${experiment} with profile ${profile}`,
      instrument: ref(WORKFLOW_FILE),
      ...(times.length === 0
        ? {}
        : { startTime: timeOf(times[0]!), endTime: timeOf(times.at(-1)!) }),
      actionStatus: "http://schema.org/CompletedActionStatus",
      object: [...[...this.#taken].sort(), ...options].map(ref),
      result: [LOCK_FILE, ...published.map(([path]) => placeOf(path))].map(ref),
    });
    this.#add({
      "@id": "#orchestration",
      "@type": "OrganizeAction",
      name: `Lockstep running ${name}`,
      instrument: ref(ENGINE),
      object: this.#controls.map(ref),
      result: ref(RUN),
    });
  }
}

/** ISO 8601 with an offset in digits, as the profile's checks have it. */
function timeOf(time: string): string {
  return time.replace(/Z$/, "+00:00");
}
