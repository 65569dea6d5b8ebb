#!/usr/bin/env python3
"""List and watch with http.client, ssl and json only: a client that shares no code with any other.

    informer.py KUBECONFIG      TAP
"""
import base64
import http.client
import json
import re
import ssl
import sys
import tempfile
import threading
import time

from tap import expect, main, test

JSON = "application/json"
MAPS = "/api/v1/namespaces/default/configmaps"


class Api:
    """One server, HTTP/1.1, one connection per request."""

    def __init__(self, kubeconfig):
        with open(kubeconfig, encoding="utf-8") as file:
            text = file.read()

        def value(name):
            found = re.search(rf'"?{name}"?: *"?([^",\s]+)', text)
            return found.group(1) if found else None

        self.host, self.port = re.match(r"https://([^:/]+):(\d+)", value("server")).groups()
        self.token = value("token")
        self.tls = ssl.create_default_context(
            cadata=base64.b64decode(value("certificate-authority-data")).decode())
        if value("client-certificate-data"):
            with tempfile.NamedTemporaryFile() as pem:
                pem.write(base64.b64decode(value("client-certificate-data")))
                pem.write(base64.b64decode(value("client-key-data")))
                pem.flush()
                self.tls.load_cert_chain(pem.name)

    def open(self, method, path, body=None, timeout=20, **headers):
        link = http.client.HTTPSConnection(self.host, int(self.port), context=self.tls,
                                           timeout=timeout)
        headers = {name.replace("_", "-"): text for name, text in headers.items()}
        headers.setdefault("Accept", JSON)
        headers.setdefault("Content-Type", JSON)
        if self.token:
            headers["Authorization"] = "Bearer " + self.token
        link.request(method, path, None if body is None else json.dumps(body), headers)
        return link, link.getresponse()

    def call(self, method, path, body=None, **headers):
        """(code, document)"""
        link, answer = self.open(method, path, body, **headers)
        text = answer.read()
        link.close()
        return answer.status, json.loads(text) if text[:1] in b"{[" else text.decode()

    def events(self, path, until, timeout=20):
        """Events of a watch until until(event) says so or it ends."""
        link, answer = self.open("GET", path, timeout=timeout)
        expect(answer.status == 200, answer.status)
        seen = []
        for line in answer:
            seen.append(json.loads(line))
            if until(seen[-1]):
                break
        link.close()
        return seen


class Informer(threading.Thread):
    """A list, then a watch from its revision; on the end of the watch another from the last one
    seen, on 410 a new list. What it knows is in items, by name."""

    def __init__(self, api, path):
        super().__init__(daemon=True)
        self.api, self.path = api, path
        self.items, self.lists, self.watches = {}, 0, 0
        self.rv, self.synced, self.stopping, self.broken = None, threading.Event(), False, None

    def run(self):
        try:
            while not self.stopping:
                if self.rv is None:
                    self.list()
                self.watch()
        except Exception as why:  # pylint: disable=broad-except
            self.broken = why

    def list(self):
        items, token = {}, ""
        while True:
            code, page = self.api.call("GET", f"{self.path}?limit=3&continue={token}")
            expect(code == 200, page)
            items.update((o["metadata"]["name"], o) for o in page["items"])
            token = page["metadata"].get("continue", "")
            if not token:
                break
        self.items, self.rv = items, page["metadata"]["resourceVersion"]
        self.lists += 1
        self.synced.set()

    def watch(self):
        self.watches += 1
        query = f"?watch=1&allowWatchBookmarks=true&timeoutSeconds=1&resourceVersion={self.rv}"
        self.api.events(self.path + query, self.on_event)

    def on_event(self, event):
        kind, o = event["type"], event["object"]
        if kind == "ERROR":
            expect(o["code"] == 410, o)
            self.rv = None
            return True
        ahead = int(o["metadata"]["resourceVersion"]) - int(self.rv)
        expect(ahead > 0 or (ahead == 0 and kind == "BOOKMARK"), "after", self.rv, event)
        self.rv = o["metadata"]["resourceVersion"]
        if kind == "DELETED":
            self.items.pop(o["metadata"]["name"], None)
        elif kind != "BOOKMARK":
            self.items[o["metadata"]["name"]] = o
        return self.stopping


def make(api, name, **data):
    code, o = api.call("POST", MAPS, {"apiVersion": "v1", "kind": "ConfigMap",
                                      "metadata": {"name": name, "labels": {"by": "informer"}},
                                      "data": data})
    expect(code == 201, o)
    return o


def patch(api, name, body, kind="merge-patch+json"):
    code, o = api.call("PATCH", f"{MAPS}/{name}", body, Content_Type="application/" + kind)
    expect(code == 200, o)
    return o


def wait_for(what, said):
    end = time.monotonic() + 15
    while not what():
        expect(time.monotonic() < end, said)
        time.sleep(0.02)


@test
def version_answers_with_a_slash_too(api):
    for path in ("/version", "/version/"):
        code, version = api.call("GET", path)
        expect(code == 200 and version["major"] == "1" and int(version["minor"]) >= 32, version)


@test
def every_group_is_found_by_walking_discovery(api):
    code, groups = api.call("GET", "/apis")
    expect(code == 200 and groups["kind"] == "APIGroupList", groups)
    versions = [v["groupVersion"] for g in groups["groups"] for v in g["versions"]]
    expect("grove.io/v1alpha1" in versions, versions)
    for version in versions:
        code, found = api.call("GET", "/apis/" + version)
        expect(code == 200 and found["kind"] == "APIResourceList", version, found)
        expect(found["groupVersion"] == version, found)


@test
def an_object_lives_and_dies(api):
    made = make(api, "life", a="1")
    code, same = api.call("GET", f"{MAPS}/life")
    expect(code == 200 and same == made, same)
    code, _ = api.call("POST", MAPS, made | {"metadata": {"name": "life"}})
    expect(code == 409)
    code, put = api.call("PUT", f"{MAPS}/life", made | {"data": {"a": "2"}})
    expect(code == 200 and put["data"] == {"a": "2"}, put)
    code, late = api.call("PUT", f"{MAPS}/life", made | {"data": {"a": "3"}})
    expect(code == 409 and late["reason"] == "Conflict", late)
    code, gone = api.call("DELETE", f"{MAPS}/life")
    expect(code == 200 and gone["status"] == "Success", gone)
    code, none = api.call("GET", f"{MAPS}/life")
    expect(code == 404 and none["details"] == {"name": "life", "kind": "configmaps"}, none)


@test
def an_informer_follows_what_others_do(api):
    for i in range(7):
        make(api, f"before-{i}", n=str(i))
    informer = Informer(api, MAPS)
    informer.start()
    expect(informer.synced.wait(15), "never synced", informer.broken)
    expect(all(f"before-{i}" in informer.items for i in range(7)), list(informer.items))
    make(api, "after", n="1")
    patch(api, "after", {"data": {"n": "2"}})
    patch(api, "before-0", [{"op": "add", "path": "/data/x", "value": "y"}], "json-patch+json")
    api.call("DELETE", f"{MAPS}/before-1")
    # across the end of several watches
    wait_for(lambda: informer.watches >= 3 or informer.broken, "watches do not end")
    last = patch(api, "after", {"data": {"n": "3"}})
    wait_for(lambda: informer.items.get("after") == last or informer.broken, "the last change")
    expect(informer.broken is None, informer.broken)
    expect(informer.lists == 1, "lists", informer.lists)
    informer.stopping = True
    code, listed = api.call("GET", MAPS)
    expect(code == 200)
    expect(informer.items.keys() == {o["metadata"]["name"] for o in listed["items"]})
    for o in listed["items"]:
        mine = informer.items[o["metadata"]["name"]]
        expect(mine["metadata"]["resourceVersion"] == o["metadata"]["resourceVersion"], mine)


@test
def a_watch_begins_with_what_is_there_and_says_when_that_was_all(api):
    query = ("?watch=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan"
             "&allowWatchBookmarks=true&timeoutSeconds=10")

    def is_end(event):
        notes = event["object"]["metadata"].get("annotations", {})
        return event["type"] == "BOOKMARK" and notes.get("k8s.io/initial-events-end") == "true"

    seen = api.events(MAPS + query, is_end)
    names = [e["object"]["metadata"]["name"] for e in seen[:-1]]
    expect(is_end(seen[-1]) and "kube-root-ca.crt" in names, seen[-1])
    expect(all(e["type"] == "ADDED" for e in seen[:-1]) and names == sorted(names), names)


@test
def a_selector_turns_changes_into_comings_and_goings(api):
    made = make(api, "moving", a="1")
    path = (f"{MAPS}?watch=True&timeoutSeconds=10&labelSelector=in%3Dyes"
            f"&resourceVersion={made['metadata']['resourceVersion']}")
    patch(api, "moving", {"metadata": {"labels": {"in": "yes"}}})
    patch(api, "moving", {"data": {"a": "2"}})
    left = patch(api, "moving", {"metadata": {"labels": {"in": None}}})
    seen = api.events(path, lambda event: event["type"] == "DELETED")
    expect([e["type"] for e in seen] == ["ADDED", "MODIFIED", "DELETED"], seen)
    expect(seen[-1]["object"]["metadata"]["labels"]["in"] == "yes", seen[-1])
    expect(seen[-1]["object"]["metadata"]["resourceVersion"] == left["metadata"]["resourceVersion"])


@test
def a_watch_from_before_the_window_is_told_410_in_the_stream(api):
    seen = api.events(MAPS + "?watch=1&resourceVersion=1&timeoutSeconds=2", lambda _: True)
    # A young server still remembers everything; then it replays from the beginning.
    first = seen[0]
    expect(first["type"] in ("ERROR", "ADDED"), first)
    expect(first["type"] != "ERROR" or first["object"]["reason"] == "Expired", first)


@test
def a_collection_is_deleted_by_label(api):
    code, gone = api.call("DELETE", MAPS + "?labelSelector=by%3Dinformer")
    expect(code == 200 and gone["kind"] == "ConfigMapList", gone)
    code, left = api.call("GET", MAPS + "?labelSelector=by%3Dinformer")
    expect(code == 200 and left["items"] == [], left)


main(Api(sys.argv[1]))
