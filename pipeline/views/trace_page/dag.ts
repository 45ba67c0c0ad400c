/**
 * A run as a picture: its stages, what feeds them, and links to their instances.
 *
 * @module
 */
import { type Html, html } from "../../html.ts";

/** A stage of a run, as a box. */
export interface Box {
  readonly name: string;
  readonly instances: number;
  /** Stages that feed it. */
  readonly from: ReadonlySet<string>;
  /** Where its instances are on the page. */
  readonly anchor: string;
}

/** Pixels. */
const [WIDTH, HEIGHT, ACROSS, DOWN] = [120, 40, 28, 20];

/** The boxes, those that are fed right of what feeds them, with links. */
export function dagHtml(boxes: readonly Box[], label: string): Html {
  const columns = columnsOf(boxes);
  const placed = new Map(columns.flatMap((own, column) =>
    own.map((box, row) =>
      [box.name, {
        box,
        x: 2 + column * (WIDTH + ACROSS),
        y: 2 + row * (HEIGHT + DOWN),
      }] as const
    )
  ));
  const rows = Math.max(0, ...columns.map((own) => own.length));
  const width = columns.length * (WIDTH + ACROSS) - ACROSS + 4;
  const height = rows * (HEIGHT + DOWN) + 4;
  const lines = [...placed.values()].flatMap(({ box, x, y }) =>
    [...box.from].flatMap((name) => {
      const other = placed.get(name);
      if (other === undefined) return [];
      const [left, top] = [other.x + WIDTH, other.y + HEIGHT / 2];
      const [right, bottom] = [x, y + HEIGHT / 2];
      const bend = ACROSS * 0.6;
      // A line past other columns goes between their boxes.
      const sag = right - left > ACROSS ? (HEIGHT + DOWN) / 2 / 0.75 : 0;
      const ways = [
        `M${left} ${top} C${left + bend} ${top + sag}`,
        `${right - bend} ${bottom + sag} ${right} ${bottom}`,
      ];
      return [
        html`
          <path d="${ways.join(" ")}" />
        `,
      ];
    })
  );
  const drawn = [...placed.values()].map(({ box: { name, instances, anchor }, x, y }) =>
    html`
      <a
        href="#${anchor}"><rect x="${x}" y="${y}" width="${WIDTH}" height="${HEIGHT}" rx="5"/><text x="${x +
          10}" y="${y + 17}" class="name">${shortened(name)}</text><text x="${x + 10}" y="${y +
          32}">${instances === 1 ? "1 instance" : `${instances} instances`}</text></a>
    `
  );
  return html`
    <div class="wide dag" role="region" tabindex="0" aria-label="${label}">
      <svg width="${width}" height="${height}"
        viewBox="0 0 ${width} ${height}">${lines}${drawn}</svg>
    </div>
  `;
}

/** Boxes by the longest way that leads to them. */
function columnsOf(boxes: readonly Box[]): Box[][] {
  const byName = new Map(boxes.map((box) => [box.name, box]));
  const depths = new Map<string, number>();
  const depthOf = (box: Box): number => {
    const known = depths.get(box.name);
    if (known !== undefined) return known;
    // Traces are acyclic; a record that is not must not hang the page.
    depths.set(box.name, 0);
    const before = [...box.from].flatMap((name) => byName.get(name) ?? []).map(depthOf);
    const depth = before.length === 0 ? 0 : 1 + Math.max(...before);
    depths.set(box.name, depth);
    return depth;
  };
  const columns: Box[][] = [];
  for (const box of boxes) (columns[depthOf(box)] ??= []).push(box);
  return Array.from(columns, (own) => own ?? []);
}

function shortened(name: string): string {
  return name.length > 16 ? `${name.slice(0, 15)}…` : name;
}
