package bash

import (
	"fmt"
	"os"
	"sort"
	"strconv"
	"strings"
)

func fileMode(n uint64) os.FileMode { return os.FileMode(n) }

// ignoredSignals do nothing where they have no trap.
var ignoredSignals = map[string]bool{"CHLD": true, "CONT": true, "URG": true, "WINCH": true}

// unsupportedTraps would run after each command.
var unsupportedTraps = map[string]bool{"DEBUG": true, "CHLD": true, "SIGCHLD": true}

// signalSelf is what a signal does that a shell sends itself.
func (s *Shell) signalSelf(number int) error {
	name := signalName(number)
	action, trapped := s.traps[name]
	switch {
	case number == 0, trapped && action == "", !trapped && ignoredSignals[name]:
		return nil
	case trapped && number != 9 && number != 19:
		// The trap is not a part of a condition in which the signal came.
		quiet, lenient := s.quiet, s.lenient
		s.quiet, s.lenient = 0, 0
		err := s.runTrap(action)
		s.quiet, s.lenient = quiet, lenient
		return err
	case number == 19 || name == "TSTP" || name == "TTIN" || name == "TTOU":
		return &shellError{text: "kill: a hook cannot stop itself: use exit", status: 2}
	case number == 9:
		delete(s.traps, "EXIT")
	}
	s.signaled = 128 + number
	return exitFlow{s.status}
}

// trapBuiltin runs trap. Only a hook itself can send it a signal.
func trapBuiltin(s *Shell, args []string) error {
	args = args[1:]
	s.status = 0
	print := false
	for len(args) > 0 && len(args[0]) > 1 && args[0][0] == '-' {
		switch args[0] {
		case "-p":
			print = true
		case "-l":
			return s.usage(2, "trap: -l is not supported")
		case "--":
		default:
			return s.usage(2, "trap: %s: invalid option", args[0])
		}
		args = args[1:]
	}
	if print || len(args) == 0 {
		s.printTraps(args)
		return nil
	}
	action := args[0]
	names := args[1:]
	if len(names) == 0 {
		// One operand resets a signal.
		if _, ok := trapName(action); !ok {
			return s.usage(2, "trap: usage: trap [-lp] [[arg] signal_spec ...]")
		}
		names, action = args, "-"
	}
	if _, err := strconv.Atoi(action); err == nil {
		names, action = args, "-"
	}
	s.parentTraps = nil
	for _, name := range names {
		event, ok := trapName(name)
		if !ok {
			s.complain("trap: %s: invalid signal specification", name)
			s.status = 1
			continue
		}
		if action == "-" {
			delete(s.traps, event)
			s.inbox.setTrap(event, "", false)
			continue
		}
		if unsupportedTraps[event] && action != "" {
			s.refuse(noTrap, event)
		}
		s.traps[event] = action
		s.inbox.setTrap(event, action, true)
	}
	return nil
}

// trapName is the name of a condition, without SIG.
func trapName(name string) (string, bool) {
	upper := strings.TrimPrefix(strings.ToUpper(name), "SIG")
	switch upper {
	case "EXIT", "0":
		return "EXIT", true
	case "ERR", "DEBUG", "RETURN":
		return upper, true
	}
	if n, err := strconv.Atoi(upper); err == nil {
		for signal, number := range signals {
			if number == n {
				return signal, true
			}
		}
		return "", false
	}
	_, ok := signals[upper]
	return upper, ok
}

func (s *Shell) printTraps(only []string) {
	wanted := map[string]bool{}
	for _, name := range only {
		if event, ok := trapName(name); ok {
			wanted[event] = true
		} else {
			s.complain("trap: %s: invalid signal specification", name)
			s.status = 1
		}
	}
	order := func(event string) int {
		switch event {
		case "EXIT":
			return 0
		case "DEBUG":
			return 100
		case "ERR":
			return 101
		case "RETURN":
			return 102
		}
		return signals[event]
	}
	traps := s.traps
	if s.parentTraps != nil {
		traps = s.parentTraps
	}
	events := make([]string, 0, len(traps))
	for event := range traps {
		if len(only) == 0 || wanted[event] {
			events = append(events, event)
		}
	}
	sort.Slice(events, func(i, j int) bool { return order(events[i]) < order(events[j]) })
	for _, event := range events {
		name := event
		if order(event) > 0 && order(event) < 100 {
			name = "SIG" + event
		}
		fmt.Fprintf(s.fds[1], "trap -- %s %s\n", quoteAlways(traps[event]), name)
	}
}
