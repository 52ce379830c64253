#!/usr/bin/env bash
# Holds a running adbrake against schemas/openapi.yaml with Schemathesis, which makes up requests,
# good and bad, from the document. About twenty seconds; exit status 75 when it cannot be had here.
#   ops/schemathesis.sh PROGRAM
set -euo pipefail
cd "$(dirname "$0")/.."

program=$(realpath "${1:-.build/debug/adbrake}")
version=4.32.5
examples=${SCHEMATHESIS_EXAMPLES:-15}
venv=$PWD/.build/schemathesis-$version

left_out() {
    echo "schemathesis: left out, $1"
    exit 75
}

if [[ ! -x $venv/bin/schemathesis ]]; then
    command -v python3 >/dev/null || left_out "no python3"
    rm -rf "$venv"
    python3 -m venv "$venv" >/dev/null 2>&1 || left_out "no python3-venv"
    if ! timeout 120 "$venv/bin/pip" install -q "schemathesis==$version" >/dev/null 2>&1; then
        rm -rf "$venv"
        left_out "pip cannot install it"
    fi
fi

work=$(mktemp -d)
server=
# Ends what was started, however this ends.
trap '[[ -z $server ]] || kill "$server" 2>/dev/null || true; rm -rf "$work"' EXIT
timeout 120 "$program" run --listen 127.0.0.1:0 --log "sqlite:$work/log.db" \
    2>"$work/server.log" &
server=$!
address=
for _ in $(seq 200); do
    address=$(sed -nE 's/.*"address":"([^"]+)".*/\1/p' "$work/server.log" | head -1)
    [[ -z $address ]] || break
    sleep 0.1
done
if [[ -z $address ]]; then
    cat "$work/server.log" >&2
    exit 1
fi
cp schemas/schemathesis.toml "$work/"
document=$PWD/schemas/openapi.yaml
status=0
(cd "$work" && timeout 90 "$venv/bin/schemathesis" --no-color run "$document" --url "$address" \
    --max-examples "$examples" --request-timeout 10 --seed "${SCHEMATHESIS_SEED:-1}") \
    >"$work/report" 2>&1 || status=$?
if [[ $status -ne 0 ]]; then
    tail -120 "$work/report"
    exit 1
fi
# A server that has fallen is no success, whatever the report says.
kill -0 "$server" || { cat "$work/server.log" >&2; exit 1; }
grep -E 'cases|generated|Tested' "$work/report" | sed 's/^ */schemathesis: /'
