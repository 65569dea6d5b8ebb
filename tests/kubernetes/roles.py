#!/usr/bin/env python3
"""Compares what the components' roles allow with what the components were seen to ask for.

    tests/kubernetes/roles.py AUDIT-LOG MANIFESTS

Prints `refused ACCOUNT VERB RESOURCE` for every request that was forbidden, and `unused ACCOUNT VERB
RESOURCE` for everything allowed that was never asked, except what the test cannot bring about. Whoever
reads a resource in one way may do so in all three: a cache lists, watches, or asks for one object, as
the server makes it.

Then it doubts itself: with a rule more it must find that one unused, and without any of the rules that
were used it must find what was asked refused. Prints `blind ...` where it does not.
"""
import json
import re
import subprocess
import sys

READS = ("get", "list", "watch")
# Allowed for what does not happen in the test: (account, resource, verbs) and why.
ELSEWHERE = [
    # Events that are said again.
    ("*", "events", "create get patch"),
    # Waiting pods read this, and nobody can give what he does not have.
    ("grove-operator", "pods/status", "get list watch"),
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


def is_read(account, verb, group, resource, used):
    return verb in READS and any((account, v, group, resource) in used for v in READS)


def unused(rules, used):
    return sorted(r for r in rules - used if not is_elsewhere(r[0], r[1], r[3]) and not is_read(*r, used))


def is_allowed(request, rules):
    account, verb, group, resource = request
    return any((account, verb, g, r) in rules for g in (group, "*") for r in (resource, "*"))


def doubt(rules, used):
    """Every rule but the exempt ones matters."""
    accounts = {r[0] for r in rules}
    for extra in [(a, v, "", "raws") for a in accounts for v in ("create", "get")]:
        if extra not in unused(rules | {extra}, used):
            yield "a needless rule is not seen: ", extra
    for rule in rules & used:
        if is_allowed(rule, rules - {rule}):
            yield "a missing rule is not missed: ", rule


def main():
    used, refused = asked(sys.argv[1])
    rules = set(allowed(sys.argv[2]))
    # A server that has just started refuses what it allows a second later.
    for account, verb, group, resource in sorted(refused - used):
        print("refused", account, verb, resource, group)
    for account, verb, group, resource in unused(rules, used):
        print("unused", account, verb, resource, group)
    for what, rule in doubt(rules, used):
        print("blind:", what, *rule)


main()
