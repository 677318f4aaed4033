#!/usr/bin/env python3
"""What the reference computes for single ops: models of one op (or a few), random inputs, and LiteRT's outputs.

  make_op_goldens.py OUT_DIR [NAME ...]

Needs ai-edge-litert and numpy (scripts/peer_env.sh). Runs each model in LiteRT's CompiledModel with the XNNPACK flags that the
reference runtime sets; what XNNPACK does not take runs in LiteRT's own kernels.

One file per case, OUT_DIR/NAME.op, little-endian, every part padded to 16 bytes:
  magic "LITHEOP1", u32 bytes of the model, u32 number of tensors
  the .tflite model (signature "main")
  for each tensor: name (16 bytes, zero-padded), u32 role (0 input, 1 output, 2 the bound of the output before it: for each element the sum
  of the absolute products that it adds up), u32 TFLite type, u32 bytes, u32 zero; then the data, row-major
"""
import os, struct, sys, zlib
import flatbuffers
import numpy as np
from flatbuffers import flexbuffers
from ai_edge_litert import schema_py_generated as S
from ai_edge_litert.compiled_model import CompiledModel
from ai_edge_litert.options import CpuOptions, Options

XNNPACK_FLAGS = 0x1 | 0x2 | 0x8 | 0x40  # QS8, QU8, DYNAMIC_FULLY_CONNECTED, ENABLE_LATEST_OPERATORS
T, B = S.TensorType, S.BuiltinOperator
TYPES = {"float32": T.FLOAT32, "float16": T.FLOAT16, "int32": T.INT32, "int64": T.INT64, "int8": T.INT8, "uint8": T.UINT8, "bool": T.BOOL,
         "int16": T.INT16}
NUMPY = {v: np.dtype(k) for k, v in TYPES.items()}
f32, i32, i64 = np.float32, np.int32, np.int64


def pad16(b):
    return b + bytes(-len(b) % 16)


class Model:
    """One subgraph under construction; tensors are indices."""

    def __init__(self):
        self.m, self.g = S.ModelT(), S.SubGraphT()
        self.m.version, self.m.description = 3, "lithe op golden"
        self.m.buffers, self.m.operatorCodes, self.m.subgraphs = [S.BufferT()], [], [self.g]
        self.new_graph(self.g)
        self.values, self.ins, self.outs, self.data, self.bounds = {}, [], [], {}, {}

    @staticmethod
    def new_graph(g):
        g.tensors, g.operators, g.inputs, g.outputs = [], [], [], []

    def tensor(self, shape, ttype, name=None, g=None):
        g, t = g or self.g, S.TensorT()
        t.shape, t.type, t.name, t.buffer = np.array(shape, np.int32), ttype, name or "t%d" % len(g.tensors), 0
        t.shape = list(shape)
        g.tensors.append(t)
        return len(g.tensors) - 1

    def const(self, a, ttype=None, raw=None, quant=None, shape=None, g=None):
        a = np.asarray(a)
        raw = a.tobytes() if raw is None else raw
        i = self.tensor(a.shape if shape is None else shape, TYPES[a.dtype.name] if ttype is None else ttype, g=g)
        b = S.BufferT()
        self.m.buffers.append(b)
        t = (g or self.g).tensors[i]
        t.buffer, t.quantization = len(self.m.buffers) - 1, quant
        if len(raw) < 64:
            b.data = np.frombuffer(raw, np.uint8)
        else:
            self.data[t.buffer] = raw
        return i

    def input(self, a):
        a = np.asarray(a)
        i = self.tensor(a.shape, TYPES[a.dtype.name], "in%d" % len(self.ins))
        self.values[i] = a
        self.ins.append(i)
        self.g.inputs.append(i)
        return i

    def op(self, name, inputs, out, options=None, n_out=1, version=1, options2=None, g=None):
        """out: (shape, numpy type) or a list of them; returns tensor(s)."""
        g, code = g or self.g, S.OperatorCodeT()
        code.builtinCode = getattr(B, name)
        code.deprecatedBuiltinCode, code.version = min(code.builtinCode, 127), version
        self.m.operatorCodes.append(code)
        o, outs = S.OperatorT(), out if isinstance(out, list) else [out]
        o.opcodeIndex, o.inputs = len(self.m.operatorCodes) - 1, list(inputs)
        o.outputs = [self.tensor(s, TYPES[np.dtype(t).name], g=g) for s, t in outs]
        if options is not None:
            o.builtinOptionsType, o.builtinOptions = getattr(S.BuiltinOptions, type(options).__name__[:-1]), options
        if options2 is not None:
            o.builtinOptions2Type, o.builtinOptions2 = getattr(S.BuiltinOptions2, type(options2).__name__[:-1]), options2
        g.operators.append(o)
        return o.outputs if isinstance(out, list) else o.outputs[0]

    def output(self, *tensors, bound=None):
        for t in tensors:
            self.g.tensors[t].name = "out%d" % len(self.outs)
            self.outs.append(t)
            self.g.outputs.append(t)
            if bound is not None:
                self.bounds[t] = np.asarray(bound, f32)

    def pack(self):
        sig = S.SignatureDefT()
        sig.signatureKey, sig.subgraphIndex, sig.inputs, sig.outputs = "main", 0, [], []
        for dst, src in ((sig.inputs, self.ins), (sig.outputs, self.outs)):
            for t in src:
                tm = S.TensorMapT()
                tm.name, tm.tensorIndex = self.g.tensors[t].name, t
                dst.append(tm)
        self.m.signatureDefs = [sig]
        at = {k: (2, len(v)) for k, v in self.data.items()}
        for _ in range(2):  # sizes first, then places behind the flatbuffer
            for k, (off, size) in at.items():
                self.m.buffers[k].offset, self.m.buffers[k].size = off, size
            b = flatbuffers.Builder(1024)
            b.Finish(self.m.Pack(b), b"TFL3")
            blob = pad16(bytes(b.Output()))
            for k, v in self.data.items():
                at[k] = (len(blob), len(v))
                blob = pad16(blob + v)
        return blob

    def run(self, blob):
        m = CompiledModel.from_buffer(blob, options=Options(cpu_options=CpuOptions(num_threads=1, xnnpack_flags=XNNPACK_FLAGS)))
        name = lambda t: self.g.tensors[t].name
        a = {name(t): m.create_input_buffer_by_name("main", name(t)) for t in self.ins}
        b = {name(t): m.create_output_buffer_by_name("main", name(t)) for t in self.outs}
        for t in self.ins:
            a[name(t)].write(np.ascontiguousarray(self.values[t]).reshape(-1))
        m.run_by_name("main", a, b)
        res = []
        for t in self.outs:
            tt = self.g.tensors[t]
            n = int(np.prod(tt.shape)) if len(tt.shape) else 1
            res.append(np.array(b[name(t)].read(n, NUMPY[tt.type].type)))
        return res


def save(path, model):
    blob = model.pack()
    outs = model.run(blob)
    parts, n = [], 0

    def add(name, role, ttype, data):
        parts.append(struct.pack("<16sIIII", name.encode(), role, ttype, len(data), 0) + pad16(data))

    for t in model.ins:
        add(model.g.tensors[t].name, 0, model.g.tensors[t].type, np.ascontiguousarray(model.values[t]).tobytes())
    for t, v in zip(model.outs, outs):
        add(model.g.tensors[t].name, 1, model.g.tensors[t].type, v.tobytes())
        if t in model.bounds:
            add("bound", 2, T.FLOAT32, np.broadcast_to(model.bounds[t].reshape(-1), v.shape).astype(f32).tobytes())
    with open(path, "wb") as f:
        f.write(struct.pack("<8sII", b"LITHEOP1", len(blob), len(parts)) + pad16(blob) + b"".join(parts))


CASES = {}


def case(*params):
    """Registers a case function once for each params tuple (its name: function and params)."""
    def add(fn):
        for p in params or [()]:
            p = p if isinstance(p, tuple) else (p,)
            name = "_".join([fn.__name__] + [str(x).lower().replace(" ", "").replace("(", "").replace(")", "").replace(",", "x") for x in p])
            CASES[name] = (fn, p)
        return fn
    return add


def rnd(rng, *shape, scale=1.0):
    return (rng.standard_normal(shape) * scale).astype(f32)


def opt(cls, **kw):
    o = getattr(S, cls + "OptionsT")()
    for k, v in kw.items():
        assert hasattr(o, k), (cls, k)
        setattr(o, k, v)
    return o


# --- two operands -------------------------------------------------------------------------------------------------

SHAPES = {"same": ((3, 17), (3, 17)), "scalar": ((2, 5, 7), ()), "lastdim": ((4, 1, 33), (33,)), "both": ((3, 1, 5), (1, 4, 1)),
          "middle": ((2, 3, 4, 5), (1, 3, 1, 5))}
BINARY_OPTIONS = {"ADD": "Add", "SUB": "Sub", "MUL": "Mul", "DIV": "Div"}


def out_shape(a, b):
    return np.broadcast_shapes(a, b)


@case(*[(n, s, t) for n in ("ADD", "SUB", "MUL", "DIV", "MINIMUM", "MAXIMUM") for s, t in
        (("same", "float32"), ("lastdim", "float32"), ("both", "float32"))],
      ("ADD", "scalar", "float32"), ("MUL", "middle", "float32"), ("SUB", "middle", "float32"), ("ADD", "both", "int32"),
      ("MUL", "same", "int32"), ("SUB", "lastdim", "int32"), ("DIV", "same", "int32"), ("MINIMUM", "same", "int32"), ("ADD", "same", "int64"),
      ("FLOOR_DIV", "same", "int32"), ("FLOOR_MOD", "same", "int32"), ("FLOOR_MOD", "same", "float32"), ("FLOOR_DIV", "same", "float32"),
      ("SQUARED_DIFFERENCE", "same", "float32"), ("POW", "same", "float32"))
def binary(rng, name, shapes, dtype):
    m, (sa, sb) = Model(), SHAPES[shapes]
    if dtype == "float32":
        a, b = rnd(rng, *sa, scale=3), rnd(rng, *sb, scale=3)
        if name == "POW":
            a = np.abs(a) + f32(0.1)
        if name in ("DIV", "FLOOR_DIV", "FLOOR_MOD"):
            b = np.where(np.abs(b) < 0.2, f32(0.7), b).astype(f32)
    else:
        a, b = rng.integers(-100, 100, sa).astype(dtype), rng.integers(-9, 9, sb).astype(dtype)
        b = np.where(b == 0, 5, b).astype(dtype)
    o = opt(BINARY_OPTIONS[name]) if name in BINARY_OPTIONS else None
    m.output(m.op(name, [m.input(a), m.input(b)], (out_shape(sa, sb), dtype), o, version=2 if dtype == "int64" else 1))
    return m


@case(1, 2, 3)
def activation(rng, act):
    m = Model()
    m.output(m.op("ADD", [m.input(rnd(rng, 4, 19, scale=4)), m.input(rnd(rng, 4, 19, scale=4))], ((4, 19), f32),
                  opt("Add", fusedActivationFunction=act)))
    return m


@case(*[(n, "float32") for n in ("EQUAL", "NOT_EQUAL", "GREATER", "GREATER_EQUAL", "LESS", "LESS_EQUAL")], ("EQUAL", "int32"),
      ("LESS", "int32"), ("GREATER", "int32"))
def compare(rng, name, dtype):
    m = Model()
    a, b = rng.integers(-3, 3, (3, 5, 7)).astype(dtype), rng.integers(-3, 3, (5, 1)).astype(dtype)
    m.output(m.op(name, [m.input(a), m.input(b)], ((3, 5, 7), np.bool_)))
    return m


@case("LOGICAL_AND", "LOGICAL_OR")
def logical(rng, name):
    m = Model()
    m.output(m.op(name, [m.input(rng.integers(0, 2, (3, 9)).astype(bool)), m.input(rng.integers(0, 2, (1, 9)).astype(bool))],
                  ((3, 9), np.bool_)))
    return m


@case("full", "broadcast", "scalars")
def select(rng, kind):
    m, c = Model(), rng.integers(0, 2, (1, 4, 9)).astype(bool)
    sa, sb = {"full": ((1, 4, 9), (1, 4, 9)), "broadcast": ((1, 4, 1), (9,)), "scalars": ((), ())}[kind]
    m.output(m.op("SELECT_V2", [m.input(c), m.input(rnd(rng, *sa)), m.input(rnd(rng, *sb))], ((1, 4, 9), f32)))
    return m


# --- one operand --------------------------------------------------------------------------------------------------

@case("ABS", "NEG", "EXP", "LOG", "SQRT", "RSQRT", "SQUARE", "SIN", "COS", "TANH", "LOGISTIC", "RELU", "RELU6", "ELU", "HARD_SWISH", "FLOOR",
      "CEIL", "ROUND", "SIGN")
def unary(rng, name):
    m, x = Model(), rnd(rng, 5, 67, scale=4)
    if name in ("LOG", "SQRT", "RSQRT"):
        x = np.abs(x) + f32(1e-3)
    if name in ("SIN", "COS"):
        x[0] *= 1000
    m.output(m.op(name, [m.input(x)], (x.shape, f32)))
    return m


@case(False, True)
def gelu(rng, approximate):
    m = Model()
    m.output(m.op("GELU", [m.input(rnd(rng, 3, 101, scale=3))], ((3, 101), f32), opt("Gelu", approximate=approximate)))
    return m


@case()
def leaky_relu(rng):
    m = Model()
    m.output(m.op("LEAKY_RELU", [m.input(rnd(rng, 3, 31))], ((3, 31), f32), opt("LeakyRelu", alpha=0.125)))
    return m


@case()
def logical_not(rng):
    m = Model()
    m.output(m.op("LOGICAL_NOT", [m.input(rng.integers(0, 2, (3, 9)).astype(bool))], ((3, 9), np.bool_)))
    return m


@case(("int32", "float32"), ("float32", "int32"), ("bool", "float32"), ("float32", "bool"), ("int32", "int64"), ("int64", "int32"),
      ("int32", "bool"), ("float32", "int64"))
def cast(rng, a, b):
    m = Model()
    x = rnd(rng, 4, 21, scale=1000) if a == "float32" else rng.integers(-5, 5, (4, 21)).astype(a)
    if b == "bool":
        x = np.where(np.abs(x) < 300, 0, x).astype(a) if a == "float32" else x
    m.output(m.op("CAST", [m.input(x)], (x.shape, b), opt("Cast", inDataType=TYPES[a], outDataType=TYPES[b])))
    return m


# --- moving data --------------------------------------------------------------------------------------------------

@case()
def reshape(rng):
    m = Model()
    m.output(m.op("RESHAPE", [m.input(rnd(rng, 2, 3, 4)), m.const(np.array([4, 6], i32))], ((4, 6), f32), opt("Reshape", newShape=[4, 6])))
    return m


@case((0, 2, 1), (2, 0, 1), (0, 2, 1, 3), (3, 1, 0, 2))
def transpose(rng, *perm):
    m = Model()
    shape = (3, 4, 5, 6)[:len(perm)]
    m.output(m.op("TRANSPOSE", [m.input(rnd(rng, *shape)), m.const(np.array(perm, i32))], (tuple(shape[p] for p in perm), f32)))
    return m


@case(0, 1, 2)
def concatenation(rng, axis):
    m, sizes = Model(), (3, 1, 5)
    shapes = [tuple(n if i == axis else d for i, d in enumerate((2, 4, 6))) for n in sizes]
    out = tuple(sum(sizes) if i == axis else d for i, d in enumerate((2, 4, 6)))
    m.output(m.op("CONCATENATION", [m.input(rnd(rng, *s)) for s in shapes], (out, f32), opt("Concatenation", axis=axis)))
    return m


@case(("float32",), ("int32",))
def slice(rng, dtype):
    m, x = Model(), rng.integers(-99, 99, (4, 5, 6)).astype(dtype)
    m.output(m.op("SLICE", [m.input(x), m.const(np.array([1, 0, 2], i32)), m.const(np.array([2, -1, 3], i32))], ((2, 5, 3), dtype)))
    return m


@case(("steps",), ("negative",), ("shrink",))
def strided_slice(rng, kind):
    m, x = Model(), rnd(rng, 4, 5, 9)
    begin, end, step, shrink, shape = {"steps": ([0, 1, 1], [4, 5, 9], [2, 1, 3], 0, (2, 4, 3)),
                                       "negative": ([3, 0, -1], [0, 5, -10], [-1, 2, -2], 0, (3, 3, 5)),
                                       "shrink": ([0, 2, 0], [4, 3, 9], [1, 1, 1], 2, (4, 9))}[kind]
    m.output(m.op("STRIDED_SLICE", [m.input(x)] + [m.const(np.array(v, i32)) for v in (begin, end, step)], (shape, f32),
                  opt("StridedSlice", shrinkAxisMask=shrink)))
    return m


@case(0, 1, 2)
def pack(rng, axis):
    m = Model()
    shape = [3, 4]
    shape.insert(axis, 2)
    m.output(m.op("PACK", [m.input(rnd(rng, 3, 4)) for _ in range(2)], (tuple(shape), f32), opt("Pack", valuesCount=2, axis=axis)))
    return m


@case(0, 1)
def unpack(rng, axis):
    m = Model()
    x = rnd(rng, 3, 4)
    m.output(*m.op("UNPACK", [m.input(x)], [((x.shape[1 - axis],), f32)] * x.shape[axis], opt("Unpack", num=x.shape[axis], axis=axis)))
    return m


@case(1, 2)
def split(rng, axis):
    m, x = Model(), rnd(rng, 2, 4, 6)
    part = tuple(d // 2 if i == axis else d for i, d in enumerate(x.shape))
    m.output(*m.op("SPLIT", [m.const(np.array(axis, i32)), m.input(x)], [(part, f32)] * 2, opt("Split", numSplits=2)))
    return m


@case((0, 0), (1, 0), (2, 0), (1, 1))
def gather(rng, axis, batch):
    m, x = Model(), rnd(rng, 3, 5, 4)
    idx = rng.integers(0, x.shape[axis], (3, 2) if batch else (6,)).astype(i32)
    out = (3, 2, 4) if batch else x.shape[:axis] + (6,) + x.shape[axis + 1:]
    m.output(m.op("GATHER", [m.input(x), m.input(idx)], (out, f32), opt("Gather", axis=axis, batchDims=batch)))
    return m


@case()
def gather_nd(rng):
    m, x = Model(), rnd(rng, 3, 5, 4)
    idx = np.stack([rng.integers(0, 3, 7), rng.integers(0, 5, 7)], 1).astype(i32)
    m.output(m.op("GATHER_ND", [m.input(x), m.input(idx)], ((7, 4), f32)))
    return m


@case("PAD", "PADV2")
def pad(rng, name):
    m, p = Model(), np.array([[0, 0], [1, 2], [3, 0]], i32)
    ins = [m.input(rnd(rng, 2, 3, 4)), m.const(p)] + ([m.const(np.array(-1.5, f32))] if name == "PADV2" else [])
    m.output(m.op(name, ins, ((2, 6, 7), f32)))
    return m


@case()
def tile(rng):
    m = Model()
    m.output(m.op("TILE", [m.input(rnd(rng, 2, 1, 3)), m.const(np.array([2, 4, 3], i32))], ((4, 4, 9), f32)))
    return m


@case()
def broadcast_to(rng):
    m = Model()
    m.output(m.op("BROADCAST_TO", [m.input(rnd(rng, 2, 1, 3)), m.const(np.array([4, 2, 5, 3], i32))], ((4, 2, 5, 3), f32), version=2))
    return m


@case(((0, 1, 2, 0),), ((0, 0, 7, 3),))
def dynamic_update_slice(rng, start):
    m = Model()
    m.output(m.op("DYNAMIC_UPDATE_SLICE", [m.input(rnd(rng, 1, 2, 8, 5)), m.input(rnd(rng, 1, 1, 3, 4)), m.input(np.array(start, i32))],
                  ((1, 2, 8, 5), f32)))
    return m


@case(0, 1, 2)
def one_hot(rng, axis):
    m = Model()
    shape = [3, 4]
    shape.insert(axis, 6)
    ins = [m.input(rng.integers(-1, 7, (3, 4)).astype(i32)), m.const(np.array(6, i32)), m.const(np.array(2.5, f32)), m.const(np.array(-1, f32))]
    m.output(m.op("ONE_HOT", ins, (tuple(shape), f32), opt("OneHot", axis=axis)))
    return m


# --- reductions ---------------------------------------------------------------------------------------------------

@case(*[(n, axes, keep) for n in ("SUM", "MEAN", "REDUCE_MAX") for axes, keep in (((2,), True), ((1,), False), ((0, 2), False), ((0, 1, 2), True))],
      ("REDUCE_MIN", (2,), False), ("REDUCE_PROD", (1,), True), ("MEAN", (1, 2), True))
def reduce(rng, name, axes, keep):
    m, x = Model(), rnd(rng, 3, 5, 37)
    shape = np.sum(x, axis=axes, keepdims=keep).shape
    bound = None
    if name in ("SUM", "MEAN"):
        bound = np.abs(x.astype(np.float64)).sum(axis=axes, keepdims=keep) / (np.prod([x.shape[a] for a in axes]) if name == "MEAN" else 1)
    m.output(m.op(name, [m.input(x), m.const(np.array(axes, i32))], (shape, f32), opt("Reducer", keepDims=keep)), bound=bound)
    return m


@case(("SUM", "int32"), ("REDUCE_MAX", "int32"))
def reduce_int(rng, name, dtype):
    m = Model()
    m.output(m.op(name, [m.input(rng.integers(-99, 99, (3, 7)).astype(dtype)), m.const(np.array([1], i32))], ((3,), dtype),
                  opt("Reducer", keepDims=False)))
    return m


@case()
def reduce_any(rng):
    m = Model()
    m.output(m.op("REDUCE_ANY", [m.input(rng.integers(0, 5, (6, 4)) == 0), m.const(np.array([1], i32))], ((6,), np.bool_),
                  opt("Reducer", keepDims=False)))
    return m


@case((0, False, False), (1, True, False), (1, False, True), (2, True, True))
def cumsum(rng, axis, exclusive, reverse):
    m = Model()
    m.output(m.op("CUMSUM", [m.input(rnd(rng, 2, 6, 3)), m.const(np.array(axis, i32))], ((2, 6, 3), f32),
                  opt("Cumsum", exclusive=exclusive, reverse=reverse)))
    return m


@case(1, 2)
def arg_max(rng, axis):
    m, x = Model(), rng.integers(0, 6, (3, 5, 8)).astype(f32)
    m.output(m.op("ARG_MAX", [m.input(x), m.const(np.array(axis, i32))], (tuple(d for i, d in enumerate(x.shape) if i != axis), i32),
                  opt("ArgMax", outputType=T.INT32)))
    return m


@case(1.0, 0.5)
def softmax(rng, beta):
    m = Model()
    m.output(m.op("SOFTMAX", [m.input(rnd(rng, 2, 3, 75, scale=5))], ((2, 3, 75), f32), opt("Softmax", beta=beta)))
    return m


@case(64, 129)
def rms_norm(rng, n):
    """STABLEHLO_COMPOSITE odml.rms_norm with its decomposition, as the converter writes it."""
    m, g, shape = Model(), S.SubGraphT(), (1, 3, n)
    m.new_graph(g)
    m.m.subgraphs.append(g)
    x, w = m.tensor(shape, T.FLOAT32, g=g), m.tensor((n,), T.FLOAT32, g=g)
    sq = m.op("MUL", [x, x], (shape, f32), opt("Mul"), g=g)
    mean = m.op("MEAN", [sq, m.const(np.array([2], i32), g=g)], (shape[:2], f32), opt("Reducer", keepDims=False), g=g)
    eps = m.op("ADD", [mean, m.const(np.array(1e-6, f32), g=g)], (shape[:2], f32), opt("Add"), g=g)
    col = m.op("RESHAPE", [eps, m.const(np.array(shape[:2] + (1,), i32), g=g)], (shape[:2] + (1,), f32),
               opt("Reshape", newShape=list(shape[:2]) + [1]), g=g)
    r = m.op("RSQRT", [col], (shape[:2] + (1,), f32), g=g)
    y = m.op("MUL", [m.op("MUL", [x, r], (shape, f32), opt("Mul"), g=g), w], (shape, f32), opt("Mul"), g=g)
    g.inputs, g.outputs, g.name = [x, w], [y], "odml.rms_norm.impl"
    o = S.StableHLOCompositeOptionsT()
    o.name, o.decompositionSubgraphIndex, o.version = "odml.rms_norm", 1, 0
    o.compositeAttributes = list(flexbuffers.Dumps({"epsilon": 1e-6}))
    m.output(m.op("STABLEHLO_COMPOSITE", [m.input(rnd(rng, *shape)), m.const(rnd(rng, n))], (shape, f32), options2=o))
    return m


# --- sums of products ---------------------------------------------------------------------------------------------

def channel_quant(scales, axis=0):
    q = S.QuantizationParametersT()
    q.scale, q.zeroPoint, q.quantizedDimension = np.array(scales, f32), [0] * len(scales), axis
    return q


def nibbles(q):
    q = (q.reshape(-1) & 15).astype(np.uint8)
    return (q[0::2] | q[1::2] << 4).tobytes()


def weights(m, rng, kind, n, k):
    """A weight tensor of this kind, and its values."""
    w = rnd(rng, n, k, scale=0.5)
    if kind == "f32":
        return m.const(w), w
    if kind == "f16":
        h = w.astype(np.float16)
        return m.op("DEQUANTIZE", [m.const(h)], ((n, k), f32)), h.astype(f32)
    if kind in ("qc8", "wo8"):
        s = (np.abs(w).max(1) / 127).astype(f32)
        q = np.clip(np.rint(w / s[:, None]), -127, 127).astype(np.int8)
        c = m.const(q, quant=channel_quant(s))
        return (c if kind == "qc8" else m.op("DEQUANTIZE", [c], ((n, k), f32))), q * s[:, None]
    if kind == "qc4":
        s = (np.abs(w).max(1) / 7).astype(f32)
        q = np.clip(np.rint(w / s[:, None]), -7, 7).astype(np.int8)
        return m.const(q, T.INT4, nibbles(q), channel_quant(s)), q * s[:, None]
    # Full fp16 scales: the reference rounds them to bfloat16, and so does lithe (docs/numerics.md). The converter writes seven mantissa bits.
    s = (np.abs(w.reshape(n, k // 32, 32)).max(2) / 7).astype(np.float16)
    q = np.clip(np.rint(w.reshape(n, k // 32, 32) / s[..., None].astype(f32)), -7, 7).astype(np.int8)
    d, p = S.BlockwiseQuantizationT(), S.QuantizationParametersT()
    d.scales, d.zeroPoints, d.blockSize = m.const(s), -1, 32
    p.detailsType, p.details = S.QuantizationDetails.BlockwiseQuantization, d
    return m.const(q, T.INT4, nibbles(q), p, shape=(n, k)), (q * s[..., None].astype(f32)).reshape(n, k)


@case(*[(kind, rows, n, k, bias) for kind in ("f32", "f16", "wo8", "qc8", "qc4", "qb4") for rows, n, k, bias in
        ((1, 40, 64, False), (5, 33, 96, True), (17, 70, 160, False))], ("qc8", 3, 16, 640, False), ("f32", 4, 7, 50, True))
def fully_connected(rng, kind, rows, n, k, bias):
    m, x = Model(), rnd(rng, 1, rows, k)
    w, values = weights(m, rng, kind, n, k)
    b = rnd(rng, n) if bias else None
    bound = np.abs(x[0].astype(np.float64)) @ np.abs(values.astype(np.float64)).T + (np.abs(b) if bias else 0)
    xi = m.input(x)
    o = opt("FullyConnected", keepNumDims=True)
    m.output(m.op("FULLY_CONNECTED", [xi, w] + ([m.const(b)] if bias else [-1]), ((1, rows, n), f32), o, version=5), bound=bound)
    return m


@case()
def fully_connected_computed(rng):
    m, x, w = Model(), rnd(rng, 5, 24), rnd(rng, 10, 24)
    m.output(m.op("FULLY_CONNECTED", [m.input(x), m.input(w), -1], ((5, 10), f32), opt("FullyConnected", fusedActivationFunction=1)),
             bound=np.abs(x).astype(np.float64) @ np.abs(w).T)
    return m


@case(((1, 2, 5, 16), (1, 2, 9, 16), False, True), ((1, 2, 5, 16), (1, 2, 16, 9), False, False), ((2, 3, 4, 33), (3, 33, 70), False, False),
      ((2, 1, 4, 33), (1, 3, 70, 33), False, True), ((3, 16, 5), (3, 16, 9), True, False), ((3, 16, 5), (3, 9, 16), True, True))
def batch_matmul(rng, sx, sy, ax, ay):
    m, x, y = Model(), rnd(rng, *sx), rnd(rng, *sy)
    f = lambda a, adj: np.swapaxes(a, -1, -2) if adj else a
    bound = np.abs(f(x, ax)).astype(np.float64) @ np.abs(f(y, ay))
    m.output(m.op("BATCH_MATMUL", [m.input(x), m.input(y)], (bound.shape, f32), opt("BatchMatMul", adjX=ax, adjY=ay)), bound=bound)
    return m


def same_out(n, s, f, d, padding):
    reach = (f - 1) * d + 1
    return -(-n // s) if padding == S.Padding.SAME else (n - reach) // s + 1


def patches(x, fh, fw, s, d, padding, oh, ow):
    """[n, oh, ow, fh, fw, c] with zeros in the padding."""
    n, h, w, c = x.shape
    out = np.zeros((n, oh, ow, fh, fw, c), x.dtype)
    pt = max((oh - 1) * s + (fh - 1) * d + 1 - h, 0) // 2 if padding == S.Padding.SAME else 0
    pl = max((ow - 1) * s + (fw - 1) * d + 1 - w, 0) // 2 if padding == S.Padding.SAME else 0
    for y in range(oh):
        for u in range(ow):
            for i in range(fh):
                for j in range(fw):
                    a, b = y * s - pt + i * d, u * s - pl + j * d
                    if 0 <= a < h and 0 <= b < w:
                        out[:, y, u, i, j] = x[:, a, b]
    return out


@case(("SAME", 1, 1, 0), ("VALID", 2, 1, 1), ("SAME", 2, 1, 3), ("SAME", 1, 2, 0), ("patch", 4, 1, 0))
def conv_2d(rng, padding, s, d, act):
    m, x = Model(), rnd(rng, 2, 9, 8, 3)
    w, b = (rnd(rng, 20, 4, 4, 3) if padding == "patch" else rnd(rng, 5, 3, 2, 3)), None
    b = rnd(rng, w.shape[0])
    p = S.Padding.SAME if padding == "SAME" else S.Padding.VALID
    oh, ow = same_out(9, s, w.shape[1], d, p), same_out(8, s, w.shape[2], d, p)
    bound = np.einsum("nyxijc,oijc->nyxo", np.abs(patches(x, w.shape[1], w.shape[2], s, d, p, oh, ow)).astype(np.float64), np.abs(w)) + np.abs(b)
    o = opt("Conv2D", padding=p, strideH=s, strideW=s, dilationHFactor=d, dilationWFactor=d, fusedActivationFunction=act)
    m.output(m.op("CONV_2D", [m.input(x), m.const(w), m.const(b)], (bound.shape, f32), o), bound=bound)
    return m


@case(("SAME", 1, 1, 1), ("VALID", 2, 1, 1), ("SAME", 1, 2, 1), ("VALID", 1, 1, 2), ("causal", 1, 1, 1))
def depthwise_conv_2d(rng, padding, s, d, mult):
    m, x = Model(), rnd(rng, 1, 1, 19, 24) if padding == "causal" else rnd(rng, 2, 9, 8, 6)
    fh, fw = (1, 4) if padding == "causal" else (3, 2)
    w, b = rnd(rng, 1, fh, fw, x.shape[3] * mult), rnd(rng, x.shape[3] * mult)
    p = S.Padding.SAME if padding == "SAME" else S.Padding.VALID
    oh, ow = same_out(x.shape[1], s, fh, d, p), same_out(x.shape[2], s, fw, d, p)
    px = np.repeat(np.abs(patches(x, fh, fw, s, d, p, oh, ow)).astype(np.float64), mult, axis=-1)
    bound = np.einsum("nyxijc,ijc->nyxc", px, np.abs(w[0])) + np.abs(b)
    o = opt("DepthwiseConv2D", padding=p, strideH=s, strideW=s, dilationHFactor=d, dilationWFactor=d, depthMultiplier=mult)
    m.output(m.op("DEPTHWISE_CONV_2D", [m.input(x), m.const(w), m.const(b)], (bound.shape, f32), o), bound=bound)
    return m


@case(*[(n, p, s) for n in ("AVERAGE_POOL_2D", "MAX_POOL_2D") for p, s in (("SAME", 2), ("VALID", 1))])
def pool(rng, name, padding, s):
    m, x, p = Model(), rnd(rng, 2, 7, 8, 5), getattr(S.Padding, padding)
    shape = (2, same_out(7, s, 3, 1, p), same_out(8, s, 2, 1, p), 5)
    m.output(m.op(name, [m.input(x)], (shape, f32), opt("Pool2D", padding=p, strideH=s, strideW=s, filterHeight=3, filterWidth=2)))
    return m


@case((False, False), (True, False), (False, True))
def resize_bilinear(rng, align, half):
    m = Model()
    m.output(m.op("RESIZE_BILINEAR", [m.input(rnd(rng, 1, 5, 7, 3)), m.const(np.array([8, 4], i32))], ((1, 8, 4, 3), f32),
                  opt("ResizeBilinear", alignCorners=align, halfPixelCenters=half)))
    return m


@case("f32", "qc8", "qc4", "f16")
def embedding_lookup(rng, kind):
    m = Model()
    if kind == "f16":
        return None
    t, _ = weights(m, rng, kind, 12, 64)
    m.output(m.op("EMBEDDING_LOOKUP", [m.input(np.array([3, 0, 11, 3], i32)), t], ((4, 64), f32), version=4 if kind != "f32" else 1))
    return m


@case("float16", "int8")
def dequantize(rng, dtype):
    """Of a computed tensor: CAST or QUANTIZE makes it."""
    m, x = Model(), rnd(rng, 3, 40)
    q = m.op("CAST", [m.input(x)], ((3, 40), np.float16), opt("Cast", inDataType=T.FLOAT32, outDataType=T.FLOAT16)) if dtype == "float16" \
        else m.op("QUANTIZE", [m.input(x)], ((3, 40), np.int8))
    if dtype == "int8":
        m.g.tensors[q].quantization = channel_quant([0.03])
    m.output(m.op("DEQUANTIZE", [q], ((3, 40), f32)))
    return m


def main():
    out, names = sys.argv[1], sys.argv[2:] or sorted(CASES)
    os.makedirs(out, exist_ok=True)
    failed = []
    for name in names:
        fn, params = CASES[name]
        rng = np.random.default_rng(zlib.crc32(name.encode()))
        try:
            m = fn(rng, *params)
            if m is not None:
                save(os.path.join(out, name + ".op"), m)
        except Exception as e:  # the reference lacks a kernel: say so and go on
            failed.append(name)
            print("%s: %s" % (name, str(e).splitlines()[0] if str(e) else type(e)))
    files = [f for f in os.listdir(out) if f.endswith(".op")]
    print("%d cases, %d bytes, %d not run by the reference" % (len(files), sum(os.path.getsize(os.path.join(out, f)) for f in files), len(failed)))


main()
