#!/usr/bin/env python3
"""Goldens for src/bundle from the reference's own protobuf and FlexBuffer code:

  make_bundle_goldens.py OUT_DIR BUNDLE...

For each bundle, and for messages with random contents: the message's bytes (.pb) and every field of it as text (.txt); and
flex.txt: FlexBuffers with what their maps hold. Needs litert-lm-builder and flatbuffers.
"""
import os, random, sys
from flatbuffers import flexbuffers
from litert_lm_builder import litertlm_header_schema_py_generated as H
from litert_lm_builder.runtime.proto import executor_metadata_pb2 as E, llm_metadata_pb2 as L

LLM, EXECUTOR = H.AnySectionDataType.LlmMetadataProto, H.AnySectionDataType.ExecutorMetadataProto


def text(s):
    return '"' + "".join(chr(b) if 32 <= b < 127 and b not in (34, 92) else "\\x%02x" % b for b in s.encode()) + '"'


def union(u):
    kind = u.WhichOneof("token_union")
    if kind == "token_str":
        return text(u.token_str)
    return "[" + ",".join(str(i) for i in u.token_ids.ids) + "]" if kind else "none"


def affixes(p, name):
    return f"{text(getattr(p, name).prefix)} {text(getattr(p, name).suffix)}" if p.HasField(name) else "none"


def llm(m):
    out = [f"start_token {union(m.start_token)}"]
    out += [f"stop_token {union(t)}" for t in m.stop_tokens]
    if m.HasField("prompt_templates"):
        out += [f"{n} {affixes(m.prompt_templates, n)}" for n in ("user", "model", "system")]
    if m.HasField("sampler_params"):
        s = m.sampler_params
        out.append(f"sampler {s.type} {s.k} {s.p:.9g} {s.temperature:.9g} {s.seed if s.HasField('seed') else 'none'}")
    out.append(f"max_num_tokens {m.max_num_tokens}")
    kind = m.llm_model_type.WhichOneof("model_type") if m.HasField("llm_model_type") else None
    out.append(f"model_type {kind or ''} {getattr(m.llm_model_type, kind).SerializeToString().hex() if kind else ''}")
    if m.HasField("jinja_prompt_template"):
        out.append(f"jinja {text(m.jinja_prompt_template)}")
    out += [f"channel {text(c.channel_name)} {text(c.start)} {text(c.end)} {int(c.is_reasoning_channel)}" for c in m.channels]
    out += [f"suppress {i}" for i in m.suppress_tokens.ids]
    for n in ("kv_cache_init_value", "supports_thinking", "supports_function_calling"):
        if m.HasField(n):
            out.append(f"{n} {int(getattr(m, n))}")
    if m.HasField("pad_token"):
        out.append(f"pad_token {union(m.pad_token)}")
    if m.HasField("min_runtime_version"):
        out.append(f"min_runtime_version {text(m.min_runtime_version)}")
    return out


def executor(m):
    x = m.llm_executor_metadata
    opt = lambda o, n: getattr(o, n) if o.HasField(n) else -1
    out = [f"max_history_size {opt(x, 'max_history_size')}"]
    for b in x.state_buffers:
        names = " ".join(text(getattr(b, n + "_name")) for n in ("prefill_input", "prefill_output", "decode_input", "decode_output"))
        numbers = " ".join(str(opt(b, n)) for n in ("sequence_axis", "minimum_sequence_length", "maximum_sequence_length"))
        out.append(f"state {names} {b.type} {numbers}")
    s = x.attention_mask_settings
    out.append(f"mask {s.attention_mask_type} {s.local_attention_mask_type} {opt(s, 'sliding_window_size')}")
    return out


def random_text(r):
    return "".join(r.choice("ab <>\n\"\\{}äß▁語🙂") for _ in range(r.randrange(12)))


def random_union(r, u):
    if r.random() < 0.5:
        u.token_str = random_text(r)
    else:
        u.token_ids.ids.extend(r.choice([0, 1, 127, 128, 2**31 - 1, -1, 262143]) for _ in range(1 + r.randrange(4)))


def random_llm(r):
    m = L.LlmMetadata()
    random_union(r, m.start_token)
    for _ in range(r.randrange(5)):
        random_union(r, m.stop_tokens.add())
    for n in r.sample(("user", "model", "system"), r.randrange(4)):
        p = getattr(m.prompt_templates, n)
        p.prefix, p.suffix = random_text(r), random_text(r)
        p.SetInParent()
    if r.random() < 0.7:
        s = m.sampler_params
        s.type, s.k, s.p, s.temperature = r.randrange(4), r.randrange(100), r.random(), r.random() * 2
        if r.random() < 0.5:
            s.seed = r.choice([0, 7, -1])
    m.max_num_tokens = r.choice([0, 1, 4096, 2**31 - 1])
    kind = r.choice(["generic_model", "gemma3n", "function_gemma", "gemma3", "qwen3", "qwen2p5", "gemma4", "fast_vlm", "lfm2", "minicpm5", "minicpmv4"])
    getattr(m.llm_model_type, kind).SetInParent()
    if kind == "function_gemma":
        m.llm_model_type.function_gemma.code_fence_start = "<start_function_call>"
    if r.random() < 0.8:
        m.jinja_prompt_template = random_text(r)
    for _ in range(r.randrange(3)):
        m.channels.add(channel_name=random_text(r), start=random_text(r), end=random_text(r))
    if r.random() < 0.5:
        m.suppress_tokens.ids.extend(r.randrange(300000) for _ in range(1 + r.randrange(3)))
    if r.random() < 0.5:
        m.kv_cache_init_value = r.choice([0, -5, 2**40])
    for n in ("supports_thinking", "supports_function_calling"):
        if r.random() < 0.6:
            setattr(m, n, r.random() < 0.5)
    if r.random() < 0.5:
        random_union(r, m.pad_token)
    if r.random() < 0.5:
        m.min_runtime_version = "0.18.1"
    return m


def random_executor(r):
    m = E.ExecutorMetadata()
    x = m.llm_executor_metadata
    if r.random() < 0.7:
        x.max_history_size = r.choice([0, 2048])
    for i in range(1 + r.randrange(4)):
        b = x.state_buffers.add(prefill_input_name=f"kv_cache_k_{i}", prefill_output_name=f"p{i}", decode_input_name=f"d{i}")
        b.type = r.randrange(6)
        for n in ("sequence_axis", "minimum_sequence_length", "maximum_sequence_length"):
            if r.random() < 0.5:
                setattr(b, n, r.choice([0, 2, 4096]))
    if r.random() < 0.7:
        x.attention_mask_settings.attention_mask_type = 1 + r.randrange(3)
        if r.random() < 0.5:
            x.attention_mask_settings.sliding_window_size = r.choice([0, 512])
    return m


def flex_lines():
    maps = [
        ({"epsilon": 1e-6}, "epsilon"), ({"a": 1, "b": -2, "c": 300}, "b"), ({"a": 70000, "b": -70000}, "b"),
        ({"x": 2**40, "y": -(2**40)}, "y"), ({"f": 0.5, "g": 0.1, "name": "float32"}, "g"), ({"f": True, "g": False}, "f"),
        ({"mode": 0, "state_dtype": "float32"}, "state_dtype"), ({"s": "x" * 300, "t": "é"}, "s"), ({"s": "x" * 300, "t": 3}, "t"),
        ({"a": 1}, "b"), ({}, "a"), ({"a": [1, 2]}, "a"), ({"a": {"b": 1}}, "b"), ({"name": "é"}, "name"),
    ]
    for m, key in maps:
        v = m.get(key)
        kind = "s" if isinstance(v, str) else "n" if isinstance(v, (int, float)) else "-"
        value = v.encode().hex() if kind == "s" else "%.17g" % v if kind == "n" else "-"
        yield f"{bytes(flexbuffers.Dumps(m)).hex()} {key} {kind} {value}"
    b = flexbuffers.Builder()
    with b.Map():
        b.Key("i"), b.IndirectInt(-77)
        b.Key("j"), b.IndirectFloat(2.25)
        b.Key("k"), b.UInt(250)
    data = bytes(b.Finish()).hex()
    yield from (f"{data} i n -77", f"{data} j n 2.25", f"{data} k n 250")


def main():
    out, bundles = sys.argv[1], sys.argv[2:]
    messages = []
    for path in bundles:
        raw = open(path, "rb").read(1 << 20)
        objs = H.LiteRTLMMetaData.GetRootAs(raw, 32).SectionMetadata()
        for i in range(objs.ObjectsLength()):
            o = objs.Objects(i)
            data = raw[o.BeginOffset() : o.EndOffset()]
            name = os.path.basename(path).removesuffix(".litertlm")
            if o.DataType() == LLM:
                messages.append((f"llm_{name}", data, llm(L.LlmMetadata.FromString(data))))
            if o.DataType() == EXECUTOR:
                messages.append((f"executor_{name}", data, executor(E.ExecutorMetadata.FromString(data))))
    for i in range(6):
        r = random.Random(i)
        a, b = random_llm(r), random_executor(r)
        messages.append((f"llm_random{i}", a.SerializeToString(deterministic=True), llm(a)))
        messages.append((f"executor_random{i}", b.SerializeToString(deterministic=True), executor(b)))
    for name, data, lines in messages:
        open(f"{out}/{name}.pb", "wb").write(data)
        open(f"{out}/{name}.txt", "w").write("\n".join(lines) + "\n")
    open(f"{out}/flex.txt", "w").write("\n".join(flex_lines()) + "\n")


main()
