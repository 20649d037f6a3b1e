// Package commands has the programs that scripts call: those of coreutils that hooks use, sed, awk, grep, jq and others.
//
// Each is a function of a process of package bash. A program or an option that is not here is refused by name; it never
// does something else.
package commands

import "github.com/boathook/boathook/interpreters/shell/bash"

// Register makes all commands known in a world.
func Register(w *bash.World) {
	for name, command := range all {
		w.Commands[name] = command
	}
}

var all = map[string]bash.Command{}
