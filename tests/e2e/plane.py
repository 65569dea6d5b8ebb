"""A real `grove up` to talk to over raw connections, and TAP for what is found out.

For suites that look at more than answers: how much processor time the server spends, what it holds,
who waits for whom. GROVE is the program under test. With HOSTILE_ALONE=1 the server goes before
everything else on the machine (tests/e2e/hostile says why).
"""
import base64
import json
import os
import re
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import tempfile
import time

GROVE = os.environ["GROVE"]
ALONE = os.environ.get("HOSTILE_ALONE")

results = []


def prefer(level):
    if ALONE:
        os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(level))


def check(name, good, note=""):
    results.append(good)
    print(f"{'ok' if good else 'not ok'} {len(results)} - {name}", flush=True)
    if note and not good:
        print("# " + note, flush=True)


class Server:
    def __init__(self, words=()):
        # In memory: how long the disk takes is not the question.
        shm = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
        self.dir = tempfile.mkdtemp(prefix="grove-e2e-", dir=shm)
        self.config = os.path.join(self.dir, "kubeconfig")
        self.process = subprocess.Popen(
            [GROVE, "up", "--listen", "127.0.0.1:0", "--nodes", "0", "--kubeconfig", self.config,
             "--data", os.path.join(self.dir, "data"), *words],
            stdout=subprocess.PIPE, stderr=open(os.path.join(self.dir, "err"), "w"), text=True,
            preexec_fn=lambda: prefer(2))
        line = self.process.stdout.readline()
        self.prefer_workers()
        found = re.match(r"grove is up at https://([\d.]+):(\d+)", line)
        if not found:
            sys.exit("the control plane does not start: " + open(self.dir + "/err").read())
        self.address = (found.group(1), int(found.group(2)))
        text = open(self.config).read()
        self.tls = ssl.create_default_context(cadata=self.field(text, "certificate-authority-data"))
        self.admin_tls = ssl.create_default_context(
            cadata=self.field(text, "certificate-authority-data"))
        for name in ("client-certificate", "client-key"):
            with open(os.path.join(self.dir, name), "w") as f:
                f.write(self.field(text, name + "-data"))
        self.admin_tls.load_cert_chain(os.path.join(self.dir, "client-certificate"),
                                       os.path.join(self.dir, "client-key"))

    def prefer_workers(self):
        if not ALONE:
            return
        for task in os.listdir(f"/proc/{self.process.pid}/task"):
            if int(task) != self.process.pid:
                os.sched_setscheduler(int(task), os.SCHED_RR, os.sched_param(4))

    @staticmethod
    def field(text, name):
        return base64.b64decode(re.search(name + r": (\S+)", text).group(1)).decode()

    def memory_mb(self, line="RssAnon"):
        text = open(f"/proc/{self.process.pid}/status").read()
        return int(re.search(line + r":\s+(\d+) kB", text).group(1)) / 1024

    def spent(self):
        """Its processor time so far in milliseconds, see clock_getcpuclockid(3)."""
        return time.clock_gettime((~self.process.pid << 3) | 2) * 1000

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        try:
            self.process.wait(20)
        except subprocess.TimeoutExpired:
            self.process.kill()
        shutil.rmtree(self.dir, ignore_errors=True)


def connect(server, tls=None, timeout=30):
    s = socket.create_connection(server.address, timeout=timeout)
    s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return (tls or server.tls).wrap_socket(s, server_hostname="localhost")


def request(method, path, token=None, body=b"", kind="application/json"):
    head = f"{method} {path} HTTP/1.1\r\nHost: localhost\r\n"
    if token:
        head += f"Authorization: Bearer {token}\r\n"
    if body or method in ("POST", "PUT", "PATCH"):
        head += f"Content-Type: {kind}\r\nContent-Length: {len(body)}\r\n"
    return head.encode() + b"\r\n" + body


class Conversation:
    """One connection, one request after the other."""

    def __init__(self, server, token=None, tls=None):
        self.socket = connect(server, tls)
        self.file = self.socket.makefile("rb", 1 << 16)
        self.token = token

    def ask(self, method, path, body=b"", kind="application/json"):
        self.socket.sendall(request(method, path, self.token, body, kind))
        code = int(self.file.readline().split()[1])
        headers = {}
        for line in iter(self.file.readline, b"\r\n"):
            key, _, value = line.decode().partition(":")
            headers[key.strip().lower()] = value.strip()
        if "content-length" in headers:
            text = self.file.read(int(headers["content-length"]))
        else:
            text = b""
            for size in iter(lambda: int(self.file.readline(), 16), 0):
                text += self.file.read(size)
                self.file.readline()
            self.file.readline()
        self.headers = headers
        return code, text


def make_account(admin, name, role="edit"):
    """A service account that may do what the role says everywhere; its token."""
    account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": name}}
    binding = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding",
               "metadata": {"name": name},
               "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole",
                           "name": role},
               "subjects": [{"kind": "ServiceAccount", "name": name, "namespace": "default"}]}
    wanted = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest",
              "spec": {"expirationSeconds": 3600}}
    accounts = "/api/v1/namespaces/default/serviceaccounts"
    bindings = "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings"
    for path, body in ((accounts, account), (bindings, binding),
                       (f"{accounts}/{name}/token", wanted)):
        code, text = admin.ask("POST", path, json.dumps(body).encode())
        assert code == 201, text
    return json.loads(text)["status"]["token"]


def finish():
    print(f"1..{len(results)}")
    return 0 if all(results) else 1
