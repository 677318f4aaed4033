#!/usr/bin/env python3
"""What the reference computes, step by step: greedy tokens with the logits behind them.

  make_golden.py BUNDLE OUT.json --prompts prompts.json [--steps 48] [--threads 2]
  make_golden.py BUNDLE OUT.json --floor        # adds the noise floor to an existing file

Runs the `decode` signature of the bundle's main model in LiteRT's CompiledModel (XNNPACK with the flags that the
reference runtime sets; they made no difference where tried), one token at a time, so that every position has logits. Needs ai-edge-litert,
litert-lm-builder, and sentencepiece or tokenizers.

The noise floor: with dynamically quantised activations, a change in the last bit of a normalisation weight moves some
activations to the next int8 step, and the logits move by tenths. `--floor` runs the same tokens through the same model
with the last bit of every rank-1 float constant flipped, and records how far the logits move. An implementation that
is right, but sums in another order, is about that far from the reference: no nearer, and it should be no further.
"""
import argparse, hashlib, importlib.metadata as md, json, sys, zlib
import numpy as np
from ai_edge_litert import schema_py_generated as S
from ai_edge_litert.compiled_model import CompiledModel
from ai_edge_litert.options import Options, CpuOptions
from litert_lm_builder import litertlm_header_schema_py_generated as H
from litert_lm_builder.runtime.proto import llm_metadata_pb2

TFLITE, SP, LLM, HF = 3, 4, 5, 6
XNNPACK_FLAGS = 0x1 | 0x2 | 0x8 | 0x40  # QS8, QU8, DYNAMIC_FULLY_CONNECTED, ENABLE_LATEST_OPERATORS


def sections(path):
    head = open(path, "rb").read(1 << 16)
    objs = H.LiteRTLMMetaData.GetRootAs(head, 32).SectionMetadata()
    for i in range(objs.ObjectsLength()):
        o = objs.Objects(i)
        with open(path, "rb") as f:
            f.seek(o.BeginOffset())
            yield o.DataType(), f.read(o.EndOffset() - o.BeginOffset())


class Tok:
    def __init__(self, secs):
        if SP in secs:
            import sentencepiece
            self.sp = sentencepiece.SentencePieceProcessor(model_proto=secs[SP])
            self.encode, self.decode = self.sp.encode, self.sp.decode
            self.id = lambda s: self.sp.piece_to_id(s) if self.sp.piece_to_id(s) != self.sp.unk_id() else None
        else:
            import tokenizers
            self.hf = tokenizers.Tokenizer.from_str(zlib.decompress(secs[HF][8:]).decode())
            self.encode = lambda s: self.hf.encode(s, add_special_tokens=False).ids
            self.decode = lambda ids: self.hf.decode(ids, skip_special_tokens=False)
            self.id = self.hf.token_to_id

    def token(self, s):
        """A start token given as text: one piece if it is one, else its encoding (the reference's rule)."""
        i = self.id(s)
        return [i] if i is not None else list(self.encode(s))


def nudged(blob):
    """The model with the last mantissa bit of every rank-1 float32 constant flipped (norm weights and the like)."""
    out = bytearray(blob)
    m = S.Model.GetRootAs(blob, 0)
    seen = set()
    for gi in range(m.SubgraphsLength()):
        g = m.Subgraphs(gi)
        for ti in range(g.TensorsLength()):
            t = g.Tensors(ti)
            b = m.Buffers(t.Buffer())
            if b.Offset() > 1:  # stored behind the flatbuffer
                at, size = b.Offset(), b.Size()
            else:
                field = b._tab.Offset(4)
                at, size = (b._tab.Vector(field), b.DataLength()) if field else (0, 0)
            if t.Type() == S.TensorType.FLOAT32 and t.ShapeLength() == 1 and size >= 64 and t.Buffer() not in seen:
                seen.add(t.Buffer())
                for o in range(at, at + size, 4):
                    out[o] ^= 1
    if not seen:
        sys.exit("nothing to nudge")
    return bytes(out), len(seen)


def floor(a, secs):
    """Teacher-forced over the file's own tokens: how far logits move when constants move by one bit."""
    res = json.load(open(a.out))
    blob, n = nudged(secs[TFLITE])
    model = Model(blob, a.threads)
    diffs, agree, total = [], 0, 0
    for p in res["prompts"]:
        model.reset()
        for pos, t in enumerate(p["ids"]):
            lg = model.step(t, pos)
        for i, s in enumerate(p["steps"]):
            diffs += [float(lg[t]) - v for t, v in s["top"]]
            agree += int(lg.argmax()) == s["id"]
            total += 1
            if i + 1 < len(p["steps"]):
                lg = model.step(s["id"], len(p["ids"]) + i)
    d = np.abs(np.array(diffs))
    res["floor"] = dict(nudged_constants=n, steps=total, rms_top5=round(float(np.sqrt((d ** 2).mean())), 5),
                        p50=round(float(np.percentile(d, 50)), 5), p99=round(float(np.percentile(d, 99)), 5),
                        max=round(float(d.max()), 5), argmax_agree=round(agree / total, 5))
    json.dump(res, open(a.out, "w"), ensure_ascii=False, separators=(",", ":"))
    print(res["bundle"], res["floor"])


class Model:
    def __init__(self, blob, threads):
        opts = Options(cpu_options=CpuOptions(num_threads=threads, xnnpack_flags=XNNPACK_FLAGS))
        self.blob = blob
        self.m = CompiledModel.from_buffer(blob, options=opts)
        ins = self.m.get_input_tensor_details("decode")
        outs = self.m.get_output_tensor_details("decode")
        self.ins, self.outs = ins, outs
        self.state = [n for n in outs if n in ins]
        self.cap = ins["mask"]["shape"][-1]
        self.a = {n: self.m.create_input_buffer_by_name("decode", n) for n in ins}
        self.b = {n: self.m.create_output_buffer_by_name("decode", n) for n in outs}
        self.zero = {n: np.zeros(int(np.prod(ins[n]["shape"])), np.float32) for n in self.state}
        self.vocab = outs["logits"]["shape"][-1]

    def reset(self):
        for n in self.state:
            self.a[n].write(self.zero[n])

    def step(self, token, pos):
        """Logits [vocab] after `token` at position `pos`."""
        mask = np.full(self.cap, -0.7 * np.finfo(np.float32).max, np.float32)
        mask[: pos + 1] = 0
        self.a["tokens"].write(np.array([token], np.int32))
        self.a["input_pos"].write(np.array([pos], np.int32))
        self.a["mask"].write(mask)
        self.m.run_by_name("decode", self.a, self.b)
        out = self.b["logits"].read(self.vocab, np.float32)
        for n in self.state:
            self.a[n], self.b[n] = self.b[n], self.a[n]
        return np.array(out)


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("bundle"); ap.add_argument("out")
    ap.add_argument("--steps", type=int, default=48); ap.add_argument("--threads", type=int, default=2)
    ap.add_argument("--prompts"); ap.add_argument("--floor", action="store_true")
    a = ap.parse_args()
    secs = dict(sections(a.bundle))
    if a.floor:
        return floor(a, secs)
    tok = Tok(secs)
    meta = llm_metadata_pb2.LlmMetadata.FromString(secs[LLM])
    bos = list(meta.start_token.token_ids.ids)
    if not bos and meta.start_token.token_str:
        bos = tok.token(meta.start_token.token_str)
    model = Model(secs[TFLITE], a.threads)
    stops = [list(s.token_ids.ids) for s in meta.stop_tokens]
    single = {s[0] for s in stops if len(s) == 1}
    res = dict(bundle=a.bundle.split("/")[-1], sha256=hashlib.sha256(open(a.bundle, "rb").read()).hexdigest(),
               made_with={p: md.version(p) for p in ("ai-edge-litert", "litert-lm-builder")}, xnnpack_flags=XNNPACK_FLAGS,
               bos=bos, stop_ids=sorted(single), steps=a.steps, prompts=[])
    for p in json.load(open(a.prompts)):
        ids = bos + list(tok.encode(p["text"]))
        model.reset()
        for pos, t in enumerate(ids):
            lg = model.step(t, pos)
        steps = []
        for i in range(a.steps):
            top = np.argsort(-lg, kind="stable")[:5]
            mx = lg.max(); lse = float(mx + np.log(np.exp((lg - mx).astype(np.float64)).sum()))
            steps.append(dict(id=int(top[0]), margin=round(float(lg[top[0]] - lg[top[1]]), 5), logprob=round(float(lg[top[0]]) - lse, 5),
                              top=[[int(t), round(float(lg[t]), 5)] for t in top]))
            if int(top[0]) in single or len(ids) + i + 1 >= model.cap: break
            lg = model.step(int(top[0]), len(ids) + i)
        out = [s["id"] for s in steps]
        res["prompts"].append(dict(name=p["name"], text=p["text"], ids=ids, continuation=out, decoded=tok.decode(out), steps=steps))
        print(p["name"], len(ids), repr(tok.decode(out))[:110], "min margin %.4f" % min(s["margin"] for s in steps), flush=True)
    json.dump(res, open(a.out, "w"), ensure_ascii=False, separators=(",", ":"))


if __name__ == "__main__":
    main()
