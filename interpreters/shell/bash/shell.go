package bash

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path"
	"strconv"
	"strings"

	"github.com/boathook/boathook/interpreters/shell/fs"

	"mvdan.cc/sh/v3/syntax"
)

// Shell is one shell process: the script itself, or a subshell of it.
type Shell struct {
	world       *World
	ctx         context.Context
	scopes      []*scope
	functions   map[string]*function
	fds         map[int]*descriptor
	options     options
	extra       map[string]bool // of shopt
	dir         string
	arg0        string
	params      []string
	paramsSet   bool // by set, which keeps them after a sourced file
	status      int
	pipes       []int // PIPESTATUS
	last        string
	frames      []frame
	code        *Source
	line        int
	traps       map[string]string
	parentTraps map[string]string // what trap -p lists in a subshell, until it has a trap of its own
	parentExit  string            // the EXIT trap of the shell that made this subshell
	parentErr   string            // and its ERR trap
	forked      *syntax.Stmt      // the command of a pipe or in the background that this subshell runs
	nested      *syntax.Stmt      // the only command of this subshell, if it is in parentheses, too
	signaled    int               // the status of a shell that ended itself by a signal
	// quiet counts the constructs around the current command in which errexit and ERR do nothing.
	quiet int
	// lenient counts the eval, source and command around the current command whose status is ignored. In them, errexit is off.
	lenient int
	// negated are the commands of loops that ran after ! with errexit. Until the loop is left with its function, bash keeps them quiet.
	negated map[*syntax.Stmt]bool
	// ignoring says that the status of a command substitution around is ignored, and so is that of all commands which are evaluated in a
	// substitution.
	ignoring bool
	// forkedBuiltin says that this is the process of a builtin, which ends with 1 where an error ends it.
	forkedBuiltin bool
	// substituting says that this is the process of a substitution, in which errors of arithmetic end a shell like others.
	substituting bool
	// over is the status with which an error ends the shell after the current command.
	over        int
	inTrap      bool
	trapExited  bool // the action of an ERR trap has called exit
	abandoned   int  // the status of the command whose ERR trap an error ended
	returns     *trapReturn
	trapStatus  *int // $? before the EXIT trap, which exit gives there
	exposed     bool // what is expanded does not see the condition around the command
	inDocument  bool // the text of a here-document is expanded
	document    bool // so is this, and also what is in quotes in it
	unsplit     bool // a word is expanded that is not split
	joins       bool // $* is one word where IFS is empty: bash forgets in a process that its word is another one than that around it
	inReturn    bool
	loops       int
	level       int // BASH_SUBSHELL
	depth       int
	expressions int // how many expressions evaluate each other
	owned       int64
	pid         int
	lastJob     int
	jobs        map[int]*job
	bell        chan struct{} // rings when a job ends
	inbox       *inbox
	processID   int    // $$
	main        *inbox // of the shell that has this process id
	getoptsAt   int
	getoptsIn   int
	dirs        []string
	seconds     int64
	aliases     map[string]string
	// declared are the operands of a declaration with redirections.
	declared    []declaredValue
	declaredFor *syntax.DeclClause
	exited      bool
	// command says that the shell runs the text of bash -c, and standardInput that it runs what it reads.
	command, standardInput bool
	cleanups               []func()
	// active are the redirections around the current command.
	active []*redirection
	// outsides are the descriptors outside of the redirections around a process that is a simple command.
	outsides map[int]*descriptor
	// outermost is the simple command with redirections around the current command, and all its redirections are undone before the
	// EXIT trap of an error that ends the shell.
	outermost bool
	frozen    string       // BASH_COMMAND in a trap
	shown     *syntax.Stmt // the command of BASH_COMMAND, in this code
	shownIn   *Source
	current   *syntax.Stmt // the simple command
	substatus int          // of the last command substitution in the current command
}

// trapReturn is the status that return gives in a trap, which ran at this depth of calls.
type trapReturn struct{ status, frames int }

// options are those of `set`.
type options struct {
	errexit, nounset, pipefail, errtrace, functrace, noglob, noclobber, allexport, xtrace, posix, verbose, noexec, monitor bool
}

type function struct {
	name     string
	body     *syntax.Stmt
	source   *Source
	line     int
	exported bool
}

// frame is a call: of a function, or of a file by source.
type frame struct {
	function string
	source   string // where it is defined
	line     int    // where it was called
}

// The ways in which control leaves a command.
type (
	breakFlow    struct{ levels int }
	continueFlow struct{ levels int }
	returnFlow   struct{ status int }
	exitFlow     struct{ status int }
)

func (breakFlow) Error() string    { return "break" }
func (continueFlow) Error() string { return "continue" }
func (returnFlow) Error() string   { return "return" }
func (exitFlow) Error() string     { return "exit" }

// shellError is a failed expansion or assignment. It ends the shell, unless it is soft.
type shellError struct {
	text   string
	status int
	// soft says that a command for arithmetic or tests fails, and does not end anything.
	soft bool
	// discards says that the line in which it happened ends, and not the shell. Soft errors do, too.
	discards bool
	// severe says that the shell ends with errexit, even in a condition.
	severe bool
	// inPlace says that the shell ends where the error is, so that the EXIT trap sees the variables and the redirections of that
	// place.
	inPlace bool
	// said says that it was printed.
	said bool
}

// ending ends the shell for an error that does so in its place.
func (s *Shell) ending(err error) error {
	if e, ok := err.(*shellError); ok && e.inPlace && !e.soft && !s.substituting {
		return s.exit(s.report(e))
	}
	return err
}

// discarded says whether an error ends a line of the script. In a subshell, it ends the subshell.
func (s *Shell) discarded(err error) bool {
	e, ok := err.(*shellError)
	return ok && (e.soft || e.discards) && s.level == 0
}

// say prints an error where it happens, so that it goes where the output of the command goes.
func (s *Shell) say(err error) error {
	e, ok := err.(*shellError)
	if !ok || e.said {
		return err
	}
	if e.severe {
		s.severe("%s", e)
	} else {
		s.complain("%s", e)
	}
	copied := *e
	copied.said = true
	return &copied
}

func (e *shellError) Error() string { return e.text }

// badSubscript is the error of an assignment to an element that cannot be.
func badSubscript(name, subscript string) error {
	return &shellError{text: name + "[" + subscript + "]: bad array subscript", discards: true, severe: true}
}

// severe prints an error of a variable. With errexit it ends the shell where bash ignores the status of commands, too: bash
// ends in the function that prints these errors. The command goes on until `statement` or `simple` finds that the shell is over.
func (s *Shell) severe(format string, args ...any) {
	if s.over != 0 {
		return
	}
	s.complain(format, args...)
	if s.errexit() {
		s.over = max(s.status, 1)
	}
}

// refused prints why a builtin did not assign a variable.
func (s *Shell) refused(builtin string, err error) {
	if _, ok := err.(*readonlyError); ok {
		s.severe("%s", err)
		return
	}
	if e, ok := err.(*shellError); ok && e.severe {
		s.severe("%s", err)
		return
	}
	s.complain("%s: %s", builtin, err)
}

// unassigned is refused for a builtin that assigns what it reads or makes. A value that is no expression for an integer discards the line.
func (s *Shell) unassigned(builtin string, err error) error {
	e, ok := err.(*shellError)
	switch {
	case ok && e.soft && !e.severe:
		copied := *e
		copied.soft, copied.discards = false, true
		return &copied
	case ok && e.inPlace:
		return err
	}
	s.refused(builtin, err)
	return nil
}

type readonlyError struct{ name string }

func (e *readonlyError) Error() string { return e.name + ": readonly variable" }

func newShell(w *World, environment []string, dir string, fds map[int]*descriptor) *Shell {
	s := &Shell{
		world: w, ctx: w.ctx, functions: map[string]*function{}, fds: fds, extra: map[string]bool{}, dir: dir,
		traps: map[string]string{}, jobs: map[int]*job{}, bell: make(chan struct{}, 1), pid: 2, processID: 2, aliases: map[string]string{},
	}
	for _, name := range defaultShopt {
		s.extra[name] = true
	}
	// Some twenty variables follow, and scripts have their own.
	s.scopes = []*scope{{names: make(map[string]*variable, len(environment)+32)}}
	set := func(name, value string, exported bool) {
		s.scopes[0].names[name] = &variable{set: true, text: value, exported: exported}
	}
	set("IFS", " \t\n", false)
	set("OPTIND", "1", false)
	set("PS4", "+ ", false)
	set("OSTYPE", "linux-gnu", false)
	set("MACHTYPE", "x86_64-pc-linux-gnu", false)
	set("HOSTTYPE", "x86_64", false)
	set("BASH", "/bin/bash", false)
	set("HOSTNAME", w.Hostname, false)
	set("SHELL", "/bin/bash", false)
	level := 1
	for _, pair := range environment {
		name, value, _ := strings.Cut(pair, "=")
		if function, ok := strings.CutPrefix(name, "BASH_FUNC_"); ok {
			s.importFunction(strings.TrimSuffix(function, "%%"), value)
			continue
		}
		if name == "SHLVL" {
			fmt.Sscanf(value, "%d", &level)
			level++
		}
		if validName(name) {
			set(name, value, true)
		}
	}
	set("SHLVL", strconv.Itoa(level), true)
	set("PWD", dir, true)
	if s.scopes[0].names["PATH"] == nil {
		set("PATH", "/usr/local/bin:/usr/bin:/bin", false)
	}
	s.setList("BASH_VERSINFO", []string{"5", "2", "15", "1", "release", "x86_64-pc-linux-gnu"})
	set("BASH_VERSION", "5.2.15(1)-release", false)
	s.inbox = s.newInbox(nil)
	s.main = s.inbox
	return s
}

func (s *Shell) importFunction(name, body string) {
	source, err := s.parsed("environment", name+" () "+body, 0)
	if err != nil || len(source.file.Stmts) != 1 {
		return
	}
	if f, ok := source.file.Stmts[0].Cmd.(*syntax.FuncDecl); ok {
		s.functions[name] = &function{name: name, body: f.Body, source: source, exported: true}
	}
}

// subshell copies the shell. The copy shares values until one of both changes them.
func (s *Shell) subshell() *Shell {
	s.world.enter()
	c := *s
	c.depth++
	if c.depth > s.world.Limits.Depth {
		s.world.leave()
		s.tooDeep()
	}
	c.level++
	c.owned = 0
	c.trapExited, c.negated = false, maps.Clone(s.negated)
	c.joins, c.unsplit, c.document = s.joins || s.unsplit, false, false
	c.pid = int(s.world.spawned.Load()) + 2
	c.cleanups = nil
	c.scopes = make([]*scope, len(s.scopes))
	for i, in := range s.scopes {
		names := make(map[string]*variable, len(in.names))
		for name, v := range in.names {
			if !v.shared {
				v.shared = true
			}
			names[name] = v
		}
		c.scopes[i] = &scope{names, in.function, in.passing, in.options}
	}
	c.functions = make(map[string]*function, len(s.functions))
	for name, f := range s.functions {
		c.functions[name] = f
	}
	c.fds = make(map[int]*descriptor, len(s.fds))
	for n, d := range s.fds {
		c.fds[n] = d.dup()
	}
	c.extra = make(map[string]bool, len(s.extra))
	for name, on := range s.extra {
		c.extra[name] = on
	}
	// Until it has a trap of its own, trap -p lists those of its parent.
	if c.parentTraps == nil {
		c.parentTraps = s.traps
	}
	c.parentExit, c.parentErr = s.traps["EXIT"], s.traps["ERR"]
	c.traps = map[string]string{}
	for name, action := range s.traps {
		// Traps are reset in a subshell; what is ignored stays ignored, ERR stays with errtrace and RETURN with functrace.
		if action == "" || name == "ERR" && s.options.errtrace || name == "RETURN" && s.options.functrace {
			c.traps[name] = action
		}
	}
	c.frames = append([]frame(nil), s.frames...)
	c.jobs = map[int]*job{}
	c.bell = make(chan struct{}, 1)
	c.trapStatus, c.returns, c.exposed = nil, nil, false
	c.active, c.outsides = nil, nil
	c.inbox, c.forked, c.nested, c.outermost, c.inDocument = nil, nil, nil, false, false
	c.loops = 0
	c.substituting, c.forkedBuiltin, c.expressions = false, false, 0
	return &c
}

// finish ends a shell that subshell made.
func (s *Shell) finish() {
	s.closeAll()
	s.world.memory.Add(-s.owned)
	s.world.leave()
}

func (s *Shell) closeAll() {
	for n, d := range s.fds {
		d.close()
		delete(s.fds, n)
	}
	for _, d := range s.outsides {
		if d != nil {
			d.close()
		}
	}
	s.outsides = nil
	s.cleanup(0)
}

// cleanup runs what was registered since there were `from` functions: it closes process substitutions.
func (s *Shell) cleanup(from int) {
	for i := len(s.cleanups) - 1; i >= from; i-- {
		f := s.cleanups[i]
		s.cleanups = s.cleanups[:i]
		f()
	}
}

// tick is called for each step. It ends the shell when the run is over, or when kill or timeout ended the shell.
func (s *Shell) tick() {
	s.world.tick()
	if s.ctx != s.world.ctx && s.ctx.Err() != nil {
		s.world.checkTime()
		panic(killedBy(s.ctx))
	}
}

func (s *Shell) tooDeep() {
	s.world.die(&LimitError{s.where(), fmt.Sprintf("more than %d nested calls: look for a function or an eval that calls itself", s.world.Limits.Depth)})
}

// deeper runs a nested call within the limit of depth.
func (s *Shell) deeper(run func() error) error {
	if s.depth++; s.depth > s.world.Limits.Depth {
		s.tooDeep()
	}
	defer func() { s.depth-- }()
	return run()
}

func (s *Shell) absolute(p string) string {
	if !strings.HasPrefix(p, "/") {
		p = s.dir + "/" + p
	}
	return p
}

// where is the place of the current command, for errors.
func (s *Shell) where() string {
	name := s.arg0
	if s.code != nil && s.code.name != "" {
		name = s.code.name
	}
	return fmt.Sprintf("%s: line %d", name, s.line)
}

// complain prints an error as bash does.
func (s *Shell) complain(format string, args ...any) {
	fmt.Fprintf(s.fds[2], "%s: %s\n", s.where(), fmt.Sprintf(format, args...))
}

// reason is the text of an error without the operation and the path.
func reason(err error) string {
	var pathError *os.PathError
	if errors.As(err, &pathError) {
		return pathError.Err.Error()
	}
	return err.Error()
}

// runScript runs a file as the main program of this shell, with its EXIT trap.
func (s *Shell) runScript(p string) int {
	text, err := s.world.FS.ReadFile(s.absolute(p))
	if err != nil {
		s.status = 127
		if reason(err) == string(fs.IsDirectory) {
			s.status = 126
		}
		fmt.Fprintf(s.fds[2], "bash: %s: %s\n", p, reason(err))
		return s.status
	}
	return s.runText(p, string(text))
}

// runText runs code as the main program.
func (s *Shell) runText(name, text string) int {
	source, err := s.parsed(name, text, 0)
	if err != nil {
		fmt.Fprintln(s.fds[2], err)
		return 2
	}
	return s.runSource(source)
}

func (s *Shell) runSource(source *Source) int {
	s.code = source
	s.settle(s.lines(source.file.Stmts))
	return s.runExitTrap()
}

// settle takes the status of what ended the shell.
func (s *Shell) settle(err error) {
	switch flow := err.(type) {
	case nil:
	case breakFlow, continueFlow:
		// They end the process of a substitution without its EXIT trap.
		s.exited = s.exited || s.substituting
	case exitFlow:
		s.status = flow.status
	case returnFlow:
		s.status = flow.status
	default:
		s.status = s.report(err)
	}
}

// report prints a failed expansion and returns its status.
func (s *Shell) report(err error) int {
	err = s.say(err)
	e, ok := err.(*shellError)
	if !ok {
		s.complain("%s", err)
	} else if e.status != 0 {
		return e.status
	} else if s.command && s.level == 0 && !e.soft && !e.discards {
		return 127
	}
	return 1
}

// exit ends the shell. The EXIT trap runs with the redirections and the variables of the place where the shell ends.
func (s *Shell) exit(status int) error {
	s.status = status
	return exitFlow{s.exitTrap()}
}

// exitFailed ends the shell because of errexit. The EXIT trap sees no local variables, and no redirections of a function or builtin
// in which the command failed.
func (s *Shell) exitFailed(status int) error {
	s.status = status
	if s.outermost {
		return exitFlow{status}
	}
	scopes := s.scopes
	s.scopes = scopes[:1:1]
	status = s.exitTrap()
	s.scopes = scopes
	return exitFlow{status}
}

func (s *Shell) runExitTrap() int {
	status := s.exitTrap()
	if s.signaled != 0 {
		return s.signaled
	}
	return status
}

func (s *Shell) exitTrap() int {
	action, ok := s.traps["EXIT"]
	if !ok || s.exited {
		return s.status
	}
	s.exited = true
	delete(s.traps, "EXIT")
	if action == "" {
		return s.status
	}
	status, loops := s.status, s.loops
	s.loops, s.over = 0, 0
	before := status
	err := s.runTrapWith(action, &before)
	s.status, s.loops = status, loops
	if isFatal(err) {
		failed := s.report(err)
		switch {
		case s.options.errexit:
			s.status = failed
		case s.abandoned != 0:
			s.status = s.abandoned
		}
	}
	if flow, ok := err.(exitFlow); ok {
		s.status = flow.status
	}
	return s.status
}

// isFatal says whether an error ends the shell.
func isFatal(err error) bool {
	failure, ok := err.(*shellError)
	return ok && !failure.soft && !failure.discards
}

// runTrap runs the code of a trap, which does not change $?.
func (s *Shell) runTrap(action string) error { return s.runTrapWith(action, nil) }

// runTrapWith is runTrap where exit without an operand gives this status.
func (s *Shell) runTrapWith(action string, atExit *int) error {
	source, err := s.parsed(s.codeName(), action, s.line-1)
	if err != nil {
		s.complain("%s", err)
		return nil
	}
	status, pipes, code, line := s.status, s.pipes, s.code, s.line
	returns := s.returns
	s.returns = &trapReturn{status, len(s.frames)}
	defer func() { s.returns = returns }()
	frozen, shown, shownIn := s.frozen, s.shown, s.shownIn
	if frozen == "" {
		s.frozen = s.commandText()
	}
	s.code = source
	outer := s.trapStatus
	s.trapStatus = atExit
	err = s.evaluating(func() error {
		return s.deeper(func() error { return s.lines(source.file.Stmts) })
	})
	s.status, s.pipes, s.code, s.line = status, pipes, code, line
	s.frozen, s.trapStatus = frozen, outer
	s.shown, s.shownIn = shown, shownIn
	return err
}

// returned runs the trap for the end of a function or a sourced file. $? is that of the last command, and not the one that
// return gives.
func (s *Shell) returned(err error) error {
	action := s.traps["RETURN"]
	_, isReturn := err.(returnFlow)
	if action == "" || s.inReturn || err != nil && !isReturn {
		return err
	}
	s.inReturn = true
	failure := s.runTrap(action)
	s.inReturn = false
	if failure != nil {
		return failure
	}
	return err
}

func (s *Shell) codeName() string {
	if s.code == nil {
		return s.arg0
	}
	return s.code.name
}

// base is the last part of a command's path.
func base(p string) string { return path.Base(p) }
