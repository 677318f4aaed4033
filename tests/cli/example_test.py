#!/usr/bin/env python3
"""examples/hello.c: built with the public header alone, it continues a text as lithe run does, and reports errors."""
import subprocess

from support import BUILD, HYBRID, check, equal, finish, good

HELLO = BUILD / "examples" / "hello"
TEXT = "The state of"


def hello(*args):
    return subprocess.run([HELLO, *args], capture_output=True, timeout=300)


if check(HELLO.is_file(), f"{HELLO} was not built"):
    r = hello(HYBRID, TEXT)
    equal(r.returncode, 0, f"exit code ({r.stderr!r})")
    equal(r.stdout.decode(), good("run", HYBRID, "--raw", "-p", TEXT, "-n", "32").text[:-1], "its answer")
    r = hello("no-such-file")
    equal((r.returncode, r.stdout), (1, b""), "a missing file")
    check(b"no-such-file" in r.stderr, f"stderr: {r.stderr!r}")
    equal(hello().returncode, 1, "no arguments")
    r = hello(HYBRID, "word " * 5000)
    equal((r.returncode, r.stdout), (1, b""), "a text that is too long")
    check(b"1024" in r.stderr, f"stderr: {r.stderr!r}")

finish()
