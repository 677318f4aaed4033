#!/usr/bin/env python3
"""What the reference computes on the toy bundles of tools/make_toys.c:

  make_toy_goldens.py TOYS_DIR OUT_DIR [--oracle DIR_OF_tflite_ref.py]

Runs the decode signature in LiteRT's CompiledModel, one token at a time. The recurrent toy has a custom op that LiteRT cannot run: a
slow numpy interpreter (tflite_ref.py) answers for it, and serves as a second opinion on the float toys. toy-layouts holds the weights
of toy-int8 in another layout: its file is made from that. Needs ai-edge-litert and litert-lm-builder.
"""
import argparse, importlib.metadata as md, json, os, sys
import numpy as np
from ai_edge_litert.compiled_model import CompiledModel
from ai_edge_litert.options import CpuOptions, Options
from litert_lm_builder import litertlm_header_schema_py_generated as H

PROMPT = [1, 281, 259, 17, 264, 290, 276, 3, 130, 260, 271, 299, 268, 282, 258, 75, 266, 297, 280, 262]
STEPS = 12
TFLITE = 3
XNNPACK_FLAGS = 0x1 | 0x2 | 0x8 | 0x40  # as the reference runtime sets them


def model_section(path):
    raw = open(path, "rb").read()
    objs = H.LiteRTLMMetaData.GetRootAs(raw, 32).SectionMetadata()
    for i in range(objs.ObjectsLength()):
        o = objs.Objects(i)
        if o.DataType() == TFLITE:
            return raw[o.BeginOffset() : o.EndOffset()]
    sys.exit(f"{path}: no model")


class Compiled:
    def __init__(self, path):
        options = Options(cpu_options=CpuOptions(num_threads=1, xnnpack_flags=XNNPACK_FLAGS))
        self.blob = model_section(path)
        self.m = CompiledModel.from_buffer(self.blob, options=options)
        ins, outs = self.m.get_input_tensor_details("decode"), self.m.get_output_tensor_details("decode")
        self.state = [n for n in outs if n in ins]
        self.context = ins["mask"]["shape"][-1]
        self.vocab = outs["logits"]["shape"][-1]
        self.a = {n: self.m.create_input_buffer_by_name("decode", n) for n in ins}
        self.b = {n: self.m.create_output_buffer_by_name("decode", n) for n in outs}
        for n in self.state:
            self.a[n].write(np.zeros(int(np.prod(ins[n]["shape"])), np.float32))

    def step(self, token, pos):
        mask = np.full(self.context, -0.7 * np.finfo(np.float32).max, np.float32)
        mask[: pos + 1] = 0
        self.a["tokens"].write(np.array([token], np.int32))
        self.a["input_pos"].write(np.array([pos], np.int32))
        self.a["mask"].write(mask)
        self.m.run_by_name("decode", self.a, self.b)
        out = np.array(self.b["logits"].read(self.vocab, np.float32))
        for n in self.state:
            self.a[n], self.b[n] = self.b[n], self.a[n]
        return out


class Oracle:
    def __init__(self, path, qd8=False):
        import tflite_ref

        self.lm = tflite_ref.LM(path, qd8)

    def step(self, token, pos):
        assert self.lm.pos == pos
        return self.lm.decode(token)


def run(model):
    for pos, t in enumerate(PROMPT):
        logits = model.step(t, pos)
    first, steps = logits, []
    for i in range(STEPS):
        top = np.argsort(-logits, kind="stable")[:5]
        steps.append(dict(id=int(top[0]), top=[[int(t), float(logits[t])] for t in top]))
        if i + 1 < STEPS:
            logits = model.step(int(top[0]), len(PROMPT) + i)
    return first, steps


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("toys"), ap.add_argument("out"), ap.add_argument("--oracle")
    a = ap.parse_args()
    if a.oracle:
        sys.path.insert(0, a.oracle)
    for f in sorted(os.listdir(a.toys)):
        name = f.removesuffix(".litertlm")
        source = os.path.join(a.toys, "toy-int8.litertlm" if name == "toy-layouts" else f)
        recurrent = name == "toy-recurrent"
        first, steps = run(Oracle(source) if recurrent else Compiled(source))
        note = ""
        if a.oracle and not recurrent and name != "toy-layouts":
            other, _ = run(Oracle(source, "int8" in name or "int4" in name))
            note = "numpy differs by %.2g" % np.abs(other - first).max()
        golden = dict(
            toy=name, made_by="tflite_ref.py" if recurrent else "ai-edge-litert " + md.version("ai-edge-litert"),
            prompt=PROMPT, greedy=[s["id"] for s in steps], steps=steps, first_logits=[float(x) for x in first],
        )
        json.dump(golden, open(os.path.join(a.out, name + ".json"), "w"), separators=(",", ":"))
        print(f"{name:16} std {first.std():.2f} greedy {golden['greedy']} {note}", flush=True)


main()
