#!/usr/bin/env python3
"""Small tokenizers and what the original libraries make of a list of strings: tests/data/text/.

    make_text_goldens.py [--models] [--bundles DIR]

Needs sentencepiece and tokenizers (scripts/peer/peer_env.sh). Without --models the committed tokenizers are kept and only ids and
texts are made again (tokenizers that are missing are trained). With --bundles also those of Gemma 3, whose tokenizer is too large to commit.

A golden file: {"tokenizer": path, "format": "sentencepiece" | "hf" | "hf_zlib", "ids": [ids of each string of strings.json],
"decode": [{"ids": …, "plain": text without special tokens, "special": text with them, or null}]}.
"""
import argparse
import json
import os
import random
import struct
import zlib

import sentencepiece
from sentencepiece import sentencepiece_model_pb2 as sp_pb2
import tokenizers
from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
DATA = os.path.join(ROOT, "tests", "data", "text")
SMOLLM2 = "scripts/bundles/skeletons/smollm2-135m.tokenizer.json.zlib"
GPT4_PATTERN = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*"
                r"|\s*[\r\n]+|\s+(?!\S)|\s+")
QWEN_PATTERN = GPT4_PATTERN.replace("{1,3}", "")

RANGES = [(0x20, 0x7E)] * 5 + [
    (0xA0, 0x24F), (0x300, 0x36F), (0x370, 0x3FF), (0x400, 0x4FF), (0x590, 0x5FF), (0x600, 0x6FF), (0x900, 0x97F), (0xE00, 0xE7F),
    (0x1100, 0x11FF), (0x2000, 0x206F), (0x2070, 0x20CF), (0x2460, 0x24FF), (0x3000, 0x30FF), (0x4E00, 0x4FFF), (0xAC00, 0xADFF),
    (0xF900, 0xFAFF), (0xFF00, 0xFFEF), (0x1F300, 0x1F64F), (0x1D400, 0x1D4FF), (0, 0x1F), (0xE000, 0xE0FF), (0x10000, 0x100FF)]
WRITTEN = [
    "", " ", "  ", "\n", "\t", "a", "Hello world!", " Hello world! ", "  two  spaces ", "Hello! 😊", "a  b\t c\n\n  d's",
    "Hello world! Café déjà vu — 123 😊", "This is 🦙.cpp", "<s> G", "text<special> word", "<start_of_turn>user\nhi<end_of_turn>\n",
    "<end_of_turn>", "<|im_start|>user\nWhat is 2+2?<|im_end|>\n<|im_start|>assistant\n", "<bos>hi<eos>", "<pad><unk>", "é", "ł", "Ġ", "Ċ",
    " é", "łĠé", "\\n", " \n", "\n \n", "  \n\n  x", "▁", "▁▁a", " ▁ ", "<0x0A>", "<0xE2><0x96>", "don't we'll I'VE 'sup 's", "x='a'; y = \"b\"",
    "for (int i = 0; i < n; i++) {\n\treturn a[i] + 0x1F;\n}\n", "def f(x):\n    if x:\n        return 3.14159e-10\n", "1234567890",
    "12 345,678.90", "١٢٣ ४५६ ①②③ ½ Ⅷ 三", "A\u0301 e\u0301\u0323 o\u0323\u0301 \u1e9b\u0323", "ﬁ ﬂ ﷺ Å Å ｶﾞ ｱ", "Straße STRASSE İstanbul ıI",
    "\u0000", "a\u0000b", "\u0001\u0002\u007f\u0085", "\u00a0nbsp\u2003em\u3000ideographic\u180e", "\ufeffbom", "zero\u200bwidth\u200djoin",
    "\u202eright-to-left\u202c", "שלום עולם", "مرحبا بالعالم", "नमस्ते दुनिया", "สวัสดีชาวโลก", "你好，世界！", "こんにちは世界", "안녕하세요 세계", "Привет, мир",
    "Γειά σου Κόσμε", "👩‍👩‍👧‍👦🏳️‍🌈🇩🇪", "👍🏽👍", "\U0001F600\U0001F601", "𝔘𝔫𝔦𝔠𝔬𝔡𝔢", "\ue000\uf8ff\U000f0000", "\ufffd\ufffe\uffff", "\U0010ffff",
    "a" * 100, " " * 50, "ab" * 60, "\n" * 20, "=" * 70, "é" * 40, "😊" * 12, "a b " * 20, "The quick brown fox jumps over the lazy dog.",
    "THE QUICK BROWN FOX", "mixedCaseIdentifier snake_case_identifier kebab-case", "https://example.com/a?b=c&d=%20#frag", "me@example.com",
    "{\"key\": [1, 2.5, null, true]}", "| a | b |\n|---|---|\n| 1 | 2 |\n", "$$\\int_0^1 x^2\\,dx$$", "[WORD] keep [STRIP]  after x[WORD]y  [STRIP]z",
    "  [STRIP]  [STRIP]  ", "yesterday Yesterday YESTERDAY", "[WORD][WORD]", "a[STRIP]", "a--b - c", "…„“”‘’–—", "wor1d w0rld 4ever",
]
INVALID = [b"\xff", b"a\x80b", b"\xe2\x82", b"\xf0\x9f\x98", b"\xc0\x80", b"\xed\xa0\x80", b"x\xf4\x90\x80\x80y", b"\xe2\x28\xa1 ok", b"\xf0\x9f\x98\x8a\xf0\x9f"]


def strings():
    r = random.Random(7)
    words = [w for s in WRITTEN for w in s.split(" ") if 0 < len(w) < 20]
    out = list(WRITTEN)
    for i in range(220):
        k = i % 4
        if k == 0:
            a, b = r.choice(RANGES)
            out.append("".join(chr(r.randint(a, b)) for _ in range(r.randint(1, 10))))
        elif k == 1:
            out.append("".join(chr(r.randint(*r.choice(RANGES))) for _ in range(r.randint(1, 14))))
        elif k == 2:
            out.append(r.choice([" ", "", "\n", "  "]).join(r.choice(words) for _ in range(r.randint(2, 8))))
        else:
            out.append(r.choice(words) * r.randint(1, 6) + r.choice(["", " ", "\t"]) + r.choice(words))
    return out


def corpus():
    """Text to train on: this machine's Python library, and the strings (for other scripts)."""
    base = os.path.dirname(os.__file__)
    lines = []
    for name in ("argparse", "ast", "typing", "datetime", "difflib", "tarfile", "textwrap", "random", "statistics", "unittest/mock"):
        lines += [x.strip() for x in open(os.path.join(base, name + ".py"), encoding="utf-8") if 20 < len(x.strip()) < 200]
    return lines + [s for s in strings() if s and "\0" not in s] * 3


# ---- SentencePiece models

SP_MODELS = {
    "unigram-nfkc": dict(model_type="unigram", vocab_size=800, normalization_rule_name="nmt_nfkc", user_defined_symbols=["<special>", "[WORD]"]),
    "unigram-bytes": dict(model_type="unigram", vocab_size=900, normalization_rule_name="identity", byte_fallback=True, character_coverage=0.98,
                          remove_extra_whitespaces=False),
    "bpe-nfkc-cf": dict(model_type="bpe", vocab_size=700, normalization_rule_name="nfkc_cf"),
    "bpe-llama": dict(model_type="bpe", vocab_size=900, normalization_rule_name="identity", byte_fallback=True, remove_extra_whitespaces=False,
                      allow_whitespace_only_pieces=True, split_digits=True),
    "bpe-gemma": dict(model_type="bpe", vocab_size=900, normalization_rule_name="identity", byte_fallback=True, remove_extra_whitespaces=False,
                      add_dummy_prefix=False, user_defined_symbols=["<start_of_turn>", "<end_of_turn>", "▁▁", "▁▁▁", "\n", "\n\n", "\t"],
                      control_symbols=["<mask>"]),
    "bpe-suffix": dict(model_type="bpe", vocab_size=600, treat_whitespace_as_suffix=True, normalization_rule_name="identity"),
    "bpe-across": dict(model_type="bpe", vocab_size=900, split_by_whitespace=False, normalization_rule_name="identity", byte_fallback=True),
}


def train_sentencepiece():
    lines = [x for x in corpus() if "▁" not in x]
    for name, options in SP_MODELS.items():
        path = os.path.join(DATA, name + ".model")
        with open(path, "wb") as f:
            sentencepiece.SentencePieceTrainer.train(sentence_iterator=iter(lines), model_writer=f, minloglevel=2, num_threads=1,
                                                     hard_vocab_limit=False, max_sentence_length=4000, **{"character_coverage": 0.995, **options})
    # A model with unused pieces: they are merged, then fall apart again.
    for source, name in (("bpe-llama", "bpe-unused"), ("unigram-bytes", "unigram-unused")):
        m = sp_pb2.ModelProto()
        m.ParseFromString(open(os.path.join(DATA, source + ".model"), "rb").read())
        ordinary = [p for p in m.pieces if p.type == p.NORMAL and len(p.piece) > 1]
        for p in ordinary[::3]:
            p.type = p.UNUSED
        open(os.path.join(DATA, name + ".model"), "wb").write(m.SerializeToString())


# ---- tokenizer.json files

ADDED = [AddedToken("<|im_start|>", special=True, normalized=False), AddedToken("<|im_end|>", special=True, normalized=False),
         AddedToken("[WORD]", single_word=True, normalized=False), AddedToken("[STRIP]", lstrip=True, rstrip=True, normalized=False),
         AddedToken("Yesterday", normalized=True), AddedToken("<special>", special=True, normalized=False)]


def byte_level(vocab_size=700, **train):
    t = Tokenizer(models.BPE())
    t.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    t.decoder = decoders.ByteLevel()
    t.train_from_iterator(corpus(), trainers.BpeTrainer(vocab_size=vocab_size, show_progress=False,
                                                        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), **train))
    return t


def spaced(vocab_size=900, **model):
    """Pieces with space symbols and byte pieces, as SentencePiece models are converted."""
    byte_pieces = ["<0x%02X>" % b for b in range(256)]
    t = Tokenizer(models.BPE(unk_token="<unk>", fuse_unk=True, byte_fallback=True, **model))
    t.normalizer = normalizers.Replace(" ", "▁")
    t.pre_tokenizer = pre_tokenizers.Split("▁", "merged_with_next")
    t.train_from_iterator(corpus(), trainers.BpeTrainer(vocab_size=vocab_size, show_progress=False, limit_alphabet=150,
                                                        special_tokens=["<pad>", "<unk>", "<bos>", "<eos>"] + byte_pieces))
    j = json.loads(t.to_str())
    j["added_tokens"] = [a for a in j["added_tokens"] if not a["content"].startswith("<0x")]
    return Tokenizer.from_str(json.dumps(j))


def hf_tokenizers():
    gpt2 = byte_level()
    gpt2.add_tokens(ADDED)
    gpt2.post_processor = processors.ByteLevel(trim_offsets=False)
    yield "hf-gpt2", gpt2
    prefix = byte_level()
    prefix.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=True)
    prefix.normalizer = normalizers.Sequence([normalizers.NFC(), normalizers.Strip(left=False, right=True)])
    prefix.add_tokens(ADDED)
    yield "hf-prefix-space", prefix
    llama3 = byte_level()
    llama3.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.Split(Regex(GPT4_PATTERN), "isolated", invert=False),
                                                    pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])
    llama3.add_special_tokens([AddedToken("<|im_start|>", special=True), AddedToken("<|im_end|>", special=True)])
    j = json.loads(llama3.to_str())
    j["model"]["ignore_merges"] = True
    j["model"]["merges"] = [" ".join(m) for m in j["model"]["merges"] if " " not in "".join(m)]
    yield "hf-llama3", Tokenizer.from_str(json.dumps(j)), j
    qwen = byte_level()
    qwen.normalizer = normalizers.NFC()
    qwen.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.Split(Regex(QWEN_PATTERN), "isolated", invert=False),
                                                  pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])
    qwen.add_tokens(ADDED)
    yield "hf-qwen", qwen
    lower = byte_level()
    lower.normalizer = normalizers.Sequence([normalizers.NFKD(), normalizers.StripAccents(), normalizers.Lowercase()])
    lower.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.Digits(individual_digits=False), pre_tokenizers.Punctuation("contiguous"),
                                                   pre_tokenizers.ByteLevel(add_prefix_space=False)])
    lower.add_tokens([AddedToken("Yesterday", normalized=True), AddedToken("[WORD]", single_word=True, normalized=True)])
    yield "hf-lower", lower
    gemma = spaced()
    gemma.decoder = decoders.Sequence([decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse()])
    gemma.pre_tokenizer = pre_tokenizers.Split(" ", "merged_with_previous", invert=False)
    gemma.add_tokens(["\n", "\n\n", "▁▁", "<start_of_turn>"])
    gemma.add_special_tokens(["<end_of_turn>"])
    yield "hf-gemma", gemma
    llama = spaced()
    llama.normalizer = normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])
    llama.pre_tokenizer = None
    llama.decoder = decoders.Sequence([decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", 1, 0)])
    llama.add_special_tokens([AddedToken("<s>", special=True, normalized=False)])
    yield "hf-llama", llama
    for scheme in ("first", "always", "never"):
        meta = spaced(700)
        meta.normalizer = None
        meta.pre_tokenizer = pre_tokenizers.Metaspace("▁", prepend_scheme=scheme, split=scheme != "first")
        meta.decoder = decoders.Metaspace("▁", prepend_scheme=scheme)
        meta.add_special_tokens([AddedToken("<special>", special=True, normalized=False)])
        yield "hf-metaspace-" + scheme, meta
    # Words end in </w>, later characters of a word are marked: no decoder, so tokens are joined by spaces.
    suffix = Tokenizer(models.BPE(unk_token="[UNK]", end_of_word_suffix="</w>"))
    suffix.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    suffix.train_from_iterator(corpus(), trainers.BpeTrainer(vocab_size=500, show_progress=False, limit_alphabet=80, end_of_word_suffix="</w>",
                                                             special_tokens=["[UNK]"]))
    yield "hf-suffix", suffix
    marked = Tokenizer(models.BPE(unk_token="[UNK]", continuing_subword_prefix="##"))
    marked.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Split(Regex(r"\d+"), "merged_with_next", invert=False),
                                                    pre_tokenizers.Split(Regex("[a-z]+"), "removed", invert=True)])
    marked.normalizer = normalizers.Replace(Regex("[-_]+"), "dash")
    marked.train_from_iterator(corpus(), trainers.BpeTrainer(vocab_size=400, show_progress=False, limit_alphabet=60, continuing_subword_prefix="##",
                                                             special_tokens=["[UNK]"]))
    yield "hf-marked", marked
    bert = Tokenizer(models.WordPiece(unk_token="[UNK]", max_input_chars_per_word=40))
    bert.normalizer = normalizers.BertNormalizer(lowercase=True)
    bert.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    bert.train_from_iterator(corpus(), trainers.WordPieceTrainer(vocab_size=900, show_progress=False, limit_alphabet=200,
                                                                 special_tokens=["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]))
    bert.post_processor = processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
    bert.decoder = decoders.WordPiece(prefix="##", cleanup=True)
    yield "hf-bert", bert
    cased = Tokenizer.from_str(bert.to_str())
    cased.normalizer = normalizers.BertNormalizer(lowercase=False, clean_text=True, handle_chinese_chars=False, strip_accents=True)
    cased.pre_tokenizer = pre_tokenizers.Whitespace()
    cased.decoder = decoders.WordPiece(prefix="##", cleanup=False)
    yield "hf-wordpiece", cased
    ended = Tokenizer(models.BPE(unk_token="<unk>", end_of_word_suffix="</w>"))
    ended.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    ended.decoder = decoders.BPEDecoder("</w>")
    ended.train_from_iterator(corpus(), trainers.BpeTrainer(vocab_size=500, show_progress=False, limit_alphabet=80, end_of_word_suffix="</w>",
                                                            special_tokens=["<unk>"]))
    yield "hf-word-ends", ended
    # As T5's and XLM-R's are converted: the rules of a SentencePiece model, and its algorithm.
    rules = sp_pb2.ModelProto()
    rules.ParseFromString(open(os.path.join(DATA, "unigram-nfkc.model"), "rb").read())
    for name, fallback in (("hf-unigram", False), ("hf-unigram-bytes", True)):
        source = sp_pb2.ModelProto()
        source.ParseFromString(open(os.path.join(DATA, "unigram-%s.model" % ("bytes" if fallback else "nfkc")), "rb").read())
        uni = Tokenizer(models.Unigram([(p.piece, p.score) for p in source.pieces], 0, byte_fallback=fallback))
        if not fallback:
            uni.normalizer = normalizers.Sequence([normalizers.Precompiled(rules.normalizer_spec.precompiled_charsmap),
                                                   normalizers.Replace(Regex(" {2,}"), " ")])
        uni.pre_tokenizer = pre_tokenizers.Metaspace("▁", prepend_scheme="always")
        uni.decoder = decoders.Sequence([decoders.ByteFallback(), decoders.Metaspace("▁")]) if fallback else decoders.Metaspace("▁")
        uni.add_special_tokens(["<s>", "</s>"])
        uni.post_processor = processors.TemplateProcessing("$A </s>", "$A </s> $B </s>", [("</s>", uni.token_to_id("</s>"))])
        yield name, uni
    # K11: a pattern written as a literal string matches only itself.
    literal = byte_level(500)
    literal.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.Split(QWEN_PATTERN, "isolated", invert=False),
                                                     pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])
    yield "hf-literal-pattern", literal


def train_hf(all_again):
    for name, t, *j in hf_tokenizers():
        if not all_again and os.path.exists(os.path.join(DATA, name + ".json")):
            continue
        text = json.dumps(j[0] if j else json.loads(t.to_str()), ensure_ascii=False, separators=(",", ":"))
        open(os.path.join(DATA, name + ".json"), "w", encoding="utf-8").write(text)


# ---- goldens

class Original:
    def __init__(self, data, form):
        if form == "sentencepiece":
            sp = sentencepiece.SentencePieceProcessor(model_proto=data)
            self.encode, self.plain, self.special, self.n = sp.encode, sp.decode, lambda ids: None, sp.vocab_size()
        else:
            hf = Tokenizer.from_str((zlib.decompress(data[8:]) if form == "hf_zlib" else data).decode())
            self.encode = lambda s: hf.encode(s, add_special_tokens=False).ids
            self.plain = lambda ids: hf.decode(ids, skip_special_tokens=True)
            self.special = lambda ids: hf.decode(ids, skip_special_tokens=False)
            self.n = hf.get_vocab_size()


def golden(name, path, form, data, texts):
    o = Original(data, form)
    r = random.Random(len(data))
    ids = [list(o.encode(s)) for s in texts]
    lists = [i for i in ids if i][::2]
    lists += [[r.randrange(o.n) for _ in range(r.randint(1, 9))] for _ in range(60)]
    first = [r.randrange(min(o.n, 300)) for _ in range(200)]   # byte pieces and special tokens are among the first
    lists += [first[i:i + 5] for i in range(0, 200, 5)]
    out = {"tokenizer": path, "format": form, "ids": ids,
           "decode": [{"ids": x, "plain": o.plain(x), "special": o.special(x)} for x in lists]}
    with open(os.path.join(DATA, "golden", name + ".json"), "w", encoding="utf-8") as f:
        json.dump(out, f, ensure_ascii=False, separators=(",", ":"))


def section(path, kinds):
    """Type and bytes of a bundle's tokenizer section (litert-lm-builder reads the header)."""
    from litert_lm_builder import litertlm_header_schema_py_generated as schema
    head = open(path, "rb").read(1 << 16)
    meta = schema.LiteRTLMMetaData.GetRootAs(head, 32).SectionMetadata()
    for i in range(meta.ObjectsLength()):
        o = meta.Objects(i)
        if o.DataType() in kinds:
            with open(path, "rb") as f:
                f.seek(o.BeginOffset())
                return f.read(o.EndOffset() - o.BeginOffset())


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--models", action="store_true", help="train the tokenizers again")
    p.add_argument("--bundles", help="folder with gemma3-270m-int8.litertlm")
    a = p.parse_args()
    os.makedirs(os.path.join(DATA, "golden"), exist_ok=True)
    if a.models:
        train_sentencepiece()
    train_hf(a.models)
    texts = strings()
    texts_all = texts + [b.decode("utf-8", "replace") for b in INVALID]
    with open(os.path.join(DATA, "strings.json"), "w", encoding="utf-8") as f:
        json.dump({"strings": texts, "invalid_hex": [b.hex() for b in INVALID]}, f, ensure_ascii=False, separators=(",", ":"))
    for file in sorted(os.listdir(DATA)):
        name, ext = os.path.splitext(file)
        if ext == ".model" or (ext == ".json" and file.startswith("hf-")):
            path = "tests/data/text/" + file
            golden(name, path, "sentencepiece" if ext == ".model" else "hf", open(os.path.join(ROOT, path), "rb").read(), texts_all)
    golden("smollm2", SMOLLM2, "hf_zlib", open(os.path.join(ROOT, SMOLLM2), "rb").read(), texts_all)
    hybrid = section(os.path.join(ROOT, "tests/data/bundles/tiny-hybrid-fp32.litertlm"), (6,))
    if hybrid:
        open(os.path.join(DATA, "tiny-hybrid.json.zlib"), "wb").write(hybrid)
        golden("tiny-hybrid", "tests/data/text/tiny-hybrid.json.zlib", "hf_zlib", hybrid, texts_all)
    if a.bundles:
        golden("gemma3", "gemma3-270m-int8.litertlm", "sentencepiece", section(os.path.join(a.bundles, "gemma3-270m-int8.litertlm"), (4,)), texts_all)


if __name__ == "__main__":
    main()
