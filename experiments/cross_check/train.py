"""Trains the classifier of `train` in PyTorch: the same initial weights and batches under one seed."""

import json
import sys

import numpy as np
import torch
from torch import nn

from files import read_tokens, write_measurements, write_weights
from streams import normal, permutation, stream_key, uniform

torch.set_num_threads(1)
torch.use_deterministic_algorithms(True)


def say(**event):
    print(json.dumps(event), flush=True)


class Classifier(nn.Module):
    """Post-norm Transformer over scaled embeddings plus sinusoidal positions, mean, linear layer."""

    def __init__(self, vocabulary, length, classes, p):
        super().__init__()
        d = p["d_model"]
        self.scale = d**0.5
        self.embedding = nn.Embedding(vocabulary, d, padding_idx=0)
        layer = nn.TransformerEncoderLayer(
            d, p["heads"], p["d_ff"], dropout=0.0, activation="gelu", batch_first=True
        )
        self.encoder = nn.TransformerEncoder(layer, p["layers"], enable_nested_tensor=False)
        self.classifier = nn.Linear(d, classes)
        frequency = np.exp(-np.arange(0, d, 2) / d * np.log(10000.0))
        angles = np.arange(length)[:, None] * frequency
        table = np.stack([np.sin(angles), np.cos(angles)], axis=-1).reshape(length, d)
        self.register_buffer("positions", torch.tensor(table, dtype=torch.float32))

    def forward(self, ids, lengths):
        absent = torch.arange(ids.shape[1])[None] >= lengths[:, None]  # (B, T)
        x = self.embedding(ids) * self.scale + self.positions[: ids.shape[1]]  # (B, T, C)
        x = self.encoder(x, src_key_padding_mask=absent)
        x = x.masked_fill(absent[:, :, None], 0).sum(1) / lengths[:, None]
        return self.classifier(x)


def correspondence(model):
    """Our names of parameters, each with PyTorch's and whether it is transposed there."""
    names = {"embedding": (model.embedding.weight, False)}
    for i, layer in enumerate(model.encoder.layers):
        block, attention = f"encoder.{i}", layer.self_attn
        names |= {
            f"{block}.attention.in.weight": (attention.in_proj_weight, True),
            f"{block}.attention.in.bias": (attention.in_proj_bias, False),
            f"{block}.attention.out.weight": (attention.out_proj.weight, True),
            f"{block}.attention.out.bias": (attention.out_proj.bias, False),
            f"{block}.ff1.weight": (layer.linear1.weight, True),
            f"{block}.ff1.bias": (layer.linear1.bias, False),
            f"{block}.ff2.weight": (layer.linear2.weight, True),
            f"{block}.ff2.bias": (layer.linear2.bias, False),
        }
        for norm in (1, 2):
            part = getattr(layer, f"norm{norm}")
            names |= {f"{block}.norm{norm}.gain": (part.weight, False)}
            names |= {f"{block}.norm{norm}.bias": (part.bias, False)}
    names |= {"classifier.weight": (model.classifier.weight, True)}
    names |= {"classifier.bias": (model.classifier.bias, False)}
    return names


def initial(name, shape, seed):
    """The initial value that models/classifier.ts gives a parameter, [in, out] where it is a matrix."""
    key, size = stream_key(seed, f"init/{name}"), int(np.prod(shape))
    if name == "embedding":
        value = normal(key, size).reshape(shape)
        value[0] = 0
        return value
    if name.endswith(".gain"):
        return np.ones(shape, np.float32)
    if ".norm" in name or name.endswith((".attention.in.bias", ".attention.out.bias")):
        return np.zeros(shape, np.float32)
    # A linear layer's bias has the bound of its weight: by the features that go in.
    inputs = shape[0] if len(shape) == 2 else FEATURES[name]
    bound = (6 / (4 * inputs)) ** 0.5 if ".attention.in." in name else inputs**-0.5
    return uniform(key, size, bound).reshape(shape)


FEATURES = {}


def start(model, seed):
    names = correspondence(model)
    for name, (parameter, transposed) in names.items():
        if transposed:
            FEATURES[name.replace(".weight", ".bias")] = parameter.shape[1]
    with torch.no_grad():
        for name, (parameter, transposed) in names.items():
            shape = tuple(reversed(parameter.shape)) if transposed else tuple(parameter.shape)
            value = torch.from_numpy(initial(name, shape, seed))
            parameter.copy_(value.T if transposed else value)


def batch_of(split, chosen):
    labels, offsets, ids = split
    lengths = torch.tensor([int(offsets[i + 1] - offsets[i]) for i in chosen])
    padded = torch.zeros(len(chosen), int(lengths.max()), dtype=torch.int64)
    for row, i in enumerate(chosen):
        padded[row, : lengths[row]] = torch.from_numpy(ids[offsets[i] : offsets[i + 1]])
    return padded, lengths, torch.from_numpy(labels[chosen])


def measure(model, split, chosen, size):
    model.eval()
    loss, correct = 0.0, 0
    with torch.no_grad():
        for at in range(0, len(chosen), size):
            ids, lengths, labels = batch_of(split, chosen[at : at + size])
            logits = model(ids, lengths)
            loss += nn.functional.cross_entropy(logits, labels, reduction="sum").item()
            correct += (logits.argmax(1) == labels).sum().item()
    model.train()
    return loss / len(chosen), correct / len(chosen)


def parts(splits, p):
    """Documents for training and validation: the corpus's own split, or one drawn by the seed."""
    train = splits["train"]
    count = len(train[0])
    if "validation" in splits and len(splits["validation"][0]) > 0:
        held = splits["validation"]
        return (train, list(range(count))), (held, list(range(len(held[0]))))
    order = permutation(stream_key(p["seed"], "split/validation"), count)
    held = min(count - 1, max(1, int(count * p["validation_share"])))
    return (train, order[held:]), (train, order[:held])


def main():
    request = json.loads(sys.stdin.readline())
    p = request["params"]
    header, splits = read_tokens(request["inputs"]["tokens"]["path"])
    sizes = header["vocabularySize"], header["maxLength"], len(header["classes"])
    model = Classifier(*sizes, p)
    start(model, p["seed"])
    optimizer = torch.optim.AdamW(model.parameters(), lr=p["learning_rate"], weight_decay=0.0)
    (train, chosen), (validation, held) = parts(splits, p)
    steps = -(-len(chosen) // p["batch"])
    curve = {"epoch": [], "train_loss": [], "validation_loss": [], "validation_accuracy": []}
    best = None
    for epoch in range(p["epochs"]):
        order = permutation(stream_key(p["seed"], f"shuffle/epoch.{epoch}"), len(chosen))
        total = 0.0
        for step in range(steps):
            places = order[step * p["batch"] : (step + 1) * p["batch"]]
            ids, lengths, labels = batch_of(train, [chosen[i] for i in places])
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(model(ids, lengths), labels)
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), p["clip_norm"])
            optimizer.step()
            total += loss.item() * len(places)
            done = epoch * steps + step + 1
            say(type="progress", done=done, total=steps * p["epochs"], unit="steps", values={"loss": loss.item()})
        validation_loss, accuracy = measure(model, validation, held, p["batch"])
        for name, value in zip(curve, (epoch + 1, total / len(chosen), validation_loss, accuracy)):
            curve[name].append(value)
        if best is None or accuracy > best[0]:
            weights = {
                name: (value.T if transposed else value).detach().numpy().copy()
                for name, (value, transposed) in correspondence(model).items()
            }
            best = accuracy, epoch + 1, weights
    accuracy, epoch, weights = best
    metadata = {
        **{"model": "classifier", "fusion": "add", "encoding": "sinusoidal", "activation": "gelu"},
        **{"gateReduce": "none", "gateTaps": 3, "maxDistance": 16, "seed": p["seed"]},
        **{"vocabulary": sizes[0], "maxLength": sizes[1], "classes": sizes[2]},
        **{"d": p["d_model"], "heads": p["heads"], "layers": p["layers"], "dFf": p["d_ff"]},
    }
    write_weights(request["outputs"]["weights"], metadata, weights)
    write_measurements(request["outputs"]["history"], {"runs": {"best_epoch": [epoch]}, "curve": curve})
    say(type="metric", name="validation_accuracy", value=accuracy)
    say(type="metric", name="best_epoch", value=epoch)


if __name__ == "__main__":
    main()
