/**
 * The script of a page that runs instances again in its reader's browser: unpacks the audit file that is
 * in the page, verifies its records, shows them in place of what was written there, and runs each chosen instance when its button is pressed.
 *
 * @module
 */
/// <reference lib="dom" />
import type { StageProgress } from "../../stage.ts";
import { type Finding, findingText } from "../finding.ts";
import { type Elsewhere, repeat, type Repeated, repeatOn } from "../repeat.ts";
import { inspect, type Inspected } from "../verify.ts";
import { bodyOf, titleOf } from "./body.ts";
import { Curve } from "./curve.ts";
import { choicesOf, unpack } from "./material.ts";

const one = <E extends Element>(selector: string, within: ParentNode = document) =>
  within.querySelector<E>(selector)!;

/** Lines of a list: by default of what was found. */
function list(lines: readonly { readonly text: string }[], kind = "failed"): HTMLUListElement {
  const items = document.createElement("ul");
  items.className = kind;
  for (const { text } of lines) {
    items.append(Object.assign(document.createElement("li"), { textContent: text }));
  }
  return items;
}

type Records = NonNullable<Inspected["records"]>;

/** A card of the page: an instance with its button. */
class Card {
  readonly instance: string;
  readonly button: HTMLButtonElement;
  /** Of what computes on a backend: runs it on the reader's own WebGPU. */
  readonly elsewhere: HTMLButtonElement | undefined;
  readonly #section: Element;
  readonly #status: Element;
  readonly #bar: HTMLProgressElement;
  readonly #curve: Curve;

  constructor(section: HTMLElement) {
    this.#section = section;
    this.instance = section.dataset["instance"]!;
    this.button = one("button.again", section);
    this.elsewhere = section.querySelector<HTMLButtonElement>("button.webgpu") ?? undefined;
    this.#status = one("output", section);
    this.#bar = one("progress", section);
    this.#curve = new Curve(one("figure", section));
  }

  /** Runs it again and compares bits. */
  run(records: Records): Promise<void> {
    return this.#work(async (onProgress) => {
      this.#show(await repeat(this.instance, records, onProgress));
    });
  }

  /** Runs it on WebGPU, whose bits are others, and says how far apart the numbers are. */
  runOnWebgpu(records: Records): Promise<void> {
    return this.#work(async (onProgress) => {
      try {
        this.#showNear(await repeatOn("webgpu", this.instance, { records, onProgress }));
      } catch (error) {
        this.#say("failed", error instanceof Error ? error.message : String(error));
      }
    });
  }

  async #work(
    work: (onProgress: (progress: StageProgress) => void) => Promise<void>,
  ): Promise<void> {
    const buttons = [this.button, ...this.elsewhere === undefined ? [] : [this.elsewhere]];
    for (const each of buttons) each.disabled = true;
    this.#section.querySelector("ul")?.remove();
    for (const cell of this.#section.querySelectorAll("code.again, .same")) cell.textContent = "";
    this.#say("runs", "running …");
    this.#bar.hidden = false;
    this.#bar.removeAttribute("value");
    try {
      await work((progress) => this.#progress(progress));
    } finally {
      this.#bar.hidden = true;
      for (const each of buttons) each.disabled = false;
    }
  }

  #progress({ done, total, unit, values = {} }: StageProgress): void {
    this.#bar.max = total;
    this.#bar.value = done;
    const shown = Object.entries(values).map(([name, value]) => `${name} ${value.toPrecision(4)}`);
    this.#say("runs", [`${done} of ${total} ${unit}`, ...shown].join(", "));
    const [first] = Object.entries(values);
    if (first !== undefined) this.#curve.add(done / total, first);
  }

  #show({ findings, outputs, seconds }: Repeated): void {
    for (const row of this.#section.querySelectorAll<HTMLElement>("tr[data-output]")) {
      const output = outputs.find(({ name }) => name === row.dataset["output"]);
      const isSame = output !== undefined && output.again === output.recorded;
      one(".again", row).textContent = output?.again ?? "nothing";
      one(".same", row).textContent = isSame ? "same bits" : "differs";
      row.classList.toggle("failed", !isSame);
    }
    const took = `in ${seconds.toFixed(1)} s, in this browser`;
    if (findings.length === 0) this.#say("same", `The same bits, ${took}`);
    else {
      this.#say("differs", `It differs, ${took}:`);
      this.#section.append(list(findings.map((finding) => ({ text: findingText(finding) }))));
    }
  }

  #showNear({ seconds, apart, metrics }: Elsewhere): void {
    this.#say(
      "near",
      `On this browser's WebGPU, in ${seconds.toFixed(1)} s; other bits are expected:`,
    );
    const away = (a = NaN, b = NaN) =>
      `recorded ${a}, now ${b}, apart ${Math.abs(a - b).toPrecision(2)}`;
    this.#section.append(list([
      ...metrics.map(({ at, recorded, again }) => ({ text: `${at}: ${away(recorded, again)}` })),
      ...apart.map(({ output, at, recorded, again }) => ({
        text: `furthest in ${output}, at ${at}: ${away(recorded, again)}`,
      })),
    ], "near"));
  }

  #say(state: string, text: string): void {
    this.#section.setAttribute("data-state", state);
    this.#status.textContent = text;
  }
}

/** What the material in the page is, or why it is nothing that can be read. */
async function readPage(): Promise<
  { readonly instances: readonly string[] } & (Inspected | { readonly failure: string })
> {
  try {
    const instances: unknown = JSON.parse(one("#instances").textContent);
    if (!Array.isArray(instances)) throw new Error("its instances are no list");
    const choices = choicesOf(instances.map(String));
    const inspected = inspect(await unpack(one("#material").textContent), { choices });
    return { ...inspected, instances: [...new Set(instances.map(String))] };
  } catch (error) {
    return { failure: error instanceof Error ? error.message : String(error), instances: [] };
  }
}

async function main(): Promise<void> {
  const read = await readPage();
  const { instances } = read;
  const inspected = "failure" in read ? undefined : read;
  document.title = titleOf(inspected ?? {});
  // With all that was written into the page: what it shows comes from the records.
  document.body.innerHTML = bodyOf(inspected, instances).html;
  const status = one<HTMLElement>("#records");
  const say = (state: string, text: string) => {
    status.dataset["state"] = state;
    status.textContent = text;
  };
  if ("failure" in read) {
    return say("differs", `The material in this page cannot be unpacked: ${read.failure}`);
  }
  const { records, index, root } = read;
  const unknown = instances.filter((instance) => !records?.traces.has(instance));
  const findings = [...read.findings, ...unknown.map(unrecorded)];
  if (findings.length > 0) {
    say("differs", `${findings.length} findings: this page holds something else than was recorded`);
    status.after(list(findings.map((finding) => ({ text: findingText(finding) }))));
  } else {
    const { instances, files } = index!;
    say(
      "same",
      `All records agree: ${Object.keys(files).length} digests and ${
        Object.keys(instances).length
      } keys, ` +
        `under root ${root}`,
    );
  }
  if (records !== undefined) offer(records);
}

/** Of an instance that the page offers and its records lack. */
function unrecorded(instance: string): Finding {
  return { what: "trace", where: "the page", expected: "instances of the run", found: instance };
}

/** Lets the cards of the page run. */
function offer(records: Records): void {
  const cards = [...document.querySelectorAll<HTMLElement>("section[data-instance]")]
    .map((section) => new Card(section));
  for (const card of cards) {
    card.button.disabled = false;
    card.button.onclick = () => card.run(records);
    if (card.elsewhere === undefined) continue;
    card.elsewhere.hidden = !("gpu" in navigator);
    card.elsewhere.onclick = () => card.runOnWebgpu(records);
  }
  const all = one<HTMLButtonElement>("#all");
  all.disabled = false;
  all.onclick = async () => {
    all.disabled = true;
    for (const card of cards) await card.run(records);
    all.disabled = false;
  };
}

main();
