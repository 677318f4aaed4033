#!/usr/bin/env python3
"""Files that are no bundle, or damaged ones: every command says so, prints nothing, and ends with the right code."""
import os
from pathlib import Path

from support import FILE, HYBRID, HYBRID_INT8, TOO_LARGE, UNSUPPORTED, check, finish, good, lithe, refused, request, scratch

folder = scratch()
at = Path(folder.name)
bundle = Path(HYBRID_INT8).read_bytes()


def write(name, data):
    path = at / name
    path.write_bytes(data)
    return path


ids = request(at, {"prefill": [1, 2]})
FILES = [
    (at / "missing.litertlm", r"no such file"),
    (at, r"directory"),
    (write("empty.litertlm", b""), r"empty|0 bytes"),
    (write("text.litertlm", b"hello, this is no bundle at all\n" * 40), r"not a"),
    (write("other.gguf", b"GGUF\3\0\0\0" + bytes(1000)), r"GGUF"),
    (write("short.litertlm", bundle[:60]), r"byte"),
    (write("cut.litertlm", bundle[: len(bundle) // 2]), r"byte"),
    (write("version.litertlm", bundle[:8] + b"\x09" + bundle[9:]), r"version"),
    (write("header.litertlm", bundle[:40] + b"\xb0" * 400 + bundle[440:]), r"."),
]
if os.geteuid() != 0:
    locked = write("locked.litertlm", bundle)
    locked.chmod(0)
    FILES.append((locked, r"permission"))
for path, says in FILES:
    for command in (["run", path, "-p", "hi", "-n", "1"], ["inspect", path], ["tokenize", path, "hi"], ["debug", "logits", path, ids]):
        refused(FILE, *command, says=says)

# A pipe cannot be mapped, and waiting for its writer would be a trap.
os.mkfifo(at / "pipe")
refused(FILE, "run", at / "pipe", "-p", "hi", says="pipe")

# Every cut of the header ends in an error, not in a signal.
for size in list(range(0, 600, 37)) + [len(bundle) - 1]:
    r = lithe("inspect", write("cut.litertlm", bundle[:size]))
    check(r.code in (FILE, UNSUPPORTED), f"cut at {size}: exit code {r.code}")

# Limits
refused(TOO_LARGE, "run", HYBRID, "-p", "hi", "-n", "1", "--memory-limit", "1", says="memory|limit")
refused(TOO_LARGE, "run", HYBRID, "-p", "hi", "-n", "1", "--context", "100000000", says="context")
good("run", HYBRID, "-p", "hi", "-n", "1", "--memory-limit", "4000")
refused(2, "run", HYBRID, "-p", "hi", "--cpu", "quantum", says="quantum")
refused(2, "run", HYBRID, "-p", "", "--raw", "--no-start", says="prompt")

finish()
