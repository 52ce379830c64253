#!/usr/bin/env bash
# Installs what the build needs from Debian, and only what is missing. Silent when nothing is.
set -euo pipefail

packages=(
    libcurl4-openssl-dev libmicrohttpd-dev librdkafka-dev libsimdjson-dev libsqlite3-dev zlib1g-dev
    pkg-config
)

if ! command -v swift >/dev/null; then
    echo "setup: no swift found. Install Swift 6.2 or later, see https://www.swift.org/install" >&2
    exit 1
fi

if ! command -v dpkg-query >/dev/null; then
    # Another system: its packages have other names, but the libraries are the same.
    libraries=(libcurl libmicrohttpd rdkafka simdjson sqlite3 zlib)
    for library in "${libraries[@]}"; do
        if ! pkg-config --exists "$library"; then
            echo "setup: $library is missing. Install its development package." >&2
            exit 1
        fi
    done
    exit 0
fi

missing=()
for package in "${packages[@]}"; do
    status=$(dpkg-query --show --showformat '${db:Status-Status}' "$package" 2>/dev/null || true)
    [[ $status == installed ]] || missing+=("$package")
done
[[ ${#missing[@]} -gt 0 ]] || exit 0

as_root=()
if [[ $(id -u) -ne 0 ]]; then
    if ! command -v sudo >/dev/null; then
        echo "setup: install as root: apt-get install ${missing[*]}" >&2
        exit 1
    fi
    as_root=(sudo)
fi

echo "setup: installing ${missing[*]}"
install=("${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -q
    --no-install-recommends "${missing[@]}")
# The package lists may be there already; they are fetched only when they do not do.
"${install[@]}" >/dev/null 2>&1 && exit 0
"${as_root[@]}" apt-get update -q
"${install[@]}"
