#!/usr/bin/env bash
# The quick start of the README, from a clean clone: the first command, a first workflow of one's own, and the
# same binary without any network. `tests/quick-start.sh [--release]`; CARGO_TARGET_DIR is used if it is set.
set -euo pipefail

root=$(cd "$(dirname "$0")/.." && pwd)
profile=("$@")
build=$([[ ${1-} == --release ]] && echo release || echo debug)
work=$(mktemp -d)
server=
passed=0
trap '[[ -z $server ]] || kill "$server" 2>/dev/null || true; rm -rf "$work"' EXIT

ok() {
    passed=$((passed + 1))
    echo "ok: $1"
}

# has TEXT FILE: the file holds this line, whatever stands before and after it.
has() {
    grep -qF -- "$1" "$2" || {
        echo "not found: $1"
        cat "$2"
        echo "test result: FAILED. $passed passed; 1 failed"
        exit 1
    }
}

# url FILE: the URL that `serve` has printed there, once it has said all: the client configuration comes last.
url() {
    for _ in $(seq 600); do
        ! grep -q '"mcpServers"' "$1" || break
        sleep 0.1
    done
    sed -n 's/^serving .* at \(http:.*\)$/\1/p' "$1"
}

export XDG_STATE_HOME=$work/state ONECALL_LOG=error
unset ONECALL_STORE
git clone --quiet "$root" "$work/clone"
cd "$work/clone"
export CARGO_TARGET_DIR=${CARGO_TARGET_DIR:-$root/target}
cargo build --quiet "${profile[@]}"
ok "builds from a clean clone"
program=$CARGO_TARGET_DIR/$build/onecall
mkdir "$work/bin"
cp "$program" "$work/bin/onecall"
export PATH=$work/bin:$PATH

# The first command of the README, on a free port.
cargo run --quiet "${profile[@]}" -- serve --demo --port 0 >"$work/served" &
server=$!
address=$(url "$work/served")
has 'workflow  greet' "$work/served"
has '"mcpServers"' "$work/served"
onecall call "$address" greet who=Ada >"$work/greeted" 2>/dev/null
has '"greeting": "Hello, Ada!"' "$work/greeted"
kill "$server"
wait "$server" || true
server=
ok "serves the demo and greets"

# The files and commands of the section "A first workflow".
mkdir "$work/first"
awk -v to="$work/first" '
    /^```/ && inside { inside = 0; close(file); next }
    /^```yaml file=/ { inside = 1; file = to "/" substr($0, index($0, "file=") + 5); next }
    /^```console/    { inside = 1; file = to "/transcript"; next }
    inside           { print > file }' README.md
cd "$work/first"
while IFS= read -r line; do
    if [[ $line == '$ '* ]]; then
        eval "${line#\$ }" >"$work/output" 2>&1
    else
        has "$line" "$work/output"
    fi
done <transcript
ok "a first workflow of one's own"

# The same without any network: over pipes, and over a loopback of its own.
cd "$work/clone"
if ! unshare -rn true 2>/dev/null; then
    echo "skipped: no network (unshare is not permitted here)"
else
    unshare -rn onecall call examples/hello greet who=Ada >"$work/greeted" 2>/dev/null
    has '"greeting": "Hello, Ada!"' "$work/greeted"
    ok "calls without a network"
    if command -v ip >/dev/null; then
        export -f url
        export work
        # shellcheck disable=SC2016
        unshare -rn bash -c '
            ip link set lo up
            onecall serve --demo --port 0 >"$work/alone" &
            trap "kill $!" EXIT
            onecall call "$(url "$work/alone")" greet who=Ada' >"$work/greeted" 2>/dev/null
        has '"greeting": "Hello, Ada!"' "$work/greeted"
        ok "serves without a network"
    else
        echo "skipped: no network over HTTP (there is no ip command)"
    fi
fi
echo "test result: ok. $passed passed; 0 failed"
