#!/bin/sh
# check.sh BINARY: it is static (an ELF file that asks for no interpreter and no library), it starts, it has the allocator
# of .cargo/config.toml, and it has no paths of the machine that built it.
set -eu
binary=$1
fail() {
	echo "check: $binary: $1" >&2
	exit 1
}
[ -x "$binary" ] || fail "is no program"
headers=$(readelf -lW "$binary" 2>/dev/null) || fail "is no ELF file"
case $headers in *INTERP*) fail "is not static: it asks for a program interpreter" ;; esac
case $(readelf -dW "$binary" 2>/dev/null) in *NEEDED*) fail "is not static: it asks for libraries" ;; esac
"$binary" --version >/dev/null || fail "does not start"
LC_ALL=C grep -aqF narenas:2, "$binary" || fail "has no jemalloc: build it with --features jemalloc"
for path in "${CARGO_HOME:-$HOME/.cargo}/registry" "$(cd "$(dirname "$0")/../.." && pwd)/src/"; do
	! LC_ALL=C grep -aqF "$path" "$binary" || fail "names $path"
done
# What build scripts made is in /target, as build.sh says.
made=$(LC_ALL=C grep -aoE '/[[:alnum:]_./-]*/release/build/' "$binary" | grep -v '^/target/' | head -n 1)
[ -z "$made" ] || fail "names $made"
