package bash

import (
	"fmt"
	"path"
	"sort"
	"strconv"
	"strings"

	"github.com/boathook/boathook/interpreters/shell/fs"

	"mvdan.cc/sh/v3/syntax"
)

// builtinFunc is a command of the shell itself. It sets the status.
type builtinFunc func(*Shell, []string) error

// builtin finds a builtin by name.
func (s *Shell) builtin(name string) builtinFunc { return builtins[name] }

// builtins is filled at the start, because builtins call others.
var builtins map[string]builtinFunc

func init() {
	builtins = map[string]builtinFunc{
		":": trueBuiltin, "true": trueBuiltin, "false": falseBuiltin, "echo": echoBuiltin, "printf": printfBuiltin,
		"test": testCommand, "[": testCommand, "set": setBuiltin, "shopt": shoptBuiltin, "cd": cdBuiltin, "pwd": pwdBuiltin,
		"exit": exitBuiltin, "return": returnBuiltin, "break": breakBuiltin, "continue": breakBuiltin, "shift": shiftBuiltin,
		"eval": evalBuiltin, "source": sourceBuiltin, ".": sourceBuiltin, "unset": unsetBuiltin, "trap": trapBuiltin,
		"read": readBuiltin, "mapfile": mapfileBuiltin, "readarray": mapfileBuiltin, "getopts": getoptsBuiltin, "let": letBuiltin,
		"command": commandBuiltin, "builtin": builtinBuiltin, "type": typeBuiltin, "hash": hashBuiltin, "wait": waitBuiltin,
		"kill": killBuiltin, "jobs": jobsBuiltin, "caller": callerBuiltin, "umask": umaskBuiltin, "times": timesBuiltin,
		"pushd": pushdBuiltin, "popd": popdBuiltin, "dirs": dirsBuiltin, "alias": aliasBuiltin, "unalias": trueBuiltin,
		"declare": declareBuiltin, "typeset": declareBuiltin, "local": declareBuiltin, "export": declareBuiltin,
		"readonly": declareBuiltin, "exec": execBuiltin, "ulimit": ulimitBuiltin, "enable": trueBuiltin, "disown": trueBuiltin,
		"complete": trueBuiltin, "history": trueBuiltin,
	}
	for name := range forTerminals {
		builtins[name] = terminalBuiltin
	}
}

// Builtins lists the names of the builtins.
func Builtins() []string {
	names := make([]string, 0, len(builtins))
	for name := range builtins {
		names = append(names, name)
	}
	sort.Strings(names)
	return names
}

func (s *Shell) done(status int) error { s.status = status; return nil }

func trueBuiltin(s *Shell, _ []string) error  { return s.done(0) }
func falseBuiltin(s *Shell, _ []string) error { return s.done(1) }

// usage reports a wrong use of a builtin.
func (s *Shell) usage(status int, format string, args ...any) error {
	s.complain(format, args...)
	return s.done(status)
}

// print writes the output of a builtin, and reports a descriptor that is closed.
func (s *Shell) print(name, text string) error {
	if text == "" {
		return s.done(0)
	}
	if _, err := s.fds[1].Write([]byte(text)); err != nil {
		return s.usage(1, "%s: write error: %s", name, reason(err))
	}
	return s.done(0)
}

func echoBuiltin(s *Shell, args []string) error {
	args = args[1:]
	newline, escapes := true, s.extra["xpg_echo"]
options:
	for len(args) > 0 && len(args[0]) > 1 && args[0][0] == '-' {
		for _, c := range args[0][1:] {
			if c != 'n' && c != 'e' && c != 'E' {
				break options
			}
		}
		for _, c := range args[0][1:] {
			switch c {
			case 'n':
				newline = false
			case 'e':
				escapes = true
			case 'E':
				escapes = false
			}
		}
		args = args[1:]
	}
	text := strings.Join(args, " ")
	if escapes {
		var stop bool
		if text, stop = EchoEscapes(text); stop {
			newline = false
		}
	}
	if newline {
		text += "\n"
	}
	return s.print("echo", text)
}

// EchoEscapes decodes the escapes of echo -e and of printf's %b. It says whether \c ended the output.
func EchoEscapes(text string) (decoded string, stop bool) {
	if !strings.Contains(text, `\`) {
		return text, false
	}
	var out strings.Builder
	for i := 0; i < len(text); i++ {
		if text[i] != '\\' || i+1 == len(text) {
			out.WriteByte(text[i])
			continue
		}
		switch c := text[i+1]; {
		case c == 'c':
			return out.String(), true
		case c == '0':
			n, size := digits(text[i+2:], 8, 3)
			out.WriteByte(byte(n))
			i += 1 + size
			continue
		case c == '\'' || c == '"' || c == '?' || c >= '1' && c <= '7':
			// These are escapes of $'…' only.
			out.WriteByte('\\')
			continue
		}
		one, size, ok := escape(text[i+1:])
		if !ok {
			out.WriteByte('\\')
			continue
		}
		out.WriteString(one)
		i += size
	}
	return out.String(), false
}

func cdBuiltin(s *Shell, args []string) error {
	args = args[1:]
	for len(args) > 0 && (args[0] == "-L" || args[0] == "-P" || args[0] == "-e" || args[0] == "--") {
		args = args[1:]
	}
	if len(args) > 1 {
		return s.usage(1, "cd: too many arguments")
	}
	target := s.text("HOME")
	show := false
	if len(args) == 0 {
		if _, ok := s.get("HOME"); !ok {
			return s.usage(1, "cd: HOME not set")
		}
	} else if target = args[0]; target == "-" {
		old, ok := s.get("OLDPWD")
		if !ok {
			return s.usage(1, "cd: OLDPWD not set")
		}
		target, show = old, true
	}
	if target == "" {
		return s.done(0)
	}
	if err := s.enter(target); err != nil {
		return s.usage(1, "cd: %s: %s", target, reason(err))
	}
	if show {
		return s.print("cd", s.dir+"\n")
	}
	return s.done(0)
}

// enter changes the working directory.
func (s *Shell) enter(target string) error {
	p := path.Clean(s.absolute(target))
	info, err := s.world.FS.Stat(s.absolute(target))
	if err != nil {
		return err
	}
	if !info.IsDir() {
		return fs.NotDir
	}
	s.setText("OLDPWD", s.dir)
	s.dir = p
	return s.setText("PWD", p)
}

func pwdBuiltin(s *Shell, _ []string) error { return s.print("pwd", s.dir+"\n") }

// exitStatus reads the operand of exit and return.
func (s *Shell) exitStatus(args []string) (int, bool) {
	args = args[1:]
	if len(args) > 0 && args[0] == "--" {
		args = args[1:]
	}
	if len(args) == 0 {
		if s.trapStatus != nil {
			return *s.trapStatus, true
		}
		return s.status, true
	}
	n, err := strconv.ParseInt(strings.TrimSpace(args[0]), 10, 64)
	if err != nil {
		return 2, false
	}
	return int(n & 0xff), true
}

func exitBuiltin(s *Shell, args []string) error {
	status, ok := s.exitStatus(args)
	if !ok {
		s.complain("exit: %s: numeric argument required", args[1])
	} else if len(args) > 2 && args[1] != "--" {
		return s.usage(1, "exit: too many arguments")
	}
	s.trapExited = s.inTrap
	return s.exit(status)
}

func returnBuiltin(s *Shell, args []string) error {
	status, ok := s.exitStatus(args)
	if !ok {
		s.complain("return: %s: numeric argument required", args[1])
	}
	if len(args) == 1 && s.returns != nil && s.returns.frames == len(s.frames) {
		status = s.returns.status
	}
	if len(s.frames) == 0 {
		return s.usage(2, "return: can only `return' from a function or sourced script")
	}
	return returnFlow{status}
}

func breakBuiltin(s *Shell, args []string) error {
	levels := 1
	if len(args) > 1 {
		n, err := strconv.Atoi(args[1])
		if err != nil {
			s.complain("%s: %s: numeric argument required", args[0], args[1])
			return exitFlow{128}
		}
		if n < 1 {
			return s.usage(1, "%s: %s: loop count out of range", args[0], args[1])
		}
		levels = n
	}
	s.status = 0
	if s.loops == 0 {
		s.complain("%s: only meaningful in a `for', `while', or `until' loop", args[0])
		return nil
	}
	if args[0] == "break" {
		return breakFlow{levels}
	}
	return continueFlow{levels}
}

func shiftBuiltin(s *Shell, args []string) error {
	n := 1
	if len(args) > 1 {
		var err error
		if n, err = strconv.Atoi(args[1]); err != nil {
			return s.usage(1, "shift: %s: numeric argument required", args[1])
		}
	}
	if n < 0 || n > len(s.params) {
		return s.done(1)
	}
	s.params = s.params[n:]
	return s.done(0)
}

func evalBuiltin(s *Shell, args []string) error {
	args = args[1:]
	if len(args) > 0 && args[0] == "--" {
		args = args[1:]
	} else if len(args) > 0 && len(args[0]) > 1 && args[0][0] == '-' {
		return s.usage(2, "eval: %s: invalid option", args[0][:2])
	}
	text := strings.Join(args, " ")
	source, err := s.parsed(s.codeName(), text, s.line-1)
	if err != nil {
		s.complain("eval: %s", err)
		return s.done(2)
	}
	s.status = 0
	forked := s.isForked()
	err = s.leniently(func() error {
		return s.evaluating(func() error {
			return s.within(source, func() error { return s.lines(source.file.Stmts) })
		})
	})
	if _, returns := err.(returnFlow); returns && forked {
		s.refuse("return in an eval that is a part of a pipe or in the background would run the rest of the command a second time: put the eval between ( and )")
	}
	return err
}

// leniently runs eval, source or command. If the status of that is ignored, errexit is off in it, and there is no ERR trap from outside.
// bash leaves that out where the command is a process of its own.
func (s *Shell) leniently(run func() error) error {
	if s.quiet == 0 || s.isForked() {
		return run()
	}
	s.lenient++
	trap := s.traps["ERR"]
	if trap != "" {
		delete(s.traps, "ERR")
	}
	err := run()
	if trap != "" {
		s.traps["ERR"] = trap
	}
	s.lenient--
	return err
}

// evaluating runs the code of eval, of a sourced file or of a trap. For bash, its commands are not a part of the condition in which it
// runs, except in a command substitution whose status is ignored.
func (s *Shell) evaluating(run func() error) error {
	quiet, active, negated := s.quiet, s.active, s.negated
	s.quiet, s.active, s.negated = 0, nil, nil
	if s.substituting && s.ignoring {
		s.quiet = 1
	}
	err := run()
	s.quiet, s.active, s.negated = quiet, active, negated
	return err
}

// isForked says whether the current command is a process of its own, as a part of a pipe or in the background.
func (s *Shell) isForked() bool { return s.forked != nil && s.current == s.forked }

// within runs code of another source, and comes back.
func (s *Shell) within(source *Source, run func() error) error {
	return s.deeper(func() error {
		code, line, shown, shownIn := s.code, s.line, s.shown, s.shownIn
		s.code = source
		err := run()
		s.code, s.line, s.shown, s.shownIn = code, line, shown, shownIn
		return err
	})
}

func sourceBuiltin(s *Shell, args []string) error {
	name := args[0]
	args = args[1:]
	if len(args) > 0 && args[0] == "--" {
		args = args[1:]
	}
	if len(args) == 0 {
		return s.usage(2, "%s: filename argument required", name)
	}
	text, p, err := s.readSource(args[0])
	if err != nil {
		return s.usage(1, "%s: %s", args[0], reason(err))
	}
	source, err := s.parsed(p, text, 0)
	if err != nil {
		fmt.Fprintln(s.fds[2], err)
		return s.done(2)
	}
	params, paramsSet := s.params, s.paramsSet
	s.paramsSet = false
	if len(args) > 1 {
		s.params = args[1:]
	}
	s.frames = append(s.frames, frame{"source", p, s.line})
	s.status = 0
	err = s.leniently(func() error {
		return s.evaluating(func() error {
			return s.within(source, func() error { return s.lines(source.file.Stmts) })
		})
	})
	s.frames = s.frames[:len(s.frames)-1]
	if len(args) > 1 && (!s.paramsSet || s.inFunction()) {
		s.params = params
	}
	s.paramsSet = s.paramsSet || paramsSet
	err = s.returned(err)
	if flow, ok := err.(returnFlow); ok {
		return s.done(flow.status)
	}
	return err
}

// readSource reads a file for source: a name without a slash is looked up in PATH, then here.
func (s *Shell) readSource(name string) (text, p string, err error) {
	p = name
	if n, ok := descriptorName(name); ok {
		all, err := readAll(s, s.fds[n])
		return all, name, err
	}
	if !strings.Contains(name, "/") {
		for _, dir := range strings.Split(s.text("PATH"), ":") {
			if data, err := s.world.FS.ReadFile(s.absolute(dir + "/" + name)); err == nil {
				return string(data), dir + "/" + name, nil
			}
		}
	}
	data, err := s.world.FS.ReadFile(s.absolute(name))
	return string(data), p, err
}

func readAll(s *Shell, d *descriptor) (string, error) {
	var text strings.Builder
	buffer := make([]byte, 4096)
	for {
		n, err := d.Read(buffer)
		text.Write(buffer[:n])
		s.checkLength(text.Len(), "a file")
		if err != nil {
			if err.Error() == "EOF" {
				err = nil
			}
			return text.String(), err
		}
	}
}

func unsetBuiltin(s *Shell, args []string) error {
	variables, functions := false, false
	args = args[1:]
	for len(args) > 0 && len(args[0]) > 1 && args[0][0] == '-' {
		switch args[0] {
		case "-v":
			variables = true
		case "-f":
			functions = true
		case "-n":
			for _, name := range args[1:] {
				if v, in := s.lookup(name); v != nil {
					delete(in.names, name)
				}
			}
			return s.done(0)
		case "--":
		default:
			return s.usage(2, "unset: %s: invalid option", args[0])
		}
		args = args[1:]
	}
	s.status = 0
	for _, name := range args {
		if functions {
			delete(s.functions, name)
			continue
		}
		base, _, _ := splitSubscript(name)
		if !validName(base) {
			s.complain("unset: `%s': not a valid identifier", name)
			s.status = 1
			continue
		}
		if v := s.variable(base); v == nil && !variables {
			delete(s.functions, name)
			continue
		}
		if err := s.unset(name); err != nil {
			s.complain("unset: %s", err)
			s.status = 1
		}
	}
	return nil
}

func letBuiltin(s *Shell, args []string) error {
	if len(args) < 2 {
		return s.usage(1, "let: expression expected")
	}
	for _, e := range args[1:] {
		n, err := s.arithmetic(e)
		if err != nil {
			return s.arithmeticFailed("let", err)
		}
		s.status = boolStatus(n != 0)
	}
	return nil
}

func commandBuiltin(s *Shell, args []string) error {
	rest := args[1:]
	describe, verbose := false, false
	for len(rest) > 0 && len(rest[0]) > 1 && rest[0][0] == '-' {
		if rest[0] == "--" {
			rest = rest[1:]
			break
		}
		for _, c := range rest[0][1:] {
			switch c {
			case 'v':
				describe = true
			case 'V':
				describe, verbose = true, true
			case 'p':
			default:
				return s.usage(2, "command: -%c: invalid option", c)
			}
		}
		rest = rest[1:]
	}
	if len(rest) == 0 {
		return s.done(0)
	}
	if describe {
		s.status = 1
		for _, name := range rest {
			kind, where := s.kindOf(name)
			switch {
			case kind == "":
				if verbose {
					s.complain("command: %s: not found", name)
				}
			case verbose:
				s.status = 0
				fmt.Fprintln(s.fds[1], describeCommand(name, kind, where))
			default:
				s.status = 0
				if where == "" {
					where = name
				}
				fmt.Fprintln(s.fds[1], where)
			}
		}
		return nil
	}
	if b := s.builtin(rest[0]); b != nil {
		return s.leniently(func() error { return b(s, rest) })
	}
	return s.done(s.execute(rest, s.environment()))
}

var keywords = []string{
	"if", "then", "else", "elif", "fi", "case", "esac", "for", "select", "while", "until", "do", "done", "in", "function", "time",
	"{", "}", "!", "[[", "]]", "coproc",
}

// kindOf says what a name of a command means.
func (s *Shell) kindOf(name string) (kind, where string) {
	for _, keyword := range keywords {
		if name == keyword {
			return "keyword", ""
		}
	}
	switch {
	case s.functions[name] != nil:
		return "function", ""
	case s.builtin(name) != nil:
		return "builtin", ""
	case s.world.command(name) != nil:
		return "file", "/usr/bin/" + name
	case strings.Contains(name, "/"):
		if info, err := s.world.FS.Stat(s.absolute(name)); err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0 {
			return "file", name
		}
		if dir := path.Dir(name); (dir == "/bin" || dir == "/usr/bin") && s.world.command(base(name)) != nil {
			return "file", name
		}
		return "", ""
	}
	if p := s.findInPath(name); p != "" {
		return "file", p
	}
	return "", ""
}

func describeCommand(name, kind, where string) string {
	switch kind {
	case "keyword":
		return name + " is a shell keyword"
	case "builtin":
		return name + " is a shell builtin"
	case "function":
		return name + " is a function"
	}
	return name + " is " + where
}

func builtinBuiltin(s *Shell, args []string) error {
	if len(args) < 2 {
		return s.done(0)
	}
	b := s.builtin(args[1])
	if b == nil {
		return s.usage(1, "builtin: %s: not a shell builtin", args[1])
	}
	return b(s, args[1:])
}

func typeBuiltin(s *Shell, args []string) error {
	mode := byte(0)
	args = args[1:]
	for len(args) > 0 && len(args[0]) > 1 && args[0][0] == '-' {
		mode = args[0][1]
		args = args[1:]
	}
	s.status = 0
	for _, name := range args {
		kind, where := s.kindOf(name)
		switch {
		case kind == "":
			if mode == 0 {
				s.complain("type: %s: not found", name)
			}
			s.status = 1
		case mode == 't':
			fmt.Fprintln(s.fds[1], kind)
		case mode == 'p' || mode == 'P':
			if where != "" {
				fmt.Fprintln(s.fds[1], where)
			}
		default:
			fmt.Fprintln(s.fds[1], describeCommand(name, kind, where))
			if kind == "function" {
				s.declareFunctionNamed(&declaring{}, "type", name)
			}
		}
	}
	return nil
}

func hashBuiltin(s *Shell, args []string) error {
	s.status = 0
	for _, name := range args[1:] {
		if strings.HasPrefix(name, "-") {
			continue
		}
		if kind, _ := s.kindOf(name); kind == "" {
			s.complain("hash: %s: not found", name)
			s.status = 1
		}
	}
	return nil
}

var signals = map[string]int{
	"HUP": 1, "INT": 2, "QUIT": 3, "ABRT": 6, "KILL": 9, "USR1": 10, "USR2": 12, "PIPE": 13, "ALRM": 14, "TERM": 15, "CHLD": 17,
	"CONT": 18, "STOP": 19, "TSTP": 20, "WINCH": 28,
}

func signalNumber(name string) (int, bool) {
	if n, err := strconv.Atoi(name); err == nil {
		return n, n >= 0 && n < 65
	}
	n, ok := signals[strings.TrimPrefix(strings.ToUpper(name), "SIG")]
	return n, ok
}

func jobsBuiltin(s *Shell, args []string) error {
	pids := make([]int, 0, len(s.jobs))
	for pid, j := range s.jobs {
		select {
		case <-j.done:
		default:
			pids = append(pids, pid)
		}
	}
	sort.Ints(pids)
	for i, pid := range pids {
		if len(args) > 1 && args[1] == "-p" {
			fmt.Fprintln(s.fds[1], pid)
		} else {
			fmt.Fprintf(s.fds[1], "[%d]  Running\n", i+1)
		}
	}
	return s.done(0)
}

func callerBuiltin(s *Shell, args []string) error {
	if len(args) == 1 {
		if len(s.frames) == 0 {
			return s.print("caller", "0 NULL\n")
		}
		lines, sources := s.stack("BASH_LINENO"), s.stack("BASH_SOURCE")
		return s.print("caller", lines[0]+" "+sources[1]+"\n")
	}
	n, err := strconv.Atoi(args[1])
	if err != nil {
		return s.usage(2, "caller: %s: invalid number", args[1])
	}
	names, lines, sources := s.stack("FUNCNAME"), s.stack("BASH_LINENO"), s.stack("BASH_SOURCE")
	if n < 0 || n+1 >= len(names) {
		return s.done(1)
	}
	return s.print("caller", lines[n]+" "+names[n+1]+" "+sources[n+1]+"\n")
}

func umaskBuiltin(s *Shell, args []string) error {
	if len(args) == 1 {
		mask := s.world.FS.Umask(0)
		s.world.FS.Umask(mask)
		return s.print("umask", fmt.Sprintf("%04o\n", mask))
	}
	n, err := strconv.ParseUint(args[1], 8, 16)
	if err != nil {
		return s.usage(1, "umask: only octal numbers are supported: %s", args[1])
	}
	s.world.FS.Umask(0o777 & fileMode(n))
	return s.done(0)
}

func timesBuiltin(s *Shell, _ []string) error {
	return s.print("times", "0m0.000s 0m0.000s\n0m0.000s 0m0.000s\n")
}

func ulimitBuiltin(s *Shell, args []string) error {
	if len(args) > 1 && args[len(args)-1] != "unlimited" && !strings.HasPrefix(args[len(args)-1], "-") {
		return s.done(0)
	}
	return s.print("ulimit", "unlimited\n")
}

func pushdBuiltin(s *Shell, args []string) error {
	if len(args) == 1 {
		// It exchanges the first two.
		if len(s.dirs) == 0 {
			return s.usage(1, "pushd: no other directory")
		}
		args = append(args, s.dirs[0])
		s.dirs = s.dirs[1:]
	}
	if len(args) != 2 || strings.HasPrefix(args[1], "+") || strings.HasPrefix(args[1], "-") {
		return s.usage(1, "pushd: only a directory is supported")
	}
	old := s.dir
	if err := s.enter(args[1]); err != nil {
		return s.usage(1, "pushd: %s: %s", args[1], reason(err))
	}
	s.dirs = append([]string{old}, s.dirs...)
	return dirsBuiltin(s, []string{"dirs"})
}

func popdBuiltin(s *Shell, args []string) error {
	if len(args) > 1 {
		return s.usage(1, "popd: arguments are not supported")
	}
	if len(s.dirs) == 0 {
		return s.usage(1, "popd: directory stack empty")
	}
	target := s.dirs[0]
	s.dirs = s.dirs[1:]
	if err := s.enter(target); err != nil {
		return s.usage(1, "popd: %s: %s", target, reason(err))
	}
	return dirsBuiltin(s, []string{"dirs"})
}

func dirsBuiltin(s *Shell, args []string) error {
	long, lines, numbers := false, false, false
	for _, arg := range args[1:] {
		switch arg {
		case "-c":
			s.dirs = nil
			return s.done(0)
		case "-l":
			long = true
		case "-p":
			lines = true
		case "-v":
			lines, numbers = true, true
		default:
			return s.usage(1, "dirs: %s is not supported: use ${DIRSTACK[@]}", arg)
		}
	}
	list := append([]string{s.dir}, s.dirs...)
	home := s.text("HOME")
	for i, dir := range list {
		if rest, ok := strings.CutPrefix(dir, home); ok && !long && home != "" && home != "/" && (rest == "" || rest[0] == '/') {
			list[i] = "~" + rest
		}
		if numbers {
			list[i] = fmt.Sprintf("%2d  %s", i, list[i])
		}
	}
	separator := " "
	if lines {
		separator = "\n"
	}
	return s.print("dirs", strings.Join(list, separator)+"\n")
}

// aliasBuiltin accepts definitions: scripts do not expand aliases, and turning that on is refused.
func aliasBuiltin(s *Shell, args []string) error {
	s.status = 0
	for _, arg := range args[1:] {
		if name, value, ok := strings.Cut(arg, "="); ok {
			s.aliases[name] = value
		} else if _, ok := s.aliases[arg]; !ok && arg != "-p" {
			s.complain("alias: %s: not found", arg)
			s.status = 1
		}
	}
	return nil
}

// declareBuiltin is declare and the like where the parser saw a plain command, as in `command local x`.
func declareBuiltin(s *Shell, args []string) error {
	clause := &syntax.DeclClause{Variant: &syntax.Lit{Value: args[0]}}
	for _, arg := range args[1:] {
		word := &syntax.Word{Parts: []syntax.WordPart{&syntax.SglQuoted{Value: arg}}}
		clause.Args = append(clause.Args, &syntax.Assign{Naked: true, Value: word})
	}
	return s.declare(clause)
}

func execBuiltin(s *Shell, args []string) error {
	if len(args) == 1 {
		return s.done(0)
	}
	s.status = s.execute(args[1:], s.environment())
	delete(s.traps, "EXIT")
	return exitFlow{s.status}
}
