package bash

import (
	"fmt"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// simple runs a command of assignments, words and redirections.
func (s *Shell) simple(c *syntax.CallExpr, redirects []*syntax.Redirect) error {
	cleanups := len(s.cleanups)
	defer s.cleanup(cleanups)
	s.substatus = 0
	args, err := s.fields(c.Args)
	if err != nil {
		return s.expansionFailed(err)
	}
	if s.over != 0 {
		return s.ended()
	}
	if len(args) == 0 {
		return s.assignmentsOnly(c, redirects)
	}
	if s.options.xtrace {
		s.trace(traceText(args))
	}
	saved, err := s.redirect(redirects)
	if err != nil {
		saved.restore()
		if e, ok := err.(*shellError); ok && s.functions[args[0]] == nil && s.builtin(args[0]) == nil {
			// bash has already started the process for the command, and only that ends.
			s.report(e)
			s.status, s.pipes = 1, []int{1}
			return nil
		}
		if err := s.redirectFailed(err); err != nil {
			return err
		}
		s.pipes = []int{s.status}
		return nil
	}
	if args[0] == "exec" && s.functions["exec"] == nil {
		return s.exec(c, args, saved)
	}
	// What a process substitution still writes goes where the command's output goes.
	defer saved.restore()
	outermost := s.outermost
	s.outermost = outermost || len(redirects) > 0
	err = s.ending(s.call(args, c.Assigns))
	s.outermost = outermost
	saved.restore()
	if flow, ok := err.(exitFlow); ok && !outermost && s.signaled == 0 {
		err = s.exitFailed(flow.status)
	}
	if len(args) > 0 {
		s.last = args[len(args)-1]
	}
	s.pipes = []int{s.status}
	return err
}

// assignmentsOnly runs `a=1 b=2 >file`. Its status is that of the last command substitution.
func (s *Shell) assignmentsOnly(c *syntax.CallExpr, redirects []*syntax.Redirect) error {
	saved, err := s.redirect(redirects)
	saved.restore()
	if err != nil {
		err = s.redirectFailed(err)
		s.pipes = []int{s.status}
		return err
	}
	for _, a := range c.Assigns {
		if err := s.assign(a, nil); err != nil {
			return s.expansionFailed(s.assignFailed(err))
		}
	}
	if s.options.xtrace {
		s.trace(s.code.slice(c.Pos(), c.End()))
	}
	s.status = s.substatus
	s.last = ""
	s.pipes = []int{s.status}
	return nil
}

// expansionFailed handles a simple command whose words cannot be expanded. If the command is a process of its own, which is a part of
// a pipe or runs in the background, bash has not reset the traps of that process, and the EXIT trap of its parent runs. bash has undone the
// redirections around the command then, which are those of the parent, too.
func (s *Shell) expansionFailed(err error) error {
	if _, ok := err.(*shellError); ok && s.forked != nil && s.current == s.forked && s.traps["EXIT"] == "" {
		if s.parentExit != "" {
			s.traps["EXIT"] = s.parentExit
			err = s.say(err)
			for number, d := range s.outsides {
				if d != nil {
					s.replace(number, d)
				} else if open := s.fds[number]; open != nil {
					open.close()
					delete(s.fds, number)
				}
			}
			s.outsides = nil
			if _, has := s.traps["ERR"]; !has && s.parentErr != "" {
				s.traps["ERR"] = s.parentErr
			}
		}
	}
	return err
}

// assignFailed discards the line of an assignment to a readonly variable.
func (s *Shell) assignFailed(err error) error {
	if _, ok := err.(*readonlyError); !ok {
		return err
	}
	s.severe("%s", err)
	s.status = 1
	return &shellError{text: err.Error(), status: 1, discards: true, said: true}
}

// call runs a command with words that are expanded: a function, a builtin or a program.
func (s *Shell) call(args []string, assigns []*syntax.Assign) error {
	name := args[0]
	f := s.functions[name]
	if len(assigns) > 0 {
		if err := s.pushAssigns(assigns); err != nil {
			return s.assignFailed(err)
		}
		s.scopes[len(s.scopes)-1].passing = f == nil && !keepsAssignments[name]
		defer s.popScope()
	}
	if f != nil {
		return s.callFunction(f, args)
	}
	if b := s.builtin(name); b != nil {
		s.forkedBuiltin = s.forkedBuiltin || s.isForked()
		return b(s, args)
	}
	s.status = s.execute(args, s.environment())
	return nil
}

// keepsAssignments are the builtins that also change the variables which are set before them.
var keepsAssignments = map[string]bool{"eval": true, "source": true, ".": true, "unset": true, "mapfile": true, "readarray": true, "read": true, "command": true, "builtin": true}

// pushAssigns makes the assignments before a command, in a scope of their own.
func (s *Shell) pushAssigns(assigns []*syntax.Assign) error {
	in := &scope{names: map[string]*variable{}}
	s.scopes = append(s.scopes, in)
	if err := s.assignBefore(in, assigns); err != nil {
		s.popScope()
		return err
	}
	return nil
}

// assignBefore assigns one after the other. Each value sees those before it.
func (s *Shell) assignBefore(in *scope, assigns []*syntax.Assign) error {
	for _, a := range assigns {
		if a.Array != nil || a.Index != nil {
			return &shellError{text: a.Name.Value + ": an array cannot be assigned for one command", status: 1}
		}
		value, err := s.assignedWord(a.Value)
		if err != nil {
			return err
		}
		name := a.Name.Value
		old := s.variable(name)
		if old != nil && old.readonly {
			// The command runs without it.
			s.severe("%s", &readonlyError{name})
			if s.over != 0 {
				return s.ended()
			}
			continue
		}
		if a.Append {
			before, _ := old.first()
			value = before + value
		}
		in.names[name] = &variable{set: true, text: value, exported: true, temporary: true}
	}
	return nil
}

func (s *Shell) popScope() {
	last := s.scopes[len(s.scopes)-1]
	if last.options != nil {
		s.options = *last.options
	}
	s.scopes = s.scopes[:len(s.scopes)-1]
	for name, v := range last.names {
		if v.set {
			s.account(name, -v.size()+64)
		}
		if v.lasting && v.set && v.kind == scalar {
			if below, err := s.writable(name); err == nil && s.store(below, name, v.text) == nil {
				below.exported = below.exported || v.exported
			}
		}
	}
}

// callFunction runs a function of the script.
func (s *Shell) callFunction(f *function, args []string) error {
	return s.deeper(func() error {
		params, paramsSet, code, line, loops, negated := s.params, s.paramsSet, s.code, s.line, s.loops, s.negated
		s.negated = nil
		s.params = args[1:]
		s.frames = append(s.frames, frame{f.name, f.source.name, s.line})
		s.scopes = append(s.scopes, &scope{names: map[string]*variable{}, function: true})
		s.code, s.loops = f.source, 0
		trap, trapped := s.traps["ERR"]
		hide := trapped && !s.options.errtrace
		if hide {
			delete(s.traps, "ERR")
		}
		atReturn, returns := s.traps["RETURN"]
		if returns = returns && !s.options.functrace; returns {
			delete(s.traps, "RETURN")
		}
		optIn := s.getoptsIn

		err := s.statement(f.body)
		err = s.returned(err)

		s.getoptsIn = optIn
		if _, changed := s.traps["RETURN"]; returns && !changed {
			s.traps["RETURN"] = atReturn
		}
		if _, changed := s.traps["ERR"]; hide && !changed {
			s.traps["ERR"] = trap
		}
		s.popScope()
		s.frames = s.frames[:len(s.frames)-1]
		s.params, s.paramsSet, s.code, s.line, s.loops, s.negated = params, paramsSet, code, line, loops, negated
		switch flow := err.(type) {
		case returnFlow:
			s.status = flow.status
			return nil
		case breakFlow, continueFlow:
			return nil
		}
		return err
	})
}

// exec replaces the shell by a command, or makes redirections last.
func (s *Shell) exec(c *syntax.CallExpr, args []string, saved *redirection) error {
	rest := args[1:]
	for len(rest) > 0 && strings.HasPrefix(rest[0], "-") {
		switch rest[0] {
		case "--":
			rest = rest[1:]
			continue
		case "-c", "-l", "-cl":
			rest = rest[1:]
			continue
		case "-a":
			if len(rest) > 1 {
				rest = rest[2:]
				continue
			}
		}
		saved.restore()
		s.complain("exec: %s: invalid option", rest[0])
		s.status, s.pipes = 2, []int{2}
		return nil
	}
	if len(rest) == 0 {
		saved.commit()
		// The descriptors of process substitutions stay, too, until the shell ends.
		kept := s.cleanups
		s.cleanups = nil
		s.keepUntilEnd(kept)
		s.status, s.pipes = 0, []int{0}
		for _, a := range c.Assigns {
			if err := s.assign(a, nil); err != nil {
				return s.assignFailed(err)
			}
		}
		return nil
	}
	if len(c.Assigns) > 0 {
		if err := s.pushAssigns(c.Assigns); err != nil {
			return err
		}
		defer s.popScope()
	}
	s.status = s.execute(rest, s.environment())
	saved.restore()
	// A program that replaces the shell has no EXIT trap.
	delete(s.traps, "EXIT")
	return exitFlow{s.status}
}

// keepUntilEnd keeps functions for the end of the shell, where closeAll calls them.
func (s *Shell) keepUntilEnd(list []func()) { s.cleanups = append(list, s.cleanups...) }

// trace prints a command, for set -x.
func (s *Shell) trace(text string) {
	if d := s.fds[2]; d != nil {
		fmt.Fprintf(d, "%s%s\n", s.text("PS4"), text)
	}
}

func traceText(args []string) string {
	quoted := make([]string, len(args))
	for i, arg := range args {
		quoted[i] = quoteIfNeeded(arg)
	}
	return strings.Join(quoted, " ")
}
