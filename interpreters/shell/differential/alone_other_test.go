//go:build !unix

package differential

import "os/exec"

// runAlone runs a command, where there are no groups of processes. Only vet compiles this.
func runAlone(command *exec.Cmd) error { return command.Run() }
