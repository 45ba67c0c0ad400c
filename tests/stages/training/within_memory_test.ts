import { assertEquals, assertRejects } from "@std/assert";
import { MemoryError } from "../../../models/memory_error.ts";
import { StageError } from "../../../pipeline/errors.ts";
import { withinMemory } from "../../../stages/training/within_memory.ts";

const params = { chunk_tokens: 9000 };
const failing = (error: Error) =>
  withinMemory<{ params: typeof params }>(
    () => Promise.reject(error),
    "a single document is too long, tokenize's max_length",
  )({ params });

Deno.test("what does not fit into memory names the params to lower", async () => {
  const error = await assertRejects(() => failing(new MemoryError("Cannot allocate")), StageError);
  assertEquals(
    error.message,
    "Cannot allocate; lower chunk_tokens, found 9000, or, if a single document is too long, " +
      "tokenize's max_length",
  );
});

Deno.test("other errors are left as they are", async () => {
  const bug = new RangeError("offset is out of bounds");
  assertEquals(await assertRejects(() => failing(bug)), bug);
});
