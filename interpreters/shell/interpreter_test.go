package main

import (
	"strings"
	"testing"
)

type files map[string]string

func (files) entry() string { return "hook.sh" }

func (f files) read(p string) ([]byte, bool) {
	text, ok := f[p]
	return []byte(text), ok
}

func TestDescribeReadsTheFilesOfTheHook(t *testing.T) {
	document, err := describe(files{"hook.sh": "source common/f.sh\n[[ $1 == --config ]] && config\n", "common/f.sh": "config() { echo 'configVersion: v1'; }\n", hookFiles: "common/f.sh\n"})
	if err != nil || document != "configVersion: v1\n" {
		t.Errorf("%q %v", document, err)
	}
	if _, err := describe(files{"hook.sh": "frob\n"}); err == nil || !strings.Contains(err.Error(), "/hooks/hook.sh:1: frob:") {
		t.Error(err)
	}
}
