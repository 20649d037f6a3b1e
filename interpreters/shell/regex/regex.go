// Package regex compiles the regular expressions of POSIX, basic and extended, as grep, sed, awk and bash have them.
//
// Most are translated for Go's package regexp, in its leftmost-longest mode, which is linear in time. Expressions with
// back-references have no such translation: a matcher that tries every way runs them, within a number of steps.
package regex

import (
	"fmt"
	"regexp"
	"strings"
)

// Options choose the syntax.
type Options struct {
	// Extended is the syntax of grep -E; without it, that of grep.
	Extended bool
	// Perl is the syntax of grep -P, as far as package regexp and the matcher have it.
	Perl bool
	// Fold ignores case.
	Fold bool
	// Lines makes ^ and $ match at each line.
	Lines bool
	// Awk reads escapes such as \n and \/ as awk does.
	Awk bool
	// Strict refuses a repetition of nothing, as bash and sed -E do. For grep -E, it is itself.
	Strict bool
	// NoGNU leaves out \w, \b and the like.
	NoGNU bool
}

// Regexp is a compiled expression.
type Regexp struct {
	linear *regexp.Regexp
	back   *backtracker
	groups int
}

// Groups is the number of groups.
func (r *Regexp) Groups() int { return r.groups }

// Find returns the leftmost match at or after a position: pairs of offsets, -1 for groups that do not take part. Text
// before the position is seen by ^ and by \b.
func (r *Regexp) Find(text string, from int) []int {
	if r.back != nil {
		return r.back.find(text, from)
	}
	if from == 0 {
		return r.linear.FindStringSubmatchIndex(text)
	}
	// Package regexp cannot begin in the middle of a text, but its iteration knows what is before.
	if from > len(text) {
		return nil
	}
	return r.findFrom(text, from)
}

func (r *Regexp) findFrom(text string, from int) []int {
	// ^ must not match at `from`, unless it does in the whole text: one character before decides that, and word
	// boundaries.
	for n := 1; ; n *= 4 {
		all := r.linear.FindAllStringSubmatchIndex(text, n)
		if len(all) > 0 && (len(all) < n || all[len(all)-1][0] >= from) {
			for _, at := range all {
				if at[0] >= from {
					return at
				}
			}
		}
		if len(all) < n {
			return nil
		}
	}
}

// Each calls visit for the matches of a text, from left to right, as sed's g and grep -o see them: an empty match right
// after another one does not count.
func (r *Regexp) Each(text string, visit func(at []int) bool) {
	if r.back == nil {
		for _, at := range r.linear.FindAllStringSubmatchIndex(text, -1) {
			if !visit(at) {
				return
			}
		}
		return
	}
	end := -1
	for from := 0; from <= len(text); {
		at := r.back.find(text, from)
		if at == nil {
			return
		}
		if at[0] == at[1] && at[0] == end {
			from = at[1] + 1
			continue
		}
		if !visit(at) {
			return
		}
		end = at[1]
		from = at[1]
		if at[0] == at[1] {
			from++
		}
	}
}

// Match says whether there is a match.
func (r *Regexp) Match(text string) bool {
	if r.back != nil {
		return r.back.find(text, 0) != nil
	}
	return r.linear.MatchString(text)
}

// Compile compiles an expression.
func Compile(pattern string, options Options) (*Regexp, error) {
	if rest, ok := strings.CutPrefix(pattern, "(?i)"); ok && options.Perl {
		pattern, options.Fold = rest, true
	}
	p := &parser{options: options, pattern: pattern}
	root, err := p.parse()
	if err != nil {
		return nil, err
	}
	if p.backReference || p.lookaround {
		back := &backtracker{root: root, groups: p.groups, fold: options.Fold, lines: options.Lines, first: options.Perl}
		return &Regexp{back: back, groups: p.groups}, nil
	}
	var out strings.Builder
	if options.Fold {
		out.WriteString("(?i)")
	}
	// A dot of POSIX matches a newline; one of Perl does not.
	flags := "(?s)"
	if options.Perl {
		flags = ""
	}
	if options.Lines {
		flags += "(?m)"
	}
	out.WriteString(flags)
	if err := root.write(&out, options); err != nil {
		return nil, err
	}
	compiled, err := regexp.Compile(out.String())
	if err != nil {
		return nil, fmt.Errorf("the regular expression %s is not supported: %s", pattern, strings.TrimPrefix(err.Error(), "error parsing regexp: "))
	}
	if !options.Perl {
		compiled.Longest()
	}
	return &Regexp{linear: compiled, groups: p.groups}, nil
}

// Quote escapes a text for an extended expression.
func Quote(text string) string {
	var out strings.Builder
	for i := range len(text) {
		if strings.IndexByte(`\.[]*^$+?{}|()`, text[i]) >= 0 {
			out.WriteByte('\\')
		}
		out.WriteByte(text[i])
	}
	return out.String()
}

func unsupported(format string, args ...any) error { return fmt.Errorf(format, args...) }
