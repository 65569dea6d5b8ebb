#!/usr/bin/env python3
"""What bench/kubernetes measures, once everything runs; see there.

    bench/kubernetes.py WORK PORT OPERATOR-PID SERVER-PIDS BENCH-RAW
"""
import http.client
import json
import os
import re
import ssl
import subprocess
import sys
import threading
import time

WORK, PORT, PID, SERVERS = sys.argv[1], int(sys.argv[2]), sys.argv[3], sys.argv[4].split(",")
RAW = {}  # seconds of each step of bench-raw, RAW_PODS writes each
TICKS = os.sysconf("SC_CLK_TCK")
SCALE = float(os.environ.get("GROVE_BENCH_SCALE", "1"))
RAW_PODS = max(100, int(1000 * SCALE))
PODS = "/api/v1/namespaces/default/pods"
GATE = "grove.io/podgang-pending-creation"


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


def rss():
    for line in open(f"/proc/{PID}/status", encoding="ascii"):
        if line.startswith("VmRSS"):
            return int(line.split()[1]) / 1024
    return 0


def all_writes():
    """Of everybody: the scheduler, the nodes and the controllers of Kubernetes write as well."""
    counted = re.findall(r'^apiserver_request_total\{.*verb="(?:POST|PUT|PATCH|APPLY|DELETE)".*\} (\S+)$',
                         request("/metrics"), re.M)
    return int(sum(map(float, counted)))


def writes():
    """Of the operator."""
    n = 0
    for line in open(f"{WORK}/audit.log", encoding="utf-8"):
        event = json.loads(line)
        n += (event["user"]["username"].endswith(":grove-operator") and event["stage"] == "ResponseComplete"
              and event["verb"] in ("create", "update", "patch", "delete") and
              event.get("objectRef", {}).get("resource") != "leases")
    return n


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


def deploy(pods, title, name, manifest, n):
    cpu0, server0, writes0, all0 = cpu(), cpu(SERVERS), writes(), all_writes()
    begin = time.monotonic()
    kubectl("create", "-f", "-", text=manifest)
    created = pods.until(lambda p: len(p) >= n) - begin
    ungated = pods.until(lambda p: sum(u for u, _ in p) >= n) - begin
    ready = pods.until(lambda p: sum(r for _, r in p) >= n) - begin
    time.sleep(2)
    count, everybody = writes() - writes0, all_writes() - all0
    each = (RAW["create"] + RAW["ungate"] + RAW["status"]) / (3 * RAW_PODS)
    print(f"{title}: created {created:.1f} s, ungated {ungated:.1f} s, ready {ready:.1f} s; operator "
          f"{cpu() - cpu0:.2f} CPU-s, {rss():.0f} MB, {count} writes ({count / n:.2f} a pod); as many raw "
          f"writes {each * count:.1f} s: {ungated / each / count:.2f} x\n  until ready everybody: {everybody} "
          f"writes, as many raw {each * everybody:.1f} s: {ready / each / everybody:.2f} x; server "
          f"{cpu(SERVERS) - server0:.1f} CPU-s", flush=True)
    begin = time.monotonic()
    kubectl("scale", "pcs", name, "--replicas=0")
    gone = pods.until(all_gone) - begin
    while children():
        time.sleep(0.2)
    print(f"  {n} to 0: pods {gone:.1f} s, all children {time.monotonic() - begin:.1f} s, operator {rss():.0f} MB; "
          f"as many raw deletes of pods {RAW['delete'] * n / RAW_PODS:.1f} s", flush=True)
    kubectl("delete", "pcs", name, "--timeout=120s")


def churn(pods):
    few, many = scaled(50), scaled(100)
    kubectl("create", "-f", "-", text=pcs("churn", few, [clique("a", 2, 1)]))
    pods.until(lambda p: sum(r for _, r in p) == 2 * few)
    for i in range(10):
        begin, cpu0 = time.monotonic(), cpu()
        kubectl("scale", "pcs", "churn", f"--replicas={many}")
        pods.until(lambda p: sum(r for _, r in p) == 2 * many)
        kubectl("scale", "pcs", "churn", f"--replicas={few}")
        pods.until(lambda p: len(p) == 2 * few)
        print(f"cycle {i + 1}: {time.monotonic() - begin:.1f} s, {cpu() - cpu0:.2f} CPU-s, {rss():.1f} MB", flush=True)
    kubectl("delete", "pcs", "churn", "--timeout=120s")


def main():
    pods = Pods()
    server0 = cpu(SERVERS)
    RAW.update(json.loads(subprocess.check_output([sys.argv[5], "--pods", str(RAW_PODS)])))
    print(f"raw, {RAW_PODS} each:", ", ".join(f"{k} {v:.2f} s" for k, v in RAW.items()),
          f"; server {cpu(SERVERS) - server0:.1f} CPU-s", flush=True)
    copies, prefill, decode = scaled(500), scaled(125), scaled(100)
    deploy(pods, f"{copies} copies of 2", "wide", pcs("wide", copies, [clique("a", 2, 1)]), 2 * copies)
    groups = [{"name": "prefill", "cliqueNames": ["pl", "pw"], "replicas": prefill, "minAvailable": 1},
              {"name": "decode", "cliqueNames": ["dl", "dw"], "replicas": decode, "minAvailable": 1}]
    cliques = [clique("pl", 1, 1), clique("pw", 3, 3), clique("dl", 1, 1), clique("dw", 4, 4)]
    deploy(pods, "disaggregated", "deep", pcs("deep", 1, cliques, groups), 4 * prefill + 5 * decode)
    churn(pods)


main()
