# What is done and seen on both targets: the nodes are up, sets live and die. Each step is a function; the
# target's file says which it takes. Sourced after a target's file.

# ---- questions ----

node_of() { kubectl get pod "$1" -o jsonpath='{.spec.nodeName}'; }
pod_of() { kubectl get pods -l "grove.io/podclique=$1" -o jsonpath='{.items[0].metadata.name}'; } # clique
nodes_of() { pods_of "$1" -o go-template='{{range .items}}{{if not .metadata.deletionTimestamp}}{{.spec.nodeName}}{{"\n"}}{{end}}{{end}}' | sort | uniq -c | awk '{ print $1, $2 }'; }
ready_nodes() { kubectl get nodes --no-headers 2>/dev/null | awk '$2 ~ /^Ready/' | wc -l; }
main_of() { kubectl get pod "$1" -o jsonpath="{.status.containerStatuses[0].$2}"; } # pod, path
host_of() { kubectl get pod "${1#pod/}" -o jsonpath='{.spec.hostname}'; }
# Containers of sets, by what the runtimes say.
containers() { local i; for i in 1 2; do c $i containers ls -q 'labels."io.kubernetes.pod.namespace"==default'; done | wc -l; }
explain() { "$GROVE" explain "$1" 2>&1; }
uids() { pods_of "$1" -o jsonpath='{range .items[*]}{.metadata.uid}{"\n"}{end}' | sort; }
# Containers of a set's pods with their starts: another value, another container.
lives() { pods_of "$1" -o jsonpath='{range .items[*]}{.metadata.uid}{" "}{.status.containerStatuses[0].containerID}{"\n"}{end}' | sort; }
# The process of a container, by its arguments: there are no others in this pid namespace.
process() { pgrep -f -x -- "$1" | head -1; } # expression

# ---- steps ----

bring_nodes_up() {
    check "images are made" make_images
    local i
    for i in 1 2; do start_containerd $i; done
    for i in 1 2; do check "node $i has them" import_images $i; done
    for i in 1 2; do join $i; done
    eventually "two kubelets are ready" 2 ready_nodes || give_up
}

step_startup_order() {
    check "a set with a start order is applied" kubectl apply -f "$HERE/ordered.yaml"
    init_runs() { [ -n "$(process '/grove initc .*')" ] && echo yes; }
    eventually "a container runs" yes init_runs
    local pid
    pid=$(process '/grove initc .*')
    same "the init container is not root" "$(awk '$1 == "Uid:" { print $2, $3 }' "/proc/$pid/status")" "65532 65532"
    eventually "its pods run" 3 count_running ordered || give_up
    local leader worker ready started
    leader=$(pod_of ordered-0-leader) worker=$(pod_of ordered-0-worker)
    ready=$(kubectl get pod "$leader" -o jsonpath='{.status.conditions[?(@.type=="Ready")].lastTransitionTime}')
    started=$(kubectl get pods -l grove.io/podclique=ordered-0-worker -o jsonpath='{range .items[*]}{.status.containerStatuses[0].state.running.startedAt}{"\n"}{end}' | sort | head -1)
    if [ -n "$ready" ] && [ ! "$started" \< "$ready" ]; then ok "no worker started before the leader was ready"; else not_ok "no worker started before the leader was ready" "ready $ready, started $started"; fi
    same "their init containers ended well" \
        "$(kubectl get pods -l grove.io/podclique=ordered-0-worker -o jsonpath='{.items[*].status.initContainerStatuses[0].state.terminated.exitCode}')" "0 0"
}

step_logs() {
    local leader worker
    leader=$(pod_of ordered-0-leader) worker=$(pod_of ordered-0-worker)
    matches "logs of the leader" "$(kubectl logs "$leader")" "^leader $(host_of "$leader")\$"
    matches "which knows its set" "$(kubectl logs "$leader")" '^GROVE_PCS_NAME=ordered$'
    matches "logs of an init container" "$(kubectl logs "$worker" -c grove-initc 2>&1)" 'ordered-0-leader'
    same "one line of them" "$(kubectl logs "$worker" -c main --tail=1)" "worker $(host_of "$worker")"
}

step_exec() {
    local leader
    leader=$(pod_of ordered-0-leader)
    same "exec" "$(kubectl exec "$leader" -- hostname)" "$(host_of "$leader")"
    same "with input" "$(echo hello | kubectl exec -i "$leader" -- cat)" hello
    kubectl exec "$leader" -- sh -c 'exit 7' >/dev/null 2>&1
    same "and its code" $? 7
    echo copied >"$WORK/copied"
    check "cp into a container" kubectl cp "$WORK/copied" "$leader:/tmp/copied"
    same "which has it" "$(kubectl exec "$leader" -- cat /tmp/copied)" copied
}

step_port_forward() {
    local leader forward port got=
    leader=$(pod_of ordered-0-leader)
    port=$(free_port)
    kubectl port-forward "pod/$leader" "$port:8080" >"$WORK/forward.log" 2>&1 &
    forward=$!
    fetched() { busybox wget -q -O - "http://127.0.0.1:$port/passwd"; }
    eventually "port-forward" root:x:0:0:root:/root:/bin/sh fetched
    kill "$forward"
    wait "$forward" 2>/dev/null
}

step_probes() {
    local leader
    leader=$(pod_of ordered-0-leader)
    kubectl exec "$leader" -- rm /tmp/ready
    eventually "a readiness probe fails" false main_of "$leader" ready
    available() { kubectl get pclq ordered-0-leader -o jsonpath='{.status.readyReplicas}'; }
    eventually "which the clique says" 0 available
    kubectl exec "$leader" -- touch /tmp/ready
    eventually "and succeeds" true main_of "$leader" ready
    kubectl exec "$leader" -- rm /tmp/alive
    eventually "a liveness probe fails: the container is started anew" 1 main_of "$leader" restartCount
    eventually "and is ready" true main_of "$leader" ready
    eventually "the set runs" 3 count_running ordered
}

step_broken() {
    check "a set of broken pods is applied" kubectl apply -f "$HERE/broken.yaml"
    waits() { kubectl get pods -l "grove.io/podclique=broken-0-$1" -o jsonpath='{.items[0].status.containerStatuses[0].state.waiting.reason}'; }
    ended() { kubectl get pods -l "grove.io/podclique=broken-0-$1" -o jsonpath='{.items[0].status.containerStatuses[0].lastState.terminated.reason}'; }
    no_image() { waits image | grep -oE 'ErrImagePull|ImagePullBackOff' | sed 's/.*/yes/'; }
    eventually "an image that is not there" yes no_image
    eventually "a ConfigMap that is not there" CreateContainerConfigError waits configmap
    eventually "a Secret that is not there" ContainerCreating waits secret
    eventually "a crash loop" CrashLoopBackOff waits crash
    eventually "out of memory" OOMKilled ended oom
    step_broken_explained
    check "they can be deleted" kubectl delete pcs broken --timeout=90s
    eventually "with their pods" 0 count_pods broken
}

# What `grove explain` says of each: the cause, and what helps. A container that is started again runs for
# a moment, in which there is nothing to say.
explains() { # clique, expression
    says() { explain "pod/$(pod_of "broken-0-$1")" | tr '\n' ' ' | grep -qE "$2" && echo yes; }
    eventually "explained: $1" yes says "$@" || explain "pod/$(pod_of "broken-0-$1")" | sed 's/^/# /'
}
step_broken_explained() {
    explains image "(ErrImagePull|ImagePullBackOff).*127\.0\.0\.1:1/nothere:1.*correct the image's name"
    explains configmap 'configmap "no-config" not found.*create the ConfigMap'
    explains crash 'CrashLoopBackOff.*kubectl logs broken-0-crash-[a-z0-9]* --previous'
}

versions() { pods_of rolled -o jsonpath='{range .items[*]}{.spec.containers[0].env[?(@.name=="VERSION")].value}{"\n"}{end}' | sort | uniq -c | awk '{ print $1, $2 }'; }
step_update() { # strategy
    local is=$1 strategy=$1
    sed "s/STRATEGY/$strategy/" "$HERE/update.yaml" >"$WORK/update.yaml"
    check "$is: a set is applied" kubectl apply -f "$WORK/update.yaml"
    eventually "its pods run" 6 count_running rolled
    sed 's/value: "one"/value: "two"/' "$WORK/update.yaml" | kubectl apply -f - >/dev/null
    eventually "$is: all pods are of the new version" "6 two" versions
    updated() { kubectl get pcs rolled -o jsonpath='{.status.updateProgress.updateEndedAt}' | grep -q . && echo yes; }
    eventually "the update ends" yes updated
    eventually "all pods run" 6 count_running rolled
    check "it is deleted" kubectl delete pcs rolled --timeout=60s
    eventually "nothing is left of it" 0 count_pods rolled
}

# The samples of the user guide (seed 004) as they are, but with an image and requests that this cluster has.
guide_sample() { # name
    sed -E 's#image: nginx:latest#image: localhost/busybox:1#; s/cpu: "[0-9]+"/cpu: 50m/; s/memory: "[0-9]+Gi"/memory: 8Mi/' \
        "$ROOT/samples/user-guide/concept-overview/$1.yaml"
}
step_guide() {
    local pod
    check "the guide's first example is applied" kubectl apply -f <(guide_sample single-node-aggregated)
    eventually "its pods run" 2 count_running single-node-aggregated
    for pod in $(pods_of single-node-aggregated -o name); do
        same "logs of ${pod#pod/}" "$(kubectl logs "$pod")" "Model Worker (Aggregated) on node:
$(host_of "$pod")"
    done
    check "it is deleted" kubectl delete pcs single-node-aggregated --timeout=90s
    check "the guide's second example is applied" kubectl apply -f <(guide_sample single-node-disaggregated)
    eventually "its pods run" 5 count_running single-node-disaggregated
    for pod in $(pods_of single-node-disaggregated -o name); do
        case $pod in
        *-prefill-*) what='Prefill Worker on node:' ;;
        *) what='Decode Worker on node:' ;;
        esac
        same "logs of ${pod#pod/}" "$(kubectl logs "$pod")" "$what
$(host_of "$pod")"
    done
    check "it is deleted" kubectl delete pcs single-node-disaggregated --timeout=90s
}

# The set "ordered", all of it on node 2.
place_on_node_2() {
    check "node 1 takes nobody" kubectl cordon node-1
    check "a set is applied" kubectl apply -f "$HERE/ordered.yaml"
    eventually "it runs" 3 count_running ordered
    same "on node 2" "$(nodes_of ordered)" "3 node-2"
    check "node 1 takes pods again" kubectl uncordon node-1
}

# A gang at its minimum is protected; the guide (troubleshooting) says what to do.
step_drain() {
    place_on_node_2
    matches "a drain of its minimum is refused" \
        "$(kubectl drain node-2 --ignore-daemonsets --delete-emptydir-data --timeout=4s 2>&1)" "would violate the pod's disruption budget"
    check "a leader more" kubectl scale pclq ordered-0-leader --replicas=2
    check "and a worker" kubectl scale pclq ordered-0-worker --replicas=3
    eventually "they run" 5 count_running ordered
    check "node 2 is drained" kubectl drain node-2 --ignore-daemonsets --delete-emptydir-data --timeout=90s
    eventually "the set is on node 1" "5 node-1" nodes_of ordered
    eventually "and runs" 5 count_running ordered
    check "node 2 takes pods again" kubectl uncordon node-2
    check "the set is deleted" kubectl delete pcs ordered --timeout=90s
}

# A kubelet ends, its containers run on; the set's pods tolerate that for 5 s.
step_node_lost() {
    local since lost moved
    place_on_node_2
    kill -KILL "$kubelet2"
    wait "$kubelet2" 2>/dev/null
    since=$SECONDS
    node_2_is() { kubectl get node node-2 -o jsonpath='{.status.conditions[?(@.type=="Ready")].status}'; }
    eventually "a kubelet ends: its node is not ready" Unknown node_2_is
    lost=$((SECONDS - since))
    on_node_1() { kubectl get pods -l app.kubernetes.io/part-of=ordered -o wide --no-headers | awk '$2 == "1/1" && $3 == "Running" && $7 == "node-1"' | wc -l; }
    eventually "the gang runs on the other node" 3 on_node_1
    moved=$((SECONDS - since))
    echo "# $TARGET: node lost after $lost s, the gang runs elsewhere after $moved s"
    start_kubelet_again 2
    eventually "the kubelet is back, and its node ready" True node_2_is
    eventually "the pods of before are gone" 3 count_pods ordered
    check "the set is deleted" kubectl delete pcs ordered --timeout=90s
}

step_delete() {
    check "the set is deleted" kubectl delete pcs ordered --timeout=90s
    left() { kubectl get pods,pclq,pcsg,podgangs,svc,pdb,secrets,serviceaccounts,roles,rolebindings -l app.kubernetes.io/part-of=ordered -o name | wc -l; }
    eventually "nothing is left of it" 0 left
    eventually "no container either" 0 containers
}
