#!/bin/sh
# archive.sh NAME:TAG ROOT OUT.tar < CONFIG: the files of ROOT as an image in an OCI archive, which registries' tools and
# `ctr images import` take. CONFIG is the JSON of an OCI image's config: {"User": …, "Entrypoint": […]}. The same files at the
# same SOURCE_DATE_EPOCH give the same bytes. BOATHOOK_LAYER=gzip compresses the files.
set -eu
umask 022
name=$1 root=$2 out=$3
at=${SOURCE_DATE_EPOCH:-0}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$work/blobs/sha256"
case $(uname -m) in x86_64) machine=amd64 ;; aarch64) machine=arm64 ;; *) machine=$(uname -m) ;; esac
packed() { tar --sort=name --owner=0 --group=0 --numeric-owner --mtime="@$at" --format=posix --pax-option=delete=atime,delete=ctime -cf - "$@"; }
# blob TYPE: takes stdin for a blob, and prints its descriptor without the closing brace
blob() {
	cat >"$work/new"
	digest=$(sha256sum "$work/new" | cut -d' ' -f1)
	size=$(wc -c <"$work/new")
	mv "$work/new" "$work/blobs/sha256/$digest"
	printf '{"mediaType":"application/vnd.oci.image.%s","digest":"sha256:%s","size":%d' "$1" "$digest" "$size"
}
packed -C "$root" . >"$work/layer"
files=$(sha256sum "$work/layer" | cut -d' ' -f1)
case ${BOATHOOK_LAYER:-} in
gzip) layer=$(gzip -9 -n <"$work/layer" | blob layer.v1.tar+gzip) ;;
*) layer=$(blob layer.v1.tar <"$work/layer") ;;
esac
config=$(printf '{"created":"%s","architecture":"%s","os":"linux","config":%s,"rootfs":{"type":"layers","diff_ids":["sha256:%s"]}}' \
	"$(date -u -d "@$at" +%Y-%m-%dT%H:%M:%SZ)" "$machine" "$(cat)" "$files" | blob config.v1+json)
manifest=$(printf '{"schemaVersion":2,"mediaType":"application/vnd.oci.image.manifest.v1+json","config":%s},"layers":[%s}]}' \
	"$config" "$layer" | blob manifest.v1+json)
printf '{"schemaVersion":2,"mediaType":"application/vnd.oci.image.index.v1+json","manifests":[%s,"annotations":{"io.containerd.image.name":"%s","org.opencontainers.image.ref.name":"%s"}}]}' \
	"$manifest" "$name" "${name##*:}" >"$work/index.json"
printf '{"imageLayoutVersion":"1.0.0"}' >"$work/oci-layout"
packed -C "$work" oci-layout index.json blobs >"$out"
