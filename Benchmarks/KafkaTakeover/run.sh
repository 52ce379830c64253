#!/usr/bin/env bash
# Measures how evaluators come and go on Kafka, with a broker of its own that is stopped at the end.
#
#   Benchmarks/KafkaTakeover/run.sh takeover|restore|rolling|blocked [FOLDER]
#
#   takeover   two evaluators, a million active apps, 20 000 events/s; one is killed
#   restore    a million apps and 60 s of backlog at 100 000 events/s, from a snapshot
#   rolling    1, 2, 4 and again 1 evaluators under load: how long partitions are without decisions
#   blocked    the broker that takes the outputs hangs for BLOCKED_SECONDS (600), the one with the
#              inputs does not: the evaluator's memory meanwhile
#
# APPS, EVENTS, RATE, PER_UPLOAD (events an upload) and LANES change the sizes. Build first:
#   swift build -c release -Xswiftc -cross-module-optimization
set -euo pipefail

part=${1:?which part: takeover, restore, rolling or blocked}
root=$(cd "$(dirname "$0")/../.." && pwd)
bin=${BIN:-$root/.build/release}
folder=${2:-$(mktemp -d)}
apps=${APPS:-1000000}
events=${EVENTS:-10000000}
rate=${RATE:-20000}
per_upload=${PER_UPLOAD:-20}
lanes=${LANES:-1}
partitions=${PARTITIONS:-16}
port=${PORT:-29092}
broker=127.0.0.1:$port
prefix=take-
export ADBRAKE_LOG=kafka:$broker
children=()

finish() {
    [[ -z ${second_broker:-} ]] || kill -9 "$second_broker" 2>/dev/null || true
    for child in "${children[@]}"; do kill -9 "$child" 2>/dev/null || true; done
    "$root/ops/kafka/broker.sh" stop "$folder/broker" >/dev/null 2>&1 || true
}
trap finish EXIT

now() { date +%s%3N; }
say() { echo "$(date +%T) $*"; }
tool() { "$bin/KafkaTakeover" "$1" "$broker" "$prefix" "${@:2}"; }

# Starts the evaluator number $1 with further arguments; its id is in `last`.
evaluator() {
    "$bin/adbrake" evaluate --listen 127.0.0.1:0 --prefix "$prefix" --instance "e$1" \
        --lanes "$lanes" --max-apps "$apps" --policy default "${@:2}" \
        2>>"$folder/evaluate-$1.log" &
    last=$!
    children+=("$last")
}

# Waits until the evaluator number $1 has brought its partitions back so often.
await() {
    until [[ $(grep -c 'partitions restored' "$folder/evaluate-$1.log") -ge $2 ]]; do
        sleep 0.2
    done
}

# Sends a rate of events for so many seconds, in the background.
load() {
    tool fill "$apps" "$(($1 * $2))" "$per_upload" "$1" 2 "$((RANDOM * 1000))" &
    loading=$!
    children+=("$loading")
}

resident() { awk '/VmRSS/ {print int($2 / 1024)}' "/proc/$1/status"; }

# Starts a second broker of the cluster; it has nothing yet.
start_second() {
    local home identity
    home=$("$root/ops/kafka/find.sh")
    identity=$(sed -n 's/^cluster.id=//p' "$folder/broker/data/meta.properties")
    mkdir -p "$folder/second/data"
    cat >"$folder/second/server.properties" <<END
process.roles=broker
node.id=2
controller.quorum.voters=1@127.0.0.1:$((port + 1))
controller.listener.names=CONTROLLER
listeners=PLAINTEXT://127.0.0.1:$((port + 2))
advertised.listeners=PLAINTEXT://127.0.0.1:$((port + 2))
listener.security.protocol.map=CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT
log.dirs=$folder/second/data
END
    "$home/bin/kafka-storage.sh" format -t "$identity" -c "$folder/second/server.properties" \
        >"$folder/second/format.log" 2>&1
    KAFKA_HEAP_OPTS="-Xms128m -Xmx384m" LOG_DIR=$folder/second \
        "$home/bin/kafka-server-start.sh" "$folder/second/server.properties" \
        >"$folder/second/broker.log" 2>&1 </dev/null &
    second_broker=$!
    until grep -q 'Kafka Server started' "$folder/second/broker.log"; do
        kill -0 "$second_broker"
        sleep 0.2
    done
}

# Moves all partitions of the outputs to the second broker.
move_outputs() {
    local tool plan=$folder/plan.json topic partition count comma=
    tool=$("$root/ops/kafka/find.sh")/bin/kafka-reassign-partitions.sh
    {
        echo '{"version":1,"partitions":['
        for topic in throttle epoch snapshot notice dead; do
            count=$partitions
            [[ $topic != notice && $topic != dead ]] || count=1
            for ((partition = 0; partition < count; partition++)); do
                printf '%s{"topic":"%s","partition":%d,"replicas":[2]}\n' \
                    "$comma" "$prefix$topic" "$partition"
                comma=,
            done
        done
        echo ']}'
    } >"$plan"
    "$tool" --bootstrap-server "$broker" --reassignment-json-file "$plan" --execute >/dev/null
    until "$tool" --bootstrap-server "$broker" --reassignment-json-file "$plan" --verify \
        >"$folder/moved" && ! grep -q 'still in progress' "$folder/moved"; do sleep 1; done
}

say "$part: $apps apps, $partitions partitions, $lanes lanes, $(nproc) cores"
"$root/ops/kafka/broker.sh" start "$folder/broker" --port "$port" >/dev/null
"$bin/adbrake" topics create --prefix "$prefix" --partitions "$partitions" --replicas 1 >/dev/null

case $part in
takeover)
    evaluator 1 --snapshot-every 20s
    first=$last
    await 1 1
    tool fill "$apps" "$events" "$per_upload" 0 3500
    tool counted
    evaluator 2 --snapshot-every 20s
    await 2 1
    load "$rate" 90
    sleep 45
    say "resident: $(resident "$first") and $(resident "$last") MB; killing the first"
    killed=$(now)
    kill -9 "$first"
    sleep 30
    tool gaps "$killed" "$(now)"
    wait "$loading" || true
    tool counted
    ;;
restore)
    evaluator 1
    await 1 1
    tool fill "$apps" "$events" "$per_upload" 0 3500
    tool counted
    kill -TERM "$last"
    wait "$last" || true
    for size in "$per_upload" 1; do
        tool fill "$apps" 6000000 "$size" 0 60 1000000
        since=$(now)
        evaluator 1
        begun=$last
        tool counted
        tool ready "$since"
        say "resident: $(resident "$begun") MB"
        grep -a 'partitions restored' "$folder/evaluate-1.log" | tail -n "$lanes"
        kill -TERM "$begun"
        wait "$begun" || true
    done
    ;;
rolling)
    evaluator 1 --snapshot-every 10s
    await 1 1
    tool fill "$apps" "$events" "$per_upload" 0 3500
    tool counted
    load "$rate" 150
    sleep 15
    steps=("$(now)")
    evaluator 2 --snapshot-every 10s
    second=$last
    sleep 25
    steps+=("$(now)")
    evaluator 3 --snapshot-every 10s
    third=$last
    evaluator 4 --snapshot-every 10s
    fourth=$last
    sleep 35
    steps+=("$(now)")
    kill -TERM "$second" "$third" "$fourth"
    sleep 40
    steps+=("$(now)")
    for step in 0 1 2; do
        say "step $((step + 1)) of 1 -> 2 -> 4 -> 1:"
        tool gaps "${steps[step]}" "${steps[step + 1]}"
    done
    wait "$loading" || true
    tool counted
    ;;
blocked)
    seconds=${BLOCKED_SECONDS:-600}
    evaluator 1
    await 1 1
    tool fill "$apps" "$events" "$per_upload" 0 3500
    tool counted
    start_second
    move_outputs
    load "$rate" $((seconds + 60))
    sleep 20
    before=$(resident "$last")
    say "resident $before MB; freezing the broker that takes the outputs"
    kill -STOP "$second_broker"
    most=$before
    for ((second = 10; second <= seconds; second += 10)); do
        sleep 10
        kill -0 "$last" || { tail -n 3 "$folder/evaluate-1.log" && exit 1; }
        size=$(resident "$last")
        ((size <= most)) || most=$size
        ((second % 60)) || say "after $second s: $size MB"
    done
    say "blocked for $seconds s: at first $before MB, at most $most MB, now $(resident "$last") MB"
    kill -CONT "$second_broker"
    opened=$(now)
    wait "$loading" || true
    tool counted
    tool gaps $((opened - seconds * 1000)) "$(now)"
    tool ready "$opened"
    say "caught up; resident $(resident "$last") MB"
    ;;
*) echo "what is $part?" >&2; exit 2 ;;
esac
