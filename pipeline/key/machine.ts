/**
 * The computer, as far as it decides how long something takes.
 *
 * @module
 */
import { cpus, totalmem } from "node:os";

let described: string | undefined;

/**
 * This computer, `AMD EPYC 7B13, 2 cores, 8 GiB, linux x86_64`: an ingredient of what is measured, and
 * what a trace says of where it was made. No name or address: two computers alike are one.
 */
export function describeMachine(): string {
  const cores = navigator.hardwareConcurrency;
  return described ??= [
    cpus()[0]?.model.trim() || "processor unknown",
    `${cores} core${cores === 1 ? "" : "s"}`,
    `${Math.round(totalmem() / 2 ** 30)} GiB`,
    `${Deno.build.os} ${Deno.build.arch}`,
  ].join(", ");
}
