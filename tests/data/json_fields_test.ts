import { assert, assertEquals } from "@std/assert";
import { PackedBytes } from "../../data/growing.ts";
import { plainJsonFields } from "../../data/json_fields.ts";
import { bytesOf, textOf } from "../../data/text_bytes.ts";
import { Counter } from "../../models/random.ts";

const packed = new PackedBytes();

function fields(line: string, ...wanted: string[]) {
  packed.clear();
  return plainJsonFields(bytesOf(line), wanted.map(bytesOf), packed)
    ?.map((value) => typeof value === "number" ? value : textOf(value));
}

Deno.test("fields come in the order asked for, the last of one name, their escapes resolved", () => {
  const line =
    ' {"label" : -12 , "a":"x","é": "\\"\\\\\\/\\b\\f\\n\\r\\t\\u00e9\\uD83D\\uDE00" ,"a":"y"}\r';
  assertEquals(fields(line, "é", "label", "a"), ['"\\/\b\f\n\r\té😀', -12, "y"]);
  assertEquals(fields('{"a":"\\ud83d\\u0041\\ude00"}', "a"), ["\ud83dA\ude00"]);
});

Deno.test("what is not plain is left to JSON.parse: nesting, missing fields, other numbers, errors", () => {
  const lines = [
    "[1]",
    "{}",
    '{"b":1}',
    '{"a":1.5}',
    '{"a":1e3}',
    '{"a":01}',
    '{"a":1234567890123456}',
  ];
  lines.push(
    '{"a":null}',
    '{"a":["b"]}',
    '{"a":{}}',
    '{"a":1}x',
    '{"a":1,}',
    '{"a":"\\x"}',
    '{"a":"\\u12g4"}',
  );
  lines.push(
    '{"a":"b',
    '{"a":"b\\',
    '{"a":"\u0001"}',
    '{"a" "b"}',
    '{"\\u0061":1}',
    "",
    "{",
    '{"a"',
    '{"a":',
  );
  for (const line of lines) assertEquals(fields(line, "a"), undefined, line);
});

Deno.test("lines that are read the short way have the values that JSON.parse gives them", () => {
  const draw = new Counter(4, "json");
  const pieces = [
    '"',
    '"',
    '"a"',
    '"a":',
    '"b":',
    '"x"',
    '"',
    "\\",
    "\\n",
    "\\u00e9",
    "\\ud83d",
    "\\uDE00",
  ];
  pieces.push(
    ",",
    ":",
    "{",
    "}",
    " ",
    "\t",
    "0",
    "1",
    "-",
    "7",
    "é",
    "😀",
    "null",
    "[",
    "]",
    '{"a":"',
    '"}',
  );
  let plain = 0;
  for (let i = 0; i < 200_000; i++) {
    const middle = Array.from(
      { length: 1 + draw.below(9) },
      () => pieces[draw.below(pieces.length)]!,
    );
    const line = i % 2 === 0 ? `{"a":"${middle.join("")}"}` : `{"a":${middle.join("")}}`;
    const found = fields(line, "a");
    if (found === undefined) continue;
    plain += 1;
    assertEquals(found, [JSON.parse(line).a], line);
  }
  assert(plain > 10_000, `only ${plain} of the lines`);
});
