"""The random streams of models/random.ts: the same initial weights, split and batches under one seed."""

import numpy as np

PARITY = 0x1BD11BDA
ROTATIONS = ((10, 26, 11, 21, 13, 27, 23, 5), (6, 20, 17, 11, 25, 10, 18, 20))


def threefry(key, counters):
    """Threefry-4x32-20 of counters uint32 [n, 4] under a key of four words; uint32 [n, 4]."""
    words = [np.uint32(word) for word in key]
    words.append(np.uint32(PARITY) ^ words[0] ^ words[1] ^ words[2] ^ words[3])
    x = [counters[:, i] + words[i] for i in range(4)]
    for group in range(5):
        first = ROTATIONS[group % 2]
        for step in range(4):
            left, right = first[2 * step], first[2 * step + 1]
            a, b = (1, 3) if step % 2 == 0 else (3, 1)
            for to, other, by in ((0, a, left), (2, b, right)):
                x[to] = x[to] + x[other]
                x[other] = x[to] ^ ((x[other] << np.uint32(by)) | (x[other] >> np.uint32(32 - by)))
        for i in range(4):
            x[i] = x[i] + words[(group + 1 + i) % 5]
        x[3] = x[3] + np.uint32(group + 1)
    return np.stack(x, axis=1)


def stream_key(seed, name):
    """The key of the stream of a name under a seed."""
    data = name.encode()
    state = np.array([seed & 0xFFFFFFFF, seed >> 32, len(data), 0x4C6F636B], dtype=np.uint32)
    for start in range(0, max(len(data), 1), 16):
        block = np.frombuffer(data[start : start + 16].ljust(16, b"\0"), dtype="<u4")
        state = threefry(state, block[None])[0] ^ block
    return state


def words(key, count):
    """The first `count` words of a stream."""
    counters = np.zeros(((count + 3) // 4, 4), dtype=np.uint32)
    counters[:, 0] = np.arange(len(counters))
    return threefry(key, counters).reshape(-1)[:count]


def uniform(key, count, bound):
    """Float32 from [-bound, bound)."""
    drawn = (words(key, count) >> np.uint32(8)) * 2.0**-24
    return (-bound + 2 * bound * drawn).astype(np.float32)


def normal(key, count):
    """Float32 from N(0, 1), by Box and Muller."""
    drawn = words(key, count + count % 2).astype(np.float64)
    radius = np.sqrt(-2 * np.log((drawn[0::2] + 0.5) * 2.0**-32))
    turns = 2 * np.pi * drawn[1::2] * 2.0**-32
    pairs = np.stack([radius * np.cos(turns), radius * np.sin(turns)], axis=1)
    return pairs.reshape(-1)[:count].astype(np.float32)


def permutation(key, count):
    """A permutation of 0..count-1: Fisher and Yates, integers by rejection."""
    order, used, drawn = list(range(count)), 0, words(key, 2 * count + 64).tolist()
    for last in range(count - 1, 0, -1):
        bound = last + 1
        limit = 2**32 - 2**32 % bound
        while True:
            if used == len(drawn):
                drawn = words(key, 2 * len(drawn)).tolist()
            word, used = drawn[used], used + 1
            if word < limit:
                break
        chosen = word % bound
        order[last], order[chosen] = order[chosen], order[last]
    return order
