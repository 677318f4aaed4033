#!/usr/bin/env python3
"""Runs every conformance check on real bundles and prints a table of them (scripts/conformance.sh prepares what it needs):

  conformance.py --build DIR --bundles DIR [--peer PYTHON] [NAME...]
"""
import argparse
import json
import os
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "bench"))
import measure  # noqa: E402

EXPORTED = {"smollm2-135m-int8", "gemma3-270m-int8"}                      # also run as exported: one of each architecture
LIVE = {"smollm2-135m-int8", "gemma3-270m-int8", "gemma3-270m-int4b32"}   # asked anew; the others take the peer gigabytes
TWINS = {"smollm2-135m-int8-hfjinja": "smollm2-135m-int8", "smollm2-135m-int8-nojinja": "smollm2-135m-int8"}  # same weights
CONTEXT = 2048
MB_LIMIT, OPEN_MS_LIMIT, FORECAST_SLACK = 100, 50, 1.10


class Table:
    def __init__(self):
        self.rows, self.failed = [], 0

    def add(self, check, subject, fn):
        """fn returns the figures to show; raises measure.Failed with what is wrong."""
        start = time.monotonic()
        try:
            result, text = "ok", fn()
        except (measure.Failed, OSError, ValueError, KeyError) as e:
            result, text = "FAILED", str(e)
            self.failed += 1
        self.rows.append((check, subject, result, text, f"{time.monotonic() - start:.0f} s"))
        print(f"{result:7} {check}: {subject}: {text}", flush=True)

    def show(self):
        print("\n| check | subject | result | figures | time |\n|---|---|---|---|---|")
        for row in self.rows:
            print("| " + " | ".join(cell.replace("|", "/").replace("\n", "; ") for cell in row) + " |")
        for key, value in measure.machine().items():
            print(f"- {key}: {value}")
        print(f"{len(self.rows) - self.failed} of {len(self.rows)} checks passed")


class Run:
    def __init__(self, a):
        self.a = a
        self.lithe = os.path.join(a.build, "lithe")
        self.env = {**os.environ, "LITHE_BUNDLES": a.bundles, "LITHE_BUILD_DIR": a.build}

    def path(self, name):
        return os.path.join(self.a.bundles, name + ".litertlm")

    def test(self, program, *args):
        """A C test program on the given bundles; the indented lines that it prints are its figures."""
        done = subprocess.run([os.path.join(self.a.build, "tests", program), *args], capture_output=True, text=True, env=self.env)
        said = [line.strip() for line in (done.stdout + done.stderr).splitlines()]
        figures = [line for line in done.stdout.splitlines() if line.startswith("    ")]
        if done.returncode:
            wrong = [line for line in said if line.startswith(("ERROR", "[  ERROR", "[   LINE"))] or said[-3:]
            raise measure.Failed("; ".join(wrong)[:600])
        return (figures[-1].strip() if figures else "") or "equal"

    def python(self, *args):
        done = subprocess.run([self.a.peer, *args], capture_output=True, text=True, env=self.env)
        last = (done.stdout.strip().splitlines() or [done.stderr.strip()[-300:]])[-1]
        if done.returncode:
            raise measure.Failed(last)
        return last

    def live(self, name):
        return self.python("scripts/golden/live.py", self.path(name), f"tests/data/golden/{name}.json", "--lithe", self.lithe)

    def toys_live(self):
        """The toys' goldens made anew are the ones in the tree."""
        with tempfile.TemporaryDirectory() as folder:
            self.python("scripts/golden/make_toy_goldens.py", os.path.join(self.a.build, "toys"), folder, "--oracle", "scripts/golden")
            names, worst = sorted(os.listdir(folder)), 0.0
            for name in names:
                new, old = (json.load(open(os.path.join(f, name))) for f in (folder, "tests/data/toys/golden"))
                if new["greedy"] != old["greedy"]:
                    raise measure.Failed(f"{name}: the reference now answers {new['greedy']}")
                worst = max(worst, *(abs(x - y) for x, y in zip(new["first_logits"], old["first_logits"])))
        if worst > 1e-4 or not names:
            raise measure.Failed(f"the reference's logits have moved by {worst:.3g}")
        return f"{len(names)} toys, logits moved by {worst:.2g}"

    def memory(self, name):
        before = sorted(os.listdir(self.a.bundles))
        m = measure.run_lithe(self.lithe, self.path(name), 256, 64, 2)["memory"]
        figures = f"private {m['private_mb']:.2f} MB, forecast {m['predicted_mb']:.2f} MB, file mapped {m['mapped_mb']:.0f} MB"
        if sorted(os.listdir(self.a.bundles)) != before:
            raise measure.Failed("a file was written beside the bundle")
        if m["private_mb"] >= MB_LIMIT:
            raise measure.Failed(f"{figures}: {MB_LIMIT} MB or more")
        if not m["private_mb"] <= m["predicted_mb"] <= FORECAST_SLACK * m["private_mb"]:
            raise measure.Failed(f"{figures}: the forecast must be 1 to {FORECAST_SLACK} times what was seen")
        return figures

    def hashes(self):
        """scripts/hashes.sh: each level of this CPU, and Arm under qemu where that is installed."""
        real = [n for n in self.a.names if n == "smollm2-135m-int8"]
        done = subprocess.run(["sh", "scripts/hashes.sh", *real], capture_output=True, text=True, env=self.env)
        said = "; ".join(" ".join(line.split()) for line in done.stdout.splitlines())
        if done.returncode:
            raise measure.Failed(said or done.stderr.strip()[-300:])
        return said

    def opening(self, name):
        times = sorted(measure.run_lithe(self.lithe, self.path(name), 2, 1, 2)["timing"]["open_ms"] for _ in range(7))
        figures = f"best {times[0]:.1f} ms, median {times[3]:.1f} ms of 7"
        if times[0] >= OPEN_MS_LIMIT:
            raise measure.Failed(f"{figures}: {OPEN_MS_LIMIT} ms or more")
        return figures

    def full_context(self, name):
        """A prompt that nearly fills the context, and an answer to its end."""
        prompt = CONTEXT - 24
        out = measure.run_lithe(self.lithe, self.path(name), prompt, 0, 2)
        if out["finish_reason"] != "context" or len(out["tokens"]) != CONTEXT - prompt + 1:
            raise measure.Failed(f"{len(out['tokens'])} tokens, finish reason {out['finish_reason']}")
        return f"{prompt} + {len(out['tokens'])} tokens, private {out['memory']['private_mb']:.1f} MB"

    def capacity(self, name):
        """Case E6, shown only: what decoding costs at two capacities. What it reads is compared by engine_bitexact_test."""
        small, large = ([measure.run_lithe(self.lithe, self.path(name), 16, 32, 2, "--context", str(c))["timing"]["decode_tps"]
                         for _ in range(5)] for c in (64, CONTEXT))
        return f"decode {max(small):.1f} tok/s at capacity 64, {max(large):.1f} at {CONTEXT}"


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--build", required=True), ap.add_argument("--bundles", required=True), ap.add_argument("--peer")
    ap.add_argument("names", nargs="*")
    run, table = Run(ap.parse_args()), Table()
    table.add("golden", "toys and hybrids", lambda: run.test("golden_reference_test"))
    table.add("bit equality", "toys and hybrids", lambda: run.test("engine_bitexact_test"))
    table.add("hashes, every level", "toys, hybrids, SmolLM2 int8", run.hashes)
    if run.a.peer:
        table.add("golden made anew", "toys", run.toys_live)
        table.add("random strings", "tokenizers", lambda: run.python("scripts/golden/text_conformance.py"))
    for name in run.a.names:
        table.add("golden", name, lambda: run.test("golden_reference_test", name))
        if name in EXPORTED:
            table.add("golden, as exported", name, lambda: run.test("golden_reference_test", "--exported", name))
        if run.a.peer and name in LIVE:
            table.add("reference asked anew", name, lambda: run.live(name))
        if name not in TWINS:
            table.add("bit equality", name, lambda: run.test("engine_bitexact_test", name))
            table.add("full context", name, lambda: run.full_context(name))
            table.add("capacity", name, lambda: run.capacity(name))
        table.add("memory, 256 + 64", name, lambda: run.memory(name))
        table.add("open, warm", name, lambda: run.opening(name))
    table.show()
    return 1 if table.failed else 0


if __name__ == "__main__":
    sys.exit(main())
