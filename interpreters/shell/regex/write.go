package regex

import (
	"fmt"
	"regexp"
	"strings"
)

// The translation to package regexp.

func (l *literal) write(out *strings.Builder, _ Options) error {
	out.WriteString(regexp.QuoteMeta(string(l.c)))
	return nil
}

func (*anyChar) write(out *strings.Builder, _ Options) error {
	out.WriteByte('.')
	return nil
}

func (s *set) write(out *strings.Builder, _ Options) error {
	out.WriteByte('[')
	if s.negated {
		out.WriteByte('^')
	}
	for _, r := range s.ranges {
		fmt.Fprintf(out, `\x{%x}-\x{%x}`, r[0], r[1])
	}
	for _, class := range s.classes {
		out.WriteString(classText[class])
	}
	out.WriteByte(']')
	return nil
}

func (a *anchor) write(out *strings.Builder, o Options) error {
	switch a.kind {
	case '^':
		out.WriteByte('^')
	case '$':
		// Without lines, $ of package regexp is the end of the text, as it is here.
		out.WriteByte('$')
	case 'b', 'B':
		out.WriteByte('\\')
		out.WriteByte(a.kind)
	case '`':
		out.WriteString(`\A`)
	case '\'':
		out.WriteString(`\z`)
	}
	return nil
}

func (g *group) write(out *strings.Builder, o Options) error {
	if g.index == 0 {
		out.WriteString("(?:")
	} else {
		out.WriteByte('(')
	}
	err := g.body.write(out, o)
	out.WriteByte(')')
	return err
}

func (r *repeat) write(out *strings.Builder, o Options) error {
	out.WriteString("(?:")
	if err := r.body.write(out, o); err != nil {
		return err
	}
	out.WriteByte(')')
	switch {
	case r.min == 0 && r.max < 0:
		out.WriteByte('*')
	case r.min == 1 && r.max < 0:
		out.WriteByte('+')
	case r.min == 0 && r.max == 1:
		out.WriteByte('?')
	case r.max < 0:
		fmt.Fprintf(out, "{%d,}", r.min)
	default:
		fmt.Fprintf(out, "{%d,%d}", r.min, r.max)
	}
	if r.lazy {
		out.WriteByte('?')
	}
	return nil
}

func (s *sequence) write(out *strings.Builder, o Options) error {
	for _, part := range s.parts {
		if err := part.write(out, o); err != nil {
			return err
		}
	}
	return nil
}

func (c *choice) write(out *strings.Builder, o Options) error {
	out.WriteString("(?:")
	for i, alternative := range c.alternatives {
		if i > 0 {
			out.WriteByte('|')
		}
		if err := alternative.write(out, o); err != nil {
			return err
		}
	}
	out.WriteByte(')')
	return nil
}

func (*reference) write(*strings.Builder, Options) error { return unsupported("a back-reference") }

func (*look) write(*strings.Builder, Options) error { return unsupported("a look-around") }
