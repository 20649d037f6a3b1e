#!/bin/sh
# modules.sh FILE.wasm…: the Go modules that programs are linked from, as Go writes it into them, and Go's own library, a
# line each: golang:NAME vVERSION||SHA-256. It needs no Go. Modules without a version are the project's, and left out.
set -eu
for file; do
	# Other bytes than text and tabs end a line.
	tr -c '\011\012\040-\176' '\n' <"$file" | sed -n \
		-e 's/^dep	\([^	]*\)	\(v[^	]*\)	h1:\(.*\)$/\1 \2 \3/p' \
		-e 's/^go\([0-9][0-9]*\.[0-9.]*[0-9]\)$/stdlib v\1 -/p'
done | LC_ALL=C sort -u | while read -r name version sum; do
	# The sum is that of the module's files, as in go.sum.
	[ "$sum" = - ] && hex= || hex=$(printf %s "$sum" | base64 -d | od -An -tx1 | tr -d ' \n')
	echo "golang:$name $version||$hex"
done
