"""Deep averaging networks in PyTorch: loss, gradients, and weights after steps of AdaGrad.

Written from Iyyer et al. 2015 and from dan_sentiment.py of github.com/miyyer/dan, whose cost is
(sum of cross-entropies + rho / 2 * |theta|^2) / documents over all parameters, every row of the
embeddings included, and whose AdaGrad divides by sqrt(h) + epsilon. Dense and in float64, to check
models/averaging.ts, which touches only a batch's rows. With `repeats` "once", a word's gradient
counts once for each document however often it occurs there, as NumPy's `grads[words] += delta` does.

Run with Debian's python3-torch (1.13):  /usr/bin/python3 make_averaging_fixtures.py
"""
import json
import os

import torch

torch.set_num_threads(1)
torch.set_default_dtype(torch.float64)

VOCABULARY, D, CLASSES = 14, 5, 3
DOCUMENTS = [[2, 3, 2, 2], [4], [5, 6, 7, 5], [8, 2, 3, 9, 9, 9, 9], [3, 3], [10, 4, 7], [2, 11]]
LABELS = [0, 2, 1, 1, 0, 2, 1]
BATCHES = [[0, 1, 2], [3, 4, 5], [6], [6, 0, 4], [2, 5, 1], [3]]
TRAINING = {"rho": 1e-3, "rate": 0.05, "epsilon": 0.05}


def start(depth):
    torch.manual_seed(depth)
    parameters = {"embedding.weight": torch.randn(VOCABULARY, D)}
    for layer in range(depth):
        parameters[f"layers.{layer}.weight"] = torch.randn(D, D) * 0.7
        parameters[f"layers.{layer}.bias"] = torch.randn(D) * 0.3
    parameters["output.weight"] = torch.randn(D, CLASSES)
    parameters["output.bias"] = torch.randn(CLASSES) * 0.3
    return {name: p.requires_grad_() for name, p in parameters.items()}


def average(table, words, repeats):
    mean = table[words].mean(0)
    if repeats == "all":
        return mean
    # The same value, with the gradient of a sum over different words.
    different = table[sorted(set(words))].sum(0) / len(words)
    return mean.detach() + different - different.detach()


def loss_of(parameters, depth, batch, repeats):
    h = torch.stack([
        average(parameters["embedding.weight"], DOCUMENTS[i], repeats) for i in batch
    ])
    for layer in range(depth):
        h = torch.relu(h @ parameters[f"layers.{layer}.weight"] + parameters[f"layers.{layer}.bias"])
    logits = h @ parameters["output.weight"] + parameters["output.bias"]
    labels = torch.tensor([LABELS[i] for i in batch])
    return torch.nn.functional.cross_entropy(logits, labels)


def gradients(parameters, depth, batch, repeats):
    loss = loss_of(parameters, depth, batch, repeats)
    squares = sum((p ** 2).sum() for p in parameters.values())
    cost = loss + TRAINING["rho"] / 2 * squares / len(batch)
    return loss.item(), dict(zip(parameters, torch.autograd.grad(cost, parameters.values())))


def case(depth, repeats):
    parameters = start(depth)
    values = lambda tensors: {name: t.detach().flatten().tolist() for name, t in tensors.items()}
    first = values(parameters)
    _, gradient = gradients(parameters, depth, BATCHES[0], repeats)
    sums = {name: torch.zeros_like(p) for name, p in parameters.items()}
    losses = []
    for batch in BATCHES:
        loss, step = gradients(parameters, depth, batch, repeats)
        losses.append(loss)
        with torch.no_grad():
            for name, p in parameters.items():
                sums[name] += step[name] ** 2
                p -= TRAINING["rate"] * step[name] / (sums[name].sqrt() + TRAINING["epsilon"])
    return {
        "depth": depth,
        "repeats": repeats,
        "start": first,
        "gradient": values(gradient),
        "losses": losses,
        "end": values(parameters),
        "sums": values(sums),
        "measured": loss_of(parameters, depth, range(len(DOCUMENTS)), "all").item(),
    }


fixture = {
    "origin": f"make_averaging_fixtures.py, PyTorch {torch.__version__}, float64",
    "sizes": {"vocabulary": VOCABULARY, "d": D, "classes": CLASSES},
    "training": TRAINING,
    "documents": DOCUMENTS,
    "labels": LABELS,
    "batches": BATCHES,
    "cases": [case(depth, "all") for depth in (0, 1, 3)] + [case(1, "once")],
}
path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "averaging.json")
with open(path, "w") as file:
    json.dump(fixture, file)
    file.write("\n")
