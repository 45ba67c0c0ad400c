"""The classifier of "Fusion Matters" in PyTorch: outputs, gradients and trained weights.

Written from the paper and PyTorch's documentation, padded and masked as PyTorch wants it, to check
models/classifier.ts, which packs documents without padding. In float64, so that small gradients are
exact too. Weights of linear layers are stored as [in, out]. Run with Debian's python3-torch (1.13):  /usr/bin/python3 make_classifier_fixtures.py
"""
import json
import math
import os

import torch
from torch import nn

torch.set_num_threads(1)
DEEP = {"vocabulary": 11, "maxLength": 7, "classes": 3, "d": 8, "heads": 2, "layers": 2, "dFf": 12}
SMALL = {"vocabulary": 7, "maxLength": 6, "classes": 2, "d": 4, "heads": 2, "layers": 1, "dFf": 6}
TAPS, MAX_DISTANCE = 3, 2


def wave_table(length, d, halves):
    """Sinusoidal encodings; with `halves`, all sines before all cosines (the notebooks' "RoPE")."""
    table = torch.zeros(length, d, dtype=torch.float64)
    for t in range(length):
        for i in range(d // 2):
            angle = t / 10000 ** (2 * i / d)
            table[t, i if halves else 2 * i] = math.sin(angle)
            table[t, d // 2 + i if halves else 2 * i + 1] = math.cos(angle)
    return table


class Attention(nn.Module):
    """Multi-head attention written out, for rotary and Shaw-relative positions."""

    def __init__(self, d, heads, encoding):
        super().__init__()
        self.heads, self.encoding = heads, encoding
        self.projection = nn.Linear(d, 3 * d)
        self.out = nn.Linear(d, d)
        if encoding == "relative_attention":
            self.keys = nn.Parameter(torch.randn(2 * MAX_DISTANCE + 1, d // heads))
            self.values = nn.Parameter(torch.randn(2 * MAX_DISTANCE + 1, d // heads))

    def rotate(self, x):
        t, d = x.shape[-2:]
        angles = torch.arange(t).double()[:, None] / 10000 ** (torch.arange(0, d, 2).double() / d)
        turned = torch.view_as_complex(x.reshape(*x.shape[:-1], d // 2, 2).contiguous())
        turned = turned * torch.polar(torch.ones_like(angles), angles).to(turned.dtype)
        return torch.view_as_real(turned).flatten(-2)

    def forward(self, x, mask):
        b, t, d = x.shape
        heads = self.projection(x).reshape(b, t, 3, self.heads, d // self.heads)
        q, k, v = heads.permute(2, 0, 3, 1, 4)
        if self.encoding == "rope_attention":
            q, k = self.rotate(q), self.rotate(k)
        scores = q @ k.transpose(-1, -2)
        if self.encoding == "relative_attention":
            distance = torch.arange(t)[None, :] - torch.arange(t)[:, None]
            index = distance.clamp(-MAX_DISTANCE, MAX_DISTANCE) + MAX_DISTANCE
            scores = scores + torch.einsum("bhid,ijd->bhij", q, self.keys[index])
        scores = scores / math.sqrt(d // self.heads)
        p = scores.masked_fill(mask[:, None, None, :], -math.inf).softmax(-1)
        y = p @ v
        if self.encoding == "relative_attention":
            y = y + torch.einsum("bhij,ijd->bhid", p, self.values[index])
        return self.out(y.transpose(1, 2).reshape(b, t, d))


class Block(nn.Module):
    """TransformerEncoderLayer, post-norm, around `Attention`."""

    def __init__(self, s, encoding, activation):
        super().__init__()
        self.attention = Attention(s["d"], s["heads"], encoding)
        self.linear1 = nn.Linear(s["d"], s["dFf"])
        self.linear2 = nn.Linear(s["dFf"], s["d"])
        self.norm1, self.norm2 = nn.LayerNorm(s["d"]), nn.LayerNorm(s["d"])
        self.activation = nn.functional.gelu if activation == "gelu" else nn.functional.relu

    def forward(self, x, mask):
        x = self.norm1(x + self.attention(x, mask))
        return self.norm2(x + self.linear2(self.activation(self.linear1(x))))


class Encoder(nn.Module):
    def __init__(self, s, encoding, activation):
        super().__init__()
        self.written_out = encoding.endswith("_attention")
        if self.written_out:
            blocks = [Block(s, encoding, activation) for _ in range(s["layers"])]
            self.layers = nn.ModuleList(blocks)
        else:
            layer = nn.TransformerEncoderLayer(
                s["d"], s["heads"], s["dFf"], dropout=0.0, activation=activation, batch_first=True
            )
            self.layers = nn.TransformerEncoder(layer, s["layers"], enable_nested_tensor=False).layers

    def forward(self, x, mask):
        for layer in self.layers:
            x = layer(x, mask) if self.written_out else layer(x, src_key_padding_mask=mask)
        return x


class Classifier(nn.Module):
    def __init__(self, s, fusion, encoding, activation, reduce):
        super().__init__()
        d = s["d"]
        self.s, self.fusion_name, self.encoding, self.reduce = s, fusion, encoding, reduce
        self.embedding = nn.Embedding(s["vocabulary"], d, padding_idx=0)
        if encoding in ("learned", "relative"):
            self.position = nn.Parameter(torch.randn(s["maxLength"], d))
        if fusion in ("concat", "gate_vector"):
            self.fusion = nn.Linear(2 * d, d)
        elif fusion == "gate_scalar":
            self.fusion = nn.Linear(2 * d, 1)
        elif fusion in ("gate_mlp", "mlp"):
            self.fusion_hidden, self.fusion = nn.Linear(2 * d, d), nn.Linear(d, d)
        elif fusion == "gate_cnn":
            self.fusion = nn.Conv1d(d, d, TAPS, padding=TAPS // 2, groups=d, bias=False)
        self.encoder = Encoder(s, encoding, activation)
        self.classifier = nn.Linear(d, s["classes"])

    def positions(self, t):
        if self.encoding in ("learned", "relative"):
            return self.position[:t]
        return wave_table(t, self.s["d"], halves=self.encoding == "rope")

    def fuse(self, e, p, mask):
        name = self.fusion_name
        if self.encoding.endswith("_attention"):
            return e
        if name == "add":
            return e + p
        if name == "mul":
            return e * p
        both = torch.cat([e, p], -1)
        if name == "concat":
            return self.fusion(both)
        if name in ("gate_mlp", "mlp"):
            z = self.fusion(torch.relu(self.fusion_hidden(both)))
            if name == "mlp":
                return z
        elif name == "gate_cnn":
            inside = p * (~mask).unsqueeze(-1)  # a document ends where its padding starts
            z = self.fusion(inside.transpose(1, 2)).transpose(1, 2)
            if self.reduce == "mean":
                z = z.mean(-1, keepdim=True)
        else:
            z = self.fusion(both)
        g = torch.sigmoid(z)
        return g * e + (1 - g) * p

    def forward(self, ids):
        mask = ids == 0
        e = self.embedding(ids) * math.sqrt(self.s["d"])
        p = self.positions(ids.shape[1]).unsqueeze(0).expand_as(e)
        h = self.encoder(self.fuse(e, p, mask), mask)
        kept = (~mask).unsqueeze(-1).double()
        return self.classifier((h * kept).sum(1) / kept.sum(1))


def our_name(name, encoding):
    for theirs, ours in [
        ("encoder.layers.", "encoder."),
        ("embedding.weight", "embedding"),
        ("self_attn.in_proj_", "attention.in."),
        ("self_attn.out_proj.", "attention.out."),
        ("attention.projection.", "attention.in."),
        ("attention.keys", "relative.keys"),
        ("attention.values", "relative.values"),
        ("fusion_hidden", "fusion.hidden"),
        ("linear1", "ff1"),
        ("linear2", "ff2"),
        ("norm1.weight", "norm1.gain"),
        ("norm2.weight", "norm2.gain"),
    ]:
        name = name.replace(theirs, ours)
    return f"position.{encoding}" if name == "position" else name


def numbers(tensor):
    return [float(f"{x:.8g}") for x in tensor.flatten().tolist()]


def flat(name, tensor):
    if tensor.dim() == 3:  # depth-wise convolution: [d, 1, taps] to [taps, d]
        tensor = tensor[:, 0].t()
    elif name.endswith("weight"):
        tensor = tensor.t()
    return {"shape": list(tensor.shape), "values": numbers(tensor)}


def named(pairs, encoding):
    named = [(our_name(n, encoding), t.detach()) for n, t in pairs]
    return {n: flat(n, t) for n, t in named}


def perturb(model):
    """Moves what starts at 0 or 1 away from it, so that no gradient is hidden; rounds to 1/1024."""
    with torch.no_grad():
        for name, p in model.named_parameters():
            if "bias" in name or "norm" in name:
                p.add_(0.3 * torch.randn_like(p))
            p.copy_((p * 1024).round() / 1024)


def case(seed, s, fusion, encoding="sinusoidal", **options):
    torch.manual_seed(20260117 + seed)
    optimizer = options.get("optimizer", "adamw")
    activation = options.get("activation", "gelu")
    weight_decay = options.get("weight_decay", 0.0)
    clip = options.get("clip", 1.0)
    reduce = options.get("reduce", "none")
    model = Classifier(s, fusion, encoding, activation, reduce)
    perturb(model)
    model.double()
    lengths = [3, s["maxLength"], 1, 5]
    ids = torch.zeros(len(lengths), max(lengths), dtype=torch.long)
    for row, length in enumerate(lengths):
        ids[row, :length] = torch.randint(1, s["vocabulary"], (length,))
    labels = torch.randint(0, s["classes"], (len(lengths),))
    record = {
        "shape": s,
        "fusion": fusion,
        "encoding": encoding,
        "gateReduce": reduce,
        "activation": activation,
        "optimizer": optimizer,
        "weightDecay": weight_decay,
        "clipNorm": clip,
        "learningRate": 3e-3,
        "documents": [ids[row, :length].tolist() for row, length in enumerate(lengths)],
        "labels": labels.tolist(),
        "weights": named(model.named_parameters(), encoding),
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
            record["logits"] = numbers(logits.detach())
            gradients = [(n, p.grad) for n, p in model.named_parameters()]
            record["gradients"] = named(gradients, encoding)
        if clip is not None:
            nn.utils.clip_grad_norm_(model.parameters(), clip)
        steps.step()
        losses.append(loss.item())
    record["losses"] = losses
    record["trained"] = named(model.named_parameters(), encoding)
    return record


FUSIONS = ["add", "concat", "gate_scalar", "gate_cnn", "gate_mlp", "gate_vector", "mlp", "mul"]
cases = [
    case(0, DEEP, "add"),
    case(1, DEEP, "concat", weight_decay=0.1),
    case(2, DEEP, "gate_scalar", clip=0.1),
    case(3, DEEP, "gate_scalar", optimizer="adam", activation="relu", weight_decay=0.1, clip=None),
    case(4, SMALL, "gate_cnn", reduce="mean"),
    case(5, DEEP, "add", "rope_attention"),
    case(6, DEEP, "add", "relative_attention"),
]
for i, fusion in enumerate(FUSIONS):
    for j, encoding in enumerate(["sinusoidal", "learned", "rope", "relative"]):
        cases.append(case(100 + 10 * i + j, SMALL, fusion, encoding))
path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "classifier.json")
with open(path, "w") as file:
    fixtures = {
        "torch": torch.__version__,
        "gateTaps": TAPS,
        "maxDistance": MAX_DISTANCE,
        "cases": cases,
    }
    json.dump(fixtures, file, separators=(",", ":"))
    file.write("\n")
