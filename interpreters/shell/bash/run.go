package bash

import (
	"fmt"
	"runtime"
	"strings"
	"time"

	"mvdan.cc/sh/v3/syntax"
)

// statements runs commands one after another.
func (s *Shell) statements(list []*syntax.Stmt) error {
	for _, statement := range list {
		if err := s.statement(statement); err != nil {
			return err
		}
	}
	return nil
}

// lines runs the commands of a file, or of a text such as that of eval. An expansion that fails discards the rest of its
// line.
func (s *Shell) lines(list []*syntax.Stmt) error {
	for i := 0; i < len(list); i++ {
		quiet, loops := s.quiet, s.loops
		err := s.statement(list[i])
		if err == nil {
			continue
		}
		if !s.discarded(err) {
			return err
		}
		s.quiet, s.loops = quiet, loops
		s.status = s.report(err)
		s.pipes = []int{s.status}
		for i+1 < len(list) && list[i+1].Pos().Line() <= list[i].End().Line() {
			i++
		}
	}
	return nil
}

// statement runs one command with its redirections, and applies errexit to its result.
func (s *Shell) statement(st *syntax.Stmt) error {
	err := s.checked(st)
	if err != nil {
		err = s.ending(s.say(s.assignFailed(err)))
	}
	if s.over != 0 {
		return s.ended()
	}
	if err == nil {
		err = s.receive()
	}
	return err
}

// ended ends the shell because of an error that errexit does not ignore.
func (s *Shell) ended() error {
	status := s.over
	s.over = 0
	return s.exitFailed(s.failing(status))
}

func (s *Shell) checked(st *syntax.Stmt) error {
	s.tick()
	if s.over != 0 {
		return s.ended()
	}
	if st.Background {
		return s.background(st)
	}
	if st.Negated {
		// As in bash, only errexit makes the commands inside quiet. Without it, the ERR trap runs for them.
		quiet := s.quiet
		if s.errexit() || s.negated[st] {
			s.quiet++
			if s.loops > 0 && !s.negated[st] {
				if s.negated == nil {
					s.negated = map[*syntax.Stmt]bool{}
				}
				s.negated[st] = true
			}
		}
		err := s.redirected(st)
		s.quiet = quiet
		switch err.(type) {
		case nil, breakFlow, continueFlow:
			s.status = boolStatus(s.status != 0)
		}
		return err
	}
	trapped := s.traps["ERR"] != ""
	if err := s.redirected(st); err != nil {
		return err
	}
	if s.status != 0 && checksStatus(st.Cmd) {
		if !trapped && s.traps["ERR"] != "" {
			// The command set the trap itself, which does not run for it.
			action := s.traps["ERR"]
			delete(s.traps, "ERR")
			defer func() { s.traps["ERR"] = action }()
		}
		if _, ok := st.Cmd.(*syntax.Subshell); ok && (st == s.forked || st == s.nested) {
			// It is the same process, which has checked its own commands.
			return nil
		}
		return s.failed(st)
	}
	return nil
}

func boolStatus(ok bool) int {
	if ok {
		return 0
	}
	return 1
}

// checksStatus says whether errexit looks at the status of a command. The status of a list, of a group or of a loop is
// that of a command in it, which has been looked at, or must not be.
func checksStatus(c syntax.Command) bool {
	switch c := c.(type) {
	case *syntax.BinaryCmd:
		return c.Op == syntax.Pipe || c.Op == syntax.PipeAll
	case nil, *syntax.CallExpr, *syntax.Subshell, *syntax.ArithmCmd, *syntax.TestClause, *syntax.DeclClause, *syntax.LetClause, *syntax.TimeClause:
		return true
	}
	return false
}

// isSimple says whether a command is simple for bash.
func isSimple(c syntax.Command) bool {
	switch c.(type) {
	case nil, *syntax.CallExpr, *syntax.DeclClause, *syntax.LetClause:
		return true
	}
	return false
}

// failed runs the ERR trap and ends the shell, where errexit is on.
func (s *Shell) failed(st *syntax.Stmt) error {
	if s.quiet > 0 {
		return nil
	}
	// A simple command that is a process of a pipe or of the background has no trap of its own.
	if action := s.traps["ERR"]; action != "" && !s.inTrap && !(isSimple(st.Cmd) && st == s.forked) {
		s.inTrap = true
		err := s.runTrap(action)
		if isFatal(err) {
			// For bash, the trap goes on until the shell ends, also in the EXIT trap.
			s.abandoned = s.status
			return err
		}
		s.inTrap = false
		if err != nil {
			return err
		}
	}
	if s.errexit() {
		return s.exitFailed(s.failing(s.status))
	}
	return nil
}

// failing is the status of a shell that an error ends.
func (s *Shell) failing(status int) int {
	if s.forkedBuiltin {
		return 1
	}
	return status
}

// errexit says whether an error ends the shell.
func (s *Shell) errexit() bool { return s.options.errexit && s.lenient == 0 }

// redirected runs a command with its redirections. A redirection that fails makes the command fail.
func (s *Shell) redirected(st *syntax.Stmt) error {
	if line := int(st.Pos().Line()); line > 0 {
		s.line = line + s.code.base
	}
	switch cmd := st.Cmd.(type) {
	case *syntax.CallExpr:
		s.current = st
		s.show(st)
		return s.simple(cmd, st.Redirs)
	case *syntax.DeclClause:
		s.current = st
		s.show(st)
		if len(st.Redirs) > 0 {
			// As those of other builtins, the words are expanded before the redirections.
			s.substatus = 0
			values, err := s.declaredValues(cmd.Args)
			if err != nil {
				return s.expansionFailed(err)
			}
			s.declared, s.declaredFor = values, cmd
		}
	case *syntax.LetClause, *syntax.TestClause, *syntax.ArithmCmd:
		s.show(st)
	case *syntax.Subshell:
		s.showFork(st)
	}
	cleanups := len(s.cleanups)
	if len(st.Redirs) == 0 {
		err := s.run(st.Cmd)
		s.cleanup(cleanups)
		return err
	}
	saved, err := s.redirect(st.Redirs)
	if err != nil {
		saved.restore()
		s.cleanup(cleanups)
		if err := s.redirectFailed(err); err != nil {
			return err
		}
		if st == s.forked && !isSimple(st.Cmd) {
			// The process ends before it comes to the command, and checks nothing.
			return exitFlow{s.status}
		}
		switch st.Cmd.(type) {
		case *syntax.DeclClause:
			s.pipes = []int{s.status}
		case *syntax.Subshell:
			// The process of the parentheses finds it, and negates its own status before it ends.
			s.status = boolStatus(st.Negated)
			s.pipes = []int{s.status}
		}
		if st.Negated {
			switch st.Cmd.(type) {
			case nil, *syntax.DeclClause, *syntax.LetClause, *syntax.Subshell:
			default:
				// bash does not come to the place where it negates the status.
				s.status = 0
			}
			return nil
		}
		if checksStatus(st.Cmd) {
			return nil
		}
		return s.failed(st)
	}
	defer s.cleanup(cleanups)
	defer saved.restore()
	if err := s.run(st.Cmd); err != nil {
		// An error goes where the redirections say.
		return s.ending(s.say(err))
	}
	return nil
}

func (s *Shell) redirectFailed(err error) error {
	if _, fatal := err.(*redirectError); !fatal {
		return err
	}
	s.complain("%s", err)
	s.status = 1
	return nil
}

// run runs a command that is not simple.
func (s *Shell) run(c syntax.Command) error {
	switch c := c.(type) {
	case nil:
		s.status = 0
		return nil
	case *syntax.Block:
		return s.statements(c.Stmts)
	case *syntax.Subshell:
		return s.parentheses(c)
	case *syntax.BinaryCmd:
		return s.binary(c)
	case *syntax.IfClause:
		return s.ifClause(c)
	case *syntax.WhileClause:
		return s.while(c)
	case *syntax.ForClause:
		return s.forClause(c)
	case *syntax.CaseClause:
		return s.caseClause(c)
	case *syntax.FuncDecl:
		return s.declareFunction(c)
	case *syntax.ArithmCmd:
		return s.arithmeticCommand(c)
	case *syntax.LetClause:
		return s.let(c)
	case *syntax.TestClause:
		return s.testClause(c)
	case *syntax.DeclClause:
		return s.declare(c)
	case *syntax.TimeClause:
		return s.time(c)
	case *syntax.CoprocClause:
		s.refuse(noCoproc)
	}
	return &shellError{text: fmt.Sprintf("%T is not supported", c), status: 2}
}

// condition runs commands whose failure decides something, so that errexit ignores it.
func (s *Shell) condition(list []*syntax.Stmt) (bool, error) {
	s.quiet++
	err := s.statements(list)
	s.quiet--
	return s.status == 0, err
}

func (s *Shell) binary(c *syntax.BinaryCmd) error {
	if c.Op == syntax.Pipe || c.Op == syntax.PipeAll {
		return s.pipeline(c)
	}
	s.quiet++
	err := s.statement(c.X)
	s.quiet--
	if err != nil {
		return err
	}
	if (s.status == 0) != (c.Op == syntax.AndStmt) {
		return nil
	}
	return s.statement(c.Y)
}

func (s *Shell) ifClause(c *syntax.IfClause) error {
	for ; c != nil; c = c.Else {
		if len(c.Cond) == 0 {
			return s.statements(c.Then)
		}
		yes, err := s.condition(c.Cond)
		if err != nil {
			return err
		}
		if yes {
			return s.statements(c.Then)
		}
	}
	s.status = 0
	return nil
}

// loop runs the body once. It says whether the loop is over.
func (s *Shell) loop(body []*syntax.Stmt) (over bool, err error) {
	s.loops++
	err = s.statements(body)
	s.loops--
	switch flow := err.(type) {
	case breakFlow:
		if flow.levels > 1 && s.loops > 0 {
			return true, breakFlow{flow.levels - 1}
		}
		return true, nil
	case continueFlow:
		if flow.levels > 1 && s.loops > 0 {
			return true, continueFlow{flow.levels - 1}
		}
		return false, nil
	}
	return err != nil, err
}

func (s *Shell) while(c *syntax.WhileClause) error {
	last := 0
	for {
		s.tick()
		s.loops++
		yes, err := s.condition(c.Cond)
		s.loops--
		// For bash, a condition that break or continue leaves has a value nevertheless, and skips the commands of the body.
		over := (s.status == 0) == c.Until
		skipped := last
		if !over {
			skipped = s.status
		}
		switch flow := err.(type) {
		case nil:
		case breakFlow:
			if flow.levels > 1 && s.loops > 0 {
				return breakFlow{flow.levels - 1}
			}
			s.status = skipped
			return nil
		case continueFlow:
			if flow.levels > 1 && s.loops > 0 {
				return continueFlow{flow.levels - 1}
			}
			if last = skipped; over {
				s.status = last
				return nil
			}
			continue
		default:
			return err
		}
		if yes == c.Until {
			s.status = last
			return nil
		}
		over, err = s.loop(c.Do)
		last = s.status
		if over {
			return err
		}
	}
}

func (s *Shell) forClause(c *syntax.ForClause) error {
	if c.Select {
		s.refuse(noSelect)
	}
	if loop, ok := c.Loop.(*syntax.CStyleLoop); ok {
		return s.cStyle(loop, c.Do)
	}
	words := c.Loop.(*syntax.WordIter)
	items := s.params
	if words.InPos.IsValid() {
		// For bash, its words are in the loop, too: a break or continue in a substitution ends that.
		s.loops++
		var err error
		err = s.expose(func() (err error) {
			items, err = s.fields(words.Items)
			return err
		})
		s.loops--
		if err != nil {
			return err
		}
	}
	if len(items) == 0 {
		s.status = 0
	}
	for _, item := range items {
		if err := s.setLoopVariable(words.Name.Value, item); err != nil {
			if err := s.unassigned("for", err); err != nil {
				return err
			}
			s.status = 1
			return nil
		}
		over, err := s.loop(c.Do)
		if over {
			return err
		}
	}
	return nil
}

// setLoopVariable assigns the variable of for. A reference refers to each of the words.
func (s *Shell) setLoopVariable(name, item string) error {
	if !s.isReference(name) {
		return s.setText(name, item)
	}
	if base, _, _ := splitSubscript(item); !validName(base) {
		return &shellError{text: "`" + item + "': not a valid identifier", status: 1}
	}
	v, err := s.writable(name)
	if err == nil {
		v.text, v.set = item, true
	}
	return err
}

func (s *Shell) cStyle(loop *syntax.CStyleLoop, body []*syntax.Stmt) error {
	if loop.Init != nil {
		if _, err := s.loopArithmetic(loop.Init); err != nil {
			return s.arithmeticFailed("((", err)
		}
	}
	last := 0
	for {
		s.tick()
		if loop.Cond != nil {
			n, err := s.loopArithmetic(loop.Cond)
			if err != nil {
				return s.arithmeticFailed("((", err)
			}
			if n == 0 {
				s.status = last
				return nil
			}
		}
		over, err := s.loop(body)
		last = s.status
		if over {
			return err
		}
		if loop.Post != nil {
			if _, err := s.loopArithmetic(loop.Post); err != nil {
				return s.arithmeticFailed("((", err)
			}
		}
	}
}

// loopArithmetic evaluates an expression of a loop, which is in the loop for what it substitutes.
func (s *Shell) loopArithmetic(expression syntax.ArithmExpr) (int64, error) {
	s.loops++
	var n int64
	err := s.expose(func() (err error) {
		n, err = s.arithmeticNode(expression)
		return err
	})
	s.loops--
	return n, err
}

func (s *Shell) arithmeticFailed(command string, err error) error {
	if e, ok := err.(*shellError); ok && !e.soft {
		return err
	}
	if _, ok := err.(*readonlyError); ok {
		s.severe("%s", err)
	} else {
		s.complain("%s: %s", command, err)
	}
	s.status = 1
	return nil
}

func (s *Shell) caseClause(c *syntax.CaseClause) error {
	subject := ""
	err := s.expose(func() (err error) {
		subject, err = s.word(c.Word)
		return err
	})
	if err != nil {
		return err
	}
	// The commands still see $? of the command before case.
	through, ran := false, false
	for _, item := range c.Items {
		matches := through
		for _, p := range item.Patterns {
			if matches {
				break
			}
			pattern := ""
			err := s.expose(func() (err error) {
				pattern, err = s.pattern(p)
				return err
			})
			if err != nil {
				return err
			}
			matches = s.matchFolded(pattern, subject)
		}
		through = false
		if !matches {
			continue
		}
		if err := s.statements(item.Stmts); err != nil {
			return err
		}
		ran = len(item.Stmts) > 0
		if through = item.Op == syntax.Fallthrough; !through && item.Op != syntax.Resume {
			break
		}
	}
	if !ran {
		s.status = 0
	}
	return nil
}

func (s *Shell) declareFunction(c *syntax.FuncDecl) error {
	name := c.Name.Value
	line := int(c.Pos().Line()) + s.code.base
	s.functions[name] = &function{name: name, body: c.Body, source: s.code, line: line}
	s.status = 0
	return nil
}

// parentheses runs ( … ).
func (s *Shell) parentheses(c *syntax.Subshell) error {
	child := s.subshell()
	if s.forked != nil && s.forked.Cmd == syntax.Command(c) {
		// A part of a pipe in parentheses is one process, and not two.
		child.level--
	}
	if inner := c.Stmts[0]; len(c.Stmts) == 1 && !inner.Negated && !inner.Background {
		if _, ok := inner.Cmd.(*syntax.Subshell); ok {
			child.nested = inner
		}
	}
	s.status = s.process(child, func() error {
		if inner := c.Stmts[0]; len(c.Stmts) == 1 && inner.Negated && !inner.Background {
			if _, ok := inner.Cmd.(*syntax.Subshell); ok {
				return child.negatedProcess(inner)
			}
		}
		err := child.statements(c.Stmts)
		if failure, ok := err.(*shellError); ok && failure.discards && len(c.Stmts) == 1 && c.Stmts[0].Negated {
			// bash negates this failure, too.
			child.report(failure)
			child.status, err = 0, nil
		}
		return err
	})
	s.reportSignal(child)
	s.pipes = []int{s.status}
	return nil
}

// negatedProcess runs the only command of a subshell, which is `! ( … )`. For bash, it is the process that is negated at its end, and
// the command in it is not: errexit and the ERR trap see its failure.
func (s *Shell) negatedProcess(st *syntax.Stmt) error {
	plain := *st
	plain.Negated = false
	err := s.statement(&plain)
	switch flow := err.(type) {
	case nil:
	case exitFlow:
		s.status = flow.status
	default:
		return err
	}
	if !s.trapExited && s.signaled == 0 {
		s.status, err = boolStatus(s.status != 0), nil
	}
	return err
}

// process runs a subshell to its end, in this goroutine.
func (s *Shell) process(child *Shell, run func() error) int {
	defer child.finish()
	return s.world.guard(func() int {
		child.settle(run())
		return child.runExitTrap()
	})
}

// pipeline runs commands that are connected, each in a subshell.
func (s *Shell) pipeline(c *syntax.BinaryCmd) error {
	var parts []*syntax.Stmt
	var all []bool // whether stderr goes to the pipe, too
	var flatten func(*syntax.BinaryCmd)
	flatten = func(c *syntax.BinaryCmd) {
		if left, ok := c.X.Cmd.(*syntax.BinaryCmd); ok && (left.Op == syntax.Pipe || left.Op == syntax.PipeAll) && len(c.X.Redirs) == 0 && !c.X.Negated {
			flatten(left)
		} else {
			parts = append(parts, c.X)
		}
		all = append(all, c.Op == syntax.PipeAll)
		parts = append(parts, c.Y)
	}
	flatten(c)
	statuses := make([]int, len(parts))
	done := make(chan struct{})
	var input *descriptor
	started := 0
	for i, part := range parts {
		if i < len(parts)-1 && all[i] {
			part = withErrors(part)
		}
		var reader, writer *descriptor
		if i < len(parts)-1 {
			reader, writer = s.world.newPipe()
		} else if s.extra["lastpipe"] {
			if err := s.lastOfPipe(part, input, &statuses[i]); err != nil {
				return err
			}
			break
		}
		child := s.subshell()
		s.fork(child, part)
		s.showFork(part)
		if input != nil {
			child.replace(0, input)
		}
		if writer != nil {
			child.replace(1, writer)
		}
		input = reader
		started++
		go func() {
			statuses[i] = s.world.guard(func() int {
				return s.process(child, func() error { return child.statement(part) })
			})
			done <- struct{}{}
		}()
		// What comes first in the pipe begins first. The end of a short command after it does not break the pipe.
		runtime.Gosched()
	}
	for range started {
		<-done
	}
	s.tick()
	s.pipes = statuses
	s.status = statuses[len(statuses)-1]
	if s.options.pipefail {
		for _, status := range statuses {
			if status != 0 {
				s.status = status
			}
		}
	}
	if _, ok := parts[len(parts)-1].Cmd.(*syntax.Subshell); ok && s.status != 0 && !parts[len(parts)-1].Negated && !s.extra["lastpipe"] {
		// bash checks it as the command in parentheses, and once more as the pipe.
		if err := s.failed(parts[len(parts)-1]); err != nil {
			return err
		}
	}
	return nil
}

// withErrors is a command before |&, which is 2>&1 after the redirections of the command.
func withErrors(part *syntax.Stmt) *syntax.Stmt {
	copied := *part
	one := &syntax.Word{Parts: []syntax.WordPart{&syntax.Lit{Value: "1"}}}
	copied.Redirs = append(append([]*syntax.Redirect(nil), part.Redirs...), &syntax.Redirect{Op: syntax.DplOut, N: &syntax.Lit{Value: "2"}, Word: one})
	return &copied
}

// lastOfPipe runs the last command of a pipe in this shell, as `shopt -s lastpipe` wants it.
func (s *Shell) lastOfPipe(part *syntax.Stmt, input *descriptor, status *int) error {
	saved := s.fds[0]
	s.fds[0] = input
	err := s.statement(part)
	input.close()
	if saved == nil {
		delete(s.fds, 0)
	} else {
		s.fds[0] = saved
	}
	*status = s.status
	return err
}

// replace puts an open file under a number.
func (s *Shell) replace(number int, d *descriptor) {
	if old := s.fds[number]; old != nil {
		old.close()
	}
	s.fds[number] = d
}

// substitute runs commands and returns what they print, without the newlines at its end.
func (s *Shell) substitute(c *syntax.CmdSubst, quoted bool) (string, error) {
	list, code := c.Stmts, s.code
	if c.Backquotes {
		source, err := s.backquoted(c, quoted)
		if err != nil {
			return "", &shellError{text: err.Error(), status: 2}
		}
		list, code = source.file.Stmts, source
	}
	if text, ok, err := s.fileSubstitution(list); ok || err != nil {
		return text, err
	}
	child := s.subshell()
	child.code = code
	// In a command substitution, break and continue still know the loops around it. They end it.
	child.loops = s.loops
	s.substitutes(child)
	if !s.extra["inherit_errexit"] && !s.options.posix {
		child.options.errexit, child.lenient = false, 0
	}
	var out strings.Builder
	child.replace(1, newDescriptor(&openFile{writer: &boundedWriter{s, &out}}))
	status := s.process(child, func() error { return child.statements(list) })
	s.tick()
	if err := s.dying(); err != nil {
		return "", err
	}
	s.status, s.substatus = status, status
	return s.substituted(out.String()), nil
}

// substitutes makes a subshell the process of a substitution. Its commands are a part of the condition around the command, unless what is
// expanded is not a simple command.
func (s *Shell) substitutes(child *Shell) {
	child.substituting, child.ignoring, child.quiet = true, s.ignoring || s.quiet > 0 && !s.exposed, 0
	if child.ignoring {
		child.quiet = 1
	}
}

// substituted is the value of a command substitution with this output: it has no zeros, and no newlines at its end.
func (s *Shell) substituted(text string) string {
	if strings.ContainsRune(text, 0) {
		s.complain("warning: command substitution: ignored null byte in input")
		text = strings.ReplaceAll(text, "\x00", "")
	}
	return strings.TrimRight(text, "\n")
}

// boundedWriter collects the output of a command substitution.
type boundedWriter struct {
	shell *Shell
	to    *strings.Builder
}

func (b *boundedWriter) Write(p []byte) (int, error) {
	b.shell.checkLength(b.to.Len()+len(p), "the output of a command substitution")
	return b.to.Write(p)
}

// backquoted parses the code between backquotes, in which a backslash escapes only itself, a dollar and a backquote, and a double quote
// if the code is in double quotes.
func (s *Shell) backquoted(c *syntax.CmdSubst, quoted bool) (*Source, error) {
	if source, ok := s.code.derived.Load(c); ok {
		return source.(*Source), nil
	}
	text := s.code.slice(c.Left, c.Right)
	text = strings.TrimPrefix(text, "`")
	escapes := []string{`\\`, `\`, "\\`", "`", `\$`, `$`}
	if quoted && !s.inDocument {
		escapes = append(escapes, `\"`, `"`)
	}
	text = strings.NewReplacer(escapes...).Replace(text)
	source, err := Parse(s.code.name, text, s.world.Limits)
	if err != nil {
		return nil, err
	}
	source.base = s.code.base + int(c.Left.Line()) - 1
	s.code.derived.Store(c, source)
	return source, nil
}

// fileSubstitution is $(<file).
func (s *Shell) fileSubstitution(list []*syntax.Stmt) (string, bool, error) {
	if len(list) != 1 || list[0].Cmd != nil || len(list[0].Redirs) != 1 || list[0].Redirs[0].Op != syntax.RdrIn {
		return "", false, nil
	}
	name, err := s.word(list[0].Redirs[0].Word)
	if err != nil {
		return "", true, err
	}
	text, err := s.world.FS.ReadFile(s.absolute(name))
	if err != nil {
		s.complain("%s: %s", name, reason(err))
		s.status, s.substatus = 1, 1
		return "", true, nil
	}
	s.checkLength(len(text), "a file in a command substitution")
	s.status, s.substatus = 0, 0
	return s.substituted(string(text)), true, nil
}

// time runs a command and reports its duration on stderr.
func (s *Shell) time(c *syntax.TimeClause) error {
	start := s.world.Now()
	var err error
	if c.Stmt != nil {
		err = s.statement(c.Stmt)
	}
	took := s.world.Now().Sub(start)
	if c.PosixFormat {
		fmt.Fprintf(s.fds[2], "real %.2f\nuser 0.00\nsys 0.00\n", took.Seconds())
	} else {
		minutes := int(took / time.Minute)
		fmt.Fprintf(s.fds[2], "\nreal\t%dm%.3fs\nuser\t0m0.000s\nsys\t0m0.000s\n", minutes, (took % time.Minute).Seconds())
	}
	return err
}
