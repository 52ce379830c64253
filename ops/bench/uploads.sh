#!/usr/bin/env bash
# How many events a second the collector takes in uploads of 500, into SQLite and into Kafka, with
# wrk and the broker on this machine, and what the processes took of its cores.
#   ops/bench/uploads.sh [SECONDS]      needs wrk; Kafka where one is found
set -euo pipefail
cd "$(dirname "$0")/../.."

seconds=${1:-20}
connections=${CONNECTIONS:-16}
port=18081
program=${ADBRAKE_PROGRAM:-.build/release/adbrake}
folder=$(mktemp -d)
collector='' broker=''

finish() {
    [[ -z $collector ]] || kill "$collector" 2>/dev/null || true
    [[ -z $broker ]] || ops/kafka/broker.sh stop "$broker" >/dev/null 2>&1 || true
    wait 2>/dev/null || true
    rm -rf "$folder"
}
trap finish EXIT

# Seconds of processor time that the process $1 has taken.
cpu() { awk '{print ($14 + $15) / 100}' "/proc/$1/stat" 2>/dev/null || echo 0; }

measure() {
    local name=$1 log=$2 broker_pid=${3:-}
    "$program" collect --listen "127.0.0.1:$port" --log "$log" --log-level warning &
    collector=$!
    until curl -sf "http://127.0.0.1:$port/livez" >/dev/null; do sleep 0.1; done
    wrk -t1 -c"$connections" -d10 -s ops/bench/uploads.lua "http://127.0.0.1:$port" >/dev/null
    local before broker_before=0
    before=$(cpu "$collector")
    [[ -z $broker_pid ]] || broker_before=$(cpu "$broker_pid")
    echo "$name: $(wrk -t1 -c"$connections" -d"$seconds" --latency \
        -s ops/bench/uploads.lua "http://127.0.0.1:$port" | tail -1)"
    awk -v a="$before" -v b="$(cpu "$collector")" -v s="$seconds" \
        'BEGIN {printf "  collector %.2f cores", (b - a) / s}'
    [[ -z $broker_pid ]] || awk -v a="$broker_before" -v b="$(cpu "$broker_pid")" -v s="$seconds" \
        'BEGIN {printf ", broker %.2f cores", (b - a) / s}'
    echo
    kill "$collector"
    wait "$collector" 2>/dev/null || true
    collector=''
}

measure SQLite "sqlite:$folder/log.db"
if ops/kafka/find.sh >/dev/null 2>&1; then
    broker=$folder/broker
    ops/kafka/broker.sh start "$broker" --port 18092 >/dev/null
    "$program" topics create --log kafka:127.0.0.1:18092 --replicas 1 >/dev/null
    measure Kafka kafka:127.0.0.1:18092 "$(cat "$broker/pid")"
fi
