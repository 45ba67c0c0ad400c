"""Makes small archives, good and hostile, with Python's zipfile and tarfile.

    python3 make_archives.py > archives.json

archives.json maps a name to the archive, compressed by zlib, in base64. The hostile ones must be refused by data/archive.ts and
data/zip.ts.
"""
import base64
import io
import json
import stat
import struct
import tarfile
import warnings
import zipfile
import zlib

TEXTS = {
    "c/train/neg/0.txt": "bad bad film",
    "c/train/pos/1.txt": "größe ist gut",
    "c/test/neg/10.txt": "bad",
    "c/test/pos/2.txt": "good\nfilm",
    "c/train/unsup/0.txt": "neither",
    "c/README": "about",
}


def make_zip(members, compression=zipfile.ZIP_DEFLATED):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", compression) as archive:
        for name, content, *mode in members:
            info = zipfile.ZipInfo(name, (2020, 1, 1, 0, 0, 0))
            info.create_system = 3
            info.external_attr = (mode[0] if mode else stat.S_IFREG | 0o644) << 16
            info.compress_type = compression
            archive.writestr(info, content)
    return out.getvalue()


def make_tar(members, format=tarfile.PAX_FORMAT, mode="w"):
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode=mode, format=format) as archive:
        for name, content, *rest in members:
            info = tarfile.TarInfo(name)
            if rest:
                info.type, info.linkname = rest
            elif name.endswith("/"):
                info.type = tarfile.DIRTYPE
            data = content.encode()
            info.size = len(data) if info.type == tarfile.REGTYPE else 0
            archive.addfile(info, io.BytesIO(data))
    return out.getvalue()


def lying_zip():
    """A member whose directory entry says 10 bytes, but which unpacks to a million."""
    data = bytearray(make_zip([("c/train/neg/0.txt", "a" * 1_000_000)]))
    at = data.rindex(b"PK\x01\x02")
    data[at + 24 : at + 28] = struct.pack("<I", 10)
    return bytes(data)


def overlapping_zip():
    """Two directory entries for one body."""
    one = make_zip([("c/train/neg/0.txt", "a" * 1000)])
    start = one.rindex(b"PK\x01\x02")
    end = one.rindex(b"PK\x05\x06")
    entry = one[start:end]
    other = entry.replace(b"neg/0.txt", b"neg/1.txt")
    record = bytearray(one[end:])
    record[8:12] = struct.pack("<HH", 2, 2)
    record[12:16] = struct.pack("<I", 2 * len(entry))
    return one[:start] + entry + other + bytes(record)


warnings.simplefilter("ignore")
good = list(TEXTS.items())
doc = ("c/train/neg/0.txt", "x")
archives = {
    "good.zip": make_zip([("c/train/", "")] + good),
    "stored.zip": make_zip(good, zipfile.ZIP_STORED),
    "good.tar": make_tar([("c/train/", "")] + good),
    "good.tar.gz": make_tar(list(reversed(good)), mode="w:gz"),
    "gnu.tar": make_tar(good + [("c/train/neg/" + "n" * 200 + ".txt", "long")], tarfile.GNU_FORMAT),
    "pax.tar": make_tar(good + [("c/train/neg/" + "n" * 200 + ".txt", "long")]),
    "dotted.tar": make_tar([("./", "")] + [("./" + n, t) for n, t in good]),
    "traversal.zip": make_zip([doc, ("c/train/neg/../../../../evil.txt", "x")]),
    "absolute.zip": make_zip([doc, ("/etc/evil.txt", "x")]),
    "drive.zip": make_zip([doc, ("C:/evil.txt", "x")]),
    "backslash.zip": make_zip([doc, ("c\\..\\evil.txt", "x")]),
    "link.zip": make_zip([doc, ("c/link", "/etc/passwd", stat.S_IFLNK | 0o777)]),
    "device.zip": make_zip([doc, ("c/null", "", stat.S_IFCHR | 0o666)]),
    "duplicate.zip": make_zip([doc, doc]),
    "bzip2.zip": make_zip([doc], zipfile.ZIP_BZIP2),
    "lying.zip": lying_zip(),
    "overlapping.zip": overlapping_zip(),
    "bomb.zip": make_zip([("c/train/neg/0.txt", "a" * 10_000_000)]),
    "traversal.tar": make_tar([doc, ("c/train/neg/../../../../evil.txt", "x")]),
    "absolute.tar": make_tar([doc, ("/etc/evil.txt", "x")]),
    "link.tar": make_tar([doc, ("c/link", "", tarfile.SYMTYPE, "/etc/passwd")]),
    "hardlink.tar": make_tar([doc, ("c/link", "", tarfile.LNKTYPE, "c/train/neg/0.txt")]),
    "device.tar": make_tar([doc, ("c/null", "", tarfile.CHRTYPE, "")]),
    "fifo.tar": make_tar([doc, ("c/fifo", "", tarfile.FIFOTYPE, "")]),
    "duplicate.tar": make_tar([doc, doc]),
    "bomb.tar.gz": make_tar([("c/train/neg/0.txt", "a" * 10_000_000)], mode="w:gz"),
}
print(json.dumps({k: base64.b64encode(zlib.compress(v, 9)).decode() for k, v in archives.items()}, indent=1))
