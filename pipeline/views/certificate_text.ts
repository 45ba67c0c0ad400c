/**
 * Grades in words, for every place that shows them.
 *
 * @module
 */
import {
  type Certificate,
  type Difference,
  type Grade,
  gradeOf,
  GRADES,
  noiseFloor,
} from "../store/certificate.ts";

/** A grade with what it rests on: `bit-exact; also on wasm`. */
export function gradeText({ grade, difference, movedBy, platforms }: Grade): string {
  const on = platforms.length === 0 ? "" : `; also on ${platforms.join(" and on ")}`;
  switch (grade) {
    case "numeric":
      return `numeric within ${amount(difference?.largest)}, ${
        amount(difference?.relative)
      } of the ` +
        `largest number${on}` + (movedBy.length === 0 ? "" : `; moved by ${movedBy.join(", ")}`);
    case "stochastic":
      return "stochastic: other bits " +
        (movedBy.length === 0 ? "in the same circumstances" : `with another ${movedBy.join(", ")}`);
    case "exact on this platform":
      return platforms.length === 0 ? grade : `${grade}; other than numbers differs${on}`;
    case "bit-exact":
      return `${grade}${on}`;
    case "measured":
      return `${grade}: not compared`;
  }
}

function amount(value = 0): string {
  return value === 0 ? "0" : value.toPrecision(2);
}

/** What differs, and where first. */
export function differenceText({ onlyNumbers, largest, count, first }: Difference): string {
  const { at, step, was, is } = first;
  const where = at === "" ? "" : ` at ${at.replace(/: $/, "")}`;
  const when = step === undefined ? "" : `, step ${step}`;
  const by = onlyNumbers ? `by at most ${largest.toPrecision(3)}` : "in more than numbers";
  return `${count} ${count === 1 ? "element differs" : "elements differ"} ${by}, first${where}` +
    `${when}: ${is} for ${was}`;
}

/**
 * What certificates come to: how many instances have one, how many outputs have each grade, and by how
 * much metrics moved. Nothing of none.
 *
 * @param instances How many there are, certified or not.
 */
export function certifiedText(certificates: readonly Certificate[], instances: number): string[] {
  if (certificates.length === 0) return [];
  const grades = certificates.flatMap((certificate) =>
    Object.keys(certificate.outputs).map((name) => gradeOf(certificate, name).grade)
  );
  const counts = GRADES.flatMap((name) => {
    const count = grades.filter((grade) => grade === name).length;
    return count === 0 ? [] : [`${count} ${name}`];
  });
  const floor = new Map<string, number>();
  for (const [name, value] of certificates.flatMap((one) => Object.entries(noiseFloor(one)))) {
    floor.set(name, Math.max(value, floor.get(name) ?? 0));
  }
  const moved = [...floor].filter(([, value]) => value > 0)
    .map(([name, value]) => `${name} by up to ${amount(value)}`);
  return [
    `${certificates.length} of ${instances} instances, outputs: ${counts.join(", ")}`,
    ...(moved.length === 0 ? [] : [
      `Noise floor, below which a difference says nothing: executions moved ${moved.join(", ")}`,
    ]),
  ];
}
