"""Checks from outside that a synthetic corpus is as hard as data/synthetic.ts says.

Trains, with PyTorch, a logistic regression on bags of words and a one-layer Transformer of width 32
with and without positions, and prints their test accuracies. Reads a JSON list of
{split, label, text}.

    python3 learn_synthetic.py corpus.json
"""
import json
import math
import sys
import time
from collections import Counter

import torch
from torch import nn
from torch.nn import functional as F

torch.set_num_threads(1)


def main(path):
    rows = json.load(open(path))
    counts = Counter(w for r in rows if r["split"] == "train" for w in r["text"].split())
    words = {w: i + 2 for i, (w, n) in enumerate(counts.most_common()) if n >= 2}
    length = max(len(r["text"].split()) for r in rows)

    def encode(split):
        chosen = [r for r in rows if r["split"] == split]
        x = torch.zeros(len(chosen), length, dtype=torch.long)
        for i, r in enumerate(chosen):
            ids = [words.get(w, 1) for w in r["text"].split()]
            x[i, : len(ids)] = torch.tensor(ids)
        return x, torch.tensor([r["label"] for r in chosen])

    train, test = encode("train"), encode("test")
    vocabulary, classes = len(words) + 2, int(train[1].max()) + 1

    class Bag(nn.Module):
        def __init__(self):
            super().__init__()
            self.embedding = nn.EmbeddingBag(vocabulary, classes, mode="sum", padding_idx=0)

        def forward(self, x):
            return self.embedding(x)

    class Tiny(nn.Module):
        def __init__(self, positions, d=32):
            super().__init__()
            self.embedding = nn.Embedding(vocabulary, d, padding_idx=0)
            nn.init.normal_(self.embedding.weight, std=d**-0.5)
            angle = torch.arange(length)[:, None] * torch.exp(
                torch.arange(0, d, 2) * (-math.log(10000.0) / d)
            )
            table = torch.stack([angle.sin(), angle.cos()], -1).reshape(length, d)
            self.register_buffer("table", table if positions else torch.zeros_like(table))
            self.layer = nn.TransformerEncoderLayer(d, 4, 64, 0.0, batch_first=True)
            self.out = nn.Linear(d, classes)

        def forward(self, x):
            pad = x == 0
            h = self.embedding(x) * math.sqrt(32) + self.table
            h = self.layer(h, src_key_padding_mask=pad)
            keep = (~pad)[..., None].float()
            return self.out((h * keep).sum(1) / keep.sum(1))

    def fit(name, model, epochs, rate, decay):
        optimiser = torch.optim.AdamW(model.parameters(), lr=rate, weight_decay=decay)
        start = time.time()
        x, y = train
        for epoch in range(epochs):
            model.train()
            for batch in torch.randperm(len(x)).split(32):
                optimiser.zero_grad()
                F.cross_entropy(model(x[batch]), y[batch]).backward()
                optimiser.step()
            model.eval()
            with torch.no_grad():
                accuracy = (model(test[0]).argmax(1) == test[1]).float().mean().item()
            print(f"{name:22} epoch {epoch} test {accuracy:.3f} {time.time() - start:.0f} s", flush=True)

    torch.manual_seed(0)
    fit("bag of words", Bag(), 8, 1e-2, 1e-1)
    fit("transformer, no order", Tiny(False), 6, 3e-3, 0.0)
    fit("transformer", Tiny(True), 10, 3e-3, 0.0)


main(sys.argv[1])
