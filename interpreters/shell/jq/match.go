package jq

import (
	"regexp"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/boathook/boathook/interpreters/shell/regex"
)

// found is a match in a text: offsets in bytes, and its groups.
type found struct {
	text     string
	from, to int
	groups   [][2]int // -1 where a group does not take part
	names    []string
}

var expressions sync.Map

type compiled struct {
	re    *regexp.Regexp
	other *regex.Regexp
	err   error
}

func compileRegexp(pattern, flags string) (*compiled, error) {
	key := flags + "/" + pattern
	if c, ok := expressions.Load(key); ok {
		return c.(*compiled), c.(*compiled).err
	}
	mode := ""
	fold := false
	for _, f := range flags {
		switch f {
		case 'g', 'n':
		case 'i':
			mode += "i"
			fold = true
		case 's':
			// Single line mode, which is the default here.
		case 'p', 'l':
			if f == 'p' {
				mode += "s"
			}
		case 'x':
			pattern = withoutSpace(pattern)
		default:
			return nil, failf("%s is not a valid modifier string", flags)
		}
	}
	c := &compiled{}
	text := pattern
	if mode != "" {
		text = "(?" + mode + ")" + pattern
	}
	c.re, c.err = regexp.Compile(text)
	if c.err != nil && !strings.Contains(pattern, "(?<") {
		// Look-around and back-references.
		if other, err := regex.Compile(pattern, regex.Options{Perl: true, Fold: fold}); err == nil {
			c.other, c.err = other, nil
		}
	}
	if c.err != nil {
		c.err = failf("%s (at offset 0) is not a valid regex: %s", pattern, strings.TrimPrefix(c.err.Error(), "error parsing regexp: "))
	}
	expressions.Store(key, c)
	return c, c.err
}

func withoutSpace(pattern string) string {
	var out strings.Builder
	for i := 0; i < len(pattern); i++ {
		switch {
		case pattern[i] == '\\' && i+1 < len(pattern):
			out.WriteString(pattern[i : i+2])
			i++
		case strings.IndexByte(" \t\n", pattern[i]) >= 0:
		case pattern[i] == '#':
			for i < len(pattern) && pattern[i] != '\n' {
				i++
			}
		default:
			out.WriteByte(pattern[i])
		}
	}
	return out.String()
}

func findMatches(text, pattern, flags string, global bool) (matches []found, err error) {
	c, err := compileRegexp(pattern, flags)
	if err != nil {
		return nil, err
	}
	defer func() {
		if reason := recover(); reason != nil {
			hard, ok := reason.(regex.TooHard)
			if !ok {
				panic(reason)
			}
			err = failf("%s", hard.Error())
		}
	}()
	var all [][]int
	var names []string
	switch {
	case c.other != nil:
		c.other.Each(text, func(at []int) bool {
			all = append(all, append([]int(nil), at...))
			return global
		})
		names = make([]string, c.other.Groups()+1)
	case global:
		all = c.re.FindAllStringSubmatchIndex(text, -1)
		names = c.re.SubexpNames()
	default:
		if at := c.re.FindStringSubmatchIndex(text); at != nil {
			all = [][]int{at}
		}
		names = c.re.SubexpNames()
	}
	for _, at := range all {
		m := found{text: text, from: at[0], to: at[1], names: names[1:]}
		for i := 2; i < len(at); i += 2 {
			m.groups = append(m.groups, [2]int{at[i], at[i+1]})
		}
		if strings.Contains(flags, "n") && m.from == m.to {
			continue
		}
		matches = append(matches, m)
	}
	return matches, nil
}

// captures is the object that a replacement gets.
func (m *found) captures() *Object {
	o := NewObject()
	for i, g := range m.groups {
		if m.names[i] == "" {
			continue
		}
		if g[0] < 0 {
			o.Set(m.names[i], nil)
		} else {
			o.Set(m.names[i], m.text[g[0]:g[1]])
		}
	}
	return o
}

// object is a match as match/1 gives it, with offsets in code points.
func (m *found) object() *Object {
	offset := func(at int) float64 { return float64(utf8.RuneCountInString(m.text[:at])) }
	o := NewObject()
	o.Set("offset", offset(m.from))
	o.Set("length", float64(utf8.RuneCountInString(m.text[m.from:m.to])))
	o.Set("string", m.text[m.from:m.to])
	captures := []any{}
	for i, g := range m.groups {
		c := NewObject()
		if g[0] < 0 {
			c.Set("offset", -1.0)
			c.Set("length", 0.0)
			c.Set("string", nil)
		} else {
			c.Set("offset", offset(g[0]))
			c.Set("length", float64(utf8.RuneCountInString(m.text[g[0]:g[1]])))
			c.Set("string", m.text[g[0]:g[1]])
		}
		if m.names[i] == "" {
			c.Set("name", nil)
		} else {
			c.Set("name", m.names[i])
		}
		captures = append(captures, c)
	}
	o.Set("captures", captures)
	return o
}

// match is _match(regex; flags; test).
func match(_ *evaluator, in any, args []any) (any, error) {
	text, ok := in.(string)
	if !ok {
		return nil, failf("%s cannot be matched, as it is not a string", describe(in))
	}
	pattern, ok := args[0].(string)
	if !ok {
		return nil, failf("%s cannot be matched, as it is not a string", describe(args[0]))
	}
	flags, _ := args[1].(string)
	if args[1] != nil && flags == "" && args[1] != "" {
		return nil, failf("%s is not a string", describe(args[1]))
	}
	matches, err := findMatches(text, pattern, flags, strings.Contains(flags, "g"))
	if err != nil {
		return nil, err
	}
	if truthy(args[2]) {
		return len(matches) > 0, nil
	}
	list := make([]any, len(matches))
	for i := range matches {
		list[i] = matches[i].object()
	}
	return list, nil
}
