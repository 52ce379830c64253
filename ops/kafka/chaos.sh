#!/usr/bin/env bash
# Chaos on the real thing: three brokers, two evaluators, load, and faults of every kind in turn.
# After each fault the log is held against an undisturbed run over the same input. Ends with a
# table; the exit status is 0 when nothing was lost and nothing counted twice.
#
#   ops/kafka/chaos.sh [--seed N] [--only FAULT,FAULT] [--keep]
#
# ADBRAKE_RDKAFKA=FILE makes the program use another librdkafka. --keep leaves brokers' data and
# logs, and what the program has said, where the first line tells.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
cd "$here/../.."
read -ra flags <<<"${SWIFT_FLAGS:-}"
brokers=3
# Long enough for a cold machine, short enough that a run that hangs ends.
minutes_max=25
# Ids of transactions are forgotten so soon: longer than any fault but the one that waits for it.
expiry_ms=24000

fail() {
    echo "chaos: $1" >&2
    exit 1
}

seed=$((RANDOM * 32768 + RANDOM)) only='' keep=no
while [[ $# -gt 0 ]]; do
    case $1 in
        --seed) seed=$2 && shift 2 ;;
        --only) only=$2 && shift 2 ;;
        --keep) keep=yes && shift ;;
        *) fail "unknown option $1" ;;
    esac
done
[[ -z ${ADBRAKE_RDKAFKA:-} || -r $ADBRAKE_RDKAFKA ]] || fail "cannot read $ADBRAKE_RDKAFKA"
home=$("$here/find.sh" --fetch)
command -v java >/dev/null || fail "Kafka needs Java 17: apt install default-jre-headless"

folder=$(mktemp -d)
port=$((20000 + RANDOM % 1000 * 10))

# Brokers are neighbours: n has p = port+10(n-1) for clients, p+1 for controllers, and p+2, which
# it tells clients to reach at p+3, where a relay of the tests can stop passing.
start() {
    local number=$1 base=$((port + 10 * ($1 - 1))) voters='' other
    for ((other = 1; other <= brokers; other++)); do
        voters+="${voters:+,}$other@127.0.0.1:$((port + 10 * (other - 1) + 1))"
    done
    "$here/broker.sh" start "$folder/$number" --port "$base" --cluster-id "$identity" \
        --config node.id="$number" --config controller.quorum.voters="$voters" \
        --config "listeners=PLAINTEXT://127.0.0.1:$base,CONTROLLER://127.0.0.1:$((base + 1)),\
RELAY://127.0.0.1:$((base + 2))" \
        --config "advertised.listeners=PLAINTEXT://127.0.0.1:$base,\
RELAY://127.0.0.1:$((base + 3))" \
        --config "listener.security.protocol.map=CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT,\
RELAY:PLAINTEXT" \
        --config inter.broker.listener.name=PLAINTEXT \
        --config default.replication.factor=3 --config min.insync.replicas=2 \
        --config offsets.topic.replication.factor=3 \
        --config transaction.state.log.replication.factor=3 \
        --config transaction.state.log.min.isr=2 \
        --config share.coordinator.state.topic.replication.factor=3 \
        --config share.coordinator.state.topic.min.isr=2 \
        --config transactional.id.expiration.ms=$expiry_ms \
        --config transaction.remove.expired.transaction.cleanup.interval.ms=1000 \
        --config log.cleaner.backoff.ms=200 >"$folder/$number.log" 2>&1
}

running=''
clean_up() {
    local status=$? number
    # With all that the tests have started.
    [[ -z $running ]] || kill "$running" 2>/dev/null || true
    for ((number = 1; number <= brokers; number++)); do
        [[ ! -e $folder/$number/pid ]] \
            || "$here/broker.sh" kill "$folder/$number" 2>/dev/null || true
    done
    [[ $keep == yes ]] || rm -rf "$folder"
    exit "$status"
}
trap clean_up EXIT
trap 'exit 130' INT TERM HUP

echo "chaos: seed $seed, data in $folder"
swift build "${flags[@]}" -c release -Xswiftc -cross-module-optimization \
    --explicit-target-dependency-import-check error --product adbrake
swift build "${flags[@]}" --build-tests --explicit-target-dependency-import-check error
ADBRAKE_PROGRAM=$(swift build "${flags[@]}" -c release --show-bin-path)/adbrake
export ADBRAKE_PROGRAM
tests=$(swift build "${flags[@]}" --show-bin-path)/adbrakePackageTests.xctest

identity=$("$home/bin/kafka-storage.sh" random-uuid 2>/dev/null | tail -n 1)
starting=()
for ((number = 1; number <= brokers; number++)); do
    start $number &
    starting+=($!)
done
for number in "${!starting[@]}"; do
    wait "${starting[$number]}" || { cat "$folder/$((number + 1)).log" >&2 && fail "no brokers"; }
done

# In the background: a script hears an interruption only while it waits. Not by `swift test`, which
# keeps what is said to itself until the end where there is no terminal.
ADBRAKE_CHAOS=$folder ADBRAKE_CHAOS_PORT=$port ADBRAKE_CHAOS_ONLY=$only ADBRAKE_SEED=$seed \
    KAFKA_HOME=$home timeout $((minutes_max * 60)) "$tests" --testing-library swift-testing \
    --filter 'SystemTests.ChaosTests' &
running=$!
wait "$running" || fail "repeat with: make chaos ARGS='--seed $seed${only:+ --only $only}'"
