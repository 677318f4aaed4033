#!/usr/bin/env python3
"""lithe tokenize: ids, pieces and bytes, and the way back."""
import json
from pathlib import Path

from support import HYBRID, USAGE, check, equal, finish, good, refused

golden = json.loads(Path("tests/data/golden/tiny-hybrid-fp32.json").read_text())
TEXTS = [p["text"] for p in golden["prompts"]] + ["", " ", "\n", "a\tb\\c", "naïve café", "日本語", "👩‍👩‍👧", "  two  spaces  ", "\r\n", "0x7f\x7f"]


def ids_of(*args, **how):
    return [int(i) for i in good("tokenize", HYBRID, "--ids", *args, **how).text.split()]


for prompt in golden["prompts"]:
    equal(ids_of("--start", prompt["text"]), prompt["ids"], f"ids of {prompt['name']}")
    equal(ids_of(prompt["text"]), prompt["ids"][len(golden["bos"]):], f"ids of {prompt['name']} without start token")

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

# Special tokens are text unless asked for, and shown only if asked for.
special = bytes(good("tokenize", HYBRID, "--decode", "--special", *golden["bos"]).out).decode()
if special:
    check(ids_of("--special", special) == golden["bos"], f"--special {special!r} gives {ids_of('--special', special)}")
equal(good("tokenize", HYBRID, "--decode", *golden["bos"]).text, "", "a control token without --special")

refused(USAGE, "tokenize", HYBRID, "--decode", "1", "two", says='"two" is no token id')
refused(USAGE, "tokenize", HYBRID, "--decode", "4294967296", says="4294967296")
refused(USAGE, "tokenize", HYBRID, "--decode", stdin="1 -2", says='"-2" is no token id')
refused(USAGE, "tokenize", HYBRID, "--decode", "99999999", says="99999999")

finish()
