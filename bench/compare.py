#!/usr/bin/env python3
"""lithe beside the reference runtime, in one go on one machine, taking turns; prints a Markdown table.

  compare.py --lithe PATH --peer PYTHON --bundles DIR [--repeats 3] [--threads 2] [--prefill 256] [--decode 64] [NAME...]

The figures of one machine drift, so what counts is the ratio of neighbours: each repeat runs both, in alternating order, and the table
has the median of the ratios beside the medians of the figures. The peer's cache is off: it then reads the same file and writes none.
Without --peer only lithe is measured.
"""
import argparse
import os
import statistics
import sys

import measure

NAMES = ["smollm2-135m-int8", "gemma3-270m-int8", "gemma3-270m-int4b32", "gemma3-270m-fp16"]

# label, unit, whether more is better, how each program says it
FIGURES = [
    ("prefill", "tok/s", True, lambda r: r["timing"]["prefill_tps"], lambda r: r["prefill_tps"]),
    ("decode", "tok/s", True, lambda r: r["timing"]["decode_tps"], lambda r: r["decode_tps"]),
    ("open", "ms", False, lambda r: r["timing"]["open_ms"], lambda r: r["open_s"] * 1e3),
    ("first token", "ms", False, lambda r: r["timing"]["ttft_ms"], lambda r: r["ttft_s"] * 1e3),
    ("private memory", "MB", False, lambda r: r["memory"]["private_mb"], lambda r: r["peak_anon_mb"] - r["python_base_mb"]),
]


def arguments():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("names", nargs="*", default=NAMES)
    ap.add_argument("--lithe", required=True)
    ap.add_argument("--peer", help="the Python of scripts/peer/peer_env.sh")
    ap.add_argument("--bundles", required=True)
    ap.add_argument("--repeats", type=int, default=3)
    ap.add_argument("--threads", type=int, default=2)
    ap.add_argument("--prefill", type=int, default=256)
    ap.add_argument("--decode", type=int, default=64)
    ap.add_argument("--short", type=int, default=16, help="prompt of the first-token figure")
    return ap.parse_args()


def turns(a, path, prefill, decode):
    """The results of both programs, one pair a repeat. One run of lithe beforehand brings the file into the page cache for both."""
    lithe = lambda: measure.run_lithe(a.lithe, path, prefill, decode, a.threads)
    peer = lambda: measure.run_peer(a.peer, path, prefill, decode, a.threads) if a.peer else None
    lithe()
    pairs = []
    for i in range(a.repeats):
        if i % 2:
            other = peer()
            pairs.append((lithe(), other))
        else:
            ours = lithe()
            pairs.append((ours, peer()))
        print(f"  {os.path.basename(path)}: {prefill}+{decode}, {i + 1} of {a.repeats}", file=sys.stderr, flush=True)
    return pairs


def row(name, label, unit, more, ours, theirs):
    """ours, theirs: the figure of each repeat."""
    cells = [name, label, f"{statistics.median(ours):.4g} {unit}"]
    if theirs:
        ratios = [(o / t if more else t / o) if t > 0 and o > 0 else float("nan") for o, t in zip(ours, theirs)]
        cells += [f"{statistics.median(theirs):.4g} {unit}", f"{statistics.median(ratios):.2f}", f"{min(ratios):.2f} to {max(ratios):.2f}"]
    else:
        cells += ["", "", ""]
    return "| " + " | ".join(cells) + " |"


def main():
    a = arguments()
    start = measure.machine()
    lines = []
    for name in a.names:
        path = os.path.join(a.bundles, name + ".litertlm")
        long, short = turns(a, path, a.prefill, a.decode), turns(a, path, a.short, 2)
        for label, unit, more, of_lithe, of_peer in FIGURES:
            pairs = short if label == "first token" else long
            ours = [of_lithe(o) for o, _ in pairs]
            theirs = [of_peer(p) for _, p in pairs] if a.peer else None
            shown = f"{label} ({a.short})" if label == "first token" else f"{label} {dict(prefill=a.prefill, decode=a.decode).get(label, '')}".strip()
            lines.append(row(name, shown, unit, more, ours, theirs))
    for key, value in start.items():
        print(f"- {key}: {value}")
    print(f"- load average at the end: {measure.machine()['load average']}")
    print(f"- {a.threads} threads, {a.repeats} repeats; ratio above 1: lithe is better; the peer is litert-lm, cache off\n")
    print("| bundle | figure | lithe | peer | median ratio | range |\n|---|---|---|---|---|---|")
    print("\n".join(lines))


if __name__ == "__main__":
    try:
        main()
    except measure.Failed as e:
        sys.exit(f"compare.py: {e}")
