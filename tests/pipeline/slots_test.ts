import { assert, assertEquals, assertRejects } from "@std/assert";
import type { Amounts } from "../../pipeline/run/share.ts";
import { type Claim, Slots } from "../../pipeline/run/slots.ts";

const NOTHING: Amounts = { gpus: 0, memoryBytes: 0, cpus: 0 };

function placesOnly(places: number): Slots {
  return new Slots({ gpus: 0, memoryBytes: 0, cpus: Infinity, places });
}

/** A congruential generator: the same numbers every time. */
function drawing(seed: number): (below: number) => number {
  let state = seed;
  return (below) => (state = (state * 1103515245 + 12345) % 2 ** 31) % below;
}

/** Work that ends on request, in places of which it keeps a record. */
function workplace(places: number) {
  const slots = placesOnly(places);
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
      await slots.use({ alone, urgency, needs: NOTHING }, () => {
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
  const slots = placesOnly(1);
  const order: number[] = [];
  const outcomes = await Promise.allSettled(
    [true, false, true, false].map((alone, i) =>
      slots.use({ alone, urgency: 0, needs: NOTHING }, () => {
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
  const draw = drawing(7);
  for (let round = 0; round < 20; round++) {
    const slots = placesOnly(1 + draw(3));
    let working = 0, closed = false, finished = 0;
    await Promise.all(Array.from({ length: 30 }, async () => {
      const alone = draw(3) === 0, pause = draw(3), length = draw(3);
      if (pause > 0) await new Promise((resolve) => setTimeout(resolve, pause));
      await slots.use({ alone, urgency: draw(5), needs: NOTHING }, async () => {
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

/** Someone who shares a machine's amounts, who ends on request. */
interface Sharer {
  readonly needs: Amounts;
  readonly number: number;
  readonly adapters: readonly number[];
  readonly end: () => void;
}

const LIMITS = { gpus: 3, memoryBytes: 10, cpus: 8, places: 6 };
const AMOUNTS = ["gpus", "memoryBytes", "cpus"] as const;

/** Shares a machine at random, and requires that nobody ever has more than there is. */
function sharing(seed: number) {
  const draw = drawing(seed);
  const slots = new Slots(LIMITS);
  const working = new Map<number, Sharer>();
  const begun: number[] = [];
  let count = 0, ended = 0;
  const claim = ({ alone = false, needs }: Pick<Claim, "needs"> & { alone?: boolean }): void => {
    const number = count++;
    slots.use({ alone, urgency: 0, needs }, (adapters) => {
      assert(!alone || working.size === 0, "who must be alone is not");
      begun.push(number);
      return new Promise<void>((end) => {
        working.set(number, { needs, number, adapters, end });
        const all = [...working.values()];
        assert(all.length <= LIMITS.places);
        for (const each of AMOUNTS) {
          const taken = all.reduce((sum, { needs }) => sum + needs[each], 0);
          assert(taken <= LIMITS[each], `${taken} ${each} of ${LIMITS[each]} are taken`);
        }
        assertEquals(adapters.length, needs.gpus);
        const adaptersInUse = all.flatMap(({ adapters }) => adapters);
        assertEquals(new Set(adaptersInUse).size, adaptersInUse.length, "an adapter has two users");
        assert(adaptersInUse.every((adapter) => adapter < LIMITS.gpus));
      });
    }).then(() => ended++);
  };
  return {
    begun,
    draw,
    claim,
    working,
    get ended() {
      return ended;
    },
    /** Ends one of those who work, once all who can begin have begun. */
    async endOne(): Promise<void> {
      await new Promise((resolve) => setTimeout(resolve, 0));
      const all = [...working.values()];
      assert(all.length > 0, "nobody works, and somebody waits");
      const one = all[draw(all.length)]!;
      working.delete(one.number);
      one.end();
    },
  };
}

Deno.test("whatever instances need, none takes more than there is, none shares an adapter, and all end", async () => {
  for (let seed = 1; seed <= 12; seed++) {
    const place = sharing(seed);
    const count = 60;
    for (let i = 0; i < count; i++) {
      const needs = {
        gpus: Math.max(0, place.draw(6) - 2),
        memoryBytes: place.draw(3) * place.draw(6),
        cpus: 1 + (place.draw(4) === 0 ? place.draw(8) : 0),
      };
      place.claim({ alone: place.draw(8) === 0, needs });
    }
    for (let i = 0; i < count; i++) await place.endOne();
    await new Promise((resolve) => setTimeout(resolve, 0));
    assertEquals(place.ended, count);
  }
});

Deno.test("who needs much is not overtaken for ever by those who need little", async () => {
  const smalls = [{}, { gpus: 1 }, { memoryBytes: 4 }, { gpus: 1, memoryBytes: 3 }];
  for (let seed = 1; seed <= 5; seed++) {
    const place = sharing(seed);
    const small = () => place.claim({ needs: { ...NOTHING, cpus: 1, ...smalls[place.draw(4)] } });
    for (let i = 0; i < 12; i++) small();
    place.claim({ needs: { gpus: 3, memoryBytes: 9, cpus: 7 } });
    let ends = 0;
    for (; !place.begun.includes(12) && ends < 100; ends++) {
      small();
      await place.endOne();
    }
    assert(place.begun.includes(12), `100 others began, and who needs much did not`);
  }
});

Deno.test("who waits for an adapter keeps no processor idle", async () => {
  const slots = new Slots({ gpus: 1, memoryBytes: 0, cpus: 2, places: 2 });
  const begun: string[] = [], ends = new Map<string, () => void>();
  const claim = (name: string, gpus: number, cpus: number) =>
    slots.use(
      { urgency: 9 - begun.length, alone: false, needs: { gpus, memoryBytes: 0, cpus } },
      () => {
        begun.push(name);
        return new Promise<void>((end) => ends.set(name, end));
      },
    );
  const settled = () => new Promise((resolve) => setTimeout(resolve, 0));
  const all = [claim("training", 1, 1), claim("next training", 1, 1), claim("words", 0, 1)];
  await settled();
  assertEquals(begun, ["training", "words"]);
  ends.get("words")!();
  all.push(claim("more words", 0, 1), claim("both processors", 0, 2), claim("last words", 0, 1));
  await settled();
  assertEquals(begun, ["training", "words", "more words"]);
  ends.get("training")!();
  await settled();
  assertEquals(begun.at(-1), "next training");
  for (const name of ["more words", "next training", "both processors", "last words"]) {
    ends.get(name)!();
    await settled();
  }
  await Promise.all(all);
  assertEquals(begun.slice(-2), ["both processors", "last words"]);
});

Deno.test("who gives up waiting waits no more, and what was kept for them is for others", async () => {
  const slots = new Slots({ gpus: 0, memoryBytes: 8, cpus: 4, places: 4 });
  const giving = new AbortController(), begun: string[] = [];
  const claim = (name: string, memoryBytes: number, signal?: AbortSignal) =>
    slots.use(
      {
        ...{ urgency: 0, alone: false, needs: { gpus: 0, memoryBytes, cpus: 1 } },
        ...(signal ? { signal } : {}),
      },
      () => {
        begun.push(name);
        return Promise.resolve();
      },
    );
  const { promise: ended, resolve: end } = Promise.withResolvers<void>();
  const needs = { gpus: 0, memoryBytes: 4, cpus: 1 };
  const first = slots.use({ urgency: 0, alone: false, needs }, () => ended);
  // Nobody ever has as much.
  const endless = assertRejects(() => claim("endless", 9, giving.signal), Error, "given up");
  const next = claim("next", 1);
  await new Promise((resolve) => setTimeout(resolve, 0));
  assertEquals(begun, []);
  giving.abort(new Error("given up"));
  await Promise.all([endless, next]);
  assertEquals(begun, ["next"]);
  await assertRejects(() => claim("late", 1, giving.signal), Error, "given up");
  end();
  await first;
});
