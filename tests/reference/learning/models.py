"""The two models of PyTorch's own modules, written from the papers.

A parameter's name is ours once `our_name` has translated it; linear weights are [out, in] here and
[in, out] there.
"""
import math

import torch
from torch import nn
from torch.nn import functional as F


def gain_only(d):
    """LayerNorm without a bias: a bias that stays 0."""
    norm = nn.LayerNorm(d)
    norm.bias.requires_grad_(False)
    return norm


class Block(nn.Module):
    def __init__(self, d, heads, dropout):
        super().__init__()
        self.norm1, self.norm2 = gain_only(d), gain_only(d)
        self.attention = nn.MultiheadAttention(d, heads, dropout, bias=False, batch_first=True)
        self.ff1, self.ff2 = nn.Linear(d, 4 * d, bias=False), nn.Linear(4 * d, d, bias=False)
        self.drop1, self.drop2 = nn.Dropout(dropout), nn.Dropout(dropout)

    def forward(self, x, later):
        y = self.norm1(x)
        x = x + self.drop1(self.attention(y, y, y, attn_mask=later, need_weights=False)[0])
        return x + self.drop2(self.ff2(F.gelu(self.ff1(self.norm2(x)))))


class Gpt(nn.Module):
    """Run 0 of "Learning to Look Harder": nanoGPT's decoder without biases, embeddings tied."""

    def __init__(self, p, vocabulary, dropout):
        super().__init__()
        d, layers = p["d_model"], p["layers"]
        self.embedding = nn.Embedding(vocabulary, d)
        self.position = nn.Embedding(p["context"], d)
        self.drop = nn.Dropout(dropout)
        self.block = nn.ModuleList([Block(d, p["heads"], dropout) for _ in range(layers)])
        self.norm = gain_only(d)
        for name, parameter in self.named_parameters():
            if parameter.dim() < 2:
                continue
            residual = name.endswith(("out_proj.weight", "ff2.weight"))
            nn.init.normal_(parameter, 0, 0.02 / math.sqrt(2 * layers) if residual else 0.02)

    def forward(self, ids):
        t = ids.shape[1]
        later = torch.triu(torch.ones(t, t, dtype=torch.bool), 1)
        x = self.drop(self.embedding(ids) + self.position.weight[:t])
        for block in self.block:
            x = block(x, later)
        return self.norm(x) @ self.embedding.weight.t()


def waves(length, d):
    """PE(t, 2i) = sin(t / 10000^(2i/d)), PE(t, 2i + 1) = cos of the same."""
    angles = torch.arange(length).double()[:, None] / 10000 ** (torch.arange(0, d, 2).double() / d)
    return torch.stack([angles.sin(), angles.cos()], -1).flatten(1)


class Classifier(nn.Module):
    """"Fusion Matters": E + P, sinusoidal; post-norm encoder; mean over tokens; linear."""

    def __init__(self, p, vocabulary, longest, classes, dropout):
        super().__init__()
        d = p["d_model"]
        assert p["fusion"] == "add" and p["encoding"] == "sinusoidal"
        self.scale = math.sqrt(d)
        self.embedding = nn.Embedding(vocabulary, d, padding_idx=0)
        self.register_buffer("table", waves(longest, d).float())
        # One by one: nn.TransformerEncoder would start all its layers from the same numbers.
        self.encoder = nn.ModuleList([
            nn.TransformerEncoderLayer(
                d, p["heads"], p["d_ff"], dropout, p["activation"], batch_first=True
            )
            for _ in range(p["layers"])
        ])
        self.drop = nn.Dropout(dropout)
        self.classifier = nn.Linear(d, classes)

    def forward(self, ids):
        padding = ids == 0
        x = self.embedding(ids) * self.scale + self.table[: ids.shape[1]]
        for layer in self.encoder:
            x = layer(x, src_key_padding_mask=padding)
        kept = (~padding).unsqueeze(-1).to(x.dtype)
        return self.classifier(self.drop((x * kept).sum(1) / kept.sum(1)))


def our_name(name):
    for theirs, ours in [
        ("embedding.weight", "embedding"),
        ("position.weight", "position"),
        ("self_attn.", "attention."),
        ("in_proj_", "in."),
        ("out_proj.", "out."),
        ("linear1", "ff1"),
        ("linear2", "ff2"),
        ("norm.weight", "norm.gain"),
        ("norm1.weight", "norm1.gain"),
        ("norm2.weight", "norm2.gain"),
    ]:
        name = name.replace(theirs, ours)
    return name


def load_ours(model, tensors):
    """Starts a model from Lockstep's weights; every one must be used."""
    left = set(tensors)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if not parameter.requires_grad:
                continue
            ours = our_name(name)
            values = tensors[ours]
            parameter.copy_(values.t() if ours.endswith(".weight") else values)
            left.remove(ours)
    assert not left, f"weights without a place: {left}"
