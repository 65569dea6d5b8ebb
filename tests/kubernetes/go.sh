# Programs of others, built through the Go module proxy and kept in the user's cache, so that only the
# first run pays for them. Sourced after tests/e2e/lib.sh.
#
# What cannot be had on this machine (no Go, no modules) is skipped and ends the test well; what has
# been fetched must build.
FETCH_TIME=900

# Sets `program`.
go_program() { # name, folder of go.mod under tests/, arguments of go build...
    local name=$1 folder=$ROOT/tests/$2 cache=${XDG_CACHE_HOME:-${HOME:-/tmp}/.cache}/grove-tests key
    shift 2
    key=$({ cat "$folder"/go.mod "$folder"/go.sum; cat "$folder"/*.go; echo "$*"; } 2>/dev/null | cksum | cut -d' ' -f1)
    program=$cache/$name-$key
    [ -x "$program" ] && return
    if ! command -v go >/dev/null 2>&1; then
        skip "$name" "there is no Go on this machine"
        finish
    fi
    mkdir -p "$cache"
    if ! (cd "$folder" && timeout $FETCH_TIME go mod download) >"$WORK/fetch.log" 2>&1 &&
        ! grep -q 'SECURITY ERROR\|missing go.sum entry' "$WORK/fetch.log"; then
        skip "$name" "its modules cannot be fetched: $(tail -1 "$WORK/fetch.log")"
        finish
    fi
    if ! (cd "$folder" && go build -o "$program.new" "$@") >"$WORK/build.log" 2>&1; then
        not_ok "$name builds" "$(tail -20 "$WORK/build.log")"
        finish
    fi
    mv "$program.new" "$program"
}
