#!/usr/bin/env python3
"""One line of JSON for each object on standard input (what kubectl -o json prints), in order of names.

The hash of the configuration, which is part of its name, is computed by each in its own way and left out.
"""
import json
import re
import sys


def documents(text):
    decoder, at, space = json.JSONDecoder(), 0, re.compile(r"\s*")
    while (at := space.match(text, at).end()) < len(text):
        value, at = decoder.raw_decode(text, at)
        yield from value["items"] if value.get("kind") == "List" else [value]


def main():
    lines = []
    for d in documents(re.sub(r"grove-operator-cm-[0-9a-f]{8}\b", "grove-operator-cm-HASH", sys.stdin.read())):
        lines.append(f"{d['kind']} {d['metadata']['name']} {json.dumps(d, sort_keys=True)}")
    print("\n".join(sorted(lines)))


main()
