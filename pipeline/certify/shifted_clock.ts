/**
 * Sets the clock of the process that loads it ahead, as far as JavaScript shows it: `Date`, `Temporal` and
 * `performance.timeOrigin`. Times of files are the system's. It is loaded before the host of a stage.
 *
 * @module
 */

/** Another year, another day of the week, another hour. */
const AHEAD_MS = ((400 * 24 + 7) * 60 + 13) * 60_000;

function setAhead(): void {
  const Actual = Date;
  const now = () => Actual.now() + AHEAD_MS;
  const Shifted: DateConstructor = new Proxy(Actual, {
    construct: (target, args, derived) =>
      Reflect.construct(target, args.length === 0 ? [now()] : args, derived),
    apply: () => new Actual(now()).toString(),
    get: (target, name) => name === "now" ? now : Reflect.get(target, name),
  });
  Object.defineProperty(Actual.prototype, "constructor", { value: Shifted });
  globalThis.Date = Shifted;
  const origin = performance.timeOrigin + AHEAD_MS;
  Object.defineProperty(performance, "timeOrigin", { get: () => origin });
  const { Instant, Now } = Temporal;
  const instant = () => Instant.fromEpochMilliseconds(now());
  const zoned = (zone: Temporal.TimeZoneLike = Now.timeZoneId()) =>
    instant().toZonedDateTimeISO(zone);
  Object.assign(Now, {
    instant,
    zonedDateTimeISO: zoned,
    plainDateTimeISO: (zone?: Temporal.TimeZoneLike) => zoned(zone).toPlainDateTime(),
    plainDateISO: (zone?: Temporal.TimeZoneLike) => zoned(zone).toPlainDate(),
    plainTimeISO: (zone?: Temporal.TimeZoneLike) => zoned(zone).toPlainTime(),
  });
}

setAhead();
