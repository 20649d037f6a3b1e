package bash

import (
	"fmt"
	"slices"
	"sort"
	"strings"
)

// optionsByName are those of `set -o`. An option without a field is accepted where it changes nothing for a hook.
func (s *Shell) optionField(name string) (field *bool, known bool) {
	o := &s.options
	switch name {
	case "errexit":
		return &o.errexit, true
	case "nounset":
		return &o.nounset, true
	case "pipefail":
		return &o.pipefail, true
	case "errtrace":
		return &o.errtrace, true
	case "functrace":
		return &o.functrace, true
	case "noglob":
		return &o.noglob, true
	case "noclobber":
		return &o.noclobber, true
	case "allexport":
		return &o.allexport, true
	case "xtrace":
		return &o.xtrace, true
	case "posix":
		return &o.posix, true
	case "monitor":
		return &o.monitor, true
	case "braceexpand", "hashall", "interactive-comments", "histexpand", "history", "emacs", "vi", "notify",
		"nolog", "physical", "ignoreeof":
		return nil, true
	}
	return nil, false
}

var letterNames = map[byte]string{
	'e': "errexit", 'u': "nounset", 'E': "errtrace", 'T': "functrace", 'f': "noglob", 'C': "noclobber", 'a': "allexport",
	'x': "xtrace", 'm': "monitor", 'h': "hashall", 'B': "braceexpand", 'H': "histexpand", 'b': "notify", 'P': "physical",
}

func (s *Shell) setOption(name string, on bool) bool {
	field, known := s.optionField(name)
	if field != nil {
		*field = on
	}
	return known
}

func (s *Shell) setLetter(letter byte, on bool) bool {
	name, ok := letterNames[letter]
	return ok && s.setOption(name, on)
}

// option says whether an option is on, and whether there is one.
func (s *Shell) option(name string) (on, known bool) {
	field, known := s.optionField(name)
	if field != nil {
		return *field, true
	}
	switch name {
	case "braceexpand", "hashall", "interactive-comments":
		return true, true
	}
	return false, known
}

var allOptions = []string{
	"allexport", "braceexpand", "emacs", "errexit", "errtrace", "functrace", "hashall", "histexpand", "history", "ignoreeof",
	"interactive-comments", "keyword", "monitor", "noclobber", "noexec", "noglob", "nolog", "notify", "nounset", "onecmd",
	"physical", "pipefail", "posix", "privileged", "verbose", "vi", "xtrace",
}

func (s *Shell) optionNames() []string {
	var names []string
	for _, name := range allOptions {
		if on, _ := s.option(name); on {
			names = append(names, name)
		}
	}
	return names
}

// optionLetters is $-.
func (s *Shell) optionLetters() string {
	letters := ""
	for _, letter := range []byte("aefhmuxBCET") {
		if on, _ := s.option(letterNames[letter]); on {
			letters += string(letter)
		}
	}
	return letters
}

// setBuiltin runs set.
func setBuiltin(s *Shell, args []string) error {
	args = args[1:]
	s.status = 0
	if len(args) == 0 {
		for _, name := range s.namesWith("") {
			if v := s.variable(name); v.kind == scalar && v.set {
				fmt.Fprintf(s.fds[1], "%s=%s\n", name, quoteIfNeeded(v.text))
			}
		}
		return nil
	}
	for len(args) > 0 {
		arg := args[0]
		if arg == "--" {
			s.params, s.paramsSet = args[1:], true
			return nil
		}
		if arg == "-" {
			s.options.xtrace = false
			if len(args) > 1 {
				s.params, s.paramsSet = args[1:], true
			}
			return nil
		}
		if len(arg) < 2 || arg[0] != '-' && arg[0] != '+' {
			break
		}
		args = args[1:]
		on := arg[0] == '-'
		for i := 1; i < len(arg); i++ {
			if arg[i] != 'o' {
				if !s.setLetter(arg[i], on) {
					if strings.IndexByte("kprntv", arg[i]) >= 0 {
						if on {
							s.refuse(noLetter, arg[i])
						}
						continue
					}
					s.complain("set: -%c: invalid option", arg[i])
					s.status = 2
					return nil
				}
				continue
			}
			if len(args) == 0 {
				s.printOptions(on)
				return nil
			}
			if !s.setOption(args[0], on) {
				if slices.Contains(allOptions, args[0]) {
					if on {
						s.refuse(noOption, args[0])
					}
					args = args[1:]
					continue
				}
				s.complain("set: %s: invalid option name", args[0])
				s.status = 2
				return nil
			}
			args = args[1:]
		}
		if len(args) == 0 {
			return nil
		}
	}
	s.params, s.paramsSet = args, true
	return nil
}

func (s *Shell) printOptions(table bool) {
	for _, name := range allOptions {
		on, _ := s.option(name)
		if table {
			fmt.Fprintf(s.fds[1], "%-15s\t%s\n", name, map[bool]string{true: "on", false: "off"}[on])
		} else {
			fmt.Fprintf(s.fds[1], "set %so %s\n", map[bool]string{true: "-", false: "+"}[on], name)
		}
	}
}

// The options of shopt that are on in a script.
var defaultShopt = []string{
	"checkwinsize", "cmdhist", "complete_fullquote", "extquote", "force_fignore", "globasciiranges", "globskipdots",
	"hostcomplete", "interactive_comments", "patsub_replacement", "progcomp", "promptvars", "sourcepath",
}

// knownShopt are the options that a script can set. Those that would change what the script does in a way that is not
// built here are refused.
var knownShopt = map[string]bool{
	"checkwinsize": true, "cmdhist": true, "complete_fullquote": true, "extquote": true, "force_fignore": true,
	"globasciiranges": true, "globskipdots": true, "hostcomplete": true, "interactive_comments": true,
	"patsub_replacement": true, "progcomp": true, "promptvars": true, "sourcepath": true, "dotglob": true, "extglob": true,
	"failglob": true, "globstar": true, "inherit_errexit": true, "lastpipe": true, "nocaseglob": true, "nocasematch": true,
	"nullglob": true, "localvar_inherit": true, "huponexit": true, "checkjobs": true, "histappend": true, "autocd": true,
	"cdspell": true, "direxpand": true, "dirspell": true, "execfail": true, "no_empty_cmd_completion": true,
	"xpg_echo": true, "shift_verbose": true, "login_shell": true, "restricted_shell": true, "lithist": true, "mailwarn": true,
}

// refusedShopt are the other options of bash 5.2. They are off.
var refusedShopt = map[string]bool{
	"assoc_expand_once": true, "cdable_vars": true, "checkhash": true, "compat31": true, "compat32": true, "compat40": true, "compat41": true,
	"compat42": true, "compat43": true, "compat44": true, "expand_aliases": true, "extdebug": true, "gnu_errfmt": true, "histreedit": true,
	"histverify": true, "localvar_unset": true, "noexpand_translation": true, "progcomp_alias": true,
	"varredir_close": true,
}

func (s *Shell) setShopt(name string, on bool) bool {
	if !knownShopt[name] {
		return false
	}
	s.extra[name] = on
	return true
}

// shoptBuiltin runs shopt.
func shoptBuiltin(s *Shell, args []string) error {
	var set, unset, quiet, print, names bool
	args = args[1:]
	for len(args) > 0 && strings.HasPrefix(args[0], "-") {
		for _, c := range args[0][1:] {
			switch c {
			case 's':
				set = true
			case 'u':
				unset = true
			case 'q':
				quiet = true
			case 'p':
				print = true
			case 'o':
				names = true
			default:
				s.complain("shopt: -%c: invalid option", c)
				s.status = 2
				return nil
			}
		}
		args = args[1:]
	}
	s.status = 0
	get := func(name string) (bool, bool) {
		if names {
			return s.option(name)
		}
		return s.extra[name], knownShopt[name]
	}
	if len(args) == 0 {
		list := make([]string, 0, len(knownShopt))
		for name := range knownShopt {
			list = append(list, name)
		}
		if names {
			list = allOptions
		}
		sort.Strings(list)
		for _, name := range list {
			if on, _ := get(name); (!set || on) && (!unset || !on) && !quiet {
				s.printShopt(name, on, print, names)
			}
		}
		return nil
	}
	for _, name := range args {
		on, known := get(name)
		switch {
		case !known && !names && refusedShopt[name]:
			switch {
			case set:
				s.refuse(noShopt, name)
			case !unset:
				if !quiet {
					s.printShopt(name, false, print, names)
				}
				s.status = 1
			}
		case !known && names && slices.Contains(allOptions, name):
			switch {
			case set:
				s.refuse(noOption, name)
			case !unset:
				if !quiet {
					s.printShopt(name, false, print, names)
				}
				s.status = 1
			}
		case !known:
			s.complain("shopt: %s: invalid shell option name", name)
			s.status = 1
		case set || unset:
			if names {
				s.setOption(name, set)
			} else {
				s.extra[name] = set
			}
		default:
			if !quiet {
				s.printShopt(name, on, print, names)
			}
			if !on {
				s.status = 1
			}
		}
	}
	return nil
}

func (s *Shell) printShopt(name string, on, asCommand, isOption bool) {
	if asCommand && isOption {
		fmt.Fprintf(s.fds[1], "set %so %s\n", map[bool]string{true: "-", false: "+"}[on], name)
		return
	}
	if asCommand {
		fmt.Fprintf(s.fds[1], "shopt %s %s\n", map[bool]string{true: "-s", false: "-u"}[on], name)
		return
	}
	fmt.Fprintf(s.fds[1], "%-15s\t%s\n", name, map[bool]string{true: "on", false: "off"}[on])
}
