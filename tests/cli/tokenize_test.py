#!/usr/bin/env python3
"""lithe tokenize: ids, pieces and bytes, and the way back."""
import json
import tempfile
import zlib
from pathlib import Path

from support import HYBRID, TOY, USAGE, check, equal, finish, good, lithe, refused

golden = json.loads(Path("tests/data/golden/tiny-hybrid-fp32.json").read_text())
TEXTS = [p["text"] for p in golden["prompts"]] + ["", " ", "\n", "a\tb\\c", "naïve café", "日本語", "👩‍👩‍👧", "  two  spaces  ", "\r\n", "0x7f\x7f"]


def ids_of(*args, model=HYBRID, **how):
    return [int(i) for i in good("tokenize", model, "--ids", *args, **how).text.split()]


for prompt in golden["prompts"]:
    equal(ids_of(prompt["text"]), prompt["ids"][len(golden["bos"]):], f"ids of {prompt['name']}")
    equal(ids_of("<bos>" + prompt["text"]), prompt["ids"], f"ids of {prompt['name']} with a start token")

for text in TEXTS:
    ids = ids_of(stdin=text)
    equal(ids_of("--", text), ids, f"ids of {text!r} as an argument")
    objects = good("tokenize", HYBRID, "--json", stdin=text).json()
    equal([o["id"] for o in objects], ids, f"ids of {text!r} as JSON")
    equal(good("tokenize", HYBRID, "--json", "--ids", stdin=text).json(), ids, f"JSON ids of {text!r}")
    for o in objects:
        check(isinstance(o["piece"], str) and all(0 <= b <= 255 for b in o["bytes"]), f"token {o}")
    lines = good("tokenize", HYBRID, stdin=text).text.splitlines()
    equal(len(lines), len(ids), f"lines for {text!r}")
    for line, o in zip(lines, objects):
        number, piece, spelled = line.split("\t")
        equal(int(number), o["id"], "id in the table")
        equal(list(bytes.fromhex(spelled)), o["bytes"], f"bytes of token {number}")
    joined = b"".join(bytes(o["bytes"]) for o in objects)
    check(joined in (text.encode(), b" " + text.encode()), f"bytes of {text!r} join to {joined!r}")
    back = good("tokenize", HYBRID, "--decode", stdin=" ".join(map(str, ids)))
    equal(back.text, text, f"{text!r} there and back")
    equal(good("tokenize", HYBRID, "--decode", stdin=json.dumps(ids)).text, text, f"{text!r} back from a JSON array")
    if ids:
        equal(good("tokenize", HYBRID, "--decode", *ids).text, text, f"{text!r} back from arguments")
    equal(good("tokenize", HYBRID, "--decode", "--json", stdin=json.dumps(ids)).json(), text, f"{text!r} back as JSON")

# Start tokens and special tokens only if asked for
plain = ids_of("the toy", model=TOY)
equal(ids_of("--start", "the toy", model=TOY), [1] + plain, "--start")
equal(ids_of("--special", "<s>", model=TOY), [1], "--special")
check(1 not in ids_of("<s>", model=TOY), "special text became a token without --special")
for model, text in ((TOY, "<s>"), (HYBRID, "<bos>")):
    equal(good("tokenize", model, "--decode", "1").text, "", f"{text} without --special")
    equal(good("tokenize", model, "--decode", "--special", "1").text, text, f"{text} with --special")

# The bundle's own tokenizer.json differs nowhere, another one in what is listed.
with tempfile.TemporaryDirectory() as folder:
    own, lines = Path(folder, "tokenizer.json"), Path(folder, "lines")
    own.write_bytes(zlib.decompress(Path("tests/data/text/tiny-hybrid.json.zlib").read_bytes()[8:]))
    lines.write_text("a line\n\nanother line\n")
    equal(good("tokenize", "--check", own, HYBRID).text, "0 of 31 strings differ\n", "the bundle's own tokenizer")
    equal(good("tokenize", "--check", own, HYBRID, lines).text, "0 of 33 strings differ\n", "two lines of a file more")
    equal(good("tokenize", "--check", own, HYBRID, "--json").json(), [], "no difference as JSON")
    r = lithe("tokenize", "--check", "tests/data/text/hf-qwen.json", HYBRID, lines, "--json")
    found = {d["text"]: d for d in json.loads(r.text)}
    equal(r.code, 1, "exit code where strings differ")
    equal(found["a line"]["bundle"], ids_of("a line"), "the bundle's ids of a line that differs")
    check(found["a line"]["bundle"] != found["a line"]["checkpoint"], "a difference that is none")
equal(good("tokenize", HYBRID, "--count", "hello world").text, f"{len(ids_of('hello world'))}\n", "--count")
refused(USAGE, "tokenize", HYBRID, "--check", "x.json", "--ids", says="--check does not go with")
refused(USAGE, "tokenize", HYBRID, "--decode", "1", "two", says='"two" is no token id')
refused(USAGE, "tokenize", HYBRID, "--decode", "4294967296", says="4294967296")
refused(USAGE, "tokenize", HYBRID, "--decode", stdin="1 -2", says='"-2" is no token id')
refused(USAGE, "tokenize", HYBRID, "--decode", "99999999", says="99999999")

finish()
