package bash

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/boathook/boathook/interpreters/shell/fs"
)

// Process is a running command: its arguments, environment and streams.
type Process struct {
	// Args begins with the name of the command.
	Args []string
	Env  []string
	Dir  string
	// Stdin, Stdout and Stderr are the descriptors 0 to 2.
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	World          *World
	shell          *Shell
	// ctx is canceled when timeout or kill ends the command.
	ctx context.Context
}

// execute runs a program and returns its status.
func (s *Shell) execute(args, environment []string) int {
	return s.executeWith(s.ctx, args, environment, s.fds[0], s.fds[1], s.fds[2])
}

func (s *Shell) executeWith(ctx context.Context, args, environment []string, in io.Reader, out, errs io.Writer) (status int) {
	name := args[0]
	command, script, status := s.program(name, environment)
	if status != 0 {
		return status
	}
	s.world.enter()
	defer s.world.leave()
	s.depth++
	defer func() { s.depth-- }()
	if s.depth > s.world.Limits.Depth {
		s.tooDeep()
	}
	p := &Process{Args: args, Env: environment, Dir: s.dir, Stdin: in, Stdout: out, Stderr: errs, World: s.world, shell: s, ctx: ctx}
	// A pipe without readers ends the program, not the shell that called it.
	return s.world.guardProcess(func() int {
		if script != "" {
			return p.runScript(script, args[1:])
		}
		return command(p)
	})
}

// guardProcess is guard for a program: the end of the run still ends the caller.
func (w *World) guardProcess(run func() int) (status int) {
	defer func() {
		switch reason := recover().(type) {
		case nil:
		case brokenPipe:
			status = 141
		case killed:
			status = 128 + reason.signal
		default:
			panic(reason)
		}
	}()
	return run()
}

// program finds the command with a name, or the script with a path. It prints why there is none.
func (s *Shell) program(name string, environment []string) (Command, string, int) {
	if !strings.Contains(name, "/") {
		if c := s.world.command(name); c != nil {
			return c, "", 0
		}
		if script := s.findInPath(name); script != "" {
			return nil, script, 0
		}
		s.complain("%s: command not found", name)
		return nil, "", 127
	}
	for _, dir := range []string{"/bin/", "/usr/bin/", "/usr/local/bin/", "/sbin/", "/usr/sbin/"} {
		if short, ok := strings.CutPrefix(name, dir); ok {
			if c := s.world.command(short); c != nil {
				return c, "", 0
			}
		}
	}
	info, err := s.world.FS.Stat(s.absolute(name))
	switch {
	case err != nil:
		s.complain("%s: %s", name, reason(err))
		return nil, "", 127
	case info.IsDir():
		s.complain("%s: Is a directory", name)
		return nil, "", 126
	case info.Mode()&0o111 == 0:
		s.complain("%s: Permission denied", name)
		return nil, "", 126
	}
	return nil, name, 0
}

// command is a program of the world, or a shell.
func (w *World) command(name string) Command {
	switch name {
	case "bash", "sh":
		return shellCommand
	}
	return w.Commands[name]
}

// findInPath finds an executable file of the run in $PATH.
func (s *Shell) findInPath(name string) string {
	for _, dir := range strings.Split(s.text("PATH"), ":") {
		p := strings.TrimSuffix(dir, "/") + "/" + name
		if info, err := s.world.FS.Stat(s.absolute(p)); err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0 {
			return p
		}
	}
	return ""
}

// runScript runs a file in a new shell, by its first line.
func (p *Process) runScript(path string, args []string) int {
	text, err := p.World.FS.ReadFile(p.shell.absolute(path))
	if err != nil {
		fmt.Fprintf(p.Stderr, "%s: %s\n", path, reason(err))
		return 126
	}
	first, _, _ := strings.Cut(string(text), "\n")
	if line, ok := strings.CutPrefix(first, "#!"); ok {
		words := strings.Fields(line)
		if len(words) > 1 && base(words[0]) == "env" {
			words = words[1:]
			if words[0] == "-S" && len(words) > 1 {
				words = words[1:]
			}
		}
		if len(words) == 0 {
			return 126
		}
		interpreter := base(words[0])
		if interpreter != "bash" && interpreter != "sh" {
			command := p.World.command(interpreter)
			if command == nil {
				fmt.Fprintf(p.Stderr, "%s: cannot run a script of %s: only bash scripts run here\n", path, words[0])
				return 126
			}
			return p.Run(append(append(words, path), args...), p.Env, p.Stdin, p.Stdout, p.Stderr)
		}
		return p.shellWith(append(append([]string{interpreter}, words[1:]...), append([]string{path}, args...)...))
	}
	return p.shellWith(append([]string{"bash", path}, args...))
}

// shellCommand is the program bash.
func shellCommand(p *Process) int { return p.shellWith(p.Args) }

// shellWith starts a new shell, with the arguments of bash.
func (p *Process) shellWith(args []string) int {
	// What follows -c, or the file, is given to the script.
	child := newShell(p.World, p.Env, p.Dir, p.inherited())
	child.depth, child.ctx = p.shell.depth, p.ctx
	child.pid = int(p.World.spawned.Load()) + 2
	child.processID = child.pid
	child.options.posix = base(args[0]) == "sh"
	child.arg0 = args[0]
	defer func() {
		child.closeAll()
		p.World.memory.Add(-child.owned)
	}()
	code, rest, status := child.shellOptions(args[1:])
	if status >= 0 {
		return status
	}
	return p.World.guardProcess(func() int {
		switch {
		case code != nil:
			if len(rest) > 0 {
				child.arg0, child.params = rest[0], rest[1:]
			}
			child.command = true
			return child.runText(child.arg0, *code)
		case child.standardInput:
			child.params = rest
		case len(rest) > 0:
			child.arg0, child.params = rest[0], rest[1:]
			return child.runScript(rest[0])
		}
		text, err := io.ReadAll(child.fds[0])
		if err != nil {
			return 1
		}
		return child.runText(child.arg0, string(text))
	})
}

// shellOptions reads the options of bash. A status of 0 or more ends it.
func (s *Shell) shellOptions(args []string) (code *string, rest []string, status int) {
	wantsCode := false
	for len(args) > 0 && len(args[0]) > 1 && (args[0][0] == '-' || args[0][0] == '+') {
		arg := args[0]
		args = args[1:]
		if arg == "--" {
			break
		}
		switch arg {
		case "--norc", "--noprofile", "--login", "--posix":
			continue
		case "--version":
			fmt.Fprintln(s.fds[1], "GNU bash, version 5.2.15(1)-release (x86_64-pc-linux-gnu)")
			return nil, nil, 0
		}
		for i := 1; i < len(arg); i++ {
			switch c := arg[i]; {
			case c == 'c':
				wantsCode = true
			case c == 's':
				s.standardInput = true
			case c == 'l':
			case c == 'o' || c == 'O':
				if len(args) == 0 {
					return nil, nil, 2
				}
				ok := c == 'o' && s.setOption(args[0], arg[0] == '-') || c == 'O' && s.setShopt(args[0], arg[0] == '-')
				if !ok {
					fmt.Fprintf(s.fds[2], "%s: %s: invalid option name\n", s.arg0, args[0])
					return nil, nil, 2
				}
				args = args[1:]
			case !s.setLetter(c, arg[0] == '-'):
				fmt.Fprintf(s.fds[2], "%s: -%c: invalid option\n", s.arg0, c)
				return nil, nil, 2
			}
		}
	}
	if wantsCode {
		if len(args) == 0 {
			fmt.Fprintf(s.fds[2], "%s: -c: option requires an argument\n", s.arg0)
			return nil, nil, 2
		}
		return &args[0], args[1:], -1
	}
	return nil, args, -1
}

// inherited are the descriptors of a new shell: those of the process, and all others of the shell that called it.
func (p *Process) inherited() map[int]*descriptor {
	fds := map[int]*descriptor{}
	for n, d := range p.shell.fds {
		if n > 2 {
			fds[n] = d.dup()
		}
	}
	fds[0] = asReader(p.Stdin)
	fds[1] = asWriter(p.Stdout)
	fds[2] = asWriter(p.Stderr)
	return fds
}

// Open opens a file for reading. The name "-" is standard input where dash says so.
func (p *Process) Open(name string) (io.ReadCloser, error) {
	if n, ok := descriptorName(name); ok && n == 0 {
		return io.NopCloser(p.Stdin), nil
	}
	d, err := p.shell.openPathIn(p.Dir, name, os.O_RDONLY)
	if err != nil {
		return nil, err
	}
	return &closing{d}, nil
}

// ReadsFile says whether standard input is a file, whose size is known.
func (p *Process) ReadsFile() bool {
	in, ok := p.Stdin.(*descriptor)
	return ok && in != nil && in.open.file != nil && in.open.file.Info().Mode().IsRegular()
}

// IsOutput says whether an input of a command is the file that it writes to, so that it would never come to the end.
func (p *Process) IsOutput(name string) bool {
	out, ok := p.Stdout.(*descriptor)
	if !ok || out.open.file == nil {
		return false
	}
	if name == "-" {
		in, ok := p.Stdin.(*descriptor)
		return ok && in.open.file != nil && in.open.file.Feeds(out.open.file)
	}
	file, err := p.World.FS.Open(p.Abs(name), os.O_RDONLY, 0)
	if err != nil {
		return false
	}
	defer file.Close()
	return file.Feeds(out.open.file)
}

// Create opens a file for writing.
func (p *Process) Create(name string, appends bool) (io.WriteCloser, error) {
	switch n, ok := descriptorName(name); {
	case ok && n == 1:
		return nopCloser{p.Stdout}, nil
	case ok && n == 2:
		return nopCloser{p.Stderr}, nil
	}
	flag := os.O_WRONLY | os.O_CREATE | os.O_TRUNC
	if appends {
		flag = os.O_WRONLY | os.O_CREATE | os.O_APPEND
	}
	d, err := p.shell.openPathIn(p.Dir, name, flag)
	if err != nil {
		return nil, err
	}
	return &closing{d}, nil
}

type closing struct{ *descriptor }

func (c *closing) Close() error { c.descriptor.close(); return nil }

type nopCloser struct{ io.Writer }

func (nopCloser) Close() error { return nil }

// Abs is a path in the file system of the run.
func (p *Process) Abs(name string) string {
	if strings.HasPrefix(name, "/") {
		return name
	}
	return p.Dir + "/" + name
}

// Lookup reads the environment.
func (p *Process) Lookup(name string) (string, bool) {
	for i := len(p.Env) - 1; i >= 0; i-- {
		if key, value, ok := strings.Cut(p.Env[i], "="); ok && key == name {
			return value, true
		}
	}
	return "", false
}

// Getenv reads the environment; an unset variable is empty.
func (p *Process) Getenv(name string) string {
	value, _ := p.Lookup(name)
	return value
}

// Fail prints an error of the command, and returns the status.
func (p *Process) Fail(status int, format string, args ...any) int {
	fmt.Fprintf(p.Stderr, "%s: %s\n", p.Args[0], fmt.Sprintf(format, args...))
	return status
}

// Reason is the text of an error, as programs print it.
func Reason(err error) string { return reason(err) }

// Run runs another program, as xargs and find do.
func (p *Process) Run(args, environment []string, in io.Reader, out, errs io.Writer) int {
	return p.shell.executeWith(p.ctx, args, environment, in, out, errs)
}

// Known says whether there is a program with this name.
func (p *Process) Known(name string) bool {
	return p.World.command(name) != nil || strings.Contains(name, "/") || p.shell.findInPath(name) != ""
}

// Tick is to be called in loops of commands, so that a run can end them.
func (p *Process) Tick() {
	p.World.tick()
	if p.ctx.Err() != nil {
		p.World.checkTime()
		panic(killedBy(p.ctx))
	}
}

// WithTimeout runs another program, and ends it after the time. It says whether the time was over.
func (p *Process) WithTimeout(seconds float64, args []string) (status int, over bool) {
	ctx, cancel := contextWithTimeout(p.ctx, seconds)
	defer cancel()
	status = p.shell.executeWith(ctx, args, p.Env, p.Stdin, p.Stdout, p.Stderr)
	return status, ctx.Err() != nil
}

// Sleep waits, and ends early when the run or the command does.
func (p *Process) Sleep(seconds float64) {
	ctx, cancel := contextWithTimeout(p.ctx, seconds)
	defer cancel()
	<-ctx.Done()
	p.Tick()
}

// CheckLength bounds what a command holds in memory.
func (p *Process) CheckLength(n int) {
	p.shell.checkLength(n, p.Args[0]+": its data")
}

// ReadAll reads a stream to its end, within the limit of one string.
func (p *Process) ReadAll(r io.Reader) ([]byte, error) {
	var all []byte
	buffer := make([]byte, 32<<10)
	for {
		n, err := r.Read(buffer)
		all = append(all, buffer[:n]...)
		p.CheckLength(len(all))
		if err == io.EOF {
			return all, nil
		}
		if err != nil {
			return all, err
		}
	}
}

// FS is the file system of the run.
func (p *Process) FS() *fs.FS { return p.World.FS }

// Test evaluates the arguments of test or [.
func (p *Process) Test(args []string) int {
	s := newShell(p.World, p.Env, p.Dir, p.inherited())
	defer s.closeAll()
	s.arg0 = args[0]
	testCommand(s, args)
	return s.status
}

// IsBuiltinWithFile says whether a builtin also exists as a program.
func IsBuiltinWithFile(name string) bool {
	switch name {
	case "echo", "printf", "test", "[", "true", "false", "pwd", "kill":
		return true
	}
	return false
}
