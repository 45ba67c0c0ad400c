"""The language model of "Learning to Look Harder" in PyTorch, runs 0 to 4 and bypassed run 4.

Written from the paper, with nanoGPT's conventions (pre-norm, no biases, tied embeddings, weight
decay on matrices only). Modulation multiplies the scores, as equation 8 has it, to check that
scaling queries is the same. In float64, so that small gradients are exact too. Linear weights are
stored as [in, out]. Run with Debian's python3-torch (1.13):  /usr/bin/python3 make_gpt_fixtures.py
"""
import json
import math
import os

import torch
from torch import nn
from torch.nn import functional as F

torch.set_num_threads(1)
VOCABULARY, CONTEXT, D, HEADS, LAYERS = 9, 6, 8, 2, 2
BATCH, STEPS = 3, 6
PEAK, LEAST, WARMUP, DECAY_UNTIL = 1e-2, 1e-3, 2, 6
RUNS = [
    None,
    {"low": 0.1, "position": False, "perHead": False},
    {"low": 0.5, "position": False, "perHead": False},
    {"low": 0.2, "position": True, "perHead": False},
    {"low": 0.2, "position": True, "perHead": True},
]


class Norm(nn.Module):
    def __init__(self):
        super().__init__()
        self.gain = nn.Parameter(torch.ones(D))

    def forward(self, x):
        return F.layer_norm(x, (D,), self.gain, None, 1e-5)


class Predictor(nn.Module):
    def __init__(self, run):
        super().__init__()
        self.run = run
        self.hidden = nn.Linear(D, D // 4, bias=False)
        self.out = nn.Linear(D // 4, HEADS if run["perHead"] else 1, bias=False)
        if run["position"]:
            self.norm = Norm()
            self.position = nn.Parameter(torch.randn(CONTEXT, D))
            self.hidden2 = nn.Linear(D // 4, D // 4, bias=False)

    def forward(self, x):
        if self.run["position"]:
            combined = self.norm(x) + 0.1 * self.position[: x.shape[1]]
            h1 = F.relu(self.hidden(combined))
            h = F.relu(self.hidden2(h1)) + h1
        else:
            h = F.relu(self.hidden(x))
        low = self.run["low"]
        return low + (1 - low) * torch.sigmoid(self.out(h))  # [B, T, 1 or heads]


class Block(nn.Module):
    def __init__(self, run, bypass):
        super().__init__()
        self.norm1, self.norm2 = Norm(), Norm()
        self.attention_in = nn.Linear(D, 3 * D, bias=False)
        self.attention_out = nn.Linear(D, D, bias=False)
        self.intensity = None if run is None else Predictor(run)
        self.bypass = bypass
        self.ff1, self.ff2 = nn.Linear(D, 4 * D, bias=False), nn.Linear(4 * D, D, bias=False)

    def attend(self, x):
        b, t, d = x.shape
        q, k, v = self.attention_in(x).reshape(b, t, 3, HEADS, d // HEADS).permute(2, 0, 3, 1, 4)
        scores = q @ k.transpose(-1, -2)
        if self.intensity is not None and not self.bypass:
            scores = scores * self.intensity(x).transpose(1, 2).unsqueeze(-1)  # I[i, j] = intensity_i
        scores = scores / math.sqrt(d // HEADS)
        later = torch.triu(torch.ones(t, t, dtype=torch.bool), 1)
        p = scores.masked_fill(later, -math.inf).softmax(-1)
        return self.attention_out((p @ v).transpose(1, 2).reshape(b, t, d))

    def forward(self, x):
        x = x + self.attend(self.norm1(x))
        return x + self.ff2(F.gelu(self.ff1(self.norm2(x))))


class Gpt(nn.Module):
    def __init__(self, run, bypass):
        super().__init__()
        self.embedding = nn.Parameter(torch.randn(VOCABULARY, D))
        self.position = nn.Parameter(torch.randn(CONTEXT, D))
        self.block = nn.ModuleList([Block(run, bypass) for _ in range(LAYERS)])
        self.norm = Norm()

    def forward(self, ids):
        x = self.embedding[ids] + self.position[: ids.shape[1]]
        for block in self.block:
            x = block(x)
        return self.norm(x) @ self.embedding.t()


def our_name(name):
    return name.replace("attention_in", "attention.in").replace("attention_out", "attention.out")


def numbers(tensor):
    return [float(f"{x:.8g}") for x in tensor.flatten().tolist()]


def named(pairs):
    out = {}
    for name, tensor in pairs:
        tensor = tensor.detach()
        if name.endswith("weight"):
            tensor = tensor.t()
        out[our_name(name)] = {"shape": list(tensor.shape), "values": numbers(tensor)}
    return out


def rate(step):
    if step < WARMUP:
        return PEAK * step / WARMUP
    if step > DECAY_UNTIL:
        return LEAST
    share = (step - WARMUP) / (DECAY_UNTIL - WARMUP)
    return LEAST + 0.5 * (1 + math.cos(math.pi * share)) * (PEAK - LEAST)


def case(run, bypass=False):
    torch.manual_seed(20250700 + run + 100 * bypass)
    model = Gpt(RUNS[run], bypass)
    with torch.no_grad():
        for p in model.parameters():
            p.add_(0.3 * torch.randn_like(p))
            p.copy_((p * 1024).round() / 1024)
    model.double()
    ids = torch.randint(0, VOCABULARY, (BATCH, CONTEXT + 1))
    x, y = ids[:, :-1], ids[:, 1:]
    record = {
        "run": run,
        "bypass": bypass,
        "ids": x.flatten().tolist(),
        "next": y.flatten().tolist(),
        "weights": named(model.named_parameters()),
        "rates": [rate(step) for step in range(8)],
    }
    matrices = [p for p in model.parameters() if p.dim() >= 2]
    vectors = [p for p in model.parameters() if p.dim() < 2]
    groups = [{"params": matrices, "weight_decay": 0.1}, {"params": vectors, "weight_decay": 0.0}]
    optimizer = torch.optim.AdamW(groups, lr=PEAK, betas=(0.9, 0.99))
    losses = []
    for step in range(STEPS):
        for group in optimizer.param_groups:
            group["lr"] = rate(step)
        optimizer.zero_grad(set_to_none=True)
        logits = model(x)
        loss = F.cross_entropy(logits.reshape(-1, VOCABULARY), y.reshape(-1))
        loss.backward()
        if step == 0:
            record["logits"] = numbers(logits.detach())
            used = [(n, p.grad) for n, p in model.named_parameters() if p.grad is not None]
            record["gradients"] = named(used)
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        losses.append(loss.item())
    record["losses"] = losses
    record["trained"] = named(model.named_parameters())
    return record


fixtures = {
    "torch": torch.__version__,
    "shape": {"vocabulary": VOCABULARY, "context": CONTEXT, "d": D, "heads": HEADS, "layers": LAYERS},
    "schedule": {"peak": PEAK, "min": LEAST, "warmup": WARMUP, "decayUntil": DECAY_UNTIL},
    "cases": [case(run) for run in range(5)] + [case(4, bypass=True)],
}
path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "gpt.json")
with open(path, "w") as file:
    json.dump(fixtures, file, separators=(",", ":"))
    file.write("\n")
