#!/usr/bin/env python3
"""lithe run when something comes between: Ctrl-C, a reader that leaves, a full disk, a terminal."""
import json
import os
import pty
import select
import signal
import subprocess
import time

from support import FAILED, HYBRID, INTERRUPTED, LITHE, PIPE, check, equal, finish, start

ENDLESS = ["run", HYBRID, "--raw", "-p", "The state of", "--temperature", "20", "--top-k", "0", "--top-p", "1", "--ignore-stop",
           "--cpu", "c", "--threads", "1"]


def read_some(pipe, seconds=60):
    """The first bytes that arrive: text streams, it does not come in one lump at the end."""
    check(select.select([pipe], [], [], seconds)[0], "nothing arrived")
    return os.read(pipe.fileno(), 65536)


# Ctrl-C while text streams: what was there stays, is valid UTF-8, and ends with a newline.
p = start(*ENDLESS)
begun = read_some(p.stdout)
p.send_signal(signal.SIGINT)
rest, errors = p.communicate(timeout=60)
if p.returncode == 0:
    check(False, "the answer was over before it could be interrupted: the test needs a slower model")
equal(p.returncode, INTERRUPTED, f"exit code after Ctrl-C ({errors!r})")
text = (begun + rest).decode("utf-8")
check(text.endswith("\n") and len(text) > 1, f"after Ctrl-C: {text[-40:]!r}")

# Ctrl-C with --json: one whole object that says so.
# (Nothing arrives before the end: a machine that was done by then is asked again, sooner.)
for delay in (0.3, 0.15, 0.1, 0.05):
    p = start(*ENDLESS, "--json")
    time.sleep(delay)
    p.send_signal(signal.SIGINT)
    out, errors = p.communicate(timeout=60)
    if p.returncode != 0:
        break
if p.returncode == INTERRUPTED and out:
    answer = json.loads(out)
    equal(answer["finish_reason"], "cancelled", "finish reason after Ctrl-C")
    check(answer["prompt_tokens"], "prompt ids are missing after Ctrl-C")
else:
    check(False, f"after Ctrl-C with --json: exit code {p.returncode}, {out[:80]!r}, {errors!r}")

# The reader leaves: no message, an exit code that tells.
p = start(*ENDLESS)
read_some(p.stdout)
p.stdout.close()
p.wait(timeout=60)
equal(p.returncode, PIPE, "exit code when the reader left")
equal(p.stderr.read(), b"", "stderr when the reader left")

# A full disk is an error with a message.
with open("/dev/full", "wb") as full:
    r = subprocess.run([LITHE, *ENDLESS, "-n", "3"], stdout=full, stderr=subprocess.PIPE)
equal(r.returncode, FAILED, "exit code of a full disk")
check(b"cannot write to standard output" in r.stderr, f"stderr of a full disk: {r.stderr!r}")

# Standard input is a terminal and there is no prompt: say so instead of waiting.
master, slave = pty.openpty()
r = subprocess.run([LITHE, "run", HYBRID], stdin=slave, capture_output=True, timeout=60)
equal(r.returncode, 2, "exit code without a prompt")
check(b"-p TEXT" in r.stderr, f"stderr without a prompt: {r.stderr!r}")
os.close(master)
os.close(slave)

finish()
