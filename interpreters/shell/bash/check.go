package bash

import (
	"fmt"
	"maps"
	"slices"
	"sort"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// Problem is something in a script that cannot run here.
type Problem struct {
	File string
	Line int
	Text string
}

func (p *Problem) Error() string { return fmt.Sprintf("%s:%d: %s", p.File, p.Line, p.Text) }

// checker looks for what a run would refuse, so that a hook is refused when it is loaded.
type checker struct {
	file     string
	world    *World
	known    map[string]bool // functions of the script, and commands that it looks for
	reach    *reach
	problems []found
	unknown  []found // commands that are not known yet
	sources  []string
	files    map[string]bool
	dynamic  bool // a file is sourced that is not known
	extglob  bool
	test     [2]uint // the place of the last [[ … ]]
}

// found is a problem with its place among the functions: in one that nothing calls, it is none.
type found struct {
	problem error
	// command is the name of a command that may be a function of the script.
	command string
	in      []string
}

func newChecker(w *World) *checker {
	return &checker{world: w, known: map[string]bool{}, reach: newReach()}
}

// Check parses a script and lists what cannot run. It also returns the files that the script sources by a plain name.
func Check(file, text string, w *World) (sources []string, problems []error) {
	c := newChecker(w)
	c.file = file
	c.script(Parse(file, text, w.Limits))
	return c.finish()
}

// Library are files that all hooks have. They do not change, so they are checked once.
type Library struct {
	files, known map[string]bool
	extglob      bool
	reach        *reach
}

// NewLibrary reads what the files define. They may call functions that a hook has or not.
func NewLibrary(files map[string]string, w *World) *Library {
	c := newChecker(w)
	c.files = map[string]bool{}
	for _, file := range sortedKeys(files) {
		c.files[base(file)] = true
		c.file = file
		c.script(Parse(file, files[file], w.Limits))
	}
	return &Library{c.files, c.known, c.extglob, c.reach}
}

// CheckAll checks the files of a hook together: a function of one may be called in another. The functions of the library
// are known.
//
// What the entry cannot reach is not checked: the files of other hooks lie beside it.
func CheckAll(entry string, files map[string]string, library *Library, w *World) []error {
	scripts := reachable(entry, files, w.Limits)
	c := newChecker(w)
	c.known, c.files, c.extglob = maps.Clone(library.known), maps.Clone(library.files), library.extglob
	c.reach.base = library.reach
	for file := range scripts {
		c.files[base(file)] = true
	}
	for _, file := range slices.Sorted(maps.Keys(scripts)) {
		c.file = file
		c.script(scripts[file].source, scripts[file].err)
	}
	_, problems := c.finish()
	return problems
}

// Commands visits the simple commands that a hook may run: those of its files, without the functions that nothing calls.
func Commands(entry string, files map[string]string, library *Library, limits Limits, visit func(file string, call *syntax.CallExpr)) {
	scripts := reachable(entry, files, limits)
	all := newReach()
	all.base = library.reach
	for _, script := range scripts {
		if script.err == nil {
			syntax.Walk(script.source.file, func(node syntax.Node) bool {
				all.node(node)
				return true
			})
		}
	}
	runs := all.functions()
	for _, file := range slices.Sorted(maps.Keys(scripts)) {
		if scripts[file].err != nil {
			continue
		}
		syntax.Walk(scripts[file].source.file, func(node syntax.Node) bool {
			switch node := node.(type) {
			case *syntax.FuncDecl:
				return node.Name == nil || runs[node.Name.Value]
			case *syntax.CallExpr:
				visit(file, node)
			}
			return true
		})
	}
}

// parsed is a script, or why it is none.
type parsed struct {
	source *Source
	err    error
}

// reachable are the files that the entry names, and those that these name. A file that is sourced by a name that is not known
// can be each of them.
func reachable(entry string, files map[string]string, limits Limits) map[string]parsed {
	found := map[string]parsed{}
	pending := []string{entry}
	for len(pending) > 0 {
		file := pending[0]
		pending = pending[1:]
		if _, seen := found[file]; seen {
			continue
		}
		source, err := Parse(file, files[file], limits)
		found[file] = parsed{source, err}
		if err != nil {
			continue
		}
		names, anything := mentioned(source.file)
		for other := range files {
			if anything || names[base(other)] {
				pending = append(pending, other)
			}
		}
	}
	return found
}

// mentioned are the last parts of all paths that a script names, and whether it sources a path that is not known.
func mentioned(file *syntax.File) (names map[string]bool, anything bool) {
	names = map[string]bool{}
	end := func(word *syntax.Word) string {
		text := ""
		syntax.Walk(word, func(node syntax.Node) bool {
			switch node := node.(type) {
			case *syntax.Lit:
				text = node.Value
			case *syntax.SglQuoted:
				text = node.Value
			case *syntax.ParamExp, *syntax.CmdSubst, *syntax.ArithmExp, *syntax.ProcSubst:
				text = ""
				return false
			}
			return true
		})
		return text
	}
	syntax.Walk(file, func(node syntax.Node) bool {
		switch node := node.(type) {
		case *syntax.Word:
			if text := end(node); text != "" {
				names[base(text)] = true
			}
		case *syntax.CallExpr:
			if len(node.Args) > 1 {
				if name := staticText(node.Args[0]); (name == "source" || name == ".") && end(node.Args[1]) == "" {
					anything = true
				}
			}
		}
		return true
	})
	return names, anything
}

func (c *checker) script(source *Source, err error) {
	if err != nil {
		c.problems = append(c.problems, found{problem: err})
		return
	}
	syntax.Walk(source.file, func(node syntax.Node) bool {
		c.reach.node(node)
		c.node(node)
		return true
	})
}

func (c *checker) finish() ([]string, []error) {
	if c.dynamic {
		// What a file defines that is not known cannot be missed.
		c.unknown = nil
	}
	runs := c.reach.functions()
	var problems []error
	for _, p := range append(c.problems, c.unknown...) {
		unused := slices.ContainsFunc(p.in, func(function string) bool { return !runs[function] })
		if !unused && !(p.command != "" && c.known[p.command]) {
			problems = append(problems, p.problem)
		}
	}
	return c.sources, problems
}

// refuse notes what a run refuses, too. In a function that nothing calls, that is left to the run.
func (c *checker) refuse(at syntax.Pos, format string, args ...any) {
	c.problems = append(c.problems, found{c.problem(at, format, args...), "", slices.Clone(c.reach.in)})
}

// invalid notes what bash finds when it reads the file, wherever it is.
func (c *checker) invalid(at syntax.Pos, format string, args ...any) {
	c.problems = append(c.problems, found{problem: c.problem(at, format, args...)})
}

func (c *checker) problem(at syntax.Pos, format string, args ...any) *Problem {
	return &Problem{c.file, int(at.Line()), fmt.Sprintf(format, args...)}
}

func (c *checker) node(node syntax.Node) {
	switch n := node.(type) {
	case *syntax.FuncDecl:
		if n.Name != nil {
			c.known[n.Name.Value] = true
		}
	case *syntax.CoprocClause:
		c.refuse(n.Pos(), noCoproc)
	case *syntax.ForClause:
		if n.Select {
			c.refuse(n.Pos(), noSelect)
		}
	case *syntax.CmdSubst:
		if n.TempFile || n.ReplyVar {
			c.refuse(n.Pos(), noCommandInBraces)
		}
	case *syntax.TestClause:
		c.test = [2]uint{n.Pos().Offset(), n.End().Offset()}
	case *syntax.ExtGlob:
		inTest := c.test[0] <= n.Pos().Offset() && n.Pos().Offset() < c.test[1]
		if !inTest && !c.extglob {
			c.invalid(n.Pos(), "the pattern %s%s) needs shopt -s extglob before it", n.Op, n.Pattern.Value)
		}
	case *syntax.ParamExp:
		if n.Exp != nil && n.Exp.Op == syntax.OtherParamOps && n.Exp.Word != nil && n.Exp.Word.Lit() == "P" {
			c.refuse(n.Pos(), noPrompt, n.Param.Value)
		}
		if n.Exp != nil && n.Exp.Op == syntax.OtherParamOps && n.Exp.Word != nil && n.Exp.Word.Lit() == "A" && n.Param != nil && (n.Param.Value == "@" || n.Param.Value == "*") {
			c.refuse(n.Pos(), noParameters, n.Param.Value)
		}
		if n.Repl != nil && n.Repl.All && (n.Repl.Orig == nil || len(n.Repl.Orig.Parts) == 0) {
			if _, ok := slashPattern(n.Repl); !ok {
				c.refuse(n.Pos(), noSlash)
			}
		}
	case *syntax.Redirect:
		if text := n.Word; text != nil && (strings.HasPrefix(text.Lit(), "/dev/tcp/") || strings.HasPrefix(text.Lit(), "/dev/udp/")) {
			c.refuse(n.Pos(), "%s: a hook has no sockets", text.Lit())
		}
	case *syntax.CallExpr:
		c.call(n)
	}
}

// call checks a simple command whose words are known.
func (c *checker) call(n *syntax.CallExpr) {
	if len(n.Args) == 0 {
		return
	}
	args := make([]string, len(n.Args))
	for i, word := range n.Args {
		args[i] = staticText(word)
	}
	name := args[0]
	switch name {
	case "":
		return
	case "source", ".":
		if len(args) > 1 && args[1] != "" {
			c.sources = append(c.sources, args[1])
		}
		if len(args) < 2 || !c.files[base(args[1])] {
			c.dynamic = true
		}
	case "trap":
		for _, event := range args[min(2, len(args)):] {
			if unsupportedTraps[event] && args[1] != "-" {
				c.refuse(n.Pos(), noTrap, event)
			}
		}
	case "set":
		c.set(n, args)
	case "shopt":
		c.shopt(n, args)
	case "command", "type", "which", "hash":
		// A script that looks for a command knows what to do without it.
		for _, arg := range args[1:] {
			c.known[arg] = true
		}
	}
	if forTerminals[name] {
		c.refuse(n.Pos(), noTerminal, name)
		return
	}
	if check := c.world.Checks[name]; check != nil {
		if err := check(args[1:]); err != nil {
			c.later(n, name, err.Error())
		}
	}
	if strings.Contains(name, "/") || builtins[name] != nil || c.world.command(name) != nil {
		return
	}
	c.later(n, name, name+": there is no such command in a hook")
}

// later notes a problem of a command, which is none if the script has a function of that name.
func (c *checker) later(n *syntax.CallExpr, name, text string) {
	c.unknown = append(c.unknown, found{c.problem(n.Pos(), "%s", text), name, slices.Clone(c.reach.in)})
}

func (c *checker) set(n *syntax.CallExpr, args []string) {
	probe := &Shell{}
	for i := 1; i < len(args); i++ {
		arg := args[i]
		if arg == "" || arg == "--" || arg == "-" || arg[0] != '-' && arg[0] != '+' {
			return
		}
		for j := 1; j < len(arg); j++ {
			if arg[j] == 'o' {
				if i++; i < len(args) && args[i] != "" && !probe.setOption(args[i], true) {
					c.refuse(n.Pos(), noOption, args[i])
				}
				continue
			}
			if !probe.setLetter(arg[j], true) {
				c.refuse(n.Pos(), noLetter, arg[j])
			}
		}
	}
}

func (c *checker) shopt(n *syntax.CallExpr, args []string) {
	sets := false
	for _, arg := range args[1:] {
		switch {
		case arg == "-o" || strings.Contains(arg, "o") && strings.HasPrefix(arg, "-"):
			return
		case strings.HasPrefix(arg, "-"):
			sets = sets || strings.Contains(arg, "s")
		case sets && arg == "extglob":
			c.extglob = true
		case sets && arg != "" && !knownShopt[arg]:
			c.refuse(n.Pos(), noShopt, arg)
		}
	}
}

// staticText is the text of a word without expansions, or nothing.
func staticText(word *syntax.Word) string {
	text := ""
	for _, part := range word.Parts {
		switch part := part.(type) {
		case *syntax.Lit:
			text += unescapeAll(part.Value)
		case *syntax.SglQuoted:
			text += part.Value
		case *syntax.DblQuoted:
			for _, inner := range part.Parts {
				literal, ok := inner.(*syntax.Lit)
				if !ok {
					return ""
				}
				text += literal.Value
			}
		default:
			return ""
		}
	}
	return text
}

// StaticText is the text of a word without expansions, or nothing.
func StaticText(word *syntax.Word) string { return staticText(word) }

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for key := range m {
		keys = append(keys, key)
	}
	sort.Strings(keys)
	return keys
}
