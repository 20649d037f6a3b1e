package uses

import (
	"fmt"
	"strings"

	"github.com/boathook/boathook/interpreters/shell/bash"
	"mvdan.cc/sh/v3/syntax"
)

// runsOthers are commands that run the command in their words.
var runsOthers = map[string]bool{"xargs": true, "env": true, "command": true, "exec": true, "timeout": true, "nohup": true, "builtin": true, "time": true}

// program is the name of a program, whose folder does not matter to the interpreter.
func program(text string) string {
	for _, dir := range []string{"/bin/", "/usr/bin/", "/usr/local/bin/", "/sbin/", "/usr/sbin/"} {
		if short, ok := strings.CutPrefix(text, dir); ok {
			return short
		}
	}
	return text
}

// starts are the words of a call at which a program can begin: the first one, and those of the command that it runs.
func starts(call *syntax.CallExpr) []int {
	if len(call.Args) == 0 {
		return nil
	}
	all := []int{0}
	first := program(bash.StaticText(call.Args[0]))
	for i := 1; i < len(call.Args); i++ {
		before := bash.StaticText(call.Args[i-1])
		if runsOthers[first] || first == "find" && (before == "-exec" || before == "-execdir") {
			all = append(all, i)
		}
	}
	return all
}

// isQuery says whether a call only asks for a command, as `command -v` does.
func isQuery(call *syntax.CallExpr) bool {
	if len(call.Args) < 2 || bash.StaticText(call.Args[0]) != "command" {
		return false
	}
	flag := bash.StaticText(call.Args[1])
	return flag == "-v" || flag == "-V"
}

// code is what a command runs as a script: the words of eval, the action of a trap, or a text or a file for a shell.
type code struct {
	words []*syntax.Word
	// file is a script, and input says that the shell reads what it runs.
	file  *syntax.Word
	input bool
	// shell says that another shell runs it, and inside that another command does.
	shell, inside bool
}

// codeOf is the code that a call runs, or nil.
func codeOf(call *syntax.CallExpr) *code {
	if len(call.Args) == 0 || isQuery(call) {
		return nil
	}
	words := call.Args
	for len(words) > 1 && (bash.StaticText(words[0]) == "builtin" || bash.StaticText(words[0]) == "command") {
		words = words[1:]
	}
	switch bash.StaticText(words[0]) {
	case "eval":
		if len(words) > 1 {
			return &code{words: words[1:]}
		}
	case "trap":
		words = words[1:]
		if len(words) > 0 && bash.StaticText(words[0]) == "--" {
			words = words[1:]
		}
		if len(words) > 1 && !strings.HasPrefix(bash.StaticText(words[0]), "-") {
			return &code{words: words[:1]}
		}
	default:
		for _, at := range starts(call) {
			if name := program(bash.StaticText(call.Args[at])); name == "bash" || name == "sh" {
				return shellCode(call.Args[at+1:], at > 0)
			}
		}
	}
	return nil
}

// shellCode is what a shell with these words runs.
func shellCode(words []*syntax.Word, inside bool) *code {
	for i := 0; i < len(words); i++ {
		flag := bash.StaticText(words[i])
		switch {
		case flag == "--version" || flag == "--help":
			return nil
		case len(flag) < 2 || flag[0] != '-' && flag[0] != '+' || flag == "--":
			if flag == "-" || flag == "--" {
				if i++; i == len(words) {
					return &code{input: true, shell: true, inside: inside}
				}
			}
			return &code{file: words[i], shell: true, inside: inside}
		case flag[1] != '-' && strings.Contains(flag, "c"):
			if i+1 < len(words) {
				return &code{words: words[i+1 : i+2], shell: true, inside: inside}
			}
			return nil
		case flag[1] != '-' && strings.Contains(flag, "s"):
			return &code{input: true, shell: true, inside: inside}
		case strings.HasSuffix(flag, "o") || strings.HasSuffix(flag, "O"):
			i++
		}
	}
	return &code{input: true, shell: true, inside: inside}
}

// staticCode is the text of words without expansions.
func staticCode(words []*syntax.Word) (string, bool) {
	var all []string
	for _, word := range words {
		text := bash.StaticText(word)
		if text == "" && !plainWord(word) {
			return "", false
		}
		all = append(all, text)
	}
	return strings.Join(all, " "), true
}

// runCode visits what a command runs as a script. It says whether nothing is left to be run.
func (a *analysis) runCode(f *frame, s *syntax.Stmt, call *syntax.CallExpr) bool {
	c := codeOf(call)
	if c == nil {
		return false
	}
	line := int(call.Pos().Line())
	// What the code does has places of its own.
	visited := func() bool {
		a.cover(call)
		return true
	}
	unknown := func() bool {
		a.cover(call)
		a.problem(f.file, line, fmt.Sprintf("what %s runs is not known before a run", shortened(oneLine(printedCommand(&syntax.Stmt{Cmd: call})))), false)
		return true
	}
	switch {
	case c.file != nil:
		if len(a.ran(c.file)) == 0 && !aboutItself(c.file) {
			return unknown()
		}
		return visited()
	case c.input:
		for _, r := range s.Redirs {
			switch {
			case (r.Op == syntax.Hdoc || r.Op == syntax.DashHdoc) && r.Hdoc != nil:
				if text := r.Hdoc.Lit(); text != "" || len(r.Hdoc.Parts) == 0 {
					return a.nested(f, text, int(r.Hdoc.Pos().Line()), true) && visited() || unknown()
				}
			case r.Op == syntax.WordHdoc && plainWord(r.Word):
				return a.nested(f, bash.StaticText(r.Word), line, true) && visited() || unknown()
			}
		}
		return unknown()
	}
	if text, ok := staticCode(c.words); ok {
		if c.inside || c.shell && strings.Contains(text, "$0") {
			// Its words are those of the other command.
			return false
		}
		return a.nested(f, text, line, c.shell) && visited() || unknown()
	}
	texts, known := []string{""}, true
	for i, word := range c.words {
		var next []string
		for _, one := range a.word(f, word, "a command") {
			known = known && one.known
			for _, before := range texts {
				if i > 0 {
					before += " "
				}
				next = append(next, before+one.text)
			}
		}
		if len(next) > maxValues {
			known, next = false, next[:maxValues]
		}
		texts = next
	}
	if known && !c.inside {
		for _, text := range texts {
			if !a.nested(f, text, line, c.shell) {
				return unknown()
			}
		}
		return visited()
	}
	for _, text := range append(texts, printedWords(c.words)) {
		if a.mentions(text) || hasPlaceholder(strings.Fields(text + " .")[0]) && len(c.words) == 1 && onlyVariable(c.words[0]) {
			return unknown()
		}
	}
	return true
}

// nested visits a text that is run. A text that is not valid is not known.
func (a *analysis) nested(f *frame, text string, line int, shell bool) bool {
	if a.texts++; a.texts > maxWalked || f.nested >= maxDepth {
		return false
	}
	source, err := bash.Parse(f.file, strings.Repeat("\n", max(line-1, 0))+text, bash.DefaultLimits)
	if err != nil {
		return false
	}
	a.markCalls(f.file, source.File())
	inner := f
	if shell {
		inner = newFrame(f)
		inner.file, inner.caller, inner.given, inner.depth = f.file, f.caller, false, f.depth
		inner.collect(f.file, source.File().Stmts)
	}
	inner.nested++
	a.stmts(inner, source.File().Stmts)
	inner.nested--
	return true
}

// mentions says whether a text has a word that makes requests.
func (a *analysis) mentions(text string) bool {
	for _, word := range strings.FieldsFunc(text, func(c rune) bool { return strings.ContainsRune(" \t\n;|&(){}\"'`$", c) }) {
		if program(word) == "kubectl" || strings.HasPrefix(word, "kubernetes::") {
			return true
		}
		if fn := a.functions[word]; fn != nil && a.needsAny(fn) {
			return true
		}
	}
	return false
}

// onlyVariable says whether a word is nothing but a variable.
func onlyVariable(word *syntax.Word) bool {
	parts := word.Parts
	if len(parts) == 1 {
		if quoted, ok := parts[0].(*syntax.DblQuoted); ok {
			parts = quoted.Parts
		}
	}
	if len(parts) != 1 {
		return false
	}
	_, ok := parts[0].(*syntax.ParamExp)
	return ok
}

func printedWords(words []*syntax.Word) string {
	var all []string
	for _, word := range words {
		all = append(all, printed(word))
	}
	return strings.Join(all, " ")
}

// aboutItself says whether a word is the script that runs.
func aboutItself(word *syntax.Word) bool {
	switch printed(word) {
	case `"$0"`, "$0", `"${BASH_SOURCE[0]}"`, `"$BASH_SOURCE"`:
		return true
	}
	return false
}

// ran are the files of the hook that a word at the begin of a command names.
func (a *analysis) ran(word *syntax.Word) []string {
	if lastLiteral(word) == "" {
		return nil
	}
	return matching(word, a.all)
}

// runFiles are the files that a call runs as scripts of their own.
func (a *analysis) runFiles(call *syntax.CallExpr) []string {
	if c := codeOf(call); c != nil {
		if c.file != nil {
			return a.ran(c.file)
		}
		return nil
	}
	var all []string
	for _, at := range starts(call) {
		if word := call.Args[at]; strings.Contains(lastLiteral(word), "/") && program(bash.StaticText(word)) == bash.StaticText(word) {
			all = append(all, a.ran(word)...)
		}
	}
	return all
}
