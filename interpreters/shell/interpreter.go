package main

import (
	"context"
	"strings"
	"time"

	"github.com/boathook/boathook/interpreters/shell/shellop"
)

// source gives the files of the script that the host loaded.
type source interface {
	entry() string
	read(path string) ([]byte, bool)
}

// hookFiles is the file in which the packer lists the other files of a hook, one path in a line. The interface of the
// host reads files by name, and a script can find files by patterns.
const hookFiles = ".boathook/files"

// load collects the files of the hook, below /hooks.
func load(from source) *shellop.Hook {
	absolute := func(p string) string {
		if strings.HasPrefix(p, "/") {
			return p
		}
		return "/hooks/" + p
	}
	entry := from.entry()
	hook := &shellop.Hook{Entry: absolute(entry), Files: map[string][]byte{}}
	paths := []string{entry}
	if list, ok := from.read(hookFiles); ok {
		paths = append(paths, strings.Fields(string(list))...)
	}
	for _, p := range paths {
		if text, ok := from.read(p); ok {
			hook.Files[absolute(p)] = text
		}
	}
	return hook
}

// describe is the export of the interpreter: the document of the script, or why it cannot run.
func describe(from source) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	return load(from).Describe(ctx, shellop.DefaultOptions())
}
