#!/bin/bash
# The commands that scripts use on texts, files and times.

set -euo pipefail
source "$(dirname "$0")/lib/common.sh"

if [[ "${1:-}" == --config ]]; then
  config::startup 2
  exit 0
fi

cd "$(mktemp -d)"
cat > table <<'END'
pod-a   1/1   Running     0
pod-b   0/1   Evicted     0
pod-c   0/1   Completed   2
pod-d   1/1   Running     5
END

sorted() { sort -k4,4nr -k1,1 table | head -n 2 | cut -d' ' -f1 | paste -sd' '; }
counted() { awk '{n[$3]++} END {for (k in n) print k "=" n[k]}' table | sort | tr '\n' ';'; }
edited() { sed -n -E '/Running/s/^([a-z]+)-([a-z]).*/\2:\1/p' table | tac | tr '\n' ' '; }
searched() { grep -c Running table; grep -vE 'Running|Evicted' table | grep -oE '^[^ ]+'; grep -n '5$' table; }
dates() { date -u -d @1700000000 +%Y-%m-%dT%H:%M:%SZ; date -u -d '2024-02-28 +2 days' +%F; }
hashes() { printf secret | base64; printf c2VjcmV0 | base64 -d; printf secret | sha256sum | cut -c1-16; printf secret | md5sum | cut -d' ' -f1; }
files() {
  mkdir -p a/b && touch a/b/one.sh a/two.yaml && ln -s two.yaml a/link 2>/dev/null || cp a/two.yaml a/link
  find a -type f -name '*.sh' | xargs -n1 basename -s .sh
  find a -name '*.yaml' -exec dirname {} \;
  wc -l < table | tr -d ' '
  tail -n 1 table | rev | cut -c1 | tee copy
  cmp -s copy table || echo differs
  comm -12 <(seq 1 5) <(seq 3 7) | paste -sd+
}
arguments() { printf '%s\n' a b c | xargs -I{} echo "<{}>" | xargs echo; printf 'x\0y z\0' | xargs -0 -n1 echo; }
arithmetic() { expr 6 \* 7; seq -s, 2 2 8; seq -w 8 10 | paste -sd' '; }
columns() { printf 'a bb c\ndd e f\n' | column -t; printf 'key: value\n' | envsubst; fold -w 3 <<< abcdefg | nl -ba | tr -s ' \t' ' '; }
json() {
  jq -rn '[{name: "a", labels: {tier: "web"}}, {name: "b"}] | map("\(.name)=\(.labels.tier // "none")") | join(",")'
  jq -c 'to_entries | map(select(.value > 1)) | from_entries' <<< '{"a":1,"b":2,"c":3}'
  jq -r '@tsv "\([.x, .y])", (.x | @base64), (.z | fromjson | .deep)' <<< '{"x":"p q","y":2,"z":"{\"deep\":true}"}'
  jq -e '.missing' <<< '{}' > /dev/null || echo "status $?"
  jq -n --arg name web --argjson n 3 '{$name, $n, all: [range($n)]}' | jq -c .
}
yaml() {
  printf 'a:\n  b: [1, 2]\n---\nc: "x"\n' | yq -o json -I0
  yq '.metadata.labels.app = "web" | .spec.replicas' <<< $'metadata: {labels: {}}\nspec: {replicas: 3}'
  yq -r '.list[] | select(. != "b")' <<< 'list: [a, b, c]'
}
environment() { A=1 env | grep '^A='; ( export B=2; printenv B ); timeout 5 echo in-time; which jq > /dev/null && command -v kubectl > /dev/null && echo there; }

for name in sorted counted edited searched dates hashes files arguments arithmetic columns json yaml environment; do
  result::of "$name" "$name"
done
result::apply text
