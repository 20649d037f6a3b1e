package bash

import "fmt"

// What is refused. A hook is refused when it is loaded, and a run at the place if that was not known then: in a function that nothing
// seemed to call, or in code that a script makes.
const (
	noCoproc          = "coproc is not supported: use a pipe or a file"
	noSelect          = "select needs a terminal, which a hook does not have"
	noCommandInBraces = "${ command; } is not a part of bash 5.2: use $(command)"
	noPrompt          = "${%s@P} is not supported: a hook has no prompt"
	noParameters      = "${%s@A} is not supported: write set -- \"${@@Q}\""
	noSlash           = "a pattern that begins with a slash is not supported: write \\/"
	noTrap            = "trap %s is not supported: remove it"
	noTerminal        = "%s: a hook has no terminal"
	noOption          = "set -o %s is not supported: remove it"
	noLetter          = "set -%c is not supported: remove it"
	noShopt           = "shopt -s %s is not supported: remove it"
)

// forTerminals are builtins that are of use for a person at a terminal.
var forTerminals = map[string]bool{
	"bind": true, "compgen": true, "compopt": true, "fc": true, "fg": true, "bg": true, "suspend": true, "logout": true, "help": true,
}

// refusal ends a run that reaches what is refused, or in which bash would do something that no script can want.
type refusal struct{ where, what string }

func (e *refusal) Error() string { return e.where + ": " + e.what }

// refuse ends the run here. A script cannot ignore it, because it would do something else than bash then.
func (s *Shell) refuse(format string, args ...any) {
	s.world.die(&refusal{s.where(), fmt.Sprintf(format, args...)})
}

func terminalBuiltin(s *Shell, args []string) error {
	s.refuse(noTerminal, args[0])
	return nil
}
