package commands

import (
	"io"
	"os"
	"strconv"
	"strings"

	"github.com/boathook/boathook/interpreters/shell/bash"
	"github.com/boathook/boathook/interpreters/shell/regex"
)

var grepSpec = spec{short: "EFGPivwxclLqsonHhe:f:m:A:B:C:rRaz", digits: 'C', long: map[string]string{
	"extended-regexp": "E", "fixed-strings": "F", "basic-regexp": "G", "perl-regexp": "P", "ignore-case": "i", "invert-match": "v",
	"word-regexp": "w", "line-regexp": "x", "count": "c", "files-with-matches": "l", "files-without-match": "L", "quiet": "q",
	"silent": "q", "no-messages": "s", "only-matching": "o", "line-number": "n", "with-filename": "H", "no-filename": "h",
	"regexp": "e", "file": "f", "max-count": "m", "after-context": "A", "before-context": "B", "context": "C", "recursive": "r",
	"text": "a", "null-data": "z", "include:": "", "exclude:": "", "color:": "", "colour:": "",
}}

func init() {
	define("grep", grepSpec, 2, func(c *call) int { return (&grep{call: c}).run() })
	define("egrep", grepSpec, 2, func(c *call) int { c.flags["E"] = true; return (&grep{call: c}).run() })
	define("fgrep", grepSpec, 2, func(c *call) int { c.flags["F"] = true; return (&grep{call: c}).run() })
}

type grep struct {
	*call
	patterns      []*regex.Regexp
	names         bool
	before, after int
	limit         int
	found         bool
}

func (g *grep) run() (status int) {
	defer regexTooHard(g.call, 2, &status)
	texts, operands, problem := g.patternTexts()
	if problem != "" {
		return g.Fail(2, "%s", problem)
	}
	if status := g.compile(texts); status != 0 {
		return status
	}
	number := func(letter string, otherwise int) (int, bool) {
		text := g.value(letter, "")
		if text == "" {
			return otherwise, true
		}
		n, err := strconv.Atoi(text)
		return n, err == nil
	}
	var ok [4]bool
	var both int
	both, ok[0] = number("C", 0)
	g.before, ok[1] = number("B", both)
	g.after, ok[2] = number("A", both)
	g.limit, ok[3] = number("m", -1)
	if ok != [4]bool{true, true, true, true} {
		return g.Fail(2, "invalid context length argument")
	}
	files := g.files(operands)
	g.names = (len(files) > 1 || g.flags["r"] || g.flags["R"]) && !g.flags["h"] || g.flags["H"]
	for _, name := range files {
		if g.flags["q"] && g.found {
			break
		}
		r := io.ReadCloser(nil)
		if name == "-" {
			r = io.NopCloser(g.Stdin)
		} else {
			r = g.openQuietly(name)
		}
		if r != nil {
			g.search(name, r)
			r.Close()
		}
	}
	switch {
	case g.flags["q"] && g.found:
		return 0
	case g.status != 0:
		return 2
	}
	return boolStatus(g.found)
}

func boolStatus(ok bool) int {
	if ok {
		return 0
	}
	return 1
}

// regexTooHard turns the panic of a hostile expression into an error.
func regexTooHard(c *call, code int, status *int) {
	if reason := recover(); reason != nil {
		hard, ok := reason.(regex.TooHard)
		if !ok {
			panic(reason)
		}
		*status = c.Fail(code, "%s", hard.Error())
	}
}

func (g *grep) openQuietly(name string) io.ReadCloser {
	if !g.flags["s"] {
		return g.open(name)
	}
	r, err := g.Open(name)
	if err != nil {
		g.status = 2
		return nil
	}
	return r
}

// patternTexts are the patterns of -e and -f, or the first operand.
func (g *grep) patternTexts() (texts, operands []string, problem string) {
	operands = g.args
	for _, text := range g.values["e"] {
		texts = append(texts, strings.Split(text, "\n")...)
	}
	for _, name := range g.values["f"] {
		texts = append(texts, g.allLines([]string{name}, '\n')...)
		if g.status != 0 {
			return nil, nil, name + ": cannot read the patterns"
		}
	}
	if !g.flags["e"] && !g.flags["f"] {
		if len(operands) == 0 {
			return nil, nil, "a pattern is needed"
		}
		texts, operands = strings.Split(operands[0], "\n"), operands[1:]
	}
	return texts, operands, ""
}

func (g *grep) compile(texts []string) int {
	options := regex.Options{Extended: g.flags["E"], Perl: g.flags["P"], Fold: g.flags["i"]}
	for _, text := range texts {
		if g.flags["F"] {
			text = regex.Quote(text)
			options.Extended = true
		}
		open, end := `\(`, `\)`
		if options.Extended || options.Perl {
			open, end = "(", ")"
		}
		if options.Perl {
			open = "(?:"
		}
		if g.flags["x"] {
			text = "^" + open + text + end + "$"
			if strings.Contains(text, `\1`) {
				return g.Fail(2, "-x with a back-reference is not supported: write ^ and $")
			}
		}
		re, err := g.Regex(text, options)
		if err != nil {
			return g.Fail(2, "%s", err)
		}
		g.patterns = append(g.patterns, re)
	}
	return 0
}

func (g *grep) files(operands []string) []string {
	if !g.flags["r"] && !g.flags["R"] {
		if len(operands) == 0 {
			return []string{"-"}
		}
		return operands
	}
	if len(operands) == 0 {
		operands = []string{"."}
	}
	var files []string
	for _, operand := range operands {
		err := g.FS().Walk(g.Abs(operand), func(p string, info os.FileInfo) error {
			name := operand + strings.TrimPrefix(p, g.Abs(operand))
			if patterns := g.values["include"]; len(patterns) > 0 && info.Mode().IsRegular() {
				matched := false
				for _, pattern := range patterns {
					matched = matched || bash.MatchPattern(pattern, info.Name())
				}
				if !matched {
					return nil
				}
			}
			for _, pattern := range g.values["exclude"] {
				if bash.MatchPattern(pattern, info.Name()) {
					return nil
				}
			}
			if info.Mode().IsRegular() {
				files = append(files, name)
			}
			return nil
		})
		if err != nil {
			g.failed("%s: %s", operand, bash.Reason(err))
		}
	}
	return files
}

// find returns the leftmost match of any pattern, the longest of those.
func (g *grep) find(line string, from int) []int {
	var best []int
	for _, re := range g.patterns {
		at := g.findOne(re, line, from)
		if at != nil && (best == nil || at[0] < best[0] || at[0] == best[0] && at[1] > best[1]) {
			best = at
		}
	}
	return best
}

// findOne finds a match, with -w one between characters that are not of a word.
func (g *grep) findOne(re *regex.Regexp, line string, from int) []int {
	for from <= len(line) {
		at := re.Find(line, from)
		if at == nil || !g.flags["w"] {
			return at
		}
		// A shorter match at the same place may be a word.
		for end := at[1]; end >= at[0]; end-- {
			if wordEdge(line, at[0], end) {
				if end == at[1] {
					return at
				}
				if shorter := re.Find(line[:end], at[0]); shorter != nil && shorter[0] == at[0] && shorter[1] == end {
					return shorter
				}
			}
		}
		from = at[0] + 1
	}
	return nil
}

func wordEdge(line string, start, end int) bool {
	word := func(i int) bool {
		if i < 0 || i >= len(line) {
			return false
		}
		c := line[i]
		return c == '_' || c >= 0x80 || c >= '0' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'z'
	}
	return !word(start-1) && !word(end)
}

func (g *grep) search(name string, r io.Reader) {
	shown := name
	if name == "-" {
		shown = "(standard input)"
	}
	prefix := func(number int, separator string) string {
		text := ""
		if g.names {
			text = shown + separator
		}
		if g.flags["n"] {
			text += strconv.Itoa(number) + separator
		}
		return text
	}
	count, number, lastShown, trailing := 0, 0, 0, 0
	var waiting []string
	contexts := g.before > 0 || g.after > 0
	end := string([]byte{g.zero("z")})
	g.lines(r, g.zero("z"), func(line string, _ bool) bool {
		number++
		at := g.find(line, 0)
		if (at != nil) == g.flags["v"] {
			if trailing > 0 {
				g.print(prefix(number, "-") + line + end)
				trailing--
				lastShown = number
			} else if g.before > 0 {
				if waiting = append(waiting, line); len(waiting) > g.before {
					waiting = waiting[1:]
				}
			}
			return trailing > 0 || g.limit < 0 || count < g.limit
		}
		if g.limit >= 0 && count >= g.limit {
			return false
		}
		g.found = true
		count++
		switch {
		case g.flags["q"] || g.flags["l"] || g.flags["L"]:
			return false
		case g.flags["c"]:
		case g.flags["o"]:
			g.onlyMatching(line, prefix(number, ":"))
		default:
			first := number - len(waiting)
			if contexts && lastShown > 0 && first > lastShown+1 {
				g.print("--\n")
			}
			for i, before := range waiting {
				g.print(prefix(first+i, "-") + before + end)
			}
			g.print(prefix(number, ":") + line + end)
			lastShown = number
		}
		waiting, trailing = nil, g.after
		return g.limit < 0 || count < g.limit || g.after > 0
	})
	switch {
	case g.flags["q"]:
	case g.flags["l"] && count > 0, g.flags["L"] && count == 0:
		g.print(shown + "\n")
		if g.flags["L"] {
			g.found = true
		}
	case g.flags["c"]:
		text := strconv.Itoa(count) + "\n"
		if g.names {
			text = shown + ":" + text
		}
		g.print(text)
	}
}

func (g *grep) onlyMatching(line, prefix string) {
	if g.flags["v"] {
		return
	}
	for from := 0; from <= len(line); {
		at := g.find(line, from)
		if at == nil {
			return
		}
		if at[1] > at[0] {
			g.print(prefix + line[at[0]:at[1]] + "\n")
			from = at[1]
		} else {
			from = at[1] + 1
		}
	}
}
