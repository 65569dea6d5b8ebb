# A real control plane on this machine: etcd, kube-apiserver and kube-controller-manager, built through
# the Go module proxy (main.go beside this; kept in the user's cache, about ten minutes once). Sourced by
# what needs one, after tests/e2e/lib.sh; leaves KUBECONFIG of an administrator behind.
PIDS=
trap 'exec 2>/dev/null; for p in $PIDS; do kill -TERM "$p"; done; sleep 0.5; for p in $PIDS; do kill -KILL "$p"; done; rm -rf "$WORK"' EXIT

. "$ROOT/tests/kubernetes/go.sh"
for tool in kubectl openssl python3; do
    if ! command -v $tool >/dev/null 2>&1; then
        skip "a real API server" "there is no $tool on this machine"
        finish
    fi
done
version=$(sed -n 's/^.*k8s.io\/kubernetes \(v[0-9.]*\).*$/\1/p' "$ROOT/tests/kubernetes/go.mod" | head -1)
go_program kubernetes kubernetes -ldflags "-X k8s.io/component-base/version.gitVersion=$version" .

# A real control plane on a small machine takes its time.
eventually() { # name, want, command...
    local name=$1 want=$2 got= end=$((SECONDS + PATIENCE))
    shift 2
    while [ $SECONDS -lt $end ]; do
        got=$("$@" 2>/dev/null)
        [ "$got" = "$want" ] && { ok "$name"; return 0; }
        sleep 0.2
    done
    not_ok "$name" "got after $PATIENCE s: $got
want: $want"
    return 1
}
PATIENCE=90

# ---- the control plane ----

start() { # name, command...
    local name=$1
    shift
    "$@" >>"$WORK/$name.log" 2>&1 &
    eval "$name=$!"
    PIDS="$PIDS $!"
}
# Runs a component as a cluster would: one that ends is started again.
keep() { # name, command...
    local name=$1
    shift
    (
        trap 'kill -TERM "$child" 2>/dev/null; wait "$child"; echo $? 2>/dev/null >"$WORK/$name.code"; exit' TERM
        while :; do
            "$@" >>"$WORK/$name.log" 2>&1 &
            child=$!
            echo $child >"$WORK/$name.pid"
            wait "$child"
            echo "$name ended: $?" >>"$WORK/ends"
            sleep 0.5
        done
    ) &
    eval "$name=$!"
    PIDS="$PIDS $!"
}
crash() { kill -KILL "$(cat "$WORK/$1.pid")"; } # it comes back
vanish() { # it does not
    kill -KILL "${!1}"
    wait "${!1}" 2>/dev/null
    kill -KILL "$(cat "$WORK/$1.pid")"
}
stop() { # in order
    kill -TERM "${!1}"
    wait "${!1}" 2>/dev/null
}
free_port() { python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'; }
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
start_apiserver() {
    start apiserver "$program" kube-apiserver --etcd-servers "http://127.0.0.1:$etcd_port" \
        --secure-port "$port" --bind-address 127.0.0.1 --cert-dir "$WORK/certs" \
        --service-account-key-file "$WORK/sa.key" --service-account-signing-key-file "$WORK/sa.key" \
        --service-account-issuer https://kubernetes.default.svc --service-cluster-ip-range 10.96.0.0/16 \
        --authorization-mode RBAC --token-auth-file "$WORK/tokens" \
        --audit-policy-file "$WORK/audit.yaml" --audit-log-path "$WORK/audit.log" --audit-log-maxsize 100000
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
    --leader-elect=false --secure-port 0 --controllers '*,-nodeipam,-node-route-controller'

