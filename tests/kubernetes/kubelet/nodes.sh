# Nodes: a containerd and a kubelet each, all in the namespaces of `inside`. Sourced after lib.sh.
#
# Images are made of Debian's busybox and of our own static program, without a registry: buildah makes
# them, the nodes' containerds import them.

# localhost/grove:1 and localhost/grove-initc:1 are what install/Dockerfile says; localhost/busybox:1 is
# a system with a shell; localhost/pause:1 holds the namespaces of a pod.
make_images() {
    local root=$WORK/rootfs
    mkdir -p "$root/bin" "$root/tmp" "$root/etc" "$root/root"
    chmod 1777 "$root/tmp"
    cp "$(command -v busybox)" "$root/bin/busybox"
    chroot "$root" /bin/busybox --install -s /bin
    printf 'root:x:0:0:root:/root:/bin/sh\n' >"$root/etc/passwd"
    cat >"$WORK/Dockerfile" <<'END'
FROM scratch AS busybox
COPY . /
ENV PATH=/bin
CMD ["/bin/sh"]

FROM busybox AS pause
CMD ["/bin/sleep", "1000000000"]
END
    mkdir -p "$WORK/static" && cp "$GROVE_STATIC" "$WORK/static/grove"
    image "$ROOT/install/Dockerfile" grove "$WORK/static" &&
        image "$ROOT/install/Dockerfile" grove-initc "$WORK/static" &&
        image "$WORK/Dockerfile" busybox "$root" &&
        image "$WORK/Dockerfile" pause "$root"
}
image() { # Dockerfile, target and name, folder
    local b="buildah --storage-driver vfs --root /var/lib/buildah --runroot /run/buildah"
    $b build --isolation chroot --format docker --layers=false -f "$1" --target "$2" -t "localhost/$2:1" "$3" &&
        $b push "localhost/$2:1" "docker-archive:$WORK/$2.tar:localhost/$2:1"
}

start_containerd() { # number of the node
    local folder=$WORK/node-$1
    mkdir -p "$folder/cni"
    cat >"$folder/cni/10-bridge.conflist" <<END
{"cniVersion": "1.0.0", "name": "pods", "plugins": [
 {"type": "bridge", "bridge": "pods", "isGateway": true, "ipMasq": false, "hairpinMode": true,
  "ipam": {"type": "host-local", "dataDir": "$WORK/ipam", "ranges": [[{"subnet": "10.222.0.0/16"}]],
           "routes": [{"dst": "0.0.0.0/0"}]}},
 {"type": "portmap", "capabilities": {"portMappings": true}}
]}
END
    cat >"$folder/containerd.toml" <<END
version = 2
root = "$folder/containerd"
state = "/run/containerd-$1"
disabled_plugins = ["io.containerd.internal.v1.opt", "io.containerd.snapshotter.v1.btrfs",
    "io.containerd.snapshotter.v1.zfs", "io.containerd.snapshotter.v1.devmapper",
    "io.containerd.snapshotter.v1.aufs"]
[grpc]
  address = "/run/containerd-$1.sock"
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "localhost/pause:1"
  restrict_oom_score_adj = true
  stream_server_address = "127.0.0.1"
  stream_server_port = "0"
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "/usr/lib/cni"
    conf_dir = "$folder/cni"
  [plugins."io.containerd.grpc.v1.cri".containerd]
    snapshotter = "overlayfs"
    default_runtime_name = "runc"
    [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
      runtime_type = "io.containerd.runc.v2"
END
    start "containerd$1" containerd --config "$folder/containerd.toml"
}
c() { ctr --address "/run/containerd-$1.sock" -n k8s.io "${@:2}"; } # number of the node, arguments of ctr
import_images() { # number of the node
    local i name
    for i in $(seq 100); do c "$1" version >/dev/null 2>&1 && break; sleep 0.1; done
    for name in grove grove-initc busybox pause; do
        c "$1" images import "$WORK/$name.tar" || return 1
    done
}

# Its own names and ports, where two on one machine would have the same.
start_kubelet() { # number of the node, options...
    local folder=$WORK/node-$1 hierarchy
    for hierarchy in /sys/fs/cgroup/*; do mkdir -p "$hierarchy/node-$1"; done
    cat >"$folder/kubelet.yaml" <<END
apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
address: 10.221.0.$1
port: 10250
readOnlyPort: 0
healthzPort: $((10247 + $1))
authentication: {anonymous: {enabled: false}, webhook: {enabled: true}, x509: {clientCAFile: $CA}}
authorization: {mode: Webhook}
rotateCertificates: true
serverTLSBootstrap: $SERVING_BY_CSR
cgroupDriver: cgroupfs
cgroupRoot: /node-$1
enforceNodeAllocatable: []
failSwapOn: false
failCgroupV1: false
containerRuntimeEndpoint: unix:///run/containerd-$1.sock
clusterDNS: [10.96.0.10]
clusterDomain: cluster.local
resolvConf: ""
evictionHard: {memory.available: 50Mi, nodefs.available: 1%, imagefs.available: 1%}
imageGCHighThresholdPercent: 100
oomScoreAdj: 0
volumePluginDir: $folder/volume-plugins
podLogsDir: $folder/logs
logging: {verbosity: 2}
END
    printf '%s\n' "${@:2}" >"$folder/options"
    start "kubelet$1" "$program" kubelet --config "$folder/kubelet.yaml" --root-dir "$folder/kubelet" \
        --cert-dir "$folder/pki" --hostname-override "node-$1" --node-ip "10.221.0.$1" "${@:2}"
}
start_kubelet_again() { # number of the node
    local options
    mapfile -t options <"$WORK/node-$1/options"
    start_kubelet "$1" "${options[@]}"
}
