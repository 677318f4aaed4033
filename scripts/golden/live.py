#!/usr/bin/env python3
"""The reference asked anew, beside lithe, on tokens that no golden has:

  live.py BUNDLE GOLDEN.json --lithe PATH [--seed N] [--steps 32]

Two prompts of the golden, drawn by the seed, are joined; the reference (LiteRT's CompiledModel) goes on greedily. Three runs over these tokens:
the reference, the reference with its constants nudged by one bit (the noise floor, as make_golden.py --floor has it), and lithe.
lithe's best five logits must be as near as the floor is (rms, times 1.5: the sample is small), or within 0.005 where the
floor is smaller. Prints one line; exit code 1 if lithe is further away. Needs the environment of scripts/peer/peer_env.sh.
"""
import argparse, json, random, subprocess, sys
import numpy as np
from make_golden import TFLITE, Model, nudged, sections


def reference(blob, ids, n_steps, threads, forced=None):
    model, rows, tokens = Model(blob, threads), [], []
    model.reset()
    for pos, t in enumerate(ids):
        logits = model.step(t, pos)
    for i in range(n_steps):
        rows.append(logits)
        tokens.append(forced[i] if forced else int(logits.argmax()))
        if i + 1 < n_steps:
            logits = model.step(tokens[-1], len(ids) + i)
    return tokens, rows


def lithe(command, bundle, ids, tokens, report, threads):
    request = json.dumps(dict(prefill=ids, decode=tokens[:-1], report=report))
    out = subprocess.run([command, "debug", "logits", bundle, "-", "--threads", str(threads)], input=request, capture_output=True, text=True)
    if out.returncode:
        sys.exit(f"lithe failed: {out.stderr}")
    return json.loads(out.stdout)["steps"]


def rms(values):
    return float(np.sqrt(np.mean(np.square(values))))


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("bundle"), ap.add_argument("golden"), ap.add_argument("--lithe", required=True)
    ap.add_argument("--seed", type=int, default=random.randrange(1 << 30))
    ap.add_argument("--steps", type=int, default=32), ap.add_argument("--threads", type=int, default=2)
    a = ap.parse_args()
    golden = json.load(open(a.golden))
    short = [p["ids"] for p in golden["prompts"] if len(p["ids"]) <= 64]
    first, second = random.Random(a.seed).sample(short, 2)
    ids = first + second[len(golden["bos"]):]
    blob = dict(sections(a.bundle))[TFLITE]
    tokens, rows = reference(blob, ids, a.steps, a.threads)
    _, moved = reference(nudged(blob)[0], ids, a.steps, a.threads, tokens)
    best = [[int(t) for t in np.argsort(-r, kind="stable")[:5]] for r in rows]
    ours = lithe(a.lithe, a.bundle, ids, tokens, best, a.threads)
    floor = rms([m[t] - r[t] for m, r, five in zip(moved, rows, best) for t in five])
    found = rms([v - r[t] for step, r, five in zip(ours, rows, best) for v, t in zip(step["logits"], five)])
    agree = sum(step["argmax"] == t for step, t in zip(ours, tokens))
    limit = max(1.5 * floor, 5e-3)
    print(f"rms {found:.3g} (floor {floor:.3g}, limit {limit:.3g}), {agree} of {a.steps} choices equal, seed {a.seed}")
    sys.exit(found > limit)


if __name__ == "__main__":
    main()
