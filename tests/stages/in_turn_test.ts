import { assertEquals } from "@std/assert";
import { inTurn } from "../../stages/timing/in_turn.ts";

Deno.test("models take turns there and back, rounds to warm up first", async () => {
  const order: string[] = [];
  const reported: number[] = [];
  await inTurn(["a", "b"], {
    params: { warm_up: 1, rounds: 2 },
    progress: ({ done, total }) => reported.push(done / total),
  }, (model, round) => {
    order.push(`${model}${round}`);
    return Promise.resolve();
  });
  assertEquals(order, ["b-1", "a-1", "a0", "b0", "b1", "a1"]);
  assertEquals(reported, [1 / 3, 2 / 3, 1]);
});
