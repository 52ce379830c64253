#!/usr/bin/env bash
# Installs what the build needs from Debian, and only what is missing. Silent when nothing is.
set -euo pipefail

# g++ brings the linker and the headers of C and C++ that Swift builds with.
packages=(
    g++ libcurl4-openssl-dev libmicrohttpd-dev librdkafka-dev libsimdjson-dev libsqlite3-dev
    libssl-dev pkg-config zlib1g-dev
)
# Without them Swift itself does not start.
swift_packages=(libncurses6 libxml2)

if ! command -v swift >/dev/null; then
    echo "setup: no swift found. Install Swift 6.2 or later, see https://www.swift.org/install" >&2
    exit 1
fi

swift_runs() { swift --version >/dev/null 2>&1; }

if ! command -v dpkg-query >/dev/null; then
    # Another system: its packages have other names, but the libraries are the same.
    libraries=(libcrypto libcurl libmicrohttpd rdkafka simdjson sqlite3 zlib)
    for library in "${libraries[@]}"; do
        if ! pkg-config --exists "$library"; then
            echo "setup: $library is missing. Install its development package." >&2
            exit 1
        fi
    done
    exit 0
fi

swift_runs || packages+=("${swift_packages[@]}")
missing=()
for package in "${packages[@]}"; do
    status=$(dpkg-query --show --showformat '${db:Status-Status}' "$package" 2>/dev/null || true)
    [[ $status == installed ]] || missing+=("$package")
done
install_missing() {
    local as_root=() install
    if [[ $(id -u) -ne 0 ]]; then
        if ! command -v sudo >/dev/null; then
            echo "setup: packages are missing, and there is no sudo to install them. As root:" >&2
            echo "setup:   apt-get install --no-install-recommends ${missing[*]}" >&2
            exit 1
        fi
        as_root=(sudo)
    fi
    echo "setup: installing ${missing[*]}"
    install=("${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -q
        --no-install-recommends "${missing[@]}")
    # The package lists may be there already; they are fetched only when they do not do.
    if ! "${install[@]}" >/dev/null 2>&1; then
        "${as_root[@]}" apt-get update -qq
        "${install[@]}" >/dev/null
    fi
}

[[ ${#missing[@]} -eq 0 ]] || install_missing
if ! swift_runs; then
    echo "setup: swift does not run; it says:" >&2
    swift --version >&2 || true
    echo "setup: what it needs is listed on https://www.swift.org/install" >&2
    exit 1
fi
