#!/bin/sh
# build.sh OUT [FEATURES]: the operator's static binary as OUT/boathook, without the author's commands; with
# author,jemalloc for FEATURES, the one that people install. The same sources and toolchain give the same code and data:
# nothing of the machine, its folders or the time is in them. BOATHOOK_TARGET names another target than this machine's musl.
set -eu
out=$1 features=${2:-jemalloc}
target=${BOATHOOK_TARGET:-$(uname -m)-unknown-linux-musl}
cd "$(dirname "$0")/../.."
export SOURCE_DATE_EPOCH="${SOURCE_DATE_EPOCH:-0}" CARGO_INCREMENTAL=0
home=${CARGO_HOME:-$HOME/.cargo}
# Sources that build scripts make are here.
built=${CARGO_TARGET_DIR:-target}
built=$(mkdir -p "$built" && cd "$built" && pwd)
sep=$(printf '\037')
CARGO_ENCODED_RUSTFLAGS="-Ctarget-feature=+crt-static"
for map in "$PWD=/boathook" "$built=/target" "$home=/cargo" "$(rustc --print sysroot)=/rust"; do
	CARGO_ENCODED_RUSTFLAGS="$CARGO_ENCODED_RUSTFLAGS$sep--remap-path-prefix=$map"
done
# What build scripts compile in C.
export CFLAGS="${CFLAGS:-} -ffile-prefix-map=$PWD=/boathook -ffile-prefix-map=$home=/cargo"
export CARGO_ENCODED_RUSTFLAGS
# Kernels of this architecture have pages of 4, 16 or 64 KiB, and jemalloc runs where they are no larger than it knows.
case $target in aarch64-*) export JEMALLOC_SYS_WITH_LG_PAGE=16 ;; esac
cargo build --release --locked --package boathook --bin boathook --no-default-features --features "$features" --target "$target"
mkdir -p "$out"
install -m 0755 "${CARGO_TARGET_DIR:-target}/$target/release/boathook" "$out/boathook"
