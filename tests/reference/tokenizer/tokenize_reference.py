"""An independent tokenizer, to compare `stages/tokenize.ts` with: Python's own csv, tarfile,
`str.lower`, `str.split` and `Counter.most_common`.

    python3 tokenize_reference.py ag_news train.csv test.csv
    python3 tokenize_reference.py imdb aclImdb.tar.gz REVIEWS
    python3 tokenize_reference.py imdb_replaced aclImdb.tar.gz REVIEWS
    python3 tokenize_reference.py arxiv papers.jsonl.gz

prints JSON: per split the number of documents and tokens, length percentiles, the SHA-256 of the
documents' ids (a document per line, ids joined by spaces) and of the labels, and the SHA-256 and
some words of the vocabulary. "imdb_replaced" cleans reviews as preprocess_imdb.py of github.com/miyyer/dan
does, counts the words of both splits and keeps all of them. `REVIEWS` takes the first so many reviews of each class and split, by
name. ArXiv has no splits: every document counts, in file order, and the split is named "all".

tokenize_reference.json holds what it printed for the sample files that data/sources.yaml names: see `origin`
there. Python 3.11.
"""
import csv
import gzip
import hashlib
import json
import statistics
import sys
import tarfile
from collections import Counter, defaultdict

MAX_VOCABULARY = 50_000
MIN_FREQUENCY = 2


def sha256(text):
    return hashlib.sha256(text.encode()).hexdigest()


def read_ag_news(train, test):
    for split, path in (("train", train), ("test", test)):
        with open(path, newline="", encoding="utf-8") as file:
            for label, title, description in csv.reader(file):
                yield split, int(label) - 1, title + " " + description


def read_imdb(path, reviews):
    found = defaultdict(dict)
    with tarfile.open(path) as archive:
        for member in archive:
            parts = member.name.split("/")
            if member.isfile() and len(parts) == 4 and parts[2] in ("neg", "pos"):
                found[parts[1], parts[2]][member.name] = archive.extractfile(member).read()
    for split in ("train", "test"):
        for label, name in enumerate(("neg", "pos")):
            for _, data in sorted(found[split, name].items())[: int(reviews)]:
                yield split, label, data.decode()


def read_arxiv(path):
    with gzip.open(path, "rt", encoding="utf-8") as file:
        for line in file:
            row = json.loads(line)
            yield "all", row["label"], row["text"]


def replaced(line):
    """The replacements of preprocess_imdb.py, in its order."""
    line = line.strip().replace(".", "").replace(",", "")
    line = line.replace(";", "").replace("<br />", " ")
    line = line.replace(":", "").replace('"', "")
    line = line.replace("(", "").replace(")", "")
    line = line.replace("!", "").replace("*", "")
    line = line.replace(" - ", " ").replace(" -- ", "")
    return line.replace("?", "")


def percentile(lengths, percent):
    """As numpy.percentile's default, without NumPy."""
    lengths = sorted(lengths)
    if percent == 50:
        return statistics.median(lengths)
    return statistics.quantiles(lengths, n=100, method="inclusive")[percent - 1]


READERS = {
    "ag_news": read_ag_news,
    "imdb": read_imdb,
    "imdb_replaced": read_imdb,
    "arxiv": read_arxiv,
}


def main(name, *paths):
    rows = list(READERS[name](*paths))
    clean = name == "imdb_replaced"
    max_length, min_frequency = (10**9, 1) if clean else (512, MIN_FREQUENCY)
    if clean:
        rows = [(split, label, replaced(text)) for split, label, text in rows]
    rows = [(split, label, text.lower().split()) for split, label, text in rows]
    counts = Counter()
    for split, _, words in rows:
        if clean or split != "test":
            counts.update(words)
    kept = [w for w, n in counts.most_common() if n >= min_frequency][: MAX_VOCABULARY - 2]
    ids = {word: i + 2 for i, word in enumerate(kept)}
    splits = {}
    for split in dict.fromkeys(split for split, _, _ in rows):
        documents = [(label, words) for s, label, words in rows if s == split]
        lengths = [len(words) for _, words in documents]
        lines = [
            " ".join(str(ids.get(w, 1)) for w in words[:max_length]) or "1"
            for _, words in documents
        ]
        splits[split] = {
            "documents": len(documents),
            "tokens": sum(lengths),
            "percentiles": [percentile(lengths, p) for p in (50, 90, 95, 99)],
            "clipped": sum(n > max_length for n in lengths),
            "ids": sha256("\n".join(lines)),
            "labels": sha256(" ".join(str(label) for label, _ in documents)),
            "first": lines[0][:60],
        }
    print(json.dumps({
        "vocabularySize": len(kept) + 2,
        "vocabulary": sha256("\n".join(kept)),
        "head": kept[:5],
        "tail": kept[-5:],
        "splits": splits,
    }, indent=1))


main(*sys.argv[1:])
