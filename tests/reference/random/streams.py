"""Digests of shuffles, batches, dropout masks, initial weights and draws for corpora, from the
definitions alone: plain Python, no code of the project. Writes streams.json.
Run: /usr/bin/python3 streams.py
"""

import hashlib
import json
import math
import pathlib
import struct

M = 0xFFFFFFFF
ROTATIONS = [
    (10, 26), (11, 21), (13, 27), (23, 5), (6, 20), (17, 11), (25, 10), (18, 20),
]


def threefry(key, counter):
    """Threefry-4x32-20: Salmon et al. 2011, section 3.2 and table 4."""
    ks = list(key) + [0x1BD11BDA ^ key[0] ^ key[1] ^ key[2] ^ key[3]]
    x = [(c + k) & M for c, k in zip(counter, ks)]
    turn = lambda v, r: ((v << r) | (v >> (32 - r))) & M
    for i in range(20):
        r0, r1 = ROTATIONS[i % 8]
        a, b = (1, 3) if i % 2 == 0 else (3, 1)
        x[0] = (x[0] + x[a]) & M
        x[a] = turn(x[a], r0) ^ x[0]
        x[2] = (x[2] + x[b]) & M
        x[b] = turn(x[b], r1) ^ x[2]
        if i % 4 == 3:
            s = i // 4 + 1
            x = [(v + ks[(s + j) % 5]) & M for j, v in enumerate(x)]
            x[3] = (x[3] + s) & M
    return x


def stream_key(seed, name):
    data = name.encode()
    state = [seed & M, seed >> 32, len(data), 0x4C6F636B]
    for start in range(0, max(1, len(data)), 16):
        block = list(struct.unpack("<4I", data[start:start + 16].ljust(16, b"\0")))
        state = [a ^ b for a, b in zip(threefry(state, block), block)]
    return state


def words(key):
    block = 0
    while True:
        yield from threefry(key, [block, 0, 0, 0])
        block += 1


def below(drawn, bound):
    limit = 2**32 - 2**32 % bound
    while True:
        word = next(drawn)
        if word < limit:
            return word % bound


def permutation(key, count):
    order, drawn = list(range(count)), words(key)
    for last in range(count - 1, 0, -1):
        chosen = below(drawn, last + 1)
        order[last], order[chosen] = order[chosen], order[last]
    return order


def integers(key, count, bound):
    drawn = words(key)
    return [below(drawn, bound) for _ in range(count)]


def mask(key, rate, count, first=0):
    """1 where an element is kept: 16 random bits are at least round(65536 rate)."""
    kept = []
    for e in range(first, first + count):
        word = threefry(key, [4 * (e // 32) + e % 4, 0, 0, 0])[e // 4 % 4]
        kept.append(int((word >> 16 * (e // 16 % 2)) & 0xFFFF >= round(65536 * rate)))
    return kept


def uniform(key, count, bound):
    drawn = words(key)
    return [-bound + 2 * bound * ((next(drawn) >> 8) * 2.0**-24) for _ in range(count)]


def normal(key, count, deviation):
    drawn, values = words(key), []
    while len(values) < count:
        radius = deviation * math.sqrt(-2 * math.log((next(drawn) + 0.5) * 2.0**-32))
        angle = 2 * math.pi * (next(drawn) * 2.0**-32)
        values += [radius * math.cos(angle), radius * math.sin(angle)]
    return values[:count]


def digest(kind, values):
    return hashlib.sha256(struct.pack(f"<{len(values)}{kind}", *values)).hexdigest()


def mix32(x):
    """Wellons, "Prospecting for hash functions", 2018: lowbias32."""
    x = (x ^ (x >> 16)) * 0x7FEB352D & M
    x = (x ^ (x >> 15)) * 0x846CA68B & M
    return x ^ (x >> 16)


def mix_path(seed, *path):
    key = mix32((seed & M) ^ 0x9E3779B9)
    key = mix32(key ^ (seed >> 32))
    for part in path:
        if isinstance(part, int):
            key = mix32(((key + 0x85EBCA6B) & M) ^ part)
        else:
            for unit in part:
                key = mix32(((key + 0xC2B2AE35) & M) ^ ord(unit))
            key = mix32(key ^ len(part))
    return key


def counter(bounds, seed, *path):
    """The integers below the bounds that a corpus draws in turn."""
    key, drawn = mix_path(seed, *path), []
    for n, bound in enumerate(bounds, 1):
        word = mix32((mix32(key ^ n * 0x9E3779B9 & M) + key) & M)
        drawn.append(word * bound >> 32)
    return drawn


def subset(labels, size, seed, stream):
    """Documents chosen, each class in proportion, those of lowest rank; sizes must divide."""
    key = mix_path(seed, "select", stream)
    chosen = []
    for label in sorted(set(labels)):
        group = [i for i, each in enumerate(labels) if each == label]
        group.sort(key=lambda i: mix32(mix32(i ^ key) ^ key))
        chosen += group[: len(group) * size // len(labels)]
    return sorted(chosen)


starts = integers(stream_key(1337, "batch/step.7"), 64, 5000 - 256)
result = {
    "shuffle": digest("I", permutation(stream_key(3, "shuffle/epoch.2"), 1000)),
    "split": digest("I", permutation(stream_key(2**40 + 1, "split/validation"), 501)),
    "batch": digest("I", [i for s in starts for i in range(s, s + 256)]),
    "counter": digest(
        "I", counter([n % 1000 + 1 for n in range(1000)], 2**40 + 7, "document", "train", 5)
    ),
    "subset": digest("I", subset([i % 4 for i in range(1000)], 100, 3, "train")),
    "mask": digest("I", mask(stream_key(5, "dropout/step.12/encoder.0.hidden"), 0.1, 37 * 29)),
    "maskOfPiece": digest("I", mask(stream_key(5, "dropout/step.12/embedding"), 0.2, 16 * 33, 7 * 33)),
    "uniformWeights": digest(
        "f", uniform(stream_key(4, "init/encoder.0.ff1.weight"), 16 * 32, 1 / math.sqrt(16))
    ),
    "normalWeights": digest("f", normal(stream_key(4, "init/position.learned"), 9 * 16, 1)),
}
path = pathlib.Path(__file__).with_suffix(".json")
path.write_text(json.dumps(result, indent=2) + "\n")
