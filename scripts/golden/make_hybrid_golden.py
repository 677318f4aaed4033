#!/usr/bin/env python3
"""Golden of the tiny hybrid with dynamically quantised activations, and its noise floor:

  make_hybrid_golden.py BUNDLE PROMPTS.json OUT.json [--steps 24]

LiteRT cannot run the hybrid's custom op, so the numpy interpreter (tflite_ref.py, with the activation quantisation of the reference) runs
the decode signature token by token. PROMPTS.json is a golden whose prompts' ids are taken: that of the fp32 bundle. The floor is made as
make_golden.py --floor makes it: the last bit of every rank-1 float constant flipped, over the same tokens.
Needs the environment of scripts/peer/peer_env.sh.
"""
import argparse, hashlib, importlib.metadata as md, json, os, tempfile
import numpy as np
from make_golden import TFLITE, nudged, sections
from tflite_ref import LM


def run(path, prompts, n_steps, forced=None):
    """Logits of every reported step, per prompt; greedy, or over the tokens of `forced`."""
    out = []
    for k, ids in enumerate(prompts):
        lm = LM(path, qd8=True)
        logits, rows, tokens = lm.feed(ids), [], []
        for i in range(n_steps):
            rows.append(logits)
            tokens.append(forced[k][i] if forced else int(logits.argmax()))
            if i + 1 < n_steps:
                logits = lm.decode(tokens[-1])
        out.append((tokens, rows))
    return out


def nudged_file(path):
    """A copy of the bundle with its model section nudged, and how many constants were."""
    raw = open(path, "rb").read()
    blob = dict(sections(path))[TFLITE]
    changed, n = nudged(blob)
    at = raw.index(blob)
    f = tempfile.NamedTemporaryFile(suffix=".litertlm", delete=False)
    f.write(raw[:at] + changed + raw[at + len(blob):])
    f.close()
    return f.name, n


def golden_steps(tokens, rows):
    steps = []
    for t, row in zip(tokens, rows):
        top = np.argsort(-row, kind="stable")[:5]
        steps.append(dict(id=t, margin=round(float(row[top[0]] - row[top[1]]), 5), top=[[int(i), round(float(row[i]), 5)] for i in top]))
    return steps


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("bundle"), ap.add_argument("prompts"), ap.add_argument("out")
    ap.add_argument("--steps", type=int, default=24)
    a = ap.parse_args()
    source = json.load(open(a.prompts))
    ids = [p["ids"] for p in source["prompts"]]
    plain = run(a.bundle, ids, a.steps)
    other, n = nudged_file(a.bundle)
    try:
        moved = run(other, ids, a.steps, [tokens for tokens, _ in plain])
    finally:
        os.unlink(other)
    res = dict(bundle=os.path.basename(a.bundle), sha256=hashlib.sha256(open(a.bundle, "rb").read()).hexdigest(),
               made_with=dict(numpy=md.version("numpy")), note="tflite_ref.py, qd8: the exported decode graph in numpy, token by token",
               bos=source["bos"], stop_ids=source["stop_ids"], steps=a.steps, prompts=[])
    diffs, agree = [], 0
    for p, (tokens, rows), (_, rows2) in zip(source["prompts"], plain, moved):
        steps = golden_steps(tokens, rows)
        diffs += [float(r2[t]) - float(r[t]) for s, r, r2 in zip(steps, rows, rows2) for t, _ in s["top"]]
        agree += sum(int(r2.argmax()) == t for t, r2 in zip(tokens, rows2))
        res["prompts"].append(dict(name=p["name"], text=p["text"], ids=p["ids"], continuation=tokens, steps=steps))
    d, total = np.abs(np.array(diffs)), a.steps * len(ids)
    res["floor"] = dict(nudged_constants=n, steps=total, rms_top5=round(float(np.sqrt((d**2).mean())), 5), p50=round(float(np.percentile(d, 50)), 5),
                        p99=round(float(np.percentile(d, 99)), 5), max=round(float(d.max()), 5), argmax_agree=round(agree / total, 5))
    json.dump(res, open(a.out, "w"), ensure_ascii=False, separators=(",", ":"))
    print(res["bundle"], res["floor"])


if __name__ == "__main__":
    main()
