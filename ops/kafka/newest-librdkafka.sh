#!/usr/bin/env bash
# Prints the path of the newest librdkafka: that of ADBRAKE_RDKAFKA, else the shared object in the
# wheel of confluent-kafka, which pip fetches once into .kafka/librdkafka. It needs nothing but the
# C library, so LD_PRELOAD is enough to run a program with it in place of the system's.
set -euo pipefail

root=$(cd "$(dirname "$0")/../.." && pwd)
cache=$root/.kafka/librdkafka

fail() {
    echo "librdkafka: $1" >&2
    exit 1
}

# The object in the folder $1, if there is one.
object() { find "$1" -name 'librdkafka*.so*' -type f -size +1M 2>/dev/null | head -n 1; }

if [[ -n ${ADBRAKE_RDKAFKA:-} ]]; then
    [[ -r $ADBRAKE_RDKAFKA ]] || fail "ADBRAKE_RDKAFKA is '$ADBRAKE_RDKAFKA': no such file"
    readlink -f "$ADBRAKE_RDKAFKA"
    exit
fi
if [[ -z $(object "$cache") ]]; then
    python3 -m pip --version >/dev/null 2>&1 \
        || fail "pip is needed to fetch it: apt install python3-pip. Or set ADBRAKE_RDKAFKA"
    wheels=$(mktemp -d)
    trap 'rm -rf "$wheels"' EXIT
    python3 -m pip download --quiet --no-deps --only-binary :all: --dest "$wheels" \
        confluent-kafka >&2 || fail "pip could not fetch confluent-kafka"
    mkdir -p "$cache"
    python3 -m zipfile -e "$wheels"/confluent_kafka-*.whl "$wheels/unpacked"
    found=$(object "$wheels/unpacked")
    [[ -n $found ]] || fail "no librdkafka is in $(ls "$wheels")"
    mv "$found" "$cache/"
fi
object "$cache"
