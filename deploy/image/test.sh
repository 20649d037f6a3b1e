#!/bin/sh
# Tests of the scripts in this folder, without docker and without a build: they take a small program of this machine's C
# compiler for the binary.
set -eu
cd "$(dirname "$0")/../.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fail() {
	echo "FAILED: $1" >&2
	exit 1
}
# refused TEXT COMMAND…: it fails and says TEXT
refused() {
	text=$1
	shift
	if "$@" >"$work/said" 2>&1; then fail "$* succeeded"; fi
	grep -qF "$text" "$work/said" || fail "$* said: $(cat "$work/said")"
}
export SOURCE_DATE_EPOCH=1700000000

# The bill of materials.
cat >"$work/Cargo.lock" <<'LOCK'
version = 4

[[package]]
name = "boathook"
version = "0.1.0"
dependencies = ["one"]

[[package]]
name = "one"
version = "1.2.3+4"
source = "registry+https://github.com/rust-lang/crates.io-index"
checksum = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

[[package]]
name = "unused"
version = "9.0.0"
source = "registry+https://github.com/rust-lang/crates.io-index"
checksum = "ffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff"
LOCK
printf '%s\n' 'boathook v0.1.0 (/somewhere)|Apache-2.0' 'one v1.2.3+4|MIT/Apache-2.0' 'own v0.1.0 (/somewhere/own)|MIT' \
	'one v1.2.3+4|MIT/Apache-2.0 (*)' >"$work/tree"
deploy/image/sbom.sh "$work/Cargo.lock" <"$work/tree" >"$work/sbom.cdx.json"
for part in '"timestamp": "2023-11-14T22:13:20Z"' '"type":"application","bom-ref":"pkg:cargo/boathook@0.1.0"' \
	'"content":"0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"' '"expression":"MIT OR Apache-2.0"' \
	'"purl":"pkg:cargo/one@1.2.3+4"'; do
	grep -qF "$part" "$work/sbom.cdx.json" || fail "the bill lacks $part: $(cat "$work/sbom.cdx.json")"
done
! grep -qF unused "$work/sbom.cdx.json" || fail "the bill has what is not linked"
! grep -qF /somewhere "$work/sbom.cdx.json" || fail "the bill has a path of this machine"
! grep -qF '"purl":"pkg:cargo/own' "$work/sbom.cdx.json" || fail "a crate of ours is said to be in the registry"
[ "$(grep -c '"name":"one"' "$work/sbom.cdx.json")" = 1 ] || fail "a crate is there twice"
if command -v python3 >/dev/null; then python3 -m json.tool "$work/sbom.cdx.json" >/dev/null || fail "the bill is no JSON"; fi
sort -r "$work/tree" | deploy/image/sbom.sh "$work/Cargo.lock" | cmp - "$work/sbom.cdx.json" || fail "the order of crates counts"
# Go modules, as they stand between the bytes of a program.
printf '\0asm\1go1.26.8\0path\tx\nmod\tx\t(devel)\t\ndep\texample.com/a/v2\tv2.0.1+x\th1:kDF7paGK8QACWYaQo6KtyYBozY2jhQrTuNNuUxQkhJY=\ndep\tour.example/sdk\tv0.0.0\n=>\t../sdk\t(devel)\t\nbuild\t-compiler=gc\n\377' >"$work/shell-0.wasm"
deploy/image/modules.sh "$work/shell-0.wasm" "$work/shell-0.wasm" >"$work/modules"
[ "$(cat "$work/modules")" = 'golang:example.com/a/v2 v2.0.1+x||90317ba5a18af10002598690a3a2adc98068cd8da3850ad3b8d36e5314248496
golang:stdlib v1.26.8||' ] || fail "the modules are $(cat "$work/modules")"
cat "$work/tree" "$work/modules" | deploy/image/sbom.sh "$work/Cargo.lock" >"$work/both.cdx.json"
for part in '"purl":"pkg:golang/example.com/a/v2@v2.0.1%2Bx"' '"name":"example.com/a/v2","version":"v2.0.1+x","hashes":[{"alg":"SHA-256","content":"90317ba5' \
	'"purl":"pkg:golang/stdlib@1.26.8"' '"purl":"pkg:cargo/one@1.2.3+4"'; do
	grep -qF "$part" "$work/both.cdx.json" || fail "the bill lacks $part: $(cat "$work/both.cdx.json")"
done
if command -v python3 >/dev/null; then python3 -m json.tool "$work/both.cdx.json" >/dev/null || fail "the bill with modules is no JSON"; fi
refused 'boathook itself' sh -c 'echo "one v1.2.3+4|MIT" | deploy/image/sbom.sh "$0"' "$work/Cargo.lock"
refused 'no crate: error' sh -c 'echo "error: x" | deploy/image/sbom.sh "$0"' "$work/Cargo.lock"

# The binary.
mkdir "$work/out"
cp "$work/sbom.cdx.json" "$work/out/"
with='const char *allocator = "narenas:2,"; int main(void)'
echo "$with { return 0; }" >"$work/a.c"
cc -static -o "$work/out/boathook" "$work/a.c" || fail "this machine's C compiler makes no static program"
deploy/image/check.sh "$work/out/boathook" || fail "a static program is refused"
cc -static-pie -o "$work/placed" "$work/a.c"
deploy/image/check.sh "$work/placed" || fail "a static program that goes to any address is refused"
cc -o "$work/dynamic" "$work/a.c"
refused 'is not static' deploy/image/check.sh "$work/dynamic"
echo 'int main(void) { return 1; }' >"$work/b.c"
cc -static -o "$work/broken" "$work/b.c"
refused 'does not start' deploy/image/check.sh "$work/broken"
echo 'int main(void) { return 0; }' >"$work/e.c"
cc -static -o "$work/another" "$work/e.c"
refused 'has no jemalloc' deploy/image/check.sh "$work/another"
printf 'const char *where = "%s/src/main.rs"; %s { return where == 0; }' "$PWD" "$with" >"$work/c.c"
cc -static -o "$work/telling" "$work/c.c"
refused "names $PWD/src/" deploy/image/check.sh "$work/telling"
printf 'const char *where = "/home/me/target/x/release/build/a/out/a.rs"; %s { return where == 0; }' "$with" >"$work/d.c"
cc -static -o "$work/telling" "$work/d.c"
refused 'names /home/me/target/x/release/build/' deploy/image/check.sh "$work/telling"
sed -i s,/home/me/target,/target, "$work/d.c"
cc -static -o "$work/silent" "$work/d.c"
deploy/image/check.sh "$work/silent" || fail "a program that names /target is refused"
printf '#!/bin/sh\n' >"$work/script"
chmod +x "$work/script"
refused 'is no ELF file' deploy/image/check.sh "$work/script"

# The files of the image.
echo certificates >"$work/ca.crt"
export BOATHOOK_CERTIFICATES="$work/ca.crt"
packed() {
	deploy/image/rootfs.sh "$work/out" "$1"
	tar --sort=name --owner=0 --group=0 --numeric-owner -C "$1" -cf - . | sha256sum
}
first=$(packed "$work/first")
[ "$first" = "$(umask 077; packed "$work/second")" ] || fail "the same files make another image"
[ "$first" != "$(SOURCE_DATE_EPOCH=1 packed "$work/third")" ] || fail "the time of the files is not SOURCE_DATE_EPOCH"
files=$(cd "$work/first" && find . -type f | LC_ALL=C sort | tr '\n' ' ')
[ "$files" = "./etc/group ./etc/passwd ./etc/ssl/certs/ca-certificates.crt ./usr/local/bin/boathook ./usr/share/doc/boathook/LICENSE ./usr/share/doc/boathook/sbom.cdx.json " ] ||
	fail "the image has $files"
# The archive of the image.
archived() {
	deploy/image/config.sh | BOATHOOK_LAYER=gzip deploy/image/archive.sh example.com/boathook:v1 "$work/first" "$1"
}
archived "$work/first.tar"
find "$work/first" -exec touch {} +
(umask 077; archived "$work/second.tar")
cmp "$work/first.tar" "$work/second.tar" || fail "the same files make another archive"
SOURCE_DATE_EPOCH=1 archived "$work/third.tar"
! cmp -s "$work/first.tar" "$work/third.tar" || fail "the time of the archive is not SOURCE_DATE_EPOCH"
mkdir "$work/archive"
tar -xf "$work/first.tar" -C "$work/archive"
# digests TYPE: of the blobs of this type that FILE names
digests() { grep -oE "$1\"(,\"|\":\"|digest)+sha256:[0-9a-f]{64}" "$2" | grep -oE '[0-9a-f]{64}$'; }
manifest=$work/archive/blobs/sha256/$(digests manifest.v1.json "$work/archive/index.json")
layer=$work/archive/blobs/sha256/$(digests tar.gzip "$manifest")
config=$work/archive/blobs/sha256/$(digests config.v1.json "$manifest")
for blob in "$work/archive/blobs/sha256/"*; do
	[ "$(sha256sum "$blob" | cut -d' ' -f1)" = "$(basename "$blob")" ] || fail "a blob has another digest"
done
grep -qF "$(gzip -dc "$layer" | sha256sum | cut -d' ' -f1)" "$config" || fail "the config names another layer"
for part in '"User":"65532:65532"' '"Entrypoint":["/usr/local/bin/boathook"]' '"Cmd":["serve"]' '"TMPDIR=/tmp"' \
	'"org.opencontainers.image.licenses":"Apache-2.0"' '"created":"2023-11-14T22:13:20Z"'; do
	grep -qF "$part" "$config" || fail "the config has no $part: $(cat "$config")"
done

# With interpreters.
cat >"$work/c" <<'COMPILE'
#!/bin/sh
mkdir "$4/compiled" && echo code >"$4/compiled/js.cwasm"
COMPILE
mkdir -p "$work/with" "$work/dist" "$work/empty"
cp "$work/out/sbom.cdx.json" "$work/with/"
install -m 0755 "$work/c" "$work/with/boathook"
refused 'run make interpreters' env BOATHOOK_INTERPRETERS="$work/empty" deploy/image/interpreters.sh "$work/with"
echo js >"$work/dist/js-0.1.0.wasm"
BOATHOOK_INTERPRETERS="$work/dist" deploy/image/interpreters.sh "$work/with"
(umask 077; deploy/image/rootfs.sh "$work/with" "$work/scripts")
files=$(cd "$work/scripts/usr/local/share" && find . -type f | LC_ALL=C sort | tr '\n' ' ')
[ "$files" = "./boathook/interpreters/compiled/js.cwasm ./boathook/interpreters/js-0.1.0.wasm " ] || fail "the image has $files"
[ -z "$(find "$work/scripts/usr" -perm /022)" ] || fail "others may write what is in the image"
[ -z "$(find "$work/first" -perm -4000 -o -perm -2000)" ] || fail "a file takes another's rights"
refused 'is there already' deploy/image/rootfs.sh "$work/out" "$work/first"
! (deploy/image/rootfs.sh "$work/nothing" "$work/fourth" 2>/dev/null) || fail "an image without a binary is made"

# What .dockerignore lets through: every crate of the workspace, and the settings of the build.
context=$work/context
mkdir "$context"
sed -n 's/^!//p' .dockerignore | while read -r allowed; do
	[ -e "$allowed" ] || continue
	find "$allowed" \( -name target -o -name node_modules -o -path tests/fixtures -o -path hooks-wasm/dist \) -prune -o \
		-type f \( -name '*.rs' -o -name '*.toml' -o -name Cargo.lock \) -print
done | tar -cf - -T - | tar -xf - -C "$context"
(cd "$context" && cargo metadata --offline --no-deps --format-version 1 >/dev/null) ||
	fail ".dockerignore leaves a crate of the workspace out"
[ -f "$context/.cargo/config.toml" ] || fail ".dockerignore leaves .cargo/config.toml out"

# The Dockerfile: its scripts are there, and it ends without a shell and without root.
for script in $(grep -o 'deploy/image/[a-z]*\.sh' Dockerfile | sort -u); do
	[ -x "$script" ] || fail "$script can't be run"
done
tail -n +"$(grep -n '^FROM scratch' Dockerfile | cut -d: -f1)" Dockerfile >"$work/last"
grep -qx 'USER 65532:65532' "$work/last" || fail "the image's user is no number"
! grep -q '^RUN' "$work/last" || fail "the last stage runs something"
echo "deploy/image: all tests passed"
