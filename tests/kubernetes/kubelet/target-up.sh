# The target "up": `grove up` without nodes of its own. Kubelets join with the administrator's kubeconfig.
. "$ROOT/tests/kubernetes/processes.sh"
. "$ROOT/tests/kubernetes/go.sh"
version=$(sed -n 's/^.*k8s.io\/kubernetes \(v[0-9.]*\).*$/\1/p' "$ROOT/tests/kubernetes/go.mod" | head -1)
go_program kubernetes kubernetes -ldflags "-X k8s.io/component-base/version.gitVersion=$version" .
SERVING_BY_CSR=false
PORT=6443
export GROVE_INIT_CONTAINER_IMAGE=localhost/grove-initc:1
export KUBECONFIG=$WORK/kubeconfig
start_up() { start up "$GROVE" up --nodes 0 --listen 127.0.0.1:$PORT --data "$WORK/data" --kubeconfig "$KUBECONFIG"; }
start_up
is_ready() { kubectl get --raw /readyz; }
eventually "grove up is ready" ok is_ready
CA=$WORK/ca.crt
kubectl config view --raw -o jsonpath='{.clusters[0].cluster.certificate-authority-data}' | base64 -d >"$CA"
# The Service `kubernetes`, as pods see it.
iptables -t nat -A PREROUTING -d 10.96.0.1 -p tcp --dport 443 -j DNAT --to-destination 127.0.0.1:$PORT
join() { start_kubelet "$1" --kubeconfig "$KUBECONFIG"; } # number of the node
install_grove() { :; } # it has operator and scheduler

step_operator_killed() {
    local was
    was=$(lives ordered)
    kill -KILL "$up"
    wait "$up" 2>/dev/null
    start_up
    eventually "grove up is killed, and started anew" ok is_ready
    eventually "the nodes are ready" 2 ready_nodes
    check "a clique is scaled" kubectl scale pclq ordered-0-worker --replicas=3
    eventually "which it does" 4 count_running ordered
    same "no other pod was touched" "$(lives ordered | comm -13 - <(echo "$was"))" ""
    check "it is scaled back" kubectl scale pclq ordered-0-worker --replicas=2
    eventually "which it does, too" 3 count_pods ordered
}

take_steps() {
    step_startup_order
    step_operator_killed
    step_broken
    step_update RollingRecreate
    step_update Coherent
    step_delete
    step_drain
}
