package bash

import (
	"fmt"
	"sort"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// subscript expands a subscript as the key of an associative array.
func (s *Shell) subscript(index syntax.ArithmExpr) (string, error) {
	text := s.subscriptText(index)
	d, err := s.code.derive(wordKey{index}, index.Pos().Line(), func() string { return protectKey(text) }, parseKey)
	if err != nil {
		return "", &shellError{text: "the subscript [" + text + "] is not supported: put it in quotes", status: 2}
	}
	return s.expandDerived(d, func(word *syntax.Word) (string, error) {
		pieces, err := s.whole(word, tildeAssignment)
		return s.joined(pieces), err
	})
}

// protectKey escapes what would end a word, because a key may have it.
func protectKey(text string) string {
	var protected strings.Builder
	quote := byte(0)
	for i := 0; i < len(text); i++ {
		c := text[i]
		switch {
		case c == '\\' && i+1 < len(text) && quote != '\'':
			protected.WriteByte(c)
			i++
			c = text[i]
		case quote != 0 && c == quote:
			quote = 0
		case quote == 0 && (c == '\'' || c == '"'):
			quote = c
		case quote == 0 && c == '$' && i+1 < len(text) && (text[i+1] == '(' || text[i+1] == '{'):
			// An expansion is taken whole.
			end := closing2(text, i+1)
			protected.WriteString(text[i:end])
			i = end - 1
			continue
		case quote == 0 && strings.IndexByte(" \t;&|<>()#~", c) >= 0:
			protected.WriteByte('\\')
		}
		protected.WriteByte(c)
	}
	return protected.String()
}

// parseKey parses a subscript as one word.
func parseKey(text string) (*syntax.Word, error) {
	var word *syntax.Word
	for w, err := range newParser().WordsSeq(strings.NewReader(text + "\n")) {
		if err != nil || word != nil {
			return nil, fmt.Errorf("not one word")
		}
		word = w
	}
	if word == nil {
		word = &syntax.Word{}
	}
	return word, nil
}

// closing2 finds the end of an expansion whose bracket is at a position.
func closing2(text string, at int) int {
	depth := 0
	for i := at; i < len(text); i++ {
		switch text[i] {
		case '(', '{':
			depth++
		case ')', '}':
			if depth--; depth == 0 {
				return i + 1
			}
		}
	}
	return len(text)
}

// subscriptText is a subscript as the script has it.
func (s *Shell) subscriptText(index syntax.ArithmExpr) string {
	return strings.TrimSpace(s.code.slice(index.Pos(), index.End()))
}

// assignElement assigns name[index].
func (s *Shell) assignElement(name string, index syntax.ArithmExpr, value string, appends bool) error {
	name = s.resolve(name)
	v, err := s.writable(name)
	if err != nil {
		return err
	}
	return s.assignElementOf(v, name, index, value, appends)
}

func (s *Shell) assignElementOf(v *variable, name string, index syntax.ArithmExpr, value string, appends bool) error {
	if v.kind == associative {
		key, err := s.subscript(index)
		if err != nil {
			return err
		}
		return s.putElement(v, name, key, value, appends)
	}
	n, err := s.arithmeticNode(index)
	if err != nil {
		return err
	}
	return s.putElement(v, name, itoa(n), value, appends)
}

// assign runs one assignment. into is the variable to change, or nil for that of the name.
func (s *Shell) assign(a *syntax.Assign, into *variable) error {
	name := a.Name.Value
	if a.Array != nil {
		table := into
		if into == nil {
			table = s.variable(name)
		}
		values, err := s.arrayWords(a.Array, table != nil && table.kind == associative)
		if err != nil {
			return err
		}
		if into == nil {
			name = s.resolve(name)
			if into, err = s.writable(name); err != nil {
				return err
			}
		}
		return s.assignArray(into, name, values, a.Append)
	}
	value, err := s.assignedWord(a.Value)
	if err != nil {
		return err
	}
	if a.Index != nil {
		if into != nil {
			return s.assignElementOf(into, name, a.Index, value, a.Append)
		}
		return s.assignElement(name, a.Index, value, a.Append)
	}
	if into == nil {
		if a.Append {
			return s.appendText(name, value)
		}
		return s.setText(name, value)
	}
	if a.Append {
		old, _ := into.first()
		if value, err = s.appended(into, old, value, true); err != nil {
			return err
		}
	}
	return s.store(into, name, value)
}

func (s *Shell) appendText(name, value string) error {
	name = s.resolve(name)
	if base, subscript, ok := splitSubscript(name); ok {
		return s.setElement(base, subscript, value, true)
	}
	v, err := s.writable(name)
	if err != nil {
		return err
	}
	old, _ := v.first()
	if v.integer {
		if value, err = s.appended(v, old, value, true); err != nil {
			return err
		}
		return s.store(v, name, value)
	}
	return s.store(v, name, old+value)
}

// arrayWord is an element of ( … ), which may have a subscript.
type arrayWord struct {
	index  syntax.ArithmExpr
	values []string
}

// arrayWords expands the elements before the array is changed, because they may read it. A word of an associative array stays one
// word, without tildes, braces and names of files.
func (s *Shell) arrayWords(array *syntax.ArrayExpr, table bool) ([]arrayWord, error) {
	var words []arrayWord
	// Words without a subscript are expanded together, as those of a command.
	var plain []*syntax.Word
	expand := func() error {
		if len(plain) == 0 {
			return nil
		}
		values, err := s.fields(plain)
		words, plain = append(words, arrayWord{nil, values}), nil
		return err
	}
	for _, element := range array.Elems {
		if table {
			value, err := s.assignedAs(element.Value, tildeNever)
			if err != nil {
				return nil, err
			}
			words = append(words, arrayWord{element.Index, []string{value}})
			continue
		}
		if element.Index == nil {
			plain = append(plain, element.Value)
			continue
		}
		if err := expand(); err != nil {
			return nil, err
		}
		var pieces []piece
		if element.Value != nil {
			var err error
			if pieces, err = s.pieces(element.Value, tildeAssignment); err != nil {
				return nil, err
			}
		}
		words = append(words, arrayWord{element.Index, []string{s.joinedValue(pieces)}})
	}
	err := expand()
	return words, err
}

func (s *Shell) assignArray(v *variable, name string, words []arrayWord, appends bool) error {
	before := v.size()
	if v.kind == scalar {
		if appends && v.set {
			v.list = listOf([]string{v.text})
		}
		v.kind, v.text = indexed, ""
	}
	if !appends {
		v.list, v.table = list{}, table{}
	}
	v.set = true
	s.account(name, v.size()-before)
	if v.kind == associative {
		return s.assignTable(v, name, words)
	}
	next := v.list.next()
	for _, word := range words {
		if word.index != nil {
			n, err := s.arithmeticNode(word.index)
			if err != nil {
				return err
			}
			at, ok := v.list.resolve(n)
			if !ok {
				s.severe("%s[%d]: bad array subscript", name, n)
				continue
			}
			next = at
		}
		for _, value := range word.values {
			if err := s.putElement(v, name, itoa(next), value, false); err != nil {
				return err
			}
			next++
		}
	}
	return nil
}

// assignTable assigns keys and values. Without subscripts, they alternate.
func (s *Shell) assignTable(v *variable, name string, words []arrayWord) error {
	var loose []string
	for _, word := range words {
		if word.index == nil {
			loose = append(loose, word.values...)
			continue
		}
		key, err := s.subscript(word.index)
		if err != nil {
			return err
		}
		if err := s.putKey(v, name, key, word.values[0]); err != nil {
			return err
		}
	}
	for i := 0; i < len(loose); i += 2 {
		value := ""
		if i+1 < len(loose) {
			value = loose[i+1]
		}
		if err := s.putKey(v, name, loose[i], value); err != nil {
			return err
		}
	}
	return nil
}

// putKey assigns an element of a list. An element without a key is left out.
func (s *Shell) putKey(v *variable, name, key, value string) error {
	if key == "" {
		s.severe("%s: []: bad array subscript", name)
		return nil
	}
	return s.putElement(v, name, key, value, false)
}

// declaring are the options of declare, local, export and readonly.
type declaring struct {
	array, table, integer, lower, upper, nameref, readonly, exported  bool
	unarray, uninteger, unlower, unupper, unnameref, unexported       bool
	print, global, functions, names, local, inherit, plainDeclaration bool
}

// declare runs declare, typeset, local, export, readonly and nameref.
func (s *Shell) declare(c *syntax.DeclClause) error {
	s.substatus = 0
	status, err := s.declareArgs(c)
	if err != nil {
		return s.expansionFailed(s.assignFailed(err))
	}
	s.status = status
	s.pipes = []int{status}
	return nil
}

// declareError makes a declaration fail, and the others of the command go on.
type declareError struct{ text string }

func (e *declareError) Error() string { return e.text }

func (s *Shell) declareArgs(c *syntax.DeclClause) (int, error) {
	variant := c.Variant.Value
	d := declaring{
		local: variant == "local", exported: variant == "export", readonly: variant == "readonly", nameref: variant == "nameref",
		plainDeclaration: variant == "declare" || variant == "typeset" || variant == "nameref",
	}
	values := s.declared
	if s.declaredFor != c {
		var err error
		if values, err = s.declaredValues(c.Args); err != nil {
			return 1, err
		}
	}
	s.declared, s.declaredFor = nil, nil
	if d.local && !s.inFunction() {
		s.complain("local: can only be used in a function")
		return 1, nil
	}
	status := 0
	operands := 0
	for i, a := range c.Args {
		if a.Name == nil {
			for _, word := range values[i].words {
				if word == "-" && d.local {
					operands++
					s.keepOptions()
					continue
				}
				if operands == 0 && len(word) > 1 && (word[0] == '-' || word[0] == '+') {
					if word == "--" {
						continue
					}
					if err := d.letters(word); err != nil {
						s.complain("%s: %s", variant, err)
						return 2, nil
					}
					continue
				}
				operands++
				if !s.declareWord(&d, variant, word) {
					status = 1
				}
			}
			continue
		}
		operands++
		if d.print || d.functions || d.names {
			if !s.declareWord(&d, variant, a.Name.Value) {
				status = 1
			}
			continue
		}
		if err := s.declareOne(&d, a.Name.Value, a, values[i]); err != nil {
			_, refused := err.(*declareError)
			if _, ok := err.(*readonlyError); !ok && !refused {
				return 1, err
			}
			switch {
			case refused:
				s.complain("%s: %s", variant, err)
			case a.Array != nil && !s.inFunction():
				return 1, s.assignFailed(err)
			case variant == "export" || variant == "readonly":
				s.severe("%s", err)
			default:
				s.complain("%s: %s", variant, err)
			}
			status = 1
		}
	}
	if operands == 0 {
		s.printDeclarations(&d, variant)
	}
	return status, nil
}

// declaredValue is an operand of declare after its expansion.
type declaredValue struct {
	words []string    // of an operand that is not an assignment
	text  string      // of name=text
	array []arrayWord // of name=( … )
}

// declaredValues expands all operands before the first one is assigned, as bash does.
func (s *Shell) declaredValues(args []*syntax.Assign) ([]declaredValue, error) {
	values := make([]declaredValue, len(args))
	table := false
	for i, a := range args {
		var err error
		switch {
		case a.Name == nil:
			values[i].words, err = s.fields([]*syntax.Word{a.Value})
			for _, word := range values[i].words {
				table = table || strings.HasPrefix(word, "-") && strings.Contains(word, "A")
			}
		case a.Array != nil:
			v := s.variable(a.Name.Value)
			values[i].array, err = s.arrayWords(a.Array, table || v != nil && v.kind == associative)
		case !a.Naked && a.Value != nil:
			var pieces []piece
			pieces, err = s.pieces(a.Value, tildeAssignment)
			// Unlike in a plain assignment, spaces separate the elements of $* where IFS is empty.
			values[i].text = s.joinedValue(spaced(pieces))
		}
		if err != nil {
			return nil, err
		}
	}
	return values, nil
}

// keepOptions is `local -`: the options of set come back when the function returns.
func (s *Shell) keepOptions() {
	for i := len(s.scopes) - 1; i >= 0; i-- {
		if in := s.scopes[i]; in.function {
			if in.options == nil {
				kept := s.options
				in.options = &kept
			}
			return
		}
	}
}

func (s *Shell) inFunction() bool {
	for _, in := range s.scopes {
		if in.function {
			return true
		}
	}
	return false
}

func (d *declaring) letters(word string) error {
	on := word[0] == '-'
	for _, c := range word[1:] {
		switch c {
		case 'a':
			d.array, d.unarray = on, !on
		case 'A':
			d.table, d.unarray = on, !on
		case 'i':
			d.integer, d.uninteger = on, !on
		case 'l':
			d.lower, d.unlower = on, !on
		case 'u':
			d.upper, d.unupper = on, !on
		case 'n':
			if d.exported {
				// export -n takes the variable out of the environment.
				d.exported, d.unexported = false, true
			} else {
				d.nameref, d.unnameref = on, !on
			}
		case 'r':
			d.readonly = on
		case 'x':
			d.exported, d.unexported = on, !on
		case 'p':
			d.print = true
		case 'g':
			d.global = true
		case 'f':
			d.functions = true
		case 'F':
			d.functions, d.names = true, true
		case 'I':
			d.inherit = true
		case 't':
		default:
			return fmt.Errorf("-%c: invalid option", c)
		}
	}
	return nil
}

// declareWord handles an operand that is only known in the run.
func (s *Shell) declareWord(d *declaring, variant, word string) bool {
	name, value, assigns := strings.Cut(word, "=")
	appends := false
	if assigns {
		name, appends = strings.CutSuffix(name, "+")
	}
	switch {
	case d.functions:
		return s.declareFunctionNamed(d, variant, word)
	case d.print:
		v := s.variable(name)
		if plain, _ := s.lookup(name); plain != nil && plain.nameref {
			v = plain
		}
		if v == nil {
			s.complain("%s: %s: not found", variant, name)
			return false
		}
		fmt.Fprintln(s.fds[1], declaration(name, v, false))
		return true
	}
	base, subscript, hasSubscript, err := s.namedElement(name)
	if err != nil {
		s.complain("%s: %s", variant, err)
		return false
	}
	if !validName(base) || hasSubscript && variant == "export" {
		s.complain("%s: `%s': not a valid identifier", variant, word)
		return false
	}
	if hasSubscript && assigns {
		if err = s.declareOne(d, base, nil, declaredValue{}); err == nil {
			err = s.setElement(base, subscript, value, appends)
		}
	} else {
		a := &syntax.Assign{Name: &syntax.Lit{Value: base}, Naked: !assigns, Append: appends}
		if assigns {
			if strings.HasPrefix(value, "(") && strings.HasSuffix(value, ")") && (d.array || d.table) {
				s.complain("%s: %s: a list in quotes is not supported: write it without quotes", variant, base)
				return false
			}
		}
		err = s.declareOne(d, base, a, declaredValue{text: value})
	}
	if err != nil {
		s.refused(variant, err)
		return false
	}
	return true
}

func (s *Shell) declareFunctionNamed(d *declaring, variant, name string) bool {
	f := s.functions[name]
	if f == nil {
		if d.exported {
			s.complain("%s: %s: not a function", variant, name)
		}
		return false
	}
	switch {
	case d.exported && variant == "export":
		f.exported = true
	case d.unexported:
		f.exported = false
	case d.readonly && variant == "readonly":
		s.complain("readonly: functions cannot be readonly here")
		return false
	case d.names:
		fmt.Fprintln(s.fds[1], name)
	default:
		fmt.Fprintf(s.fds[1], "%s () \n%s\n", name, f.source.slice(f.body.Pos(), f.body.End()))
	}
	return true
}

// declareOne gives a variable its attributes and its value, in the scope that the builtin means.
func (s *Shell) declareOne(d *declaring, name string, a *syntax.Assign, value declaredValue) error {
	in, v := s.declarationScope(d, name)
	if v != nil && v.nameref && !d.nameref && !d.unnameref && v.text != "" && (in == nil || !d.local && !d.plainDeclaration) {
		target := s.resolve(name)
		if validName(target) && target != name {
			copied := *d
			copied.nameref = false
			var renamed *syntax.Assign
			if a != nil {
				c := *a
				c.Name = &syntax.Lit{Value: target}
				renamed = &c
			}
			return s.declareOne(&copied, target, renamed, value)
		}
	}
	if in == nil {
		in = s.scopes[0]
	}
	var err error
	words, text := value.array, value.text
	assigns := a != nil && !a.Naked && a.Array == nil
	if v != nil && v.readonly && a != nil && !a.Naked {
		return &readonlyError{name}
	}
	if v != nil && v.readonly && !d.readonly && !d.exported && !d.unexported && (d.array || d.table) {
		return &readonlyError{name}
	}
	if v == nil && in != nil && in.function {
		if outer := s.scopes[0].names[name]; outer != nil && outer.readonly {
			if visible, _ := s.lookup(name); visible == outer {
				return &readonlyError{name}
			}
		}
	}
	exports := false
	var inherited *variable
	if v == nil && in.function {
		outer, _ := s.lookup(name)
		exports = outer != nil && outer.exported
		if outer != nil && outer.temporary && !d.array && !d.table && !d.nameref {
			inherited = outer
		}
	}
	if v == nil || !v.readonly {
		if v, err = s.writableIn(in, name, v); err != nil {
			return err
		}
	}
	if inherited != nil {
		// It has the value that is given to the call.
		v.text, v.set, v.temporary = inherited.text, true, true
		s.account(name, int64(len(v.text)))
	}
	// A local variable is exported if the one that it hides is.
	v.exported = v.exported || exports
	v.lasting = v.lasting || (d.exported || d.readonly) && !in.function && !in.passing && in != s.scopes[0]
	d.apply(v)
	switch {
	case words != nil || a != nil && a.Array != nil:
		if d.nameref {
			return &shellError{text: name + ": reference variable cannot be an array", soft: true}
		}
		err = s.assignArray(v, name, words, a.Append)
	case assigns && a.Index != nil:
		err = s.assignElementOf(v, name, a.Index, text, a.Append)
	case assigns && v.nameref:
		if base, _, _ := splitSubscript(text); !validName(base) {
			return &declareError{"`" + text + "': invalid variable name for name reference"}
		}
		if text == name {
			if in == s.scopes[0] {
				return &declareError{name + ": nameref variable self references not allowed"}
			}
			s.complain("%s: warning: %s: circular name reference", "local", name)
		}
		v.text, v.set = text, true
	case assigns && a.Append:
		old, _ := v.first()
		if text, err = s.appended(v, old, text, true); err == nil {
			err = s.store(v, name, text)
		}
	case assigns:
		err = s.store(v, name, text)
	}
	if err != nil {
		return err
	}
	if d.readonly {
		v.readonly = true
	}
	return nil
}

// declarationScope finds where a declaration makes its variable, and the variable that is there.
func (s *Shell) declarationScope(d *declaring, name string) (*scope, *variable) {
	if (d.local || d.plainDeclaration && s.inFunction()) && !d.global {
		for i := len(s.scopes) - 1; i >= 0; i-- {
			if s.scopes[i].function {
				in := s.scopes[i]
				v := in.names[name]
				if v == nil && i < len(s.scopes)-1 {
					// The assignment before the command, as in `x=1 local x`.
					for j := len(s.scopes) - 1; j > i; j-- {
						if w := s.scopes[j].names[name]; w != nil {
							copied := *w
							in.names[name] = &copied
							return in, &copied
						}
					}
				}
				if v == nil && (d.inherit || s.extra["localvar_inherit"]) {
					if outer, _ := s.lookup(name); outer != nil {
						copied := *outer
						copied.list, copied.table = outer.list.copy(), outer.table.copy()
						copied.shared = false
						in.names[name] = &copied
						return in, &copied
					}
				}
				return in, v
			}
		}
	}
	if d.global {
		return s.scopes[0], s.scopes[0].names[name]
	}
	v, in := s.lookup(name)
	if in != nil && in.passing {
		before := v
		v, in = s.below(name)
		if d.exported || d.readonly {
			// The assignment before export lasts.
			if in == nil {
				in = s.scopes[0]
			}
			if v == nil || !v.readonly {
				if target, err := s.writableIn(in, name, v); err == nil {
					target.kind, target.text, target.set, target.list, target.table = scalar, before.text, true, list{}, table{}
					v = target
				}
			}
		}
	}
	return in, v
}

func (d *declaring) apply(v *variable) {
	switch {
	case d.table && v.kind != associative:
		v.kind = associative
		if v.set {
			v.table.put("0", v.text)
			v.text = ""
		}
	case d.array && v.kind == scalar:
		v.kind = indexed
		if v.set {
			v.list.put(0, v.text)
			v.text = ""
		}
	}
	v.integer = (v.integer || d.integer) && !d.uninteger
	v.lower = (v.lower || d.lower) && !d.unlower && !d.upper
	v.upper = (v.upper || d.upper) && !d.unupper && !d.lower
	v.nameref = (v.nameref || d.nameref) && !d.unnameref
	v.exported = (v.exported || d.exported) && !d.unexported
}

// printDeclarations lists variables or functions.
func (s *Shell) printDeclarations(d *declaring, variant string) {
	if d.functions {
		names := make([]string, 0, len(s.functions))
		for name := range s.functions {
			names = append(names, name)
		}
		sort.Strings(names)
		for _, name := range names {
			if d.names {
				fmt.Fprintf(s.fds[1], "declare -f %s\n", name)
			} else {
				s.declareFunctionNamed(d, variant, name)
			}
		}
		return
	}
	if variant == "local" {
		in := s.scopes[len(s.scopes)-1]
		for _, name := range sortedKeys(in.names) {
			if v := in.names[name]; v.set || v.kind != scalar || in.function {
				fmt.Fprintln(s.fds[1], declaration(name, v, false))
			}
		}
		return
	}
	for _, name := range s.namesWith("") {
		v, in := s.lookup(name)
		if variant == "export" && !v.exported || variant == "readonly" && !v.readonly ||
			in == nil || d.table && v.kind != associative || d.array && v.kind != indexed {
			continue
		}
		fmt.Fprintln(s.fds[1], declaration(name, v, false))
	}
}
