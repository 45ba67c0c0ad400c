"""The files that stages exchange: tokens, weights and measurements, in plain NumPy and JSON."""

import json
import struct

import numpy as np


def read_tokens(path):
    """A token file (data/token_file.ts): its header, and per split labels, offsets and ids."""
    data = open(path, "rb").read()
    if data[:8] != b"LSTOKEN1":
        raise ValueError(f"{path} is no token file")
    header_bytes, id_bytes = struct.unpack_from("<II", data, 8)
    header = json.loads(data[16 : 16 + header_bytes])
    at, splits = 16 + padded(header_bytes), {}

    def take(kind, count):
        nonlocal at
        found = np.frombuffer(data, dtype=kind, count=count, offset=at)
        at += padded(found.nbytes)
        return found.astype(np.int64)

    for split in header["splits"]:
        labels = take("<u2", split["documents"])
        offsets = take("<u4", split["documents"] + 1)
        ids = take("<u2" if id_bytes == 2 else "<u4", split["tokens"])
        splits[split["name"]] = (labels, offsets, ids)
    return header, splits


def padded(size):
    return (size + 7) // 8 * 8


def write_weights(path, metadata, tensors):
    """A safetensors file of float32 (models/safetensors.ts)."""
    header, arrays, end = {"__metadata__": {k: str(v) for k, v in sorted(metadata.items())}}, [], 0
    for name, tensor in sorted(tensors.items()):
        array = np.ascontiguousarray(tensor, dtype="<f4")
        header[name] = {"dtype": "F32", "shape": list(array.shape), "data_offsets": [end, end + array.nbytes]}
        end += array.nbytes
        arrays.append(array.tobytes())
    text = json.dumps(header, separators=(",", ":")).encode()
    text = text.ljust(padded(len(text)))
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + b"".join(arrays))


def write_measurements(path, tables):
    """Tables of columns (analysis/tidy/measurements.ts)."""
    with open(path, "w") as file:
        json.dump({"format": "lockstep-measurements/1", "tables": tables}, file, indent=1)
        file.write("\n")
