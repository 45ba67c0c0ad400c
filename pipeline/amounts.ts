/**
 * Amounts as people write them: `8GB`, `2h30m`.
 *
 * @module
 */

const BYTES: Readonly<Record<string, number>> = {
  ...{ "": 1, B: 1, kB: 1e3, MB: 1e6, GB: 1e9, TB: 1e12 },
  ...{ KiB: 2 ** 10, MiB: 2 ** 20, GiB: 2 ** 30, TiB: 2 ** 40 },
};

/** Bytes of a size such as `500kB`, `1.5GB` or `512MiB`, rounded up; `undefined` if it is none. */
export function parseSize(text: string): number | undefined {
  const [, value, unit = ""] = /^(\d+(?:\.\d+)?) ?([A-Za-z]*)$/.exec(text) ?? [];
  const factor = Object.hasOwn(BYTES, unit) ? BYTES[unit] : undefined;
  return value === undefined || factor === undefined
    ? undefined
    : Math.ceil(Number(value) * factor);
}

/** A size for people, rounded down: `15.6 GB`. */
export function sizeText(bytes: number): string {
  const [unit, factor] = Object.entries({ TB: 1e12, GB: 1e9, MB: 1e6, kB: 1e3 })
    .find(([, factor]) => bytes >= factor) ?? ["B", 1];
  return `${Math.floor(bytes / factor * 10) / 10} ${unit}`;
}

/** A number of bytes for people, in the unit of all that is stored and sent: `33.2 MB`. */
export function megabytes(bytes: number): string {
  return `${(bytes / 1e6).toFixed(1)} MB`;
}

/** Seconds of a time such as `2h30m`, `90m` or `1d`; `undefined` if it is none. */
export function parseTime(text: string): number | undefined {
  const found = /^(?=.)(?:(\d+)d)?(?:(\d+)h)?(?:(\d+)m)?(?:(\d+)s)?$/.exec(text);
  if (found === null) return undefined;
  const [days, hours, minutes, seconds] = found.slice(1).map((part) => Number(part ?? 0));
  return ((days! * 24 + hours!) * 60 + minutes!) * 60 + seconds!;
}

/** A number of things. */
export function counted(count: number, what: string): string {
  return `${count} ${what}${count === 1 ? "" : "s"}`;
}
