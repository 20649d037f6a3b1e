package bash

import (
	"bufio"
	"os"
	"strconv"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// redirectError makes a command fail, and does not end the shell.
type redirectError struct{ text string }

func (e *redirectError) Error() string { return e.text }

// redirection remembers the descriptors that redirections replaced.
type redirection struct {
	shell *Shell
	undo  []replaced
}

type replaced struct {
	number int
	old    *descriptor
}

func (r *redirection) set(number int, d *descriptor) {
	r.undo = append(r.undo, replaced{number, r.shell.fds[number]})
	if d == nil {
		delete(r.shell.fds, number)
	} else {
		r.shell.fds[number] = d
	}
}

// restore undoes the redirections.
func (r *redirection) restore() {
	for i := len(r.undo) - 1; i >= 0; i-- {
		if current := r.shell.fds[r.undo[i].number]; current != nil {
			current.close()
		}
		if r.undo[i].old == nil {
			delete(r.shell.fds, r.undo[i].number)
		} else {
			r.shell.fds[r.undo[i].number] = r.undo[i].old
		}
	}
	r.end()
}

// end forgets what was replaced.
func (r *redirection) end() {
	r.undo = nil
	if active := r.shell.active; len(active) > 0 && active[len(active)-1] == r {
		r.shell.active = active[:len(active)-1]
	}
}

// commit makes the redirections last, as exec does.
func (r *redirection) commit() {
	for _, u := range r.undo {
		if u.old != nil {
			u.old.close()
		}
	}
	r.end()
}

// outside are the descriptors that the redirections around the current command replaced.
func (s *Shell) outside() map[int]*descriptor {
	outside := map[int]*descriptor{}
	for _, r := range s.active {
		for _, one := range r.undo {
			if _, has := outside[one.number]; has {
				continue
			}
			outside[one.number] = nil
			if one.old != nil {
				outside[one.number] = one.old.dup()
			}
		}
	}
	return outside
}

// redirect applies redirections in order. After an error, restore undoes those that were applied.
func (s *Shell) redirect(list []*syntax.Redirect) (*redirection, error) {
	r := &redirection{shell: s}
	s.active = append(s.active, r)
	for _, one := range list {
		if err := s.redirectOne(one, r.set); err != nil {
			return r, err
		}
	}
	return r, nil
}

func (s *Shell) redirectOne(r *syntax.Redirect, set func(int, *descriptor)) error {
	number := 1
	switch r.Op {
	case syntax.RdrIn, syntax.RdrInOut, syntax.DplIn, syntax.Hdoc, syntax.DashHdoc, syntax.WordHdoc:
		number = 0
	}
	variable := ""
	if r.N != nil {
		if name, ok := strings.CutPrefix(r.N.Value, "{"); ok {
			variable = strings.TrimSuffix(name, "}")
		} else {
			number, _ = strconv.Atoi(r.N.Value)
		}
	}
	if variable != "" {
		return s.redirectVariable(r, variable, set)
	}
	switch r.Op {
	case syntax.RdrAll, syntax.AppAll:
		flag := os.O_WRONLY | os.O_CREATE | os.O_TRUNC
		if r.Op == syntax.AppAll {
			flag = os.O_WRONLY | os.O_CREATE | os.O_APPEND
		}
		d, err := s.redirectFile(r, flag)
		if err != nil {
			return err
		}
		set(1, d)
		set(2, d.dup())
		return nil
	case syntax.DplOut:
		word, err := s.word(r.Word)
		if err != nil {
			return err
		}
		// >&file is &>file.
		if _, ok := parseDescriptor(strings.TrimSuffix(word, "-")); !ok && word != "-" && r.N == nil {
			d, err := s.open(word, os.O_WRONLY|os.O_CREATE|os.O_TRUNC)
			if err != nil {
				return err
			}
			set(1, d)
			set(2, d.dup())
			return nil
		}
		return s.duplicate(number, word, set)
	case syntax.DplIn:
		word, err := s.word(r.Word)
		if err != nil {
			return err
		}
		return s.duplicate(number, word, set)
	}
	d, err := s.redirectTarget(r)
	if err != nil {
		return err
	}
	set(number, d)
	return nil
}

// redirectTarget opens what a redirection reads or writes.
func (s *Shell) redirectTarget(r *syntax.Redirect) (*descriptor, error) {
	switch r.Op {
	case syntax.RdrIn:
		return s.redirectFile(r, os.O_RDONLY)
	case syntax.RdrInOut:
		return s.redirectFile(r, os.O_RDWR|os.O_CREATE)
	case syntax.RdrOut:
		return s.redirectFile(r, os.O_WRONLY|os.O_CREATE|os.O_TRUNC)
	case syntax.RdrClob:
		noclobber := s.options.noclobber
		s.options.noclobber = false
		d, err := s.redirectFile(r, os.O_WRONLY|os.O_CREATE|os.O_TRUNC)
		s.options.noclobber = noclobber
		return d, err
	case syntax.AppOut:
		return s.redirectFile(r, os.O_WRONLY|os.O_CREATE|os.O_APPEND)
	case syntax.WordHdoc:
		var pieces []piece
		err := s.expose(func() (err error) {
			pieces, err = s.whole(r.Word, tildeWord)
			return err
		})
		return reading(s.joinedValue(pieces) + "\n"), err
	case syntax.Hdoc, syntax.DashHdoc:
		text := ""
		err := s.expose(func() (err error) {
			text, err = s.hereDocument(r)
			return err
		})
		return reading(text), err
	}
	return nil, &shellError{text: "the redirection " + r.Op.String() + " is not one of bash", status: 2}
}

// expose expands something that is not a simple command. For bash, a substitution in it has errexit also where the status of the command
// is ignored.
func (s *Shell) expose(expand func() error) error {
	exposed := s.exposed
	s.exposed = true
	err := expand()
	s.exposed = exposed
	return err
}

func reading(text string) *descriptor {
	return newDescriptor(&openFile{reader: bufio.NewReader(strings.NewReader(text))})
}

// hereDocument is the text of << or <<-.
func (s *Shell) hereDocument(r *syntax.Redirect) (string, error) {
	if r.Hdoc == nil {
		return "", nil
	}
	if quotedDelimiter(r.Word) {
		var text strings.Builder
		for _, part := range r.Hdoc.Parts {
			if literal, ok := part.(*syntax.Lit); ok {
				text.WriteString(literal.Value)
			}
		}
		return stripTabs(r, text.String()), nil
	}
	word := r.Hdoc
	if r.Op == syntax.DashHdoc {
		word = withoutTabs(word)
	}
	document := s.document
	s.document = true
	text, err := s.quotedText(word)
	s.document = document
	return text, err
}

func stripTabs(r *syntax.Redirect, text string) string {
	if r.Op != syntax.DashHdoc {
		return text
	}
	lines := strings.SplitAfter(text, "\n")
	for i, line := range lines {
		lines[i] = strings.TrimLeft(line, "\t")
	}
	return strings.Join(lines, "")
}

// withoutTabs removes the tabs at the begin of the lines of a document. They are not in the results of expansions.
func withoutTabs(word *syntax.Word) *syntax.Word {
	stripped := &syntax.Word{}
	begin := true
	for _, part := range word.Parts {
		literal, ok := part.(*syntax.Lit)
		if !ok {
			begin = false
			stripped.Parts = append(stripped.Parts, part)
			continue
		}
		var text strings.Builder
		for _, c := range literal.Value {
			if begin && c == '\t' {
				continue
			}
			text.WriteRune(c)
			begin = c == '\n'
		}
		copied := *literal
		copied.Value = text.String()
		stripped.Parts = append(stripped.Parts, &copied)
	}
	return stripped
}

func quotedDelimiter(word *syntax.Word) bool {
	for _, part := range word.Parts {
		switch part := part.(type) {
		case *syntax.Lit:
			if strings.Contains(part.Value, `\`) {
				return true
			}
		default:
			return true
		}
	}
	return false
}

func (s *Shell) redirectFile(r *syntax.Redirect, flag int) (*descriptor, error) {
	var names []string
	err := s.expose(func() (err error) {
		names, err = s.fields([]*syntax.Word{r.Word})
		return err
	})
	if err != nil {
		return nil, err
	}
	if len(names) != 1 {
		return nil, &redirectError{s.code.slice(r.Word.Pos(), r.Word.End()) + ": ambiguous redirect"}
	}
	return s.open(names[0], flag)
}

func (s *Shell) open(name string, flag int) (*descriptor, error) {
	if name == "" {
		return nil, &redirectError{": No such file or directory"}
	}
	if s.options.noclobber && flag&os.O_TRUNC != 0 {
		if info, err := s.world.FS.Stat(s.absolute(name)); err == nil && info.Mode().IsRegular() {
			return nil, &redirectError{name + ": cannot overwrite existing file"}
		}
	}
	if strings.HasPrefix(name, "/dev/tcp/") || strings.HasPrefix(name, "/dev/udp/") {
		return nil, &redirectError{name + ": a hook has no network: use the grants of its permissions"}
	}
	d, err := s.openPath(name, flag)
	if err != nil {
		return nil, &redirectError{name + ": " + reason(err)}
	}
	return d, nil
}

// duplicate is >&n, <&n, and with a minus sign also closes.
func (s *Shell) duplicate(number int, word string, set func(int, *descriptor)) error {
	if word == "-" {
		set(number, nil)
		return nil
	}
	source, moves := strings.CutSuffix(word, "-")
	n, ok := parseDescriptor(source)
	if !ok {
		return &redirectError{word + ": ambiguous redirect"}
	}
	d := s.fds[n]
	if d == nil {
		return &redirectError{word + ": Bad file descriptor"}
	}
	set(number, d.dup())
	if moves && n != number {
		set(n, nil)
	}
	return nil
}

// redirectVariable is {name}>file: the shell chooses a number from 10, and does not take it back.
func (s *Shell) redirectVariable(r *syntax.Redirect, name string, set func(int, *descriptor)) error {
	if r.Op == syntax.DplOut || r.Op == syntax.DplIn {
		word, err := s.word(r.Word)
		if err != nil {
			return err
		}
		if word == "-" {
			number, _ := strconv.Atoi(s.text(name))
			if d := s.fds[number]; d != nil {
				d.close()
				delete(s.fds, number)
			}
			return nil
		}
		n, ok := parseDescriptor(word)
		if !ok || s.fds[n] == nil {
			return &redirectError{word + ": Bad file descriptor"}
		}
		return s.keep(name, s.fds[n].dup())
	}
	d, err := s.redirectTarget(r)
	if err != nil {
		return err
	}
	return s.keep(name, d)
}

func (s *Shell) keep(name string, d *descriptor) error {
	number := 10
	for s.fds[number] != nil {
		number++
	}
	s.fds[number] = d
	return s.setText(name, strconv.Itoa(number))
}
