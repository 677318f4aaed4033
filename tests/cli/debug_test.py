#!/usr/bin/env python3
"""lithe debug logits: the numbers of the reference, whatever way the ids are given; and requests that are wrong."""
import json
from pathlib import Path

from support import FILE, HYBRID, HYBRID_INT8, TOO_LARGE, USAGE, check, equal, finish, good, refused, request, scratch

golden = json.loads(Path("tests/data/golden/tiny-hybrid-fp32.json").read_text())
folder = scratch()


def logits(value, *args, model=HYBRID):
    return good("debug", "logits", model, request(folder.name, value), *args).json()["steps"]


# The reference's answer, fed with the reference's tokens
for prompt in golden["prompts"]:
    steps = prompt["steps"]
    asked = {"prefill": prompt["ids"], "decode": [s["id"] for s in steps[:-1]], "report": [[i for i, _ in s["top"]] for s in steps]}
    found = logits(asked)
    equal(len(found), len(steps), f"steps of {prompt['name']}")
    for i, (mine, reference) in enumerate(zip(found, steps)):
        equal(mine["argmax"], reference["top"][0][0], f"{prompt['name']} step {i}")
        for value, (_, expected) in zip(mine["logits"], reference["top"]):
            check(abs(value - expected) < 0.01, f"{prompt['name']} step {i}: logit {value}, reference {expected}")

ids = golden["prompts"][0]["ids"]
more = golden["prompts"][0]["continuation"][:6]
whole = logits({"prefill": ids, "decode": more})
equal(len(whole), 1 + len(more), "one step for the prefill, one for each decoded id")
vocabulary = len(whole[0]["logits"])
check(vocabulary > 500, f"only {vocabulary} logits")
for step in whole:
    equal(step["argmax"], max(range(vocabulary), key=lambda i: (step["logits"][i], -i)), "argmax")

# A report picks and orders; [] and null are none and all
some = logits({"prefill": ids, "decode": more[:3], "report": [[5, 3, 5], [], None, [vocabulary - 1]]})
equal(some[0]["logits"], [whole[0]["logits"][i] for i in (5, 3, 5)], "a report's order")
equal(some[1]["logits"], [], "an empty report")
equal(some[2]["logits"], whole[2]["logits"], "a report of null")
equal(some[3]["logits"], [whole[3]["logits"][-1]], "the last id")
equal(some[1]["argmax"], whole[1]["argmax"], "argmax does not need a report")

# Bit for bit the same however the work is cut
for model in (HYBRID, HYBRID_INT8):
    base = logits({"prefill": ids + more}, model=model)
    for args in (["--split", "1"], ["--split", "4"], ["--threads", "1"], ["--threads", "3"], ["--cpu", "c"], ["--no-fusion"]):
        equal(logits({"prefill": ids + more}, *args, model=model), base, f"{model} with {args}")
    decoded = logits({"prefill": ids, "decode": more}, model=model)
    equal(decoded[-1], base[0], f"{model}: decoding against prefilling")

# Standard input, and white space
equal(good("debug", "logits", HYBRID, "-", stdin=json.dumps({"prefill": ids}, indent=3)).json()["steps"], whole[:1], "a request on standard input")

# Wrong requests
def wrong(value, says, code=USAGE):
    refused(code, "debug", "logits", HYBRID, request(folder.name, value), says=says)


wrong("", r".", FILE)
wrong('{"prefill": [1,}', r"line 1", FILE)
wrong([1, 2], r"must be an object")
wrong({}, r'"prefill" is missing')
wrong({"decode": [1]}, r'"prefill" is missing')
wrong({"prefill": []}, r"at least one id")
wrong({"prefill": 1}, r'"prefill" must be an array')
wrong({"prefill": "1 2"}, r'"prefill" must be an array')
wrong({"prefill": [1, "2"]}, r'"prefill"\[1\] must be a token id.*not a string')
wrong({"prefill": [1, 2.5]}, r'"prefill"\[1\]')
wrong({"prefill": [-1]}, r'"prefill"\[0\]')
wrong({"prefill": [None]}, r'"prefill"\[0\]')
wrong({"prefill": [1e300]}, r'"prefill"\[0\]')
wrong({"prefill": [vocabulary]}, rf'"prefill"\[0\] is {vocabulary}')
wrong({"prefill": [1], "decode": [1, vocabulary]}, r'"decode"\[1\]')
wrong({"prefill": [1], "decode": {"a": 1}}, r'"decode" must be an array')
wrong({"prefill": [1], "report": []}, r'"report" has 0 lists, but there are 1')
wrong({"prefill": [1], "decode": [1], "report": [[1]]}, r'"report" has 1 lists, but there are 2')
wrong({"prefill": [1], "report": [1]}, r'"report"\[0\] must be an array')
wrong({"prefill": [1], "report": [[vocabulary]]}, r'"report"\[0\]\[0\]')
wrong({"prefill": [1], "reports": [[1]]}, r'unknown key "reports"')
wrong({"prefill": [1] * 100000}, r"context", TOO_LARGE)
refused(FILE, "debug", "logits", HYBRID, Path(folder.name, "missing.json"), says="missing.json")

finish()
