package bash

import (
	"sort"
	"strings"
	"unicode"
	"unicode/utf8"

	"mvdan.cc/sh/v3/syntax"
)

// value is what a parameter expansion works on: one text, or the elements of an array.
type value struct {
	texts []string
	set   bool
	// many says that it is $@, $* or all elements of an array; star that quotes join them.
	many, star bool
	// variable is where it comes from, if it is one, and key the subscript.
	variable *variable
	// changed says that an operator changed the elements, and replaced that it was one for patterns or for the case.
	changed, replaced bool
}

// parameter expands $name and ${…}.
func (s *Shell) parameter(e *syntax.ParamExp, quoted bool) ([]piece, error) {
	if e.Param == nil || e.Flags != nil || e.Width || e.IsSet || e.NestedParam != nil || e.Modifiers != nil {
		return nil, s.badSubstitution(e)
	}
	name := e.Param.Value
	if e.Excl && e.Names != 0 {
		if e.Names == syntax.NamesPrefix && !quoted && s.separator() == "" {
			// Other than $*, bash joins them where IFS is empty.
			return []piece{{text: strings.Join(s.namesWith(name), ""), split: true}}, nil
		}
		names := s.namesWith(name)
		pieces := s.valuePieces(value{texts: names, set: len(names) > 0, many: true, star: e.Names == syntax.NamesPrefix, replaced: true}, quoted)
		derive(pieces)
		return pieces, nil
	}
	if e.Excl && e.Index != nil {
		if sign := subscriptSign(e.Index); sign != 0 && e.Exp == nil && e.Slice == nil && e.Repl == nil {
			if sign == '*' && !quoted && !s.unsplit && s.separator() == "" {
				return []piece{{text: strings.Join(s.variable(name).keys(), " "), split: true}}, nil
			}
			pieces := s.listed(s.variable(name).keys(), sign == '*', quoted)
			if quoted {
				derive(pieces)
			}
			return pieces, nil
		}
	}
	var v value
	var err error
	switch {
	case e.Excl && s.isReference(name) && e.Index == nil:
		// ${!name} of a reference is the name that it refers to.
		plain, _ := s.lookup(name)
		v = value{texts: []string{plain.text}, set: plain.set, variable: plain}
	case e.Excl:
		target, set, err := s.indirect(e, name)
		switch {
		case err != nil:
			return nil, err
		case !set && (e.Exp == nil || validName(name) && s.variable(name) == nil):
			return nil, &shellError{text: name + ": invalid indirect expansion", discards: true, severe: true}
		case set:
			if v, err = s.valueOfText(target); err != nil {
				return nil, err
			}
		}
		name = target
	default:
		if v, err = s.valueOf(name, e.Index); err != nil {
			return nil, err
		}
	}
	if e.Length {
		return s.length(e, name, v, quoted)
	}
	if e.Exp != nil {
		switch e.Exp.Op {
		case syntax.DefaultUnset, syntax.DefaultUnsetOrNull, syntax.AlternateUnset, syntax.AlternateUnsetOrNull,
			syntax.AssignUnset, syntax.AssignUnsetOrNull, syntax.ErrorUnset, syntax.ErrorUnsetOrNull:
			return s.withDefault(e, name, v, quoted)
		}
	}
	if !v.set && !v.many && !hasAttributes(e, v) {
		if err := s.checkUnset(e, name); err != nil {
			return nil, err
		}
	}
	if !v.set && v.many && s.options.nounset && e.Index != nil && v.variable == nil && name != "@" && name != "*" {
		// An array without elements is no error in bash 5.
		v.texts = nil
	}
	if err := s.transform(e, name, &v); err != nil {
		return nil, err
	}
	v.changed = e.Exp != nil || e.Repl != nil || e.Slice != nil
	v.replaced = e.Repl != nil || changesCase(e.Exp)
	pieces := s.valuePieces(v, quoted)
	if quoted && (e.Exp != nil || e.Repl != nil || e.Slice != nil) || removesOrQuotes(e.Exp) {
		derive(pieces)
	}
	return pieces, nil
}

// hasAttributes says whether an operator shows the attributes of an array that has elements. It does not need the first one.
func hasAttributes(e *syntax.ParamExp, v value) bool {
	if e.Exp == nil || e.Exp.Op != syntax.OtherParamOps || e.Index != nil || v.variable == nil || v.variable.kind == scalar || len(v.variable.keys()) == 0 {
		return false
	}
	op := e.Exp.Word.Lit()
	return op == "a" || op == "A"
}

// removesOrQuotes says whether an operator is # or %, or one after @.
func removesOrQuotes(e *syntax.Expansion) bool {
	if e == nil {
		return false
	}
	switch e.Op {
	case syntax.RemSmallPrefix, syntax.RemLargePrefix, syntax.RemSmallSuffix, syntax.RemLargeSuffix, syntax.OtherParamOps:
		return true
	}
	return false
}

func changesCase(e *syntax.Expansion) bool {
	if e == nil {
		return false
	}
	switch e.Op {
	case syntax.UpperFirst, syntax.UpperAll, syntax.LowerFirst, syntax.LowerAll:
		return true
	}
	return false
}

// derive marks the elements of a list as changed.
func derive(pieces []piece) {
	for i := range pieces {
		pieces[i].derived = pieces[i].end
	}
}

func (s *Shell) badSubstitution(e *syntax.ParamExp) error {
	return &shellError{text: s.code.slice(e.Pos(), e.End()) + ": bad substitution"}
}

func (s *Shell) checkUnset(e *syntax.ParamExp, name string) error {
	if !s.options.nounset {
		return nil
	}
	if e.Index != nil {
		name += "[" + s.subscriptText(e.Index) + "]"
	}
	if isSpecial(e.Param.Value) && !strings.ContainsAny(name[:1], "123456789!") {
		return nil
	}
	return &shellError{text: name + ": unbound variable"}
}

// listed makes the pieces of a list, as $* or $@ do.
func (s *Shell) listed(texts []string, star, quoted bool) []piece {
	return s.valuePieces(value{texts: texts, set: len(texts) > 0, many: true, star: star}, quoted)
}

func (s *Shell) valuePieces(v value, quoted bool) []piece {
	if !v.many {
		text := ""
		if len(v.texts) > 0 {
			text = v.texts[0]
		}
		return []piece{{text: text, quoted: quoted, split: !quoted}}
	}
	if v.star && !quoted && s.joins && s.separator() == "" {
		return []piece{{text: strings.Join(v.texts, ""), split: true}}
	}
	if v.star && quoted {
		separator := s.separator()
		if s.document && (v.variable == nil || v.changed) && !(v.replaced && separator == "") {
			// In a here-document, bash joins only the elements of an array by IFS, where nothing changes them.
			separator = " "
		}
		return []piece{{text: strings.Join(v.texts, separator), quoted: true}}
	}
	var pieces []piece
	for i, text := range v.texts {
		if i > 0 {
			between := piece{end: true, spaced: !v.star}
			if v.star {
				between.text = s.separator()
			}
			pieces = append(pieces, between)
		}
		pieces = append(pieces, piece{text: text, quoted: quoted, split: !quoted})
	}
	return pieces
}

// separator is what joins "$*".
func (s *Shell) separator() string {
	ifs, ok := s.get("IFS")
	if !ok {
		return " "
	}
	if ifs == "" {
		return ""
	}
	_, size := utf8.DecodeRuneInString(ifs)
	return ifs[:size]
}

// subscriptSign is '@' or '*' where a subscript means all elements.
func subscriptSign(index syntax.ArithmExpr) byte {
	if word, ok := index.(*syntax.Word); ok {
		if text := word.Lit(); text == "@" || text == "*" {
			return text[0]
		}
	}
	return 0
}

// valueOf reads a parameter with its subscript.
func (s *Shell) valueOf(name string, index syntax.ArithmExpr) (value, error) {
	if name == "@" || name == "*" {
		return value{texts: s.params, set: len(s.params) > 0, many: true, star: name == "*"}, nil
	}
	if isSpecial(name) {
		text, ok := s.special(name)
		return value{texts: []string{text}, set: ok}, nil
	}
	if index == nil {
		if strings.ContainsRune(s.resolve(name), '[') {
			return s.valueOfText(s.resolve(name))
		}
		v := s.variable(name)
		text, ok := v.first()
		return value{texts: []string{text}, set: ok, variable: v}, nil
	}
	v := s.variable(name)
	if sign := subscriptSign(index); sign != 0 {
		return value{texts: v.values(), set: v != nil && len(v.values()) > 0, many: true, star: sign == '*', variable: v}, nil
	}
	if v == nil && !s.options.nounset {
		// The subscript is evaluated for its effects only.
		v = &variable{kind: indexed}
	}
	text, ok, err := s.elementAt(v, name, index)
	return value{texts: []string{text}, set: ok, variable: v}, err
}

// elementAt reads an element with the subscript of the script.
func (s *Shell) elementAt(v *variable, name string, index syntax.ArithmExpr) (string, bool, error) {
	if v != nil && v.kind == associative {
		key, err := s.subscript(index)
		if err != nil {
			return "", false, err
		}
		if key == "" {
			s.severe("%s: bad array subscript", name)
		}
		text, ok := v.table.get(key)
		return text, ok, nil
	}
	n, err := s.arithmeticNode(index)
	if err != nil {
		return "", false, err
	}
	if v == nil {
		if n < 0 {
			s.severe("%s: bad array subscript", name)
		}
		return "", false, nil
	}
	if v.kind == scalar {
		if n < 0 {
			s.severe("%s: bad array subscript", name)
		}
		if n != 0 {
			return "", false, nil
		}
		return v.text, v.set, nil
	}
	at, ok := v.list.resolve(n)
	if !ok {
		s.severe("%s: bad array subscript", name)
		return "", false, nil
	}
	text, ok := v.list.get(at)
	return text, ok, nil
}

// valueOfText reads a parameter that a text names, such as the value of a reference.
func (s *Shell) valueOfText(text string) (value, error) {
	if text == "@" || text == "*" || isSpecial(text) {
		return s.valueOf(text, nil)
	}
	name, subscript, ok, err := s.namedElement(text)
	if err != nil {
		return value{}, err
	}
	if !ok {
		if !validName(name) {
			return value{}, &shellError{text: text + ": invalid variable name", discards: true, severe: true}
		}
		return s.valueOf(name, nil)
	}
	v := s.variable(name)
	if subscript == "@" || subscript == "*" {
		return value{texts: v.values(), set: len(v.values()) > 0, many: true, star: subscript == "*", variable: v}, nil
	}
	element, set, err := s.element(name, subscript)
	return value{texts: []string{element}, set: set, variable: v}, err
}

// indirect is the name that ${!name} means.
func (s *Shell) indirect(e *syntax.ParamExp, name string) (target string, set bool, err error) {
	v, err := s.valueOf(name, e.Index)
	if err != nil || !v.set || len(v.texts) == 0 {
		return "", false, err
	}
	return v.texts[0], true, nil
}

// namesWith lists the variables whose names begin so.
func (s *Shell) namesWith(prefix string) []string {
	seen := map[string]bool{}
	for _, in := range s.scopes {
		for name, v := range in.names {
			if strings.HasPrefix(name, prefix) && (v.set || v.kind != scalar) {
				seen[name] = true
			}
		}
	}
	names := make([]string, 0, len(seen))
	for name := range seen {
		names = append(names, name)
	}
	sort.Strings(names)
	return names
}

func (s *Shell) length(e *syntax.ParamExp, name string, v value, quoted bool) ([]piece, error) {
	n := len(v.texts)
	if v.many && e.Index != nil && s.options.nounset && (v.variable == nil || v.variable.kind == scalar || !v.variable.set) {
		// An array that has got elements, and none any more, is set.
		return nil, &shellError{text: name + ": unbound variable", discards: true}
	}
	if !v.many {
		switch err := s.checkUnset(e, name); {
		case v.set || err == nil:
		case e.Index == nil:
			return nil, err
		case v.variable == nil || !v.variable.set:
			return nil, &shellError{text: name + ": unbound variable", discards: true}
		}
		if e.Index != nil && !v.set && v.variable != nil && v.variable.kind != associative {
			if at, err := s.arithmeticNode(e.Index); err == nil && at < 0 && (v.variable.kind == scalar || v.variable.list.next()+at < 0) {
				return nil, &shellError{text: name + ": bad array subscript", discards: true}
			}
		}
		n = utf8.RuneCountInString(v.texts[0])
	}
	return []piece{{text: itoa(int64(n)), quoted: quoted, split: !quoted}}, nil
}

// withDefault handles the operators - + = ?, with and without a colon.
func (s *Shell) withDefault(e *syntax.ParamExp, name string, v value, quoted bool) ([]piece, error) {
	op := e.Exp.Op
	present := v.set
	switch op {
	case syntax.DefaultUnsetOrNull, syntax.AlternateUnsetOrNull, syntax.AssignUnsetOrNull, syntax.ErrorUnsetOrNull:
		present = present && strings.Join(v.texts, s.separatorOf(v)) != ""
	}
	operand := func() ([]piece, error) {
		if e.Exp.Word == nil {
			return []piece{{quoted: quoted}}, nil
		}
		return s.operand(e.Exp.Word, quoted, op == syntax.AssignUnset || op == syntax.AssignUnsetOrNull)
	}
	switch op {
	case syntax.AlternateUnset, syntax.AlternateUnsetOrNull:
		if present {
			return operand()
		}
		if v.many && !v.star {
			// As "$@" without parameters, it is no word.
			return nil, nil
		}
		return []piece{{quoted: quoted}}, nil
	case syntax.DefaultUnset, syntax.DefaultUnsetOrNull:
		if !present {
			return operand()
		}
	case syntax.AssignUnset, syntax.AssignUnsetOrNull:
		if !present {
			pieces, err := operand()
			if err != nil {
				return nil, err
			}
			text := s.joinedValue(pieces)
			if isSpecial(name) {
				return nil, &shellError{text: "$" + name + ": cannot assign in this way"}
			}
			if e.Index != nil && !e.Excl {
				err = s.assignElement(name, e.Index, text, false)
			} else {
				err = s.setText(name, text)
			}
			if err != nil {
				return nil, err
			}
			return []piece{{text: text, quoted: quoted, split: !quoted}}, nil
		}
	default:
		if !present {
			pieces, err := operand()
			if err != nil {
				return nil, err
			}
			text := s.joined(pieces)
			if text == "" {
				text = "parameter null or not set"
				if op == syntax.ErrorUnset {
					text = "parameter not set"
				}
			}
			return nil, &shellError{text: name + ": " + text}
		}
	}
	return s.valuePieces(v, quoted), nil
}

func (s *Shell) separatorOf(v value) string {
	if v.star {
		return s.separator()
	}
	return " "
}

// operand expands the word after :- and the like. In quotes, it is quoted; outside, its unquoted text is split. The operand of = is not.
func (s *Shell) operand(word *syntax.Word, quoted, assigned bool) ([]piece, error) {
	unsplit := s.unsplit
	defer func() { s.unsplit = unsplit }()
	if quoted {
		s.unsplit = true
		var pieces []piece
		for _, part := range word.Parts {
			switch part := part.(type) {
			case *syntax.Lit:
				pieces = append(pieces, piece{text: unescape(part.Value, "$`\"\\}"), quoted: true})
			case *syntax.SglQuoted:
				if part.Dollar {
					pieces = append(pieces, piece{text: ansiC(part.Value), quoted: true})
				} else {
					pieces = append(pieces, piece{text: "'" + part.Value + "'", quoted: true})
				}
			default:
				expanded, err := s.part(part, true)
				if err != nil {
					return nil, err
				}
				pieces = append(pieces, expanded...)
			}
		}
		if pieces == nil {
			// Unlike "$@", "${x:-$@}" is a word without parameters.
			pieces = []piece{{quoted: true}}
		}
		return pieces, nil
	}
	// bash splits it where IFS is empty.
	s.unsplit = assigned || s.unsplit && s.separator() != ""
	pieces, err := s.pieces(word, tildeWord)
	for i := range pieces {
		if !pieces[i].quoted && !pieces[i].end {
			pieces[i].split = true
		}
	}
	return spaced(pieces), err
}

// spaced separates the elements of $* by spaces where IFS has no separator.
func spaced(pieces []piece) []piece {
	for i, p := range pieces {
		pieces[i].spaced = p.end && (p.spaced || p.text == "")
	}
	return pieces
}

// transform applies a slice, a replacement, a removal or a change of case to each text.
func (s *Shell) transform(e *syntax.ParamExp, name string, v *value) error {
	switch {
	case e.Slice != nil:
		return s.slice(e, v)
	case e.Repl != nil:
		return s.replaceIn(e.Repl, v)
	case e.Exp == nil:
		return nil
	}
	if e.Exp.Op == syntax.OtherParamOps {
		return s.transformed(e, name, v)
	}
	pattern, err := s.pattern(e.Exp.Word)
	if err != nil {
		return err
	}
	op := e.Exp.Op
	return s.each(v, func(text string) string {
		switch op {
		case syntax.RemSmallPrefix, syntax.RemLargePrefix:
			return s.removePrefix(text, pattern, op == syntax.RemLargePrefix, s.match)
		case syntax.RemSmallSuffix, syntax.RemLargeSuffix:
			return s.removeSuffix(text, pattern, op == syntax.RemLargeSuffix, s.match)
		case syntax.UpperFirst, syntax.UpperAll:
			return s.changeCase(text, pattern, unicode.ToUpper, op == syntax.UpperAll)
		case syntax.LowerFirst, syntax.LowerAll:
			return s.changeCase(text, pattern, unicode.ToLower, op == syntax.LowerAll)
		}
		return text
	})
}

// each replaces every text of a value.
func (s *Shell) each(v *value, change func(string) string) error {
	changed := make([]string, len(v.texts))
	for i, text := range v.texts {
		changed[i] = change(text)
	}
	v.texts = changed
	return nil
}

func (s *Shell) removePrefix(text, pattern string, longest bool, match func(pattern, text string) bool) string {
	if !magicPattern(pattern) && !s.extra["nocasematch"] {
		return strings.TrimPrefix(text, unescapeAll(pattern))
	}
	if longest {
		for end := len(text); end >= 0; end-- {
			if s.boundary(text, end) && match(pattern, text[:end]) {
				return text[end:]
			}
		}
		return text
	}
	for end := 0; end <= len(text); end++ {
		if s.boundary(text, end) && match(pattern, text[:end]) {
			return text[end:]
		}
	}
	return text
}

func (s *Shell) removeSuffix(text, pattern string, longest bool, match func(pattern, text string) bool) string {
	if !magicPattern(pattern) && !s.extra["nocasematch"] {
		return strings.TrimSuffix(text, unescapeAll(pattern))
	}
	if longest {
		for start := 0; start <= len(text); start++ {
			if s.boundary(text, start) && match(pattern, text[start:]) {
				return text[:start]
			}
		}
		return text
	}
	for start := len(text); start >= 0; start-- {
		if s.boundary(text, start) && match(pattern, text[start:]) {
			return text[:start]
		}
	}
	return text
}

// boundary says whether a character begins at a position. It counts as a step of the run.
func (s *Shell) boundary(text string, at int) bool {
	s.tick()
	return at == len(text) || utf8.RuneStart(text[at])
}

func (s *Shell) changeCase(text, pattern string, change func(rune) rune, all bool) string {
	var out strings.Builder
	for i, c := range text {
		if (all || i == 0) && (pattern == "" || s.match(pattern, string(c))) {
			c = change(c)
		}
		out.WriteRune(c)
	}
	return out.String()
}

// replaceIn is ${name/pattern/text}.
func (s *Shell) replaceIn(r *syntax.Replace, v *value) error {
	if !v.set {
		return nil
	}
	if slash, ok := slashPattern(r); ok {
		r = slash
	} else if r.All && r.Orig == nil {
		s.refuse(noSlash)
	}
	pattern, err := s.pattern(r.Orig)
	if err != nil {
		return err
	}
	// An unquoted & in the replacement is what matched (patsub_replacement).
	var replacement []piece
	if r.With != nil {
		document := s.document
		s.document = false
		replacement, err = s.pieces(r.With, tildeWord)
		if s.document = document; err != nil {
			return err
		}
	}
	var anchor byte
	if !r.All && pattern != "" && (pattern[0] == '#' || pattern[0] == '%') {
		anchor, pattern = pattern[0], pattern[1:]
	}
	with := func(matched string) string {
		var out strings.Builder
		for _, p := range replacement {
			switch {
			case p.end && p.spaced:
				out.WriteByte(' ')
			case p.end:
				out.WriteString(p.text)
			case p.quoted || !strings.ContainsAny(p.text, `&\`) || !s.extra["patsub_replacement"]:
				out.WriteString(p.text)
			default:
				for i := 0; i < len(p.text); i++ {
					switch {
					case p.text[i] == '\\' && i+1 < len(p.text) && (p.text[i+1] == '&' || p.text[i+1] == '\\'):
						i++
						out.WriteByte(p.text[i])
					case p.text[i] == '&':
						out.WriteString(matched)
					default:
						out.WriteByte(p.text[i])
					}
				}
			}
		}
		return out.String()
	}
	return s.each(v, func(text string) string {
		return s.substituteIn(text, pattern, anchor, r.All, with)
	})
}

func (s *Shell) substituteIn(text, pattern string, anchor byte, all bool, with func(string) string) string {
	switch {
	case pattern == "" && anchor == '#':
		return with("") + text
	case pattern == "" && anchor == '%':
		return text + with("")
	case pattern == "":
		return text
	case anchor == '#':
		if rest := s.removePrefix(text, pattern, true, s.matchFolded); rest != text {
			return with(text[:len(text)-len(rest)]) + rest
		}
		return text
	case anchor == '%':
		if rest := s.removeSuffix(text, pattern, true, s.matchFolded); rest != text {
			return rest + with(text[len(rest):])
		}
		return text
	}
	literal, plain := "", !magicPattern(pattern) && !s.extra["nocasematch"]
	if plain {
		literal = unescapeAll(pattern)
	}
	var out strings.Builder
	for at := 0; at < len(text); {
		length := -1
		if plain {
			next := strings.Index(text[at:], literal)
			if next < 0 {
				out.WriteString(text[at:])
				return out.String()
			}
			out.WriteString(text[at : at+next])
			at, length = at+next, len(literal)
		} else {
			for end := len(text); end > at; end-- {
				if s.boundary(text, end) && s.matchFolded(pattern, text[at:end]) {
					length = end - at
					break
				}
			}
		}
		if length < 0 {
			_, size := utf8.DecodeRuneInString(text[at:])
			out.WriteString(text[at : at+size])
			at += size
			continue
		}
		out.WriteString(with(text[at : at+length]))
		s.checkLength(out.Len(), "a replacement")
		at += length
		if !all {
			out.WriteString(text[at:])
			return out.String()
		}
	}
	return out.String()
}

// slashPattern handles ${name////text}, whose pattern is a slash. The parser takes the slash for the end of the pattern.
func slashPattern(r *syntax.Replace) (*syntax.Replace, bool) {
	if !r.All || r.Orig != nil && len(r.Orig.Parts) > 0 {
		return r, true
	}
	if r.With == nil || len(r.With.Parts) == 0 {
		return nil, false
	}
	literal, ok := r.With.Parts[0].(*syntax.Lit)
	if !ok || !strings.HasPrefix(literal.Value, "/") {
		return nil, false
	}
	rest := *literal
	rest.Value = literal.Value[1:]
	with := &syntax.Word{Parts: append([]syntax.WordPart{&rest}, r.With.Parts[1:]...)}
	return &syntax.Replace{All: true, Orig: &syntax.Word{Parts: []syntax.WordPart{&syntax.Lit{Value: "/"}}}, With: with}, true
}

// slice is ${name:offset:length}.
func (s *Shell) slice(e *syntax.ParamExp, v *value) error {
	var offset, length int64
	var err error
	if e.Slice.Offset != nil {
		if offset, err = s.arithmeticNode(e.Slice.Offset); err != nil {
			return err
		}
	}
	hasLength := e.Slice.Length != nil
	if hasLength {
		if length, err = s.arithmeticNode(e.Slice.Length); err != nil {
			return err
		}
	}
	if v.many && (v.variable == nil || v.variable.kind != scalar) {
		return s.sliceList(e, v, offset, length, hasLength)
	}
	if len(v.texts) == 0 || !v.set {
		return nil
	}
	runes := []rune(v.texts[0])
	start, end, ok := bounds(offset, length, hasLength, int64(len(runes)))
	if !ok {
		return &shellError{text: itoa(length) + ": substring expression < 0", discards: true}
	}
	v.texts = []string{string(runes[start:end])}
	return nil
}

func bounds(offset, length int64, hasLength bool, size int64) (start, end int64, ok bool) {
	if offset < 0 {
		offset += size
	}
	if offset < 0 || offset > size {
		return 0, 0, true
	}
	end = size
	if hasLength {
		if length < 0 {
			end = size + length
			if end < offset {
				return 0, 0, false
			}
		} else {
			end = min(size, offset+length)
		}
	}
	return offset, end, true
}

func (s *Shell) sliceList(e *syntax.ParamExp, v *value, offset, length int64, hasLength bool) error {
	if hasLength && length < 0 {
		return &shellError{text: itoa(length) + ": substring expression < 0", discards: true}
	}
	texts := v.texts
	if name := e.Param.Value; name == "@" || name == "*" {
		// $0 is element 0 of the parameters.
		texts = append([]string{s.arg0}, texts...)
		if offset < 0 {
			offset += int64(len(texts))
			if offset < 0 {
				v.texts = nil
				return nil
			}
		}
	}
	if v.variable != nil && v.variable.kind == indexed {
		// The offset counts indices, the length counts elements.
		if offset < 0 {
			if offset += v.variable.list.next(); offset < 0 {
				v.texts = nil
				return nil
			}
		}
		at, _ := v.variable.list.find(offset)
		offset = int64(at)
	}
	if v.variable != nil && v.variable.kind == associative && offset > 0 {
		// bash counts the keys from 1.
		offset--
	}
	start, end, _ := bounds(offset, length, hasLength, int64(len(texts)))
	v.texts = texts[start:end]
	return nil
}

// transformed is ${name@operator}.
func (s *Shell) transformed(e *syntax.ParamExp, name string, v *value) error {
	op := e.Exp.Word.Lit()
	if !v.set && op != "a" && op != "A" {
		v.texts = nil
		return nil
	}
	if op == "a" || op == "A" {
		// The attributes are those of the variable, also for a reference and for an element.
		name = s.resolve(name)
		if base, _, ok := splitSubscript(name); ok {
			if name = base; !e.Excl {
				// bash shows nothing of a reference to an element.
				v.texts = nil
				return nil
			}
		}
	}
	switch op {
	case "Q":
		return s.each(v, quoteAlways)
	case "U":
		return s.each(v, strings.ToUpper)
	case "L":
		return s.each(v, strings.ToLower)
	case "u":
		return s.each(v, func(text string) string { return s.changeCase(text, "", unicode.ToUpper, false) })
	case "E":
		return s.each(v, ansiC)
	case "a":
		flags := ""
		if variable := s.variable(name); variable != nil {
			flags = attributes(variable)
		}
		switch {
		case v.many && flags == "":
			v.texts = nil
		case v.many && len(v.texts) > 0:
			return s.each(v, func(string) string { return flags })
		default:
			v.texts = []string{flags}
		}
		return nil
	case "P":
		s.refuse(noPrompt, name)
	case "A":
		if name == "@" || name == "*" {
			s.refuse(noParameters, name)
		}
		variable := s.variable(name)
		if variable == nil || !variable.set && attributes(variable) == "" {
			v.texts = nil
			return nil
		}
		if !v.many {
			// One element is shown as if it were the whole variable.
			flags := attributes(variable)
			if flags == "" && !v.set {
				v.texts = nil
				return nil
			}
			text := name
			if flags != "" {
				text = "declare -" + flags + " " + name
			}
			if v.set {
				text += "=" + quoteAlways(v.texts[0])
			}
			v.texts = []string{text}
			return nil
		}
		text := declaration(name, variable, true)
		v.texts = []string{text}
		if ifs, ok := s.get("IFS"); v.many && !v.star && variable.kind != scalar && (!ok || strings.Contains(ifs, " ")) {
			// bash splits it at its spaces, but not at those of the elements.
			v.texts = strings.SplitN(text, " ", 3)
		}
		return nil
	case "k", "K":
		if v.many && v.variable != nil && v.variable.kind != scalar {
			keys := v.variable.keys()
			var texts []string
			for i, text := range v.texts {
				if op == "k" {
					texts = append(texts, keys[i], text)
				} else {
					text = quoteKey(v.variable.kind, keys[i]) + " " + quoteDouble(text)
					if v.variable.kind == associative {
						text += " "
					}
					texts = append(texts, text)
				}
			}
			if op == "K" {
				separator := " "
				if v.variable.kind == associative {
					separator = ""
				}
				texts = []string{strings.Join(texts, separator)}
			}
			v.texts = texts
			return nil
		}
		return s.each(v, quoteAlways)
	}
	return s.badSubstitution(e)
}
