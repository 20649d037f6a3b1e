package bash

import (
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/boathook/boathook/interpreters/shell/fs"
	"github.com/boathook/boathook/interpreters/shell/regex"

	"mvdan.cc/sh/v3/syntax"
)

// testClause runs [[ … ]].
func (s *Shell) testClause(c *syntax.TestClause) error {
	ok, err := s.testExpr(c.X)
	s.joins = false
	if err != nil {
		if e, isTest := err.(*testError); isTest {
			if e.text != "" {
				s.complain("%s", e.text)
			}
			s.status = 2
			s.pipes = []int{2}
			return nil
		}
		return s.arithmeticFailed("[[", err)
	}
	s.status = boolStatus(ok)
	s.pipes = []int{s.status}
	return nil
}

// testError makes a test fail with 2.
type testError struct{ text string }

func (e *testError) Error() string { return e.text }

func (s *Shell) testExpr(e syntax.TestExpr) (bool, error) {
	switch e := e.(type) {
	case *syntax.Word:
		text, err := s.word(e)
		return text != "", err
	case *syntax.ParenTest:
		return s.testExpr(e.X)
	case *syntax.UnaryTest:
		return s.unaryTest(e)
	case *syntax.BinaryTest:
		return s.binaryTest(e)
	}
	return false, &shellError{text: "this test is not supported", status: 2}
}

func (s *Shell) unaryTest(e *syntax.UnaryTest) (bool, error) {
	if e.Op == syntax.TsNot {
		if isChain(e.X) {
			return s.chain(e)
		}
		ok, err := s.testExpr(e.X)
		if _, failed := err.(*testError); failed {
			return true, nil
		}
		return !ok, err
	}
	word, ok := e.X.(*syntax.Word)
	if !ok {
		return false, &shellError{text: "this test is not supported", status: 2}
	}
	if e.Op == syntax.TsVarSet {
		return s.variableSet(word)
	}
	text, err := s.word(word)
	if err != nil {
		return false, err
	}
	return s.unary(e.Op.String(), text)
}

// variableSet is -v of [[, in which the subscript is not a pattern.
func (s *Shell) variableSet(word *syntax.Word) (bool, error) {
	text := s.code.slice(word.Pos(), word.End())
	name, subscript, ok := splitSubscript(text)
	if !ok {
		plain, err := s.word(word)
		if err != nil {
			return false, err
		}
		return s.isSet(plain)
	}
	d, err := s.code.derive(wordKey{word}, word.Pos().Line(), func() string { return protectKey(subscript) }, parseKey)
	if err != nil {
		return false, &shellError{text: "the subscript of -v " + text + " is not supported: put it in quotes", status: 2}
	}
	key, err := s.expandDerived(d, s.assignedWord)
	if err != nil {
		return false, err
	}
	return s.isElementSet(name, key)
}

// isSet says whether a variable or an element is set.
func (s *Shell) isSet(text string) (bool, error) {
	name, subscript, ok, err := s.namedElement(text)
	if err != nil {
		return false, err
	}
	if !ok {
		if isSpecial(text) {
			if text == "@" || text == "*" {
				return len(s.params) > 0, nil
			}
			_, set := s.special(text)
			return set, nil
		}
		_, set := s.get(text)
		return set, nil
	}
	return s.isElementSet(name, subscript)
}

func (s *Shell) isElementSet(name, subscript string) (bool, error) {
	v := s.variable(name)
	if subscript == "@" || subscript == "*" {
		if v != nil && v.kind == associative {
			_, set := v.table.get(subscript)
			return set, nil
		}
		return len(v.values()) > 0, nil
	}
	_, set, err := s.element(name, subscript)
	return set, err
}

func (s *Shell) binaryTest(e *syntax.BinaryTest) (bool, error) {
	if isChain(e) {
		return s.chain(e)
	}
	leftWord, ok1 := e.X.(*syntax.Word)
	rightWord, ok2 := e.Y.(*syntax.Word)
	if !ok1 || !ok2 {
		return false, &shellError{text: "this test is not supported", status: 2}
	}
	left, err := s.word(leftWord)
	if err != nil {
		return false, err
	}
	switch e.Op {
	case syntax.TsMatch, syntax.TsMatchShort, syntax.TsNoMatch:
		pattern, err := s.pattern(rightWord)
		if err != nil {
			return false, err
		}
		return s.matchExtended(pattern, left) == (e.Op != syntax.TsNoMatch), nil
	case syntax.TsReMatch:
		return s.regexTest(left, rightWord)
	}
	right, err := s.word(rightWord)
	if err != nil {
		return false, err
	}
	switch e.Op {
	case syntax.TsEql, syntax.TsNeq, syntax.TsLeq, syntax.TsGeq, syntax.TsLss, syntax.TsGtr:
		a, err := s.arithmetic(left)
		if err != nil {
			return s.failedTerm(err)
		}
		b, err := s.arithmetic(right)
		if err != nil {
			return s.failedTerm(err)
		}
		return compareNumbers(e.Op.String(), a, b), nil
	case syntax.TsBefore:
		return left < right, nil
	case syntax.TsAfter:
		return left > right, nil
	}
	return s.compareFiles(e.Op.String(), left, right), nil
}

// isChain says whether an expression is a && b or a || b, without parentheses around it.
func isChain(e syntax.TestExpr) bool {
	b, ok := e.(*syntax.BinaryTest)
	return ok && (b.Op == syntax.AndTest || b.Op == syntax.OrTest)
}

// chain evaluates terms with && and || between them. The parser takes ! for an operator of all that follows, and && and || after it for
// equals. For bash, ! is of the next term, and && comes before ||.
func (s *Shell) chain(e syntax.TestExpr) (bool, error) {
	terms, operators := links(e)
	ok, err := s.testExpr(terms[0])
	for i, operator := range operators {
		if _, failed := err.(*testError); failed {
			ok = false
		} else if err != nil {
			return false, err
		}
		if operator == syntax.OrTest && ok {
			return true, nil
		}
		if ok == (operator == syntax.AndTest) {
			ok, err = s.testExpr(terms[i+1])
		}
	}
	return ok, err
}

// links are the terms of a chain, and the operators between them.
func links(e syntax.TestExpr) (terms []syntax.TestExpr, operators []syntax.BinTestOperator) {
	if not, ok := e.(*syntax.UnaryTest); ok && not.Op == syntax.TsNot && isChain(not.X) {
		terms, operators = links(not.X)
		terms[0] = &syntax.UnaryTest{OpPos: not.OpPos, Op: syntax.TsNot, X: terms[0]}
		return terms, operators
	}
	if !isChain(e) {
		return []syntax.TestExpr{e}, nil
	}
	b := e.(*syntax.BinaryTest)
	terms, operators = links(b.X)
	more, between := links(b.Y)
	return append(terms, more...), append(append(operators, b.Op), between...)
}

// failedTerm is the result of a comparison with what is no number. The terms after it are still evaluated.
func (s *Shell) failedTerm(err error) (bool, error) {
	if e, ok := err.(*shellError); !ok || !e.soft {
		return false, err
	}
	s.complain("%s", err)
	return false, nil
}

// regexTest is =~, which fills BASH_REMATCH.
func (s *Shell) regexTest(text string, word *syntax.Word) (bool, error) {
	pieces, err := s.pieces(word, tildeWord)
	if err != nil {
		return false, err
	}
	var pattern strings.Builder
	for _, p := range pieces {
		if p.quoted {
			pattern.WriteString(regex.Quote(p.text))
		} else {
			pattern.WriteString(p.text)
		}
	}
	re, err := s.world.regex(pattern.String(), regex.Options{Extended: true, Strict: true, Fold: s.extra["nocasematch"]})
	if err != nil {
		// bash says nothing about an expression that is not one.
		return false, &testError{}
	}
	at := re.Find(text, 0)
	if at == nil {
		s.setList("BASH_REMATCH", nil)
		return false, nil
	}
	groups := make([]string, len(at)/2)
	for i := range groups {
		if at[2*i] >= 0 {
			groups[i] = text[at[2*i]:at[2*i+1]]
		}
	}
	return true, s.setList("BASH_REMATCH", groups)
}

// regex compiles a regular expression once.
func (w *World) regex(pattern string, options regex.Options) (*regex.Regexp, error) {
	type key struct {
		pattern string
		options regex.Options
	}
	k := key{pattern, options}
	if re, ok := w.Shared.Load(k); ok {
		return re.(*regex.Regexp), nil
	}
	re, err := regex.Compile(pattern, options)
	if err == nil {
		w.Shared.Store(k, re)
	}
	return re, err
}

// Regex compiles a regular expression once in a run.
func (p *Process) Regex(pattern string, options regex.Options) (*regex.Regexp, error) {
	return p.World.regex(pattern, options)
}

func compareNumbers(op string, a, b int64) bool {
	switch op {
	case "-eq":
		return a == b
	case "-ne":
		return a != b
	case "-lt":
		return a < b
	case "-le":
		return a <= b
	case "-gt":
		return a > b
	}
	return a >= b
}

func (s *Shell) compareFiles(op, left, right string) bool {
	a, errA := s.world.FS.Stat(s.absolute(left))
	b, errB := s.world.FS.Stat(s.absolute(right))
	switch op {
	case "-nt":
		return errA == nil && (errB != nil || a.ModTime().After(b.ModTime()))
	case "-ot":
		return errB == nil && (errA != nil || a.ModTime().Before(b.ModTime()))
	case "-ef":
		return errA == nil && errB == nil && a.(*fs.Info).Inode() == b.(*fs.Info).Inode()
	}
	return false
}

// unary evaluates a test of one operand.
func (s *Shell) unary(op, text string) (bool, error) {
	switch op {
	case "-z":
		return text == "", nil
	case "-n":
		return text != "", nil
	case "-v":
		return s.isSet(text)
	case "-o":
		on, known := s.option(text)
		return known && on, nil
	case "-R":
		v, _ := s.lookup(text)
		return v != nil && v.nameref && v.set, nil
	case "-t":
		return false, nil
	}
	info, err := s.stat(text)
	if err != nil {
		return false, nil
	}
	switch op {
	case "-e", "-a", "-r", "-w", "-O", "-G":
		return true, nil
	case "-f":
		return info.Mode().IsRegular(), nil
	case "-d":
		return info.IsDir(), nil
	case "-c":
		return info.Mode()&os.ModeCharDevice != 0, nil
	case "-p":
		return info.Mode()&os.ModeNamedPipe != 0, nil
	case "-s":
		return info.Size() > 0, nil
	case "-x":
		return info.IsDir() || info.Mode()&0o111 != 0, nil
	case "-L", "-h", "-b", "-S", "-g", "-u":
		return false, nil
	case "-k":
		return info.Mode()&os.ModeSticky != 0, nil
	case "-N":
		return false, nil
	}
	return false, &testError{op + ": unary operator expected"}
}

// stat describes a file, or the file of a descriptor.
func (s *Shell) stat(name string) (os.FileInfo, error) {
	if n, ok := descriptorName(name); ok {
		d := s.fds[n]
		switch {
		case d == nil:
			return nil, fs.NotExist
		case d.open.file != nil:
			return d.open.file.Info(), nil
		}
		return streamInfo{s.world.FS, d.open.pipe != nil}.info()
	}
	if name == "" {
		return nil, fs.NotExist
	}
	return s.world.FS.Stat(s.absolute(name))
}

// streamInfo describes a stream as a device.
type streamInfo struct {
	fs   *fs.FS
	pipe bool
}

func (i streamInfo) info() (os.FileInfo, error) {
	null, err := i.fs.Stat("/dev/null")
	if err != nil || !i.pipe {
		return null, err
	}
	return pipeInfo{null}, nil
}

// pipeInfo describes a pipe.
type pipeInfo struct{ os.FileInfo }

func (pipeInfo) Mode() os.FileMode { return os.ModeNamedPipe | 0o600 }

// testCommand runs test and [.
func testCommand(s *Shell, args []string) error {
	operands := args[1:]
	if args[0] == "[" {
		if len(operands) == 0 || operands[len(operands)-1] != "]" {
			s.complain("[: missing `]'")
			s.status = 2
			return nil
		}
		operands = operands[:len(operands)-1]
	}
	t := &classicTest{shell: s, args: operands}
	ok, err := t.run()
	s.status = boolStatus(ok)
	if err != nil {
		s.complain("%s: %s", args[0], err)
		s.status = 2
	}
	return nil
}

// classicTest evaluates the arguments of test, by their number as POSIX wants it, and by precedence from five on.
type classicTest struct {
	shell *Shell
	args  []string
	at    int
}

func (t *classicTest) run() (bool, error) {
	a := t.args
	switch len(a) {
	case 0:
		return false, nil
	case 1:
		return a[0] != "", nil
	case 2:
		if a[0] == "!" {
			return a[1] == "", nil
		}
		if !unaryOperator(a[0]) {
			return false, fmt.Errorf("%s: unary operator expected", a[0])
		}
		return t.shell.unary(a[0], a[1])
	case 3:
		switch {
		case binaryOperator(a[1]):
			return t.binary(a[0], a[1], a[2])
		case a[0] == "!":
			ok, err := (&classicTest{shell: t.shell, args: a[1:]}).run()
			return !ok, err
		case a[0] == "(" && a[2] == ")":
			return a[1] != "", nil
		}
		return false, fmt.Errorf("%s: binary operator expected", a[1])
	case 4:
		switch {
		case a[0] == "!":
			ok, err := (&classicTest{shell: t.shell, args: a[1:]}).run()
			return !ok, err
		case a[0] == "(" && a[3] == ")":
			return (&classicTest{shell: t.shell, args: a[1:3]}).run()
		}
	}
	ok, err := t.or()
	if err == nil && t.at < len(a) {
		err = fmt.Errorf("too many arguments")
	}
	return ok, err
}

func (t *classicTest) next() string {
	if t.at < len(t.args) {
		return t.args[t.at]
	}
	return ""
}

func (t *classicTest) or() (bool, error) {
	left, err := t.and()
	for err == nil && t.at < len(t.args) && t.next() == "-o" {
		t.at++
		var right bool
		right, err = t.and()
		left = left || right
	}
	return left, err
}

func (t *classicTest) and() (bool, error) {
	left, err := t.not()
	for err == nil && t.at < len(t.args) && t.next() == "-a" {
		t.at++
		var right bool
		right, err = t.not()
		left = left && right
	}
	return left, err
}

func (t *classicTest) not() (bool, error) {
	if t.at < len(t.args) && t.next() == "!" {
		t.at++
		ok, err := t.not()
		return !ok, err
	}
	return t.primary()
}

func (t *classicTest) primary() (bool, error) {
	if t.at >= len(t.args) {
		return false, fmt.Errorf("argument expected")
	}
	first := t.args[t.at]
	rest := len(t.args) - t.at
	switch {
	case rest >= 3 && binaryOperator(t.args[t.at+1]):
		t.at += 3
		return t.binary(first, t.args[t.at-2], t.args[t.at-1])
	case first == "(":
		t.at++
		ok, err := t.or()
		if err == nil && t.next() != ")" {
			err = fmt.Errorf("`)' expected")
		}
		t.at++
		return ok, err
	case rest >= 2 && unaryOperator(first):
		t.at += 2
		return t.shell.unary(first, t.args[t.at-1])
	}
	t.at++
	return first != "", nil
}

func unaryOperator(op string) bool {
	return len(op) == 2 && op[0] == '-' && strings.IndexByte("abcdefghknoprstuvwxzGLNORS", op[1]) >= 0
}

func binaryOperator(op string) bool {
	switch op {
	case "=", "==", "!=", "<", ">", "-eq", "-ne", "-lt", "-le", "-gt", "-ge", "-nt", "-ot", "-ef", "-a", "-o":
		return true
	}
	return false
}

func (t *classicTest) binary(left, op, right string) (bool, error) {
	switch op {
	case "=", "==":
		return left == right, nil
	case "!=":
		return left != right, nil
	case "<":
		return left < right, nil
	case ">":
		return left > right, nil
	case "-a":
		return left != "" && right != "", nil
	case "-o":
		return left != "" || right != "", nil
	case "-nt", "-ot", "-ef":
		return t.shell.compareFiles(op, left, right), nil
	}
	a, err := integer(left)
	if err != nil {
		return false, err
	}
	b, err := integer(right)
	if err != nil {
		return false, err
	}
	return compareNumbers(op, a, b), nil
}

func integer(text string) (int64, error) {
	n, err := strconv.ParseInt(strings.TrimPrefix(strings.TrimSpace(text), "+"), 10, 64)
	if err != nil {
		return 0, fmt.Errorf("%s: integer expression expected", text)
	}
	return n, nil
}
