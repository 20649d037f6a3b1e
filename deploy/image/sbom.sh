#!/bin/sh
# sbom.sh Cargo.lock…: the bill of materials (CycloneDX 1.5) of the crates and Go modules on standard input, as
# dependencies.sh prints them. The same input at the same SOURCE_DATE_EPOCH gives the same bytes. Crates that no registry has
# are the project's.
set -eu
locks=$*
at=${SOURCE_DATE_EPOCH:-0}
time=$(date -u -d "@$at" +%Y-%m-%dT%H:%M:%SZ)
sed -e 's/ (\*)//g' | LC_ALL=C sort -u | awk -F'|' -v locks="$locks" -v time="$time" '
function text(s) { gsub(/\\/, "\\\\", s); gsub(/"/, "\\\"", s); return "\"" s "\"" }
BEGIN {
	count = split(locks, lock, " ")
	for (i = 1; i <= count; i++) {
		while ((getline line < lock[i]) > 0) {
			split(line, part, "\"")
			if (line ~ /^\[\[package\]\]/) { name = version = "" }
			else if (line ~ /^name = /) name = part[2]
			else if (line ~ /^version = /) version = part[2]
			else if (line ~ /^source = /) known[name " " version] = 1
			else if (line ~ /^checksum = /) sum[name " " version] = part[2]
		}
		close(lock[i])
	}
}
{
	if (split($1, word, " ") < 2 || word[2] !~ /^v[0-9]/) { print "sbom: no crate: " $0 > "/dev/stderr"; failed = 1; exit 1 }
	name = word[1]; version = substr(word[2], 2); id = name " " version
	if (seen[id]++) next
	if (sub(/^golang:/, "", name)) {
		# Only the library of Go has a version without the v.
		if (name != "stdlib") version = "v" version
		purl = "pkg:golang/" name "@" version; gsub(/\+/, "%2B", purl)
		item = "{\"type\":\"library\",\"bom-ref\":" text(purl) ",\"name\":" text(name) ",\"version\":" text(version)
		if ($3 != "") item = item ",\"hashes\":[{\"alg\":\"SHA-256\",\"content\":" text($3) "}]"
		item = item ",\"purl\":" text(purl) "}"
		all = all (all == "" ? "" : ",\n    ") item
		next
	}
	item = "{\"type\":\"library\",\"bom-ref\":" text("pkg:cargo/" name "@" version) ",\"name\":" text(name) ",\"version\":" text(version)
	if (id in sum) item = item ",\"hashes\":[{\"alg\":\"SHA-256\",\"content\":" text(sum[id]) "}]"
	# Old manifests part licences with a slash.
	licence = $2; gsub(/ *\/ */, " OR ", licence)
	if (licence != "") item = item ",\"licenses\":[{\"expression\":" text(licence) "}]"
	if (id in known) item = item ",\"purl\":" text("pkg:cargo/" name "@" version)
	item = item "}"
	if (name == "boathook") { own = item; sub(/"library"/, "\"application\"", own); next }
	all = all (all == "" ? "" : ",\n    ") item
}
END {
	if (failed) exit 1
	if (own == "") { print "sbom: boathook itself is not among the crates" > "/dev/stderr"; exit 1 }
	print "{\n  \"bomFormat\": \"CycloneDX\",\n  \"specVersion\": \"1.5\",\n  \"version\": 1,"
	print "  \"metadata\": {\"timestamp\": " text(time) ", \"component\": " own "},"
	print "  \"components\": [\n    " all "\n  ]\n}"
}'
