/**
 * Times whole processes in turn, so that a machine that slows down slows all of them.
 *
 * @module
 */

/** Seconds of each run of each command, `rounds` times in turn after one round that does not count. */
export async function timeInTurn(
  commands: readonly (readonly string[])[],
  rounds: number,
): Promise<number[][]> {
  const seconds: number[][] = commands.map(() => []);
  for (let round = -1; round < rounds; round++) {
    for (const [index, [program, ...args]] of commands.entries()) {
      const begun = performance.now();
      const { code, stderr } = await new Deno.Command(program!, {
        args,
        stdout: "null",
        stderr: "piped",
      }).output();
      if (code !== 0) throw new Error(`${program} failed: ${new TextDecoder().decode(stderr)}`);
      if (round >= 0) seconds[index]!.push((performance.now() - begun) / 1000);
    }
  }
  return seconds;
}

/** The middle value. */
export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)]!;
}
