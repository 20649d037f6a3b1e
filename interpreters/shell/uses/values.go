package uses

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/boathook/boathook/interpreters/shell/bash"
	"mvdan.cc/sh/v3/syntax"
)

// value is what a word may be. A text that is not known holds placeholders.
type value struct {
	text  string
	known bool
}

// The most values of a variable, and of variables of one command together, that are tried one by one.
const (
	maxValues = 8
	maxCombos = 16
)

// Placeholders are names that Kubernetes accepts, or numbers where a command wants one.
var placeholders = regexp.MustCompile(`unk(\d{3,})qz|7190(\d{3,})`)

func hasPlaceholder(text string) bool { return placeholders.MatchString(text) }

// placeholder stands for something that is not known before a run. Nothing is said of it without a description.
func (a *analysis) placeholder(description string) string {
	for i, there := range a.unknowns {
		if there == description {
			return fmt.Sprintf("unk%03dqz", i)
		}
	}
	a.unknowns = append(a.unknowns, description)
	return fmt.Sprintf("unk%03dqz", len(a.unknowns)-1)
}

func (a *analysis) unknown(description string) value { return value{a.placeholder(description), false} }

// described is what the placeholders of a text stand for.
func (a *analysis) described(text string) []string {
	var all []string
	for _, match := range placeholders.FindAllStringSubmatch(text, -1) {
		at := 0
		fmt.Sscanf(match[1]+match[2], "%d", &at)
		if at < len(a.unknowns) && a.unknowns[at] != "" {
			all = append(all, a.unknowns[at])
		}
	}
	return all
}

// numeric replaces placeholders by numbers.
func numeric(text string) string { return placeholders.ReplaceAllString(text, "7190$1$2") }

// isConstant says whether a text stands in the files of the hook, or was made only of such texts. A part of a placeholder
// that a command cut off is neither.
func (a *analysis) isConstant(text string) bool {
	if isJSON(text) {
		return a.certain[text]
	}
	if a.constants[text] || a.certain[text] {
		return true
	}
	for at := 0; ; {
		found := strings.Index(a.text[at:], text)
		if found < 0 {
			return false
		}
		start, end := at+found, at+found+len(text)
		if (start == 0 || !isNameByte(a.text[start-1])) && (end == len(a.text) || !isNameByte(a.text[end])) {
			return true
		}
		at = start + 1
	}
}

var number = regexp.MustCompile(`^-?[0-9.]+([eE][+-]?[0-9]+)?$`)

// isJSON says whether a text is what jq and kubectl print of a field that is not there, or of one that is no text. It stands in
// many scripts, and is a name in few.
func isJSON(text string) bool {
	switch text {
	case "null", "true", "false", "{}", "[]", "<none>", "<nil>", "<no value>":
		return true
	}
	return number.MatchString(text)
}

func isNameByte(c byte) bool {
	return c == '-' || c == '.' || c == '_' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}

// assign is one place that gives a variable a value.
type assign struct {
	file  string
	line  int
	word  *syntax.Word
	array *syntax.Assign
	items []*syntax.Word
	// unknown says that a command gives the value, and counted that the arithmetic does.
	unknown, counted bool
}

// frame has the variables of a call of a function, or of the files themselves.
type frame struct {
	parent  *frame
	file    string
	assigns map[string][]assign
	// params are the arguments. They are not known if given is false, or if moved says that the code sets others.
	params []value
	given  bool
	moved  bool
	caller string
	depth  int
	nested int // texts that are run
	memo   map[string][]value
	active map[string]bool
}

func newFrame(parent *frame) *frame {
	f := &frame{parent: parent, given: true, assigns: map[string][]assign{}, memo: map[string][]value{}, active: map[string]bool{}}
	if parent != nil {
		f.depth = parent.depth + 1
	}
	return f
}

// collect notes the assignments of statements, but not those in functions.
func (f *frame) collect(file string, list []*syntax.Stmt) {
	add := func(name string, at syntax.Pos, a assign) {
		if syntax.ValidName(name) {
			a.file, a.line = file, int(at.Line())
			f.assigns[name] = append(f.assigns[name], a)
		}
	}
	one := func(as *syntax.Assign) {
		switch {
		case as.Name == nil || as.Naked:
		case as.Array != nil || as.Index != nil:
			add(as.Name.Value, as.Pos(), assign{array: as})
		case as.Append:
			add(as.Name.Value, as.Pos(), assign{unknown: true})
		default:
			add(as.Name.Value, as.Pos(), assign{word: as.Value})
		}
	}
	for _, s := range list {
		syntax.Walk(s, func(node syntax.Node) bool {
			switch n := node.(type) {
			case *syntax.FuncDecl:
				return false
			case *syntax.CallExpr:
				if len(n.Args) == 0 {
					for _, as := range n.Assigns {
						one(as)
					}
				}
				if c := codeOf(n); c != nil && !c.shell {
					if text, ok := staticCode(c.words); ok {
						if source, err := bash.Parse(file, strings.Repeat("\n", max(int(n.Pos().Line())-1, 0))+text, bash.DefaultLimits); err == nil && f.nested < maxDepth {
							f.nested++
							f.collect(file, source.File().Stmts)
							f.nested--
						}
					}
				}
				f.moved = f.moved || movesArguments(n)
				for _, name := range filled(n) {
					add(name, n.Pos(), assign{unknown: true})
				}
			case *syntax.DeclClause:
				for _, as := range n.Args {
					one(as)
				}
			case *syntax.WordIter:
				switch {
				case len(n.Items) == 1 && strings.HasPrefix(printed(n.Items[0]), "$(seq "):
					add(n.Name.Value, n.Pos(), assign{counted: true})
				case n.InPos.IsValid() && len(n.Items) > 0:
					add(n.Name.Value, n.Pos(), assign{items: n.Items})
				default:
					add(n.Name.Value, n.Pos(), assign{unknown: true})
				}
			case *syntax.ParamExp:
				if n.Param != nil && n.Exp != nil && (n.Exp.Op == syntax.AssignUnset || n.Exp.Op == syntax.AssignUnsetOrNull) {
					add(n.Param.Value, n.Pos(), assign{word: n.Exp.Word})
				}
			case *syntax.BinaryArithm:
				if word, ok := n.X.(*syntax.Word); ok && strings.HasSuffix(n.Op.String(), "=") && n.Op != syntax.Eql && n.Op != syntax.Neq && n.Op != syntax.Leq && n.Op != syntax.Geq {
					add(word.Lit(), n.Pos(), assign{counted: true})
				}
			case *syntax.UnaryArithm:
				if word, ok := n.X.(*syntax.Word); ok && (n.Op == syntax.Inc || n.Op == syntax.Dec) {
					add(word.Lit(), n.Pos(), assign{counted: true})
				}
			}
			return true
		})
	}
}

// hasArguments says whether the arguments of a frame are known.
func (f *frame) hasArguments() bool { return f.given && !f.moved }

// movesArguments says whether a command changes $1 and the following ones.
func movesArguments(call *syntax.CallExpr) bool {
	if len(call.Args) == 0 {
		return false
	}
	words := call.Args
	for name := bash.StaticText(words[0]); len(words) > 1 && (name == "builtin" || name == "command"); name = bash.StaticText(words[0]) {
		words = words[1:]
	}
	switch bash.StaticText(words[0]) {
	case "shift":
		return true
	case "set":
		for i := 1; i < len(words); i++ {
			text := bash.StaticText(words[i])
			switch {
			case text == "--" || text == "-" || text == "" || text[0] != '-' && text[0] != '+':
				return true
			case strings.HasSuffix(text, "o"):
				// The name of an option.
				i++
			}
		}
	}
	return false
}

// filled are the variables that a builtin gives values.
func filled(call *syntax.CallExpr) []string {
	if len(call.Args) == 0 {
		return nil
	}
	var words []string
	for _, word := range call.Args {
		words = append(words, bash.StaticText(word))
	}
	valued := map[string]string{"read": "adinNptu", "mapfile": "dnOsuCc", "readarray": "dnOsuCc"}
	switch words[0] {
	case "read", "mapfile", "readarray":
		var names []string
		for i := 1; i < len(words); i++ {
			flag := words[i]
			if len(flag) > 1 && flag[0] == '-' {
				last := flag[len(flag)-1:]
				if last == "a" && words[0] == "read" && i+1 < len(words) {
					names = append(names, words[i+1])
				}
				if strings.Contains(valued[words[0]], last) {
					i++
				}
				continue
			}
			names = append(names, flag)
		}
		if len(names) == 0 {
			names = []string{map[string]string{"read": "REPLY"}[words[0]] + map[string]string{"mapfile": "MAPFILE", "readarray": "MAPFILE"}[words[0]]}
		}
		return names
	case "printf":
		if len(words) > 2 && words[1] == "-v" {
			return words[2:3]
		}
	case "getopts":
		if len(words) > 2 {
			return []string{words[2], "OPTARG"}
		}
	}
	return nil
}

// find is the frame that has a variable, or nil.
func (f *frame) find(name string) *frame {
	for ; f != nil; f = f.parent {
		if len(f.assigns[name]) > 0 {
			return f
		}
	}
	return nil
}

// elsewhere is a frame for a variable that another function sets. A function has one such frame, which notes what is being
// looked up in it: functions can set variables from those of each other.
func (a *analysis) elsewhere(name string) *frame {
	for _, one := range slices.Sorted(maps.Keys(a.functions)) {
		f := a.others[one]
		if f == nil {
			f = a.frameOf(a.functions[one], a.global)
			for _, other := range a.functions[one].others {
				f.collect(other.file, []*syntax.Stmt{other.body})
			}
			f.given = false
			a.others[one] = f
		}
		if len(f.assigns[name]) > 0 {
			return f
		}
	}
	return nil
}

func (a *analysis) frameOf(fn *function, parent *frame) *frame {
	f := newFrame(parent)
	f.file, f.caller = fn.file, fn.name
	f.collect(fn.file, []*syntax.Stmt{fn.body})
	return f
}

// values are what a variable may be.
func (a *analysis) values(f *frame, name string) []value {
	if known, ok := f.memo[name]; ok {
		return known
	}
	unknown := a.unknown("$" + name)
	if f.active[name] {
		return []value{unknown}
	}
	f.active[name] = true
	defer delete(f.active, name)
	var all []value
	before := a.here
	defer func() { a.here = before }()
	for _, as := range f.assigns[name] {
		a.here = site{file: as.file, line: as.line}
		switch {
		case as.counted:
			// The index of a context, more often than not: the contexts are tried in each order.
			all = append(all, value{"0", false})
		case as.unknown || as.array != nil:
			all = append(all, unknown)
		case as.items != nil:
			if all = append(all, a.items(f, as.items, "$"+name)...); len(all) == 0 {
				all = append(all, value{"", true})
			}
		case as.word == nil:
			all = append(all, value{"", true})
		default:
			all = append(all, a.word(f, as.word, "$"+name)...)
		}
	}
	all = distinct(all)
	if len(all) > maxValues {
		all = []value{unknown}
	}
	f.memo[name] = all
	return all
}

// distinct leaves out what is there twice. No value comes after the others, so that an error of a command without it is
// not what is said of the command.
func distinct(all []value) []value {
	var kept, none []value
	seen := map[string]bool{}
	for _, one := range all {
		switch {
		case seen[one.text]:
			continue
		case one.text == "":
			none = append(none, one)
		default:
			kept = append(kept, one)
		}
		seen[one.text] = true
	}
	return append(kept, none...)
}

// plainWord is a word without expansions.
func plainWord(word *syntax.Word) bool {
	plain := func(part syntax.WordPart) bool {
		literal, ok := part.(*syntax.Lit)
		return ok && !strings.ContainsAny(literal.Value, "~*?[{\\")
	}
	for _, part := range word.Parts {
		switch part := part.(type) {
		case *syntax.SglQuoted:
			if part.Dollar {
				return false
			}
		case *syntax.DblQuoted:
			for _, inner := range part.Parts {
				if literal, ok := inner.(*syntax.Lit); !ok || strings.Contains(literal.Value, "\\") {
					return false
				}
			}
		default:
			if !plain(part) {
				return false
			}
		}
	}
	return true
}

// word is what a word may be, without splitting.
func (a *analysis) word(f *frame, word *syntax.Word, description string) []value {
	if plainWord(word) {
		text := bash.StaticText(word)
		a.constants[text] = true
		return []value{{text, true}}
	}
	s := a.prepare(f, word, description)
	code := "__v=" + s.text + "\nprintf '%s' \"$__v\"\n"
	var all []value
	for _, combo := range s.combos {
		out, ok := a.output(s.prefix + combo.code + code)
		all = append(all, a.judge(out, ok && combo.known && pure(word, a), description))
	}
	return distinct(all)
}

// items are the words of a loop, with splitting.
func (a *analysis) items(f *frame, words []*syntax.Word, description string) []value {
	var all []value
	for _, word := range words {
		if plainWord(word) {
			all = append(all, a.word(f, word, description)...)
			continue
		}
		s := a.prepare(f, word, description)
		code := "for __v in " + s.text + "; do printf '%s\\n' \"$__v\"; done\n"
		for _, combo := range s.combos {
			out, ok := a.output(s.prefix + combo.code + code)
			if out == "" && ok && combo.known && pure(word, a) {
				// The loop ends at once.
				continue
			}
			for _, line := range strings.Split(strings.TrimSuffix(out, "\n"), "\n") {
				all = append(all, a.judge(line, ok && combo.known && pure(word, a), description))
			}
		}
	}
	return all
}

// substitution is what $(…) prints. Without a description, its own code is one.
func (a *analysis) substitution(f *frame, subst *syntax.CmdSubst, description string) value {
	if description == "" {
		description = shortened("$(" + oneLine(printedList(subst.Stmts, "; ")) + ")")
	}
	node := &syntax.Block{Stmts: subst.Stmts}
	s := a.prepare(f, node, "")
	if len(s.combos) == 0 {
		return a.unknown(description)
	}
	out, ok := a.output(s.prefix + s.combos[0].code + s.text + "\n")
	known := ok && len(s.combos) == 1 && s.combos[0].known && pure(node, a)
	found := a.judge(strings.TrimRight(out, "\n"), known, description)
	if !known && isPart(found.text) && a.branches(node, map[string]bool{}) {
		if !strings.Contains(found.text, "apiVersion") && !strings.Contains(found.text, "/") {
			return a.unknown(description)
		}
		a.depends("$(" + printedList(subst.Stmts, "; ") + ")")
	}
	return found
}

// judge keeps a text if it is known, if it has placeholders, or if it is an object, whose kind is not made of them.
func (a *analysis) judge(text string, known bool, description string) value {
	switch {
	case known:
		a.constants[text] = true
		return value{text, true}
	case hasPlaceholder(text) && !strings.Contains(text, "\n"), strings.Contains(text, "apiVersion"):
		return value{text, false}
	}
	return a.unknown(description)
}

// output is what code prints on a cluster that has everything.
func (a *analysis) output(code string) (string, bool) {
	r := a.run(code, &notes{a: a}, 0)
	return r.out, r.status == 0
}

// simple are commands whose output depends only on their words and their input.
var simple = map[string]bool{
	"echo": true, "printf": true, "basename": true, "dirname": true, "tr": true, "sed": true, "cut": true, "awk": true, "grep": true, "base64": true,
	"seq": true, "sort": true, "uniq": true, "head": true, "tail": true, "wc": true, "true": true, ":": true, "test": true, "[": true, "pwd": true,
	"cd": true, "realpath": true, "readlink": true, "md5sum": true, "sha256sum": true, "jq": true, "yq": true, "cat": true,
}

// asksForFile are tests of files, which a try does not have.
var asksForFile = map[string]bool{"-e": true, "-f": true, "-d": true, "-s": true, "-r": true, "-w": true, "-x": true, "-L": true, "-h": true, "-nt": true, "-ot": true}

// pure says whether the output of a node depends only on what is known.
func pure(node syntax.Node, a *analysis) bool {
	is := true
	syntax.Walk(node, func(node syntax.Node) bool {
		switch n := node.(type) {
		case *syntax.CallExpr:
			if len(n.Args) == 0 {
				break
			}
			name := bash.StaticText(n.Args[0])
			if name == "test" || name == "[" {
				for _, word := range n.Args[1:] {
					is = is && !asksForFile[bash.StaticText(word)]
				}
			}
			is = is && simple[name] && a.functions[name] == nil && (name != "cat" || len(n.Args) == 1)
		case *syntax.ParamExp:
			name := ""
			if n.Param != nil {
				name = n.Param.Value
			}
			switch {
			case strings.HasSuffix(name, "_PATH"), name == "RANDOM", name == "SECONDS", strings.HasPrefix(name, "EPOCH"), name == "BINDING_CONTEXT_CURRENT_INDEX":
				is = false
			}
		case *syntax.UnaryTest:
			is = is && !asksForFile[n.Op.String()]
		case *syntax.Redirect:
			if n.Op == syntax.RdrIn {
				is = false
			}
		case *syntax.ProcSubst, *syntax.ArithmCmd, *syntax.FuncDecl:
			is = false
		}
		return is
	})
	return is
}

func printedList(list []*syntax.Stmt, between string) string {
	var all []string
	for _, s := range list {
		all = append(all, printed(s))
	}
	return strings.Join(all, between)
}

func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }

// shortened is a text for people.
func shortened(text string) string {
	text = markText.ReplaceAllString(text, "")
	const most = 72
	runes := []rune(text)
	if len(runes) <= most {
		return text
	}
	return string(runes[:most-1]) + "…"
}
