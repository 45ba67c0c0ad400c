import { assert, assertEquals } from "@std/assert";
import { collect } from "../../pipeline/gc/collect.ts";
import { readTraces } from "../../pipeline/gc/reached.ts";
import { readRoots } from "../../pipeline/gc/roots.ts";
import type { Sha256 } from "../../pipeline/key/hash.ts";
import { readLatest } from "../../pipeline/store/latest.ts";
import { LocalStore } from "../../pipeline/store/local_store.ts";
import { CacheServer } from "../rig/cache_server.ts";
import { actAfter, signalling, spread, times } from "../rig/disturbed.ts";
import { type Ended, type TestProject, toyProject } from "../rig/project.ts";
import { pageOf, unsound } from "../rig/toy_store.ts";

/** Kills in all. */
const KILLS = times("LOCKSTEP_KILLS", 16);

/** A store that lives through all kills, and what is known of it. */
class Series implements Disposable {
  readonly project: TestProject = toyProject();
  readonly server: CacheServer;
  readonly moments = spread();
  /** How much each command did when it was last left alone. */
  readonly #deeds = new Map<string, number>();
  /** What the experiment says, and the latest run had. */
  ownRate = 1;
  rate = 1;
  #nextRate = 10;

  constructor(server: CacheServer) {
    this.server = server;
  }

  /** A rate that no run had. */
  newRate(): number {
    return this.#nextRate++;
  }

  /** `--set` for a rate, unless it is the experiment's. */
  setting(rate: number): string[] {
    return rate === this.ownRate ? [] : ["--set", `steps.rate=${rate}`];
  }

  async run(args: readonly string[]): Promise<Ended> {
    const ended = await this.project.run(args);
    assertEquals(ended.code, 0, `${args.join(" ")}\n${ended.stdout}${ended.stderr}`);
    return ended;
  }

  /** Kills a command, but for its first time; says whether it did, or the command ended before. */
  async kill(name: string, args: readonly string[]): Promise<boolean> {
    const all = this.#deeds.get(name);
    const deeds = all === undefined ? Infinity : Math.ceil(this.moments.next().value * all);
    const { project, server } = this;
    const ended = await actAfter(deeds, signalling("SIGKILL"), { args, project, server });
    if (ended.signal === "SIGKILL") return true;
    assertEquals(ended.code, 0, ended.stdout + ended.stderr);
    this.#deeds.set(name, ended.deeds);
    return false;
  }

  /** The keys that are kept by whatever keeps any, but for older runs. */
  keptKeys(): Set<Sha256> {
    const { root } = this.project;
    const workspace = { root: this.project.path("outputs/store") };
    const traces = readTraces(workspace);
    const { runs, tags, locks, published } = readRoots({ root, workspace, latest: 1, traces });
    return new Set([...[runs, tags, locks].flatMap((by) => [...by.values()].flat()), ...published]);
  }

  /** The keys that have a trace. */
  async traces(): Promise<Set<Sha256>> {
    const store = this.open();
    try {
      return new Set(await store.traceKeys());
    } finally {
      store.close();
    }
  }

  open(): LocalStore {
    return new LocalStore(this.project.path("outputs/store"), { reading: true });
  }

  [Symbol.dispose](): void {
    this.project[Symbol.dispose]();
  }
}

/** What is killed, each with what gives it something to do; the last value says what holds afterwards. */
interface Victim {
  readonly args: (series: Series) => readonly string[] | Promise<readonly string[]>;
  /** After the kill, and once it was run again. */
  readonly after?: (series: Series) => Promise<void>;
  /** Whether the store is damaged while it works. */
  readonly mends?: boolean;
}

const BUNDLE = "toy.audit.tar";

const VICTIMS: Readonly<Record<string, Victim>> = {
  reproduce: {
    args: (
      series,
    ) => ["reproduce", "--jobs", "2", ...series.setting(series.rate = series.newRate())],
  },
  // It writes another lock.
  "reproduce, edited": {
    args(series) {
      series.rate = editRate(series.project, series.ownRate);
      series.ownRate = series.rate;
      return ["reproduce", "--force", "steps"];
    },
  },
  "gc --delete": { args: () => ["gc", "--delete", "--latest", "1"] },
  "audit --repair": {
    mends: true,
    args(series) {
      const latest = series.open();
      try {
        const keys = Object.values(readLatest("toy.smoke", latest)!.keys);
        const key = keys[Math.floor(series.moments.next().value * keys.length)]!;
        for (const path of [latest.tracePath(key), series.project.path(PAGE)]) {
          Deno.writeTextFileSync(path, "damaged");
        }
      } finally {
        latest.close();
      }
      return ["audit", "--repair"];
    },
  },
  bundle: {
    args: ({ project }) => ["bundle", "--overwrite", "--to", project.path(BUNDLE)],
    after: async (series) => void await series.run(["verify", series.project.path(BUNDLE)]),
  },
  certify: { args: (series) => ["certify", "steps/ann/1", ...series.setting(series.rate)] },
  push: { args: ({ server }) => ["push", "--cache", server.url] },
  // Of what is not here any more.
  pull: {
    async args(series) {
      const rate = series.newRate();
      const at = ["--cache", series.server.url, ...series.setting(rate)];
      await series.run(["reproduce", ...at, "--push"]);
      series.rate = series.ownRate;
      await series.run(["reproduce"]);
      const store = series.open();
      try {
        const request = { root: series.project.root, store, latest: 1, include: [] };
        const { removed } = await collect(request);
        assert(removed.length > 0, "what is pulled was removed");
      } finally {
        store.close();
      }
      return ["pull", ...at];
    },
  },
  tag: { args: () => ["tag", "kept", "--overwrite"] },
};

/** Gives the experiment the other one of two rates. */
function editRate(project: TestProject, rate: number): number {
  const [from, to] = rate === 1 ? ["", ", rate: 2"] : [", rate: 2", ""];
  const path = "experiments/toy/experiment.yaml";
  project.edit(path, `seed: $seed${from} }`, `seed: $seed${to} }`);
  return rate === 1 ? 2 : 1;
}

/** The locks that both have where nobody kills anything. */
async function locks(): Promise<ReadonlyMap<number, string>> {
  using project = toyProject();
  const found = new Map<number, string>();
  for (let rate = 1; !found.has(rate); rate = editRate(project, rate)) {
    assertEquals((await project.run(["reproduce"])).code, 0);
    found.set(rate, project.read(LOCK));
  }
  return found;
}

const LOCK = "lock/toy.smoke.lock";
const PAGE = "outputs/toy.smoke/report/page.txt";

Deno.test(`${KILLS} kills on one store lose nothing that was finished, and the next command works`, async () => {
  await using server = new CacheServer();
  using series = new Series(server);
  await series.run(["reproduce"]);
  const undisturbed = await locks();
  const names = Object.keys(VICTIMS);
  const killed = new Map<string, number>(names.map((name) => [name, 0]));
  for (let round = 0, kills = 0; kills < KILLS; round++) {
    assert(round < 4 * KILLS + 4 * names.length, `only ${kills} of ${round} commands were killed`);
    const name = names[round % names.length]!;
    const { args, after, mends = false } = VICTIMS[name]!;
    const kept = series.keptKeys();
    const command = await args(series);
    if (await series.kill(name, command)) {
      kills++;
      killed.set(name, killed.get(name)! + 1);
    }
    const where = `round ${round}, ${command.join(" ")}`;
    if (!mends) assertEquals(await unsound(series.project), [], `${where}, killed`);
    await lives(series, { name, command, kept, where });
    await after?.(series);
    assertEquals(await unsound(series.project), [], where);
    assertEquals(series.project.read(PAGE), pageOf(series.rate), where);
    assertEquals(series.project.read(LOCK), undisturbed.get(series.ownRate), where);
  }
  console.log(`killed: ${[...killed].map(([name, count]) => `${count} ${name}`).join(", ")}`);
});

/** Holds a store to what it had before a command was killed, and runs that again. */
async function lives(
  series: Series,
  { name, command, kept, where }: {
    readonly name: string;
    readonly command: readonly string[];
    readonly kept: ReadonlySet<Sha256>;
    readonly where: string;
  },
): Promise<void> {
  const left = await series.traces();
  if (name !== "audit --repair") {
    assertEquals([...kept].filter((key) => !left.has(key)), [], where);
  }
  // What it had finished is in no record yet.
  if (name === "reproduce") await series.run(["gc", "--delete", "--latest", "1"]);
  const isRun = name.startsWith("reproduce");
  const { events } = await series.run(isRun ? [...command, "--json"] : command);
  if (name !== "reproduce") return;
  const again = events.flatMap((event) =>
    event.event === "executed" && left.has(event.key as Sha256) ? [event.instance] : []
  );
  assertEquals(again, [], `${where}: finished before, and made again`);
}
