"""Trains both models on real text from initial weights, batches and dropout of PyTorch's own.

Reads the params and tokens that tests/learning/gather.ts hands over, one folder a text, and
writes tinyshakespeare.json and ag_news.json beside itself. docs/learning.md has the commands.

    /usr/bin/python3 curves.py FOLDER [TEXT]
"""
import sys

import torch

from handed import read_json, read_tokens, sha256, versions, write_beside
from models import Classifier, Gpt
from training import mean_next_loss, measure, train_classifier, train_gpt

torch.set_num_threads(1)
SEEDS = [1, 2, 3]


def excerpts(text, starts, length):
    rows = torch.stack([text[s : s + length + 1] for s in starts.tolist()])
    return rows[:, :-1], rows[:, 1:]


def spread(tokens, length, most):
    """Starts of at most `most` excerpts that do not overlap, evenly spread."""
    every = (tokens - 1) // length
    count = min(every, most)
    return torch.tensor([i * every // count * length for i in range(count)])


def language_run(seed, handed, header, splits):
    p = handed["train"]
    torch.manual_seed(seed)
    model = Gpt(p, header["vocabularySize"], p["dropout"])
    texts = {name: torch.from_numpy(split["ids"]) for name, split in splits.items()}

    def draw(split):
        text = texts[split]
        starts = torch.randint(len(text) - p["context"], (p["batch"],))
        return excerpts(text, starts, p["context"])

    history, weights = train_gpt(
        model, p, lambda step: draw("train"),
        lambda split, _: [draw(split) for _ in range(p["eval_batches"])],
    )
    model.load_state_dict(weights)
    text = texts["validation"]
    starts = spread(len(text), p["context"], handed["evaluate"]["most"])
    batches = [excerpts(text, part, p["context"]) for part in starts.split(p["batch"])]
    return {"seed": seed, "evaluations": history, "heldOutLoss": mean_next_loss(model, batches)}


def classifier_run(seed, handed, header, splits):
    p = handed["train"]
    torch.manual_seed(seed)
    classes = len(header["classes"])
    model = Classifier(p, header["vocabularySize"], header["maxLength"], classes, p["dropout"])
    every = torch.randperm(len(splits["train"]["labels"]))
    held = int(len(every) * p["validation_share"])
    validation, rest = every[:held], every[held:]
    orders = (rest[torch.randperm(len(rest))].tolist() for _ in range(p["epochs"]))
    history, weights = train_classifier(model, p, splits["train"], orders, validation.tolist())
    model.load_state_dict(weights)
    test = splits["test"]
    accuracy, loss = measure(model, test, range(len(test["labels"])))
    return {"seed": seed, "epochs": history, "testAccuracy": accuracy, "testLoss": loss}


def main(folder, only=None):
    for name, one in [("tinyshakespeare", language_run), ("ag_news", classifier_run)]:
        if only not in (None, name):
            continue
        handed = read_json(folder, name, "case.json")
        tokens = f"{folder}/{name}/tokens"
        assert sha256(tokens) == handed["tokens"], "the token file is not the one that was trained on"
        header, splits = read_tokens(tokens)
        runs = []
        for seed in SEEDS:
            runs.append(one(seed, handed, header, splits))
            print(name, runs[-1], flush=True)
        write_beside(__file__, f"{name}.json", {"versions": versions(), **handed, "runs": runs})


if __name__ == "__main__":
    main(*sys.argv[1:])
