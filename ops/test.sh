#!/usr/bin/env bash
# Builds and runs the tests, and ends with a summary: what failed, and what was left out.
#   ops/test.sh [SWIFT TEST OPTIONS], for example ops/test.sh --filter RuntimeTests
set -euo pipefail
cd "$(dirname "$0")/.."

read -ra flags <<<"${SWIFT_FLAGS:-}"
logs=$(mktemp -d)
trap 'rm -rf "$logs"' EXIT
# What runs in the background of a script does not hear an interruption.
trap 'trap "" TERM; kill -TERM 0; exit 130' INT

swift build "${flags[@]}" --build-tests --explicit-target-dependency-import-check error

# Without them some tests are left out, and say so.
ops/clients/setup.sh >/dev/null || true

# Runs tests: a name for the log, then options of swift test. The status is that of the tests.
run() {
    local log=$logs/$1
    shift
    # Left out on the screen: what starts, with its arguments, which may have many lines.
    swift test "${flags[@]}" --ignore-lock --skip-build "$@" 2>&1 | tee "$log" | sed -uE '
        /^◇/ {
            :more
            / started\.$/ d
            /\n(✔|✘|×|➜|→|↷)[^\n]*$/ b
            $! { N; b more }
        }'
}

status=0
if [[ $# -gt 0 ]]; then
    run chosen "$@" || status=$?
else
    # A process has as many tests on their way as there are cores. Those that wait for brokers and
    # programs more than they compute have processes of their own, beside the others.
    kafka='^(KafkaLogTests|KafkaStageTests)\.' system='^SystemTests\.'
    run kafka --filter "$kafka" &
    kafka_run=$!
    run system --filter "$system" &
    system_run=$!
    run others --skip "$kafka" --skip "$system" || status=$?
    wait "$system_run" || status=$?
    wait "$kafka_run" || status=$?
    echo
    ops/kafka/test-newest.sh --short 2>&1 | tee "$logs/newest" || status=$?
fi

echo
echo "Summary"
ran=()
for part in chosen kafka system others; do
    [[ ! -e $logs/$part ]] || ran+=("$logs/$part")
done
# Each issue with its reason, which is on the line below it.
grep -hE -A1 '(✘|×) Test .* recorded an issue' "${ran[@]}" | grep -v '^--' | cut -c1-200 \
    | head -100 || true
grep -hE 'Fatal error|signal code' "${ran[@]}" | head -5 || true
left_out=$(cat "${ran[@]}" | grep -cE '(➜|→|↷) Test .*skipped' || true)
echo "$left_out tests left out"
# How many for which reason; by name what has none.
if [[ $left_out -gt 0 ]]; then
    grep -hE '(➜|→|↷) Test .*skipped' "${ran[@]}" \
        | sed -E 's/.*skipped: "(.*)"$/\1/; s/.*Test (".*") skipped\.$/\1/' \
        | cut -c1-200 | sort | uniq -c | head -20
fi
if [[ -s $logs/newest ]]; then
    echo "On the newest librdkafka: $(tail -n 1 "$logs/newest")"
fi
for log in "${ran[@]}"; do
    grep -E 'Test run with' "$log" | tail -1 \
        || { echo "the tests of part $(basename "$log") did not come to their end" && status=1; }
done
exit "$status"
