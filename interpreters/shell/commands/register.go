// Package commands has the programs that scripts call: those of coreutils that hooks use, sed, awk, grep, jq and others.
//
// Each is a function of a process of package bash. A program or an option that is not here is refused by name; it never
// does something else.
package commands

import (
	"maps"

	"github.com/boathook/boathook/interpreters/shell/bash"
)

// Register makes all commands known in a world that has none yet.
func Register(w *bash.World) { w.Commands = maps.Clone(all) }

var all = map[string]bash.Command{}
