#!/bin/sh
# dependencies.sh [FEATURES]: what build.sh links a binary from, the module of filters in it, and the interpreters of scripts
# beside it where they are built, a line each: NAME vVERSION|LICENCE. Crates of tests and of build scripts are not in it, and
# CPython is not. BOATHOOK_INTERPRETERS names another directory of interpreters.
set -eu
cd "$(dirname "$0")/../.."
cargo tree --locked --package boathook --no-default-features --features "${1:-jemalloc}" --edges normal --target "${BOATHOOK_TARGET:-$(uname -m)-unknown-linux-musl}" \
	--prefix none --no-dedupe --format '{p}|{l}'
cargo tree --locked --manifest-path interpreters/jq/Cargo.toml --edges normal --target wasm32-unknown-unknown \
	--prefix none --no-dedupe --format '{p}|{l}'
interpreters=${BOATHOOK_INTERPRETERS:-interpreters/dist}
for file in "$interpreters"/js-*.wasm; do
	[ ! -e "$file" ] || cargo tree --locked --manifest-path interpreters/js/Cargo.toml --edges normal --target wasm32-wasip2 \
		--prefix none --no-dedupe --format '{p}|{l}'
done
for file in "$interpreters"/shell-*.wasm "$interpreters"/helm-*.wasm; do
	[ ! -e "$file" ] || deploy/image/modules.sh "$file"
done
