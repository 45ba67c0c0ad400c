"""What Lockstep hands over: a case's params, its token file, weights as safetensors."""
import hashlib
import json
import os
import platform
import struct

import numpy as np
import torch


def versions():
    return {"torch": torch.__version__, "numpy": np.__version__, "python": platform.python_version()}


def sha256(path):
    with open(path, "rb") as file:
        return hashlib.sha256(file.read()).hexdigest()


def read_json(*path):
    with open(os.path.join(*path)) as file:
        return json.load(file)


def write_beside(script, name, value):
    with open(os.path.join(os.path.dirname(os.path.abspath(script)), name), "w") as file:
        file.write(json.dumps(value, indent=1) + "\n")


def read_tokens(path):
    """A token file: splits of labels, offsets and ids; the layout is data/token_file.ts's."""
    with open(path, "rb") as file:
        data = file.read()
    assert data[:8] == b"LSTOKEN1", "not a token file"
    header_bytes, id_bytes = struct.unpack("<II", data[8:16])
    header = json.loads(data[16 : 16 + header_bytes])
    at = 16 + -(-header_bytes // 8) * 8

    def block(count, kind):
        nonlocal at
        values = np.frombuffer(data, kind, count, at).astype(np.int64)
        at += -(-count * np.dtype(kind).itemsize // 8) * 8
        return values

    splits = {}
    for split in header["splits"]:
        labels = block(split["documents"], "<u2")
        offsets = block(split["documents"] + 1, "<u4")
        ids = block(split["tokens"], "<u2" if id_bytes == 2 else "<u4")
        splits[split["name"]] = {"labels": labels, "offsets": offsets, "ids": ids}
    assert at == len(data), "bytes left over"
    return header, splits


def read_weights(path):
    """A safetensors file of float32 arrays, by name."""
    with open(path, "rb") as file:
        data = file.read()
    start = 8 + struct.unpack("<Q", data[:8])[0]
    tensors = {}
    for name, entry in json.loads(data[8:start]).items():
        if name == "__metadata__":
            continue
        first, end = entry["data_offsets"]
        values = np.frombuffer(data, "<f4", (end - first) // 4, start + first)
        tensors[name] = torch.from_numpy(values.reshape(entry["shape"]).copy())
    return tensors
