#!/usr/bin/env bash
# Fuzzes what the outside can send, with libFuzzer and the address sanitiser of the Swift toolchain.
#   ops/fuzz.sh [SUBJECT...]      all subjects by default, FUZZ_SECONDS (60) each
#   ops/fuzz.sh --build           only builds; FUZZ_BUILT=1 only runs what was built
# Inputs that show something new are kept in Fuzz/corpus, the smallest that do; one that breaks
# something stays in .build/fuzz/SUBJECT-..., and becomes a file of the corpus with its repair.
set -euo pipefail
cd "$(dirname "$0")/.."

seconds=${FUZZ_SECONDS:-60}
scratch=$PWD/.build/fuzz
is_only_build=
[[ ${1:-} != --build ]] || { is_only_build=1; shift; }
subjects=("$@")
[[ ${#subjects[@]} -gt 0 ]] || subjects=(decoder upload retry sentry otlp records request http)
# Larger inputs are slower and show nothing new; the limits have tests of their own.
bytes_max=4096
corpus_files_max=60

runtime=$(dirname "$(dirname "$(readlink -f "$(command -v swiftc)")")")/lib/clang
if ! compgen -G "$runtime/*/lib/linux/libclang_rt.fuzzer-*.a" >/dev/null; then
    echo "fuzz: this Swift toolchain has no libFuzzer (below $runtime)" >&2
    exit 1
fi
read -ra flags <<<"${SWIFT_FLAGS:-}"
build() {
    local products libraries modules=()
    export ADBRAKE_FUZZ=1
    swift build "${flags[@]}" -c release --scratch-path "$scratch" --product FuzzSubjects \
        --sanitize address -Xswiftc -sanitize=fuzzer -Xcxx -fsanitize=fuzzer-no-link
    products=$(swift build "${flags[@]}" -c release --scratch-path "$scratch" --show-bin-path)
    for module in Sources/C{MicroHTTPD,Prefetch,Zlib} "$products/CSimdJSON.build"; do
        modules+=(-Xcc "-fmodule-map-file=$module/module.modulemap")
    done
    read -ra libraries <<<"$(pkg-config --libs libmicrohttpd simdjson zlib)"
    # The program is linked here and not by the package: its `main` is the fuzzer's. What modules
    # of an archive want of the standard library is not seen by the linker.
    swiftc -O -use-ld=lld -sanitize=address -sanitize=fuzzer -parse-as-library \
        Fuzz/Program/Fuzz.swift \
        -I "$products/Modules" "${modules[@]}" -L "$products" -lFuzzSubjects \
        -lswiftSynchronization "${libraries[@]}" -lstdc++ -o "$scratch/fuzz"
}
[[ -n ${FUZZ_BUILT:-} ]] || build
[[ -z $is_only_build ]] || exit 0

for subject in "${subjects[@]}"; do
    kept=Fuzz/corpus/$subject work=$scratch/corpus-$subject small=$scratch/small-$subject
    mkdir -p "$kept" "$work"
    echo "fuzz: $subject for $seconds s"
    export ADBRAKE_FUZZ_SUBJECT=$subject
    seeds=("$kept")
    [[ $subject =~ ^(http|request|sentry|otlp)$ ]] || while read -r folder; do
        seeds+=("$folder")
    done < <(find schemas/examples schemas/policies -mindepth 1 -type d; echo schemas/policies)
    "$scratch/fuzz" "$work" "${seeds[@]}" -max_total_time="$seconds" -max_len="$bytes_max" \
        -timeout=20 -rss_limit_mb=1024 -print_final_stats=1 -verbosity=0 \
        -artifact_prefix="$scratch/$subject-" -close_fd_mask=1
    rm -rf "$small"
    mkdir "$small"
    "$scratch/fuzz" -merge=1 -max_len="$bytes_max" -verbosity=0 "$small" "$kept" "$work" \
        2>/dev/null
    # The smallest of what is needed to reach all that was reached.
    find "$small" -type f -printf '%s %p\n' | sort -n \
        | awk -v most="$corpus_files_max" 'NR <= most { print $2 }' \
        | while read -r file; do cp -n "$file" "$kept/"; done
done
