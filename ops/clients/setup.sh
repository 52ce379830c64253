#!/usr/bin/env bash
# Makes the Python environment in which the tests run the SDKs of others, under .build, and prints
# where it is. What is there and fits is used again. Needs python3 with venv, and PyPI.
set -euo pipefail
cd "$(dirname "$0")/../.."

place=.build/clients
wanted=ops/clients/requirements.txt
if [[ ! -x $place/bin/python ]] || ! cmp -s "$wanted" "$place/requirements.txt"; then
    rm -rf "$place"
    if ! python3 -m venv "$place" >/dev/null 2>&1 \
        || ! "$place/bin/pip" install -q -r "$wanted" >/dev/null 2>&1; then
        rm -rf "$place"
        echo "clients: the SDKs cannot be installed: python3-venv or PyPI is missing" >&2
        exit 1
    fi
    cp "$wanted" "$place/requirements.txt"
fi
echo "$place"
