#!/bin/sh
# demo.sh CACHE BUNDLE: makes the bundle in the cache folder unless it is there, and asks the model a question.
set -eu
cd "$(dirname "$0")/.."
cache=$1
bundle=$1/bundles/$2.litertlm
[ -f "$bundle" ] || scripts/make-bundle.sh "$cache" "$2"
# The turns as the model's template (ChatML) would write them: templates are not applied yet.
prompt='<|im_start|>user\nWhat is the capital of France?<|im_end|>\n<|im_start|>assistant\n'
set -- run "$bundle" -e --special --no-start -n 64 --temperature 0 --stats -p "$prompt"
# Not echo, which in some shells would make newlines of the escapes.
printf '%s\n' "\$ build/release/lithe run $bundle -e --special --no-start -n 64 --temperature 0 --stats -p '$prompt'"
exec build/release/lithe "$@"
