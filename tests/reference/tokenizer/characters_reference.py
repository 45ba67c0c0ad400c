"""Cuts and numbers long texts as nanoGPT's prepare scripts do, to compare data/characters.ts with.

    python3 characters_reference.py FOLDER > characters_reference.json

FOLDER holds the sample files that data/sources.yaml names as mirrors. Symbols are sorted and
numbered from 0; ids are hashed as 16-bit little-endian integers.
"""
import gzip
import hashlib
import json
import sys
import zipfile
from array import array


def number(text, shares):
    symbols = sorted(set(text))
    ids = {s: i for i, s in enumerate(symbols)}
    cuts = [int(len(text) * share) for share in shares] + [len(text)]
    parts = [text[a:b] for a, b in zip([0] + cuts, cuts)]
    return {
        "symbols": [s if isinstance(s, int) else ord(s) for s in symbols],
        "sizes": [len(part) for part in parts],
        "ids": [hashlib.sha256(array("H", [ids[s] for s in p]).tobytes()).hexdigest() for p in parts],
    }


folder = sys.argv[1]
shakespeare = open(f"{folder}/tinyshakespeare/input.txt", "rb").read()
text8 = gzip.open(f"{folder}/text8/text8.prefix-12549840.gz").read()
enwik8 = gzip.open(f"{folder}/enwik8/enwik8.prefix-4154399.gz").read()
with zipfile.ZipFile(f"{folder}/gutenberg/nltk_gutenberg_2008-11.zip") as archive:
    books = sorted(n for n in archive.namelist() if n.endswith(".txt"))
    gutenberg = b"".join(archive.read(n) for n in books)
print(json.dumps({
    "origin": "characters_reference.py, Python 3.11, on the sample files; checksums: data/sources.yaml",
    "tinyshakespeare": {"unit": "byte", "shares": [0.9, 0.1, 0], **number(shakespeare, [0.9])},
    "text8_prefix": {"unit": "byte", "shares": [0.9, 0.05, 0.05], **number(text8, [0.9, 0.95])},
    "enwik8_prefix": {"unit": "byte", "shares": [0.9, 0.05, 0.05], **number(enwik8, [0.9, 0.95])},
    "gutenberg_2008": {"unit": "byte", "shares": [0.9, 0.1, 0], **number(gutenberg, [0.9])},
    "enwik8_characters": {
        "unit": "character", "shares": [0.9, 0.05, 0.05],
        **number(enwik8.decode(), [0.9, 0.95]),
    },
}, indent=1))
