import { assert, assertEquals, assertThrows } from "@std/assert";
import { StageError } from "../../pipeline/errors.ts";
import { Channel } from "../../pipeline/run/executor/channel.ts";
import { markOf, type Message } from "../../pipeline/run/executor/protocol.ts";

const TOKEN = "0123456789abcdef";
const MARK = markOf(TOKEN);

function opened() {
  const messages: Message[] = [];
  let log = "";
  const channel = new Channel(TOKEN, {
    message: (message) => messages.push(message),
    log: (text) => log += text,
  });
  return { channel, messages, log: () => log };
}

/** What comes of some text, handed over in pieces of a size. */
function take(text: string, size: number) {
  const { channel, messages, log } = opened();
  const bytes = new TextEncoder().encode(text);
  for (let at = 0; at < bytes.length; at += size) channel.take(bytes.slice(at, at + size));
  channel.end();
  return { messages, log: log() };
}

Deno.test("messages and what is printed come apart, wherever the pieces are cut", () => {
  const done: Message = { type: "done" };
  const metric: Message = { type: "metric", name: "größe", value: 1.5 };
  const line = (message: Message) => `${MARK}${JSON.stringify(message)}\n`;
  const text = `one\n\x01two 🙂${line(metric)}${MARK.slice(0, 9)} three\n${line(done)}four${
    MARK.slice(0, -1)
  }`;
  for (const size of [1, 2, 3, 7, 16, 64, 1000]) {
    const { messages, log } = take(text, size);
    assertEquals(messages, [metric, done], `pieces of ${size} bytes`);
    assertEquals(log, `one\n\x01two 🙂${MARK.slice(0, 9)} three\nfour${MARK.slice(0, -1)}`);
  }
});

Deno.test("what a stage prints is no message, whatever it looks like", () => {
  const lines = [
    '{"type":"done"}',
    "null",
    "7",
    "[]",
    '"text"',
    '{"type":',
    `${markOf("fedcba9876543210")}{"type":"done"}`,
    `\x01{"type":"done"}`,
    "",
  ].join("\n");
  const { messages, log } = take(lines, 11);
  assertEquals(messages, []);
  assertEquals(log, lines);
});

Deno.test("a message of the wrong form is refused, not believed", () => {
  const wrong: [unknown, string][] = [
    [null, "no message has the type undefined"],
    [7, "no message has the type undefined"],
    [[], "no message has the type undefined"],
    [{ type: "finished" }, 'no message has the type "finished"'],
    [{ type: "metric", name: "", value: 1 }, "its name must be"],
    [{ type: "metric", name: "a\nb", value: 1 }, "its name must be"],
    [{ type: "metric", name: 7, value: 1 }, "its name must be"],
    [{ type: "metric", name: "a", value: "1" }, "its value must be a finite number"],
    [{ type: "metric", name: "a", value: null }, "its value must be a finite number"],
    [{ type: "progress", done: "1", total: 2, unit: "steps" }, "done and total must be"],
    [{ type: "progress", done: 1, total: null, unit: "steps" }, "done and total must be"],
    [{ type: "progress", done: 1, total: 2 }, "unit must be a text"],
    [{ type: "progress", done: 1, total: 2, unit: "s", values: [{}] }, "values must be numbers"],
    [{ type: "progress", done: 1, total: 2, unit: "s", values: 7 }, "values must be numbers"],
    [{ type: "progress", done: 1, total: 2, unit: "s", values: { a: "b" } }, "values must be"],
    [{ type: "failed", kind: 1, message: "a" }, "a failure must have a kind and a message"],
    [{ type: "failed", kind: "bug" }, "a failure must have a kind and a message"],
    [{ type: "ready" }, "a process must say its contract"],
    [{ type: "ready", contract: "1", deno: "2", adapter: 1 }, "a process must say its contract"],
  ];
  for (const [value, problem] of wrong) {
    const text = JSON.stringify(value);
    const error = assertThrows(() => take(`${MARK}${text}\n`, 5), StageError);
    assert(error.message.includes(problem), `${JSON.stringify(value)}: ${error.message}`);
  }
  assertThrows(() => take(`${MARK}{"type":\n`, 5), StageError, "a message must be JSON");
});

Deno.test("a figure that is not finite is one, as JSON has no NaN", () => {
  const progress = { type: "progress", done: 1, total: 2, unit: "steps", values: { loss: NaN } };
  assertEquals(take(`${MARK}${JSON.stringify(progress)}\n`, 50).messages, [progress as Message]);
});

Deno.test("200 MB without an end of line take bounded time and memory, printed or as a message", () => {
  const piece = new Uint8Array(1 << 16).fill(120);
  for (const byte of [120, 1, 10]) {
    piece.fill(byte);
    let longest = 0, characters = 0;
    const channel = new Channel(TOKEN, {
      message: () => {},
      log(text) {
        longest = Math.max(longest, text.length);
        characters += text.length;
      },
    });
    const begun = performance.now();
    for (let n = 0; n < 3200; n++) channel.take(piece);
    channel.end();
    const seconds = (performance.now() - begun) / 1000;
    assertEquals(characters, 3200 << 16);
    assert(longest <= 2 << 16, `a piece of ${longest} characters was held back`);
    assert(seconds < 60, `byte ${byte} took ${seconds} s`);
  }
  const { channel } = opened();
  channel.take(new TextEncoder().encode(MARK));
  piece.fill(120);
  assertThrows(
    () => {
      for (let n = 0; n < 3200; n++) channel.take(piece);
    },
    StageError,
    "at most 1048576 bytes",
  );
});
