/**
 * What an execution can be given another of than a usual run has: how each circumstance is varied, and
 * what for.
 *
 * @module
 */
import { join } from "node:path";
import type { LocalCircumstances } from "../run/executor/local.ts";
import { type Circumstance, CIRCUMSTANCES } from "../store/certificate.ts";

/** How an execution is set up. */
export interface Setup {
  /** What is not as usual, in words. */
  readonly varied: Readonly<Partial<Record<Circumstance, string>>>;
  /** For the processes of stages. */
  readonly process: Required<Omit<LocalCircumstances, "uncaged">>;
  /** Below the folder that executions are made in: where this one is. */
  readonly folder: string;
  /** How many executions go on at once. */
  readonly copies: number;
  /** How many processes keep the processors busy beside it. */
  readonly busy: number;
}

/** A circumstance as the `turn`-th execution has it. */
interface Variation {
  readonly words: string;
  readonly variables?: Readonly<Record<string, string>>;
  readonly flags?: readonly string[];
  readonly folder?: string;
  readonly copies?: number;
  readonly busy?: number;
}

/** What variations are made with. */
export interface Means {
  /** A folder of the certification's own. */
  readonly home: string;
  readonly jobs: number;
}

const TIME_ZONES = ["Pacific/Kiritimati", "America/St_Johns", "Asia/Kathmandu"] as const;
const LOCALES = ["tr_TR.UTF-8", "ar_EG.UTF-8", "de_DE.UTF-8"] as const;
const FOLDERS = [
  "a longer path/with spaces/und Umlauten äöü/執行",
  "x",
  "deep/deep/deep/deep/deep/deep/deep/deep/deep/deep",
] as const;
/** V8 gives a process of this machine some GB; collection is frequent where the young have 1 MB. */
const TIGHT_HEAP = "--v8-flags=--max-old-space-size=1536,--max-semi-space-size=1";

/** The module that sets a process's clock: see there for how far. */
const SHIFTED_CLOCK = import.meta.resolve("./shifted_clock.ts");

const VARIATIONS: Readonly<Record<Circumstance, (turn: number, means: Means) => Variation>> = {
  folder: (turn) => ({ words: "another place and name", folder: pick(FOLDERS, turn) }),
  HOME: (turn, { home }) => ({
    words: "an empty folder",
    variables: { HOME: join(home, `home ${turn}`) },
  }),
  "time zone": (turn) => ({
    words: pick(TIME_ZONES, turn),
    variables: { TZ: pick(TIME_ZONES, turn) },
  }),
  locale(turn) {
    const locale = pick(LOCALES, turn);
    return { words: locale, variables: { LC_ALL: locale, LANG: locale, LANGUAGE: locale } };
  },
  clock: () => ({
    words: "400 days and some hours ahead",
    flags: [`--preload=${SHIFTED_CLOCK}`],
  }),
  jobs: (_, { jobs }) => ({ words: `${jobs} at once`, copies: jobs }),
  memory: () => ({ words: "a heap of 1.5 GB, collected often", flags: [TIGHT_HEAP] }),
  "CPU load"() {
    const busy = navigator.hardwareConcurrency;
    return { words: `${busy} processes that compute beside it`, busy };
  },
};

function pick<T>(values: readonly T[], turn: number): T {
  return values[turn % values.length]!;
}

/** The setup in which some circumstances are varied and all others as in a usual run. */
export function setupOf(
  names: readonly Circumstance[],
  { turn, means }: { readonly turn: number; readonly means: Means },
): Setup {
  const variations = CIRCUMSTANCES.filter((name) => names.includes(name))
    .map((name) => [name, VARIATIONS[name](turn, means)] as const);
  const all = variations.map(([, variation]) => variation);
  return {
    varied: Object.fromEntries(variations.map(([name, { words }]) => [name, words])),
    process: {
      variables: Object.assign({}, ...all.map(({ variables }) => variables)),
      flags: all.flatMap(({ flags = [] }) => flags),
    },
    folder: all.find(({ folder }) => folder !== undefined)?.folder ?? "0",
    copies: Math.max(1, ...all.map(({ copies }) => copies ?? 1)),
    busy: Math.max(0, ...all.map(({ busy }) => busy ?? 0)),
  };
}
