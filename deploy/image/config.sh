#!/bin/sh
# config.sh: prints the config of the image as the Dockerfile's last stage has it, for archive.sh.
set -eu
awk '
$1 == "FROM" { user = env = entrypoint = command = label = "" }
$1 == "LABEL" { sub(/^LABEL /, ""); labels = 1 }
labels {
	line = $0; more = sub(/ *\\$/, "", line); sub(/^ */, "", line); sub(/=/, "\":", line)
	label = label (label == "" ? "" : ",") "\"" line
	labels = more
	next
}
{ key = $1; $1 = ""; value = substr($0, 2) }
key == "USER" { user = value }
key == "ENV" { env = env ",\"" value "\"" }
key == "ENTRYPOINT" { entrypoint = value }
key == "CMD" { command = value }
END {
	printf "{\"User\":\"%s\",\"Env\":[\"PATH=/usr/local/bin:/usr/bin:/bin\"%s],\"Entrypoint\":%s,\"Cmd\":%s,\"Labels\":{%s}}\n", user, env, entrypoint, command, label
}' "$(dirname "$0")/../../Dockerfile"
