import { assert, assertEquals } from "@std/assert";
import { SHOWS } from "../../../analysis/spec/tables.ts";
import { axis, bakery, corpus, metrics, printedValues, tables, texts, tidy } from "./made_up.ts";

const MAIN = {
  main: {
    caption: "Rise",
    rows: ["oven"],
    across: "flavour",
    columns: [{ metric: "rise" }],
    published: "Table 1",
  },
};

/** The texts of one cell shown in each way. */
function cell(show: string, more: object = {}, study = bakery()): string[] {
  const spec = { caption: "x", rows: ["oven", "flavour"], columns: [{ show, ...more }] };
  return texts(tables(study, { one: spec }).get("one")).slice(1).map((row) => row.at(-1)!);
}

Deno.test("a table across an axis has ours above the paper's, of axes that no code knows", () => {
  assertEquals(texts(tables(bakery(), MAIN).get("main")), [
    ["Oven", "Source", "Plain", "Vanilla"],
    ["Gas", "This run: full data, n\u00a0=\u00a03", "60.00 ± 10.00", "65.00 ± 8.66"],
    ["", "Paper, as printed", "61.2 ± 2.5", "64.0 ± 1.5"],
    ["Electric", "This run: full data, n\u00a0=\u00a03", "92.00 ± 2.00", "99.00 ± 1.00"],
    ["", "Paper, as printed", "about 92", "–"],
  ]);
});

Deno.test("a published number is never beside synthetic data", () => {
  const study = bakery({ corpora: [corpus("gas", "synthetic"), corpus("electric", "official")] });
  const shown = {
    ...MAIN,
    columns: {
      caption: "x",
      rows: ["oven", "flavour"],
      columns: [{ metric: "rise" }, { metric: "rise", show: "published" }, {
        metric: "rise",
        show: "published_change",
      }],
    },
  };
  const made = tables(study, shown);
  const main = texts(made.get("main"));
  assertEquals(main[1]!.slice(0, 2), ["Gas", "This run: synthetic data, n\u00a0=\u00a03"]);
  assertEquals(main[2]![0], "Electric");
  const columns = made.get("columns")!;
  assert(
    columns.rows.slice(0, 2).every(({ cells }) => cells.slice(4).every((text) => text === "–")),
  );
  assertEquals(columns.rows[2]!.cells[4], "about 92");
  assert(!JSON.stringify([made.get("main"), columns]).includes("61.2"));
});

Deno.test("each way to show a condition's runs is what its runs say", () => {
  const rise = { metric: "rise" };
  const shown = Object.fromEntries(SHOWS.map((show) => [show, cell(show, rise)]));
  // t(0.975, 2) = 4.30265; the interval of 98, 99, 100 would go to 101.48.
  assertEquals(shown, {
    mean_sd: ["60.00 ± 10.00", "65.00 ± 8.66", "92.00 ± 2.00", "99.00 ± 1.00"],
    mean: ["60.00", "65.00", "92.00", "99.00"],
    sd: ["10.00", "8.66", "2.00", "1.00"],
    interval: ["[35.16, 84.84]", "[43.49, 86.51]", "[87.03, 96.97]", "[96.52, 100.00]"],
    n: ["3", "3", "3", "3"],
    min_max: ["50.00–70.00", "55.00–70.00", "90.00–94.00", "98.00–100.00"],
    change: ["+5.00", "+7.00"],
    change_sd: ["5.00", "1.00"],
    change_interval: ["[−7.42, +17.42]", "[+4.52, +9.48]"],
    wins_losses: ["2/0", "3/0"],
    published: ["61.2 ± 2.5", "64.0 ± 1.5", "about 92"],
    published_change: ["+2.8"],
  });
});

Deno.test("a ratio is the geometric mean of changes within a round, wins are those that are better", () => {
  const time = { metric: "seconds" };
  const spec = (show: string) => ({
    caption: "x",
    table: "rounds",
    rows: ["flavour"],
    columns: [{ ...time, show }],
  });
  const one = (show: string) => tables(bakery(), { one: spec(show) }).get("one")!;
  assertEquals(texts(one("change")).at(-1), ["Vanilla", "full data", "+10.0"]);
  assertEquals(texts(one("wins_losses")).at(-1)!.at(-1), "0/2");
  // Not in the unit of the values, which the metric's title has.
  assertEquals(["change", "change_interval"].map((show) => texts(one(show))[0]!.at(-1)), [
    "Change, %",
    "95 % interval of change, %",
  ]);
  assert(one("change").notes!.some((note) => note.startsWith("Timings are of the machine")));
});

Deno.test("a mean of what is compared by ratios is geometric, as the figures have it", () => {
  const columns = [{ metric: "seconds", show: "mean" }];
  const spec = { caption: "x", table: "rounds", rows: ["flavour"], columns };
  // Medians over rounds of 20 and 40 seconds: √800 is 28.3, their arithmetic mean 30.
  assertEquals(texts(tables(bakery(), { one: spec }).get("one"))[1]!.at(-1), "28.3");
});

Deno.test("two seeds have no interval: it would be as wide as chance has it", () => {
  const rounds = { metric: "seconds", show: "change_interval" };
  const spec = { caption: "x", table: "rounds", rows: ["flavour"], columns: [rounds] };
  const made = tables(bakery(), { one: spec }).get("one")!;
  assertEquals(texts(made).at(-1)!.at(-1), "needs 3 seeds");
  assertEquals(made.data.rows.at(-1)!.slice(-2), [null, null]);
});

Deno.test("one seed has no spread, no interval, and says so", () => {
  const all = bakery();
  const runs = all.tidy["runs"]!;
  const first = Array.from({ length: runs.length }, (_, row) => row)
    .filter((row) => runs.columns["batch"]![row] === "0");
  const rows = first.map((row) =>
    Object.fromEntries(Object.entries(runs.columns).map(([name, values]) => [name, values[row]!]))
  );
  const study = bakery({ tidy: { runs: tidy("runs", runs.axes, rows) } });
  assertEquals(cell("mean_sd", { metric: "rise" }, study)[0], "50.00 (1 seed)");
  assertEquals(cell("interval", { metric: "rise" }, study)[0], "needs 3 seeds");
  assertEquals(cell("change", { metric: "rise" }, study), ["+5.00", "+8.00"]);
  const main = texts(tables(study, MAIN).get("main"));
  assertEquals(main[1]![1], "This run: full data, n\u00a0=\u00a01");
});

Deno.test("an axis that a table does not name splits its rows, so that no cell mixes conditions", () => {
  const spec = { caption: "x", rows: ["oven"], columns: [{ metric: "rise" }] };
  const [head, ...rows] = texts(tables(bakery(), { one: spec }).get("one"));
  assertEquals(head, ["Oven", "Flavour", "Source", "Rise, %"]);
  assertEquals(rows.map((row) => row.at(-1)), [
    ...["60.00 ± 10.00", "65.00 ± 8.66", "92.00 ± 2.00", "99.00 ± 1.00"],
  ]);
});

Deno.test("ranges, counts and words are over all runs of a row", () => {
  const spec = {
    caption: "x",
    rows: ["oven"],
    columns: [
      { show: "n", title: "Runs" },
      { column: "eggs", show: "n", title: "Runs" },
      { column: "eggs", show: "min_max" },
      { column: "recipe" },
    ],
  };
  assertEquals(texts(tables(bakery(), { one: spec }).get("one")).slice(1), [
    ["Gas", "full data", "6", "6", "2–4", "old"],
    ["Electric", "full data", "6", "6", "2–4", "new"],
  ]);
});

Deno.test("an average over an axis is of seeds that have all its values, beside the paper's average", () => {
  const published = bakery().published.concat({
    ...bakery().published[0]!,
    ...{ at: { flavour: "plain" }, value: 76, rounding: 0.5, spread: null, words: "" },
  });
  const spec = {
    caption: "x",
    rows: ["flavour"],
    columns: ["mean", "change", "published"].map((show) => ({
      ...{ metric: "rise", show, over: ["oven"] },
    })),
  };
  const rows = texts(tables(bakery({ published }), { one: spec }).get("one")).slice(1);
  assertEquals(rows, [
    ["Plain", "full data", "76.00", "–", "76"],
    ["Vanilla", "full data", "82.00", "+6.00", "–"],
  ]);
  // Of one oven alone the average is not the paper's.
  const less = { ...spec, where: { oven: "gas" } };
  const [row] = texts(tables(bakery({ published }), { one: less }).get("one")).slice(1);
  assertEquals(row, ["Plain", "full data", "60.00", "–", "–"]);
});

Deno.test("data that falls short of the paper's is labelled, and a note says what it means", () => {
  const study = bakery({ corpora: [corpus("gas", "sample"), corpus("electric", "synthetic")] });
  const main = tables(study, MAIN).get("main")!;
  assertEquals(texts(main).map((row) => row[1]).filter((text) => text?.startsWith("This")), [
    "This run: sample of the data, n\u00a0=\u00a03",
    "This run: synthetic data, n\u00a0=\u00a03",
  ]);
  assertEquals(main.notes?.slice(0, 1), ["Electric is new."]);
  assert(main.notes?.some((note) => note.startsWith("A row of sampled data")));
  assert(main.notes?.some((note) => note.startsWith("Synthetic data has no counterpart")));
});

Deno.test("a cell leads to the runs or pairs behind it, and those to what measured them", () => {
  const spec = {
    caption: "x",
    rows: ["oven", "flavour"],
    columns: [{ metric: "rise" }, {
      metric: "rise",
      show: "change",
    }, { metric: "seconds", where: { oven: "gas" } }],
  };
  const made = tables(bakery(), { one: spec });
  const anchors = new Set([...made.values()].flatMap((table) => [
    table.id,
    ...table.rows.flatMap(({ anchor }) => anchor ?? []),
  ]));
  const links = [...made.values()].flatMap((table) =>
    table.rows.flatMap(({ cells }) => cells).flatMap((each) =>
      typeof each === "string" ? [] : [each]
    )
  );
  assert(links.length > 20);
  for (const { text, to } of links) {
    if (to.startsWith("#")) {
      assert(anchors.has(to.slice(1)), `${to} is on no page`);
      continue;
    }
    const [, table, row, column] = /^row:(.*)\/(\d+)\/(.*)$/.exec(to)!;
    const value = bakery().tidy[table!]!.columns[column!]![Number(row)];
    if (table === "runs" && column === "rise") {
      assertEquals((Number(value) * 100).toFixed(2), text);
    }
  }
  assertEquals(texts(made.get("every_pair")).slice(0, 2), [
    ["Where", "Difference", "Batch", "First, %", "Second, %", "Change, points"],
    ["Gas", "Vanilla − Plain", "0", "55.00", "50.00", "+5.00"],
  ]);
  assertEquals(texts(made.get("every_rounds"))[1], [
    ...["Gas", "Plain", "0", "3", "20.0", "10.0", "30.0"],
  ]);
  assertEquals(texts(made.get("every_run"))[1], ["Gas", "Plain", "0", "50.00"]);
});

Deno.test("a column that a declared table shows of the runs is in the table of every run too", () => {
  const spec = { caption: "x", rows: ["oven"], columns: [{ column: "eggs", title: "Eggs" }] };
  assertEquals(texts(tables(bakery(), { one: spec }).get("every_run")).slice(0, 2), [
    ["Oven", "Flavour", "Batch", "Rise, %", "Eggs"],
    ["Gas", "Plain", "0", "50.00", "2"],
  ]);
});

Deno.test("a list has a tidy table's rows, a group's title once, and what the data are", () => {
  const splits = tidy("splits", ["oven"], [
    { oven: "gas", split: "train", cakes: 12000, share: 0.125 },
    { oven: "gas", split: "test", cakes: 7, share: 0.5 },
  ]);
  const spec = {
    ...{ caption: "x", list: "splits", group: "oven" },
    columns: [
      ...[{ column: "oven" }, { column: "split" }, { column: "cakes" }],
      { column: "share", title: "Burnt", scale: 100, unit: "%", digits: 1 },
    ],
  };
  const list = tables(bakery({ tidy: { splits } }), { one: spec }).get("one");
  assertEquals(texts(list), [
    ["Oven", "Source", "split", "cakes", "Burnt, %"],
    ["Gas", "full data", "train", "12\u202f000", "12.5"],
    ["", "", "test", "7", "50.0"],
  ]);
  assertEquals(list!.rows[0]!.cells[3], { text: "12\u202f000", to: "row:splits/0/cakes" });
});

Deno.test("two columns of one name have two in CSV", () => {
  const twice = ["First", "Second"].map((title) => ({ metric: "rise", show: "mean", title }));
  const spec = { caption: "x", rows: ["oven", "flavour"], columns: twice };
  assertEquals(tables(bakery(), { one: spec }).get("one")!.data.columns, [
    ...["oven", "flavour", "data_kind", "rise_mean", "rise_mean_2"],
  ]);
});

Deno.test("a table without rows is left out", () => {
  const empty = bakery({ tidy: {}, published: [] });
  assertEquals([...tables(empty, MAIN).keys()], []);
  const none = { main: { ...MAIN.main, where: { oven: "steam" } } };
  assertEquals([...tables(bakery(), none).keys()].includes("main"), false);
});

Deno.test("every number in a table's text is one of its data, rounded", () => {
  // A generator of its own, so that the numbers have all their digits.
  let state = 1;
  const random = () => (state = (state * 48271) % 2147483647) / 2147483647;
  const places = ["a", "b"].flatMap((kind) =>
    ["x", "y", "z"].flatMap((size) => ["0", "1", "2", "3"].map((seed) => ({ kind, size, seed })))
  );
  const study = bakery({
    axes: [
      axis("kind", { a: "A", b: "B" }, { baseline: "a" }),
      axis("size", { x: "X", y: "Y", z: "Z" }),
      axis("seed", {}),
    ],
    ...{ seeds: "seed" as never, corpora: [], published: [] },
    metrics: metrics({
      much: { title: "Much", digits: 3 },
      fast: { title: "Fast", change: "ratio", digits: 1 },
    }),
    tidy: {
      runs: tidy(
        "runs",
        ["kind", "size", "seed"],
        places.map((place) => ({ ...place, much: 2000 * random() - 1000, fast: 1 + random() })),
      ),
    },
  });
  const shows = SHOWS.filter((show) => !show.startsWith("published"));
  const spec = {
    caption: "x",
    rows: ["size", "kind"],
    columns: ["much", "fast"].flatMap((metric) => shows.map((show) => ({ metric, show }))),
  };
  const across = { caption: "x", rows: ["size"], across: "kind", columns: [{ metric: "much" }] };
  let checked = 0;
  for (const table of tables(study, { spec, across }).values()) {
    const data = table.data.rows.flat().filter((value) => typeof value === "number");
    for (const cell of table.rows.flatMap(({ cells }) => cells)) {
      for (
        const text of (typeof cell === "string" ? cell : cell.text).match(/[+−]?\d[\d\u202f.]*/g) ??
          []
      ) {
        const plain = text.replace("−", "-").replace("+", "").replaceAll("\u202f", "");
        const digits = plain.split(".")[1]?.length ?? 0;
        const found = data.some((value) =>
          Math.abs(value - Number(plain)) <= 0.5 * 10 ** -digits + 1e-9
        );
        assert(found || /^\d$/.test(plain), `${table.id}: ${text} is in no data`);
        checked++;
      }
    }
  }
  assert(checked > 200);
});

Deno.test("a change under a choice that the baseline does not know is from the baseline as by default, and the paper's number is beside the default alone", () => {
  const gains = { "plain warm": 0, "vanilla warm": 4, "vanilla hot": 7 };
  const runs = Object.entries(gains).flatMap(([place, gain]) =>
    [0, 1, 2].map((batch) => {
      const [flavour, heat] = place.split(" ") as [string, string];
      return { flavour, heat, batch: String(batch), rise: (60 + batch + gain) / 100 };
    })
  );
  const study = bakery({
    axes: [
      axis("flavour", { plain: "Plain", vanilla: "Vanilla" }, { baseline: "plain" }),
      axis("heat", { warm: "Warm", hot: "Hot" }, { baseline: "warm" }),
      axis("batch", { "0": "0", "1": "1", "2": "2" }),
    ],
    tidy: { runs: tidy("runs", ["flavour", "heat", "batch"], runs) },
    corpora: [{ at: {}, kind: "official", title: "Flour", note: "" }],
    published: printedValues(
      "source,page,metric,flavour,value,spread,n,words\n" +
        "Table 1,3,rise,plain,61.2,,,\nTable 1,3,rise,vanilla,64.0,,,\n",
    ),
  });
  const columns = ["n", "change", "published_change"].map((show) => ({ metric: "rise", show }));
  const spec = { main: { caption: "Changes", rows: ["flavour"], columns } };
  const main = (choice?: string) =>
    tables(
      study,
      spec,
      [],
      choice === undefined
        ? choice
        : { axis: choice, readings: [], unread: { all: 0, synthetic: 0 } },
    )
      .get("main");
  const found = (choice?: string) => texts(main(choice)).slice(1);
  const warm = ["Vanilla", "Warm", "full data", "3", "+4.00", "+2.8"];
  assertEquals(found("heat"), [warm, ["", "Hot", "", "3", "+7.00", "–"]]);
  assertEquals(main("heat")!.notes, [
    "What a change is from is taken as by default where it knows no such choice.",
  ]);
  // Any other axis differs in earnest: there is no such baseline.
  assertEquals(found(), [warm, ["", "Hot", "", "3", "–", "+2.8"]]);
});

Deno.test("a condition of which a table has nothing but the number of runs has no row, unless that is all it shows", () => {
  const shown = (...show: string[]) => {
    const columns = show.map((each) => ({ metric: "rise", show: each }));
    const spec = { main: { caption: "Changes", rows: ["oven", "flavour"], columns } };
    return texts(tables(bakery(), spec).get("main")).slice(1).map((row) => row[1]);
  };
  assertEquals(shown("n", "change"), ["Vanilla", "Vanilla"]);
  assertEquals(shown("n"), ["Plain", "Vanilla", "Plain", "Vanilla"]);
});
