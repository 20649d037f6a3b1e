package bash

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// show makes a command the one of BASH_COMMAND.
func (s *Shell) show(st *syntax.Stmt) { s.shown, s.shownIn = st, s.code }

// showFork shows what bash starts a process for: a simple command, or a command in parentheses where there is an ERR trap.
func (s *Shell) showFork(st *syntax.Stmt) {
	switch st.Cmd.(type) {
	case *syntax.CallExpr:
		s.show(st)
	case *syntax.Subshell:
		if s.traps["ERR"] != "" {
			s.show(st)
		}
	}
}

// commandText is BASH_COMMAND: the current command, or in a trap the one before it.
func (s *Shell) commandText() string {
	if s.frozen != "" || s.shown == nil {
		return s.frozen
	}
	return s.shownIn.commandText(s.shown)
}

// commandText is a command in the form in which bash prints it. Its words are those of the script.
func (c *Source) commandText(st *syntax.Stmt) string {
	var text, documents strings.Builder
	if st.Negated {
		text.WriteString("! ")
	}
	words := func(nodes ...syntax.Node) {
		for i, node := range nodes {
			if i > 0 {
				text.WriteByte(' ')
			}
			text.WriteString(c.slice(node.Pos(), node.End()))
		}
	}
	switch cmd := st.Cmd.(type) {
	case nil:
	case *syntax.CallExpr:
		var nodes []syntax.Node
		for _, a := range cmd.Assigns {
			nodes = append(nodes, a)
		}
		for _, word := range cmd.Args {
			nodes = append(nodes, word)
		}
		words(nodes...)
	case *syntax.DeclClause:
		nodes := []syntax.Node{cmd.Variant}
		for _, a := range cmd.Args {
			nodes = append(nodes, a)
		}
		words(nodes...)
	case *syntax.LetClause, *syntax.TestClause, *syntax.ArithmCmd:
		words(cmd)
	case *syntax.Subshell:
		parts := make([]string, len(cmd.Stmts))
		for i, inner := range cmd.Stmts {
			parts[i] = c.commandText(inner)
		}
		text.WriteString("( " + strings.Join(parts, "; ") + " )")
	case *syntax.BinaryCmd:
		text.WriteString(c.commandText(cmd.X) + " " + cmd.Op.String() + " " + c.commandText(cmd.Y))
	default:
		if err := syntax.NewPrinter(syntax.SpaceRedirects(true), syntax.SingleLine(true)).Print(&text, st); err != nil {
			return ""
		}
		return strings.TrimSuffix(text.String(), "\n")
	}
	for _, r := range st.Redirs {
		if text.Len() > 0 {
			text.WriteByte(' ')
		}
		word := ""
		if r.Word != nil {
			word = c.slice(r.Word.Pos(), r.Word.End())
		}
		number, operator, space := "", r.Op.String(), " "
		if r.N != nil {
			number = r.N.Value
		}
		switch r.Op {
		case syntax.DplOut:
			space = ""
			if number == "" {
				number = "1"
			}
		case syntax.DplIn:
			space = ""
			if number == "" {
				number = "0"
			}
		case syntax.Hdoc, syntax.DashHdoc:
			space = ""
			end := staticText(r.Word)
			documents.WriteByte('\n')
			if r.Hdoc != nil {
				documents.WriteString(strings.TrimSuffix(c.slice(r.Hdoc.Pos(), r.Hdoc.End()), end))
			}
			documents.WriteString(end + "\n")
		case syntax.RdrOut, syntax.AppOut, syntax.RdrClob:
			if number == "1" {
				number = ""
			}
		case syntax.RdrIn:
			if number == "0" {
				number = ""
			}
		}
		text.WriteString(number + operator + space + word)
	}
	return text.String() + documents.String()
}
