#!/bin/sh
# dependencies.sh [FEATURES]: what build.sh links a binary from, and the module of filters in it, a line each:
# NAME vVERSION|LICENCE. Crates of tests and of build scripts are not in it.
set -eu
cd "$(dirname "$0")/../.."
cargo tree --locked --package boathook --no-default-features --features "${1:-jemalloc}" --edges normal --target "${BOATHOOK_TARGET:-$(uname -m)-unknown-linux-musl}" \
	--prefix none --no-dedupe --format '{p}|{l}'
cargo tree --locked --manifest-path interpreters/jq/Cargo.toml --edges normal --target wasm32-unknown-unknown \
	--prefix none --no-dedupe --format '{p}|{l}'
