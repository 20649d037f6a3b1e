package commands

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/boathook/boathook/interpreters/shell/bash"
	"github.com/boathook/boathook/interpreters/shell/regex"
)

type exprParser struct {
	*bash.Process
	args []string
	at   int
	err  string
}

func expr(p *bash.Process) (status int) {
	defer regexTooHard(&call{Process: p}, 2, &status)
	e := &exprParser{Process: p, args: p.Args[1:]}
	value := e.binary(0)
	if e.err == "" && e.at < len(e.args) {
		e.err = "syntax error: unexpected argument '" + e.args[e.at] + "'"
	}
	if e.err != "" {
		return p.Fail(2, "%s", e.err)
	}
	fmt.Fprintln(p.Stdout, value)
	return boolStatus(value != "" && value != "0" && !(strings.Trim(value, "-0") == "" && value != "-"))
}

var exprLevels = [][]string{{"|"}, {"&"}, {"<", "<=", "=", "==", "!=", ">=", ">"}, {"+", "-"}, {"*", "/", "%"}, {":"}}

func (e *exprParser) binary(level int) string {
	if level == len(exprLevels) {
		return e.primary()
	}
	left := e.binary(level + 1)
	for e.err == "" && e.at < len(e.args) && contains(exprLevels[level], e.args[e.at]) {
		op := e.args[e.at]
		e.at++
		left = e.apply(op, left, e.binary(level+1))
	}
	return left
}

func isNull(text string) bool { return text == "" || text == "0" }

func (e *exprParser) apply(op, a, b string) string {
	x, err1 := strconv.ParseInt(a, 10, 64)
	y, err2 := strconv.ParseInt(b, 10, 64)
	numbers := err1 == nil && err2 == nil
	switch op {
	case "|":
		if !isNull(a) {
			return a
		}
		if isNull(b) {
			return "0"
		}
		return b
	case "&":
		if isNull(a) || isNull(b) {
			return "0"
		}
		return a
	case ":":
		return e.match(a, b)
	case "<", "<=", "=", "==", "!=", ">=", ">":
		d := strings.Compare(a, b)
		if numbers {
			d = 0
			if x < y {
				d = -1
			} else if x > y {
				d = 1
			}
		}
		ok := map[string]bool{"<": d < 0, "<=": d <= 0, "=": d == 0, "==": d == 0, "!=": d != 0, ">=": d >= 0, ">": d > 0}[op]
		if ok {
			return "1"
		}
		return "0"
	}
	if !numbers {
		e.err = "non-integer argument"
		return ""
	}
	switch op {
	case "+":
		x += y
	case "-":
		x -= y
	case "*":
		x *= y
	default:
		if y == 0 {
			e.err = "division by zero"
			return ""
		}
		if op == "/" {
			x /= y
		} else {
			x %= y
		}
	}
	return strconv.FormatInt(x, 10)
}

func (e *exprParser) match(text, pattern string) string {
	re, err := e.Regex("^"+pattern, regex.Options{})
	if err != nil {
		e.err = err.Error()
		return ""
	}
	at := re.Find(text, 0)
	if re.Groups() > 0 {
		if at == nil || at[2] < 0 {
			return ""
		}
		return text[at[2]:at[3]]
	}
	if at == nil {
		return "0"
	}
	return strconv.Itoa(utf8.RuneCountInString(text[:at[1]]))
}

func (e *exprParser) primary() string {
	if e.at >= len(e.args) {
		e.err = "syntax error: missing argument"
		return ""
	}
	word := e.args[e.at]
	e.at++
	rest := len(e.args) - e.at
	switch {
	case word == "(":
		value := e.binary(0)
		if e.at >= len(e.args) || e.args[e.at] != ")" {
			e.err = "syntax error: expecting ')'"
			return ""
		}
		e.at++
		return value
	case word == "length" && rest >= 1:
		return strconv.Itoa(utf8.RuneCountInString(e.primary()))
	case word == "match" && rest >= 2:
		text := e.primary()
		return e.match(text, e.primary())
	case word == "substr" && rest >= 3:
		text, from, count := []rune(e.primary()), e.primary(), e.primary()
		p, err1 := strconv.Atoi(from)
		n, err2 := strconv.Atoi(count)
		if err1 != nil || err2 != nil || p < 1 || n < 1 || p > len(text) {
			return ""
		}
		return string(text[p-1 : min(len(text), p-1+n)])
	case word == "index" && rest >= 2:
		text, set := e.primary(), e.primary()
		return strconv.Itoa(strings.IndexAny(text, set) + 1)
	case word == "+" && rest >= 1:
		e.at++
		return e.args[e.at-1]
	}
	return word
}
