package bash

import (
	"sort"
	"strings"
	"unicode"
	"unicode/utf8"
)

// match says whether a pattern matches a whole text.
func (s *Shell) match(pattern, text string) bool {
	m := matcher{plain: !s.extra["extglob"], steps: s.tick}
	return m.match(pattern, text)
}

// matchFolded is match where nocasematch counts: in case, and in ${name/pattern/text}.
func (s *Shell) matchFolded(pattern, text string) bool {
	m := matcher{fold: s.extra["nocasematch"], plain: !s.extra["extglob"], steps: s.tick}
	return m.match(pattern, text)
}

// matchExtended is match for [[, where the extended operators are always on.
func (s *Shell) matchExtended(pattern, text string) bool {
	m := matcher{fold: s.extra["nocasematch"], steps: s.tick}
	return m.match(pattern, text)
}

// matcher compares texts with patterns, which have *, ?, [ ] and the extended operators. A backslash quotes.
type matcher struct {
	fold bool
	// plain says that the extended operators are text.
	plain bool
	steps func()
}

func (m *matcher) match(pattern, text string) bool {
	// The last star is tried again with one more character; earlier stars need not be.
	var backPattern, backText string
	back := false
	for {
		if m.steps != nil && back {
			m.steps()
		}
		if op, alternatives, rest, ok := extended(pattern); ok && !m.plain {
			if m.extended(op, alternatives, rest, text) {
				return true
			}
		} else if pattern != "" && pattern[0] == '*' {
			pattern = strings.TrimLeft(pattern, "*")
			if pattern == "" {
				return true
			}
			if _, _, _, ok := extended("*" + pattern); ok && !m.plain {
				pattern = "*" + pattern
			}
			backPattern, backText, back = pattern, text, true
			continue
		} else if pattern == "" && text == "" {
			return true
		} else if size, rest, ok := m.one(pattern, text); ok {
			pattern, text = rest, text[size:]
			continue
		}
		if !back || backText == "" {
			return false
		}
		_, size := utf8.DecodeRuneInString(backText)
		backText = backText[size:]
		if backText == "" && !m.plain && strings.HasPrefix(backPattern, "!(") {
			// bash does not try the end of the text there.
			return false
		}
		pattern, text = backPattern, backText
	}
}

// one matches the first element of a pattern with the first character.
func (m *matcher) one(pattern, text string) (size int, rest string, ok bool) {
	if pattern == "" || text == "" {
		return 0, "", false
	}
	c, size := utf8.DecodeRuneInString(text)
	switch pattern[0] {
	case '?':
		return size, pattern[1:], true
	case '[':
		if matched, rest, ok := m.bracket(pattern, c); ok {
			return size, rest, matched
		}
	case '\\':
		if len(pattern) > 1 {
			pattern = pattern[1:]
		}
	}
	p, width := utf8.DecodeRuneInString(pattern)
	if c == utf8.RuneError && size == 1 {
		return size, pattern[width:], pattern[0] == text[0]
	}
	return size, pattern[width:], p == c || m.fold && unicode.ToLower(p) == unicode.ToLower(c)
}

// bracket matches [ … ]. It is not ok where the bracket is not closed, and means itself.
func (m *matcher) bracket(pattern string, c rune) (matched bool, rest string, ok bool) {
	at := 1
	negated := at < len(pattern) && (pattern[at] == '!' || pattern[at] == '^')
	if negated {
		at++
	}
	for first := true; ; first = false {
		if at >= len(pattern) {
			return false, "", false
		}
		if pattern[at] == ']' && !first {
			break
		}
		if strings.HasPrefix(pattern[at:], "[:") {
			if end := strings.Index(pattern[at:], ":]"); end > 0 {
				if inClass(pattern[at+2:at+end], c) {
					matched = true
				}
				at += end + 2
				continue
			}
		}
		low, size := bracketRune(pattern[at:])
		at += size
		high := low
		if at+1 < len(pattern) && pattern[at] == '-' && pattern[at+1] != ']' {
			high, size = bracketRune(pattern[at+1:])
			at += 1 + size
		}
		if low <= c && c <= high || m.fold && low <= unicode.ToLower(c) && unicode.ToLower(c) <= high ||
			m.fold && low <= unicode.ToUpper(c) && unicode.ToUpper(c) <= high {
			matched = true
		}
	}
	return matched != negated, pattern[at+1:], true
}

func bracketRune(pattern string) (rune, int) {
	extra := 0
	if pattern[0] == '\\' && len(pattern) > 1 {
		pattern, extra = pattern[1:], 1
	}
	c, size := utf8.DecodeRuneInString(pattern)
	return c, size + extra
}

func inClass(name string, c rune) bool {
	ascii := c < 128
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
		return unicode.IsSpace(c)
	case "blank":
		return c == ' ' || c == '\t'
	case "punct":
		return ascii && c > 32 && c < 127 && !unicode.IsLetter(c) && !unicode.IsDigit(c) || !ascii && unicode.IsPunct(c)
	case "xdigit":
		return c >= '0' && c <= '9' || c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F'
	case "cntrl":
		return unicode.IsControl(c)
	case "print":
		return unicode.IsPrint(c)
	case "graph":
		return unicode.IsGraphic(c) && c != ' '
	case "word":
		return c == '_' || unicode.IsLetter(c) || unicode.IsDigit(c)
	}
	return false
}

// extended cuts an extended operator, such as @(a|b), from the begin of a pattern.
func extended(pattern string) (op byte, alternatives []string, rest string, ok bool) {
	if len(pattern) < 3 || pattern[1] != '(' || strings.IndexByte("?*+@!", pattern[0]) < 0 {
		return 0, nil, "", false
	}
	depth, start := 0, 2
	for i := 2; i < len(pattern); i++ {
		switch pattern[i] {
		case '\\':
			i++
		case '(':
			depth++
		case ')':
			if depth == 0 {
				return pattern[0], append(alternatives, pattern[start:i]), pattern[i+1:], true
			}
			depth--
		case '|':
			if depth == 0 {
				alternatives = append(alternatives, pattern[start:i])
				start = i + 1
			}
		}
	}
	return 0, nil, "", false
}

func (m *matcher) extended(op byte, alternatives []string, rest, text string) bool {
	any := func(part string) bool {
		for _, a := range alternatives {
			if m.match(a, part) {
				return true
			}
		}
		return false
	}
	if (op == '?' || op == '*') && m.match(rest, text) {
		return true
	}
	for end := 0; end <= len(text); end++ {
		if end < len(text) && !utf8.RuneStart(text[end]) {
			continue
		}
		if m.steps != nil {
			m.steps()
		}
		if any(text[:end]) == (op == '!') {
			continue
		}
		if m.match(rest, text[end:]) {
			return true
		}
		if (op == '*' || op == '+') && end > 0 && m.extended('*', alternatives, rest, text[end:]) {
			return true
		}
	}
	return false
}

// magicPattern says whether a pattern is more than its text.
func magicPattern(pattern string) bool {
	for i := 0; i < len(pattern); i++ {
		switch pattern[i] {
		case '\\':
			i++
		case '*', '?':
			return true
		case '[':
			if strings.IndexByte(pattern[i+1:], ']') >= 0 {
				return true
			}
		case '(':
			if i > 0 && strings.IndexByte("?*+@!", pattern[i-1]) >= 0 {
				return true
			}
		}
	}
	return false
}

// glob adds the files that a pattern matches, or the text if there are none.
func (s *Shell) glob(pattern, text string, fields []string) ([]string, error) {
	if !magicPattern(pattern) {
		return append(fields, text), nil
	}
	found := s.notIgnored(s.globPaths(pattern))
	if len(found) == 0 {
		if s.extra["failglob"] {
			return nil, &shellError{text: "no match: " + text, status: 1, discards: true}
		}
		if s.extra["nullglob"] {
			return fields, nil
		}
		return append(fields, text), nil
	}
	sort.Strings(found)
	return append(fields, found...), nil
}

// notIgnored removes the files that GLOBIGNORE names.
func (s *Shell) notIgnored(found []string) []string {
	ignored := s.text("GLOBIGNORE")
	if ignored == "" {
		return found
	}
	m := matcher{fold: s.extra["nocaseglob"], plain: !s.extra["extglob"], steps: s.tick}
	var kept []string
next:
	for _, name := range found {
		for _, pattern := range strings.Split(ignored, ":") {
			if m.match(pattern, name) {
				continue next
			}
		}
		kept = append(kept, name)
	}
	return kept
}

func (s *Shell) globPaths(pattern string) []string {
	found := []string{""}
	if strings.HasPrefix(pattern, "/") {
		found = []string{"/"}
		pattern = strings.TrimLeft(pattern, "/")
	}
	parts := strings.Split(pattern, "/")
	for i, part := range parts {
		last := i == len(parts)-1
		var next []string
		for _, dir := range found {
			next = append(next, s.globIn(dir, part, last)...)
		}
		if !last {
			for i := range next {
				if next[i] != "" && !strings.HasSuffix(next[i], "/") {
					next[i] += "/"
				}
			}
		}
		found = next
		s.checkLength(len(found)*64, "a pattern")
	}
	return found
}

func (s *Shell) globIn(dir, part string, last bool) []string {
	at := s.absolute(dir)
	if dir == "" {
		at = s.dir
	}
	if part == "" {
		if info, err := s.world.FS.Stat(at); err == nil && info.IsDir() {
			return []string{dir}
		}
		return nil
	}
	if part == "**" && s.extra["globstar"] {
		return s.globAll(dir, at, last)
	}
	if !magicPattern(part) {
		name := unescapeAll(part)
		if _, err := s.world.FS.Stat(strings.TrimSuffix(at, "/") + "/" + name); err == nil {
			return []string{dir + name}
		}
		return nil
	}
	infos, err := s.world.FS.ReadDir(at)
	if err != nil {
		return nil
	}
	m := matcher{fold: s.extra["nocaseglob"], plain: !s.extra["extglob"], steps: s.tick}
	var names []string
	for _, info := range infos {
		name := info.Name()
		if name[0] == '.' && !s.extra["dotglob"] && s.text("GLOBIGNORE") == "" && part[0] != '.' && !strings.HasPrefix(part, `\.`) {
			continue
		}
		if !last && !info.IsDir() {
			continue
		}
		if m.match(part, name) {
			names = append(names, dir+name)
		}
	}
	return names
}

// globAll is ** with globstar: all directories below, and at the end of a pattern all files, too.
func (s *Shell) globAll(dir, at string, last bool) []string {
	names := []string{}
	if !last || dir != "" {
		names = append(names, dir)
	}
	infos, _ := s.world.FS.ReadDir(at)
	for _, info := range infos {
		if info.Name()[0] == '.' && !s.extra["dotglob"] {
			continue
		}
		if info.IsDir() {
			below := s.globAll(dir+info.Name()+"/", at+"/"+info.Name(), last)
			if last && len(below) > 0 {
				below[0] = strings.TrimSuffix(below[0], "/")
			}
			names = append(names, below...)
		} else if last {
			names = append(names, dir+info.Name())
		}
	}
	return names
}

func unescapeAll(pattern string) string {
	var out strings.Builder
	for i := 0; i < len(pattern); i++ {
		if pattern[i] == '\\' && i+1 < len(pattern) {
			i++
		}
		out.WriteByte(pattern[i])
	}
	return out.String()
}

// MatchPattern says whether a pattern of file names matches a name.
func MatchPattern(pattern, name string) bool {
	m := matcher{plain: true}
	return m.match(pattern, name)
}
