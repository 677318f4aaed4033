#!/bin/sh
# run.sh [NAME...]: speed and memory beside the reference runtime, as a Markdown table. Makes what is missing in the cache folder
# (LITHE_CACHE, default ~/.cache/lithe; bundles elsewhere: LITHE_BUNDLES; the peer's environment elsewhere: LITHE_PEER).
# LITHE_PEER=none measures lithe alone; REPEATS (3) and THREADS (2) as given.
set -eu
cd "$(dirname "$0")/.."
cache=${LITHE_CACHE:-$HOME/.cache/lithe}
bundles=${LITHE_BUNDLES:-$cache/bundles}
peer=${LITHE_PEER:-$cache/peer}
lithe=${LITHE:-build/release/lithe}
[ $# -gt 0 ] || set -- smollm2-135m-int8 gemma3-270m-int8 gemma3-270m-int4b32 gemma3-270m-fp16
for name in "$@"; do
    [ -f "$bundles/$name.litertlm" ] || scripts/make-bundle.sh "$cache" "$name"
done
if [ "$peer" != none ]; then
    [ -x "$peer/bin/litert-lm" ] || sh scripts/peer/peer_env.sh "$peer"
    set -- --peer "$peer/bin/python" "$@"
fi
exec python3 bench/compare.py --lithe "$lithe" --bundles "$bundles" --repeats "${REPEATS:-3}" --threads "${THREADS:-2}" "$@"
