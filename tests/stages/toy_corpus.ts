import { writeTokenFile } from "../../data/token_file.ts";
import { permutation, streamKey, words } from "../../models/random.ts";

/** Documents whose class is the one whose words occur most; lengths 3 to 12. */
function split(count: number, seed: number) {
  const labels = new Uint16Array(count), offsets = new Uint32Array(count + 1), ids: number[] = [];
  for (let i = 0; i < count; i++) {
    const drawn = words(streamKey(seed, `document.${i}`), 16);
    const label = labels[i] = permutation(streamKey(seed, `label.${i}`), 3)[0]!;
    const length = 3 + drawn[15]! % 10;
    for (let t = 0; t < length; t++) {
      const own = drawn[t]! % 10 < 6;
      ids.push(own ? 2 + label * 6 + (drawn[t]! >>> 8) % 6 : 2 + (drawn[t]! >>> 8) % 18);
    }
    offsets[i + 1] = ids.length;
  }
  return { labels, offsets, ids: Uint16Array.from(ids), clipped: 0 };
}

/** Params of a classifier that learns {@linkcode writeToyCorpus} in no time. */
export const TOY_MODEL = { d_model: 16, heads: 2, layers: 1, d_ff: 32, batch: 16 };

/** Writes a small corpus of three classes that a classifier can learn. */
export function writeToyCorpus(path: string, options: { validation?: boolean } = {}): void {
  writeTokenFile(path, {
    vocabularySize: 20,
    maxLength: 12,
    classes: ["a", "b", "c"],
    splits: {
      train: split(90, 1),
      test: split(60, 2),
      ...(options.validation ? { validation: split(30, 3) } : {}),
    },
  });
}

/** A text that repeats: `abcdeabcde…`. */
export function writeToyText(path: string): void {
  const part = (length: number) => {
    const ids = Uint16Array.from({ length }, (_, i) => i % 5);
    return { labels: Uint16Array.of(0), offsets: Uint32Array.of(0, length), ids, clipped: 0 };
  };
  writeTokenFile(path, {
    vocabularySize: 5,
    maxLength: 300,
    classes: ["text"],
    splits: { train: part(300), validation: part(60), test: part(60) },
  });
}
