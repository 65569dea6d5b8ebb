# An installation on the control plane of plane.sh, which must be sourced before: what the cluster's own
# nodes would run, the test runs beside it, each component with its own account and nothing else.
relay_port=$(free_port) webhook_port=$(free_port) health_port=$(free_port) metrics_port=$(free_port)
service_port=$(free_port) standby_port=$(free_port)

start relay python3 "$ROOT/tests/kubernetes/relay.py" "$relay_port" "$port"
# Where the Service leads to.
lead_to() { echo "$1" >"$WORK/endpoint.new" && mv "$WORK/endpoint.new" "$WORK/endpoint"; }
lead_to "$webhook_port"
start service python3 "$ROOT/tests/kubernetes/relay.py" "$service_port" "$WORK/endpoint"

# No pods of Grove's Deployments, and its Service is a name for this machine.
install_grove() { # program, options of grove manifests...
    local program=$1
    shift
    "$program" manifests --replicas 0 "$@" >"$WORK/manifests.yaml"
    check "the manifests are accepted" kubectl apply --server-side --force-conflicts -f "$WORK/manifests.yaml"
    check "and accepted again" kubectl apply --server-side -f "$WORK/manifests.yaml"
    check "also without --server-side" kubectl apply --dry-run=server -f "$WORK/manifests.yaml"
    python3 - "$WORK/manifests.yaml" "$service_port" >"$WORK/webhooks.yaml" <<'END'
import sys
for doc in open(sys.argv[1]).read().split("\n---\n"):
    if "\nkind: MutatingWebhook" in doc or "\nkind: ValidatingWebhook" in doc:
        print(doc.replace("port: 443", "port: " + sys.argv[2]) + "\n---")
END
    cat >"$WORK/service.yaml" <<END
apiVersion: v1
kind: Service
metadata: {name: grove-operator, namespace: grove-system}
spec: {type: ExternalName, externalName: localhost}
END
    check "webhooks lead here" kubectl replace --force -f "$WORK/service.yaml" -f "$WORK/webhooks.yaml"
    account grove-operator "$relay_port"
    account grove-scheduler
    config "$webhook_port" "$health_port" "$metrics_port" >"$WORK/config.yaml"
    config "$standby_port" 0 0 >"$WORK/standby.yaml"
}
account() { # name, port of the server or of what leads there
    local token
    token=$(kubectl create token "$1" -n grove-system --duration 2h)
    sed "s/token: secret/token: $token/; s/127.0.0.1:$port/127.0.0.1:${2:-$port}/" "$WORK/kubeconfig" >"$WORK/$1.kubeconfig"
}
config() { # ports of webhooks, probes, metrics
    cat <<END
apiVersion: operator.config.grove.io/v1alpha1
kind: OperatorConfiguration
leaderElection: {enabled: true, resourceNamespace: grove-system}
server:
  webhooks: {bindAddress: 127.0.0.1, port: $1}
  healthProbes: {bindAddress: 127.0.0.1, port: $2}
  metrics: {bindAddress: 127.0.0.1, port: $3}
scheduler: {defaultProfileName: grove-scheduler, profiles: [{name: grove-scheduler}]}
END
}
start_operator() { # name, configuration, program, options...
    keep "$1" "${3:-$GROVE}" operator --kubeconfig "$WORK/grove-operator.kubeconfig" --config "$2" "${@:4}" \
        --webhook-namespace grove-system --operator-account system:serviceaccount:grove-system:grove-operator
}
start_scheduler() { # program
    keep scheduler "${1:-$GROVE}" scheduler --kubeconfig "$WORK/grove-scheduler.kubeconfig" --lease-namespace grove-system
}

ready_nodes() { kubectl get nodes --no-headers 2>/dev/null | awk '$2 == "Ready"' | wc -l; }
bundles() { kubectl get mutatingwebhookconfigurations,validatingwebhookconfigurations -l app.kubernetes.io/part-of=grove -o jsonpath='{range .items[*]}{.webhooks[0].clientConfig.caBundle}{"\n"}{end}' | grep -c .; }
holder() { kubectl get lease -n grove-system grove-operator-leader-election -o jsonpath='{.spec.holderIdentity}'; }
uids() { pods_of "$1" -o jsonpath='{range .items[*]}{.metadata.uid}{"\n"}{end}' | sort; }
