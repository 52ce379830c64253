#!/usr/bin/env bash
# How many documents of apps an edge answers a second, beside nginx with a file of the same size in
# the same run, and answers "unchanged" beside whole ones. Needs wrk, nginx, curl, a release build.
#   Benchmarks/EdgeBench/scripts/documents.sh [SECONDS] [CONNECTIONS] [ROUNDS]
set -euo pipefail
cd "$(dirname "$0")/../../.."

seconds=${1:-5}
connections=${2:-64}
rounds=${3:-3}
bin=${ADBRAKE_BIN:-.build/release}
edge_port=18971
nginx_port=18972
folder=$(mktemp -d)
pids=()
cleanup() {
    for pid in "${pids[@]}"; do kill "$pid" 2>/dev/null || true; done
    wait 2>/dev/null || true
    rm -rf "$folder"
}
trap cleanup EXIT

"$bin/EdgeBench" fleet "sqlite:$folder/log.db" 1000
# Nobody evaluates here: as fresh as can be for as long as it takes.
"$bin/adbrake" serve --listen "127.0.0.1:$edge_port" --log "sqlite:$folder/log.db" \
    --stale-after 1h --validity 24h 2>"$folder/edge.log" &
pids+=($!)
edge="http://127.0.0.1:$edge_port/v1/apps/com.example.app-7"
curl -s --retry 50 --retry-delay 0 --retry-all-errors --retry-connrefused \
    -o /dev/null "http://127.0.0.1:$edge_port/readyz"
mkdir "$folder/files"
curl -s "$edge" >"$folder/files/app.json"
tag=$(curl -sI "$edge" | tr -d '\r' | sed -n 's/^ETag: //p')
cat >"$folder/nginx.conf" <<NGINX
daemon off; worker_processes auto; user root; pid $folder/pid; error_log $folder/nginx.log;
events { worker_connections 4096; }
http {
    access_log off; sendfile on; tcp_nopush on; keepalive_requests 100000000;
    open_file_cache max=10;
    types { application/json json; }
    server { listen 127.0.0.1:$nginx_port; root $folder/files; }
}
NGINX
nginx -e "$folder/nginx.log" -c "$folder/nginx.conf" &
pids+=($!)
file="http://127.0.0.1:$nginx_port/app.json"
curl -s --retry 50 --retry-delay 0 --retry-connrefused -o /dev/null "$file"
echo "a document of $(stat -c %s "$folder/files/app.json") bytes, $connections connections," \
    "rounds of $seconds s"

# Prints requests per second and the 99th percentile.
measure() {
    local name=$1
    shift
    wrk -t1 -c"$connections" -d"${seconds}s" --latency "$@" >"$folder/wrk.txt"
    local bad
    bad=$(sed -n 's/ *\(Non-2xx or 3xx.*\)/\1/p' "$folder/wrk.txt")
    awk -v name="$name" '/99%/ { p99 = $2 } /Requests\/sec/ { rate = $2 }
        END { printf "%-28s %9.0f/s  p99 %s\n", name, rate, p99 }' "$folder/wrk.txt"
    [[ -z $bad ]] || echo "$name: $bad"
    awk '/Requests\/sec/ { print $2 }' "$folder/wrk.txt" >>"$folder/$name.rates"
}

same() { curl -s -o /dev/null -w '%{http_code}' -H "If-None-Match: $tag" "$edge"; }
[[ $(same) == 304 ]]
for ((round = 0; round < rounds; round++)); do
    measure nginx "$file"
    measure edge-200 "$edge"
    measure edge-304 -H "If-None-Match: $tag" "$edge"
done
[[ $(same) == 304 ]]
median() { sort -n "$folder/$1.rates" | sed -n "$(((rounds + 1) / 2))p"; }
awk -v nginx="$(median nginx)" -v whole="$(median edge-200)" -v same="$(median edge-304)" 'BEGIN {
    printf "medians: nginx %.0f/s, edge %.0f/s (%.2f of nginx), unchanged %.0f/s (%.2f of whole)\n",
        nginx, whole, whole / nginx, same, same / whole }'
