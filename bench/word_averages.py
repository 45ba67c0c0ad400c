"""PyTorch's side of bench/word_averages.ts: trains on the given ids, and prints the
processor seconds of a pass after one that does not count."""
import sys
import time

import torch
from torch import nn

VOCABULARY, LENGTH, BATCH, D = 195_000, 230, 15, 300

torch.set_num_threads(1)
ids = torch.frombuffer(bytearray(open(sys.argv[1], "rb").read()), dtype=torch.int32).long()
documents = ids.reshape(-1, LENGTH)
labels = torch.arange(len(documents)) % 2
bag = nn.EmbeddingBag(VOCABULARY, D, mode="mean", sparse=True)
layers = nn.Sequential(
    *(m for _ in range(3) for m in (nn.Linear(D, D), nn.ReLU())), nn.Linear(D, 2)
)
parameters = [*bag.parameters(), *layers.parameters()]
optimizer = torch.optim.Adagrad(parameters, lr=0.005, eps=1e-3)

for _ in range(2):
    start = time.process_time()
    for at in range(0, len(documents), BATCH):
        batch = documents[at : at + BATCH]
        keep = torch.rand(batch.shape) > 0.3
        kept = batch[keep]
        offsets = torch.cat([torch.zeros(1, dtype=torch.long), keep.sum(1).cumsum(0)[:-1]])
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(layers(bag(kept, offsets)), labels[at : at + BATCH])
        loss.backward()
        optimizer.step()
print(time.process_time() - start)
