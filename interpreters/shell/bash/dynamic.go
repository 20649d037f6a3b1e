package bash

import (
	"fmt"
	"strconv"
	"strings"
)

func itoa(n int64) string { return strconv.FormatInt(n, 10) }

// dynamic returns a variable that the shell computes when it is read, or nil.
func (s *Shell) dynamic(name string) *variable {
	text := func(value string) *variable { return &variable{set: true, text: value} }
	array := func(values []string) *variable {
		return &variable{kind: indexed, set: len(values) > 0, list: listOf(values)}
	}
	switch name {
	case "RANDOM":
		return text(itoa(int64(s.world.Random() >> 49)))
	case "SRANDOM":
		return text(itoa(int64(s.world.Random() >> 32)))
	case "SECONDS":
		return text(itoa(s.seconds + int64(s.world.Now().Sub(s.world.started).Seconds())))
	case "EPOCHSECONDS":
		return text(itoa(s.world.Now().Unix()))
	case "EPOCHREALTIME":
		now := s.world.Now()
		return text(fmt.Sprintf("%d.%06d", now.Unix(), now.Nanosecond()/1000))
	case "LINENO":
		return text(strconv.Itoa(s.line))
	case "BASHPID":
		return text(strconv.Itoa(s.pid))
	case "PPID":
		return text("1")
	case "UID", "EUID":
		return text("0")
	case "BASH_SUBSHELL":
		return text(strconv.Itoa(s.level))
	case "BASH_COMMAND":
		return text(s.commandText())
	case "_":
		return text(s.last)
	case "SHELLOPTS":
		return text(strings.Join(s.optionNames(), ":"))
	case "PIPESTATUS":
		values := make([]string, len(s.pipes))
		for i, status := range s.pipes {
			values[i] = strconv.Itoa(status)
		}
		return array(values)
	case "FUNCNAME", "BASH_SOURCE", "BASH_LINENO":
		return array(s.stack(name))
	case "GROUPS":
		return array([]string{"0"})
	case "DIRSTACK":
		return array(append([]string{s.dir}, s.dirs...))
	}
	return nil
}

// setDynamic handles the assignment to a dynamic variable. It says whether the name is one.
func (s *Shell) setDynamic(name, value string) bool {
	switch name {
	case "RANDOM":
		seed, _ := strconv.ParseInt(value, 10, 64)
		s.world.random.Store(uint64(seed))
	case "SECONDS":
		seconds, _ := strconv.ParseInt(value, 10, 64)
		s.seconds = seconds - int64(s.world.Now().Sub(s.world.started).Seconds())
	case "OPTIND":
		s.getoptsIn = 0
		return false
	case "_", "LINENO", "FUNCNAME", "BASH_SOURCE", "BASH_LINENO", "PIPESTATUS", "BASHPID", "BASH_COMMAND", "GROUPS",
		"EPOCHSECONDS", "EPOCHREALTIME", "SRANDOM", "DIRSTACK", "BASH_SUBSHELL":
	default:
		return false
	}
	return true
}

// stack lists the calls, the innermost first.
func (s *Shell) stack(name string) []string {
	var values []string
	calls := false
	for i := len(s.frames) - 1; i >= 0; i-- {
		f := s.frames[i]
		calls = calls || f.function != "source"
		switch name {
		case "FUNCNAME":
			values = append(values, f.function)
		case "BASH_SOURCE":
			values = append(values, f.source)
		case "BASH_LINENO":
			values = append(values, strconv.Itoa(f.line))
		}
	}
	switch name {
	case "FUNCNAME":
		if !calls {
			return nil
		}
		return append(values, "main")
	case "BASH_SOURCE":
		return append(values, s.arg0)
	}
	return append(values, "0")
}

// special returns the value of a parameter with a sign or a digit.
func (s *Shell) special(name string) (string, bool) {
	switch name {
	case "?":
		return strconv.Itoa(s.status), true
	case "#":
		return strconv.Itoa(len(s.params)), true
	case "$":
		return strconv.Itoa(s.processID), true
	case "!":
		if s.lastJob == 0 {
			return "", false
		}
		return strconv.Itoa(s.lastJob), true
	case "-":
		return s.optionLetters(), true
	case "0":
		return s.arg0, true
	}
	if n, ok := parseDescriptor(name); ok {
		if n >= 1 && n <= len(s.params) {
			return s.params[n-1], true
		}
	}
	return "", false
}

func isSpecial(name string) bool {
	if name == "" || strings.ContainsAny(name[:1], "?#$!-@*") {
		return true
	}
	return name[0] >= '0' && name[0] <= '9'
}
