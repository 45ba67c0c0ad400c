"""The classifier of "Fusion Matters" in PyTorch: outputs, gradients and trained weights.

Written from the paper and PyTorch's documentation, padded and masked as PyTorch wants it, to check
models/classifier.ts, which packs documents without padding. Weights of linear layers are stored as
[in, out]. Run with Debian's python3-torch (1.13):  /usr/bin/python3 make_classifier_fixtures.py
"""
import json
import math
import os

import torch
from torch import nn

torch.manual_seed(20260117)
torch.set_num_threads(1)
VOCABULARY, MAX_LENGTH, CLASSES, D, HEADS, LAYERS, D_FF = 11, 7, 3, 8, 2, 2, 12
LENGTHS = [3, 7, 1, 5]


def sinusoidal(length, d):
    table = torch.zeros(length, d, dtype=torch.float64)
    for t in range(length):
        for i in range(0, d, 2):
            angle = t / 10000 ** (i / d)
            table[t, i], table[t, i + 1] = math.sin(angle), math.cos(angle)
    return table.float()


class Classifier(nn.Module):
    def __init__(self, fusion, activation):
        super().__init__()
        self.fusion_name = fusion
        self.embedding = nn.Embedding(VOCABULARY, D, padding_idx=0)
        outputs = {"concat": D, "gate_scalar": 1}
        self.fusion = nn.Linear(2 * D, outputs[fusion]) if fusion in outputs else None
        layer = nn.TransformerEncoderLayer(
            D, HEADS, D_FF, dropout=0.0, activation=activation, batch_first=True, norm_first=False
        )
        self.encoder = nn.TransformerEncoder(layer, LAYERS, enable_nested_tensor=False)
        self.classifier = nn.Linear(D, CLASSES)
        self.register_buffer("table", sinusoidal(MAX_LENGTH, D))

    def fuse(self, e, p):
        if self.fusion_name == "add":
            return e + p
        if self.fusion_name == "concat":
            return self.fusion(torch.cat([e, p], -1))
        g = torch.sigmoid(self.fusion(torch.cat([e, p], -1)))
        return g * e + (1 - g) * p

    def forward(self, ids):
        mask = ids == 0
        e = self.embedding(ids) * math.sqrt(D)
        p = self.table[: ids.shape[1]].unsqueeze(0).expand_as(e)
        h = self.encoder(self.fuse(e, p), src_key_padding_mask=mask)
        kept = (~mask).unsqueeze(-1).float()
        return self.classifier((h * kept).sum(1) / kept.sum(1))


def our_name(name):
    for theirs, ours in [
        ("encoder.layers.", "encoder."),
        ("embedding.weight", "embedding"),
        ("self_attn.in_proj_", "attention.in."),
        ("self_attn.out_proj.", "attention.out."),
        ("linear1", "ff1"),
        ("linear2", "ff2"),
        ("norm1.weight", "norm1.gain"),
        ("norm2.weight", "norm2.gain"),
    ]:
        name = name.replace(theirs, ours)
    return name


def flat(name, tensor):
    if tensor.dim() == 2 and "embedding" not in name:
        tensor = tensor.t()
    return {"shape": list(tensor.shape), "values": [float(f"{x:.9g}") for x in tensor.flatten().tolist()]}


def named(pairs):
    return {our_name(n): flat(n, t.detach()) for n, t in pairs}


def perturb(model):
    """Moves what starts at 0 or 1 away from it, so that no gradient is hidden."""
    with torch.no_grad():
        for name, p in model.named_parameters():
            if "bias" in name or "norm" in name:
                p.add_(0.3 * torch.randn_like(p))


def case(fusion, optimizer, activation="gelu", weight_decay=0.0, clip=1.0):
    model = Classifier(fusion, activation)
    perturb(model)
    ids = torch.zeros(len(LENGTHS), max(LENGTHS), dtype=torch.long)
    for row, length in enumerate(LENGTHS):
        ids[row, :length] = torch.randint(1, VOCABULARY, (length,))
    labels = torch.randint(0, CLASSES, (len(LENGTHS),))
    record = {
        "fusion": fusion,
        "encoding": "sinusoidal",
        "activation": activation,
        "optimizer": optimizer,
        "weightDecay": weight_decay,
        "clipNorm": clip,
        "learningRate": 3e-3,
        "documents": [ids[row, :length].tolist() for row, length in enumerate(LENGTHS)],
        "labels": labels.tolist(),
        "weights": named(model.named_parameters()),
    }
    kind = torch.optim.AdamW if optimizer == "adamw" else torch.optim.Adam
    steps = kind(model.parameters(), lr=3e-3, weight_decay=weight_decay)
    losses = []
    for step in range(5):
        steps.zero_grad()
        logits = model(ids)
        loss = nn.functional.cross_entropy(logits, labels)
        loss.backward()
        if step == 0:
            record["logits"] = flat("embedding", logits.detach())["values"]
            record["gradients"] = named((n, p.grad) for n, p in model.named_parameters())
        if clip is not None:
            nn.utils.clip_grad_norm_(model.parameters(), clip)
        steps.step()
        losses.append(loss.item())
    record["losses"] = losses
    record["trained"] = named(model.named_parameters())
    return record


fixtures = {
    "shape": {
        "vocabulary": VOCABULARY,
        "maxLength": MAX_LENGTH,
        "classes": CLASSES,
        "d": D,
        "heads": HEADS,
        "layers": LAYERS,
        "dFf": D_FF,
    },
    "cases": [
        case("add", "adamw"),
        case("concat", "adamw", weight_decay=0.1),
        case("gate_scalar", "adamw", clip=0.1),
        case("gate_scalar", "adam", activation="relu", weight_decay=0.1, clip=None),
    ],
}
path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "classifier.json")
with open(path, "w") as file:
    json.dump(fixtures, file, separators=(",", ":"))
    file.write("\n")
