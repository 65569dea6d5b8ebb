#!/usr/bin/env python3
"""What bench/kubernetes measures, once everything runs; see there.

    bench/kubernetes.py WORK PORT OPERATOR-PID RAW-FIGURES
"""
import http.client
import json
import os
import ssl
import subprocess
import sys
import threading
import time

WORK, PORT, PID, RAW = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), json.loads(sys.argv[4])
TICKS = os.sysconf("SC_CLK_TCK")
GATE = "grove.io/podgang-pending-creation"


class Pods:
    """Follows the pods of namespace default by one watch."""

    def __init__(self):
        self.pods, self.change = {}, threading.Condition()
        threading.Thread(target=self.follow, daemon=True).start()

    def follow(self):
        connection = http.client.HTTPSConnection("127.0.0.1", PORT, context=ssl._create_unverified_context())
        connection.request("GET", "/api/v1/namespaces/default/pods?watch=1&sendInitialEvents=false",
                           headers={"Authorization": "Bearer secret"})
        for line in connection.getresponse():
            event = json.loads(line)
            pod = event["object"]
            with self.change:
                if event["type"] == "DELETED":
                    self.pods.pop(pod["metadata"]["uid"], None)
                else:
                    self.pods[pod["metadata"]["uid"]] = (
                        not any(g["name"] == GATE for g in pod["spec"].get("schedulingGates", [])),
                        any(c["type"] == "Ready" and c["status"] == "True"
                            for c in pod.get("status", {}).get("conditions", [])))
                self.change.notify()

    def until(self, reached, seconds=300):
        begin = time.monotonic()
        with self.change:
            while not reached(self.pods.values()):
                if not self.change.wait(timeout=max(0.01, begin + seconds - time.monotonic())):
                    sys.exit(f"bench/kubernetes: not reached: {len(self.pods)} pods, "
                             f"{sum(r for _, r in self.pods.values())} ready")
        return time.monotonic()


def cpu():
    fields = open(f"/proc/{PID}/stat", encoding="ascii").read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


def rss():
    for line in open(f"/proc/{PID}/status", encoding="ascii"):
        if line.startswith("VmRSS"):
            return int(line.split()[1]) / 1024
    return 0


def writes():
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


def all_gone(pods):
    return len(pods) == 0


def deploy(pods, title, name, manifest, n):
    begin, cpu0, writes0 = time.monotonic(), cpu(), writes()
    kubectl("create", "-f", "-", text=manifest)
    created = pods.until(lambda p: len(p) >= n) - begin
    ungated = pods.until(lambda p: sum(u for u, _ in p) >= n) - begin
    ready = pods.until(lambda p: sum(r for _, r in p) >= n) - begin
    time.sleep(2)
    count = writes() - writes0
    raw = (RAW["create"] + RAW["ungate"] + RAW["status"]) / 3000 * count
    print(f"{title}: created {created:.1f} s, ungated {ungated:.1f} s, ready {ready:.1f} s; operator "
          f"{cpu() - cpu0:.2f} CPU-s, {rss():.0f} MB, {count} writes ({count / n:.2f} a pod); as many raw "
          f"writes {raw:.1f} s: {ungated / raw:.2f} x")
    begin = time.monotonic()
    kubectl("scale", "pcs", name, "--replicas=0")
    gone = pods.until(all_gone) - begin
    print(f"  {n} to 0: {gone:.1f} s; as many raw deletes {RAW['delete'] * n / 1000:.1f} s")
    kubectl("delete", "pcs", name, "--timeout=120s")


def churn(pods):
    kubectl("create", "-f", "-", text=pcs("churn", 50, [clique("a", 2, 1)]))
    pods.until(lambda p: sum(r for _, r in p) == 100)
    for i in range(10):
        begin, cpu0 = time.monotonic(), cpu()
        kubectl("scale", "pcs", "churn", "--replicas=100")
        pods.until(lambda p: sum(r for _, r in p) == 200)
        kubectl("scale", "pcs", "churn", "--replicas=50")
        pods.until(lambda p: len(p) == 100)
        print(f"cycle {i + 1}: {time.monotonic() - begin:.1f} s, {cpu() - cpu0:.2f} CPU-s, {rss():.0f} MB")
    kubectl("delete", "pcs", "churn", "--timeout=120s")


def main():
    pods = Pods()
    print("raw, 1,000 each:", ", ".join(f"{k} {v:.2f} s" for k, v in RAW.items()))
    deploy(pods, "500 copies of 2", "wide", pcs("wide", 500, [clique("a", 2, 1)]), 1000)
    groups = [{"name": "prefill", "cliqueNames": ["pl", "pw"], "replicas": 125, "minAvailable": 1},
              {"name": "decode", "cliqueNames": ["dl", "dw"], "replicas": 100, "minAvailable": 1}]
    cliques = [clique("pl", 1, 1), clique("pw", 3, 3), clique("dl", 1, 1), clique("dw", 4, 4)]
    deploy(pods, "disaggregated", "deep", pcs("deep", 1, cliques, groups), 1000)
    churn(pods)


main()
