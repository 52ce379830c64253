#!/usr/bin/env bash
# Builds and runs the tests, and ends with a summary: what failed, and what was left out.
#   ops/test.sh [SWIFT TEST OPTIONS], for example ops/test.sh --filter RuntimeTests
set -euo pipefail
cd "$(dirname "$0")/.."

read -ra flags <<<"${SWIFT_FLAGS:-}"
log=$(mktemp)
newest=$(mktemp)
trap 'rm -f "$log" "$newest"' EXIT

swift build "${flags[@]}" --build-tests --explicit-target-dependency-import-check error

# Without them some tests are left out, and say so.
ops/clients/setup.sh >/dev/null || true

# Left out on the screen: what starts, with its arguments, which may have many lines.
# The status is that of the tests, not that of the filter behind them.
set +e
swift test "${flags[@]}" --skip-build "$@" 2>&1 | tee "$log" | sed -uE '
    /^◇/ {
        :more
        / started\.$/ d
        /\n(✔|✘|×|➜|→|↷)[^\n]*$/ b
        $! { N; b more }
    }'
status=${PIPESTATUS[0]}
newest_status=0
if [[ $# -eq 0 ]]; then
    echo
    ops/kafka/test-newest.sh --short 2>&1 | tee "$newest"
    newest_status=${PIPESTATUS[0]}
fi
set -e

echo
echo "Summary"
# Each issue with its reason, which is on the line below it.
grep -E -A1 '(✘|×) Test .* recorded an issue' "$log" | grep -v '^--' | cut -c1-200 \
    | head -100 || true
grep -E 'Fatal error|signal code' "$log" | head -5 || true
left_out=$(grep -cE '(➜|→|↷) Test .*skipped' "$log" || true)
echo "$left_out tests left out"
# How many for which reason; by name what has none.
if [[ $left_out -gt 0 ]]; then
    grep -E '(➜|→|↷) Test .*skipped' "$log" \
        | sed -E 's/.*skipped: "(.*)"$/\1/; s/.*Test (".*") skipped\.$/\1/' \
        | cut -c1-200 | sort | uniq -c | head -20
fi
if [[ -s $newest ]]; then
    echo "On the newest librdkafka: $(tail -n 1 "$newest")"
fi
grep -E 'Test run with' "$log" | tail -1 || echo "the test run did not come to its end"
[[ $status -ne 0 ]] || status=$newest_status
exit "$status"
