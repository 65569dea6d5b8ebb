#!/usr/bin/env python3
"""What bench/kubernetes measures, once everything runs; see there.

    bench/kubernetes.py WORK PORT OPERATOR-PID SERVER-PIDS BENCH-RAW NAME=PID...
"""
import collections
import http.client
import json
import os
import re
import ssl
import statistics
import subprocess
import sys
import threading
import time

WORK, PORT, PID, SERVERS = sys.argv[1], int(sys.argv[2]), sys.argv[3], sys.argv[4].split(",")
OTHERS = dict(word.split("=") for word in sys.argv[6:])  # who else uses the processors
TICKS = os.sysconf("SC_CLK_TCK")
SCALE = float(os.environ.get("GROVE_BENCH_SCALE", "1"))
ROUNDS = int(os.environ.get("GROVE_BENCH_ROUNDS", "1"))
CYCLES = int(os.environ.get("GROVE_BENCH_CYCLES", "10"))
PARTS = os.environ.get("GROVE_BENCH_PARTS", "wide,deep,churn,delete").split(",")
PODS = "/api/v1/pods"  # of all namespaces: what the ceiling is measured with is watched as well
GATE = "grove.io/podgang-pending-creation"
# What has nothing to do with a deployment; what the controller manager writes beside bench-raw, too; and what
# bench-raw does not write but something alike.
NO_WRITES = {"leases", "nodes", "tokenreviews", "subjectaccessreviews", "serviceaccounts", "clusterroles"}
BESIDE = {f"{verb} {what}" for verb in ("create", "update", "delete") for what in
          ("poddisruptionbudgets/status", "endpoints", "endpointslices")}
LIKE = {"patch podcliques": "patch podgangs", "patch podcliquesets/status": "patch podcliques/status",
        "patch podcliquescalinggroups/status": "patch podcliques/status", "patch events": "create events",
        "create podcliquesets": "create podcliques", "create podcliquescalinggroups": "create podcliques",
        "delete podcliquescalinggroups": "delete podcliques"}


# Where the objects of a deployment are, and after which step those of bench-raw are complete.
SIZES = {"pods": ("/api/v1", "patch pods/status"),
         "podcliques": ("/apis/grove.io/v1alpha1", "patch podcliques/status"),
         "podgangs": ("/apis/scheduler.grove.io/v1alpha1", "patch podgangs/status")}


def connect(path, body=None):
    connection = http.client.HTTPSConnection("127.0.0.1", PORT, context=ssl._create_unverified_context())
    connection.request("POST" if body else "GET", path, body,
                       {"Authorization": "Bearer secret", "Content-Type": "application/json"})
    return connection.getresponse()


def request(path):
    return connect(path).read().decode()


def state_of(pod):
    return (not any(g["name"] == GATE for g in pod["spec"].get("schedulingGates", [])),
            any(c["type"] == "Ready" and c["status"] == "True" for c in pod.get("status", {}).get("conditions", [])))


class Pods:
    """Follows the pods of namespace default: (ungated, ready) by UID."""

    @staticmethod
    def is_ours(pod):
        return pod["metadata"]["namespace"] == "default"

    def __init__(self):
        self.pods, self.change = {}, threading.Condition()
        threading.Thread(target=self.follow, daemon=True).start()

    def follow(self):
        while True:  # a server that has much to do ends watches, in the middle of a line if need be
            try:
                self.follow_once()
            except (OSError, ValueError, KeyError, http.client.HTTPException):
                time.sleep(0.1)

    def follow_once(self):
        pods = json.loads(request(PODS))
        with self.change:
            self.pods = {p["metadata"]["uid"]: state_of(p) for p in pods["items"] if self.is_ours(p)}
            self.change.notify()
        for line in connect(f"{PODS}?watch=1&resourceVersion={pods['metadata']['resourceVersion']}"):
            event = json.loads(line)
            if event["type"] == "ERROR":
                return
            if not self.is_ours(event["object"]):
                continue
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


def sizes():
    """Bytes of an object, on the average, as the server keeps it."""
    found = {}
    for what, (base, _) in SIZES.items():
        items = json.loads(request(f"{base}/namespaces/default/{what}?resourceVersion=0"))["items"]
        found[what] = sum(len(json.dumps(i, separators=(",", ":"))) for i in items) / max(1, len(items))
    return found


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

    def all(self):
        for line in self.log:
            self.rest += line
            if not line.endswith("\n"):
                return  # it is still being written
            event, self.rest = json.loads(self.rest), ""
            if event["verb"] in ("create", "update", "patch", "delete") and event["stage"] == "ResponseComplete":
                yield event

    def events(self):
        for event in self.all():
            ref = event.get("objectRef", {})
            if ref.get("namespace") != "raw" and ref.get("resource") not in NO_WRITES:
                yield event

    def until_quiet(self, seconds=3, most=180):
        """Nodes that have just come, and what was deleted, keep the controller manager busy for a while: until
        nobody has written anything but signs of life for some seconds."""
        begin = last = time.monotonic()
        while time.monotonic() < min(last + seconds, begin + most):
            if sum(e["objectRef"].get("resource") != "leases" and e["objectRef"].get("subresource") != "status"
                   for e in self.all()):
                last = time.monotonic()
            time.sleep(0.2)

    def take(self, end=0.0):
        """What was answered since the last time: until end (seconds since the epoch), and later."""
        last = time.strftime("%Y-%m-%dT%H:%M:%S.", time.gmtime(end)) + f"{end % 1:.6f}Z"[2:]
        until, late = Counted(), Counted()
        for event in self.events():
            (until if event["stageTimestamp"] <= last else late).add(event)
        return until, late


class Requests:
    """What the server's own figures say it was asked for and told watchers, since this was made."""

    def __init__(self):
        self.before = self.read()

    @staticmethod
    def read():
        found = collections.Counter()
        for line in request("/metrics").splitlines():
            name, _, rest = line.partition("{")
            if name not in ("apiserver_request_total", "apiserver_watch_events_total"):
                continue
            labels = dict(re.findall(r'(\w+)="([^"]*)"', rest))
            what = labels.get("resource") or labels.get("kind", "").lower()
            if name == "apiserver_watch_events_total":
                found[f"event {what}"] += float(line.rsplit(" ", 1)[1])
            elif labels["verb"] in ("GET", "LIST"):
                found[f"read {labels['verb'].lower()} {what}"] += float(line.rsplit(" ", 1)[1])
            elif labels["code"] >= "400":
                found[f"refused {labels['verb'].lower()} {what} {labels['code']}"] += float(line.rsplit(" ", 1)[1])
        return found

    def told(self, n):
        found = self.read() - self.before
        lines = []
        for word in ("read", "refused", "event"):
            some = {k.split(" ", 1)[1]: v for k, v in found.items() if k.startswith(word + " ")}
            most = sorted(some.items(), key=lambda i: -i[1])[:5]
            lines.append(f"{word} {sum(some.values()) / n:.2f} (" +
                         ", ".join(f"{k} {v / n:.2f}" for k, v in most if v >= n / 100) + ")")
        return "; ".join(lines)


def others():
    """One that was started again has another number, and is not followed."""
    return {name: cpu((pid,)) for name, pid in OTHERS.items() if os.path.exists(f"/proc/{pid}")}


def others_since(before):
    return ", ".join(f"{name} {used - before[name]:.1f}" for name, used in others().items() if name in before)


class Ceiling:
    """What the server needs for as many writes of a client that has nothing to think about, by what
    is asked: seconds and processor seconds of the server, for one."""

    def __init__(self, options, *counted):
        self.seconds, self.cpu, self.bytes, wanted = {}, {}, {}, collections.Counter()
        for each in counted:
            for what, n in each.items():
                if what not in BESIDE:
                    wanted[LIKE.get(what, what)] += n
        writes = ",".join(f"{what}={n}" for what, n in wanted.items())
        kept, begin, total = others(), time.monotonic(), cpu(SERVERS)
        with subprocess.Popen([sys.argv[5], "--writes", writes, *options], stdout=subprocess.PIPE, text=True) as raw:
            before = total
            for line in raw.stdout:
                step, now = json.loads(line), cpu(SERVERS)
                self.seconds[step["step"]] = step["seconds"] / step["count"]
                self.bytes[step["step"]] = step["bytes"]
                self.cpu[step["step"]] = (now - before) / step["count"]
                before, end = now, time.monotonic()
        if raw.returncode:
            sys.exit("bench/kubernetes: bench-raw failed")
        print("  raw, ms a write (of the server's processors):",
              ", ".join(f"{k} {1000 * v:.1f} ({1000 * self.cpu[k]:.1f})" for k, v in self.seconds.items()),
              f"\n  raw in all {end - begin:.1f} s, server {before - total:.1f} CPU-s, others: {others_since(kept)}", flush=True)

        self.settle()

    @staticmethod
    def settle(seconds=180):
        """The controller manager has a pace of its own, and is not to clean up during what comes next."""
        end = time.monotonic() + seconds
        paths = ("/api/v1/namespaces/raw/endpoints", "/apis/discovery.k8s.io/v1/namespaces/raw/endpointslices")
        while time.monotonic() < end and any(json.loads(request(path + "?limit=1"))["items"] for path in paths):
            time.sleep(1)

    @staticmethod
    def cost(each, counted):
        mean = sum(each.values()) / len(each)  # for the few that nothing is alike
        return sum(each.get(LIKE.get(what, what), mean) * n for what, n in counted.items() if what not in BESIDE)

    def told_sizes(self, found):
        return ", ".join(f"{what} {n:.0f} (raw {self.bytes.get(SIZES[what][1], 0)})" for what, n in found.items())

    def told(self, title, counted, seconds, server):
        """By how much more it took, too: in seconds, and of the server's processors."""
        wall, used = self.cost(self.seconds, counted), self.cost(self.cpu, counted)
        print(f"  {title}: as many such writes raw {wall:.1f} s: {seconds / wall:.2f} x, {seconds - wall:+.1f} s; of the "
              f"server's processors {server:.1f} s, raw {used:.1f} s: {server / used:.2f} x", flush=True)
        return seconds / wall, server / used


def kubectl(*words):
    subprocess.run(["kubectl", *words], check=True, stdout=subprocess.DEVNULL)


def create(manifest):
    """Without kubectl, which has the server explain all its kinds first."""
    reply = connect("/apis/grove.io/v1alpha1/namespaces/default/podcliquesets", manifest)
    if reply.status != 201:
        sys.exit(f"bench/kubernetes: {reply.read().decode()}")


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
        self.requests, self.others = Requests(), others()
        self.writes, self.begin, self.own, self.server = writes, time.monotonic(), cpu(), cpu(SERVERS)
        self.idle = idle()

    def seconds(self):
        return time.monotonic() - self.begin

    def end(self):
        """What was written until now and in the seconds after that."""
        end, self.server, self.idle = time.time(), cpu(SERVERS) - self.server, idle() - self.idle
        self.others = others_since(self.others)
        time.sleep(5)
        self.own = cpu() - self.own
        return self.writes.take(end)


def deploy(pods, writes, title, manifest, n):
    span = Span(writes)
    create(manifest)
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
          f"(later {late.everybody.total() / n:.2f}): {by_kind(until.everybody, n)}\n"
          f"  a pod: {span.requests.told(n)}\n  CPU-s until ready: server {span.server:.1f}, {span.others}", flush=True)
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
          f"{by_kind(until.everybody, n)}\n  CPU-s: server {span.server:.1f}, {span.others}", flush=True)
    kubectl("delete", "pcs", name, "--timeout=120s")
    return until.everybody, seconds, span.server


def life(pods, writes, title, name, manifest, n, options=()):
    """From none to all and back, and then what the server alone would have needed."""
    writes.until_quiet()
    up = deploy(pods, writes, title, manifest, n)
    bytes_of = sizes()
    down = undeploy(pods, writes, name, n)
    writes.until_quiet()
    ceiling = Ceiling(options, up[0], down[0])
    print(f"  bytes of an object: {ceiling.told_sizes(bytes_of)}")
    ceiling.told("down", *down)
    return ceiling.told("up", *up)


def rounds(once):
    """A machine that others use as well has good moments and bad ones."""
    found = [once() for _ in range(ROUNDS)]
    if ROUNDS > 1:
        for what, ratios in zip(("seconds", "of the server's processors"), zip(*found)):
            print(f"{what}, x the raw ceiling: median {statistics.median(ratios):.2f} of",
                  ", ".join(f"{r:.2f}" for r in sorted(ratios)), flush=True)


def wide(pods, writes, copies):
    return life(pods, writes, f"{copies} copies of 2", "wide", pcs("wide", copies, [clique("a", 2, 1)]), 2 * copies)


def deep(pods, writes, prefill, decode):
    groups = [{"name": "prefill", "cliqueNames": ["pl", "pw"], "replicas": prefill, "minAvailable": 1},
              {"name": "decode", "cliqueNames": ["dl", "dw"], "replicas": decode, "minAvailable": 1}]
    cliques = [clique("pl", 1, 1), clique("pw", 3, 3), clique("dl", 1, 1), clique("dw", 4, 4)]
    return life(pods, writes, "disaggregated", "deep", pcs("deep", 1, cliques, groups), 4 * prefill + 5 * decode,
                ["--members"])


def churn(pods):
    few, many = scaled(50), scaled(100)
    create(pcs("churn", few, [clique("a", 2, 1)]))
    pods.until(lambda p: sum(r for _, r in p) == 2 * few)
    for i in range(CYCLES):
        begin, cpu0 = time.monotonic(), cpu()
        kubectl("scale", "pcs", "churn", f"--replicas={many}")
        pods.until(lambda p: sum(r for _, r in p) == 2 * many)
        kubectl("scale", "pcs", "churn", f"--replicas={few}")
        pods.until(lambda p: len(p) == 2 * few)
        print(f"cycle {i + 1}: {time.monotonic() - begin:.1f} s, {cpu() - cpu0:.2f} CPU-s, {rss():.1f} MB", flush=True)
    kubectl("delete", "pcs", "churn", "--timeout=120s")


def delete(pods):
    """A whole set at once: when the last pod is gone, the last clique or gang, and the set itself."""
    copies = scaled(500)
    create(pcs("gone", copies, [clique("a", 2, 1)]))
    pods.until(lambda p: sum(r for _, r in p) == 2 * copies)
    begin, own, kept = time.monotonic(), cpu(), others()
    kubectl("delete", "pcs", "gone", "--wait=false")
    pods.until(all_gone)
    gone = {"the last pod": time.monotonic() - begin}
    there = {"the last clique or gang": children, "the set": lambda: connect(
        "/apis/grove.io/v1alpha1/namespaces/default/podcliquesets/gone").status != 404}
    while there:
        for what in [what for what, ask in there.items() if not ask()]:
            gone[what] = time.monotonic() - begin
            del there[what]
        time.sleep(0.05)
    print(f"deleted with {2 * copies} pods:", ", ".join(f"{what} after {t:.1f} s" for what, t in gone.items()),
          f"(operator {cpu() - own:.2f} CPU-s, {others_since(kept)})", flush=True)


def until_collected(seconds=90):
    """The garbage collector looks for new kinds every half minute; until it watches ours, it asks for the
    owner of whatever it hears of."""
    end = time.monotonic() + seconds
    watched = re.compile(r'^apiserver_longrunning_requests\{.*resource="podcliques".*verb="WATCH".* ([0-9.]+)$', re.M)
    while time.monotonic() < end and sum(float(n) for n in watched.findall(request("/metrics"))) < 2:
        time.sleep(1)


def main():
    until_collected()
    pods, writes = Pods(), Writes()
    if "wide" in PARTS:
        rounds(lambda: wide(pods, writes, scaled(500)))
    if "deep" in PARTS:
        rounds(lambda: deep(pods, writes, scaled(125), scaled(100)))
    if "churn" in PARTS:
        churn(pods)
    if "delete" in PARTS:
        delete(pods)


main()
