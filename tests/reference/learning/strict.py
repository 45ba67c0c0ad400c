"""Trains as Lockstep's training stages do, from their initial weights and on their batches.

Reads the folders that tests/learning/hand_over.ts writes, one a case, and writes strict.json beside
itself: what was evaluated, in float32 and again in float64. docs/learning.md has the commands.

    /usr/bin/python3 strict.py FOLDER
"""
import os
import sys

import torch

from curves import excerpts
from handed import read_json, read_tokens, read_weights, sha256, versions, write_beside
from models import Classifier, Gpt, load_ours
from training import train_classifier, train_gpt

torch.set_num_threads(1)
CASES = ["chain_one", "short", "tinyshakespeare", "ag_news", "ag_news_small_embedding"]


def language(folder, p, header, splits):
    given = read_json(folder, "batches.json")
    texts = {name: torch.from_numpy(split["ids"]) for name, split in splits.items()}
    model = Gpt(p, header["vocabularySize"], 0.0)
    load_ours(model, read_weights(f"{folder}/start.safetensors"))
    model.to(torch.get_default_dtype())

    def take(split, starts):
        return excerpts(texts[split], torch.tensor(starts), p["context"])

    done = iter(given["evaluations"])
    current = {}

    def evaluation(split, _):
        if split == "train":
            current.update(next(done))
        return [take(split, starts) for starts in current[split]]

    return train_gpt(model, p, lambda step: take("train", given["steps"][step - 1]), evaluation)[0]


def classifier(folder, p, header, splits):
    given = read_json(folder, "batches.json")
    model = Classifier(p, header["vocabularySize"], header["maxLength"], len(header["classes"]), 0.0)
    load_ours(model, read_weights(f"{folder}/start.safetensors"))
    model.to(torch.get_default_dtype())
    return train_classifier(model, p, splits["train"], given["epochs"], given["validation"])[0]


def trained(folder, case, dtype):
    torch.set_default_dtype(dtype)
    header, splits = read_tokens(f"{folder}/tokens")
    p = case["train"]
    assert p["dropout"] == 0
    return (language if case["stage"] == "train_language" else classifier)(folder, p, header, splits)


def main(root):
    cases = []
    for name in CASES:
        folder = os.path.join(root, name)
        case = read_json(folder, "case.json")
        cases.append({
            **case,
            "digests": {
                "tokens": sha256(f"{folder}/tokens"),
                "weights": sha256(f"{folder}/start.safetensors"),
                "batches": sha256(f"{folder}/batches.json"),
            },
            "float32": trained(folder, case, torch.float32),
            "float64": trained(folder, case, torch.float64),
        })
        print(name, cases[-1]["float32"][-1], cases[-1]["float64"][-1], flush=True)
    write_beside(__file__, "strict.json", {"versions": versions(), "cases": cases})


if __name__ == "__main__":
    main(sys.argv[1])
