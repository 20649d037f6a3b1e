#!/bin/sh
# rootfs.sh OUT ROOT: the files of the image. OUT has boathook and sbom.cdx.json, and interpreters if scripts are to run.
# No shell, no packages; every time is SOURCE_DATE_EPOCH.
set -eu
out=$1 root=$2
here=$(cd "$(dirname "$0")/../.." && pwd)
certificates=${BOATHOOK_CERTIFICATES:-/etc/ssl/certs/ca-certificates.crt}
[ ! -e "$root" ] || { echo "rootfs: $root is there already" >&2; exit 1; }
umask 022
mkdir -p "$root/usr/local/bin" "$root/usr/share/doc/boathook" "$root/etc/ssl/certs" "$root/tmp"
chmod 1777 "$root/tmp"
install -m 0755 "$out/boathook" "$root/usr/local/bin/boathook"
install -m 0644 "$out/sbom.cdx.json" "$here/LICENSE" "$root/usr/share/doc/boathook/"
if [ -d "$out/interpreters" ]; then
	share=$root/usr/local/share/boathook/interpreters
	mkdir -p "$share/compiled"
	install -m 0644 "$out"/interpreters/*.wasm "$share/"
	install -m 0644 "$out"/interpreters/compiled/* "$share/compiled/"
fi
install -m 0644 "$certificates" "$root/etc/ssl/certs/ca-certificates.crt"
echo 'nonroot:x:65532:65532::/tmp:/sbin/nologin' >"$root/etc/passwd"
echo 'nonroot:x:65532:' >"$root/etc/group"
find "$root" -exec touch -h -d "@${SOURCE_DATE_EPOCH:-0}" {} +
