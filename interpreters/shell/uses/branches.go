package uses

import (
	"fmt"
	"strings"

	"github.com/boathook/boathook/interpreters/shell/bash"
	"mvdan.cc/sh/v3/syntax"
)

// What a command prints is known of the branches that it takes in a try. Another command that reads it can get something else
// in a run.

// printsNothing are commands whose output is none.
var printsNothing = map[string]bool{
	"true": true, ":": true, "false": true, "return": true, "exit": true, "break": true, "continue": true, "set": true, "shift": true, "[": true,
	"test": true, "read": true, "mkdir": true, "rm": true, "touch": true, "sleep": true, "cd": true, "trap": true, "shopt": true, "kubernetes::delete": true,
}

// branches says whether what a node prints depends on conditions.
func (a *analysis) branches(node syntax.Node, seen map[string]bool) bool {
	found := false
	prints := func(list []*syntax.Stmt) {
		for _, s := range list {
			found = found || a.prints(s)
		}
	}
	syntax.Walk(node, func(node syntax.Node) bool {
		switch n := node.(type) {
		case *syntax.CmdSubst, *syntax.FuncDecl:
			// A substitution is looked at on its own.
			return false
		case *syntax.IfClause:
			prints(n.Then)
			if n.Else != nil {
				prints(n.Else.Then)
			}
		case *syntax.CaseClause:
			for _, item := range n.Items {
				prints(item.Stmts)
			}
		case *syntax.BinaryCmd:
			if n.Op == syntax.AndStmt || n.Op == syntax.OrStmt {
				prints([]*syntax.Stmt{n.Y})
			}
		case *syntax.CallExpr:
			if len(n.Args) > 0 {
				name := bash.StaticText(n.Args[0])
				if fn := a.functions[name]; fn != nil && !seen[name] {
					seen[name] = true
					for _, one := range fn.declarations() {
						found = found || a.branches(one.body, seen)
					}
				}
			}
		}
		return !found
	})
	return found
}

// prints says whether a statement can print something.
func (a *analysis) prints(s *syntax.Stmt) bool {
	found := false
	syntax.Walk(s, func(node syntax.Node) bool {
		switch n := node.(type) {
		case *syntax.CmdSubst, *syntax.FuncDecl:
			return false
		case *syntax.Stmt:
			for _, r := range n.Redirs {
				if text := bash.StaticText(r.Word); r.Op == syntax.DplOut && text == "2" && (r.N == nil || r.N.Value == "1") || r.Op == syntax.RdrOut && r.N == nil && text == "/dev/null" {
					return false
				}
			}
		case *syntax.CallExpr:
			found = found || len(n.Args) > 0 && !printsNothing[bash.StaticText(n.Args[0])]
		}
		return !found
	})
	return found
}

// readsBranches is the part of a pipe whose output depends on conditions, and from which a later part makes requests.
func (a *analysis) readsBranches(s *syntax.Stmt) *syntax.Stmt {
	var parts []*syntax.Stmt
	var split func(s *syntax.Stmt)
	split = func(s *syntax.Stmt) {
		if pipe, ok := s.Cmd.(*syntax.BinaryCmd); ok && (pipe.Op == syntax.Pipe || pipe.Op == syntax.PipeAll) {
			split(pipe.X)
			split(pipe.Y)
			return
		}
		parts = append(parts, s)
	}
	split(s)
	for i, part := range parts[:len(parts)-1] {
		if !a.branches(part, map[string]bool{}) {
			continue
		}
		for _, later := range parts[i+1:] {
			if a.requests(nil, later, map[string]bool{}) || writesPatches(later) {
				return part
			}
		}
	}
	return nil
}

// settled says whether the conditions of a command depend only on what is known.
func (a *analysis) settled(f *frame, s *syntax.Stmt) bool {
	if !pure(s, a) {
		return false
	}
	for _, combo := range a.prepare(f, s, "").combos {
		if !combo.known {
			return false
		}
	}
	return true
}

// depends reports that requests are made from an output that is known in part.
func (a *analysis) depends(what string) {
	a.problem(a.here.file, a.here.line, fmt.Sprintf("what %s prints depends on conditions: check the kinds and names that requests get from it", shortened(oneLine(what))), false)
}

// isPart says whether a text has a kind or a name that can be another one after another branch.
func isPart(text string) bool { return strings.Contains(text, "apiVersion") || hasPlaceholder(text) }
