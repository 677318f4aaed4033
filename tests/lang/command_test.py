#!/usr/bin/env python3
"""lithe debug jinja: the text on standard output, errors with their place on standard error and exit code 1."""
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

LITHE = os.environ.get("LITHE")
if not LITHE or not Path(LITHE).is_file():
    sys.exit(77)

CASES = [
    # template, variables, options, exit code, standard output, part of standard error
    ("a {{ x }}\n", {"x": "é"}, [], 0, "a é", ""),
    ("{{ strftime_now('%F') }}", {}, ["--now", "86400"], 0, "1970-01-02", ""),
    ("a\n{{ x.y }}", {}, [], 1, "", "template line 2, column 5: UndefinedError: 'x' is undefined"),
    ("{% if %}", {}, [], 1, "", "template line 1, column 7: TemplateSyntaxError"),
    ("{{ raise_exception('no') }}", {}, [], 1, "", "TemplateError: no"),
    ("x", [], [], 1, "", "the variables must be an object"),
    ("x", "{", [], 1, "", "JSON"),
    ("x", {}, ["--now", "soon"], 1, "", "--now"),
    ("x", {}, ["--nope"], 2, "", "nope"),
]

with tempfile.TemporaryDirectory() as folder:
    template, variables = Path(folder, "t.jinja"), Path(folder, "v.json")
    for source, values, options, code, text, error in CASES:
        template.write_text(source)
        variables.write_text(values if isinstance(values, str) else json.dumps(values))
        p = subprocess.run([LITHE, "debug", "jinja", *options, template, variables], capture_output=True, text=True)
        found = (p.returncode, p.stdout)
        if found != (code, text) or error not in p.stderr or bool(error) != bool(p.stderr):
            sys.exit(f"{source!r} {options}: {found} {p.stderr!r}, expected {(code, text)} {error!r}")
    p = subprocess.run([LITHE, "debug", "jinja", Path(folder, "none"), variables], capture_output=True, text=True)
    if p.returncode != 3 or "none" not in p.stderr:
        sys.exit(f"a missing file: {p.returncode} {p.stderr!r}")
print(f"{len(CASES) + 1} passed, 0 failed")
