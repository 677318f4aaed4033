#!/usr/bin/env python3
"""Goldens of the Jinja engine, from jinja2 with the settings that Hugging Face's libraries give it.

    make_jinja_goldens.py            writes tests/data/lang/golden/*.json
    make_jinja_goldens.py --check    only says what would change

Needs jinja2 3.1. The templates are tests/data/lang/templates/*.jinja, the message sets tests/data/lang/messages.json, the cases of
filters, tests, methods and syntax tests/data/lang/cases.py.
"""
import datetime
import json
import re
import sys
from pathlib import Path

import jinja2
import jinja2.ext
import jinja2.nodes
from jinja2.sandbox import ImmutableSandboxedEnvironment

ROOT = Path(__file__).resolve().parents[2]
DATA = ROOT / "tests/data/lang"
NOW = 1767225600  # 2026-01-01 00:00:00 UTC, as in the tests


class Generation(jinja2.ext.Extension):
    """{% generation %}: marks the assistant's text for training, shows it as it is."""

    tags = {"generation"}

    def parse(self, parser):
        line = next(parser.stream).lineno
        body = parser.parse_statements(["name:endgeneration"], drop_needle=True)
        return jinja2.nodes.CallBlock(self.call_method("_show"), [], [], body).set_lineno(line)

    @staticmethod
    def _show(caller):
        return caller()


def raise_exception(message):
    raise jinja2.exceptions.TemplateError(message)


def tojson(x, ensure_ascii=False, indent=None, separators=None, sort_keys=False):
    return json.dumps(x, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)


def strftime_now(format):
    return datetime.datetime.fromtimestamp(NOW, datetime.timezone.utc).replace(tzinfo=None).strftime(format)


def environment():
    env = ImmutableSandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True, extensions=[Generation, jinja2.ext.loopcontrols]
    )
    env.filters["tojson"] = tojson
    env.globals["raise_exception"] = raise_exception
    env.globals["strftime_now"] = strftime_now
    return env


ENV = environment()


def render(source, variables):
    """What a golden records: the text, or kind and message of the exception."""
    try:
        return {"text": ENV.from_string(source).render(**variables)}
    except Exception as e:  # the kinds are the point
        return {"error": type(e).__name__, "message": str(e)}


def templates():
    sets = json.loads((DATA / "messages.json").read_text())
    golden = {}
    for path in sorted((DATA / "templates").glob("*.jinja")):
        source = path.read_text()
        golden[path.stem] = {s["name"]: render(source, s["vars"]) for s in sets}
    return golden


def cases():
    scope = {}
    exec((DATA / "cases.py").read_text(), scope)  # a table in Python
    out = []
    for group, rows in scope["CASES"].items():
        for i, row in enumerate(rows):
            template, variables = row if isinstance(row, tuple) else (row, scope["VARS"])
            name = f"{group}/{i}"
            case = {"name": name, "template": template}
            if variables is not scope["VARS"]:
                case["vars"] = variables
            answer = render(template, variables)
            # addresses differ from run to run
            assert not re.search(r" at 0x[0-9a-f]+", answer.get("text", "")), template
            case.update(answer)
            out.append(case)
    return {"vars": scope["VARS"], "cases": out, "refused": scope["REFUSED"]}


def covered():
    """Every filter and test of jinja2 has a case of its own."""
    groups = {case["name"].split("/")[0] for case in cases()["cases"]}
    refused = {"random", "urlize", "wordwrap"}
    missing = [f"filter {f}" for f in set(ENV.filters) - refused if f"filter {f}" not in groups]
    missing += [f"test {t}" for t in ENV.tests if f"test {t}" not in groups]
    return missing


def main():
    check = "--check" in sys.argv
    status = 0
    if covered():
        sys.exit(f"without cases: {covered()}")
    for name, make in (("templates", templates), ("cases", cases)):
        path = DATA / "golden" / f"{name}.json"
        text = json.dumps(make(), ensure_ascii=False, indent=0) + "\n"
        if check:
            same = path.is_file() and path.read_text() == text
            print(f"{path.relative_to(ROOT)}: {'the same' if same else 'DIFFERENT'}")
            status |= not same
        else:
            path.parent.mkdir(exist_ok=True)
            path.write_text(text)
    sys.exit(status)


if __name__ == "__main__":
    main()
