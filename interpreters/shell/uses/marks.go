package uses

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/boathook/boathook/interpreters/shell/bash"
	"mvdan.cc/sh/v3/syntax"
)

// markName is a variable that each command has in its environment which can make requests, so that a run says which one
// made a request. It is no name that scripts use.
const markName = "__boathook_at"

var markText = regexp.MustCompile(markName + `=\d+ `)

// mark is a command that can make requests.
type mark struct {
	site
	function string
	// operation says that it is a function of the library.
	operation bool
	// possible says that it does, or that it is not known which command it is.
	possible bool
	// arguments says that its words are arguments of a function, so that each call of that is another command.
	arguments bool
}

// markCalls marks the commands of a file, which are not changed otherwise.
func (a *analysis) markCalls(file string, parsed *syntax.File) {
	text := fmt.Sprintf("%s:%d", file, len(a.marks))
	var visit func(node syntax.Node, function string)
	visit = func(node syntax.Node, function string) {
		syntax.Walk(node, func(inner syntax.Node) bool {
			switch n := inner.(type) {
			case *syntax.FuncDecl:
				if syntax.Node(n) != node {
					visit(n, n.Name.Value)
					return false
				}
			case *syntax.CallExpr:
				if len(n.Args) == 0 || isQuery(n) {
					break
				}
				m := &mark{function: function}
				for _, at := range starts(n) {
					name := bash.StaticText(n.Args[at])
					m.operation = m.operation || at == 0 && strings.HasPrefix(name, "kubernetes::")
					m.possible = m.possible || m.operation || program(name) == "kubectl"
				}
				c := codeOf(n)
				named := c != nil && (c.inside || c.shell) && a.mentions(printedWords(c.words))
				m.possible = m.possible || named
				if !m.possible && bash.StaticText(n.Args[0]) != "" && !runsOthers[bash.StaticText(n.Args[0])] {
					break
				}
				m.site = site{
					file: file, line: int(n.Pos().Line()), text: shortened(oneLine(printed(n))),
					key: fmt.Sprintf("%s %d", text, n.Pos().Offset()),
				}
				for _, word := range n.Args {
					syntax.Walk(word, func(node syntax.Node) bool {
						if p, ok := node.(*syntax.ParamExp); ok && p.Param != nil && !syntax.ValidName(p.Param.Value) {
							m.arguments = true
						}
						return true
					})
				}
				at := n.Pos()
				n.Assigns = append([]*syntax.Assign{{
					Name:  &syntax.Lit{ValuePos: at, ValueEnd: at, Value: markName},
					Value: &syntax.Word{Parts: []syntax.WordPart{&syntax.Lit{ValuePos: at, ValueEnd: at, Value: strconv.Itoa(len(a.marks))}}},
				}}, n.Assigns...)
				a.marks = append(a.marks, m)
			}
			return true
		})
	}
	visit(parsed, "")
}

// markOn is the mark of a command, or nil.
func (a *analysis) markOn(call *syntax.CallExpr) *mark {
	if len(call.Assigns) == 0 || call.Assigns[0].Name == nil || call.Assigns[0].Name.Value != markName {
		return nil
	}
	return a.markOf(bash.StaticText(call.Assigns[0].Value))
}

func (a *analysis) markOf(number string) *mark {
	if at, err := strconv.Atoi(number); err == nil && at >= 0 && at < len(a.marks) {
		return a.marks[at]
	}
	return nil
}

// keyOf is the place of a call in the script, with the words that it got there.
func (a *analysis) keyOf(at site, m *mark, args []string) string {
	if m == nil || !m.arguments {
		return at.key
	}
	return at.key + "\x00" + shape(args)
}

// cover says that a problem tells of a command.
func (a *analysis) cover(call *syntax.CallExpr) {
	if m := a.markOn(call); m != nil {
		a.covered[m.key] = true
	}
}

// coverAll says that a problem tells of a statement with its commands.
func (a *analysis) coverAll(s *syntax.Stmt) {
	syntax.Walk(s, func(node syntax.Node) bool {
		if call, ok := node.(*syntax.CallExpr); ok {
			a.cover(call)
		}
		return true
	})
}

// coverOperations notes which functions of the library wrote operations: all of them, if there are not fewer operations.
func (a *analysis) coverOperations(s *syntax.Stmt, n *needed, written int) {
	var all []*mark
	collect := func(node syntax.Node) {
		syntax.Walk(node, func(node syntax.Node) bool {
			if call, ok := node.(*syntax.CallExpr); ok {
				if m := a.markOn(call); m != nil && m.operation {
					all = append(all, m)
				}
			}
			return true
		})
	}
	collect(s)
	for _, fn := range n.functions {
		collect(fn.body)
	}
	if written >= len(all) {
		for _, m := range all {
			a.covered[m.key] = true
		}
	}
}

// variable notes a command whose name is a variable, if it can make requests, and visits a function that it names.
func (a *analysis) variable(f *frame, call *syntax.CallExpr) {
	m := a.markOn(call)
	if m == nil {
		return
	}
	for _, at := range starts(call) {
		word := call.Args[at]
		if bash.StaticText(word) != "" {
			if fn := a.functions[bash.StaticText(word)]; at > 0 && fn != nil {
				a.enter(f, fn, nil, false)
			}
			continue
		}
		for _, one := range a.word(f, word, "a command") {
			first, _, _ := strings.Cut(one.text, " ")
			switch fn := a.functions[first]; {
			case program(first) == "kubectl" || strings.HasPrefix(first, "kubernetes::"):
				m.possible = true
			case at == 0 && hasPlaceholder(first):
				m.possible = true
			case fn != nil && at == 0 && len(call.Args) == 1 && printed(word) == `"$@"` && f.hasArguments() && len(f.params) > 0:
				a.enter(f, fn, f.params[1:], true)
			case fn != nil:
				a.enter(f, fn, nil, false)
			}
		}
	}
}

// missing reports the commands of which nothing is said.
func (a *analysis) missing() {
	for _, m := range a.marks {
		fn := a.functions[m.function]
		switch {
		case !m.possible, !a.visited[m.file], a.covered[m.key], a.isRefused(m.site):
		case fn != nil && !a.reached[m.function]:
			// Nothing calls it.
		default:
			a.problem(m.file, m.line, fmt.Sprintf("what %s needs is not known before a run", m.text), false)
		}
	}
}
