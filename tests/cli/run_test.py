#!/usr/bin/env python3
"""lithe run: where prompts come from, what is printed where, JSON, samplers, ends of answers."""
import json
import math
import re
import subprocess
from pathlib import Path

from support import HYBRID, HYBRID_INT8, TOO_LARGE, TOY, check, equal, finish, good, lithe, refused, scratch

golden = json.loads(Path("tests/data/golden/tiny-hybrid-fp32.json").read_text())
folder = scratch()
at = Path(folder.name)
first = golden["prompts"][0]
# The hybrid's bundle names no start token, but its tokenizer knows this one, with which the reference's answers begin.
BOS = "<bos>"
TEXT, IDS, LENGTH = BOS + first["text"], first["ids"], len(first["continuation"])


def answer(*args, model=HYBRID, **how):
    return good("run", model, "--json", *args, **how).json()


# The reference's ids, greedy, for every prompt
for prompt in golden["prompts"]:
    n = len(prompt["continuation"])
    found = answer("--raw", "-p", BOS + prompt["text"], "-n", n, "--temperature", "0")
    equal(found["prompt_tokens"], prompt["ids"], f"prompt ids of {prompt['name']}")
    equal(found["tokens"], prompt["continuation"], f"answer to {prompt['name']}")

# What the object has
a = answer("--raw", "-p", TEXT, "-n", "6", "--threads", "2", "--temperature", "0")
equal(sorted(a), ["cpu", "finish_reason", "memory", "prompt_tokens", "sampler", "text", "timing", "tokens"], "keys")
equal(sorted(a["timing"]), ["decode_tps", "open_ms", "prefill_tps", "ttft_ms"], "timing")
equal(sorted(a["memory"]), ["mapped_mb", "predicted_mb", "private_mb"], "memory")
equal(a["cpu"]["threads"], 2, "threads")
check(isinstance(a["cpu"]["kernels"], str) and a["cpu"]["kernels"], "cpu.kernels is empty")
equal(a["finish_reason"], "length", "finish reason at -n")
equal(len(a["tokens"]), 6, "tokens at -n 6")
for key in ("open_ms", "ttft_ms", "prefill_tps", "decode_tps"):
    check(a["timing"][key] > 0, f"timing.{key} is {a['timing'][key]}")
check(0 < a["memory"]["private_mb"], "no private memory seen")
check(0 < a["memory"]["predicted_mb"], "no private memory predicted")
check(0 < a["memory"]["mapped_mb"] <= Path(HYBRID).stat().st_size / 2**20 + 0.001, f"mapped_mb {a['memory']['mapped_mb']}")
equal(answer("-p", TEXT, "-n", "1")["timing"]["decode_tps"], None, "decode speed of one token")

# Plain output is the same text and a newline; nothing on stderr, with or without a terminal's comforts.
plain = good("run", HYBRID, "--raw", "-p", TEXT, "-n", "6", "--temperature", "0")
equal(plain.text, a["text"] + "\n", "text output")
equal(plain.errors, "", "stderr of a plain run")

# Prompts from everywhere
(at / "prompt.txt").write_text(TEXT)
(at / "line.txt").write_text(TEXT + "\n")
(at / "dos.txt").write_bytes(TEXT.encode() + b"\r\n")
wanted = IDS
for what, args, stdin in [
    ("-p", ["-p", TEXT], ""),
    ("--prompt=", ["--prompt=" + TEXT], ""),
    ("-f", ["-f", at / "prompt.txt"], ""),
    ("-f with a final newline", ["-f", at / "line.txt"], ""),
    ("-f with CRLF", ["-f", at / "dos.txt"], ""),
    ("stdin", [], TEXT),
    ("stdin with a final newline", [], TEXT + "\n"),
    ("-f -", ["-f", "-"], TEXT),
    ("-e", ["-e", "-p", "\\u003c" + TEXT[1:]], ""),
    ("--raw from stdin", ["--raw"], TEXT),
]:
    equal(answer(*args, "-n", "1", stdin=stdin)["prompt_tokens"], wanted, f"prompt from {what}")

# A start token that the bundle names is put in front, unless it is not wanted.
started = answer("--raw", "-p", "the toy", "-n", "1", model=TOY)["prompt_tokens"]
equal(started[0], 1, "the toy's start token")
equal(answer("--raw", "--no-start", "-p", "the toy", "-n", "1", model=TOY)["prompt_tokens"], started[1:], "--no-start")
equal(answer("--special", "--no-start", "-p", "<s>the toy", "-n", "1", model=TOY)["prompt_tokens"][0], 1, "--special")
check(answer("--raw", "--no-start", "-p", "<s>the toy", "-n", "1", model=TOY)["prompt_tokens"][0] != 1, "special text without --special")

with_newline = answer("--raw", "-e", "-p", TEXT + "\\n", "-n", "1")["prompt_tokens"]
check(with_newline != IDS, "-e made no newline")
equal(answer("--raw", "-n", "1", stdin=TEXT + "\n")["prompt_tokens"], with_newline, "--raw keeps the last newline")
equal(answer("--raw", "-n", "1", stdin=b"ab\xff\n")["prompt_tokens"], answer("--raw", "-p", "ab\ufffd\n", "-n", "1")["prompt_tokens"], "invalid UTF-8")
check("UTF-8" in lithe("run", HYBRID, "-n", "1", stdin=b"ab\xff").errors, "no warning of invalid UTF-8")
equal(lithe("run", HYBRID, "-q", "-n", "1", stdin=b"ab\xff").errors, "", "-q still warns")

# What a template would do is not done yet, and that is said where the bundle has one.
check("template" in lithe("run", HYBRID, "-p", TEXT, "-n", "1").errors, "no warning that the template is not applied")
for args in (["--raw"], ["--special"], ["-q"], ["--log", "error"]):
    equal(lithe("run", HYBRID, "-p", TEXT, "-n", "1", *args).errors, "", f"stderr with {args}")

# Steps: id, its log probability, and the best ids, against the reference's numbers
b = answer("--raw", "-p", TEXT, "-n", LENGTH, "--top", "5", "--temperature", "0")
equal([s["id"] for s in b["steps"]], b["tokens"], "ids of the steps")
for step, expected in zip(b["steps"], first["steps"]):
    equal([i for i, _ in step["top"]], [i for i, _ in expected["top"]][:5], "best ids")
    for (_, logit), (_, reference) in zip(step["top"], expected["top"]):
        check(abs(logit - reference) < 0.01, f"logit {logit}, reference {reference}")
    check(step["logprob"] <= 0, f"log probability {step['logprob']}")
whole = answer("--raw", "-p", "the toy", "-n", "1", "--top", "1000", "--temperature", "0", model=TOY)["steps"][0]
total = sum(math.exp(logit - whole["top"][0][1]) for _, logit in whole["top"])
check(total > 1.5, f"the toy is too sure to test log probabilities: {total}")
check(abs(whole["logprob"] + math.log(total)) < 1e-4, f"logprob {whole['logprob']}, from all logits {-math.log(total)}")

# Samplers: values in effect and where they come from; a seed repeats an answer
s = answer("-p", TEXT, "-n", "2")["sampler"]
equal(sorted(s), ["seed", "source", "temperature", "top_k", "top_p"], "sampler")
check(set(s["source"].values()) <= {"default", "bundle"}, f"sources without a wish: {s['source']}")
toy = answer("-p", "the toy", "-n", "2", "--top-p", "0.5", model=TOY)["sampler"]
equal({k: toy[k] for k in ("temperature", "top_k", "top_p", "seed")}, {"temperature": 1, "top_k": 1, "top_p": 0.5, "seed": 0}, "the toy's sampler")
equal(toy["source"], {"temperature": "bundle", "top_k": "bundle", "top_p": "request", "seed": "bundle"}, "value by value: sources")
wish = ["--temperature", "1.5", "--top-k", "40", "--top-p", "0.9", "--seed", "18446744073709551615"]
c = answer("-p", TEXT, "-n", "24", *wish)
equal({k: c["sampler"][k] for k in ("temperature", "top_k", "top_p", "seed")},
      {"temperature": 1.5, "top_k": 40, "top_p": 0.9, "seed": 18446744073709551615}, "sampler values")
equal(set(c["sampler"]["source"].values()), {"request"}, "sampler sources")
equal(answer("-p", TEXT, "-n", "24", *wish)["tokens"], c["tokens"], "the same seed")
hot = ["--temperature", "50", "--top-k", "0", "--top-p", "1", "--ignore-stop"]
check(answer("-p", TEXT, "-n", "24", *hot, "--seed", "1")["tokens"] != answer("-p", TEXT, "-n", "24", *hot, "--seed", "2")["tokens"],
      "two seeds gave one answer")
equal(answer("-p", TEXT, "-n", "8", *hot, "--top-k", "1")["tokens"], answer("-p", TEXT, "-n", "8", "--temperature", "0", "--ignore-stop")["tokens"],
      "top-k 1 is greedy")

# A stop token ends the answer, is among the tokens and not in the text; --ignore-stop goes on with the same draws
wild = ["--raw", "-p", TEXT, "-n", "400", "--temperature", "50", "--top-k", "0", "--top-p", "1"]
for seed in range(40):
    stopped = answer(*wild, "--seed", seed)
    if stopped["finish_reason"] == "stop":
        on = answer(*wild, "--seed", seed, "--ignore-stop")
        equal(on["finish_reason"], "length", "finish reason with --ignore-stop")
        equal((len(on["tokens"]), on["tokens"][: len(stopped["tokens"])]), (400, stopped["tokens"]), "tokens with --ignore-stop")
        check(on["text"].startswith(stopped["text"]), "text with --ignore-stop")
        break
else:
    check(False, "no seed led to a stop token")

# Answers do not depend on threads, instruction sets, fusion
for args in (["--threads", "1"], ["--threads", "3"], ["--cpu", "c"], ["--no-fusion"], ["--check-numerics"], ["--plan", "any"]):
    for model in (HYBRID, HYBRID_INT8):
        equal(answer("--raw", "-p", TEXT, "-n", "4", "--top", "3", *args, model=model)["steps"],
              answer("--raw", "-p", TEXT, "-n", "4", "--top", "3", model=model)["steps"], f"{model} with {args}")

# Statistics go to stderr, text stays what it is
st = good("run", HYBRID, "--raw", "-p", TEXT, "-n", "6", "--temperature", "0", "--stats")
equal(st.text, plain.text, "text with --stats")
for says in (r"prefill +5 tokens, [\d.]+ tokens/s", r"decode +6 tokens, [\d.]+ tokens/s", r"first token +[\d.]+ ms", r"open +[\d.]+ ms",
             r"memory +[\d.]+ MB private \(predicted [\d.]+\), [\d.]+ MB of the file mapped", r"stop reason +length",
             r"sampler +temperature 0 \(request\), top-k \d+ \(\w+\), top-p \S+ \(\w+\), seed \d+ \(\w+\)", r"cpu +\d+ threads"):
    check(re.search(says, st.errors), f"--stats does not say {says}: {st.errors}")

# An answer that is one token again and again is warned of, and still is the answer
r = good("run", HYBRID, "--raw", "-p", TEXT, "-n", "200", "--temperature", "0", "--ignore-stop")
check("warning" in r.errors and "repeated" in r.errors, f"no warning of a repeated token: {r.errors!r}")
equal(good("run", HYBRID, "-q", "--raw", "-p", TEXT, "-n", "200", "--temperature", "0", "--ignore-stop").errors, "", "the warning with -q")

# A full context ends the answer, and is said; a prompt that does not fit is refused
r = good("run", HYBRID, "--raw", "-p", TEXT, "--context", "16", "--ignore-stop", "--json")
equal(r.json()["finish_reason"], "context", "finish reason of a full context")
check("context of 16 positions is full" in r.errors, f"no warning of a full context: {r.errors!r}")
equal(len(r.json()["tokens"]) + len(IDS), 17, "tokens in a context of 16 (the last one is not processed)")
refused(TOO_LARGE, "run", HYBRID, "--raw", "-p", TEXT * 20, "--context", "16", says="16")

# Works in pipes: a prompt from one, the answer into one
piped = subprocess.run(f"printf %s '{TEXT}' | \"$LITHE\" run {HYBRID} --raw -n 6 --temperature 0 | cat", shell=True, capture_output=True)
equal(piped.stdout.decode(), plain.text, "in a pipe")

finish()
