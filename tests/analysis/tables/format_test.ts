import { assertEquals } from "@std/assert";
import {
  decimal,
  intervalText,
  probability,
  rangeText,
  signed,
} from "../../../analysis/tables/format.ts";
import { cutOff } from "../../../analysis/study.ts";
import { printedDigits } from "../../../analysis/printed.ts";
import { metrics } from "./made_up.ts";

Deno.test("a number has a real minus sign, thin groups of three, and no negative zero", () => {
  assertEquals(decimal(1234567.891, 1), "1\u202f234\u202f567.9");
  assertEquals(decimal(-1234.5, 2), "\u22121\u202f234.50");
  assertEquals(decimal(-0.004, 2), "0.00");
  assertEquals([decimal(999), decimal(-0)], ["999", "0"]);
});

Deno.test("a change has a sign, unless it is zero as shown", () => {
  assertEquals([6.514, -0.0015, -0.004, 0.004, 0].map((value) => signed(value, 2)), [
    ...["+6.51", "0.00", "0.00", "0.00", "0.00"],
  ]);
  assertEquals(signed(-0.0015, 4), "\u22120.0015");
});

Deno.test("an interval of values ends where the metric does, one of changes does not", () => {
  const { share } = metrics({ share: { title: "Share", max: 100 } });
  assertEquals(cutOff(share!, [96.5, 101.5]), [96.5, 100]);
  const show = (value: number) => signed(value, 1);
  assertEquals(intervalText([-1.25, 3.4], show), "[\u22121.3, +3.4]");
});

Deno.test("a range that is one number as shown is that number", () => {
  assertEquals([rangeText("2", "5"), rangeText("2", "2")], ["2–5", "2"]);
  assertEquals(rangeText("\u22123", "\u22121"), "\u22123 to \u22121");
});

Deno.test("a p-value below what is shown says so", () => {
  assertEquals([0.01037, 0.00009, null].map(probability), ["0.0104", "< 0.0001", "–"]);
});

Deno.test("a printed value keeps the decimals it was printed with", () => {
  assertEquals([0.5, 0.05, 0.005, 0.00005].map(printedDigits), [0, 1, 2, 4]);
});
