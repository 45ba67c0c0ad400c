import { assert, assertEquals } from "@std/assert";
import { Slots } from "../../pipeline/run/slots.ts";

/** Work that ends on request, in places of which it keeps a record. */
function workplace(places: number) {
  const slots = new Slots(places);
  const working = new Map<string, () => void>();
  const begun: string[] = [];
  return {
    begun,
    /** Who works now, once everything that can begin has begun. */
    async working(): Promise<string[]> {
      await new Promise((resolve) => setTimeout(resolve, 5));
      return [...working.keys()].sort();
    },
    end(name: string): void {
      const done = working.get(name)!;
      working.delete(name);
      done();
    },
    async claim(name: string, options: { alone?: boolean; urgency?: number } = {}): Promise<void> {
      const { alone = false, urgency = 0 } = options;
      await slots.use({ alone, urgency }, () => {
        begun.push(name);
        return new Promise<void>((done) => working.set(name, done));
      });
    },
  };
}

Deno.test("of those who wait the most urgent goes first, then who came first", async () => {
  const place = workplace(1);
  place.claim("first");
  place.claim("later");
  place.claim("urgent", { urgency: 2 });
  place.claim("last");
  for (const name of ["first", "urgent", "later", "last"]) {
    assertEquals(await place.working(), [name]);
    place.end(name);
  }
});

Deno.test("who must be alone waits for all others, and all others wait for them", async () => {
  const place = workplace(3);
  place.claim("a");
  place.claim("timed", { alone: true, urgency: 9 });
  place.claim("b");
  assertEquals(await place.working(), ["a", "b"]);
  place.end("a");
  assertEquals(await place.working(), ["b"]);
  place.end("b");
  assertEquals(await place.working(), ["timed"]);
  place.claim("c");
  place.claim("d");
  place.claim("timed too", { alone: true });
  assertEquals(await place.working(), ["timed"]);
  place.end("timed");
  assertEquals(await place.working(), ["c", "d"]);
  place.end("c");
  place.end("d");
  assertEquals(await place.working(), ["timed too"]);
});

Deno.test("what an end makes ready goes before those who must be alone", async () => {
  const place = workplace(2);
  place.claim("timed", { alone: true });
  // One thing after the other, as instances that feed each other.
  const chain = (async () => {
    for (const name of ["first", "second", "third"]) await place.claim(name);
  })();
  for (const name of ["first", "second", "third"]) {
    assertEquals(await place.working(), [name]);
    place.end(name);
  }
  await chain;
  assertEquals(await place.working(), ["timed"]);
  assertEquals(place.begun, ["first", "second", "third", "timed"]);
});

Deno.test("work that fails frees its place, alone or not", async () => {
  const slots = new Slots(1);
  const order: number[] = [];
  const outcomes = await Promise.allSettled(
    [true, false, true, false].map((alone, i) =>
      slots.use({ alone, urgency: 0 }, () => {
        order.push(i);
        return i < 2 ? Promise.reject(new Error("broken")) : Promise.resolve();
      })
    ),
  );
  assertEquals(outcomes.map((each) => each.status), [
    "rejected",
    "rejected",
    "fulfilled",
    "fulfilled",
  ]);
  assertEquals(order, [1, 3, 0, 2]);
});

Deno.test("no order of claims and ends lets anyone work beside one who must be alone, or none at all", async () => {
  // A congruential generator: the same orders every time.
  let state = 7;
  const draw = (below: number) => (state = (state * 1103515245 + 12345) % 2 ** 31) % below;
  for (let round = 0; round < 20; round++) {
    const slots = new Slots(1 + draw(3));
    let working = 0, closed = false, finished = 0;
    await Promise.all(Array.from({ length: 30 }, async () => {
      const alone = draw(3) === 0, pause = draw(3), length = draw(3);
      if (pause > 0) await new Promise((resolve) => setTimeout(resolve, pause));
      await slots.use({ alone, urgency: draw(5) }, async () => {
        assert(!closed && (!alone || working === 0));
        working++;
        closed = alone;
        if (length > 0) await new Promise((resolve) => setTimeout(resolve, length));
        working--;
        closed = false;
        finished++;
      });
    }));
    assertEquals(finished, 30);
  }
});
