#!/usr/bin/env bash
# Holds a running adbrake against schemas/openapi.yaml with Schemathesis, which makes up requests,
# good and bad, from the document: first the port for apps, then that for people who decide. Some
# twenty seconds; exit status 75 when it cannot be had here.
#   ops/schemathesis.sh PROGRAM     SCHEMATHESIS_EXAMPLES, SCHEMATHESIS_SEED for more and for others
set -euo pipefail
cd "$(dirname "$0")/.."

program=$(realpath "${1:-.build/debug/adbrake}")
examples=${SCHEMATHESIS_EXAMPLES:-10}
seed=${SCHEMATHESIS_SEED:-1}
token=0123456789abcdef0123456789abcdef

if ! clients=$(ops/clients/setup.sh); then
    echo "schemathesis: left out, it cannot be installed"
    exit 75
fi
schemathesis=$PWD/$clients/bin/schemathesis document=$PWD/schemas/openapi.yaml

work=$(mktemp -d)
server=
# Ends what was started, however this ends.
trap '[[ -z $server ]] || kill "$server" 2>/dev/null || true; rm -rf "$work"' EXIT
cp schemas/schemathesis.toml "$work/"
echo "$token anna write" >"$work/tokens"
timeout 300 "$program" run --listen 127.0.0.1:0 --log "sqlite:$work/log.db" \
    --admin-listen 127.0.0.1:0 --admin-tokens "$work/tokens" 2>"$work/server.log" &
server=$!

# The address of a listener, once it is there; those for people say so.
address() { # how to find its line
    local found=
    for _ in $(seq 200); do
        found=$("$@" "$work/server.log" | sed -nE 's/.*"address":"([^"]+)".*/\1/p' | head -1)
        [[ -z $found ]] || break
        sleep 0.1
    done
    [[ -n $found ]] || cat "$work/server.log" >&2
    echo "$found"
}

hold() { # name, address, options
    local name=$1 url=$2 status=0
    shift 2
    (cd "$work" && timeout 120 "$schemathesis" --no-color run "$document" --url "$url" \
        --max-examples "$examples" --request-timeout 10 --seed "$seed" "$@") \
        >"$work/report" 2>&1 || status=$?
    if [[ $status -ne 0 ]]; then
        tail -120 "$work/report"
        exit 1
    fi
    grep -E 'cases|generated|Tested' "$work/report" | sed "s/^ */schemathesis: $name: /"
}

apps=$(address grep -v '"for":"admin"')
people=$(address grep '"for":"admin"')
[[ -n $apps && -n $people ]]
hold apps "$apps" --exclude-path-regex '^/v1/control'
hold people "$people" --include-path-regex '^/v1/control' --header "Authorization: Bearer $token"
# A server that has fallen is no success, whatever the report says.
kill -0 "$server" || { cat "$work/server.log" >&2; exit 1; }
