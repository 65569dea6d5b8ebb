# Processes of a test, and patience with them. Sourced after tests/e2e/lib.sh.
PIDS=
trap 'exec 2>/dev/null; for p in $PIDS; do kill -TERM "$p"; done; sleep 0.5; for p in $PIDS; do kill -KILL "$p"; done; rm -rf "$WORK"' EXIT

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
