#!/bin/sh
# counts.sh LITHE BUNDLE [PREFILL]: instructions of one prefill (64 tokens) and of one decode step behind it, by function, under callgrind.
# Unlike times they do not depend on what else the machine does. Callgrind knows no AVX-512: the counts are those of the AVX2 kernels.
# A decode step is a quarter of what a run with five tokens executes more than one with a single token.
set -eu
lithe=$1 bundle=$2 prefill=${3:-64}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
prompt=a
i=2
while [ "$i" -lt "$prefill" ]; do
    prompt="$prompt a"
    i=$((i + 1))
done
counts() { # counts N FUNCTION: instructions inside FUNCTION while N tokens are generated
    valgrind --tool=callgrind --callgrind-out-file="$work/$1" --collect-atstart=no --toggle-collect="$2" "$lithe" run "$bundle" --raw -q \
        --ignore-stop --temperature 0 --threads 1 -p "$prompt" -n "$1" >/dev/null 2>"$work/log" || { cat "$work/log" >&2; exit 1; }
    awk '/^(summary|totals):/ { n = $2 } END { print n }' "$work/$1"
}
few=$(counts 1 session_run)
echo "prefill of $prefill tokens: $few instructions"
callgrind_annotate "$work/1" | grep -E '^ *[0-9,]+ \(' | sed -e 's/\[.*//' -e "s|$(pwd)/||" | sed -n 2,12p
many=$(counts 5 session_run)
echo "decode step: $(((many - few) / 4)) instructions"
