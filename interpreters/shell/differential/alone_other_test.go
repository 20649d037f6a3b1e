//go:build !unix

package differential

import (
	"errors"
	"os/exec"
)

var errTooManyProcesses = errors.New("the command has too many processes at the same time")

// runAlone runs a command, where there are no groups of processes. Only vet compiles this.
func runAlone(command *exec.Cmd) (out, errs string, err error) {
	text, err := command.Output()
	return string(text), "", err
}

func canLimitProcesses() error {
	return errors.New("the processes of a script cannot be limited")
}
