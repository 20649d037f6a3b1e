#!/bin/sh
# interpreters.sh OUT: the interpreters of scripts as OUT/interpreters, with their code compiled by OUT/boathook for every
# machine of its architecture. `make interpreters` builds them before; BOATHOOK_INTERPRETERS names another directory.
set -eu
out=$1
from=${BOATHOOK_INTERPRETERS:-$(cd "$(dirname "$0")/../.." && pwd)/interpreters/dist}
unset BOATHOOK_INTERPRETERS
set -- "$from"/*.wasm
[ -e "$1" ] || { echo "interpreters: there is none in $from: run make interpreters" >&2; exit 1; }
umask 022
rm -rf "$out/interpreters"
mkdir -p "$out/interpreters"
install -m 0644 "$@" "$out/interpreters/"
"$out/boathook" interpreters compile --interpreters "$out/interpreters"
