# The target "plane": etcd, kube-apiserver, kube-controller-manager, kube-scheduler and kube-proxy.
# Nodes join by a bootstrap token, as kubeadm makes them do; what Grove is made of runs on them.
CA=$WORK/pki/ca.crt SERVING_BY_CSR=true
mkdir "$WORK/pki"
authority() {
    openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=test \
        -addext keyUsage=critical,keyCertSign,digitalSignature -keyout "$WORK/pki/ca.key" -out "$CA" 2>/dev/null
}
certificate() { # name, subject, alternative names
    openssl req -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -subj "$2" -keyout "$WORK/pki/$1.key" 2>/dev/null |
        openssl x509 -req -CA "$CA" -CAkey "$WORK/pki/ca.key" -days 2 -out "$WORK/pki/$1.crt" 2>/dev/null \
            -extfile <(printf 'extendedKeyUsage=serverAuth,clientAuth\nsubjectAltName=%s\n' "$3")
}
authority
certificate server /CN=kube-apiserver IP:127.0.0.1,IP:10.221.0.1,IP:10.96.0.1,DNS:kubernetes.default.svc
certificate client /O=system:masters/CN=kube-apiserver DNS:kube-apiserver
APISERVER_FLAGS=(--bind-address 0.0.0.0 --advertise-address 10.221.0.1 --authorization-mode Node
    --enable-admission-plugins NodeRestriction --enable-bootstrap-token-auth --client-ca-file "$CA"
    --tls-cert-file "$WORK/pki/server.crt" --tls-private-key-file "$WORK/pki/server.key"
    --kubelet-client-certificate "$WORK/pki/client.crt" --kubelet-client-key "$WORK/pki/client.key"
    --kubelet-certificate-authority "$CA" --kubelet-preferred-address-types InternalIP)
CONTROLLERS_FLAGS=(--root-ca-file "$CA" --cluster-signing-cert-file "$CA" --cluster-signing-key-file "$WORK/pki/ca.key")
. "$ROOT/tests/kubernetes/plane.sh"
[ "$(is_ready)" = ok ] || give_up
start scheduler "$program" kube-scheduler --kubeconfig "$KUBECONFIG" --authentication-kubeconfig "$KUBECONFIG" \
    --authorization-kubeconfig "$KUBECONFIG" --leader-elect=false --secure-port 0
start proxy "$program" kube-proxy --kubeconfig "$KUBECONFIG" --hostname-override node-1 --proxy-mode iptables \
    --cluster-cidr 10.222.0.0/16 --oom-score-adj 0 --metrics-bind-address 127.0.0.1:10249 --healthz-bind-address 127.0.0.1:10256 \
    --conntrack-max-per-core 0 --conntrack-tcp-timeout-established 0s --conntrack-tcp-timeout-close-wait 0s

check "nodes may join by a token" kubectl apply -f - <<'END'
apiVersion: v1
kind: Secret
metadata: {name: bootstrap-token-abcdef, namespace: kube-system}
type: bootstrap.kubernetes.io/token
stringData: {token-id: abcdef, token-secret: 0123456789abcdef, usage-bootstrap-authentication: "true", auth-extra-groups: "system:bootstrappers:test"}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: bootstrap}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: "system:node-bootstrapper"}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: Group, name: "system:bootstrappers"}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: approve}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: "system:certificates.k8s.io:certificatesigningrequests:nodeclient"}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: Group, name: "system:bootstrappers"}]
END
join() { # number of the node
    cat >"$WORK/node-$1/bootstrap.kubeconfig" <<END
apiVersion: v1
kind: Config
clusters: [{name: c, cluster: {server: "https://10.221.0.1:$port", certificate-authority: $CA}}]
users: [{name: u, user: {token: abcdef.0123456789abcdef}}]
contexts: [{name: x, context: {cluster: c, user: u}}]
current-context: x
END
    start_kubelet "$1" --bootstrap-kubeconfig "$WORK/node-$1/bootstrap.kubeconfig" --kubeconfig "$WORK/node-$1/kubeconfig"
}
# What the administrator of a cluster does for each node.
approve_serving() {
    kubectl get csr -o jsonpath='{range .items[?(@.spec.signerName=="kubernetes.io/kubelet-serving")]}{.metadata.name}{"\n"}{end}' |
        xargs -r kubectl certificate approve >/dev/null
    kubectl get csr -o jsonpath='{range .items[?(@.spec.signerName=="kubernetes.io/kubelet-serving")]}{.status.certificate}{"\n"}{end}' | grep -c .
}

install_grove() {
    eventually "their own certificates are approved" 2 approve_serving
    "$GROVE" manifests --image localhost/grove:1 >"$WORK/manifests.yaml"
    # What is to happen to node 2 later is to happen to sets, not to Grove.
    check "node 2 takes nobody" kubectl cordon node-2
    check "Grove is installed" kubectl apply --server-side -f "$WORK/manifests.yaml"
    check "its operator is rolled out" kubectl -n grove-system rollout status deployment/grove-operator --timeout=120s
    check "its scheduler is rolled out" kubectl -n grove-system rollout status deployment/grove-scheduler --timeout=120s
    check "node 2 takes pods again" kubectl uncordon node-2
    local pid part
    for part in operator scheduler; do
        pid=$(process "/grove $part .*")
        same "the $part is not root" "$(awk '$1 == "Uid:" { print $2, $3 }' "/proc/$pid/status")" "65532 65532"
        same "its root file system is read-only" "$(awk '$5 == "/" { print substr($6, 1, 2) }' "/proc/$pid/mountinfo")" ro
        same "it has no capability" "$(awk '$1 ~ /^Cap(Prm|Eff|Bnd):/ { print $2 }' "/proc/$pid/status" | sort -u)" 0000000000000000
    done
    answered() { kubectl create --dry-run=server -f "$HERE/ordered.yaml" >/dev/null && echo yes; }
    eventually "its webhooks answer" yes answered || give_up
}

step_operator_killed() {
    local was
    was=$(lives ordered)
    kill -KILL "$(process '/grove operator .*')"
    restarts() { kubectl -n grove-system get pods -l app.kubernetes.io/component=operator -o jsonpath='{.items[*].status.containerStatuses[0].restartCount}'; }
    eventually "the operator is killed, and started anew" 1 restarts
    scaled() { kubectl scale pclq ordered-0-worker --replicas=3 >/dev/null && echo yes; }
    eventually "a clique can be scaled" yes scaled
    eventually "which it does" 4 count_running ordered
    same "no other pod was touched" "$(lives ordered | comm -13 - <(echo "$was"))" ""
    check "it is scaled back" kubectl scale pclq ordered-0-worker --replicas=2
    eventually "which it does, too" 3 count_pods ordered
}

take_steps() {
    step_startup_order
    step_logs
    step_exec
    step_port_forward
    step_probes
    step_operator_killed
    step_guide
    step_broken
    step_update RollingRecreate
    step_update Coherent
    step_delete
    step_drain
    step_node_lost
}
