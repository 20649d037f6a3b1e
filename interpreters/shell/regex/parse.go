package regex

import (
	"errors"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// node is a part of an expression.
type node interface {
	write(out *strings.Builder, o Options) error
}

type (
	literal struct{ c rune }
	anyChar struct{}
	set     struct {
		negated bool
		ranges  [][2]rune
		classes []string
	}
	anchor struct{ kind byte } // ^ $ b B < > ` '
	group  struct {
		index int // 0 where it does not capture
		body  node
	}
	repeat struct {
		body     node
		min, max int // max -1 is no bound
		lazy     bool
	}
	sequence  struct{ parts []node }
	choice    struct{ alternatives []node }
	reference struct{ index int }
	look      struct {
		behind, negated bool
		body            node
	}
)

type parser struct {
	options       Options
	pattern       string
	at            int
	groups        int
	depth         int
	backReference bool
	lookaround    bool
	open          []int
}

func (p *parser) parse() (node, error) {
	root, err := p.alternatives()
	if err == nil && p.at < len(p.pattern) {
		err = errors.New("Unmatched ) or \\)")
	}
	return root, err
}

func (p *parser) extended() bool { return p.options.Extended || p.options.Perl || p.options.Awk }

func (p *parser) has(text string) bool { return strings.HasPrefix(p.pattern[p.at:], text) }

func (p *parser) take(text string) bool {
	if p.has(text) {
		p.at += len(text)
		return true
	}
	return false
}

func (p *parser) bar() string {
	if p.extended() {
		return "|"
	}
	return `\|`
}

func (p *parser) closing() string {
	if p.extended() {
		return ")"
	}
	return `\)`
}

func (p *parser) alternatives() (node, error) {
	if p.depth++; p.depth > 200 {
		return nil, errors.New("regular expression too big: more than 200 nested groups")
	}
	defer func() { p.depth-- }()
	var list []node
	for {
		part, err := p.sequence()
		if err != nil {
			return nil, err
		}
		list = append(list, part)
		if !p.take(p.bar()) {
			break
		}
	}
	if len(list) == 1 {
		return list[0], nil
	}
	return &choice{list}, nil
}

func (p *parser) sequence() (node, error) {
	var parts []node
	for p.at < len(p.pattern) {
		if p.has(p.bar()) || p.has(p.closing()) && (p.depth > 1 || !p.extended()) {
			break
		}
		atom, err := p.atom(len(parts) == 0)
		if err != nil {
			return nil, err
		}
		for {
			repeated, ok, err := p.repetition(atom)
			if err != nil {
				return nil, err
			}
			if !ok {
				break
			}
			atom = repeated
		}
		parts = append(parts, atom)
	}
	return &sequence{parts}, nil
}

// atom reads one element. first says that it begins the expression or a group, where * and ^ mean something else.
func (p *parser) atom(first bool) (node, error) {
	c, size := utf8.DecodeRuneInString(p.pattern[p.at:])
	switch c {
	case '[':
		return p.bracket()
	case '.':
		p.at++
		return &anyChar{}, nil
	case '^':
		if p.extended() || first {
			p.at++
			return &anchor{'^'}, nil
		}
	case '$':
		rest := p.pattern[p.at+1:]
		if p.extended() || rest == "" || strings.HasPrefix(rest, `\)`) || strings.HasPrefix(rest, `\|`) {
			p.at++
			return &anchor{'$'}, nil
		}
	case '(':
		if p.extended() {
			p.at++
			return p.group()
		}
	case '*':
		if !p.extended() && first {
			p.at++
			return &literal{'*'}, nil
		}
		if p.extended() && first && p.options.Strict {
			return nil, errors.New("Invalid preceding regular expression")
		}
		if p.extended() && first && !p.options.Perl {
			p.at++
			return &literal{'*'}, nil
		}
	case '+', '?':
		if p.extended() && first {
			return nil, errors.New("Invalid preceding regular expression")
		}
	case '{':
		if p.extended() {
			if _, _, _, ok := p.bounds(); ok && first {
				return nil, errors.New("Invalid preceding regular expression")
			}
		}
	case '\\':
		return p.escaped()
	}
	p.at += size
	if c == utf8.RuneError && size == 1 {
		c = rune(p.pattern[p.at-1])
	}
	return &literal{c}, nil
}

func (p *parser) group() (node, error) {
	index := 0
	if p.options.Perl && p.has("?") {
		switch {
		case p.take("?:"):
		case p.take("?="), p.take("?!"), p.take("?<="), p.take("?<!"):
			text := p.pattern[:p.at]
			l := &look{negated: strings.HasSuffix(text, "!"), behind: strings.HasSuffix(text, "<=") || strings.HasSuffix(text, "<!")}
			p.lookaround = true
			body, err := p.alternatives()
			if err != nil {
				return nil, err
			}
			if !p.take(")") {
				return nil, errors.New("Unmatched ( or \\(")
			}
			l.body = body
			return l, nil
		case p.take("?<"), p.take("?P<"):
			end := strings.IndexByte(p.pattern[p.at:], '>')
			if end < 0 {
				return nil, errors.New("unmatched (?<")
			}
			p.at += end + 1
			p.groups++
			index = p.groups
		default:
			return nil, fmt.Errorf("the group %s is not supported", p.pattern[p.at-1:])
		}
	} else {
		p.groups++
		index = p.groups
	}
	p.open = append(p.open, index)
	body, err := p.alternatives()
	p.open = p.open[:len(p.open)-1]
	if err != nil {
		return nil, err
	}
	if !p.take(p.closing()) {
		return nil, errors.New("Unmatched ( or \\(")
	}
	return &group{index, body}, nil
}

// escaped reads what begins with a backslash.
func (p *parser) escaped() (node, error) {
	p.at++
	if p.at == len(p.pattern) {
		return nil, errors.New("Trailing backslash")
	}
	c, size := utf8.DecodeRuneInString(p.pattern[p.at:])
	p.at += size
	if !p.extended() && c == '(' {
		return p.group()
	}
	if c >= '1' && c <= '9' && !p.options.Awk {
		index := int(c - '0')
		if index > p.groups {
			return nil, errors.New("Invalid back reference")
		}
		p.backReference = true
		return &reference{index}, nil
	}
	if p.options.Awk || p.options.Perl {
		if at := strings.IndexRune("nrtfva", c); at >= 0 {
			return &literal{rune("\n\r\t\f\v\a"[at])}, nil
		}
	}
	if c == 'n' {
		// sed and grep differ on \n; sed's parser has replaced it before.
		return &literal{'\n'}, nil
	}
	if c == 't' {
		return &literal{'\t'}, nil
	}
	switch c {
	case 'w':
		return &set{classes: []string{"word"}}, nil
	case 'W':
		return &set{negated: true, classes: []string{"word"}}, nil
	case 's':
		return &set{classes: []string{"space"}}, nil
	case 'S':
		return &set{negated: true, classes: []string{"space"}}, nil
	case 'b', 'B', '<', '>', '`', '\'':
		if p.options.Awk && c == 'b' {
			return &literal{'\b'}, nil
		}
		if !p.options.Perl || c == 'b' || c == 'B' {
			if c == '<' || c == '>' {
				// Package regexp has no boundaries of one side.
				p.lookaround = true
			}
			return &anchor{byte(c)}, nil
		}
	}
	if p.options.Perl {
		switch c {
		case 'd':
			return &set{classes: []string{"digit"}}, nil
		case 'D':
			return &set{negated: true, classes: []string{"digit"}}, nil
		case 'A':
			return &anchor{'`'}, nil
		case 'z', 'Z':
			return &anchor{'\''}, nil
		case 'h':
			return &set{classes: []string{"blank"}}, nil
		case 'K', 'R', 'Q', 'E', 'G', 'X', 'p', 'P', 'x', 'N', 'H', 'v', 'V':
			return nil, fmt.Errorf("\\%c is not supported in a regular expression of Perl", c)
		}
	}
	return &literal{c}, nil
}

// bounds reads {n,m} without consuming it.
func (p *parser) bounds() (low, high, size int, ok bool) {
	open, end := "{", "}"
	if !p.extended() {
		open, end = `\{`, `\}`
	}
	if !p.has(open) {
		return 0, 0, 0, false
	}
	text := p.pattern[p.at+len(open):]
	stop := strings.Index(text, end)
	if stop < 0 {
		return 0, 0, 0, false
	}
	first, second, comma := strings.Cut(text[:stop], ",")
	number := func(text string) (int, bool) {
		n := 0
		for _, c := range text {
			if c < '0' || c > '9' || n > 10_000 {
				return 0, false
			}
			n = n*10 + int(c-'0')
		}
		return n, text != ""
	}
	low, ok = number(first)
	if !ok && first == "" && comma {
		low, ok = 0, true
	}
	if !ok {
		return 0, 0, 0, false
	}
	high = low
	if comma {
		high = -1
		if second != "" {
			if high, ok = number(second); !ok {
				return 0, 0, 0, false
			}
		}
	}
	return low, high, len(open) + stop + len(end), true
}

func (p *parser) repetition(atom node) (node, bool, error) {
	if p.at == len(p.pattern) {
		return nil, false, nil
	}
	if low, high, size, ok := p.bounds(); ok {
		p.at += size
		if high >= 0 && high < low || max(low, high) > 255 {
			return nil, false, errors.New("Invalid content of \\{\\}")
		}
		return p.lazy(&repeat{body: atom, min: low, max: high}), true, nil
	}
	if start, isAnchor := atom.(*anchor); isAnchor && start.kind == '^' && p.options.Strict && p.at < len(p.pattern) && strings.IndexByte("*+?", p.pattern[p.at]) >= 0 {
		return nil, false, errors.New("Invalid preceding regular expression")
	}
	if _, isAnchor := atom.(*anchor); isAnchor && !p.extended() {
		if p.take("*") {
			return &sequence{[]node{atom, &literal{'*'}}}, true, nil
		}
	}
	plus, question := `\+`, `\?`
	if p.extended() {
		plus, question = "+", "?"
	}
	switch {
	case p.take("*"):
		return p.lazy(&repeat{body: atom, min: 0, max: -1}), true, nil
	case p.take(plus):
		return p.lazy(&repeat{body: atom, min: 1, max: -1}), true, nil
	case p.take(question):
		return p.lazy(&repeat{body: atom, min: 0, max: 1}), true, nil
	}
	return nil, false, nil
}

func (p *parser) lazy(r *repeat) node {
	if p.options.Perl && p.take("?") {
		r.lazy = true
	}
	return r
}

// bracket reads [ … ].
func (p *parser) bracket() (node, error) {
	text := p.pattern[p.at+1:]
	s := &set{}
	at := 0
	if strings.HasPrefix(text, "^") {
		s.negated = true
		at++
	}
	for first := true; ; first = false {
		if at >= len(text) {
			return nil, errors.New("Unmatched [, [^, [:, [., or [=")
		}
		if text[at] == ']' && !first {
			break
		}
		if strings.HasPrefix(text[at:], "[:") {
			end := strings.Index(text[at:], ":]")
			if end < 0 {
				return nil, errors.New("Unmatched [, [^, [:, [., or [=")
			}
			name := text[at+2 : at+end]
			if _, ok := classText[name]; !ok {
				return nil, errors.New("Invalid character class name")
			}
			s.classes = append(s.classes, name)
			at += end + 2
			continue
		}
		if strings.HasPrefix(text[at:], "[.") || strings.HasPrefix(text[at:], "[=") {
			return nil, fmt.Errorf("the collating element in %s is not supported", p.pattern)
		}
		low, size, class := p.bracketChar(text[at:])
		at += size
		if class != "" {
			s.classes = append(s.classes, class)
			continue
		}
		high := low
		if at+1 < len(text) && text[at] == '-' && text[at+1] != ']' {
			high, size, _ = p.bracketChar(text[at+1:])
			at += 1 + size
			if high < low {
				return nil, errors.New("Invalid range end")
			}
		}
		s.ranges = append(s.ranges, [2]rune{low, high})
	}
	p.at += 1 + at + 1
	return s, nil
}

// bracketChar reads one character in brackets. A backslash is one, except in awk and Perl.
func (p *parser) bracketChar(text string) (c rune, size int, class string) {
	if text[0] == '\\' && (p.options.Awk || p.options.Perl) && len(text) > 1 {
		c, size := utf8.DecodeRuneInString(text[1:])
		if at := strings.IndexRune("nrtfva", c); at >= 0 {
			return rune("\n\r\t\f\v\a"[at]), 1 + size, ""
		}
		if p.options.Perl {
			switch c {
			case 'd':
				return 0, 2, "digit"
			case 'w':
				return 0, 2, "word"
			case 's':
				return 0, 2, "space"
			}
		}
		return c, 1 + size, ""
	}
	c, size = utf8.DecodeRuneInString(text)
	return c, size, ""
}

// classText are the classes as package regexp writes them.
var classText = map[string]string{
	"alpha": `\p{L}`, "digit": `0-9`, "alnum": `\p{L}\p{Nd}`, "upper": `\p{Lu}`, "lower": `\p{Ll}`, "space": `\s\v`, "blank": ` \t`,
	"punct": "!-/:-@\\[-`{-~", "xdigit": `0-9A-Fa-f`, "cntrl": `\x00-\x1f\x7f`, "print": `\x20-\x7e\x{a0}-\x{10ffff}`,
	"graph": `\x21-\x7e\x{a1}-\x{10ffff}`, "word": `\p{L}\p{Nd}_`,
}

func (s *set) contains(c rune) bool {
	found := false
	for _, r := range s.ranges {
		found = found || r[0] <= c && c <= r[1]
	}
	for _, class := range s.classes {
		found = found || inClass(class, c)
	}
	return found != s.negated
}

func inClass(name string, c rune) bool {
	switch name {
	case "alpha":
		return unicode.IsLetter(c)
	case "digit":
		return c >= '0' && c <= '9'
	case "alnum":
		return unicode.IsLetter(c) || unicode.IsDigit(c)
	case "upper":
		return unicode.IsUpper(c)
	case "lower":
		return unicode.IsLower(c)
	case "space":
		return strings.ContainsRune(" \t\n\r\f\v", c)
	case "blank":
		return c == ' ' || c == '\t'
	case "punct":
		return c > 32 && c < 127 && !unicode.IsLetter(c) && !unicode.IsDigit(c)
	case "xdigit":
		return strings.ContainsRune("0123456789abcdefABCDEF", c)
	case "cntrl":
		return c < 32 || c == 127
	case "print":
		return c >= 32 && c != 127
	case "graph":
		return c > 32 && c != 127
	case "word":
		return c == '_' || unicode.IsLetter(c) || unicode.IsDigit(c)
	}
	return false
}
