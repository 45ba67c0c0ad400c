"""Times a training step of the models of sizes.ts in PyTorch on one processor, by its own time; as in measure.ts
the later half of four seconds' steps counts."""
import json
import math
import resource
import statistics
import sys
import time

import torch
from torch import nn
from torch.nn import functional as F

SIZES, MODEL = json.loads(sys.argv[1]), sys.argv[2]
S = SIZES[MODEL]
torch.manual_seed(0)
torch.set_num_threads(1)


class Block(nn.Module):
    def __init__(self, pre, bias):
        super().__init__()
        d = S["d"]
        self.pre = pre
        self.norm1, self.norm2 = nn.LayerNorm(d), nn.LayerNorm(d)
        self.qkv, self.out = nn.Linear(d, 3 * d, bias=bias), nn.Linear(d, d, bias=bias)
        self.ff1, self.ff2 = nn.Linear(d, S["dFf"], bias=bias), nn.Linear(S["dFf"], d, bias=bias)
        self.drop = nn.Dropout(0.1)

    def attend(self, x):
        b, t, d = x.shape
        q, k, v = (
            part.view(b, t, S["heads"], -1).transpose(1, 2) for part in self.qkv(x).split(d, 2)
        )
        scores = q @ k.transpose(2, 3) / math.sqrt(d // S["heads"])
        if self.pre:
            scores = scores.masked_fill(torch.ones(t, t).triu(1).bool(), -math.inf)
        mixed = self.drop(scores.softmax(-1)) @ v
        return self.out(mixed.transpose(1, 2).reshape(b, t, d))

    def forward(self, x):
        if self.pre:
            x = x + self.drop(self.attend(self.norm1(x)))
            return x + self.drop(self.ff2(F.gelu(self.ff1(self.norm2(x)))))
        x = self.norm1(x + self.drop(self.attend(x)))
        return self.norm2(x + self.drop(self.ff2(self.drop(F.gelu(self.ff1(x))))))


class Model(nn.Module):
    def __init__(self, pre):
        super().__init__()
        self.pre = pre
        self.embedding = nn.Embedding(S["vocabulary"], S["d"])
        nn.init.normal_(self.embedding.weight, std=0.02)
        self.position = nn.Parameter(0.02 * torch.randn(S["length"], S["d"]))
        self.blocks = nn.Sequential(*(Block(pre, not pre) for _ in range(S["layers"])))
        self.norm = nn.LayerNorm(S["d"])
        self.head = nn.Linear(S["d"], S["classes"])
        self.drop = nn.Dropout(0.1)

    def forward(self, ids):
        x = self.embedding(ids) + self.position
        if self.pre:
            return self.norm(self.blocks(self.drop(x))) @ self.embedding.weight.T
        return self.head(self.drop(self.blocks(x).mean(1)))


pre = MODEL != "classifier"
model = Model(pre)
ids = torch.randint(1, S["vocabulary"], (S["batch"], S["length"]))
labels = torch.randint(0, S["classes"], (ids.numel() if pre else S["batch"],))
adam = torch.optim.Adam(model.parameters(), lr=1e-3)
seconds, losses = [], []
begun = time.process_time()
while len(seconds) < 7 or time.process_time() - begun < 4:
    start = time.process_time()
    adam.zero_grad()
    loss = F.cross_entropy(model(ids).reshape(-1, S["classes"]), labels)
    loss.backward()
    adam.step()
    losses.append(loss.item())
    seconds.append(time.process_time() - start)
print(json.dumps({
    "tokensPerSecond": ids.numel() / statistics.median(seconds[len(seconds) // 2 :]),
    "dispatches": 0,
    "deviceBytes": 0,
    "ofLimit": 0,
    "peakBytes": 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss,
    "losses": [losses[0], losses[-1]],
}))
