"""Training and measuring, batch by batch; where the batches come from is the caller's business."""
import copy
import math

import torch
from torch import nn
from torch.nn import functional as F


def rate(step, p):
    """nanoGPT's schedule: a linear rise from 0, then half a cosine. `step` counts from 0."""
    peak, least, warmup = p["learning_rate"], p["min_learning_rate"], p["warmup"]
    last = p["decay_until"] or p["iterations"]
    if step < warmup:
        return peak * step / warmup
    if step > last:
        return least
    return least + 0.5 * (1 + math.cos(math.pi * (step - warmup) / (last - warmup))) * (peak - least)


def gpt_optimizer(model, p):
    trained = [q for q in model.parameters() if q.requires_grad]
    groups = [
        {"params": [q for q in trained if q.dim() >= 2], "weight_decay": p["weight_decay"]},
        {"params": [q for q in trained if q.dim() < 2], "weight_decay": 0.0},
    ]
    return torch.optim.AdamW(groups, lr=p["learning_rate"], betas=(0.9, p["beta2"]))


def take_step(model, optimizer, loss, clip_norm):
    optimizer.zero_grad(set_to_none=True)
    loss.backward()
    if clip_norm is not None:
        nn.utils.clip_grad_norm_(model.parameters(), clip_norm)
    optimizer.step()
    return loss.item()


def next_loss(model, x, y):
    return F.cross_entropy(model(x).flatten(0, 1), y.flatten())


@torch.no_grad()
def mean_next_loss(model, batches):
    """Nats per token."""
    model.eval()
    total = sum(next_loss(model, x, y).item() * y.numel() for x, y in batches)
    model.train()
    return total / sum(y.numel() for _, y in batches)


def train_gpt(model, p, batch, evaluation):
    """Evaluates before the first step, every `eval_every` steps and at the end; gives the history
    and the weights of the lowest validation loss.

    batch(step), step from 1: inputs and targets. evaluation(split, iteration): a list of such.
    """
    optimizer = gpt_optimizer(model, p)
    model.train()
    history, best, weights = [], math.inf, None
    for iteration in range(p["iterations"] + 1):
        last = iteration == p["iterations"]
        if last or iteration % p["eval_every"] == 0:
            losses = [mean_next_loss(model, evaluation(s, iteration)) for s in ("train", "validation")]
            history.append(dict(zip(("iteration", "train_loss", "validation_loss"), [iteration, *losses])))
            if losses[1] < best:
                best, weights = losses[1], copy.deepcopy(model.state_dict())
        if last:
            return history, weights
        for group in optimizer.param_groups:
            group["lr"] = rate(iteration, p)
        take_step(model, optimizer, next_loss(model, *batch(iteration + 1)), p["clip_norm"])


def pad(split, chosen):
    """Documents as rows of ids, padded with 0, and their labels."""
    offsets = split["offsets"]
    rows = [torch.from_numpy(split["ids"][offsets[i] : offsets[i + 1]]) for i in chosen]
    labels = torch.tensor([int(split["labels"][i]) for i in chosen])
    return nn.utils.rnn.pad_sequence(rows, batch_first=True), labels


@torch.no_grad()
def measure(model, split, chosen):
    """Accuracy and mean loss in nats."""
    model.eval()
    correct, total = 0, 0.0
    for start in range(0, len(chosen), 100):
        ids, labels = pad(split, chosen[start : start + 100])
        logits = model(ids)
        correct += int((logits.argmax(1) == labels).sum())
        total += F.cross_entropy(logits, labels, reduction="sum").item()
    model.train()
    return correct / len(chosen), total / len(chosen)


def train_classifier(model, p, split, orders, validation):
    """One epoch for each of `orders`, lists of documents; gives the history and the weights of the
    highest validation accuracy, the first of equals."""
    kind = torch.optim.AdamW if p["optimizer"] == "adamw" else torch.optim.Adam
    optimizer = kind(model.parameters(), lr=p["learning_rate"], weight_decay=p["weight_decay"])
    model.train()
    history, best, weights = [], -1.0, None
    for epoch, order in enumerate(orders, 1):
        total = 0.0
        for start in range(0, len(order), p["batch"]):
            chosen = order[start : start + p["batch"]]
            ids, labels = pad(split, chosen)
            loss = F.cross_entropy(model(ids), labels)
            total += take_step(model, optimizer, loss, p["clip_norm"]) * len(chosen)
        accuracy, loss = measure(model, split, validation)
        history.append({
            "epoch": epoch,
            "train_loss": total / len(order),
            "validation_loss": loss,
            "validation_accuracy": accuracy,
        })
        if accuracy > best:
            best, weights = accuracy, copy.deepcopy(model.state_dict())
    return history, weights
