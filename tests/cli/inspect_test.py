#!/usr/bin/env python3
"""lithe inspect as a command: text and JSON, graphs before and after passes, memory; mistakes."""
import re
from pathlib import Path

from support import BUILD, BUNDLES, HYBRID, HYBRID_INT8, USAGE, check, equal, finish, good, refused

toys = sorted((BUILD / "toys").glob("toy-*.litertlm"))
check(toys, f"no toys in {BUILD / 'toys'}")
for bundle in [*sorted(BUNDLES.glob("*.litertlm")), *toys]:
    text = good("inspect", bundle).text
    check(len(text.splitlines()) > 5, f"{bundle}: {text!r}")
    check(isinstance(good("inspect", bundle, "--json").json(), dict), f"{bundle}: no JSON object")

for signature in ("decode",):
    imported = good("inspect", HYBRID, "--graph", signature).text
    check("FULLY_CONNECTED" in imported, f"{signature}: no linear layer in its graph")
    check(isinstance(good("inspect", HYBRID, "--graph", signature, "--json").json(), dict), "no JSON of a graph")

passes = good("inspect", HYBRID, "--graph", "decode", "--after", "list").text
names = [line.split()[0] for line in passes.splitlines() if line.split()]
for name in ("fold", "attention", "any_length"):
    check(name in passes, f"--after list does not name {name}")
changed = good("inspect", HYBRID, "--graph", "decode", "--after", "any_length").text
check(changed != good("inspect", HYBRID, "--graph", "decode").text, "passes changed nothing")

memory = good("inspect", HYBRID, "--memory").text
check(re.search(r"\d", memory), f"--memory says {memory!r}")
check(good("inspect", HYBRID, "--memory", "--context", "64").text != memory, "--context changes no forecast")

refused(USAGE, "inspect", HYBRID, "--graph", "no_such_signature", says="no_such_signature")
refused(USAGE, "inspect", HYBRID, "--graph", "decode", "--after", "no_such_pass", says="no_such_pass")

finish()
