package main

import (
	"context"
	"runtime/debug"

	"github.com/boathook/boathook/interpreters/shell/shellop"
)

// warming is a hook that uses what most hooks use, so that what is made at the first use is in the snapshot.
const warming = `#!/usr/bin/env bash
source /shell_lib.sh
__config__() {
  cat <<EOF
configVersion: v1
kubernetes:
- {name: pods, kind: Pod, jqFilter: .metadata.labels}
EOF
}
__on_kubernetes::pods() {
  local names=() name
  for name in $(context::jq -r '.objects[]?.object.metadata | select(.labels.app == "a") | .name // "none"' | sort -u); do
    names+=("${name%%-*}")
  done
  if [[ "${names[*]:-}" =~ ^a ]]; then
    printf '%s\n' "${names[@]}" | sed -e 's/a/b/' | grep -c . || true
  fi
  jq -n --arg name a '{operation: "MergePatch", apiVersion: "v1", kind: "Pod", name: $name, mergePatch: {metadata: {labels: {a: "b"}}}}' > $KUBERNETES_PATCH_PATH
  cat >> $KUBERNETES_PATCH_PATH <<EOF
{"operation": "Delete", "kind": "Pod", "name": "$(echo a | tr a-z A-Z)"}
EOF
}
hook::run "$@"
`

// start runs once, when the interpreter is built. Every run begins with the memory that it leaves.
//
//go:wasmexport start-once
func start() {
	// What is collected early needs no more memory.
	debug.SetGCPercent(10)
	warm()
	sizes := sizesOf(warm)
	if err := shellop.Prepare(); err != nil {
		panic(err)
	}
	settle(sizes)
	// Most runs are over before a collection would help. A run that needs more stays below the usual limit of 64 MiB.
	debug.SetGCPercent(300)
	debug.SetMemoryLimit(44 << 20)
}

// warm is a run, without a host.
func warm() {
	script, err := loadScript(warmed{})
	if err != nil {
		panic(err)
	}
	options := shellop.DefaultOptions()
	options.Seed = seed()
	if _, err := script.hook.Describe(context.Background(), options); err != nil {
		panic(err)
	}
	pod := shellop.Item{Object: `{"metadata":{"name":"a-1","labels":{"app":"a"}}}`}
	contexts := []shellop.Context{{Binding: "pods", Type: "Synchronization", Objects: []shellop.Item{pod}}}
	if _, err := script.hook.Run(context.Background(), contexts, options); err != nil {
		panic(err)
	}
}

// warmed is the source of the hook that warms.
type warmed struct{}

func (warmed) entry() string { return "warm.sh" }

func (warmed) files() []string { return []string{"warm.sh"} }

func (warmed) read(string) ([]byte, bool) { return []byte(warming), true }

func (warmed) compiled() []byte {
	return []byte(`{"includes":{"pods":["pods"]},"rules":{"pods":[["v1","v2"]]}}`)
}
