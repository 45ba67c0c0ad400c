/**
 * Random manipulations of an audit file, with and without a lock of the run at hand: what is guaranteed in
 * each case is found and named, and what is not is written down here, by trials that pass.
 *
 * Without a lock: whatever is altered shows unless all that follows from it is computed again. With one: that
 * too, but for measured values, and for what the machine says of itself and of its day.
 *
 * @module
 */
import { assert, assertEquals } from "@std/assert";
import { type Finding, findingText } from "../../pipeline/replay/finding.ts";
import { recordBytes } from "../../pipeline/replay/record.ts";
import { inspect, verify, type VerifyOptions } from "../../pipeline/replay/verify.ts";
import { certified, Forger, opened, relisted } from "../rig/forge.ts";
import { measured } from "../rig/measuring.ts";
import { numbersOf } from "../rig/numbers.ts";

type Bytes = Uint8Array<ArrayBuffer>;
type Numbers = (bound: number) => number;
/** Alters a file; returns it with words of which a finding must have one. */
type Manipulation = (
  file: Bytes,
  number: Numbers,
) => Promise<readonly [file: Bytes, named: readonly string[]]>;

const one = <T>(list: readonly T[], number: Numbers): T => list[number(list.length)]!;
const encode = (text: string) => new TextEncoder().encode(text);
const recordIn = (bytes: Bytes) =>
  JSON.parse(new TextDecoder().decode(bytes).split("\nsha256 ")[0]!) as Record<string, unknown>;

/** A member of the file whose name begins so. */
function member(file: Bytes, folder: string, number: Numbers): string {
  return one(
    [...opened(file).files.keys()].filter((name) => name.startsWith(folder)),
    number,
  );
}

/** The instances that have a member's digest or key. */
function ownersOf(file: Bytes, name: string): string[] {
  const text = name.split(/[/.]/)[1]!;
  const { index } = opened(file);
  return Object.keys(index.instances).filter((instance) => index.instances[instance] === text);
}

const flipped = (bytes: Bytes, number: Numbers): Bytes => {
  const at = number(bytes.length);
  return bytes.with(at, bytes[at]! ^ 1 << number(8)) as Bytes;
};

/** Alterations after which digests, seals and keys may be made to agree, and nothing is computed again. */
const INCONSISTENT: Readonly<Record<string, Manipulation>> = {
  "a bit anywhere": (file, number) =>
    Promise.resolve([flipped(file, number), ["the file", "blobs/", "traces/", "lock/", "certif"]]),
  ...Object.fromEntries(["blobs/", "traces/", "lock/", "certificates/"].map((folder) => [
    `a bit in ${folder}, and its digest in the index`,
    (file: Bytes, number: Numbers) => {
      const name = member(file, folder, number);
      const altered = relisted(file, (files) => files.set(name, flipped(files.get(name)!, number)));
      return Promise.resolve([altered, [name, "audit.json", ...ownersOf(file, name)]] as const);
    },
  ])),
  "a field of a trace or a certificate, sealed again": (file, number) => {
    const name = member(file, number(2) === 0 ? "traces/" : "certificates/", number);
    const field = one(["key", "stage", "ingredients", "outputs", "metrics"], number);
    return Promise.resolve([
      relisted(file, (files) => {
        const record = recordIn(files.get(name)!);
        const value = record[field];
        const tree = { ...value as Record<string, unknown> };
        const entry = one(Object.keys(tree), number);
        const isTree = typeof value === "object" && entry !== undefined;
        if (isTree && number(2) === 0) delete tree[entry];
        else if (isTree) tree[`${entry}x`] = tree[entry];
        files.set(
          name,
          recordBytes({ ...record, [field]: isTree ? tree : field === "metrics" ? { x: 1 } : "x" }),
        );
      }),
      [name, ...ownersOf(file, name)],
    ]);
  },
  "two files in each other's place": (file, number) => {
    const folder = one(["blobs/", "traces/"], number);
    const a = member(file, folder, number);
    let b = a;
    while (b === a) b = member(file, folder, number);
    return Promise.resolve([
      relisted(file, (files) => {
        const content = files.get(a)!;
        files.set(a, files.get(b)!).set(b, content);
      }),
      [a, b],
    ]);
  },
  "two names of instances that something gathers": (file, number) => {
    const { index } = opened(file);
    const stage = one(["pair", "time"], number);
    const names = Object.keys(index.instances).filter((name) => name.startsWith(`${stage}/`));
    const a = one(names, number);
    const b = one(names.filter((name) => name !== a), number);
    const [x, y] = [index.instances[a]!, index.instances[b]!];
    const instances = { ...index.instances, [a]: y, [b]: x };
    return Promise.resolve([relisted(file, () => {}, { ...index, instances }), [a, b]]);
  },
  "a line of the lock": (file, number) => {
    const name = member(file, "lock/", number);
    const lines = new TextDecoder().decode(opened(file).files.get(name)).split("\n");
    const at = 1 + number(lines.length - 2), line = lines[at]!;
    lines[at] = one([
      line.replace(/(\w)$/, (last) => last === "0" ? "1" : "0"),
      line.replace(/(=\w*)\w/, (_, rest) => rest),
      `${line}  more=1`,
      line.replace(/ {2}\S+/, ""),
    ], number);
    const altered = relisted(file, (files) => files.set(name, encode(lines.join("\n"))));
    return Promise.resolve([altered, [line.split("  ")[0]!]]);
  },
  "an artifact, and its digest and key wherever it is read": async (file, number) => {
    const before = new Forger(file), forger = new Forger(file);
    const instance = one(forger.instances, number);
    forger.alter(instance, "text", (text) => `${text}${number(1000)}`);
    forger.rekey(before);
    const followers = ["times", "table", "report", "table_chart", "times_chart"];
    return [await forger.file(), [instance, ...followers]];
  },
  "an artifact": async (file, number) => {
    const forger = new Forger(file);
    const instance = one(forger.instances, number);
    const { sha256 } = forger.trace(instance).outputs["text"]!;
    forger.alter(instance, "text", (text) => text.slice(0, -1));
    return [await forger.file(), [instance, `run made, found ${sha256}`]];
  },
  "a param, and the key": async (file, number) => {
    const forger = new Forger(file);
    const instance = one(["table", "times", "report", "pair/cat/bob", "word/ann"], number);
    forger.ingredients(instance, (own) => {
      const param = Object.keys(own).find((name) => /^params\.(title|other|text)$/.test(name))!;
      own[param] = JSON.stringify(`other ${number(1000)}`);
    });
    return [await forger.file(), [instance]];
  },
  "a result that nobody gathers any more": async (file, number) => {
    const forger = new Forger(file);
    const by = one(["table", "times"], number);
    const labels = Object.keys(forger.trace(by).ingredients).filter((name) => name.endsWith("]"));
    forger.ingredients(by, (own) => delete own[one(labels, number)]);
    return [await forger.file(), [by]];
  },
  "an instance that is left out, or is there twice": async (file, number) => {
    const forger = new Forger(file);
    const names = forger.instances.filter((name) => /^(pair|time)\//.test(name));
    const instance = one(names, number);
    if (number(2) === 0) forger.remove(instance);
    else forger.set(instance.replace(/\w+$/, "eve"), forger.trace(instance));
    return [await forger.file(), ["table", "times"]];
  },
};

/** Alterations after which all that follows is computed again, as by whoever has the code. */
const CONSISTENT: Readonly<
  Record<string, (forger: Forger, number: Numbers) => readonly string[]>
> = {
  "a param": (forger, number) => {
    const instance = one(forger.instances.filter((name) => !name.includes("chart")), number);
    forger.ingredients(instance, (own) => {
      const param = Object.keys(own).find((name) => name.startsWith("params."))!;
      own[param] = own[param] === "3" ? "4" : `"${number(1000)}"`;
    });
    return [instance];
  },
  "code that gives the same": (forger, number) => {
    const instance = one(forger.instances, number);
    forger.ingredients(instance, (own) => {
      own["code"] = forger.keep(`${forger.blob(own["code"]!)}// ${number(1000)}`);
    });
    return [instance];
  },
  "code that says what one likes": (forger, number) => {
    const instance = one(forger.instances.filter((name) => !name.startsWith("time/")), number);
    forger.ingredients(instance, (own) => {
      own["code"] = forger.keep(`export function run(context) {
        Deno.writeTextFileSync(context.output("text"), "best of ${number(1000)}");
      }`);
    });
    return [instance];
  },
  "what something is made from": (forger, number) => {
    const instance = one(forger.instances.filter((name) => /^(pair|time)\//.test(name)), number);
    const from = instance.startsWith("pair/") ? "word/ann" : "pair/cat/bob";
    const { sha256 } = forger.trace(from).outputs["text"]!;
    forger.ingredients(instance, (own) => {
      if (own["inputs.text"] === sha256) own["params.more"] = "1";
      own["inputs.text"] = sha256;
    });
    return [instance];
  },
  "an instance that is taken out": (forger, number) => {
    const instance = one(["table_chart", "times_chart"], number);
    forger.remove(instance);
    return [instance];
  },
  "an instance more": (forger, number) => {
    const instance = one(["word/eve", "table_chart/2", "more"], number);
    forger.set(instance, forger.trace("word/ann"));
    return [instance];
  },
  "names of two instances that nobody gathers": (forger) => {
    const [ann, bob] = ["word/ann", "word/bob"].map((name) => forger.trace(name));
    forger.set("word/ann", bob!);
    forger.set("word/bob", ann!);
    return ["word/ann"];
  },
};

const TRIALS = 10;

async function found(file: Bytes, options: VerifyOptions = {}): Promise<readonly Finding[]> {
  // Most is found without running anything.
  const { findings } = inspect(file, options);
  return findings.length > 0 ? findings : (await verify(file, options)).findings;
}

Deno.test("without a lock every manipulation is found and named, unless all is computed again", async (test) => {
  const file = certified((await measured()).file, "table");
  assertEquals(await found(file), []);
  for (const [name, manipulate] of Object.entries(INCONSISTENT)) {
    await test.step(name, async () => {
      const number = numbersOf(name);
      for (let trial = 0; trial < TRIALS; trial++) {
        const [altered, named] = await manipulate(file, number);
        const text = (await found(altered)).map(findingText).join("\n");
        const isNamed = named.some((word) => text.includes(word));
        assert(isNamed, `trial ${trial}, ${named}: ${text || "nothing was found"}`);
      }
    });
  }
});

Deno.test("with a lock whatever is computed again is found and named, too", async (test) => {
  const { file, lock } = await measured();
  const before = new Forger(file);
  for (const [name, edit] of Object.entries(CONSISTENT)) {
    await test.step(name, async () => {
      const number = numbersOf(name);
      for (let trial = 0; trial < TRIALS; trial++) {
        const forger = new Forger(file);
        const instances = edit(forger, number);
        await forger.rederive(before);
        const altered = await forger.file();
        const text = inspect(altered, { lock: () => lock }).findings.map(findingText).join("\n");
        const isNamed = instances.some((instance) =>
          text.includes(`against the one given, ${instance}: `)
        );
        assert(isNamed, `trial ${trial}, ${instances}: ${text || "nothing was found"}`);
        // It is the lock that finds it: this is what a file alone cannot show.
        if (trial === 0 && name !== "what something is made from") {
          assertEquals((await found(altered)).map(findingText), [], name);
        }
      }
    });
  }
});

Deno.test("what no lock holds: times, and what the machine says of itself and of its day", async () => {
  const { file, lock } = await measured();
  const { index } = opened(file);
  const forger = new Forger(file);
  const before = new Forger(file);
  for (const instance of forger.instances) {
    forger.set(instance, {
      ...forger.trace(instance),
      ...{
        instance: "other",
        run: "other.run",
        sources: {},
        started: "1970",
        seconds: 0,
        machine: {},
      },
    });
  }
  forger.alter("time/cat/bob", "text", () => "1 in 0.001");
  forger.ingredients("time/cat/bob", (own) => own["machine"] = "another");
  await forger.rederive(before);
  const altered = certified(await forger.file(), "table");
  const { files, instances } = opened(altered).index;
  const other = { ...index, files, instances, set: ["train.epochs=1"], commit: "0".repeat(40) };
  const whole = relisted(altered, () => {}, other);
  assertEquals((await verify(whole, { lock: () => lock })).findings, []);
});
