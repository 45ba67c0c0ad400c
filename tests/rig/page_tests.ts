/**
 * What `Deno.test` is in a page: test files that are loaded after this one define their tests with
 * it, and `lockstepTests` runs them one after the other.
 *
 * @module
 */

/** How one test ended. */
export interface PageResult {
  readonly name: string;
  readonly ms: number;
  readonly failure?: string;
}

interface PageTest {
  readonly name: string;
  readonly fn: () => Promise<void> | void;
}

const tests: PageTest[] = [];

async function run({ name, fn }: PageTest): Promise<PageResult> {
  const begun = performance.now();
  const after = () => ({ name, ms: performance.now() - begun });
  try {
    await fn();
    return after();
  } catch (error) {
    return { ...after(), failure: error instanceof Error ? error.stack ?? error.message : "?" };
  }
}

Object.assign(globalThis, {
  Deno: {
    test: (test: PageTest | string, fn?: PageTest["fn"]) =>
      void tests.push(typeof test === "string" ? { name: test, fn: fn! } : test),
    // What is missing here is never skipped.
    env: { get: (name: string) => name.startsWith("LOCKSTEP_REQUIRE") ? "1" : undefined },
  },
  /** Runs the tests whose names are wanted. */
  lockstepTests: async (wanted: (name: string) => boolean): Promise<PageResult[]> => {
    const results: PageResult[] = [];
    for (const test of tests) if (wanted(test.name)) results.push(await run(test));
    return results;
  },
});
