#!/usr/bin/env python3
"""One line of JSON for each object on standard input (what kubectl -o json prints), in order of names.

The hash that makes new pods of a new configuration is computed by each in its own way and left out.
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
    for d in documents(sys.stdin.read()):
        annotations = d.get("spec", {}).get("template", {}).get("metadata", {}).get("annotations", {})
        annotations.pop("grove.io/config-hash", None)
        lines.append(f"{d['kind']} {d['metadata']['name']} {json.dumps(d, sort_keys=True)}")
    print("\n".join(sorted(lines)))


main()
