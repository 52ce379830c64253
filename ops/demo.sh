#!/usr/bin/env bash
# A fleet in trouble, and the brake at work: all stages in one process on a log of its own, six apps
# that send, and everything that is decided, in words. Takes five minutes; Ctrl-C ends it sooner.
set -euo pipefail
cd "$(dirname "$0")/.."

program=${ADBRAKE:-.build/release/adbrake}
first_port=8080
# As in ops/scenarios/ad-sdk-crash.json.
incident_begins=90
incident_ends=210
# From the first bad session to the brake, and from the end of the incident to Normal.
brake_within=180
release_within=180

if [[ ! -x $program ]]; then
    echo "demo: $program is missing; 'make build' makes it" >&2
    exit 1
fi

folder=$(mktemp -d)
pids=()

cleanup() {
    local status=$?
    trap - EXIT INT TERM
    # The last started first: the fleet before what it sends to.
    for ((index = ${#pids[@]} - 1; index >= 0; index--)); do
        kill "${pids[index]}" 2>/dev/null || true
        wait "${pids[index]}" 2>/dev/null || true
    done
    rm -rf "$folder"
    exit "$status"
}
trap cleanup EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

fail() {
    echo "demo: $1" >&2
    if [[ -s $folder/run.log ]]; then
        echo "demo: the last lines of the program's log:" >&2
        tail -n 15 "$folder/run.log" >&2
    fi
    exit 1
}

is_taken() { (exec 3<>"/dev/tcp/127.0.0.1/$1") 2>/dev/null; }

# Whether the edge answers 200 on /readyz, asked with nothing but the shell.
is_ready() {
    local line
    exec 3<>"/dev/tcp/127.0.0.1/$port" || return 1
    printf 'GET /readyz HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n' >&3
    IFS= read -r -t 5 line <&3 || line=
    exec 3>&-
    [[ $line == *" 200 "* ]]
}

# Waits for the goal of `adbrake watch`, at most so many seconds from the start of the fleet.
# In the background, so that the shell still hears signals.
reaches() {
    local left=$(($2 - (SECONDS - began)))
    ((left > 0)) || return 1
    "$program" watch --quiet --edge "$url" --until "$1" --for "${left}s" >/dev/null &
    pids+=($!)
    wait "$!"
}

port=$first_port
while is_taken "$port"; do
    port=$((port + 1))
    ((port < first_port + 20)) || fail "no free port from $first_port on"
done
((port == first_port)) || echo "demo  | port $first_port is taken; here it is $port"
url=http://127.0.0.1:$port

"$program" run --log "sqlite:$folder/demo.db" --listen "127.0.0.1:$port" \
    --policy ops/demo-policy.json >"$folder/run.log" 2>&1 &
run=$!
pids+=("$run")
for ((tries = 0; tries < 150; tries++)); do
    kill -0 "$run" 2>/dev/null || fail "the program has ended"
    if is_ready 2>/dev/null; then break; fi
    sleep 0.2
done
((tries < 150)) || fail "the program was not ready within 30 seconds"

cat <<EOF
AdBrake runs with a fresh log, and a policy for the demo: like the default one, but it looks at one
minute and eases after one, where the default takes ten and more (ops/demo-policy.json).

  console   $url/
  an app    $url/v1/apps/puzzle-garden
  stream    $url/v1/stream
  metrics   $url/metrics

After $incident_begins seconds an update of an ad SDK begins to crash two of six apps; after
$incident_ends seconds it is withdrawn. The demo ends by itself when the brake has let go; Ctrl-C
ends it sooner.

EOF

began=$SECONDS
"$program" traffic --collector "$url" --scenario ad-sdk-crash --apps 6 --rate 250 --feedback \
    > >(sed -u 's/^/fleet | /') 2>&1 &
pids+=($!)
"$program" watch --edge "$url" > >(sed -u 's/^/brake | /') 2>&1 &
pids+=($!)

if ! reaches brake $((incident_begins + brake_within)); then
    fail "the incident was not braked within $brake_within seconds"
fi
braked=$((SECONDS - began))
((braked >= incident_begins)) || fail "an app was braked before anything was wrong"
echo "demo  | braked $((braked - incident_begins)) s after the first bad session"

if ! reaches normal $((incident_ends + release_within)); then
    fail "the brake was not released within $release_within seconds of the end of the incident"
fi
late=$((SECONDS - began - incident_ends))
echo "demo  | all apps in Normal again, $late s after the end of the incident"

echo "demo  | the log, decided again from its records alone:"
"$program" replay --log "sqlite:$folder/demo.db" --policy ops/demo-policy.json \
    2>&1 >/dev/null | sed 's/^/demo  |   /'
echo "demo  | 'make run' does so for your apps, with a log that stays; README.md goes on there"
