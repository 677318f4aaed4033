#!/usr/bin/env python3
"""Writes tests/base/data/json_cases.txt: texts, and what Python's json makes of them.

A line is the text, a tab, and the document as our writer spells it, or "!" if it must be refused; in both, bytes that are
not printable ASCII, and %, are written %XX. Python is more lenient than RFC 8259 in two things that we refuse: NaN and
Infinity, and lone surrogates."""
import json
import random
import re
import sys
from pathlib import Path


def spell_float(v):
    """Python's shortest digits in our notation."""
    if v in (float("inf"), float("-inf")):
        return "null"
    sign = "-" if repr(v).startswith("-") else ""
    mantissa, _, exponent = repr(abs(v)).partition("e")
    whole, _, fraction = mantissa.partition(".")
    digits = (whole + fraction).lstrip("0")
    point = int(exponent or 0) + len(whole) - (len(whole + fraction) - len(digits))
    digits = digits.rstrip("0")
    if not digits:
        return "-0.0" if sign else "0"
    e = point - 1
    if 0 <= e < 16:
        return sign + (digits.ljust(e + 1, "0") if len(digits) <= e + 1 else digits[: e + 1] + "." + digits[e + 1 :])
    if -5 <= e < 0:
        return sign + "0." + "0" * (-e - 1) + digits
    return f"{sign}{digits[0]}{'.' if len(digits) > 1 else ''}{digits[1:]}e{e}"


def spell(v):
    if isinstance(v, Pairs):
        return "{" + ",".join(spell(k) + ":" + spell(x) for k, x in v) + "}"
    if isinstance(v, list):
        return "[" + ",".join(map(spell, v)) + "]"
    if isinstance(v, str):
        v.encode()
        return json.dumps(v, ensure_ascii=False).replace("\x7f", "\\u007f")
    if isinstance(v, bool) or v is None:
        return json.dumps(v)
    if isinstance(v, int):
        return str(v) if -(2**63) <= v < 2**63 else spell_float(float(v) if abs(v) < 2**1024 else float("inf"))
    return spell_float(v)


class Pairs(list):
    """An object's members in order, repeated names included."""


def refuse(name):
    raise ValueError(name)


def answer(text):
    try:
        return spell(json.loads(text.decode(), object_pairs_hook=Pairs, parse_constant=refuse))
    except (ValueError, RecursionError):
        return "!"


def random_string(r):
    alphabet = [*'aZ "\\/\n\t\0\x1f\x7fé▁Ġ\ud7ff\ue000😀\U0010ffff']
    s = json.dumps("".join(r.choice(alphabet) for _ in range(r.choice([0, 1, 3, 8, 9, 30]))), ensure_ascii=r.random() < 0.5)
    return re.sub("/", lambda m: r.choice(["/", "\\/"]), s)


def random_key(r):
    """Our writer takes keys as C strings."""
    return random_string(r).replace("\\u0000", "")


def random_number(r):
    return r.choice(
        [
            lambda: str(r.randint(-100, 100)),
            lambda: str(r.randint(-(2**63), 2**63 - 1)),
            lambda: str(r.randint(-(10**30), 10**30)),
            lambda: repr(r.uniform(-1, 1)),
            lambda: repr(r.uniform(1, 10) * 10.0 ** r.randint(-320, 307)),
            lambda: f"{r.randint(0, 99)}.{r.randint(0, 10**6)}{r.choice('eE')}{r.choice(['', '+', '-'])}{r.randint(0, 330)}",
            lambda: f"{r.randint(1, 10**40)}.{r.randint(1, 10**40)}e{r.randint(-60, 60)}",
        ]
    )()


def random_value(r, depth=0):
    kind = r.random()
    space = lambda: r.choice(["", "", " ", "\n\t", "\r\n  "])
    if depth > 4 or kind < 0.5:
        return r.choice([random_string, random_number, lambda r: r.choice(["true", "false", "null"])])(r)
    items = [random_value(r, depth + 1) for _ in range(r.choice([0, 1, 2, 5]))]
    if kind < 0.75:
        return "[" + ",".join(space() + i + space() for i in items) + space() + "]"
    return "{" + ",".join(space() + random_key(r) + space() + ":" + space() + i + space() for i in items) + space() + "}"


def mutated(r, text):
    data = bytearray(text)
    for _ in range(r.choice([1, 1, 2])):
        at = r.randrange(len(data) + 1)
        change = r.random()
        if change < 0.4:
            del data[at : at + 1]
        elif change < 0.8:
            data[at:at] = bytes([r.choice(b'{}[]",:\\u0123eE+-. \n\x00\x80\xc3\xed\xa0\xff')])
        else:
            data[at : at + 1] = bytes([r.randrange(256)])
    return bytes(data)


BY_HAND = [
    b"", b" ", b"{}", b"[]", b" [ ] ", b"[1,]", b"[,1]", b"[1 2]", b'{"a":1,}', b'{"a" 1}', b"{a:1}", b"{'a':1}", b'{"a":}', b'{1:2}',
    b"nul", b"nulll", b"True", b"NaN", b"Infinity", b"-Infinity", b"-", b"+1", b"01", b"-01", b"1.", b".5", b"1e", b"1e+", b"1.e5",
    b"0x10", b"-0", b"-0.0", b"0e0", b"1E400", b"-1e400", b"1e-400", b"4.9406564584124654e-324", b"2.4703282292062327e-324",
    b"2.4703282292062328e-324", b"1.7976931348623157e308", b"1.7976931348623158e308", b"1.7976931348623159e308",
    b"9007199254740993", b"9007199254740993.0", b"9223372036854775807", b"9223372036854775808", b"-9223372036854775808",
    b"-9223372036854775809", b"18446744073709551615", b"0.1", b"1e22", b"1e23", b"123456789012345678", b"2.2250738585072011e-308",
    b"1e00000000000000000000000000000000001", b"1e999999999999999999999999", b"0e999999999999999999999999", b"1" + b"0" * 400,
    b"0." + b"0" * 400 + b"1e401", b"1" * 900 + b"e-890", b"2.2250738585072012" + b"0" * 800 + b"1e-308",
    # Halfway between 1 and the double above it; then the least bit more, behind 800 digits.
    b"1.00000000000000011102230246251565404236316680908203125",
    b"1.00000000000000011102230246251565404236316680908203125" + b"0" * 800 + b"1",
    b'"', b'"a', b'"\\"', b'"\\x"', b'"\\u12"', b'"\\u12G4"', b'"\\ud800"', b'"\\udc00"', b'"\\ud800\\u0041"', b'"\\ud83d\\ude00"',
    b'"\\uD83D\\uDE0"', b'"a\nb"', b'"\x7f"', b'"\xc3"', b'"\xc0\x80"', b'"\xed\xa0\x80"', b'"\xf4\x90\x80\x80"', b'"\xe2\x96\x81"',
    b"\xef\xbb\xbf1", b"[1]]", b"1 1", b"//", b"[1]/**/", b'{"a":1,"a":2}', b"[" * 100 + b"]" * 100, b'"\\/\\b\\f\\n\\r\\t\\"\\\\"',
    b"\x0c1", b"\xa01", b"[\x00]", b'"\x00"', b"[" * 500 + b"]" * 500,
]


def escape(data):
    return "".join(chr(c) if 0x20 <= c < 0x7F and c != 0x25 else f"%{c:02X}" for c in data)


def main():
    sys.setrecursionlimit(10000)
    r = random.Random(20240229)
    texts = list(BY_HAND)
    while len(texts) < 700:
        text = random_value(r).encode()
        if len(text) < 400:
            texts.append(text)
            texts.append(mutated(r, text))
    out = Path(__file__).parent / "data" / "json_cases.txt"
    out.write_text("".join(f"{escape(t)}\t{escape(answer(t).encode())}\n" for t in texts))


if __name__ == "__main__":
    main()
