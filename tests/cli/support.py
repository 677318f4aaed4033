"""What the command's tests share: running it, and counting what went wrong."""
import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

LITHE = os.environ["LITHE"]
BUILD = Path(os.environ["LITHE_BUILD_DIR"])
BUNDLES = Path("tests/data/bundles")
HYBRID = str(BUNDLES / "tiny-hybrid-fp32.litertlm")
HYBRID_INT8 = str(BUNDLES / "tiny-hybrid-int8.litertlm")
TOY = str(BUILD / "toys" / "toy-fp32.litertlm")
SANITIZED = "LITHE_SANITIZED" in os.environ

OK, FAILED, USAGE, FILE, UNSUPPORTED, TOO_LARGE, INTERRUPTED, PIPE = 0, 1, 2, 3, 4, 5, 130, 141

_failures = []


class Result:
    def __init__(self, args, done):
        self.args_text = " ".join(str(a) for a in args)
        self.code, self.out, self.err = done.returncode, done.stdout, done.stderr

    @property
    def text(self):
        return self.out.decode("utf-8")  # strict: invalid UTF-8 must fail

    @property
    def errors(self):
        return self.err.decode("utf-8")

    def json(self):
        return json.loads(self.text)


def lithe(*args, stdin=b"", env=None, timeout=300):
    """Runs the command to its end."""
    if isinstance(stdin, str):
        stdin = stdin.encode()
    environment = {**os.environ, **(env or {})}
    done = subprocess.run([LITHE, *map(str, args)], input=stdin, capture_output=True, timeout=timeout, env=environment)
    return Result(args, done)


def start(*args, **how):
    how.setdefault("stdin", subprocess.DEVNULL)
    return subprocess.Popen([LITHE, *map(str, args)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, **how)


def good(*args, **how):
    """Runs it, and expects success; notes what it said otherwise."""
    r = lithe(*args, **how)
    check(r.code == OK, f"lithe {r.args_text}: exit code {r.code}: {r.errors[-600:]}")
    return r


def refused(code, *args, says="", **how):
    """Runs it, and expects an error that says something, ends with the code, and prints nothing on standard output."""
    r = lithe(*args, **how)
    what = f"lithe {r.args_text[:200]}"
    check(r.code == code, f"{what}: exit code {r.code}, not {code}: {r.errors[-600:]}")
    check(r.out == b"", f"{what}: printed {r.out[:80]!r} although it failed")
    check(r.errors.startswith("lithe: error: "), f"{what}: stderr starts {r.errors[:80]!r}")
    check(len(r.errors.splitlines()) == 1, f"{what}: more than one line on stderr: {r.errors[:400]!r}")
    check(re.search(says, r.errors) is not None, f"{what}: {r.errors!r} does not say {says!r}")
    return r


def check(condition, message):
    if not condition:
        _failures.append(message)
        print(f"FAILED: {message}", file=sys.stderr)
    return condition


def equal(found, expected, what):
    return check(found == expected, f"{what}: found {str(found)[:400]}, expected {str(expected)[:400]}")


def finish():
    """Ends a test program."""
    if not _failures:
        print("all as expected")
    sys.exit(1 if _failures else 0)


def scratch():
    """A folder that goes away with the test; keep the value that it gives."""
    return tempfile.TemporaryDirectory()


def request(folder, value, name="in.json"):
    path = Path(folder, name)
    path.write_text(value if isinstance(value, str) else json.dumps(value))
    return path
