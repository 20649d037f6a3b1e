package bash

import (
	"fmt"
	"strings"
	"sync"

	"mvdan.cc/sh/v3/syntax"
)

// Source is parsed code with its text: arithmetic and subscripts are read from the text, because bash expands them
// before it parses them.
type Source struct {
	name string
	text string
	file *syntax.File
	// base is added to lines: the code of a backquote or an eval begins in the middle of a file.
	base int
	// derived holds what is parsed later, such as the words of arithmetic, by node.
	derived sync.Map
}

// File is the tree of the code.
func (c *Source) File() *syntax.File { return c.file }

// SyntaxError says where code is not valid.
type SyntaxError struct {
	Name         string
	Line, Column int
	Text         string
}

func (e *SyntaxError) Error() string {
	return fmt.Sprintf("%s:%d:%d: %s", e.Name, e.Line, e.Column, e.Text)
}

func newParser() *syntax.Parser { return syntax.NewParser(syntax.Variant(syntax.LangBash)) }

// Parse parses a script.
func Parse(name, text string, limits Limits) (*Source, error) {
	if len(text) > limits.Source {
		return nil, &SyntaxError{name, 1, 1, "the script exceeds " + sizeText(int64(limits.Source)) + ": split it"}
	}
	if line, ok := tooNested(text, limits.Nesting); ok {
		return nil, &SyntaxError{name, line, 1, fmt.Sprintf("more than %d nested brackets: write it with functions", limits.Nesting)}
	}
	file, err := newParser().Parse(strings.NewReader(text), name)
	for tries := 0; err != nil && tries < 200; tries++ {
		accepted, ok := negateNothing(text, err)
		if !ok {
			accepted, ok = separateSubshell(text, err)
		}
		if !ok {
			accepted, ok = quoteSubscript(text, err)
		}
		if !ok {
			break
		}
		text = accepted
		file, err = newParser().Parse(strings.NewReader(text), name)
	}
	if err != nil {
		return nil, syntaxError(name, err)
	}
	if place := reservedIn(text, file); place != nil {
		return nil, &SyntaxError{name, int(place.Line()), int(place.Col()), "syntax error near unexpected token `in'"}
	}
	return &Source{name: name, text: text, file: file}, nil
}

// reservedIn finds the word in at the begin of a command, which the parser takes for a command.
func reservedIn(text string, file *syntax.File) (place *syntax.Pos) {
	if !strings.Contains(text, "in") {
		return nil
	}
	syntax.Walk(file, func(node syntax.Node) bool {
		st, ok := node.(*syntax.Stmt)
		if !ok || place != nil {
			return place == nil
		}
		call, ok := st.Cmd.(*syntax.CallExpr)
		if ok && len(call.Assigns) == 0 && len(call.Args) > 0 && call.Args[0].Lit() == "in" && st.Pos() == call.Pos() {
			at := call.Pos()
			place = &at
		}
		return place == nil
	})
	return place
}

// tooNested protects the parser, which descends into brackets, and whose stack cannot be bounded otherwise. It counts
// more than the grammar does, because it does not know quotes; balanced text does not matter.
func tooNested(text string, limit int) (line int, ok bool) {
	depth := 0
	line = 1
	keywords := 0
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '\n':
			line++
		case '(', '{':
			if depth++; depth > limit {
				return line, true
			}
		case ')', '}':
			depth = max(0, depth-1)
		case '!', '\\', '`':
		case 'i', 'w', 'u', 'f', 'c', 'd', 'e':
			// if, while, until, for, case open; fi, done, esac close.
			word := wordAt(text, i)
			switch word {
			case "if", "while", "until", "for", "case":
				if keywords++; keywords > 4*limit {
					return line, true
				}
			case "fi", "done", "esac":
				keywords = max(0, keywords-1)
			}
			if len(word) > 1 {
				i += len(word) - 1
			}
		}
	}
	return 0, false
}

func wordAt(text string, at int) string {
	if at > 0 && isWordByte(text[at-1]) {
		return ""
	}
	end := at
	for end < len(text) && end-at < 8 && isWordByte(text[end]) {
		end++
	}
	return text[at:end]
}

func isWordByte(c byte) bool {
	return c == '_' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}

// quoteSubscript handles a subscript that is no arithmetic, such as m[app.io/name]: the parser takes every subscript for
// arithmetic, where bash takes it for a key if the array is associative. In quotes, it is a key for both. An indexed
// array with such a subscript fails when it is used, as it does in bash.
func quoteSubscript(text string, err error) (string, bool) {
	var position syntax.Pos
	switch err := err.(type) {
	case syntax.ParseError:
		position = err.Pos
	case syntax.LangError:
		position = err.Pos
	default:
		return "", false
	}
	at := int(position.Offset())
	if at > len(text) {
		return "", false
	}
	open := subscriptBefore(text, at)
	if open < 0 {
		return "", false
	}
	end := open + 1
	for depth := 1; end < len(text); end++ {
		switch text[end] {
		case '[':
			depth++
		case ']':
			depth--
		case '\n', '"', '`', '\'', '\\':
			return "", false
		}
		if depth == 0 {
			break
		}
	}
	if end >= len(text) || end == open+1 {
		return "", false
	}
	return text[:open+1] + `"` + text[open+1:end] + `"` + text[end:], true
}

// negateNothing handles a `!` without a command, which fails in bash. The parser needs a command.
func negateNothing(text string, err error) (string, bool) {
	parse, ok := err.(syntax.ParseError)
	if !ok || !strings.Contains(parse.Text, "cannot form a statement alone") {
		return "", false
	}
	at := int(parse.Pos.Offset())
	if at >= len(text) || text[at] != '!' {
		return "", false
	}
	return text[:at+1] + " :" + text[at+1:], true
}

// separateSubshell handles $((a) | b), which is the substitution of a subshell, because its brackets end at different places. The parser
// takes it for arithmetic.
func separateSubshell(text string, err error) (string, bool) {
	parse, ok := err.(syntax.ParseError)
	if !ok {
		return "", false
	}
	open := strings.LastIndex(text[:min(int(parse.Pos.Offset())+3, len(text))], "$((")
	if open < 0 {
		return "", false
	}
	depth := 1
	for i := open + 3; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case '\'', '"':
			end := strings.IndexByte(text[i+1:], text[i])
			if end < 0 {
				return "", false
			}
			i += end + 1
		case '(':
			depth++
		case ')':
			if depth--; depth > 0 {
				continue
			}
			if i+1 < len(text) && text[i+1] == ')' {
				return "", false
			}
			return text[:open+2] + " " + text[open+2:], true
		}
	}
	return "", false
}

// subscriptBefore finds the bracket of the subscript in which an error lies.
func subscriptBefore(text string, at int) int {
	for i := min(at, len(text)-1); i > 0 && text[i] != '\n'; i-- {
		if text[i] == '[' && (isWordByte(text[i-1]) || text[i-1] == '(' || text[i-1] == ' ') {
			return i
		}
	}
	return -1
}

func syntaxError(name string, err error) error {
	switch err := err.(type) {
	case syntax.ParseError:
		return &SyntaxError{name, int(err.Pos.Line()), int(err.Pos.Col()), err.Text}
	case syntax.LangError:
		text := err.Feature + " is not a part of bash"
		return &SyntaxError{name, int(err.Pos.Line()), int(err.Pos.Col()), text}
	}
	return &SyntaxError{name, 1, 1, err.Error()}
}

// slice is the text between two positions.
func (c *Source) slice(from, to syntax.Pos) string {
	start, end := int(from.Offset()), int(to.Offset())
	if start < 0 || end > len(c.text) || start > end {
		return ""
	}
	return c.text[start:end]
}

// derivedWord is a word that was parsed from a part of a script. It has its own text, because its nodes point into that.
type derivedWord struct {
	word   *syntax.Word
	source *Source
}

// derive parses a part of the code in another way, once.
func (c *Source) derive(key any, line uint, text func() string, parse func(string) (*syntax.Word, error)) (*derivedWord, error) {
	if d, ok := c.derived.Load(key); ok {
		return d.(*derivedWord), nil
	}
	part := text()
	word, err := parse(part)
	if err != nil {
		return nil, syntaxError(c.name, err)
	}
	if word == nil {
		word = &syntax.Word{}
	}
	d := &derivedWord{word, &Source{name: c.name, text: part, base: c.base + int(line) - 1}}
	c.derived.Store(key, d)
	return d, nil
}

// parseDocument parses a text that is expanded as in double quotes.
func parseDocument(text string) (*syntax.Word, error) {
	return newParser().Document(strings.NewReader(text))
}

// expandDerived expands a derived word, in its own text.
func (s *Shell) expandDerived(d *derivedWord, expand func(*syntax.Word) (string, error)) (string, error) {
	code := s.code
	s.code = d.source
	text, err := expand(d.word)
	s.code = code
	return text, err
}

// parsed returns the code of a text that a script made, as eval and traps have it. It is parsed once.
func (s *Shell) parsed(name, text string, base int) (*Source, error) {
	type key struct {
		name, text string
		base       int
	}
	k := key{name, text, base}
	if source, ok := s.world.sources.Load(k); ok {
		return source.(*Source), nil
	}
	source, err := Parse(name, text, s.world.Limits)
	if err != nil {
		return nil, err
	}
	source.base = base
	if len(text) < 64<<10 {
		s.world.sources.Store(k, source)
	}
	return source, nil
}
