#!/usr/bin/env bash
# Runs the tests of the log on Kafka once more, with the newest librdkafka in place of the system's.
# Says so and ends well where it cannot be fetched.
#   ops/kafka/test-newest.sh [--short] [SWIFT TESTING OPTIONS]
# --short: a part that meets every kind of call, half a minute where nothing else runs.
set -euo pipefail
cd "$(dirname "$0")/../.."

# Everything that meets a real or a mock broker, and the logs' common suite.
suites='KafkaLogTests|KafkaStageTests|KafkaProcessTests|LogConformanceTests|WorkerConformanceTests'
limit=1200
if [[ ${1:-} == --short ]]; then
    shift
    # Members, commits and fences on a real broker, and the mock cluster's faults.
    suites='RDKafkaVersionTests|KafkaTests/FaultTests'
    suites+='|KafkaTests/WorkerTests/(shares|fencedInItsLane|leftOpen)'
    limit=180
fi

if ! library=$(ops/kafka/newest-librdkafka.sh 2>&1); then
    echo "Tests on the newest librdkafka left out. $library"
    exit
fi
read -ra flags <<<"${SWIFT_FLAGS:-}"
swift build "${flags[@]}" --build-tests --explicit-target-dependency-import-check error
folder=$(swift build "${flags[@]}" --show-bin-path)
log=$(mktemp)
trap 'rm -f "$log"' EXIT

echo "Tests on $(basename "$library")"
# Only the tests are run with it, not Swift's own tools.
set +e
ADBRAKE_RDKAFKA=$library LD_PRELOAD=$library timeout "$limit" "$folder/adbrakePackageTests.xctest" \
    --testing-library swift-testing --filter "${ADBRAKE_SUITES:-$suites}" "$@" >"$log" 2>&1
status=$?
set -e
grep -E 'librdkafka [0-9]' "$log" | head -1 || true
grep -E -A1 '(✘|×) Test .* recorded an issue' "$log" | grep -v '^--' | cut -c1-300 \
    | head -100 || true
grep -E 'Fatal error|signal code' "$log" | head -5 || true
grep -E 'Test run with' "$log" | tail -1 || tail -n 20 "$log"
exit "$status"
