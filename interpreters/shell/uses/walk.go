package uses

import (
	"fmt"
	"slices"
	"strings"

	"github.com/boathook/boathook/interpreters/shell/bash"
	"mvdan.cc/sh/v3/syntax"
)

// The most calls of functions that are visited, and how deep. Those that make no requests only have to end.
const (
	maxWalked = 400
	maxCalls  = 4000
	maxDepth  = 10
)

func (a *analysis) stmts(f *frame, list []*syntax.Stmt) {
	for _, s := range list {
		a.stmt(f, s)
	}
}

// children visits the statements in a node: lists of commands, and substitutions in words.
func (a *analysis) children(f *frame, node syntax.Node) {
	syntax.Walk(node, func(inner syntax.Node) bool {
		switch inner := inner.(type) {
		case *syntax.Stmt:
			if syntax.Node(inner) == node {
				return true
			}
			a.stmt(f, inner)
			return false
		case *syntax.FuncDecl:
			return false
		}
		return true
	})
}

func (a *analysis) stmt(f *frame, s *syntax.Stmt) {
	before := a.here
	defer func() { a.here = before }()
	a.here = site{file: f.file, line: int(s.Pos().Line())}
	switch command := s.Cmd.(type) {
	case *syntax.FuncDecl:
	case *syntax.CallExpr:
		a.children(f, s)
		if fn := a.called(command); fn != nil {
			a.call(f, fn, command)
			if writesPatches(s) {
				a.unit(f, s)
			}
			return
		}
		a.variable(f, command)
		if a.runCode(f, s, command) && !writesFiles(s) {
			return
		}
		a.effect(f, s)
	case *syntax.BinaryCmd:
		if command.Op != syntax.Pipe && command.Op != syntax.PipeAll {
			a.children(f, s)
			return
		}
		if part := a.readsBranches(s); part != nil && !a.settled(f, part) {
			a.depends(printedCommand(part))
		}
		a.effect(f, s)
		a.side(f, command.X)
		a.side(f, command.Y)
	default:
		// What a loop or a block writes is known only from all of it.
		if writesPatches(s) {
			a.unit(f, s)
		}
		a.children(f, s)
	}
}

// side visits a side of a pipe, whose simple commands ran with the pipe.
func (a *analysis) side(f *frame, s *syntax.Stmt) {
	switch command := s.Cmd.(type) {
	case *syntax.CallExpr:
		a.children(f, s)
		if fn := a.called(command); fn != nil {
			a.call(f, fn, command)
			return
		}
		a.variable(f, command)
		a.runCode(f, s, command)
	case *syntax.BinaryCmd:
		if command.Op == syntax.Pipe || command.Op == syntax.PipeAll {
			a.side(f, command.X)
			a.side(f, command.Y)
			return
		}
		a.stmt(f, s)
	default:
		a.stmt(f, s)
	}
}

// called is the function of the hook that a command calls.
func (a *analysis) called(call *syntax.CallExpr) *function {
	if len(call.Args) == 0 {
		return nil
	}
	return a.functions[bash.StaticText(call.Args[0])]
}

// call visits a function with the arguments of a call.
func (a *analysis) call(f *frame, fn *function, call *syntax.CallExpr) {
	lists := [][]value{nil}
	given := true
	for _, word := range call.Args[1:] {
		if text := printed(word); text == `"$@"` || text == "$@" || text == `"$*"` || text == "$*" {
			given = given && f.hasArguments()
			for i := range lists {
				lists[i] = append(lists[i][:len(lists[i]):len(lists[i])], f.params...)
			}
			continue
		}
		values := a.word(f, word, shortened(oneLine(printed(word))))
		if len(lists)*len(values) > maxValues {
			values = []value{a.unknown(shortened(oneLine(printed(word))))}
		}
		var next [][]value
		for _, list := range lists {
			for _, one := range values {
				next = append(next, append(list[:len(list):len(list)], one))
			}
		}
		lists = next
	}
	for _, list := range lists {
		a.enter(f, fn, list, given)
	}
}

// enter visits the body of a function.
func (a *analysis) enter(from *frame, fn *function, params []value, given bool) {
	a.reached[fn.name] = true
	key := from.caller + "\x00" + fn.name
	for _, one := range params {
		key += "\x00" + one.text
	}
	if a.walked[key] {
		return
	}
	needs := a.needsAny(fn)
	if len(a.walked) >= maxCalls || from.depth >= maxDepth || needs && a.counted >= maxWalked {
		if needs {
			a.problem(fn.file, int(fn.body.Pos().Line()), fmt.Sprintf("there are too many calls of functions to read them all: check what %s needs", fn.name), false)
		}
		return
	}
	a.walked[key] = true
	if needs {
		a.counted++
	}
	for _, one := range fn.declarations() {
		f := a.frameOf(one, from)
		f.params, f.given = params, given
		a.stmt(f, one.body)
	}
}

// needsAny says whether a function can make requests, also in substitutions and in the functions that it calls.
func (a *analysis) needsAny(fn *function) bool {
	if known, ok := a.needing[fn.name]; ok {
		return known
	}
	found := false
	seen := map[string]bool{fn.name: true}
	var visit func(body syntax.Node)
	visit = func(body syntax.Node) {
		syntax.Walk(body, func(node syntax.Node) bool {
			switch node := node.(type) {
			case *syntax.Stmt:
				found = found || a.requests(nil, node, map[string]bool{}) || writesPatches(node)
			case *syntax.CallExpr:
				if len(node.Args) == 0 {
					break
				}
				name := bash.StaticText(node.Args[0])
				found = found || name == ""
				if inner := a.functions[name]; inner != nil && !seen[name] {
					seen[name] = true
					for _, one := range inner.declarations() {
						visit(one.body)
					}
				}
			}
			return !found
		})
	}
	for _, one := range fn.declarations() {
		visit(one.body)
	}
	a.needing[fn.name] = found
	return found
}

// effect runs a command that makes requests, or writes files that another one may read.
func (a *analysis) effect(f *frame, s *syntax.Stmt) {
	switch {
	case a.requests(f, s, map[string]bool{}):
		a.unit(f, s)
	case writesFiles(s):
		a.quiet(f, s)
	}
}

// requests says whether a command, or a function that it calls, can make requests.
func (a *analysis) requests(f *frame, node syntax.Node, seen map[string]bool) bool {
	found := false
	syntax.Walk(node, func(inner syntax.Node) bool {
		switch inner := inner.(type) {
		case *syntax.CmdSubst:
			// It is visited, and runs, on its own.
			return false
		case *syntax.ParamExp:
			found = found || inner.Param != nil && inner.Param.Value == "KUBERNETES_PATCH_PATH"
		case *syntax.CallExpr:
			if c := codeOf(inner); c != nil && a.mentions(printedWords(c.words)) {
				found = true
			}
			for i, word := range inner.Args {
				text := bash.StaticText(word)
				if i == 0 && text == "" && f != nil && a.isKubectl(f, word) {
					found = true
				}
				if program(text) == "kubectl" && slices.Contains(starts(inner), i) && !isQuery(inner) || i == 0 && strings.HasPrefix(text, "kubernetes::") {
					found = true
				}
				if fn := a.functions[text]; fn != nil && i == 0 && !seen[text] {
					seen[text] = true
					for _, one := range fn.declarations() {
						found = found || a.requests(nil, one.body, seen)
					}
				}
			}
		}
		return !found
	})
	return found
}

// isKubectl says whether a word that is a variable is the name of the command.
func (a *analysis) isKubectl(f *frame, word *syntax.Word) bool {
	for _, one := range a.word(f, word, "a command") {
		if first, _, _ := strings.Cut(one.text, " "); program(first) == "kubectl" {
			return true
		}
	}
	return false
}

// writesPatches says whether the output of a statement goes to the file of operations.
func writesPatches(s *syntax.Stmt) bool {
	for _, r := range s.Redirs {
		if r.Word != nil && strings.Contains(printed(r.Word), "KUBERNETES_PATCH_PATH") {
			return true
		}
	}
	return false
}

var writers = map[string]bool{"tee": true, "cp": true, "mv": true, "mkdir": true, "touch": true, "truncate": true, "sed": true, "cd": false}

// writesFiles says whether a command can write files.
func writesFiles(s *syntax.Stmt) bool {
	found := false
	syntax.Walk(s, func(node syntax.Node) bool {
		switch n := node.(type) {
		case *syntax.CmdSubst:
			return false
		case *syntax.Redirect:
			switch n.Op {
			case syntax.RdrOut, syntax.AppOut, syntax.RdrClob, syntax.RdrAll, syntax.AppAll:
				text := bash.StaticText(n.Word)
				found = found || !strings.HasPrefix(text, "/dev/")
			}
		case *syntax.CallExpr:
			if len(n.Args) > 0 {
				found = found || writers[bash.StaticText(n.Args[0])]
			}
		}
		return !found
	})
	return found
}
