package bash

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// calls are the functions that a part of a script may call: each word of its text can be a name.
type calls struct {
	names map[string]bool
	// composed are the begins and the ends of names that a script puts together, such as "handle_$kind".
	composed [][2]string
}

// reach finds the functions that a hook can call. A library has functions that no hook calls, and what is in these does not run.
type reach struct {
	// by are the calls of each function, and those outside of functions under the empty name.
	by map[string]*calls
	// in are the functions around the node that is looked at, the outermost first.
	in []string
	// open says of each node around whether it is a function.
	open []bool
	// base is the library's, if there is one. It does not change.
	base *reach
}

func newReach() *reach { return &reach{by: map[string]*calls{"": {names: map[string]bool{}}}} }

// node notes what a node of the tree calls. Its argument is nil at the end of a node.
func (r *reach) node(node syntax.Node) {
	if node == nil {
		last := len(r.open) - 1
		if r.open[last] {
			r.in = r.in[:len(r.in)-1]
		}
		r.open = r.open[:last]
		return
	}
	function, ok := node.(*syntax.FuncDecl)
	ok = ok && function.Name != nil
	if r.open = append(r.open, ok); ok {
		name := function.Name.Value
		r.in = append(r.in, name)
		if r.by[name] == nil {
			r.by[name] = &calls{names: map[string]bool{}}
		}
	}
	c := r.by[""]
	if len(r.in) > 0 {
		c = r.by[r.in[len(r.in)-1]]
	}
	switch node := node.(type) {
	case *syntax.Lit:
		c.text(node.Value)
	case *syntax.SglQuoted:
		c.text(node.Value)
	case *syntax.CallExpr:
		if len(node.Args) > 0 && staticText(node.Args[0]) == "" {
			if begin, end := edges(node.Args[0]); begin != "" || end != "" {
				c.composed = append(c.composed, [2]string{begin, end})
			}
		}
	}
}

// text notes all words of a text, which may be code: the action of a trap, or what eval runs.
func (c *calls) text(text string) {
	for _, word := range strings.FieldsFunc(unescapeAll(text), func(r rune) bool {
		return r < 0x80 && !isWordByte(byte(r)) && !strings.ContainsRune("-:.@+/", r)
	}) {
		c.names[word] = true
		c.names[strings.Trim(word, "-:.@+/")] = true
	}
}

// edges are the texts with which a word begins and ends.
func edges(word *syntax.Word) (begin, end string) {
	parts := word.Parts
	if quoted, ok := parts[0].(*syntax.DblQuoted); ok && len(parts) == 1 {
		parts = quoted.Parts
	}
	if len(parts) == 0 {
		return "", ""
	}
	if literal, ok := parts[0].(*syntax.Lit); ok {
		begin = literal.Value
	}
	if literal, ok := parts[len(parts)-1].(*syntax.Lit); ok {
		end = literal.Value
	}
	return begin, end
}

// functions are those that can run. Names that begin with two underscores are those of handlers, which libraries put together.
func (r *reach) functions() map[string]bool {
	layers := []*reach{r}
	if r.base != nil {
		layers = append(layers, r.base)
	}
	found := map[string]bool{}
	pending := []string{""}
	for len(pending) > 0 {
		from := pending[0]
		pending = pending[1:]
		for _, layer := range layers {
			for name := range layer.by {
				if found[name] || name == "" {
					continue
				}
				if strings.HasPrefix(name, "__") || r.mayCall(from, name) || r.base != nil && r.base.mayCall(from, name) {
					found[name] = true
					pending = append(pending, name)
				}
			}
		}
	}
	return found
}

func (r *reach) mayCall(from, name string) bool {
	c := r.by[from]
	if c == nil {
		return false
	}
	if c.names[name] || strings.ContainsFunc(name, func(r rune) bool { return r < 0x80 && !isWordByte(byte(r)) && !strings.ContainsRune("-:.@+/", r) }) {
		return true
	}
	for _, edge := range c.composed {
		if strings.HasPrefix(name, edge[0]) && strings.HasSuffix(name, edge[1]) {
			return true
		}
	}
	return false
}
