# The target "up": `grove up` without nodes of its own. Kubelets join by a bootstrap
# token and are signed what they ask for, as the guide (docs/guide/nodes.md) says.
. "$ROOT/tests/kubernetes/processes.sh"
. "$ROOT/tests/kubernetes/go.sh"
version=$(sed -n 's/^.*k8s.io\/kubernetes \(v[0-9.]*\).*$/\1/p' "$ROOT/tests/kubernetes/go.mod" | head -1)
go_program kubernetes kubernetes -ldflags "-X k8s.io/component-base/version.gitVersion=$version" .
CA=$WORK/data/pki/ca.crt SERVING_BY_CSR=true
PORT=6443
export GROVE_INIT_CONTAINER_IMAGE=localhost/grove-initc:1
export KUBECONFIG=$WORK/kubeconfig
start_up() { start up "$GROVE" up --nodes 0 --listen 0.0.0.0:$PORT --data "$WORK/data" --kubeconfig "$KUBECONFIG"; }
start_up
is_ready() { kubectl get --raw /readyz; }
eventually "grove up is ready" ok is_ready
# The Service `kubernetes`, as pods see it.
iptables -t nat -A PREROUTING -d 10.96.0.1 -p tcp --dport 443 -j DNAT --to-destination 10.221.0.1:$PORT
"$GROVE" token create -o kubeconfig >"$WORK/bootstrap.kubeconfig"
join() { # number of the node
    start_kubelet "$1" --bootstrap-kubeconfig "$WORK/bootstrap.kubeconfig" --kubeconfig "$WORK/node-$1/kubeconfig"
}
install_grove() { # it has operator and scheduler
    # These kubelets have addresses of the API server's machine, so that a person has to approve them.
    served() {
        kubectl get csr -o name | xargs -r kubectl certificate approve >/dev/null 2>&1
        kubectl get csr -o jsonpath='{range .items[?(@.spec.signerName=="kubernetes.io/kubelet-serving")]}{.status.certificate}{"\n"}{end}' | grep -c .
    }
    eventually "their own certificates are signed" 2 served
    same "the nodes are who they say" "$(kubectl --kubeconfig "$WORK/node-1/kubeconfig" auth whoami -o jsonpath='{.status.userInfo.username}')" system:node:node-1
}

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
