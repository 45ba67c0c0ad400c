/**
 * A curve that is drawn as its points come.
 *
 * @module
 */
/// <reference lib="dom" />

/** Of the picture, in its own units. */
const WIDTH = 480, HEIGHT = 90, EDGE = 4;

/** A curve in a figure, which shows once there are two points. */
export class Curve {
  readonly #figure: HTMLElement;
  readonly #svg: SVGSVGElement;
  readonly #line: SVGPolylineElement;
  #points: (readonly [x: number, y: number])[] = [];

  constructor(figure: HTMLElement) {
    this.#figure = figure;
    this.#svg = figure.querySelector("svg")!;
    this.#svg.setAttribute("viewBox", `0 0 ${WIDTH} ${HEIGHT}`);
    this.#line = document.createElementNS("http://www.w3.org/2000/svg", "polyline");
    this.#svg.append(this.#line);
  }

  /** Adds a point: how much is done, from 0 to 1, and a value. One that is not further begins again. */
  add(share: number, [name, value]: readonly [name: string, value: number]): void {
    if (!Number.isFinite(value)) return;
    if (share <= (this.#points.at(-1)?.[0] ?? -1)) this.#points = [];
    this.#points.push([share, value]);
    const values = this.#points.map(([, y]) => y);
    const low = Math.min(...values), range = Math.max(...values) - low || 1;
    const points = this.#points.map(([x, y]) =>
      `${EDGE + x * (WIDTH - 2 * EDGE)},${HEIGHT - EDGE - (y - low) / range * (HEIGHT - 2 * EDGE)}`
    );
    this.#line.setAttribute("points", points.join(" "));
    this.#figure.toggleAttribute("hidden", this.#points.length < 2);
    const [first, last] = [values[0]!, values.at(-1)!].map((value) => value.toPrecision(4));
    const text = `${name}: from ${first} to ${last}`;
    this.#svg.setAttribute("aria-label", `Curve of ${text}`);
    this.#figure.querySelector("figcaption")!.textContent = text;
  }
}
