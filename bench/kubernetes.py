#!/usr/bin/env python3
"""What bench/kubernetes measures, once everything runs; see there.

    bench/kubernetes.py WORK PORT OPERATOR-PID SERVER-PIDS BENCH-RAW
"""
import collections
import http.client
import json
import os
import ssl
import subprocess
import sys
import threading
import time

WORK, PORT, PID, SERVERS = sys.argv[1], int(sys.argv[2]), sys.argv[3], sys.argv[4].split(",")
TICKS = os.sysconf("SC_CLK_TCK")
SCALE = float(os.environ.get("GROVE_BENCH_SCALE", "1"))
CYCLES = int(os.environ.get("GROVE_BENCH_CYCLES", "10"))
RAW_COUNT = max(50, int(300 * SCALE))  # writes of each kind
PODS = "/api/v1/namespaces/default/pods"
GATE = "grove.io/podgang-pending-creation"
# What has nothing to do with a deployment, and what bench-raw does not write but something alike.
NO_WRITES = {"leases", "nodes", "tokenreviews", "subjectaccessreviews", "serviceaccounts", "clusterroles"}
LIKE = {"create endpoints": "create services", "create endpointslices": "create services",
        "update endpoints": "patch podgangs", "update endpointslices": "patch podgangs",
        "update poddisruptionbudgets/status": "patch podgangs", "delete endpointslices": "delete services",
        "delete endpoints": "delete services", "patch podcliques": "patch podgangs",
        "patch podcliquesets/status": "patch podcliques/status", "create podcliquesets": "create podcliques",
        "patch podcliquescalinggroups/status": "patch podcliques/status", "patch events": "create events",
        "create podcliquescalinggroups": "create podcliques", "delete podcliquescalinggroups": "delete podcliques"}


def connect(path):
    connection = http.client.HTTPSConnection("127.0.0.1", PORT, context=ssl._create_unverified_context())
    connection.request("GET", path, headers={"Authorization": "Bearer secret"})
    return connection.getresponse()


def request(path):
    return connect(path).read().decode()


def state_of(pod):
    return (not any(g["name"] == GATE for g in pod["spec"].get("schedulingGates", [])),
            any(c["type"] == "Ready" and c["status"] == "True" for c in pod.get("status", {}).get("conditions", [])))


class Pods:
    """Follows the pods of namespace default: (ungated, ready) by UID."""

    def __init__(self):
        self.pods, self.change = {}, threading.Condition()
        threading.Thread(target=self.follow, daemon=True).start()

    def follow(self):
        while True:  # a server that has much to do ends watches
            pods = json.loads(request(PODS))
            with self.change:
                self.pods = {p["metadata"]["uid"]: state_of(p) for p in pods["items"]}
                self.change.notify()
            for line in connect(f"{PODS}?watch=1&resourceVersion={pods['metadata']['resourceVersion']}"):
                event = json.loads(line)
                if event["type"] == "ERROR":
                    break
                with self.change:
                    self.pods.pop(event["object"]["metadata"]["uid"], None)
                    if event["type"] != "DELETED":
                        self.pods[event["object"]["metadata"]["uid"]] = state_of(event["object"])
                    self.change.notify()

    def until(self, reached, seconds=900):
        begin = time.monotonic()
        with self.change:
            while not reached(self.pods.values()):
                if not self.change.wait(timeout=max(0.01, begin + seconds - time.monotonic())):
                    sys.exit(f"bench/kubernetes: not reached: {len(self.pods)} pods, "
                             f"{sum(r for _, r in self.pods.values())} ready")
        return time.monotonic()


def cpu(pids=(PID,)):
    total = 0
    for pid in pids:
        fields = open(f"/proc/{pid}/stat", encoding="ascii").read().rsplit(")", 1)[1].split()
        total += int(fields[11]) + int(fields[12])
    return total / TICKS


def idle():
    """Seconds the processors of this machine had nothing to do, of all of them together."""
    return int(open("/proc/stat", encoding="ascii").readline().split()[4]) / TICKS


def rss():
    for line in open(f"/proc/{PID}/status", encoding="ascii"):
        if line.startswith("VmRSS"):
            return int(line.split()[1]) / 1024
    return 0


class Counted:
    """Writes by what was asked ("patch pods/status"): of everybody and of the operator alone."""

    def __init__(self):
        self.everybody, self.operator = collections.Counter(), collections.Counter()

    def add(self, event):
        ref = event["objectRef"]
        what = f"{event['verb']} {ref['resource']}" + (f"/{ref['subresource']}" if ref.get("subresource") else "")
        self.everybody[what] += 1
        if event["user"]["username"].endswith(":grove-operator"):
            self.operator[what] += 1


class Writes:
    """Follows the server's audit log."""

    def __init__(self):
        self.log, self.rest = open(f"{WORK}/audit.log", encoding="utf-8"), ""

    def events(self):
        for line in self.log:
            self.rest += line
            if not line.endswith("\n"):
                return  # it is still being written
            event, self.rest = json.loads(self.rest), ""
            ref = event.get("objectRef", {})
            if (event["verb"] in ("create", "update", "patch", "delete") and event["stage"] == "ResponseComplete"
                    and ref.get("namespace") != "raw" and ref.get("resource") not in NO_WRITES):
                yield event

    def take(self, end=0.0):
        """What was answered since the last time: until end (seconds since the epoch), and later."""
        last = time.strftime("%Y-%m-%dT%H:%M:%S.", time.gmtime(end)) + f"{end % 1:.6f}Z"[2:]
        until, late = Counted(), Counted()
        for event in self.events():
            (until if event["stageTimestamp"] <= last else late).add(event)
        return until, late


class Ceiling:
    """What the server needs for writes of a client that has nothing to think about, by what is
    asked: seconds, and processor seconds of the server. Measured before and after what is compared
    with it, for a machine does not always have the same to do."""

    def __init__(self):
        self.seconds = self.cpu = self.last = None
        self.measure()

    def measure(self):
        seconds, used = {}, {}
        with subprocess.Popen([sys.argv[5], "--count", str(RAW_COUNT)], stdout=subprocess.PIPE, text=True) as raw:
            before = cpu(SERVERS)
            for line in raw.stdout:
                step, now = json.loads(line), cpu(SERVERS)
                seconds[step["step"]], used[step["step"]] = step["seconds"] / RAW_COUNT, (now - before) / RAW_COUNT
                before = now
        if raw.returncode:
            sys.exit("bench/kubernetes: bench-raw failed")
        last = self.last or (seconds, used)
        self.seconds = {k: (v + last[0][k]) / 2 for k, v in seconds.items()}
        self.cpu = {k: (v + last[1][k]) / 2 for k, v in used.items()}
        self.last = (seconds, used)
        print("raw, ms (of the server's processors):",
              ", ".join(f"{k} {1000 * v:.1f} ({1000 * used[k]:.1f})" for k, v in seconds.items()), flush=True)

    @staticmethod
    def cost(each, counted):
        mean = sum(each.values()) / len(each)  # for the few that nothing is alike
        return sum(each.get(LIKE.get(what, what), mean) * n for what, n in counted.items())

    def told(self, counted, seconds, server):
        wall, used = self.cost(self.seconds, counted), self.cost(self.cpu, counted)
        return (f"as many such writes raw {wall:.1f} s: {seconds / wall:.2f} x, {seconds - wall:+.1f} s; of the server's "
                f"processors {server:.1f} s, raw {used:.1f} s: {server / used:.2f} x")


def kubectl(*words, text=None):
    subprocess.run(["kubectl", *words], input=text, text=True, check=True, stdout=subprocess.DEVNULL)


def clique(name, replicas, minimum):
    return {"name": name, "spec": {"roleName": name, "replicas": replicas, "minAvailable": minimum, "podSpec": {
        "tolerations": [{"operator": "Exists"}],
        "containers": [{"name": "main", "image": "busybox", "resources": {"requests": {"cpu": "10m"}}}]}}}


def pcs(name, replicas, cliques, groups=()):
    return json.dumps({"apiVersion": "grove.io/v1alpha1", "kind": "PodCliqueSet", "metadata": {"name": name},
                       "spec": {"replicas": replicas, "template": {
                           "terminationDelay": "4h0m0s", "cliqueStartupType": "CliqueStartupTypeAnyOrder",
                           "headlessServiceConfig": {"publishNotReadyAddresses": True},
                           "cliques": cliques, "podCliqueScalingGroups": list(groups)}}})


def children():
    """How many cliques and gangs there are."""
    n = 0
    for path in ("/apis/grove.io/v1alpha1/namespaces/default/podcliques",
                 "/apis/scheduler.grove.io/v1alpha1/namespaces/default/podgangs"):
        n += len(json.loads(request(path + "?resourceVersion=0"))["items"])
    return n


def scaled(n):
    return max(1, int(n * SCALE))


def all_gone(pods):
    return len(pods) == 0


def by_kind(counted, n):
    return ", ".join(f"{what} {count / n:.2f}" for what, count in counted.most_common() if count >= n / 100)


class Span:
    """Seconds and processor seconds from now on."""

    def __init__(self, writes):
        writes.take()
        self.writes, self.begin, self.own, self.server = writes, time.monotonic(), cpu(), cpu(SERVERS)
        self.idle = idle()

    def seconds(self):
        return time.monotonic() - self.begin

    def end(self):
        """What was written until now and in the seconds after that."""
        end, self.server, self.idle = time.time(), cpu(SERVERS) - self.server, idle() - self.idle
        time.sleep(5)
        self.own = cpu() - self.own
        return self.writes.take(end)


def deploy(pods, writes, title, manifest, n):
    span = Span(writes)
    kubectl("create", "-f", "-", text=manifest)
    pods.until(lambda p: len(p) >= n)
    created = span.seconds()
    pods.until(lambda p: sum(u for u, _ in p) >= n)
    ungated = span.seconds()
    pods.until(lambda p: sum(r for _, r in p) >= n)
    ready, memory = span.seconds(), rss()
    until, late = span.end()
    print(f"{title}: created {created:.1f} s, ungated {ungated:.1f} s, ready {ready:.1f} s; operator {span.own:.2f} CPU-s, "
          f"{memory:.1f} MB; load {os.getloadavg()[0]:.1f}, processors idle {span.idle:.1f} s\n  writes a pod: operator {until.operator.total() / n:.2f} "
          f"(later {late.operator.total() / n:.2f}), everybody {until.everybody.total() / n:.2f} "
          f"(later {late.everybody.total() / n:.2f}): {by_kind(until.everybody, n)}", flush=True)
    return until.everybody, ready, span.server


def undeploy(pods, writes, name, n):
    span = Span(writes)
    kubectl("scale", "pcs", name, "--replicas=0")
    pods.until(all_gone)
    gone = span.seconds()
    while children():
        time.sleep(0.2)
    seconds = span.seconds()
    until, _ = span.end()
    print(f"  {n} to 0: pods {gone:.1f} s, all children {seconds:.1f} s, operator {span.own:.2f} CPU-s, {rss():.1f} MB\n"
          f"  writes a pod: operator {until.operator.total() / n:.2f}, everybody {until.everybody.total() / n:.2f}: "
          f"{by_kind(until.everybody, n)}", flush=True)
    kubectl("delete", "pcs", name, "--timeout=120s")
    return until.everybody, seconds, span.server


def life(pods, writes, ceiling, title, name, manifest, n):
    """From none to all and back, and then what the server alone would have needed."""
    up = deploy(pods, writes, title, manifest, n)
    down = undeploy(pods, writes, name, n)
    ceiling.measure()
    print(f"  up:   {ceiling.told(*up)}\n  down: {ceiling.told(*down)}", flush=True)


def churn(pods):
    few, many = scaled(50), scaled(100)
    kubectl("create", "-f", "-", text=pcs("churn", few, [clique("a", 2, 1)]))
    pods.until(lambda p: sum(r for _, r in p) == 2 * few)
    for i in range(CYCLES):
        begin, cpu0 = time.monotonic(), cpu()
        kubectl("scale", "pcs", "churn", f"--replicas={many}")
        pods.until(lambda p: sum(r for _, r in p) == 2 * many)
        kubectl("scale", "pcs", "churn", f"--replicas={few}")
        pods.until(lambda p: len(p) == 2 * few)
        print(f"cycle {i + 1}: {time.monotonic() - begin:.1f} s, {cpu() - cpu0:.2f} CPU-s, {rss():.1f} MB", flush=True)
    kubectl("delete", "pcs", "churn", "--timeout=120s")


def main():
    pods, writes, ceiling = Pods(), Writes(), Ceiling()
    copies, prefill, decode = scaled(500), scaled(125), scaled(100)
    life(pods, writes, ceiling, f"{copies} copies of 2", "wide", pcs("wide", copies, [clique("a", 2, 1)]), 2 * copies)
    groups = [{"name": "prefill", "cliqueNames": ["pl", "pw"], "replicas": prefill, "minAvailable": 1},
              {"name": "decode", "cliqueNames": ["dl", "dw"], "replicas": decode, "minAvailable": 1}]
    cliques = [clique("pl", 1, 1), clique("pw", 3, 3), clique("dl", 1, 1), clique("dw", 4, 4)]
    life(pods, writes, ceiling, "disaggregated", "deep", pcs("deep", 1, cliques, groups), 4 * prefill + 5 * decode)
    churn(pods)


main()
