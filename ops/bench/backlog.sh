#!/usr/bin/env bash
# How fast one evaluator lane on Kafka works off a backlog, beside a bare consumer that parses and
# a Kafka Streams program by hand, all in one run on one broker of its own; and whether the states
# that it comes to are right.
#
#   make bench && PEERS=FOLDER ops/bench/backlog.sh
#
# PEERS   folder with generate.c, ceiling.cpp, recompute.py and kafka-streams/ (../shared/peers)
# EVENTS  the backlog (5000000)              APPS  numbers of apps ("1000 100000")
# RUNS    rounds, which alternate (3)        PARTS what to do ("single gathered peer states")
# PORT    the first of two ports (29892)     WORK  folder to work in and keep (a temporary one)
#
# single    ceiling, then evaluator: exactly once, a commit every 200 ms, policy `article`, one lane
# gathered  the same events, up to 20 of an app in a record
# peer      once: ProcessorPeer, exactly_once_v2, a commit every 0.2 s
# states    of the first number of apps: the throttle table against recompute.py, app by app
#
# Rates are events per CPU second (user and system) of the process: the evaluator's and the peer's
# from 10 % of the backlog on, without what starting takes, the ceiling's from its first poll on.
# In brackets the evaluator's from its start. Needs kcat, curl, gcc, g++, python3, Java 17.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
PEERS=$(cd "${PEERS:-$root/../shared/peers}" && pwd)
EVENTS=${EVENTS:-5000000} RUNS=${RUNS:-3} PORT=${PORT:-29892}
APPS=${APPS:-1000 100000} PARTS=${PARTS:-single gathered peer states}
ADBRAKE=${ADBRAKE:-$root/.build/release/adbrake} BENCH=${BENCH:-$root/.build/release/KafkaBench}
WORK=${WORK:-$(mktemp -d)}
kafka=$("$root/ops/kafka/find.sh")
bootstrap=127.0.0.1:$PORT metrics=127.0.0.1:$((PORT + 2))
patience_seconds=120
export KAFKA_HEAP_OPTS=-Xmx256m
rates=$WORK/rates
first=${APPS%% *}

fail() {
    echo "backlog: $1" >&2
    exit 1
}
has() { [[ " $PARTS " == *" $1 "* ]]; }

finish() {
    [[ -z ${evaluator:-} ]] || kill "$evaluator" 2>/dev/null || true
    [[ ! -e $WORK/broker/pid ]] || "$root/ops/kafka/broker.sh" stop "$WORK/broker"
}
trap finish EXIT

# Prints a rate and keeps it for the summary: name, apps, events per CPU second.
note() {
    printf '%-10s %7d apps  %9d events per CPU second%s\n' "$1" "$2" "$3" "${4:+  ($4)}"
    echo "$1 $2 $3" >>"$rates"
}

# What the ceiling makes of a backlog: name, apps, prefix, whether to parse. A record is an event.
ceiling() {
    "$WORK/ceiling" --bootstrap "$bootstrap" --prefix "$3" --parse "$4" >"$WORK/ceiling.out"
    note "$1" "$2" "$(sed -n 's/.*records_per_cpu_second=\([0-9]*\).*/\1/p' "$WORK/ceiling.out")"
}

# The topics and positions as they were before the evaluator saw them.
forget() {
    local tries
    for ((tries = 0; tries < 20; tries++)); do
        # A member that has left is thought alive for a session's time.
        "$kafka/bin/kafka-consumer-groups.sh" --bootstrap-server "$bootstrap" \
            --delete --group "$1evaluate" >"$WORK/forget.out" 2>&1 || true
        ! grep -q GroupNotEmpty "$WORK/forget.out" || { sleep 1 && continue; }
        break
    done
    "$kafka/bin/kafka-topics.sh" --bootstrap-server "$bootstrap" --if-exists \
        --delete --topic "$1(throttle|epoch|snapshot|notice|dead|stress)" >/dev/null 2>&1 || true
    sleep 1
    "$ADBRAKE" topics create --log "kafka:$bootstrap" --prefix "$1" --partitions 4 --replicas 1 \
        >/dev/null
}

# How many events are counted; none while it does not answer yet.
counted() {
    { curl -s "http://$metrics/metrics" || true; } \
        | awk '/^adbrake_evaluate_events_total/ { sum += $2 } END { printf "%d", sum }'
}

# The evaluator's CPU time, in ticks.
used_ticks() { sed 's/.*) //' "/proc/$evaluator/stat" | awk '{ print $12 + $13 }'; }

# Waits until the evaluator has counted so many events: how many, how often to look in seconds.
# Sets `events` and `ticks`.
await_events() {
    local began=$SECONDS
    events=$(counted)
    while [[ $events -lt $1 ]]; do
        kill -0 "$evaluator" 2>/dev/null || fail "the evaluator ended"
        ((SECONDS - began < patience_seconds)) || fail "$events of $EVENTS events were counted"
        sleep "$2"
        events=$(counted)
    done
    ticks=$(used_ticks)
}

# Starts an evaluator and waits until it has counted all: name, apps, prefix.
evaluate() {
    local events ticks first_events first_ticks hertz
    forget "$3"
    "$ADBRAKE" evaluate --policy article --lanes 1 --max-apps 400000 --log "kafka:$bootstrap" \
        --prefix "$3" --listen "$metrics" --log-level warning &
    evaluator=$!
    await_events $((EVENTS / 10)) 0.02
    first_events=$events first_ticks=$ticks
    # Seldom enough that looking on takes nothing from it.
    await_events "$EVENTS" 0.3
    [[ $events -eq $EVENTS ]] || fail "$events events were counted, not $EVENTS"
    hertz=$(getconf CLK_TCK)
    note "$1" "$2" $(((events - first_events) * hertz / (ticks - first_ticks))) \
        "$((events * hertz / ticks)) from its start, $(commits)"
}

# How many commits there were, and how long they took in the mean.
commits() {
    curl -s "http://$metrics/metrics" | awk '
        /^adbrake_evaluate_commit_seconds_sum/ { sum = $2 }
        /^adbrake_evaluate_commit_seconds_count/ { count = $2 }
        END { printf "%d commits of %.1f ms", count, 1000 * sum / count }'
}

end_evaluator() {
    kill "$evaluator"
    wait "$evaluator" || fail "the evaluator failed"
    evaluator=
}

peer() {
    java -Xms2g -Xmx4g -XX:+UseParallelGC -Dlog4j2.configurationFile="$WORK/log4j2.properties" \
        -cp "$kafka/libs/*:$WORK/classes" ProcessorPeer --bootstrap "$bootstrap" --prefix "$2" \
        --threads 2 --commit-ms 200 --guarantee exactly_once_v2 --state-dir "$WORK/state" \
        --states "$WORK/peer-states" >"$WORK/peer.out"
    note peer "$1" "$(sed -n 's/.*steady: .* per_cpu_second=\([0-9]*\) .*/\1/p' "$WORK/peer.out")"
}

# Waits for a tick of `article` after the last record, then compares.
states() {
    local tick_ms=120000 now
    evaluate states "$first" "b$first-"
    now=$(date +%s%3N)
    while ((now % tick_ms < 3000)) || ((now / tick_ms == filled / tick_ms)); do
        sleep 1
        now=$(date +%s%3N)
    done
    python3 "$here/backlog_states.py" "$bootstrap" "b$first-" "$PEERS/recompute.py" "$now"
    end_evaluator
}

mkdir -p "$WORK"
[[ -x $ADBRAKE ]] || fail "there is no $ADBRAKE: make bench"
if has gathered; then [[ -x $BENCH ]] || fail "there is no $BENCH: make bench"; fi
gcc -O2 -o "$WORK/generate" "$PEERS/generate.c" -lrdkafka -lm
g++ -O2 -std=c++17 -o "$WORK/ceiling" "$PEERS/ceiling.cpp" -lrdkafka -lsimdjson
if has peer; then
    mkdir -p "$WORK/classes"
    javac -nowarn -Xlint:none -cp "$kafka/libs/*" -d "$WORK/classes" \
        "$PEERS"/kafka-streams/{Common,ProcessorPeer}.java
    printf '%s\n' status=error rootLogger.level=error >"$WORK/log4j2.properties"
fi
if [[ -e $WORK/broker/pid ]]; then
    "$root/ops/kafka/broker.sh" restart "$WORK/broker"
    # It answers before it leads all of its partitions.
    for ((tries = 0; tries < 20; tries++)); do
        ! "$WORK/ceiling" --bootstrap "$bootstrap" --prefix "b$first-" --parse 0 \
            >/dev/null 2>&1 || break
        sleep 1
    done
else
    "$root/ops/kafka/broker.sh" start "$WORK/broker" --port "$PORT"
    for apps in $APPS; do
        "$WORK/generate" --bootstrap "$bootstrap" --prefix "b$apps-" --events "$EVENTS" \
            --apps "$apps" --codec lz4
        "$ADBRAKE" topics create --log "kafka:$bootstrap" --prefix "b$apps-" --partitions 4 \
            --replicas 1
        if has gathered; then "$BENCH" "$bootstrap" "b$apps-" 4 gather "g$apps-"; fi
    done
    date +%s%3N >"$WORK/filled"
    # Writing it out shall not go on beside what is measured.
    sync
fi
filled=$(cat "$WORK/filled")
: >"$rates"
commit=$(git -C "$root" rev-parse --short HEAD)
echo "commit $commit, $(nproc) cores, load $(cut -d ' ' -f 1 /proc/loadavg)"

for ((round = 1; round <= RUNS; round++)); do
    for apps in $APPS; do
        if has single; then
            ceiling ceiling "$apps" "b$apps-" 1
            evaluate single "$apps" "b$apps-"
            end_evaluator
        fi
        if has gathered; then
            evaluate gathered "$apps" "g$apps-"
            end_evaluator
        fi
        if has peer && [[ $round -eq 1 ]]; then peer "$apps" "b$apps-"; fi
    done
done

echo
sort -k 1,1 -k 2,2n -k 3,3n "$rates" | awk '
    { key = $1 " " $2; rate[key, ++count[key]] = $3; apps[$2] = 1 }
    function median(key) { return rate[key, int((count[key] + 1) / 2)] }
    function ratio(one, other, word) {
        if (count[one] && count[other])
            printf "  %s %.2f", word, median(one) / median(other)
    }
    END {
        for (n in apps) {
            printf "%d apps, medians:", n
            if (count["ceiling " n]) printf "  ceiling %d", median("ceiling " n)
            if (count["single " n]) printf "  evaluator %d", median("single " n)
            ratio("single " n, "ceiling " n, "of the ceiling")
            if (count["peer " n]) printf "  peer %d", median("peer " n)
            ratio("single " n, "peer " n, "of the peer")
            if (count["gathered " n]) printf "  gathered %d", median("gathered " n)
            print ""
        }
    }'
if has states; then states; fi
