//go:build unix

package differential

import (
	"os/exec"
	"syscall"
)

// runAlone runs a command. What the command starts ends with it, however much that is.
func runAlone(command *exec.Cmd) error {
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	end := func() error { return syscall.Kill(-command.Process.Pid, syscall.SIGKILL) }
	command.Cancel = end
	err := command.Run()
	if command.Process != nil {
		_ = end()
	}
	return err
}
