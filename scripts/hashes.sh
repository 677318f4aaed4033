#!/bin/sh
# hashes.sh [NAME...]: one answer everywhere. Compares the hash of the logits of a committed script of prompts with tests/data/golden/logits.hashes
# for every instruction-set level of this machine and, where the cross compiler and qemu are installed (scripts/install-deps.sh --aarch64),
# for three Arm CPUs. Toys and hybrids always; real bundles as named (a minute each under qemu). BUILD: LITHE_BUILD_DIR (build/release).
set -eu
cd "$(dirname "$0")/.."
export LITHE_HASHES=check LITHE_BUILD_DIR="${LITHE_BUILD_DIR:-build/release}"
toys="toy-fp32 toy-fp16 toy-wo8 toy-int8 toy-int4c toy-int4b32 toy-window toy-window-int8 toy-recurrent toy-layouts tiny-hybrid-fp32 tiny-hybrid-int8"
failed=0

# check LABEL COMMAND...: one line of the report.
check() {
    label=$1
    shift
    if out=$("$@" 2>&1); then
        echo "equal    $label"
    else
        failed=1
        echo "DIFFERS  $label"
        echo "$out" | grep -E 'ERROR|hash' | head -5
    fi
}

seen=$("$LITHE_BUILD_DIR/lithe" --version -v | sed -n 's/^cpu features seen: //p')
for level in c $seen; do
    if [ "$level" != none ]; then
        export LITHE_CPU=$level
        check "$level: toys, hybrids $*" "$LITHE_BUILD_DIR/tests/engine_bitexact_test" $toys "$@"
        unset LITHE_CPU
    fi
done

if command -v qemu-aarch64 >/dev/null && command -v aarch64-linux-gnu-gcc >/dev/null; then
    arm=${LITHE_ARM_BUILD_DIR:-build/aarch64}
    cmake --preset aarch64 -B "$arm" --log-level=ERROR >/dev/null
    cmake --build "$arm" -j "$(nproc)" --target engine_bitexact_test tools_make_toys >/dev/null
    mkdir -p "$arm/toys"
    cp "$LITHE_BUILD_DIR"/toys/* "$arm/toys/"
    for cpu in cortex-a53 neoverse-n1 max; do
        check "qemu $cpu: toys, hybrids $*" env LITHE_BUILD_DIR="$arm" qemu-aarch64 -L / -cpu $cpu "$arm/tests/engine_bitexact_test" $toys "$@"
    done
else
    echo "skipped  Arm: needs scripts/install-deps.sh --aarch64"
fi
exit $failed
