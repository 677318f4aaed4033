#!/bin/sh
# Installs the Debian (or Ubuntu) packages that are missing, and says which; does nothing where all are there, or where apt is
# not (then CMake says what it lacks).
#   install-deps.sh            to build and test
#   install-deps.sh --python   to make real bundles
#   install-deps.sh --fuzz     clang with libFuzzer
#   install-deps.sh --aarch64  the cross compiler, its libraries and qemu
set -eu

packages="gcc libc6-dev make cmake pkg-config zlib1g-dev libpcre2-dev libutf8proc-dev libcmocka-dev libsimde-dev python3"
case "${1-}" in
"") ;;
--python) packages="python3 python3-venv ca-certificates" ;;
--fuzz) packages="$packages clang libclang-rt-14-dev" ;;
--aarch64)
    packages="$packages gcc-aarch64-linux-gnu libc6-dev-arm64-cross qemu-user zlib1g-dev:arm64 libpcre2-dev:arm64
        libutf8proc-dev:arm64 libcmocka-dev:arm64"
    ;;
*)
    echo "usage: $0 [--python | --fuzz | --aarch64]" >&2
    exit 2
    ;;
esac

command -v dpkg-query >/dev/null && command -v apt-get >/dev/null || exit 0

missing=
for package in $packages; do
    # pkgconf stands in for pkg-config on newer releases.
    installed=$(dpkg-query -W -f '${db:Status-Status} ' "$package" 2>/dev/null || true)
    case " $installed" in
    *" installed "*) ;;
    *) missing="$missing $package" ;;
    esac
done
[ -n "$missing" ] || exit 0

as_root=
if [ "$(id -u)" != 0 ]; then
    if ! command -v sudo >/dev/null; then
        # They may be installed in another way; if not, CMake says what it lacks.
        echo "packages not installed:$missing" >&2
        echo "if the build fails, as root: apt-get install$missing" >&2
        exit 0
    fi
    as_root=sudo
fi
echo "installing:$missing"
case "$missing" in
*:arm64*) $as_root dpkg --add-architecture arm64 ;;
esac

# The lists may be absent or old: only then are they fetched.
install() {
    # shellcheck disable=SC2086
    $as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $missing >"$log" 2>&1
}
log=$(mktemp)
trap 'rm -f "$log"' EXIT
if ! install; then
    $as_root apt-get update -qq || true
    if ! install; then
        cat "$log" >&2
        exit 1
    fi
fi
