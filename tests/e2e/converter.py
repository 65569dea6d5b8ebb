#!/usr/bin/env python3
"""A conversion webhook over TLS: tables.example.com v1alpha1 <-> v1beta1.

usage: converter.py CERT KEY MODE-FILE COUNT-FILE

Prints its port. The word in MODE-FILE says how it answers; each review adds a line "N OBJECTS" with
the number of its objects to COUNT-FILE.
"""
import json
import ssl
import sys
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

cert, key, mode_file, count_file = sys.argv[1:]
GROUP = "stable.example.com/"


def convert(o, to):
    spec, out = o.get("spec") or {}, {}
    if to.endswith("v1beta1"):
        if "replicas" in spec:
            out["size"] = spec["replicas"]
        if "image" in spec:
            repo, _, tag = spec["image"].partition(":")
            out["image"] = {"repo": repo, "tag": tag}
    else:
        if "size" in spec:
            out["replicas"] = spec["size"]
        if "image" in spec:
            out["image"] = "%s:%s" % (spec["image"].get("repo", ""), spec["image"].get("tag", ""))
    done = {"apiVersion": to, "kind": o["kind"], "metadata": o["metadata"], "spec": out}
    if "status" in o:
        done["status"] = o["status"]
    return done


def answer(review, mode):
    request = review["request"]
    objects = [convert(o, request["desiredAPIVersion"]) for o in request["objects"]]
    if mode == "count":
        objects.append(objects[0])
    if mode == "rename":
        objects[0]["metadata"] = dict(objects[0]["metadata"], name="other")
    result = {"status": "Failed", "message": "out of order"} if mode == "fail" else {"status": "Success"}
    review.pop("request")
    review["response"] = {"uid": request["uid"], "result": result, "convertedObjects": objects}
    return json.dumps(review).encode()


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        body = self.rfile.read(int(self.headers["content-length"]))
        mode = open(mode_file).read().strip()
        review = json.loads(body)
        with open(count_file, "a") as f:
            f.write("%d\n" % len(review["request"]["objects"]))
        if mode == "hang":
            time.sleep(60)
        if mode == "slow":
            time.sleep(1)
        out = {"garbage": b"<html>no</html>", "huge": b" " * (9 << 20)}.get(mode) or answer(review, mode)
        self.send_response(503 if mode == "503" else 200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(out)))
        self.end_headers()
        self.wfile.write(out)

    def log_message(self, *_):
        pass


server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
server.daemon_threads = True
context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
context.load_cert_chain(cert, key)
server.socket = context.wrap_socket(server.socket, server_side=True)
print(server.server_address[1], flush=True)
server.serve_forever()
