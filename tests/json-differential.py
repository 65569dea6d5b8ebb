"""Generates documents, valid and broken, and compares verdict and value with python3 and jq.

Where the others are known to be laxer than RFC 8259 (python: NaN, duplicate keys; jq: NaN, duplicate
keys, the grammar of numbers) the rule is said here; everything else must agree."""
import decimal
import json
import os
import random
import re
import shutil
import subprocess
import sys

DEPTH = 256
decimal.getcontext().prec = 1000
decimal.getcontext().Emax = decimal.MAX_EMAX
decimal.getcontext().Emin = decimal.MIN_EMIN
sys.setrecursionlimit(100000)

NUMBERS = ["0", "-0", "1", "-1", "10", "9007199254740993", "9223372036854775807", "0.5", "-2.50",
           "1e3", "1E+2", "1e-7", "1.5e300", "123456789012345678901234567890", "0.1e1"]
KEYS = ["a", "b", "name", "metadata", "", "a/b", "m~n", "\u00e9", "\n", "\U0001f600", "0", "x" * 20]
CHARS = ['a', ' ', '"', '\\', '/', '\n', '\t', '\x00', '\x1f', '\x7f', '\u00e9', '\u4e2d',
         '\ufffd', '\U0001f600', '0', '{', ']', ',']


def string(rng):
    out = '"'
    for _ in range(rng.choice([0, 1, 3, 8, 20])):
        c = rng.choice(CHARS)
        if c in '"\\' or c < ' ' or rng.random() < 0.1:
            out += json.dumps(c)[1:-1]
        else:
            out += c
    return out + '"'


def space(rng):
    return rng.choice([" ", "\n", "\t", "\r\n"]) if rng.random() < 0.05 else ""


def value(rng, levels):
    pick = rng.random()
    if levels == 0 or pick < 0.4:
        return rng.choice([rng.choice(NUMBERS), string(rng), "true", "false", "null"])
    if pick < 0.65:
        body = ",".join(value(rng, levels - 1) for _ in range(rng.randrange(5)))
        return "[" + space(rng) + body + space(rng) + "]"
    members = [json.dumps(k, ensure_ascii=rng.random() < 0.3) + space(rng) + ":" + space(rng)
               + value(rng, levels - 1) for k in rng.sample(KEYS, rng.randrange(5))]
    return "{" + ("," + space(rng)).join(members) + space(rng) + "}"


def mutate(rng, text):
    b = bytearray(text)
    for _ in range(rng.choice([1, 1, 1, 2, 3])):
        at = rng.randrange(len(b) + 1)
        kind = rng.randrange(4)
        if kind == 0 and at < len(b):
            del b[at]
        elif kind == 1:
            b[at:at] = rng.choice([b",", b":", b'"', b"{", b"}", b"[", b"]", b"0", b"-", b"e", b".",
                                   b"\\", b"\\u", b"\xff", b"\x00", b" ", b"1", b"t", b"\xc3"])
        elif kind == 2 and at < len(b):
            b[at] = rng.randrange(256)
        else:
            end = min(len(b), at + rng.randrange(1, 8))
            b[at:at] = b[at:end]
    return bytes(b)


def encode(b):
    return "".join(chr(c) if 0x20 <= c < 0x7f and c != 0x25 else "%%%02x" % c for c in b)


def lone_surrogates_replaced(v):
    """Python keeps a surrogate without its other half; Go and we make it U+FFFD."""
    if isinstance(v, str):
        return re.sub("[\ud800-\udfff]", "\ufffd", v)
    if isinstance(v, list):
        return [lone_surrogates_replaced(x) for x in v]
    if isinstance(v, dict):
        return {lone_surrogates_replaced(k): lone_surrogates_replaced(x) for k, x in v.items()}
    return v


def python_parse(b):
    """The value, or ValueError where RFC 8259 (and our rule on duplicates and depth) says no."""
    def pairs(members):
        out = {}
        for k, v in members:
            k = lone_surrogates_replaced(k)
            if k in out:
                raise ValueError("duplicate key")
            out[k] = v
        return out

    def constant(name):
        raise ValueError(name)

    text = b.decode("utf-8")
    if text.startswith("\ufeff"):
        raise ValueError("byte order mark")
    v = json.loads(text, object_pairs_hook=pairs, parse_constant=constant,
                   parse_int=decimal.Decimal, parse_float=decimal.Decimal)

    def depth(x):
        below = x.values() if isinstance(x, dict) else x if isinstance(x, list) else None
        return 0 if below is None else 1 + max(map(depth, below), default=0)

    if depth(v) > DEPTH:
        raise ValueError("too deep")
    return lone_surrogates_replaced(v)


def show(b):
    return repr(b if len(b) < 300 else b[:300] + b"...")


def compare_python(docs, answers):
    bad = []
    for b, answer in zip(docs, answers):
        try:
            expected, ok = python_parse(b), True
        except (ValueError, decimal.InvalidOperation):
            expected, ok = None, False
        if ok != answer.startswith("accept "):
            bad.append(f"python3 {'accepts' if ok else 'refuses'}, we {answer[:200]}: {show(b)}")
        elif ok and python_parse(answer[7:].encode()) != expected:
            bad.append(f"other value than python3: {answer[:200]}: {show(b)}")
    return bad


def compare_jq(docs, answers):
    """What we accept jq must accept with the same value (its numbers are doubles). It refuses lone
    surrogates and nests less deep."""
    program = '.[] | . as [$a, $b] | try ([$a|fromjson] == [$b|fromjson]) catch "refused"'
    cases = []
    for b, answer in zip(docs, answers):
        lone = "\ufffd" in answer and re.search(rb"\\u[dD][89a-fA-F]", b)
        deep = b.count(b"[") + b.count(b"{") > 200
        if answer.startswith("accept ") and not lone and not deep:
            cases.append((b, answer))
    texts = [[b.decode(), answer[7:]] for b, answer in cases]
    done = subprocess.run(["jq", "-c", program], input=json.dumps(texts).encode(),
                          stdout=subprocess.PIPE, check=True)
    verdicts = done.stdout.decode().split()
    bad = [] if len(verdicts) == len(cases) else [f"jq gave {len(verdicts)} of {len(cases)} answers"]
    for (b, answer), verdict in zip(cases, verdicts):
        if verdict != "true":
            bad.append(f"jq says {verdict}, we {answer[:200]}: {show(b)}")
    return bad


def corpus():
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "golden", "json-cases.txt")
    for line in open(path, "rb").read().split(b"\n"):
        if line and not line.startswith(b"#"):
            text = line.split(b" ", 2)[2]
            yield re.sub(rb"%([0-9a-f]{2})", lambda m: bytes([int(m.group(1), 16)]), text)


def main():
    tool = sys.argv[1]
    seed = int(os.environ.get("GROVE_TEST_SEED") or 1)
    count = max(10, 3000 * int(os.environ.get("GROVE_TEST_SCALE") or 100) // 100)
    rng = random.Random(seed)
    valid = [(space(rng) + value(rng, 6) + space(rng)).encode() for _ in range(count)]
    docs = valid + [mutate(rng, rng.choice(valid)) for _ in range(count * 2)] + list(corpus())
    done = subprocess.run([tool], input="".join(encode(b) + "\n" for b in docs).encode(),
                          stdout=subprocess.PIPE, check=True)
    answers = done.stdout.decode().split("\n")[:-1]
    results = [("an answer for every document",
                [] if len(answers) == len(docs) else [f"{len(answers)} of {len(docs)}"]),
               ("generated documents are accepted",
                [show(b) for b, a in zip(valid, answers) if not a.startswith("accept ")]),
               ("python3 agrees", compare_python(docs, answers))]
    if shutil.which("jq"):
        results.append(("jq agrees", compare_jq(docs, answers)))
    print(f"1..{max(len(results), 4)}")
    for n, (name, bad) in enumerate(results, 1):
        for line in bad[:20]:
            print("#", line)
        print(f"{'not ok' if bad else 'ok'} {n} - {name}")
    if len(results) < 4:
        print("ok 4 - jq agrees # SKIP jq is not installed")
    if any(bad for _, bad in results):
        print(f"# repeat with GROVE_TEST_SEED={seed}")
        sys.exit(1)


main()
