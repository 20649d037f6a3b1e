package bash

import (
	"fmt"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// arithmeticNode evaluates an expression of a script. bash expands the text first and parses it then, so that
// x=1+2; $((x$op 3)) works: the tree of the parser cannot do that, and gives only the place of the text.
func (s *Shell) arithmeticNode(node syntax.ArithmExpr) (int64, error) {
	if word, ok := node.(*syntax.Word); ok {
		if text := word.Lit(); text != "" {
			return s.arithmetic(text)
		}
	}
	d, err := s.code.derive(arithmeticKey{node}, node.Pos().Line(), func() string { return s.code.slice(node.Pos(), node.End()) }, parseDocument)
	if err != nil {
		return 0, err
	}
	text, err := s.expandDerived(d, s.arithmeticText)
	if err != nil {
		return 0, err
	}
	return s.arithmetic(text)
}

// arithmeticText expands an expression. The double quotes of the script are removed, and not those of values.
func (s *Shell) arithmeticText(word *syntax.Word) (string, error) {
	plain := &syntax.Word{Parts: append([]syntax.WordPart(nil), word.Parts...)}
	for i, part := range plain.Parts {
		if literal, ok := part.(*syntax.Lit); ok && strings.Contains(literal.Value, `"`) {
			copied := *literal
			copied.Value = strings.ReplaceAll(literal.Value, `"`, "")
			plain.Parts[i] = &copied
		}
	}
	document := s.document
	s.document = false
	text, err := s.quotedText(plain)
	s.document = document
	return text, err
}

// The same node is read as arithmetic, or as a key.
type (
	arithmeticKey struct{ syntax.Node }
	wordKey       struct{ syntax.Node }
)

// arithmeticCommand runs (( … )).
func (s *Shell) arithmeticCommand(c *syntax.ArithmCmd) error {
	s.pipes = nil
	var n int64
	err := s.expose(func() (err error) {
		n, err = s.arithmeticNode(c.X)
		return err
	})
	if err != nil {
		if err := s.arithmeticFailed("((", err); err != nil {
			return err
		}
	} else {
		s.status = boolStatus(n != 0)
	}
	s.pipes = []int{s.status}
	return nil
}

// let runs the builtin let.
func (s *Shell) let(c *syntax.LetClause) error {
	for _, e := range c.Exprs {
		// The arguments of let are words: their quotes are removed first.
		text, err := s.subscript(e)
		if err != nil {
			return err
		}
		n, err := s.arithmetic(text)
		if err != nil {
			return s.arithmeticFailed("let", err)
		}
		s.status = boolStatus(n != 0)
	}
	s.pipes = []int{s.status}
	return nil
}

// arithmetic evaluates an expression that has been expanded.
func (s *Shell) arithmetic(text string) (int64, error) {
	if n, ok := plainNumber(text); ok {
		return n, nil
	}
	e := &evaluator{shell: s, text: text}
	return e.whole()
}

// plainNumber reads short decimal numbers, which most expressions are.
func plainNumber(text string) (int64, bool) {
	if text == "" || len(text) > 17 || text[0] == '0' && len(text) > 1 {
		return 0, false
	}
	n := int64(0)
	for i := range len(text) {
		if text[i] < '0' || text[i] > '9' {
			return 0, false
		}
		n = n*10 + int64(text[i]-'0')
	}
	return n, true
}

// evaluator evaluates while it parses, by precedence. skip counts the branches that are parsed only.
type evaluator struct {
	shell *Shell
	text  string
	at    int
	skip  int
	depth int
}

func (e *evaluator) whole() (int64, error) {
	e.shell.depth++
	e.shell.expressions++
	defer func() {
		e.shell.depth--
		e.shell.expressions--
	}()
	if e.shell.depth > e.shell.world.Limits.Depth {
		if e.shell.expressions > 50 {
			// It is a variable whose value names itself.
			return 0, e.fail("expression recursion level exceeded")
		}
		e.shell.tooDeep()
	}
	e.space()
	if e.at == len(e.text) {
		return 0, nil
	}
	n, err := e.comma()
	if err == nil {
		if e.space(); e.at < len(e.text) {
			err = e.fail("syntax error in expression")
			// bash has read what is there, and what comes after a name, before it finds that no operator is before it.
			after, ok, _ := e.target()
			if next := e.next(); next != nil {
				err = next
			} else if ok && e.shell.options.nounset && e.shell.variable(after.name) == nil {
				err = &shellError{text: after.name + ": unbound variable", inPlace: true}
			}
		}
	}
	return n, err
}

func (e *evaluator) fail(format string, args ...any) error {
	return &shellError{text: fmt.Sprintf("%s: %s (error token is \"%s\")", e.text, fmt.Sprintf(format, args...), e.text[min(e.at, len(e.text)):]), soft: true}
}

func (e *evaluator) space() {
	for e.at < len(e.text) && strings.IndexByte(" \t\n\r", e.text[e.at]) >= 0 {
		e.at++
	}
}

// peek says whether an operator comes next. An operator that is the begin of a longer one does not count.
func (e *evaluator) peek(op string) bool {
	e.space()
	if !strings.HasPrefix(e.text[e.at:], op) {
		return false
	}
	rest := e.text[e.at+len(op):]
	next := byte(0)
	if rest != "" {
		next = rest[0]
	}
	switch op {
	case "=", "!":
		return next != '='
	case "<", ">":
		return next != '=' && next != op[0]
	case "&", "|":
		return next != '=' && next != op[0]
	case "+", "-":
		return next != '='
	case "*":
		return next != '=' && next != '*'
	case "/", "%", "^", "<<", ">>":
		return next != '='
	}
	return true
}

func (e *evaluator) take(op string) bool {
	if !e.peek(op) {
		return false
	}
	e.at += len(op)
	return true
}

func (e *evaluator) comma() (int64, error) {
	n, err := e.assignment()
	for err == nil && e.take(",") {
		n, err = e.assignment()
	}
	return n, err
}

var assignOperators = []string{"<<=", ">>=", "+=", "-=", "*=", "/=", "%=", "&=", "^=", "|=", "="}

// assignment is `name = …`, which associates to the right, or a condition.
func (e *evaluator) assignment() (int64, error) {
	if e.depth++; e.depth > 200 {
		return 0, e.fail("expression recursion level exceeded")
	}
	defer func() { e.depth-- }()
	start := e.at
	target, ok, err := e.target()
	if err != nil {
		return 0, err
	}
	if ok {
		for _, op := range assignOperators {
			if !e.take(op) {
				continue
			}
			// What is there is read before the other side changes it.
			left := int64(0)
			if op != "=" && e.skip == 0 {
				if left, err = e.read(target); err != nil {
					return 0, err
				}
			}
			right, err := e.assignment()
			if err != nil || e.skip > 0 {
				return right, err
			}
			if op != "=" {
				if right, err = e.apply(strings.TrimSuffix(op, "="), left, right); err != nil {
					return 0, err
				}
			}
			return right, e.write(target, right)
		}
	}
	e.at = start
	return e.condition()
}

func (e *evaluator) condition() (int64, error) {
	n, err := e.binary(0)
	if err != nil || !e.take("?") {
		return n, err
	}
	branch := func(live bool, parse func() (int64, error)) (int64, error) {
		if !live {
			e.skip++
			defer func() { e.skip-- }()
		}
		return parse()
	}
	yes, err := branch(n != 0, e.comma)
	if err != nil {
		return 0, err
	}
	if !e.take(":") {
		return 0, e.fail("`:' expected for conditional expression")
	}
	no, err := branch(n == 0, e.assignment)
	if n != 0 {
		return yes, err
	}
	return no, err
}

// The operators by precedence, the weakest first.
var binaryOperators = [][]string{
	{"||"}, {"&&"}, {"|"}, {"^"}, {"&"}, {"==", "!="}, {"<=", ">=", "<", ">"}, {"<<", ">>"}, {"+", "-"}, {"*", "/", "%"},
}

func (e *evaluator) binary(level int) (int64, error) {
	if level == len(binaryOperators) {
		return e.power()
	}
	left, err := e.binary(level + 1)
	if err != nil {
		return 0, err
	}
next:
	for {
		for _, op := range binaryOperators[level] {
			if !e.take(op) {
				continue
			}
			short := op == "||" && left != 0 || op == "&&" && left == 0
			if short {
				e.skip++
			}
			right, err := e.binary(level + 1)
			if short {
				e.skip--
			}
			if err != nil {
				return 0, err
			}
			if left, err = e.apply(op, left, right); err != nil {
				return 0, err
			}
			continue next
		}
		return left, nil
	}
}

func (e *evaluator) power() (int64, error) {
	base, err := e.unary()
	if err != nil || !e.take("**") {
		return base, err
	}
	exponent, err := e.power()
	if err != nil {
		return 0, err
	}
	if exponent < 0 {
		if e.skip > 0 {
			return 0, nil
		}
		return 0, e.fail("exponent less than 0")
	}
	result := int64(1)
	for ; exponent > 0; exponent >>= 1 {
		if exponent&1 != 0 {
			result *= base
		}
		base *= base
	}
	return result, nil
}

func (e *evaluator) unary() (int64, error) {
	if e.depth++; e.depth > 200 {
		return 0, e.fail("expression recursion level exceeded")
	}
	defer func() { e.depth-- }()
	e.space()
	for _, op := range []string{"++", "--"} {
		if strings.HasPrefix(e.text[e.at:], op) {
			start := e.at
			e.at += 2
			target, ok, err := e.target()
			if err != nil {
				return 0, err
			}
			if ok {
				return e.step(target, op, false)
			}
			e.at = start
		}
	}
	for _, op := range []string{"!", "~", "+", "-"} {
		if !strings.HasPrefix(e.text[e.at:], op) {
			continue
		}
		e.at++
		n, err := e.unary()
		switch op {
		case "!":
			n = boolNumber(n == 0)
		case "~":
			n = ^n
		case "-":
			n = -n
		}
		return n, err
	}
	return e.primary()
}

func boolNumber(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

// step is ++ or --, before or after a name.
func (e *evaluator) step(target place, op string, post bool) (int64, error) {
	if e.skip > 0 {
		return 0, nil
	}
	old, err := e.read(target)
	if err != nil {
		return 0, err
	}
	changed := old + 1
	if op == "--" {
		changed = old - 1
	}
	if err := e.write(target, changed); err != nil {
		return 0, err
	}
	if post {
		return old, nil
	}
	return changed, nil
}

func (e *evaluator) primary() (int64, error) {
	e.space()
	if e.at == len(e.text) {
		return 0, e.fail("syntax error: operand expected")
	}
	c := e.text[e.at]
	switch {
	case c == '(':
		e.at++
		n, err := e.comma()
		if err == nil && !e.take(")") {
			err = e.fail("missing `)'")
		}
		return n, err
	case c >= '0' && c <= '9':
		return e.number()
	}
	target, ok, err := e.target()
	if err != nil {
		return 0, err
	}
	if !ok {
		return 0, e.fail("syntax error: operand expected")
	}
	for _, op := range []string{"++", "--"} {
		if e.space(); strings.HasPrefix(e.text[e.at:], op) {
			e.at += 2
			return e.step(target, op, true)
		}
	}
	if e.skip > 0 {
		return 0, nil
	}
	return e.read(target)
}

// number reads 10, 0x1f, 017 and 2#101.
func (e *evaluator) number() (int64, error) {
	start := e.at
	for e.at < len(e.text) && (isWordByte(e.text[e.at]) || e.text[e.at] == '#' || e.text[e.at] == '@') {
		e.at++
	}
	n, problem := integerOf(e.text[start:e.at])
	if problem != "" {
		// For bash, the expression ends with the number then.
		e.text, e.at = e.text[:e.at], start
		return 0, e.fail("%s", problem)
	}
	return n, nil
}

// integerOf is the value of 10, 0x1f, 017 or 2#101.
func integerOf(text string) (n int64, problem string) {
	base, chosen := int64(10), false
	switch {
	case len(text) > 1 && text[0] == '0' && (text[1] == 'x' || text[1] == 'X'):
		base, chosen, text = 16, true, text[2:]
	case len(text) > 1 && text[0] == '0':
		base, chosen, text = 8, true, text[1:]
	}
	for i := range len(text) {
		if text[i] == '#' {
			switch {
			case chosen:
				return 0, "invalid number"
			case n < 2 || n > 64:
				return 0, "invalid arithmetic base"
			case i+1 == len(text) || text[i+1] == '#':
				return 0, "invalid integer constant"
			}
			base, n, chosen = n, 0, true
			continue
		}
		d := digitValue(text[i], base)
		if d >= base {
			return 0, "value too great for base"
		}
		n = n*base + d
	}
	return n, ""
}

func digitValue(c byte, base int64) int64 {
	switch {
	case c >= '0' && c <= '9':
		return int64(c - '0')
	case c >= 'a' && c <= 'z':
		return int64(c-'a') + 10
	case c >= 'A' && c <= 'Z' && base <= 36:
		return int64(c-'A') + 10
	case c >= 'A' && c <= 'Z':
		return int64(c-'A') + 36
	case c == '@':
		return 62
	case c == '_':
		return 63
	}
	return -1
}

// place is a variable or an element in an expression.
type place struct{ name, subscript string }

// target reads a name with its subscript, if one comes next.
func (e *evaluator) target() (place, bool, error) {
	e.space()
	start := e.at
	for e.at < len(e.text) && isWordByte(e.text[e.at]) {
		e.at++
	}
	name := e.text[start:e.at]
	if !validName(name) {
		e.at = start
		return place{}, false, nil
	}
	if e.at == len(e.text) || e.text[e.at] != '[' {
		return place{name: name}, true, nil
	}
	depth := 0
	for end := e.at; end < len(e.text); end++ {
		switch e.text[end] {
		case '[':
			depth++
		case ']':
			if depth--; depth == 0 {
				subscript := e.text[e.at+1 : end]
				e.at = end + 1
				return place{name, subscript}, true, nil
			}
		}
	}
	return place{}, false, e.fail("bad array subscript")
}

// next is the error of what comes after a name. bash reads it before it evaluates the name.
func (e *evaluator) next() error {
	e.space()
	if e.at == len(e.text) {
		return nil
	}
	switch next := e.text[e.at]; {
	case next >= '0' && next <= '9':
		start := e.at
		_, err := e.number()
		e.at = start
		return err
	case !isWordByte(next) && strings.IndexByte("+-*/%&|^~!<>=?:,()", next) < 0:
		return e.fail("syntax error: invalid arithmetic operator")
	}
	return nil
}

// discarding is an error of a subscript or of an expansion. It discards the line, also where the command around it only fails.
func discarding(err error) error {
	e, ok := err.(*shellError)
	if !ok || !e.soft {
		return err
	}
	copied := *e
	copied.soft, copied.discards = false, true
	return &copied
}

// read is the value of a variable, which is an expression itself.
func (e *evaluator) read(p place) (int64, error) {
	s := e.shell
	if err := e.next(); err != nil {
		return 0, err
	}
	var text string
	set := true
	var err error
	if p.subscript != "" {
		text, _, err = s.element(p.name, p.subscript)
		err = discarding(err)
		// An element that is not there is no error of nounset, but an array that is not set is.
		v := s.variable(p.name)
		set = v != nil && v.set
	} else {
		text, set = s.get(p.name)
	}
	if err != nil {
		return 0, err
	}
	if !set && s.options.nounset {
		return 0, &shellError{text: p.name + ": unbound variable", inPlace: true}
	}
	return s.arithmetic(text)
}

func (e *evaluator) write(p place, n int64) error {
	if p.subscript != "" {
		err := e.shell.setElement(p.name, p.subscript, itoa(n), false)
		if bad, ok := err.(*shellError); ok && bad.severe {
			// The value is that of the expression all the same.
			e.shell.severe("%s", err)
			return nil
		}
		return discarding(err)
	}
	return e.shell.setText(p.name, itoa(n))
}

func (e *evaluator) apply(op string, a, b int64) (int64, error) {
	switch op {
	case "||":
		return boolNumber(a != 0 || b != 0), nil
	case "&&":
		return boolNumber(a != 0 && b != 0), nil
	case "|":
		return a | b, nil
	case "^":
		return a ^ b, nil
	case "&":
		return a & b, nil
	case "==":
		return boolNumber(a == b), nil
	case "!=":
		return boolNumber(a != b), nil
	case "<=":
		return boolNumber(a <= b), nil
	case ">=":
		return boolNumber(a >= b), nil
	case "<":
		return boolNumber(a < b), nil
	case ">":
		return boolNumber(a > b), nil
	case "<<":
		return a << (uint64(b) & 63), nil
	case ">>":
		return a >> (uint64(b) & 63), nil
	case "+":
		return a + b, nil
	case "-":
		return a - b, nil
	case "*":
		return a * b, nil
	}
	if b == 0 {
		if e.skip > 0 {
			return 0, nil
		}
		return 0, e.fail("division by 0")
	}
	if b == -1 {
		// The smallest number has no opposite; machines trap, and bash handles it.
		if op == "/" {
			return -a, nil
		}
		return 0, nil
	}
	if op == "/" {
		return a / b, nil
	}
	return a % b, nil
}
