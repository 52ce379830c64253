#!/usr/bin/env bash
# How soon a new replica of the edge is ready on a large fleet, and what it takes of memory.
#   Benchmarks/EdgeBench/scripts/ready.sh [APPS] [LOG]
# LOG is sqlite:PATH, or kafka:HOST:PORT with its topics made before.
# Needs a release build, curl and jq.
set -euo pipefail
cd "$(dirname "$0")/../../.."

apps=${1:-100000}
bin=${ADBRAKE_BIN:-.build/release}
port=18973
folder=$(mktemp -d)
log=${2:-sqlite:$folder/log.db}
pid=
cleanup() {
    [[ -z $pid ]] || kill "$pid" 2>/dev/null || true
    wait 2>/dev/null || true
    rm -rf "$folder"
}
trap cleanup EXIT

"$bin/EdgeBench" fleet "$log" "$apps"
for round in 1 2 3; do
    start=$(date +%s%N)
    "$bin/adbrake" serve --listen "127.0.0.1:$port" --log "$log" 2>"$folder/edge.log" &
    pid=$!
    until [[ $(curl -s -o /dev/null -w '%{http_code}' "http://127.0.0.1:$port/readyz") == 200 ]]; do
        kill -0 "$pid"
        sleep 0.02
    done
    end=$(date +%s%N)
    known=$(curl -s "http://127.0.0.1:$port/v1/apps?limit=1" | jq '[.counts[]] | add')
    memory=$(awk '/VmRSS/ { print int($2 / 1024) }' "/proc/$pid/status")
    echo "round $round: $known apps, ready after $(((end - start) / 1000000)) ms, $memory MB"
    kill "$pid"
    wait "$pid" 2>/dev/null || true
done
