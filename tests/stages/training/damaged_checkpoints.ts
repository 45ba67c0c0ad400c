/**
 * Damages checkpoints by seed, to see whether a training gets over it.
 *
 * @module
 */
import { join } from "node:path";
import { integers, streamKey } from "../../../models/random.ts";

/** Changes one bit, or cuts or lengthens; what it does depends on `trial` alone. */
export function damaged(bytes: Uint8Array, trial: number): Uint8Array {
  const [kind, at, bit] = [...integers(streamKey(trial, "damage"), 3, 2 ** 24)] as [
    number,
    number,
    number,
  ];
  const place = at % bytes.length;
  switch (kind % 4) {
    case 0:
      return bytes.slice(0, place);
    case 1: {
      const longer = new Uint8Array(bytes.length + 1 + at % 100).fill(bit);
      longer.set(bytes);
      return longer;
    }
    default: {
      const changed = bytes.slice();
      changed[place]! ^= 1 << (bit % 8);
      return changed;
    }
  }
}

/** A copy of a folder of files in which the newest is damaged, and every fourth time all are. */
export function copyDamaged(from: string, to: string, trial: number): void {
  Deno.mkdirSync(to);
  const files = [...Deno.readDirSync(from)].map(({ name }) => name).sort((a, b) =>
    a.length - b.length
  );
  for (const [i, name] of files.entries()) {
    const bytes = Deno.readFileSync(join(from, name));
    Deno.writeFileSync(
      join(to, name),
      i === 0 || trial % 4 === 0 ? damaged(bytes, trial + i) : bytes,
    );
  }
}

/** Runs without what is said to the console; gives how often it warned. */
export async function unsaid(run: () => Promise<void>): Promise<number> {
  const { warn } = console;
  let warnings = 0;
  console.warn = () => warnings++;
  try {
    await run();
  } finally {
    console.warn = warn;
  }
  return warnings;
}
