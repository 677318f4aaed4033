#!/bin/sh
# The bundle that the everyday suite runs, made in the cache folder if it is not there. Exit code 77 (skipped) where it cannot be made, unless
# LITHE_REQUIRE_BUNDLES is set. LITHE_BUNDLES, if given, is a folder that others look after.
set -u
cd "$(dirname "$0")/../.."
cache=${LITHE_CACHE:-$HOME/.cache/lithe}
name=smollm2-135m-int8
[ -f "${LITHE_BUNDLES:-$cache/bundles}/$name.litertlm" ] && exit 0
[ -z "${LITHE_BUNDLES:-}" ] && scripts/make-bundle.sh "$cache" "$name" && exit 0
echo "$name cannot be made here (no network?)"
[ -n "${LITHE_REQUIRE_BUNDLES:-}" ] && exit 1
exit 77
