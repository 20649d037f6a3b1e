package regex

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// backtracker matches expressions with back-references. It tries every way, the longest repetitions first, and takes
// the longest match of those that begin leftmost, as POSIX wants it.
type backtracker struct {
	root   node
	groups int
	fold   bool
	lines  bool
	first  bool // the first way counts, as in Perl
}

// maxSteps bounds the ways that are tried for one text. A match that takes longer counts as a hostile expression.
const maxSteps = 2_000_000

// TooHard is the panic of a match that exceeds the steps.
type TooHard struct{}

func (TooHard) Error() string {
	return "the regular expression needs too many steps: write it without back-references"
}

type state struct {
	*backtracker
	text  string
	at    []int
	steps int
	best  []int
}

func (b *backtracker) find(text string, from int) []int {
	for start := from; start <= len(text); start++ {
		if start < len(text) && !utf8.RuneStart(text[start]) {
			continue
		}
		s := &state{backtracker: b, text: text, at: make([]int, 2*(b.groups+1))}
		for i := range s.at {
			s.at[i] = -1
		}
		s.run(b.root, start, func(end int) bool {
			if s.best == nil || end > s.best[1] {
				s.best = append([]int(nil), s.at...)
				s.best[0], s.best[1] = start, end
			}
			return b.first || end == len(text)
		})
		if s.best != nil {
			return s.best
		}
	}
	return nil
}

// run matches a node at a position, and calls next with each end. next returns true to stop.
func (s *state) run(n node, at int, next func(int) bool) bool {
	if s.steps++; s.steps > maxSteps {
		panic(TooHard{})
	}
	switch n := n.(type) {
	case *literal:
		return s.one(at, func(c rune) bool { return c == n.c || s.fold && unicode.ToLower(c) == unicode.ToLower(n.c) }, next)
	case *anyChar:
		return s.one(at, func(rune) bool { return true }, next)
	case *set:
		return s.one(at, func(c rune) bool {
			return n.contains(c) || s.fold && (n.contains(unicode.ToLower(c)) || n.contains(unicode.ToUpper(c)))
		}, next)
	case *anchor:
		return s.anchored(n.kind, at) && next(at)
	case *group:
		return s.group(n, at, next)
	case *sequence:
		return s.sequence(n.parts, at, next)
	case *choice:
		for _, alternative := range n.alternatives {
			if s.run(alternative, at, next) {
				return true
			}
		}
		return false
	case *repeat:
		return s.repeat(n, 0, at, next)
	case *reference:
		from, to := s.at[2*n.index], s.at[2*n.index+1]
		if from < 0 {
			return false
		}
		part := s.text[from:to]
		rest := s.text[at:]
		if len(rest) < len(part) || rest[:len(part)] != part && !(s.fold && strings.EqualFold(rest[:len(part)], part)) {
			return false
		}
		return next(at + len(part))
	case *look:
		return s.look(n, at) && next(at)
	}
	return false
}

func (s *state) one(at int, ok func(rune) bool, next func(int) bool) bool {
	if at >= len(s.text) {
		return false
	}
	c, size := utf8.DecodeRuneInString(s.text[at:])
	return ok(c) && next(at+size)
}

func (s *state) group(g *group, at int, next func(int) bool) bool {
	if g.index == 0 {
		return s.run(g.body, at, next)
	}
	from, to := s.at[2*g.index], s.at[2*g.index+1]
	if s.run(g.body, at, func(end int) bool {
		innerFrom, innerTo := s.at[2*g.index], s.at[2*g.index+1]
		s.at[2*g.index], s.at[2*g.index+1] = at, end
		if next(end) {
			return true
		}
		s.at[2*g.index], s.at[2*g.index+1] = innerFrom, innerTo
		return false
	}) {
		return true
	}
	s.at[2*g.index], s.at[2*g.index+1] = from, to
	return false
}

func (s *state) sequence(parts []node, at int, next func(int) bool) bool {
	if len(parts) == 0 {
		return next(at)
	}
	return s.run(parts[0], at, func(end int) bool { return s.sequence(parts[1:], end, next) })
}

func (s *state) repeat(r *repeat, count, at int, next func(int) bool) bool {
	again := func() bool {
		if r.max >= 0 && count >= r.max {
			return false
		}
		return s.run(r.body, at, func(end int) bool {
			if end == at && count >= r.min {
				return false
			}
			return s.repeat(r, count+1, end, next)
		})
	}
	if r.lazy {
		return count >= r.min && next(at) || again()
	}
	return again() || count >= r.min && next(at)
}

func (s *state) look(l *look, at int) bool {
	found := false
	if l.behind {
		for start := at; start >= 0 && !found; start-- {
			s.run(l.body, start, func(end int) bool {
				found = found || end == at
				return found
			})
		}
	} else {
		found = s.run(l.body, at, func(int) bool { return true })
	}
	return found != l.negated
}

func (s *state) anchored(kind byte, at int) bool {
	word := func(i int) bool {
		if i < 0 || i >= len(s.text) {
			return false
		}
		c := s.text[i]
		return c == '_' || c >= 0x80 || c >= '0' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'z'
	}
	before, after := word(at-1), word(at)
	switch kind {
	case '^':
		return at == 0 || s.lines && s.text[at-1] == '\n'
	case '$':
		return at == len(s.text) || s.lines && s.text[at] == '\n'
	case 'b':
		return before != after
	case 'B':
		return before == after
	case '<':
		return !before && after
	case '>':
		return before && !after
	case '`':
		return at == 0
	}
	return at == len(s.text)
}
