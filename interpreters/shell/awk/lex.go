// Package awk runs programs of awk as POSIX has it, with the functions of gawk that scripts use.
//
//	lex.go      words of a program
//	parse.go    the tree of a program
//	value.go    values, arrays and numbers
//	run.go      the evaluator
//	builtin.go  functions
//	format.go   printf
//	record.go   records, fields and streams
//
// Programs are small and run once, so the tree is evaluated as it is.
package awk

import (
	"fmt"
	"strings"
)

type kind int

const (
	end kind = iota
	newline
	numberToken
	stringToken
	regexToken
	nameToken
	callToken    // a name with ( right behind it
	builtinToken // a function of awk
	wordToken    // a keyword
	signToken
)

type token struct {
	kind kind
	text string
	line int
}

var keywords = map[string]bool{
	"BEGIN": true, "END": true, "function": true, "func": true, "if": true, "else": true, "while": true, "for": true, "do": true,
	"break": true, "continue": true, "next": true, "nextfile": true, "exit": true, "return": true, "delete": true, "in": true,
	"getline": true, "print": true, "printf": true,
}

// Error is a program that cannot run.
type Error struct {
	Line int
	Text string
}

func (e *Error) Error() string { return fmt.Sprintf("line %d: %s", e.Line, e.Text) }

// stop is the panic of the parser and the evaluator.
type stop struct{ err error }

func failAt(line int, format string, args ...any) {
	panic(stop{&Error{line, fmt.Sprintf(format, args...)}})
}

// lex separates a program into words.
func lex(program string) []token {
	l := &lexer{text: program, line: 1}
	for {
		t := l.next()
		l.tokens = append(l.tokens, t)
		if t.kind == end {
			return l.tokens
		}
	}
}

type lexer struct {
	text   string
	at     int
	line   int
	tokens []token
}

// signs are the longest first.
var signs = []string{
	"**=", "&&", "||", "==", "<=", ">=", "!=", "!~", "++", "--", "+=", "-=", "*=", "/=", "%=", "^=", ">>", "**",
	"{", "}", "(", ")", "[", "]", ";", ",", "+", "-", "*", "/", "%", "^", "!", ">", "<", "|", "?", ":", "~", "$", "=",
}

func (l *lexer) next() token {
	l.space()
	if l.at >= len(l.text) {
		return token{end, "", l.line}
	}
	c := l.text[l.at]
	switch {
	case c == '\n':
		l.at++
		l.line++
		return token{newline, "\n", l.line - 1}
	case c == '"':
		return l.string()
	case c >= '0' && c <= '9' || c == '.' && l.at+1 < len(l.text) && isDigit(l.text[l.at+1]):
		return l.number()
	case isLetter(c):
		return l.name()
	case c == '/' && l.regexAllowed():
		return l.regex()
	}
	for _, sign := range signs {
		if strings.HasPrefix(l.text[l.at:], sign) {
			l.at += len(sign)
			return token{signToken, sign, l.line}
		}
	}
	failAt(l.line, "%q is not a part of awk", c)
	return token{}
}

func (l *lexer) space() {
	for l.at < len(l.text) {
		switch c := l.text[l.at]; {
		case c == ' ' || c == '\t' || c == '\r':
			l.at++
		case c == '#':
			for l.at < len(l.text) && l.text[l.at] != '\n' {
				l.at++
			}
		case c == '\\' && strings.HasPrefix(l.text[l.at:], "\\\n"):
			l.at += 2
			l.line++
		default:
			return
		}
	}
}

// regexAllowed says whether a slash begins an expression: not after an operand.
func (l *lexer) regexAllowed() bool {
	if len(l.tokens) == 0 {
		return true
	}
	switch last := l.tokens[len(l.tokens)-1]; last.kind {
	case numberToken, stringToken, nameToken, builtinToken, regexToken:
		return false
	case signToken:
		return last.text != ")" && last.text != "]" && last.text != "$" && last.text != "++" && last.text != "--"
	}
	return true
}

func (l *lexer) string() token {
	line := l.line
	l.at++
	start := l.at
	for l.at < len(l.text) && l.text[l.at] != '"' {
		if l.text[l.at] == '\\' {
			l.at++
		}
		if l.at < len(l.text) && l.text[l.at] == '\n' {
			if l.text[l.at-1] != '\\' {
				failAt(line, "a text does not end in its line")
			}
			l.line++
		}
		l.at++
	}
	if l.at >= len(l.text) {
		failAt(line, "a text does not end")
	}
	text := l.text[start:l.at]
	l.at++
	return token{stringToken, Unescape(text), line}
}

// Unescape reads the escapes of a text.
func Unescape(text string) string {
	if !strings.Contains(text, `\`) {
		return text
	}
	var out strings.Builder
	for i := 0; i < len(text); i++ {
		if text[i] != '\\' || i+1 >= len(text) {
			out.WriteByte(text[i])
			continue
		}
		i++
		switch c := text[i]; c {
		case 'n':
			out.WriteByte('\n')
		case 't':
			out.WriteByte('\t')
		case 'r':
			out.WriteByte('\r')
		case 'a':
			out.WriteByte(7)
		case 'b':
			out.WriteByte(8)
		case 'f':
			out.WriteByte(12)
		case 'v':
			out.WriteByte(11)
		case '\\', '"', '/':
			out.WriteByte(c)
		case '\n':
		case 'x':
			n, digits := 0, 0
			for digits < 2 && i+1 < len(text) {
				value := strings.IndexByte("0123456789abcdef", text[i+1]|0x20)
				if value < 0 {
					break
				}
				n = n*16 + value
				i++
				digits++
			}
			if digits == 0 {
				out.WriteString(`\x`)
				continue
			}
			out.WriteByte(byte(n))
		case '0', '1', '2', '3', '4', '5', '6', '7':
			n, digits := 0, 0
			for digits < 3 && i < len(text) && text[i] >= '0' && text[i] <= '7' {
				n = n*8 + int(text[i]-'0')
				i++
				digits++
			}
			i--
			out.WriteByte(byte(n))
		default:
			// A regular expression in a text keeps its escapes.
			out.WriteByte('\\')
			out.WriteByte(c)
		}
	}
	return out.String()
}

func (l *lexer) regex() token {
	line := l.line
	l.at++
	start := l.at
	inBracket := false
	for l.at < len(l.text) && (l.text[l.at] != '/' || inBracket) {
		switch l.text[l.at] {
		case '\\':
			l.at++
		case '[':
			if !inBracket {
				inBracket = true
				// A bracket that comes first is one of the characters.
				rest := l.text[l.at+1:]
				if strings.HasPrefix(rest, "^]") {
					l.at += 2
				} else if strings.HasPrefix(rest, "]") {
					l.at++
				}
			}
		case ']':
			inBracket = false
		case '\n':
			failAt(line, "a regular expression does not end in its line")
		}
		l.at++
	}
	if l.at >= len(l.text) {
		failAt(line, "a regular expression does not end")
	}
	text := strings.ReplaceAll(l.text[start:l.at], `\/`, "/")
	l.at++
	return token{regexToken, text, line}
}

func (l *lexer) number() token {
	start := l.at
	if strings.HasPrefix(l.text[l.at:], "0x") || strings.HasPrefix(l.text[l.at:], "0X") {
		l.at += 2
		for l.at < len(l.text) && (isDigit(l.text[l.at]) || strings.IndexByte("abcdefABCDEF", l.text[l.at]) >= 0) {
			l.at++
		}
		return token{numberToken, l.text[start:l.at], l.line}
	}
	l.at += len(numericPrefix(l.text[l.at:]))
	return token{numberToken, l.text[start:l.at], l.line}
}

func (l *lexer) name() token {
	start := l.at
	for l.at < len(l.text) && (isLetter(l.text[l.at]) || isDigit(l.text[l.at])) {
		l.at++
	}
	text := l.text[start:l.at]
	switch {
	case text == "func":
		return token{wordToken, "function", l.line}
	case keywords[text]:
		return token{wordToken, text, l.line}
	case builtins[text] != nil:
		return token{builtinToken, text, l.line}
	case l.at < len(l.text) && l.text[l.at] == '(':
		return token{callToken, text, l.line}
	}
	return token{nameToken, text, l.line}
}

func isLetter(c byte) bool { return c == '_' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' }
func isDigit(c byte) bool  { return c >= '0' && c <= '9' }
