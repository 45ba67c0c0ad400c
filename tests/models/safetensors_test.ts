import { assert, assertEquals, assertThrows } from "@std/assert";
import { integers, streamKey } from "../../models/random.ts";
import { decodeTensors, encodeTensors } from "../../models/safetensors.ts";

const file = {
  metadata: { model: "classifier" },
  tensors: new Map([
    ["a", { shape: [2, 2], values: Float32Array.of(1, -2, 0.5, 1e-30) }],
    ["b", { shape: [], values: Float32Array.of(7) }],
  ]),
};
const good = encodeTensors(file);

/** A file with this header and eight bytes of arrays. */
function withHeader(header: string): Uint8Array {
  const text = new TextEncoder().encode(header);
  const bytes = new Uint8Array(8 + text.length + 8);
  new DataView(bytes.buffer).setBigUint64(0, BigInt(text.length), true);
  bytes.set(text, 8);
  return bytes;
}

Deno.test("tensors are read as they were written", () => {
  const { metadata, tensors } = decodeTensors(good);
  assertEquals(metadata, file.metadata);
  assertEquals([...tensors], [...file.tensors]);
});

Deno.test("a header that is no table of float32 arrays in the file is refused, never misread", () => {
  const tensor = '{"dtype":"F32","shape":[2],"data_offsets":[0,8]}';
  assertEquals(decodeTensors(withHeader(`{"x":${tensor}}`)).tensors.get("x")!.shape, [2]);
  for (
    const header of [
      "",
      "{",
      "null",
      "3",
      "[]",
      '"x"',
      '{"x":null}',
      '{"x":3}',
      '{"x":{}}',
      '{"__metadata__":null}',
      '{"__metadata__":{"a":1}}',
      '{"__metadata__":[]}',
      ...[
        '"dtype":"F16"',
        '"shape":null',
        '"shape":[null]',
        '"shape":["2"]',
        '"shape":[[2]]',
        '"shape":[-2]',
        '"shape":[-1,-2]',
        '"shape":[0.5,4]',
        '"shape":[3]',
        '"shape":[1e300,1e300]',
        '"data_offsets":null',
        '"data_offsets":[]',
        '"data_offsets":[0]',
        '"data_offsets":["0","8"]',
        '"data_offsets":[-8,0]',
        '"data_offsets":[0.5,8.5]',
        '"data_offsets":[8,16]',
        '"data_offsets":[0,8,8]',
      ].map((field) => `{"x":${tensor.slice(0, -1)},${field}}}`),
    ]
  ) {
    const error = assertThrows(() => decodeTensors(withHeader(header)), SyntaxError);
    assert(error.message.startsWith("Cannot read tensors: "), `${header}: ${error.message}`);
  }
});

Deno.test("2,000 damaged files of tensors are read or refused", () => {
  let refused = 0;
  for (let trial = 0; trial < 2000; trial++) {
    const drawn = integers(streamKey(trial, "safetensors"), 8, 2 ** 24);
    let bytes = good.slice();
    for (let edit = 0; edit <= drawn[0]! % 3; edit++) {
      // Most edits in the header, which is a third of the file.
      const at = drawn[1 + edit]! % (drawn[7]! % 4 > 0 ? 150 : bytes.length);
      if (drawn[4 + edit]! % 5 === 0) bytes = bytes.slice(0, at + 8);
      else bytes[at % bytes.length]! ^= 1 << (drawn[4 + edit]! % 8);
    }
    try {
      decodeTensors(bytes);
    } catch (error) {
      assert(error instanceof SyntaxError, `trial ${trial}: ${(error as Error).stack}`);
      refused++;
    }
  }
  assert(refused > 1000, `${refused} were refused`);
});
