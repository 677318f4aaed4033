#!/usr/bin/env python3
"""The command line itself: help, version, mistakes and their exit codes. Needs no model."""
import re

from support import FILE, OK, USAGE, equal, check, finish, good, lithe, refused

COMMANDS = ["run", "inspect", "tokenize"]

# help
overview = good("help")
for name in COMMANDS + ["debug"]:
    check(re.search(rf"^  {name} ", overview.text, re.M), f"help does not list {name}")
for spelled in ("--help", "-h"):
    equal(good(spelled).text, overview.text, spelled)
for name in COMMANDS:
    text = good(name, "--help").text
    check(text.startswith(f"usage: lithe {name} "), f"{name} --help starts {text[:60]!r}")
    equal(good("help", name).text, text, f"help {name}")
    equal(good(name, "model.litertlm", "-h").text, text, f"{name} -h behind arguments")
    equal(good(name, "-qh").text, text, f"{name} -h behind a letter")
    check(all(len(line) <= 120 for line in text.splitlines()), f"{name} --help has lines over 120 columns")
check("report" in good("debug", "logits", "--help").text, "debug logits --help does not explain the request")
for option in ("--raw", "-f, --file", "-n, --max-tokens", "--threads", "--temperature", "--top-k", "--top-p", "--seed", "--context",
               "--memory-limit", "--stats", "--json", "--top ", "--special", "--ignore-stop", "--cpu", "--plan", "--no-fusion",
               "--check-numerics", "--quiet", "--log"):
    check(option in good("run", "--help").text, f"run --help does not list {option}")

# version
check(re.fullmatch(r"lithe \d+\.\d+\.\d+\n", good("--version").text), "--version is not one line")
verbose = good("--version", "-v").text
check(len(verbose.splitlines()) > 2 and re.search(r"\d+\.\d+\.\d+", verbose), f"--version -v says only {verbose!r}")
equal(good("-v", "--version").text, verbose, "-v --version")
refused(USAGE, "--version", "--loud", says="--loud")

# mistakes
refused(USAGE, says="no command")
refused(USAGE, "sing", says='unknown command "sing"')
refused(USAGE, "help", "sing", says='unknown command "sing"')
refused(USAGE, "debug", says="logits")
refused(USAGE, "debug", "sing", says="logits")
for name in COMMANDS:
    refused(USAGE, name, says="too few arguments")
    refused(USAGE, name, "m", "--sing", says="unknown option --sing")
    refused(USAGE, name, "m", "-Z", says="unknown option -Z")
refused(USAGE, "run", "m", "n", says='"n" is not expected')
refused(USAGE, "tokenize", "m", "two", "words", says="quotes")
refused(USAGE, "debug", "logits", "m", says="too few arguments")

MISTAKES = [
    (["-n"], "-n needs a value"),
    (["-n", "0"], "from 1"),
    (["-n", "many"], '"many"'),
    (["-n", "99999999999"], "99999999999"),
    (["-n", "+5"], "whole number"),
    (["--max-tokens=-5"], "whole number"),
    (["--threads"], "--threads needs a value"),
    (["--threads", "0"], "from 1 to 256"),
    (["--temperature", "-1"], "number"),
    (["--temperature", "warm"], "warm"),
    (["--temperature", "nan"], "nan"),
    (["--temperature", "0,5"], "0,5"),
    (["--top-p", "1.5"], "to 1"),
    (["--top-p", "0"], "number"),
    (["--top-k", "-1"], "from 0"),
    (["--seed", "-1"], "whole number"),
    (["--seed", "18446744073709551616"], "whole number"),
    (["--plan", "perfect"], "auto, any, exported"),
    (["--log", "loud"], "error, warning, info, debug"),
    (["--raw=yes"], "takes no value"),
    (["--context", "0"], "from 1"),
    (["--memory-limit", "0"], "from 1"),
    (["--top", "3"], "--top needs --json"),
    (["--json", "--top", "1001"], "to 1000"),
]
for args, says in MISTAKES:
    refused(USAGE, "run", "m", "-p", "x", *args, says=says)
refused(USAGE, "run", "m", "-p", "x", "-f", "y", says="exclude each other")
refused(USAGE, "run", "m", "-e", "-p", r"a\q", says=r"escape at byte 1")
refused(USAGE, "run", "m", "-e", "-p", r"a\x4", says=r"escape at byte 1")
refused(USAGE, "run", "m", "-e", "-p", "a\\", says=r"escape at byte 1")
refused(USAGE, "inspect", "m", "--after", "fold", says="--after needs --graph")
refused(USAGE, "inspect", "m", "--context", "5", says="--context needs --memory")
refused(USAGE, "tokenize", "m", "--decode", "--start", "1", says="--decode does not go with")

# All spellings of an option reach the same place: the model is what is missing then.
for args in (["-n", "4"], ["-n4"], ["--max-tokens", "4"], ["--max-tokens=4"], ["--temperature", ".5"], ["--seed", "18446744073709551615"]):
    refused(FILE, "run", "no-such-model", "-p", "x", *args, says="no-such-model")
refused(FILE, "run", "-p", "x", "--", "-n", says="-n")
refused(FILE, "run", "m", "-f", "no-such-prompt", says="no-such-prompt")

# What a locale does to numbers must not matter.
for locale in ("C", "de_DE.UTF-8", "tr_TR.UTF-8"):
    r = lithe("run", "m", "-p", "x", "--temperature", "0.5", env={"LC_ALL": locale, "LANG": locale})
    equal(r.code, FILE, f"numbers under {locale}")

finish()
