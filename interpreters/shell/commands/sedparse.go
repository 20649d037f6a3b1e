package commands

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/boathook/boathook/interpreters/shell/regex"
)

// sedParser reads a script of sed.
type sedParser struct {
	*sedProgram
	text string
	at   int
}

func (p *sedProgram) parse(text string) error {
	if rest, ok := strings.CutPrefix(text, "#n\n"); ok {
		p.quiet, text = true, rest
	}
	parser := &sedParser{p, text, 0}
	if err := parser.script(); err != nil {
		return fmt.Errorf("char %d: %w", parser.at, err)
	}
	return p.link()
}

// link finds the ends of blocks and the targets of branches.
func (p *sedProgram) link() error {
	var open []int
	for i, c := range p.commands {
		switch c.name {
		case '{':
			open = append(open, i)
		case '}':
			if len(open) == 0 {
				return fmt.Errorf("unexpected `}'")
			}
			p.commands[open[len(open)-1]].target = i
			open = open[:len(open)-1]
		}
	}
	if len(open) > 0 {
		return fmt.Errorf("unmatched `{'")
	}
	for _, c := range p.commands {
		if strings.IndexByte("btT", c.name) < 0 {
			continue
		}
		c.target = len(p.commands)
		if c.text != "" {
			target, ok := p.labels[c.text]
			if !ok {
				return fmt.Errorf("can't find label for jump to `%s'", c.text)
			}
			c.target = target
		}
	}
	return nil
}

func (p *sedParser) more() bool { return p.at < len(p.text) }

func (p *sedParser) peek() byte {
	if p.more() {
		return p.text[p.at]
	}
	return 0
}

func (p *sedParser) skip(set string) {
	for p.more() && strings.IndexByte(set, p.peek()) >= 0 {
		p.at++
	}
}

func (p *sedParser) script() error {
	for {
		p.skip(" \t\n;")
		if !p.more() {
			return nil
		}
		if p.peek() == '#' {
			p.line()
			continue
		}
		if err := p.command(); err != nil {
			return err
		}
	}
}

// line reads up to the end of the line.
func (p *sedParser) line() string {
	end := strings.IndexByte(p.text[p.at:], '\n')
	if end < 0 {
		end = len(p.text) - p.at
	}
	line := p.text[p.at : p.at+end]
	p.at += end
	return line
}

// word reads a label or a file name: labels end at a semicolon, too.
func (p *sedParser) word(stop string) string {
	p.skip(" \t")
	start := p.at
	for p.more() && strings.IndexByte(stop, p.peek()) < 0 {
		p.at++
	}
	return strings.TrimRight(p.text[start:p.at], " \t")
}

func (p *sedParser) command() error {
	c := &sedCommand{}
	var err error
	if c.first, err = p.address(false); err != nil {
		return err
	}
	if c.first != nil {
		p.skip(" \t")
		if p.peek() == ',' {
			p.at++
			p.skip(" \t")
			if c.second, err = p.address(true); err != nil {
				return err
			}
			if c.second == nil {
				return fmt.Errorf("unexpected `,'")
			}
		}
		if c.first.line == 0 && c.first.re == nil && !c.first.last && !c.first.empty && c.first.step < 0 && (c.second == nil || c.second.re == nil) {
			return fmt.Errorf("invalid usage of line address 0")
		}
	}
	p.skip(" \t")
	for p.peek() == '!' {
		c.negated = true
		p.at++
		p.skip(" \t")
	}
	if !p.more() {
		return fmt.Errorf("missing command")
	}
	c.name = p.peek()
	p.at++
	p.commands = append(p.commands, c)
	return p.operands(c)
}

func (p *sedParser) operands(c *sedCommand) error {
	switch c.name {
	case '{':
		return nil
	case '}', '=', 'd', 'D', 'g', 'G', 'h', 'H', 'x', 'n', 'N', 'p', 'P', 'z':
		return p.finish()
	case 'l':
		if p.skip(" \t"); p.more() && p.peek() >= '0' && p.peek() <= '9' {
			return fmt.Errorf("a width of l is not supported")
		}
		return p.finish()
	case 'a', 'i', 'c':
		return p.insertion(c)
	case ':':
		if c.first != nil {
			return fmt.Errorf(": doesn't want any addresses")
		}
		label := p.word("\n;")
		if label == "" {
			return fmt.Errorf("\":\" lacks a label")
		}
		p.labels[label] = len(p.commands) - 1
		return nil
	case 'b', 't', 'T':
		c.text = p.word("\n;}")
		return nil
	case 'q', 'Q':
		digits := p.word("\n;}")
		if digits != "" {
			n, err := strconv.Atoi(digits)
			if err != nil {
				return fmt.Errorf("extra characters after command")
			}
			c.number = n & 255
		}
		return nil
	case 'r', 'w':
		if c.file = p.word("\n"); c.file == "" {
			return fmt.Errorf("missing filename in r/R/w/W commands")
		}
		return nil
	case 's':
		return p.substitution(c)
	case 'y':
		return p.transliteration(c)
	}
	return fmt.Errorf("the command `%c' is not supported", c.name)
}

// finish expects the end of a command.
func (p *sedParser) finish() error {
	p.skip(" \t")
	if p.more() && strings.IndexByte("\n;}#", p.peek()) < 0 {
		return fmt.Errorf("extra characters after command")
	}
	return nil
}

// insertion reads the text of a, i and c: in one line, or after a backslash in the next ones.
func (p *sedParser) insertion(c *sedCommand) error {
	p.skip(" \t")
	if p.peek() == '\\' {
		p.at++
		start := p.at
		p.skip(" \t")
		if p.peek() == '\n' {
			p.at++
		} else {
			// In one line, a backslash keeps the blanks after it.
			p.at = start
		}
	}
	var text strings.Builder
	for p.more() && p.peek() != '\n' {
		if p.peek() == '\\' && p.at+1 < len(p.text) {
			p.at++
			if p.peek() == 't' && text.Len() > 0 {
				text.WriteByte('\t')
				p.at++
				continue
			}
		}
		text.WriteByte(p.peek())
		p.at++
	}
	if text.Len() == 0 && !p.more() {
		return fmt.Errorf("expected \\ after `a', `c' or `i'")
	}
	c.text = text.String()
	return nil
}

func (p *sedParser) number() int {
	n := 0
	for p.more() && p.peek() >= '0' && p.peek() <= '9' && n < 1<<40 {
		n = n*10 + int(p.peek()-'0')
		p.at++
	}
	return n
}

func (p *sedParser) address(second bool) (*sedAddress, error) {
	a := &sedAddress{step: -1, plus: -1, multiple: -1}
	switch c := p.peek(); {
	case c >= '0' && c <= '9':
		a.line = p.number()
		if p.peek() == '~' {
			p.at++
			a.step = p.number()
		}
	case c == '$':
		p.at++
		a.last = true
	case second && c == '+':
		p.at++
		a.plus = p.number()
	case second && c == '~':
		p.at++
		a.multiple = p.number()
	case c == '/' || c == '\\':
		if c == '\\' {
			p.at++
		}
		delimiter := p.peek()
		p.at++
		pattern, err := p.until(delimiter, true)
		if err != nil {
			return nil, fmt.Errorf("unterminated address regex")
		}
		options := regex.Options{Extended: p.extended, Strict: p.extended}
		for {
			switch p.peek() {
			case 'I':
				options.Fold = true
			case 'M':
				options.Lines = true
			default:
				if pattern == "" {
					a.empty = true
					return a, nil
				}
				a.re, err = p.compile(pattern, options)
				return a, err
			}
			p.at++
		}
	default:
		return nil, nil
	}
	return a, nil
}

// until reads up to an unescaped delimiter. In an expression, a delimiter in brackets does not count for it.
func (p *sedParser) until(delimiter byte, expression bool) (string, error) {
	var out strings.Builder
	bracket := -1
	for p.more() {
		c := p.peek()
		p.at++
		switch {
		case c == delimiter && bracket < 0:
			return out.String(), nil
		case c == '\\' && p.more() && bracket < 0:
			next := p.peek()
			p.at++
			switch {
			case next == delimiter && delimiter != '\\':
				// An escaped delimiter is the character, which may be special in the expression.
				if expression && strings.IndexByte(`|+?(){}.*[]^$`, next) >= 0 {
					if strings.IndexByte(".*[]^$", next) >= 0 {
						out.WriteByte('\\')
					}
				}
				out.WriteByte(next)
			case next == 'n' && expression:
				out.WriteByte('\n')
			case next == '\n' && expression:
				out.WriteByte('\n')
			default:
				out.WriteByte('\\')
				out.WriteByte(next)
			}
			continue
		}
		if expression {
			switch {
			case bracket < 0 && c == '[':
				bracket = out.Len()
			case bracket >= 0 && c == ']' && out.Len() > bracket+1 && out.String()[bracket+1:] != "^":
				if text := out.String()[bracket:]; strings.Count(text, "[:") <= strings.Count(text+"]", ":]") {
					bracket = -1
				}
			case bracket >= 0 && c == '\\' && p.peek() == 'n':
				c = '\n'
				p.at++
			case bracket >= 0 && c == '\\' && p.peek() == 't':
				c = '\t'
				p.at++
			}
		}
		out.WriteByte(c)
	}
	return "", fmt.Errorf("unterminated")
}

func (p *sedParser) substitution(c *sedCommand) error {
	delimiter := p.peek()
	if !p.more() || delimiter == '\n' || delimiter == '\\' {
		return fmt.Errorf("unterminated `s' command")
	}
	p.at++
	pattern, err := p.until(delimiter, true)
	if err != nil {
		return fmt.Errorf("unterminated `s' command")
	}
	with, err := p.until(delimiter, false)
	if err != nil {
		return fmt.Errorf("unterminated `s' command")
	}
	c.occurrence = 1
	options := regex.Options{Extended: p.extended, Strict: p.extended}
flags:
	for p.more() {
		switch f := p.peek(); {
		case f == 'g':
			c.global = true
		case f == 'p':
			c.print = true
		case f == 'i' || f == 'I':
			options.Fold = true
		case f == 'm' || f == 'M':
			options.Lines = true
		case f >= '1' && f <= '9':
			c.occurrence = p.number()
			continue
		case f == 'w':
			p.at++
			c.file = p.word("\n")
			break flags
		case f == 'e':
			return fmt.Errorf("the flag e of s is not supported")
		default:
			break flags
		}
		p.at++
	}
	groups := 9
	if pattern == "" {
		c.empty = true
	} else {
		if c.re, err = p.compile(pattern, options); err != nil {
			return err
		}
		groups = c.re.Groups()
	}
	if c.with, err = replacementParts(with, groups); err != nil {
		return err
	}
	if c.file != "" {
		return nil
	}
	if err := p.finish(); err != nil {
		return fmt.Errorf("unknown option to `s'")
	}
	return nil
}

// replacementParts splits a replacement at &, \1 and \U.
func replacementParts(text string, groups int) ([]sedPart, error) {
	var parts []sedPart
	var plain strings.Builder
	flush := func() {
		if plain.Len() > 0 {
			parts = append(parts, sedPart{text: plain.String(), group: -1})
			plain.Reset()
		}
	}
	for i := 0; i < len(text); i++ {
		c := text[i]
		if c == '&' {
			flush()
			parts = append(parts, sedPart{group: 0})
			continue
		}
		if c != '\\' || i+1 == len(text) {
			plain.WriteByte(c)
			continue
		}
		i++
		switch n := text[i]; {
		case n >= '0' && n <= '9':
			if int(n-'0') > groups {
				return nil, fmt.Errorf("invalid reference \\%c on `s' command's RHS", n)
			}
			flush()
			parts = append(parts, sedPart{group: int(n - '0')})
		case strings.IndexByte("ULulE", n) >= 0:
			flush()
			parts = append(parts, sedPart{shape: n, group: -1})
		case n == 'n':
			plain.WriteByte('\n')
		case n == 't':
			plain.WriteByte('\t')
		case n == 'r':
			plain.WriteByte('\r')
		case n == 'a' || n == 'f' || n == 'v':
			plain.WriteByte("\a\f\v"[strings.IndexByte("afv", n)])
		default:
			plain.WriteByte(n)
		}
	}
	flush()
	return parts, nil
}

func (p *sedParser) transliteration(c *sedCommand) error {
	delimiter := p.peek()
	p.at++
	from, err := p.until(delimiter, false)
	if err == nil {
		var to string
		if to, err = p.until(delimiter, false); err == nil {
			unescape := strings.NewReplacer(`\\`, `\`, `\n`, "\n", `\t`, "\t")
			a, b := []rune(unescape.Replace(from)), []rune(unescape.Replace(to))
			if len(a) != len(b) {
				return fmt.Errorf("strings for `y' command are different lengths")
			}
			c.table = map[rune]rune{}
			for i := range a {
				if _, ok := c.table[a[i]]; !ok {
					c.table[a[i]] = b[i]
				}
			}
			return p.finish()
		}
	}
	return fmt.Errorf("unterminated `y' command")
}
