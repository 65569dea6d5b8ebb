# Shared by the end-to-end tests: TAP, a control plane to talk to, and the client.
#
# The client is kubectl where there is one, else the program's own few verbs; `client` names it and
# tests that need kubectl say so when they skip. GROVE is the binary under test.
set -u
GROVE=${GROVE:?path of the grove binary}
ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
WORK=$(mktemp -d "${TMPDIR:-/tmp}/grove-e2e-XXXXXX")
PLANE=
count=0 failed=0

if command -v kubectl >/dev/null 2>&1; then client=kubectl; else client=$GROVE; fi
k() { "$client" "$@"; }
have_kubectl() { [ "$client" = kubectl ]; }

ok() { count=$((count + 1)); echo "ok $count - $1"; }
not_ok() {
    count=$((count + 1)) failed=$((failed + 1))
    echo "not ok $count - $1"
    [ $# -gt 1 ] && printf '%s\n' "$2" | sed 's/^/# /'
}
skip() { count=$((count + 1)); echo "ok $count - $1 # SKIP $2"; }
check() { # name, command...
    local name=$1 out
    shift
    if out=$("$@" 2>&1); then ok "$name"; else not_ok "$name" "$* -> $out"; fi
}
same() { # name, got, want
    if [ "$2" = "$3" ]; then ok "$1"; else not_ok "$1" "got:  $2
want: $3"; fi
}
matches() { # name, got, extended regular expression
    if printf '%s' "$2" | grep -Eq -- "$3"; then ok "$1"; else not_ok "$1" "got: $2
does not match: $3"; fi
}
# Tries until the command's output equals what is wanted, for at most 20 s.
eventually() { # name, want, command...
    local name=$1 want=$2 got= i
    shift 2
    for i in $(seq 1 200); do
        got=$("$@" 2>/dev/null)
        [ "$got" = "$want" ] && { ok "$name"; return 0; }
        sleep 0.1
    done
    not_ok "$name" "got after 20 s: $got
want: $want"
    return 1
}

plane_start() { # options of grove up
    : >"$WORK/up.out" # what one before this said is not read again
    "$GROVE" up --listen 127.0.0.1:0 --kubeconfig "$WORK/kubeconfig" "$@" >"$WORK/up.out" 2>"$WORK/up.err" &
    PLANE=$!
    local i
    for i in $(seq 1 100); do
        grep -q '^grove is up' "$WORK/up.out" && break
        kill -0 "$PLANE" 2>/dev/null || break
        sleep 0.05
    done
    export KUBECONFIG=$WORK/kubeconfig HOME=$WORK
    grep -q '^grove is up' "$WORK/up.out" || { not_ok "the control plane starts" "$(cat "$WORK/up.err")"; finish; }
}
plane_stop() { [ -n "$PLANE" ] && kill -TERM "$PLANE" 2>/dev/null && wait "$PLANE"; PLANE=; }
plane_kill() { [ -n "$PLANE" ] && kill -KILL "$PLANE" 2>/dev/null; wait "$PLANE" 2>/dev/null; PLANE=; }

finish() {
    [ -n "$PLANE" ] && { kill -TERM "$PLANE" 2>/dev/null; wait "$PLANE" 2>/dev/null; }
    [ "$failed" -gt 0 ] && [ -s "$WORK/up.err" ] && sed 's/^/# up: /' "$WORK/up.err" | tail -40
    rm -rf "$WORK"
    echo "1..$count"
    [ "$failed" -eq 0 ]
    exit
}

# Questions asked often.
pods_of() { k get pods -l "app.kubernetes.io/part-of=$1" "${@:2}"; }
count_running() { pods_of "$1" 2>/dev/null | awk 'NR > 1 && $2 == "1/1" && $3 == "Running"' | wc -l; }
count_pods() { pods_of "$1" 2>/dev/null | awk 'NR > 1' | wc -l; }
# How many pods there are of each clique, "name count" lines.
pods_by_clique() { pods_of "$1" | awk 'NR > 1 { sub(/-[^-]*$/, "", $1); n[$1]++ } END { for (c in n) print c, n[c] }' | sort; }
