#!/usr/bin/env python3
"""Compares what the components' roles allow with what the components were seen to ask for.

    tests/kubernetes/roles.py AUDIT-LOG MANIFESTS

Prints `refused ACCOUNT VERB RESOURCE` for every request that was forbidden, and `unused ACCOUNT VERB
RESOURCE` for everything allowed that was never asked, except what the test cannot bring about.
"""
import json
import re
import subprocess
import sys

# Allowed for what does not happen in the test: (account, resource, verbs) and why.
ELSEWHERE = [
    # A cache lists, watches, or asks for one object, as the server makes it.
    ("*", "*", "get list watch"),
    # Events that are said again.
    ("*", "events", "create patch"),
    # Applying what is not there is a patch in the log, and refused without this.
    ("grove-operator", "customresourcedefinitions", "create"),
    # More than ten old revisions; a template that returns to an older one.
    ("grove-operator", "controllerrevisions", "delete patch"),
    # Claims of replicas that are gone while the set stays; claims that somebody changed.
    ("grove-operator", "resourceclaims", "delete patch"),
]


def account_of(user):
    return user.rsplit(":", 1)[-1]


def asked(path):
    used, refused = set(), set()
    for line in open(path, encoding="utf-8"):
        event = json.loads(line)
        ref = event.get("objectRef")
        if not ref:
            continue
        resource = ref.get("resource", "")
        if ref.get("subresource"):
            resource += "/" + ref["subresource"]
        key = (account_of(event["user"]["username"]), event["verb"], ref.get("apiGroup", ""), resource)
        (refused if event.get("responseStatus", {}).get("code") == 403 else used).add(key)
    return used, refused


def documents(path):
    """The manifests as kubectl reads them."""
    out = subprocess.run(["kubectl", "create", "--dry-run=client", "-o", "json", "-f", path],
                         check=True, capture_output=True, text=True).stdout
    decoder, at = json.JSONDecoder(), 0
    while at < len(out):
        value, at = decoder.raw_decode(out, at)
        yield from value["items"] if value.get("kind") == "List" else [value]
        at = re.compile(r"\s*").match(out, at).end()


def allowed(path):
    roles, bindings = {}, []
    for d in documents(path):
        if d["kind"] in ("ClusterRole", "Role"):
            roles[d["metadata"]["name"]] = d["rules"]
        elif d["kind"] in ("ClusterRoleBinding", "RoleBinding"):
            bindings.append(d)
    for b in bindings:
        for subject in b["subjects"]:
            for rule in roles[b["roleRef"]["name"]]:
                for group in rule.get("apiGroups", []):
                    for resource in rule.get("resources", []):
                        for verb in rule["verbs"]:
                            yield subject["name"], verb, group, resource


def is_elsewhere(account, verb, resource):
    return any(a in ("*", account) and r in ("*", resource) and verb in verbs.split()
               for a, r, verbs in ELSEWHERE)


def main():
    used, refused = asked(sys.argv[1])
    # A server that has just started refuses what it allows a second later.
    for account, verb, group, resource in sorted(refused - used):
        print("refused", account, verb, resource, group)
    for account, verb, group, resource in sorted(set(allowed(sys.argv[2])) - used):
        if not is_elsewhere(account, verb, resource):
            print("unused", account, verb, resource, group)


main()
