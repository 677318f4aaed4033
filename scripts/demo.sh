#!/bin/sh
# demo.sh CACHE BUNDLE: makes the bundle in the cache folder unless it is there, and asks the model a question.
set -eu
cd "$(dirname "$0")/.."
cache=$1
bundle=$1/bundles/$2.litertlm
[ -f "$bundle" ] || scripts/make-bundle.sh "$cache" "$2"
question="What is the capital of France?"
echo "\$ build/release/lithe run $bundle -p \"$question\""
exec build/release/lithe run "$bundle" -p "$question"
