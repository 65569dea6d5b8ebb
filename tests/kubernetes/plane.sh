# A real control plane on this machine: etcd, kube-apiserver and kube-controller-manager, built through
# the Go module proxy (main.go beside this; kept in the user's cache, about ten minutes once). Sourced by
# what needs one, after tests/e2e/lib.sh; leaves KUBECONFIG of an administrator behind. What else the server
# and the controllers are told: APISERVER_FLAGS and CONTROLLERS_FLAGS (lists).
. "$ROOT/tests/kubernetes/processes.sh"
. "$ROOT/tests/kubernetes/go.sh"
for tool in kubectl openssl python3; do
    if ! command -v $tool >/dev/null 2>&1; then
        skip "a real API server" "there is no $tool on this machine"
        finish
    fi
done
version=$(sed -n 's/^.*k8s.io\/kubernetes \(v[0-9.]*\).*$/\1/p' "$ROOT/tests/kubernetes/go.mod" | head -1)
go_program kubernetes kubernetes -ldflags "-X k8s.io/component-base/version.gitVersion=$version" .

# ---- the control plane ----

etcd_port=$(free_port) peer_port=$(free_port) port=$(free_port)
start_etcd() {
    start etcd "$program" etcd --data-dir "$WORK/etcd" --unsafe-no-fsync \
        --listen-client-urls "http://127.0.0.1:$etcd_port" --advertise-client-urls "http://127.0.0.1:$etcd_port" \
        --listen-peer-urls "http://127.0.0.1:$peer_port" --initial-advertise-peer-urls "http://127.0.0.1:$peer_port" \
        --initial-cluster "default=http://127.0.0.1:$peer_port"
}
openssl genrsa -out "$WORK/sa.key" 2048 2>/dev/null
echo 'secret,admin,admin,"system:masters"' >"$WORK/tokens"
# Who asked for what: the roles are compared with it at the end; benches count it, and say of whom.
[ -n "${AUDIT:-}" ] || AUDIT='- {level: Metadata, userGroups: ["system:serviceaccounts:grove-system"]}'
cat >"$WORK/audit.yaml" <<EOF
apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived, Panic]
rules:
$AUDIT
- {level: None}
EOF
[ -n "${APISERVER_FLAGS+set}" ] || APISERVER_FLAGS=()
[ -n "${CONTROLLERS_FLAGS+set}" ] || CONTROLLERS_FLAGS=()
start_apiserver() {
    start apiserver "$program" kube-apiserver --etcd-servers "http://127.0.0.1:$etcd_port" \
        --secure-port "$port" --bind-address 127.0.0.1 --cert-dir "$WORK/certs" \
        --service-account-key-file "$WORK/sa.key" --service-account-signing-key-file "$WORK/sa.key" \
        --service-account-issuer https://kubernetes.default.svc --service-cluster-ip-range 10.96.0.0/16 \
        --authorization-mode RBAC --token-auth-file "$WORK/tokens" \
        --audit-policy-file "$WORK/audit.yaml" --audit-log-path "$WORK/audit.log" --audit-log-maxsize 100000 \
        "${APISERVER_FLAGS[@]}"
}
start_etcd
start_apiserver
cat >"$WORK/kubeconfig" <<EOF
apiVersion: v1
kind: Config
clusters: [{name: c, cluster: {server: "https://127.0.0.1:$port", insecure-skip-tls-verify: true}}]
users: [{name: u, user: {token: secret}}]
contexts: [{name: x, context: {cluster: c, user: u}}]
current-context: x
EOF
export KUBECONFIG=$WORK/kubeconfig
client=kubectl
is_ready() { kubectl get --raw /readyz 2>/dev/null; }
wait_ready() { for _ in $(seq 60); do [ "$(is_ready)" = ok ] && break; sleep 1; done; }
wait_ready
same "kube-apiserver $version is ready" "$(is_ready)" ok
start controllers "$program" kube-controller-manager --kubeconfig "$KUBECONFIG" \
    --service-account-private-key-file "$WORK/sa.key" --use-service-account-credentials \
    --leader-elect=false --secure-port 0 --controllers '*,-nodeipam,-node-route-controller' \
    "${CONTROLLERS_FLAGS[@]}"

