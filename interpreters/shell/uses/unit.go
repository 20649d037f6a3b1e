package uses

import (
	"context"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/boathook/boathook/interpreters/shell/bash"
	"github.com/boathook/boathook/interpreters/shell/commands"
	"github.com/boathook/boathook/interpreters/shell/kubectl"
	"github.com/boathook/boathook/interpreters/shell/shellop"
	"mvdan.cc/sh/v3/syntax"
)

// patience is how long one command may run. What waits for the cluster ends by itself.
const patience = 2 * time.Second

// needed is what a node refers to, also in the functions that it calls.
type needed struct {
	// names are variables; the value says whether a reference has no default.
	names     map[string]bool
	at        map[string]int // lines
	order     []string
	params    bool
	functions []*function
	library   bool
	context   bool
	patches   bool
}

// ours are variables that each run has, or that bash gives.
var ours = func() map[string]bool {
	names := map[string]bool{}
	for _, pair := range shellop.Environment() {
		name, _, _ := strings.Cut(pair, "=")
		names[name] = true
	}
	for _, name := range strings.Fields("IFS PWD OLDPWD RANDOM SECONDS HOSTNAME SHELL BASH BASHPID BASH_VERSION BASH_VERSINFO BASH_SOURCE BASH_LINENO " +
		"BASH_REMATCH BASH_COMMAND BASH_SUBSHELL FUNCNAME LINENO OSTYPE HOSTTYPE MACHTYPE UID EUID PPID REPLY OPTARG OPTIND PIPESTATUS SHLVL " +
		"EPOCHSECONDS EPOCHREALTIME MAPFILE PS4 DIRSTACK BINDING_CONTEXT_CURRENT_INDEX BINDING_CONTEXT_CURRENT_BINDING _") {
		names[name] = true
	}
	return names
}()

func (a *analysis) needs(node syntax.Node) *needed {
	n := &needed{names: map[string]bool{}, at: map[string]int{}}
	seen := map[string]bool{}
	var visit func(node syntax.Node, inside bool)
	variable := func(name string, plain bool, at syntax.Pos) {
		if _, ok := n.names[name]; !ok {
			n.order = append(n.order, name)
			n.at[name] = int(at.Line())
		}
		n.names[name] = n.names[name] || plain
	}
	visit = func(node syntax.Node, inside bool) {
		local := map[string]bool{}
		if inside {
			f := newFrame(nil)
			if s, ok := node.(*syntax.Stmt); ok {
				f.collect("", []*syntax.Stmt{s})
			}
			for name := range f.assigns {
				local[name] = true
			}
		}
		syntax.Walk(node, func(node syntax.Node) bool {
			switch node := node.(type) {
			case *syntax.ParamExp:
				if node.Param == nil {
					break
				}
				name := node.Param.Value
				switch {
				case name == "BINDING_CONTEXT_PATH":
					n.context = true
				case name == "KUBERNETES_PATCH_PATH":
					n.patches = true
				}
				switch {
				case !syntax.ValidName(name):
					// Those of a function that runs are its own.
					n.params = n.params || !inside
				case !local[name]:
					plain := node.Exp == nil && !node.Length
					if node.Exp != nil {
						if node.Exp.Word != nil && plainWord(node.Exp.Word) {
							a.constants[bash.StaticText(node.Exp.Word)] = true
						}
						switch node.Exp.Op {
						case syntax.DefaultUnset, syntax.DefaultUnsetOrNull, syntax.AssignUnset, syntax.AssignUnsetOrNull,
							syntax.AlternateUnset, syntax.AlternateUnsetOrNull:
						default:
							plain = true
						}
					}
					variable(name, plain, node.Pos())
				}
			case *syntax.BinaryArithm, *syntax.UnaryArithm, *syntax.ArithmExp, *syntax.ArithmCmd:
				syntax.Walk(node, func(inner syntax.Node) bool {
					if word, ok := inner.(*syntax.Word); ok && syntax.ValidName(word.Lit()) && !local[word.Lit()] {
						variable(word.Lit(), false, word.Pos())
					}
					return true
				})
			case *syntax.CallExpr:
				for _, word := range node.Args {
					name := bash.StaticText(word)
					switch {
					case strings.HasPrefix(name, "context::"):
						n.context = true
					case strings.HasPrefix(name, "kubernetes::"):
						n.patches = true
					}
					n.library = n.library || a.library[name]
					if fn := a.functions[name]; fn != nil && !seen[name] {
						seen[name] = true
						for _, one := range fn.declarations() {
							n.functions = append(n.functions, one)
							visit(one.body, true)
						}
					}
				}
			}
			return true
		})
	}
	visit(node, false)
	return n
}

// setup is what runs before a command, once for each combination of the values of variables.
type setup struct {
	needed *needed
	prefix string
	text   string
	combos []combo
}

type combo struct {
	code  string
	known bool
}

// prepare writes code that gives a node the variables and functions that it needs. Command substitutions become variables;
// the description is of a word that is one.
func (a *analysis) prepare(f *frame, node syntax.Node, description string) *setup {
	s := &setup{needed: a.needs(node)}
	var prefix strings.Builder
	if a.extglob {
		prefix.WriteString("shopt -s extglob\n")
	}
	if s.needed.library {
		prefix.WriteString("source /shell_lib.sh\n")
	}
	for _, fn := range s.needed.functions {
		prefix.WriteString(fn.code + "\n")
	}
	s.prefix = prefix.String()

	type binding struct {
		name   string
		values []value
	}
	var bindings []binding
	var arrays strings.Builder
	arraysKnown := true
	bound := map[string]bool{}
	var bind func(name string, plain bool, line int)
	bind = func(name string, plain bool, line int) {
		if bound[name] || ours[name] {
			return
		}
		bound[name] = true
		owner := f.find(name)
		if owner == nil {
			owner = a.elsewhere(name)
		}
		if owner == nil {
			if plain {
				a.unset(f, name, line)
				bindings = append(bindings, binding{name, []value{a.unknown("$" + name)}})
			}
			return
		}
		if !slices.ContainsFunc(owner.assigns[name], func(as assign) bool { return as.array != nil }) {
			bindings = append(bindings, binding{name, a.values(owner, name)})
			return
		}
		for _, as := range owner.assigns[name] {
			if as.array == nil || owner.active[name] {
				arrays.WriteString(name + "+=(" + a.placeholder("$"+name) + ")\n")
				arraysKnown = false
				continue
			}
			owner.active[name] = true
			inner := a.needs(as.array)
			for _, other := range inner.order {
				bind(other, inner.names[other], as.line)
			}
			text, substituted := a.substitute(owner, as.array, "$"+name)
			delete(owner.active, name)
			for i, one := range substituted {
				// Each has a name of its own in the end.
				own := fmt.Sprintf("__a%d_%s", i, name)
				text = strings.ReplaceAll(text, fmt.Sprintf("${__s%d}", i), "${"+own+"}")
				bindings = append(bindings, binding{own, []value{one}})
			}
			arrays.WriteString(text + "\n")
			arraysKnown = arraysKnown && pure(as.array, a)
		}
	}
	for _, name := range s.needed.order {
		bind(name, s.needed.names[name], s.needed.at[name])
	}
	text, substituted := a.substitute(f, node, description)
	s.text = text
	for i, one := range substituted {
		bindings = append(bindings, binding{fmt.Sprintf("__s%d", i), []value{one}})
	}

	combos := []combo{{known: arraysKnown}}
	if s.needed.params {
		combos[0].code, combos[0].known = a.arguments(f), f.hasArguments() && arraysKnown
	}
	for _, b := range bindings {
		values := b.values
		if len(combos)*len(values) > maxCombos {
			values = []value{a.unknown("$" + b.name)}
		}
		var next []combo
		for _, one := range combos {
			for _, v := range values {
				next = append(next, combo{one.code + b.name + "=" + quoted(v.text) + "\n", one.known && v.known})
			}
		}
		combos = next
	}
	for i := range combos {
		combos[i].code += arrays.String()
	}
	// The last declaration of a function is in the prefix.
	for _, fn := range s.needed.functions {
		all := fn.declarations()
		if len(all) == 1 {
			continue
		}
		if len(combos)*len(all) > maxCombos {
			a.problem(fn.file, int(fn.body.Pos().Line()), fmt.Sprintf("there are too many declarations of functions to try them all: check what %s needs", fn.name), false)
			continue
		}
		var next []combo
		for _, one := range combos {
			for _, declaration := range all {
				next = append(next, combo{one.code + declaration.code + "\n", one.known})
			}
		}
		combos = next
	}
	s.combos = combos
	return s
}

// unset says that a variable comes from the environment, which a hook does not have.
func (a *analysis) unset(f *frame, name string, line int) {
	key := f.file + ":$" + name
	if name == strings.ToUpper(name) && len(name) > 1 && !a.said[key] {
		// Once is enough. In the code of a substitution, lines begin with 1 again, and the whole comes before it.
		a.said[key] = true
		a.problem(f.file, line, fmt.Sprintf("$%s is not set in the script: a hook does not see the variables of a Pod, so set it in the script", name), false)
	}
}

// arguments sets $1 and the following ones.
func (a *analysis) arguments(f *frame) string {
	var words []string
	if f.hasArguments() {
		for _, one := range f.params {
			words = append(words, quoted(one.text))
		}
	} else {
		for i := 1; i <= 6; i++ {
			words = append(words, quoted(a.placeholder(fmt.Sprintf("$%d", i))))
		}
	}
	return "set -- " + strings.Join(words, " ") + "\n"
}

func quoted(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" }

// substitute prints a node with variables in place of its command substitutions, and returns their values.
func (a *analysis) substitute(f *frame, node syntax.Node, description string) (string, []value) {
	text := printed(node)
	before := ""
	switch node := node.(type) {
	case *syntax.Word:
		before = "__v="
		text = before + text
	case *syntax.Block:
		text = printedList(node.Stmts, "\n")
	}
	file, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(text+"\n"), "")
	if err != nil {
		return strings.TrimPrefix(text, before), nil
	}
	var values []value
	replace := func(parts []syntax.WordPart) {
		for i, part := range parts {
			subst, ok := part.(*syntax.CmdSubst)
			if !ok {
				continue
			}
			parts[i] = &syntax.ParamExp{Param: &syntax.Lit{Value: fmt.Sprintf("__s%d", len(values))}}
			values = append(values, a.substitution(f, subst, description))
		}
	}
	syntax.Walk(file, func(node syntax.Node) bool {
		switch node := node.(type) {
		case *syntax.Word:
			replace(node.Parts)
		case *syntax.DblQuoted:
			replace(node.Parts)
		case *syntax.FuncDecl:
			return false
		}
		return true
	})
	if len(values) == 0 {
		return strings.TrimPrefix(text, before), nil
	}
	return strings.TrimPrefix(strings.TrimRight(printed(file), "\n"), before), values
}

type result struct {
	out        string
	status     int
	operations []shellop.Operation
	err        error
}

// run runs code, and reads what it wrote.
func (a *analysis) run(code string, n *notes, contexts int) *result {
	if a.runs++; a.runs > maxRuns {
		if a.runs == maxRuns+1 {
			a.problem(a.hook.Entry, 0, "the script is too large to be read to its end: check what the rest of it needs", false)
		}
		return &result{status: 1}
	}
	ctx, cancel := context.WithTimeout(a.ctx, patience)
	defer cancel()
	limits := bash.DefaultLimits
	limits.Output = 4 << 20
	limits.Spawned = 10_000
	w := bash.NewWorld(ctx, a.files, limits, 1, time.Now)
	commands.Register(w)
	w.Commands["sleep"] = func(*bash.Process) int { return 0 }
	w.Commands["kubectl"] = n.kubectl
	a.files.Put(shellop.PatchPath, nil, 0o644)
	a.files.Put(shellop.ContextPath, []byte(a.contexts[contexts%len(a.contexts)]), 0o644)
	var out strings.Builder
	r := &result{}
	r.status, r.err = w.RunText(a.hook.Entry, code, shellop.Environment(), path.Dir(a.hook.Entry), bash.Streams{Out: &out, Err: io.Discard})
	r.out = out.String()
	if written, err := a.files.ReadFile(shellop.PatchPath); err == nil && len(strings.TrimSpace(string(written))) > 0 {
		var wrong error
		if r.operations, wrong = shellop.Operations(string(written)); wrong != nil && r.err == nil {
			r.err = wrong
		}
	}
	return r
}

// kubectl is the command of a run.
func (n *notes) kubectl(p *bash.Process) int {
	v := &view{notes: n, args: p.Args[1:], read: map[string]bool{}, at: n.a.markOf(p.Getenv(markName))}
	var said strings.Builder
	inner := *p
	inner.Stderr = io.MultiWriter(p.Stderr, &said)
	status := kubectl.Run(&inner, v)
	n.mu.Lock()
	defer n.mu.Unlock()
	if status != 0 && !v.missed {
		first, _, _ := strings.Cut(strings.TrimSpace(said.String()), "\n")
		first = strings.TrimPrefix(first, "error: ")
		if v.unresolved != "" {
			first = v.unresolved
		}
		n.failures = append(n.failures, failure{v.args, first, v.requests > 0, v.at})
	} else if v.requests == 0 {
		n.idle = append(n.idle, v.at)
	}
	return status
}

// verbs are what the host needs for an operation of the file.
var verbs = map[string][]string{
	"Create": {"create"}, "CreateIfNotExists": {"create"}, "CreateOrUpdate": {"create", "get", "update"},
	"Delete": {"delete", "get"}, "DeleteInBackground": {"delete"}, "DeleteNonCascading": {"delete"},
	"JQPatch": {"get", "update"}, "MergePatch": {"patch"}, "JSONPatch": {"patch"},
}

func (n *notes) operation(o *shellop.Operation) error {
	ref := kubectl.Ref{APIVersion: o.APIVersion, Kind: o.ObjectKind, Namespace: o.Namespace, Name: o.Name}
	if o.Object != "" {
		ref = refOf(o.Object)
	}
	resource, err := n.a.kind(ref.Kind, ref.APIVersion)
	if err != nil {
		return err
	}
	for _, verb := range verbs[o.Kind] {
		n.requests = append(n.requests, raw{
			verb: verb, resource: resource, subresource: o.Subresource, namespace: ref.Namespace, name: ref.Name, operation: o.Kind,
			guessed: n.a.isGuessed(resource),
		})
	}
	return nil
}

// unit tries a command, and notes the requests that it makes.
func (a *analysis) unit(f *frame, s *syntax.Stmt) {
	p := a.prepare(f, s, "")
	sites := a.sites(f, s, p.needed)
	type attempt struct {
		numbers  bool
		contexts int
	}
	attempts := []attempt{{false, 0}, {true, 0}}
	if p.needed.context {
		for i := 1; i < len(a.contexts); i++ {
			attempts = append(attempts, attempt{false, i})
		}
	}
	for _, combo := range p.combos {
		// A command for one context has to see each of them.
		each := p.needed.context && (strings.Contains(p.text, "[0]") || strings.Contains(combo.code, "='0'"))
		if each && a.untried {
			a.problem(a.hook.Entry, 0, fmt.Sprintf("the document has too many bindings to try each event: check what the script needs for those after the first %d", maxFirst+1), false)
		}
		var reason string
		var failures []failure
		noted, clean, best := map[string]bool{}, false, attempts[0]
		for _, try := range attempts {
			n, wrong := a.try(p.prefix+combo.code+p.text+"\n", everything, try.numbers, try.contexts, p.needed)
			a.add(sites, n, combo.known && !p.needed.context)
			for _, r := range n.requests {
				noted[shape(r.args)] = true
			}
			failures = append(failures, n.failures...)
			if reason == "" {
				reason = wrong
			}
			a.coverOperations(s, p.needed, n.operations)
			if wrong == "" {
				clean, best = true, try
				if !each {
					break
				}
			}
		}
		for _, in := range []world{onlyRead, nothing} {
			n, _ := a.try(p.prefix+combo.code+p.text+"\n", in, best.numbers, best.contexts, p.needed)
			a.add(sites, n, combo.known && !p.needed.context)
		}
		if clean {
			continue
		}
		silent := true
		for _, one := range failures {
			if !noted[shape(one.args)] && !one.noted {
				at := place(sites, one.at, one.args)
				silent = false
				if a.covered[a.keyOf(at, one.at, one.args)] || a.isRefused(at) {
					break
				}
				if one.at != nil && one.at.arguments {
					at.text = a.readable("kubectl " + strings.Join(one.args, " "))
				}
				a.covered[at.key] = true
				a.problem(at.file, at.line, fmt.Sprintf("what %s needs is not known before a run: %s", at.text, a.readable(one.text)), false)
				break
			}
		}
		if silent && len(noted) == 0 && !a.isKnown(sites[0]) {
			a.coverAll(s)
			a.covered[sites[0].key] = true
			a.problem(sites[0].file, sites[0].line, fmt.Sprintf("what %s needs is not known before a run: %s", sites[0].text, a.readable(reason)), false)
		}
	}
}

// isKnown says whether something is known of the requests of a command, or that it is refused.
func (a *analysis) isKnown(at site) bool {
	return a.covered[at.key] || a.isRefused(at)
}

// isRefused says whether a command of a line cannot run.
func (a *analysis) isRefused(at site) bool {
	return slices.ContainsFunc(a.listing.Problems, func(p Problem) bool { return p.Refused && p.File == at.file && p.Line == at.line })
}

// quiet runs a command for the files that it writes.
func (a *analysis) quiet(f *frame, s *syntax.Stmt) {
	p := a.prepare(f, s, "")
	if len(p.combos) > 0 {
		a.run(p.prefix+p.combos[0].code+p.text+"\n", &notes{a: a}, 0)
	}
}

// try runs a command once. The text says why not all that it needs is known.
func (a *analysis) try(code string, in world, numbers bool, contexts int, n *needed) (*notes, string) {
	if numbers {
		code = numeric(code)
	}
	noted := &notes{a: a, in: in}
	r := a.run(code, noted, contexts)
	reason := ""
	for _, one := range noted.failures {
		if !one.noted {
			reason = one.text
		}
	}
	noted.operations = len(r.operations)
	for i := range r.operations {
		if err := noted.operation(&r.operations[i]); err != nil {
			reason = err.Error()
		}
	}
	switch {
	case reason != "":
	case r.err != nil:
		reason = r.err.Error()
	case n.patches && len(r.operations) == 0:
		reason = "it writes nothing to $KUBERNETES_PATCH_PATH for the events of the document"
	}
	return noted, reason
}

// readable replaces placeholders by what they stand for.
func (a *analysis) readable(text string) string {
	return shortened(placeholders.ReplaceAllStringFunc(text, func(one string) string {
		if all := a.described(one); len(all) > 0 {
			return all[0]
		}
		return "an object of a list"
	}))
}

// shape is a call with all placeholders alike, so that an attempt with numbers is the same call.
func shape(args []string) string {
	return placeholders.ReplaceAllString(strings.Join(args, "\x00"), "?")
}

// site is a command in a script.
type site struct {
	file  string
	line  int
	text  string
	words []string
	key   string // its place in the script
}

// sites are the calls of kubectl in a command and in the functions that it runs. The first one is the command itself.
func (a *analysis) sites(f *frame, s *syntax.Stmt, n *needed) []site {
	all := []site{{file: f.file, line: int(s.Pos().Line()), text: shortened(oneLine(printedCommand(s))), key: fmt.Sprintf("%s:%d:%d", f.file, s.Pos().Offset(), s.End().Offset())}}
	if call, ok := s.Cmd.(*syntax.CallExpr); ok {
		if m := a.markOn(call); m != nil {
			all[0].key = m.key
		}
	}
	collect := func(file string, node syntax.Node) {
		syntax.Walk(node, func(node syntax.Node) bool {
			call, ok := node.(*syntax.CallExpr)
			if !ok {
				return true
			}
			var words []string
			for i, word := range call.Args {
				text := bash.StaticText(word)
				if words == nil && program(text) != "kubectl" && !(i == 0 && text == "") {
					continue
				}
				words = append(words, text)
			}
			if len(words) > 1 {
				key := ""
				if m := a.markOn(call); m != nil {
					key = m.key
				}
				all = append(all, site{file, int(call.Pos().Line()), shortened(oneLine(printed(call))), words[1:], key})
			}
			return true
		})
	}
	collect(f.file, s)
	for _, fn := range n.functions {
		collect(fn.file, fn.body)
	}
	return all
}

// printedCommand is a statement without its here-document.
func printedCommand(s *syntax.Stmt) string {
	first, _, _ := strings.Cut(printed(s), "\n")
	return first
}

// match finds the call that has these arguments: its words that are known are among them, in order.
func match(sites []site, args []string) site {
	best, score := sites[0], -1
	for _, one := range sites[1:] {
		at, found := 0, 0
		for _, word := range one.words {
			if word == "" {
				continue
			}
			next := slices.Index(args[at:], word)
			if next < 0 {
				found = -1
				break
			}
			at += next + 1
			found++
		}
		if found > score {
			best, score = one, found
		}
	}
	return best
}

// place is the command that made a call.
func place(sites []site, at *mark, args []string) site {
	if at != nil {
		return at.site
	}
	return match(sites, args)
}

// add takes over the requests of a run. If all that the command was given is known, so is what it made of it.
func (a *analysis) add(sites []site, n *notes, known bool) {
	for _, one := range n.idle {
		if one != nil {
			a.covered[one.key] = true
		}
	}
	for _, r := range n.requests {
		at := sites[0]
		if r.args != nil {
			at = place(sites, r.at, r.args)
			a.covered[at.key], a.covered[a.keyOf(at, r.at, r.args)] = true, true
		} else {
			at.text = "operation " + r.operation
			a.covered[at.key] = true
		}
		if known {
			a.certain[r.name], a.certain[r.namespace] = true, true
		}
		a.request(a.requestOf(at, r))
	}
}

func (a *analysis) requestOf(at site, r raw) Request {
	group, _, found := strings.Cut(r.resource.APIVersion, "/")
	if !found {
		group = ""
	}
	request := Request{File: at.file, Line: at.line, Command: at.text, Verb: r.verb, Group: group, Resource: r.resource.Plural}
	if r.subresource != "" {
		request.Resource += "/" + r.subresource
	}
	if r.resource.Plural == "*" {
		request.Unknown = append(request.Unknown, a.unknownly("kind", r.resource.Kind)...)
	}
	switch {
	case r.guessed:
		request.Unknown = append(request.Unknown, "the plural and the scope are guessed: give its definition with --crds")
	case r.resource.Namespaced:
		request.Namespace = a.constant(&request, "namespace", r.namespace)
	}
	request.Name = a.constant(&request, "name", r.name)
	if r.name == "" && r.verb != "list" && r.verb != "create" {
		request.Unknown = append(request.Unknown, "the name is not known")
	}
	return request
}

// constant is a text that is known, or nothing and a note.
func (a *analysis) constant(request *Request, what, text string) string {
	switch {
	case text == "":
		return ""
	case !hasPlaceholder(text) && a.isConstant(text):
		return text
	}
	for _, one := range a.unknownly(what, text) {
		if !slices.Contains(request.Unknown, one) {
			request.Unknown = append(request.Unknown, one)
		}
	}
	return ""
}

func (a *analysis) unknownly(what, text string) []string {
	var all []string
	for _, one := range a.described(text) {
		all = append(all, fmt.Sprintf("the %s is %s", what, one))
	}
	if len(all) == 0 && !hasPlaceholder(text) {
		all = append(all, fmt.Sprintf("the %s is computed", what))
	}
	return all
}
