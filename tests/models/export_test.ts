import { assert, assertEquals } from "@std/assert";
import { join } from "node:path";
import { encodeTensors } from "../../models/safetensors.ts";
import { trainedFile } from "../../models/weights.ts";
import fixtures from "../reference/pytorch/classifier.json" with { type: "json" };
import { temporaryFolder } from "../rig/temporary.ts";
import { worstRelative } from "./rig.ts";

const text = Deno.readTextFileSync(new URL("../../docs/export.md", import.meta.url));
/** The Python of docs/export.md: the loader, then the classifier; the last block is its use. */
const [loader, classifier] = [...text.matchAll(/```py\n([\s\S]*?)```/g)].map(([, code]) => code!);

/** What the loader uses of PyTorch, in plain Python: it shows which bytes become which numbers. */
const STAND_IN = `
import struct
float32 = "f"
class Tensor:
    def __init__(self, values, shape):
        self.values, self.shape = values, shape
    def __getitem__(self, part):
        return Tensor(self.values[part], None)
    def reshape(self, shape):
        return Tensor(self.values, shape)
def frombuffer(data, dtype, offset):
    count = (len(data) - offset) // 4
    return Tensor(struct.unpack_from(f"<{count}{dtype}", data, offset), None)
`;

const CASE = fixtures.cases.find(({ fusion, encoding, activation }) =>
  fusion === "add" && encoding === "sinusoidal" && activation === "gelu"
)!;

/** A weights file as the stage writes it, with the fixture's numbers. */
function writeWeights(folder: string): Map<string, { shape: number[]; values: Float32Array }> {
  const stored = CASE.weights as Record<string, { shape: number[]; values: number[] }>;
  const tensors = new Map(
    Object.entries(stored).map(([name, { shape, values }]) => [
      name,
      { shape, values: Float32Array.from(values) },
    ]),
  );
  const { fusion, encoding, activation, gateReduce } = CASE;
  const { gateTaps, maxDistance } = fixtures;
  const shape = { ...CASE.shape, fusion, encoding, activation, gateReduce, gateTaps, maxDistance };
  const file = trainedFile({ config: shape as never, seed: 0 }, tensors);
  Deno.writeFileSync(join(folder, "weights.safetensors"), encodeTensors(file));
  return tensors;
}

async function python(folder: string, code: string, interpreter = "python3"): Promise<unknown> {
  Deno.writeTextFileSync(join(folder, "main.py"), code);
  const { code: status, stdout, stderr } = await new Deno.Command(interpreter, {
    args: ["main.py"],
    cwd: folder,
  }).output();
  assertEquals(status, 0, new TextDecoder().decode(stderr));
  return JSON.parse(new TextDecoder().decode(stdout));
}

async function succeeds(command: string, args: readonly string[]): Promise<boolean> {
  try {
    return (await new Deno.Command(command, { args: [...args], stderr: "null" }).output()).success;
  } catch {
    return false;
  }
}

Deno.test("the loader of docs/export.md has seven lines and reads every tensor to the bit", async () => {
  assertEquals(loader!.slice(loader!.indexOf("def load")).trimEnd().split("\n").length, 7);
  if (!await succeeds("python3", ["--version"])) {
    console.warn("SKIPPED: the loader of docs/export.md: this machine has no python3");
    return;
  }
  const folder = temporaryFolder();
  const expected = writeWeights(folder);
  Deno.writeTextFileSync(join(folder, "torch.py"), STAND_IN);
  const found = await python(
    folder,
    `${loader}
tensors, metadata = load("weights.safetensors")
print(json.dumps([{k: [t.shape, t.values] for k, t in tensors.items()}, metadata]))
`,
  ) as [Record<string, [number[], number[]]>, Record<string, string>];
  assertEquals(found[1]["heads"], String(CASE.shape.heads));
  assertEquals(Object.keys(found[0]).sort(), [...expected.keys()].sort());
  for (const [name, { shape, values }] of expected) {
    assertEquals(found[0][name], [shape, [...values]], name);
  }
});

Deno.test("in PyTorch the code of docs/export.md gives the reference's logits", async () => {
  const interpreters = ["python3", "/usr/bin/python3"];
  let torch: string | undefined;
  for (const name of interpreters) {
    if (!torch && await succeeds(name, ["-c", "import torch"])) torch = name;
  }
  if (!torch) {
    console.warn("SKIPPED: docs/export.md in PyTorch: this machine has no python3-torch");
    return;
  }
  const folder = temporaryFolder();
  writeWeights(folder);
  const logits = await python(
    folder,
    `${loader}${classifier}
with torch.no_grad():
    documents = json.loads(${JSON.stringify(JSON.stringify(CASE.documents))})
    print(json.dumps([classify(ids, *load("weights.safetensors")).tolist() for ids in documents]))
`,
    torch,
  ) as number[][];
  // float32 against the reference's float64.
  const worst = worstRelative(logits.flat(), CASE.logits);
  assert(worst < 1e-5, `the worst relative difference is ${worst}`);
});
