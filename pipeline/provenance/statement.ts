/**
 * in-toto statements (v1) with SLSA provenance (v1): for each instance of a run what it made, from
 * which params, inputs, code and packages.
 *
 * https://github.com/in-toto/attestation/blob/main/spec/v1/statement.md, https://slsa.dev/spec/v1.1/provenance
 *
 * @module
 */
import { isSha256, type Sha256 } from "../key/hash.ts";
import { isRecord } from "../store/shape.ts";
import { codeOf, inputsOf, type Trace } from "../store/trace.ts";
import { type DescribedRun, endOf, filesOf, packagesOf, paramsOf, purl } from "./described_run.ts";

/** What a build by this engine is: `externalParameters` are an instance's name, stage and params. */
const BUILD_TYPE = "urn:lockstep:build:instance:1";
/** What built: a process of this engine, on whichever machine. */
const BUILDER = "urn:lockstep:builder:process:1";

/** Which invocation: that with this key. */
const INVOCATION = "urn:lockstep:key:";

/** Something with its digest. */
export interface Resource {
  readonly name?: string;
  readonly uri?: string;
  readonly digest?: { readonly sha256: Sha256 };
  readonly annotations?: Readonly<Record<string, string>>;
}

/** A statement. */
export interface Statement {
  readonly _type: "https://in-toto.io/Statement/v1";
  readonly subject: readonly (Resource & { readonly digest: { readonly sha256: Sha256 } })[];
  readonly predicateType: string;
  readonly predicate: unknown;
}

/** The statements of a run's instances, in the order of their names. */
export function statementsOf(run: DescribedRun): Statement[] {
  return run.instances.map(([instance, trace]) => statementOf(instance, trace, run.folders));
}

/** The statement of an instance that has a trace. */
export function statementOf(
  instance: string,
  trace: Trace,
  folders: DescribedRun["folders"],
): Statement {
  const { ingredients, key, stage, started, metrics } = trace;
  const subject = filesOf(trace, folders).map(({ name, sha256 }) => ({
    name: `${instance}/${name}`,
    digest: { sha256 },
  }));
  const inner = Object.entries(ingredients).filter(([name]) =>
    /^(contract|deno|machine|alone|platform\..*|outputs\..*)$/.test(name)
  );
  return {
    _type: "https://in-toto.io/Statement/v1",
    subject,
    predicateType: "https://slsa.dev/provenance/v1",
    predicate: {
      buildDefinition: {
        buildType: BUILD_TYPE,
        externalParameters: { instance, stage, params: Object.fromEntries(paramsOf(trace)) },
        internalParameters: Object.fromEntries(inner),
        resolvedDependencies: dependenciesOf(trace),
      },
      runDetails: {
        builder: { id: BUILDER, version: { deno: ingredients["deno"] ?? "" } },
        metadata: {
          invocationId: `${INVOCATION}${key}`,
          startedOn: started,
          finishedOn: endOf(trace),
        },
        byproducts: [{ name: "metrics", content: btoa(JSON.stringify(metrics)) }],
      },
    },
  };
}

/** The instance and key that a statement is about; `undefined` if it is of another kind. */
export function identityOf(
  { predicate }: Statement,
): { readonly instance: string; readonly key: Sha256 } | undefined {
  const instance = at(predicate, "buildDefinition", "externalParameters", "instance");
  const invocation = String(at(predicate, "runDetails", "metadata", "invocationId"));
  const key = invocation.slice(INVOCATION.length);
  return typeof instance === "string" && invocation.startsWith(INVOCATION) && isSha256(key)
    ? { instance, key }
    : undefined;
}

/**
 * Whether two statements about one key agree in what was made and from what: not in when, nor in what was
 * measured.
 */
export function agree(a: Statement, b: Statement, trace: Trace): boolean {
  const measured = Object.entries(trace.outputs).flatMap(([name, { exactness }]) =>
    exactness === "measured" ? [name] : []
  );
  const instance = identityOf(a)?.instance;
  const compared = ({ subject, predicate }: Statement) => [
    subject.filter(({ name = "" }) =>
      !measured.some((output) => `${name}/`.startsWith(`${instance}/${output}/`))
    ),
    at(predicate, "buildDefinition"),
    measured.length > 0 ? [] : at(predicate, "runDetails", "byproducts"),
  ];
  return JSON.stringify(compared(a)) === JSON.stringify(compared(b));
}

function at(value: unknown, ...path: readonly string[]): unknown {
  return path.reduce<unknown>(
    (inner, name) => isRecord(inner) ? inner[name] : undefined,
    value,
  );
}

/** A folder is named by the digest of the list of its files, which is what the key has. */
function dependenciesOf(trace: Trace): Resource[] {
  const { code, packages } = codeOf(trace);
  return [
    ...inputsOf(trace).map(([name, sha256]) => ({ name: `inputs.${name}`, digest: { sha256 } })),
    { name: "code", digest: { sha256: code } },
    ...(packages === undefined ? [] : [{ name: "packages", digest: { sha256: packages } }]),
    ...packagesOf(trace).map((one) => ({
      uri: purl(one),
      annotations: { bundledFilesSha256: one.files },
    })),
  ];
}
