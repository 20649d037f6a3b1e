package bash

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// piece is a part of a word after its expansion.
type piece struct {
	text string
	// quoted text is neither split nor a pattern.
	quoted bool
	// split says that the text came from an unquoted expansion, so that $IFS splits it.
	split bool
	// end says that a field ends here, as between the elements of "$@". The text is what joins them in one string, and a space does if
	// spaced is set.
	end, spaced bool
	// derived says that the elements around the end were changed, as in "${a[@]#x}". Assignments and here-strings join those with the
	// first character of IFS.
	derived bool
}

// fields expands words to the arguments of a command.
func (s *Shell) fields(words []*syntax.Word) ([]string, error) {
	result := make([]field, 0, len(words))
	total := 0
	for _, word := range words {
		// The common words need none of the steps.
		if text, ok := plain(word); ok {
			result = append(result, field{text: text})
			continue
		}
		for _, part := range s.braces(word) {
			pieces, err := s.pieces(part, tildeWord)
			if err != nil {
				return nil, err
			}
			from := len(result)
			result = s.split(pieces, result)
			for _, one := range result[from:] {
				total += len(one.text) + 16
			}
			s.checkLength(total, "the words of a command")
		}
	}
	return s.fileNames(result)
}

// field is one word after splitting. If it is a pattern of file names, it also has its text with what is quoted escaped.
type field struct{ text, pattern string }

// fileNames expands the patterns among words. bash does it after it has expanded all words, so that patterns match the files which a
// command substitution among them makes.
func (s *Shell) fileNames(words []field) ([]string, error) {
	names := make([]string, 0, len(words))
	for _, word := range words {
		if word.pattern == "" {
			names = append(names, word.text)
			continue
		}
		var err error
		if names, err = s.glob(word.pattern, word.text, names); err != nil {
			return nil, err
		}
	}
	return names, nil
}

// plain is the text of a word without anything to expand.
func plain(word *syntax.Word) (string, bool) {
	if len(word.Parts) != 1 {
		return "", false
	}
	switch part := word.Parts[0].(type) {
	case *syntax.Lit:
		if !strings.ContainsAny(part.Value, "\\{}~*?[") {
			return part.Value, true
		}
	case *syntax.SglQuoted:
		if !part.Dollar {
			return part.Value, true
		}
	}
	return "", false
}

// word expands a word to one string, without splitting and patterns.
func (s *Shell) word(word *syntax.Word) (string, error) {
	if word == nil {
		return "", nil
	}
	if text, ok := plain(word); ok {
		return text, nil
	}
	pieces, err := s.whole(word, tildeWord)
	return s.joined(pieces), err
}

// whole expands a word that is not split.
func (s *Shell) whole(word *syntax.Word, tilde tildeMode) ([]piece, error) {
	s.unsplit = true
	pieces, err := s.pieces(word, tilde)
	s.unsplit, s.joins = false, false
	return pieces, err
}

// assignedWord expands the value of an assignment, in which a tilde also counts after a colon.
func (s *Shell) assignedWord(word *syntax.Word) (string, error) {
	return s.assignedAs(word, tildeAssignment)
}

func (s *Shell) assignedAs(word *syntax.Word, tilde tildeMode) (string, error) {
	if word == nil {
		return "", nil
	}
	if text, ok := plain(word); ok {
		return text, nil
	}
	pieces, err := s.whole(word, tilde)
	if tilde == tildeNever {
		return s.joined(pieces), err
	}
	return s.joinedValue(pieces), err
}

// joinedValue is the text of pieces as the value of an assignment, or as a here-string.
func (s *Shell) joinedValue(pieces []piece) string {
	if separator := s.separator(); separator != "" {
		for i, p := range pieces {
			if p.derived && p.spaced {
				pieces[i].spaced, pieces[i].text = false, separator
			}
		}
	}
	return s.joined(pieces)
}

// joined is the text of pieces as one string. The elements of "$@" are separated by spaces.
func (s *Shell) joined(pieces []piece) string {
	if len(pieces) == 1 {
		return pieces[0].text
	}
	var text strings.Builder
	for _, p := range pieces {
		if p.end && p.spaced {
			text.WriteByte(' ')
			continue
		}
		text.WriteString(p.text)
		s.checkLength(text.Len(), "a word")
	}
	return text.String()
}

// quotedText expands a word as in double quotes.
func (s *Shell) quotedText(word *syntax.Word) (string, error) {
	var text strings.Builder
	inDocument := s.inDocument
	s.inDocument = true
	defer func() { s.inDocument = inDocument }()
	for _, part := range word.Parts {
		if literal, ok := part.(*syntax.Lit); ok {
			text.WriteString(unescapeDocument(literal.Value))
			continue
		}
		pieces, err := s.part(part, true)
		if err != nil {
			return "", err
		}
		text.WriteString(s.joined(pieces))
		s.checkLength(text.Len(), "a text")
	}
	return text.String(), nil
}

// unescapeDocument removes the backslashes that count in a here-document.
func unescapeDocument(text string) string {
	return unescape(text, "$`\\")
}

// unescape removes backslashes before these characters, and before newlines with the newline.
func unescape(text, special string) string {
	if !strings.Contains(text, `\`) {
		return text
	}
	var out strings.Builder
	for i := 0; i < len(text); i++ {
		if text[i] == '\\' && i+1 < len(text) {
			if text[i+1] == '\n' {
				i++
				continue
			}
			if strings.IndexByte(special, text[i+1]) >= 0 {
				i++
			}
		}
		out.WriteByte(text[i])
	}
	return out.String()
}

type tildeMode int

const (
	tildeWord tildeMode = iota
	tildeAssignment
	tildeNever
)

// pieces expands the parts of a word.
func (s *Shell) pieces(word *syntax.Word, tilde tildeMode) ([]piece, error) {
	var result []piece
	for i, part := range word.Parts {
		literal, ok := part.(*syntax.Lit)
		if !ok {
			expanded, err := s.part(part, false)
			if err != nil {
				return nil, err
			}
			result = append(result, expanded...)
			continue
		}
		text := literal.Value
		if name, rest, ok := strings.Cut(text, "="); ok && i == 0 && tilde == tildeWord && strings.HasPrefix(rest, "~") && validName(name) {
			// A word that looks like an assignment is treated like one.
			result = append(result, piece{text: name + "="})
			prefix, left := s.tildes(rest, tildeAssignment, true, len(word.Parts) == 1)
			result = appendLiteral(append(result, prefix...), left)
			continue
		}
		if strings.Contains(text, "~") && tilde != tildeNever {
			last := i == len(word.Parts)-1
			var prefix []piece
			prefix, text = s.tildes(text, tilde, i == 0, last)
			result = append(result, prefix...)
		}
		result = appendLiteral(result, text)
	}
	return result, nil
}

// tildes expands ~ at the begin of a word, and after colons of an assignment.
func (s *Shell) tildes(text string, mode tildeMode, first, last bool) (before []piece, rest string) {
	rest = text
	for start := first; ; start = true {
		if start && strings.HasPrefix(rest, "~") {
			end := strings.IndexAny(rest, "/:")
			if mode == tildeWord {
				end = strings.IndexByte(rest, '/')
			}
			if end < 0 {
				end = len(rest)
			}
			if end < len(rest) || last {
				if home, ok := s.home(rest[1:end]); ok {
					before = append(before, piece{text: home, quoted: true})
					rest = rest[end:]
				}
			}
		}
		colon := strings.IndexByte(rest, ':')
		if mode != tildeAssignment || colon < 0 {
			return before, rest
		}
		before = appendLiteral(before, rest[:colon+1])
		rest = rest[colon+1:]
	}
}

func (s *Shell) home(user string) (string, bool) {
	switch user {
	case "":
		if home, ok := s.get("HOME"); ok {
			return home, true
		}
		return "/", true
	case "+":
		return s.dir, true
	case "-":
		return s.get("OLDPWD")
	case "root":
		return "/root", true
	}
	return "", false
}

// appendLiteral adds unquoted text of a script. A backslash in it quotes the next character.
func appendLiteral(pieces []piece, text string) []piece {
	for text != "" {
		at := strings.IndexByte(text, '\\')
		if at < 0 {
			return append(pieces, piece{text: text})
		}
		if at > 0 {
			pieces = append(pieces, piece{text: text[:at]})
		}
		text = text[at+1:]
		if text == "" {
			return append(pieces, piece{text: `\`, quoted: true})
		}
		size := 1
		for size < len(text) && text[size]&0xc0 == 0x80 {
			size++
		}
		if text[0] != '\n' {
			pieces = append(pieces, piece{text: text[:size], quoted: true})
		}
		text = text[size:]
	}
	return pieces
}

// part expands one part of a word that is not literal text.
func (s *Shell) part(part syntax.WordPart, quoted bool) ([]piece, error) {
	switch part := part.(type) {
	case *syntax.Lit:
		if quoted {
			return []piece{{text: unescape(part.Value, "$`\"\\"), quoted: true}}, nil
		}
		return appendLiteral(nil, part.Value), nil
	case *syntax.SglQuoted:
		if part.Dollar {
			return []piece{{text: ansiC(part.Value), quoted: true}}, nil
		}
		return []piece{{text: part.Value, quoted: true}}, nil
	case *syntax.DblQuoted:
		inDocument := s.inDocument
		s.inDocument = false
		pieces, err := s.doubleQuoted(part)
		s.inDocument = inDocument
		return pieces, err
	case *syntax.ParamExp:
		return s.parameter(part, quoted)
	case *syntax.CmdSubst:
		if part.TempFile || part.ReplyVar {
			s.refuse(noCommandInBraces)
		}
		text, err := s.substitute(part, quoted)
		return []piece{{text: text, quoted: quoted, split: !quoted}}, err
	case *syntax.ArithmExp:
		// It is an error of an expansion, also in a command for arithmetic or tests.
		n, err := s.arithmeticNode(part.X)
		err = discarding(err)
		return []piece{{text: itoa(n), quoted: quoted, split: !quoted}}, err
	case *syntax.ProcSubst:
		path, err := s.processSubstitution(part)
		return []piece{{text: path, quoted: quoted}}, err
	case *syntax.ExtGlob:
		// The pattern may have expansions, which the parser leaves in the text.
		inner, err := s.extendedGlob(part)
		if err != nil {
			return nil, err
		}
		return append(append([]piece{{text: part.Op.String()}}, inner...), piece{text: ")"}), nil
	}
	return nil, &shellError{text: "this expansion is not supported", status: 2}
}

// extendedGlob expands the text between the brackets of an extended pattern.
func (s *Shell) extendedGlob(part *syntax.ExtGlob) ([]piece, error) {
	text := part.Pattern.Value
	if !strings.ContainsAny(text, "$`\"'") {
		return []piece{{text: text}}, nil
	}
	// Bars and brackets would end a word; escaped, they come back as text.
	protect := func() string {
		return strings.NewReplacer("|", "\\|", "(", "\\(", ")", "\\)", " ", "\\ ").Replace(text)
	}
	d, err := s.code.derive(wordKey{part}, part.Pos().Line(), protect, parseKey)
	if err != nil {
		return nil, &shellError{text: "the pattern " + text + " is not supported: put it in a variable", status: 2}
	}
	code := s.code
	s.code = d.source
	pieces, err := s.pieces(d.word, tildeNever)
	s.code = code
	for i, p := range pieces {
		if p.quoted && strings.ContainsAny(p.text, "|() ") && len(p.text) == 1 {
			pieces[i].quoted = false
		}
	}
	return pieces, err
}

func (s *Shell) doubleQuoted(part *syntax.DblQuoted) ([]piece, error) {
	// An empty pair of quotes makes an empty field, but "$@" without parameters makes none.
	if len(part.Parts) == 0 {
		return []piece{{quoted: true}}, nil
	}
	var result []piece
	none := false
	for _, inner := range part.Parts {
		expanded, err := s.part(inner, true)
		if err != nil {
			return nil, err
		}
		result = append(result, expanded...)
		none = none || len(expanded) == 0
	}
	if result == nil && !onlyList(part.Parts) {
		return []piece{{quoted: true}}, nil
	}
	if none && !slices.ContainsFunc(result, func(p piece) bool { return p.text != "" || p.end }) {
		// A list without elements removes the word, if nothing else is in the quotes.
		return nil, nil
	}
	return result, nil
}

func onlyList(parts []syntax.WordPart) bool {
	for _, part := range parts {
		if _, ok := part.(*syntax.ParamExp); !ok {
			return false
		}
	}
	return true
}

// split cuts pieces into fields by $IFS.
func (s *Shell) split(pieces []piece, fields []field) []field {
	ifs, ok := s.get("IFS")
	if !ok {
		ifs = " \t\n"
	}
	var (
		text    strings.Builder // the field without quotes
		pattern strings.Builder // the field with its quoted characters escaped
		started bool
		magic   bool
	)
	flush := func() {
		if !started {
			return
		}
		one := field{text: text.String()}
		if magic && !s.options.noglob {
			one.pattern = pattern.String()
		}
		fields = append(fields, one)
		text.Reset()
		pattern.Reset()
		started, magic = false, false
	}
	add := func(part string, quoted bool) {
		text.WriteString(part)
		if quoted {
			pattern.WriteString(quotePattern(part))
			return
		}
		if strings.ContainsAny(part, "*?[(") {
			magic = true
		}
		pattern.WriteString(part)
	}
	// bash joins the elements of an unquoted list with the first character of IFS, so that an empty one stays if that is no space.
	first := s.separator()
	joins := first != "" && !strings.Contains(" \t\n", first)
	for i, p := range pieces {
		switch {
		case p.end:
			if joins && i > 0 && pieces[i-1].split && !pieces[i-1].quoted {
				started = true
			}
			flush()
		case !p.split || ifs == "":
			if p.quoted || p.text != "" {
				started = true
			}
			add(p.text, p.quoted)
		default:
			rest := p.text
			for rest != "" {
				at := strings.IndexAny(rest, ifs)
				if at < 0 {
					started = true
					add(rest, false)
					break
				}
				if at > 0 {
					started = true
					add(rest[:at], false)
				}
				// Spaces around a separator belong to it; spaces alone separate, too.
				end, hard := separator(rest[at:], ifs)
				if hard {
					started = true
				}
				flush()
				rest = rest[at+end:]
			}
		}
	}
	flush()
	return fields
}

// separator measures the separator at the begin of a text: white space of IFS, with at most one other character of it.
func separator(text, ifs string) (size int, hard bool) {
	for i, c := range text {
		switch {
		case strings.ContainsRune(" \t\n", c) && strings.ContainsRune(ifs, c):
		case strings.ContainsRune(ifs, c) && !hard:
			hard = true
		default:
			return i, hard
		}
	}
	return len(text), hard
}

// quotePattern escapes what is special in a pattern.
func quotePattern(text string) string {
	if !strings.ContainsAny(text, `*?[]\()|!@+-^`) {
		return text
	}
	var out strings.Builder
	for i := range len(text) {
		if strings.IndexByte(`*?[]\()|!@+-^`, text[i]) >= 0 {
			out.WriteByte('\\')
		}
		out.WriteByte(text[i])
	}
	return out.String()
}

// pattern expands a word to a pattern, in which quoted text is escaped.
func (s *Shell) pattern(word *syntax.Word) (string, error) {
	if word == nil {
		return "", nil
	}
	document, unsplit := s.document, s.unsplit
	s.document, s.unsplit = false, true
	pieces, err := s.pieces(word, tildeWord)
	s.document, s.unsplit = document, unsplit
	if err != nil {
		return "", err
	}
	var pattern strings.Builder
	for _, p := range pieces {
		switch {
		case p.end:
			pattern.WriteByte(' ')
		case p.quoted:
			pattern.WriteString(quotePattern(p.text))
		default:
			pattern.WriteString(p.text)
		}
	}
	return pattern.String(), nil
}

// processSubstitution runs commands beside the current one, connected by a pipe with a name.
func (s *Shell) processSubstitution(part *syntax.ProcSubst) (string, error) {
	reader, writer := s.world.newPipe()
	child := s.subshell()
	child.loops = s.loops
	s.substitutes(child)
	ours, theirs, number := reader, writer, 1
	if part.Op == syntax.CmdOut {
		ours, theirs, number = writer, reader, 0
	}
	child.replace(number, theirs)
	at := 63
	for s.fds[at] != nil {
		at--
	}
	s.fds[at] = ours
	j := s.startJob(child)
	j.substitution = true
	go s.runJob(j, child, func() error { return child.statements(part.Stmts) })
	s.cleanups = append(s.cleanups, func() {
		if s.fds[at] == ours {
			delete(s.fds, at)
		}
		ours.close()
		// What is written to >(…) is processed before the next command, so that runs do not differ.
		if part.Op == syntax.CmdOut {
			<-j.done
		}
	})
	return "/dev/fd/" + itoa(int64(at)), nil
}
