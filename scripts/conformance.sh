#!/bin/sh
# conformance.sh [NAME...]: real bundles against the reference's answers, in full (docs/conformance.md). Everything it needs is made in the
# cache folder: LITHE_CACHE (~/.cache/lithe); bundles elsewhere: LITHE_BUNDLES; the peer's environment elsewhere: LITHE_PEER, "none" to
# leave out what needs it. Prints a table at the end; exit code 1 if anything in it failed.
set -eu
cd "$(dirname "$0")/.."
cache=${LITHE_CACHE:-$HOME/.cache/lithe}
bundles=${LITHE_BUNDLES:-$cache/bundles}
peer=${LITHE_PEER:-$cache/peer}
build=${LITHE_BUILD_DIR:-build/release}
[ $# -gt 0 ] || set -- smollm2-135m-int8 smollm2-135m-int4b32 gemma3-270m-int8 gemma3-270m-int4c gemma3-270m-int4b32 gemma3-270m-fp16 \
    gemma3-270m-wo8 gemma3-270m-fp32 smollm2-135m-int8-hfjinja smollm2-135m-int8-nojinja
for name in "$@"; do
    [ -f "$bundles/$name.litertlm" ] || scripts/make-bundle.sh "$cache" "$name"
done
if [ "$peer" != none ]; then
    [ -x "$peer/bin/litert-lm" ] || sh scripts/peer/peer_env.sh "$peer"
    set -- --peer "$peer/bin/python" "$@"
fi
mkdir -p "$build/toys"
"$build/tools/make_toys" "$build/toys"
exec python3 scripts/conformance.py --build "$build" --bundles "$bundles" "$@"
