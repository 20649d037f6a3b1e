// Package uses lists what a hook needs of the API server, before it runs.
//
// Each command of a script that makes requests runs alone, on a cluster that only notes them (cluster.go). So what it lists
// is what kubectl, jq and the library here really do with these words, and not what a table says of them. What is not
// known before a run, such as the name of the object that woke the hook, is a placeholder (values.go). Nothing decides
// whether a command is reached: the branches of a script are all taken (walk.go).
//
//	walk.go       visits the commands of a script, and calls of its functions
//	branches.go   output that depends on conditions
//	code.go       texts and files that a command runs as scripts
//	values.go     what is known of variables, and placeholders for the rest
//	unit.go       runs one command
//	marks.go      which command made a request, and those that made none
//	cluster.go    the cluster that notes requests
//	contexts.go   binding contexts of placeholders, for the bindings of the hook
package uses

import (
	"context"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/boathook/boathook/interpreters/shell/bash"
	"github.com/boathook/boathook/interpreters/shell/commands"
	"github.com/boathook/boathook/interpreters/shell/fs"
	"github.com/boathook/boathook/interpreters/shell/kubectl"
	"github.com/boathook/boathook/interpreters/shell/shellop"
	"mvdan.cc/sh/v3/syntax"
)

// Request is a request that a script can make.
type Request struct {
	File string
	Line int
	// Command is the command that makes it, shortened.
	Command string
	Verb    string
	// Group and Resource are those of RBAC. Both are * if the kind is not known.
	Group, Resource string
	// Namespace and Name are empty for what is in no namespace or has no name, and for what is not known.
	Namespace, Name string
	// Unknown says what is not known before a run.
	Unknown []string
}

// Problem is something that needs a person.
type Problem struct {
	File string
	Line int
	Text string
	// Refused says that the hook cannot be loaded, or that the command fails in each run.
	Refused bool
}

// Listing is what a script uses.
type Listing struct {
	Requests []Request
	Problems []Problem
}

// Resolve finds a kind by its name, in a version if one is given.
type Resolve func(name, version string) (kubectl.Resource, error)

// maxRuns bounds the work for one hook, in commands that are tried.
const maxRuns = 3000

type analysis struct {
	ctx       context.Context
	hook      *shellop.Hook
	resolve   Resolve
	files     *fs.FS
	functions map[string]*function
	library   map[string]bool
	all       map[string]*parsed // the files
	global    *frame
	others    map[string]*frame // of functions, for what one reads from another
	contexts  []string
	// untried says that more contexts can be the first one.
	untried bool
	text    string // of all files, in which constants stand
	extglob bool

	unknowns  []string // what placeholders stand for
	constants map[string]bool
	certain   map[string]bool // made only of what is known
	resources map[[2]string]kubectl.Resource
	guessed   map[[2]string]bool
	here      site // what is looked at
	runs      int
	texts     int             // that are run
	walked    map[string]bool // calls of functions
	counted   int             // those of functions that make requests
	needing   map[string]bool // functions that make requests
	reached   map[string]bool // functions
	listing   Listing
	marks     []*mark
	visited   map[string]bool // files
	covered   map[string]bool // places of commands of which something is said
	known     map[string]int  // requests, by what they are
	said      map[string]bool
}

// function is one of the hook's own functions.
type function struct {
	name, file string
	body       *syntax.Stmt
	code       string
	// others are declarations of the same name.
	others []*function
}

// declarations are all bodies that a function can have.
func (fn *function) declarations() []*function {
	return append([]*function{fn}, fn.others...)
}

// Of lists what a hook uses.
func Of(ctx context.Context, hook *shellop.Hook, resolve Resolve) (*Listing, error) {
	options := shellop.DefaultOptions()
	files, err := hook.FS(options.Files, options.Now)
	if err != nil {
		return nil, err
	}
	a := &analysis{
		ctx: ctx, hook: hook, resolve: resolve, files: files, all: map[string]*parsed{}, functions: map[string]*function{}, others: map[string]*frame{}, library: map[string]bool{},
		constants: map[string]bool{"default": true}, certain: map[string]bool{}, resources: map[[2]string]kubectl.Resource{}, guessed: map[[2]string]bool{}, walked: map[string]bool{},
		needing: map[string]bool{}, reached: map[string]bool{}, known: map[string]int{}, visited: map[string]bool{}, covered: map[string]bool{}, said: map[string]bool{},
	}
	world := bash.NewWorld(ctx, files, options.Limits, 1, time.Now)
	commands.Register(world)
	kubectl.Register(world, kubectl.None{})
	for _, problem := range hook.Check(world) {
		a.refuse(problem)
	}
	a.unreachable(world)
	// A script with other problems can print its document.
	document, err := hook.Document(ctx, options)
	if err != nil && len(a.listing.Problems) == 0 {
		a.refuse(err)
	}
	a.contexts = contexts(a, document)
	for _, text := range shellop.Library() {
		if source, err := bash.Parse("library", text, options.Limits); err == nil {
			for _, f := range declared(source.File()) {
				a.library[f.Name.Value] = true
			}
		}
	}
	a.scripts(options.Limits)
	a.missing()
	slices.SortStableFunc(a.listing.Problems, func(x, y Problem) int {
		if x.File != y.File {
			return strings.Compare(x.File, y.File)
		}
		return x.Line - y.Line
	})
	return &a.listing, nil
}

// unreachable notes the commands that fail in each run.
func (a *analysis) unreachable(world *bash.World) {
	own := map[string]bool{}
	for path, text := range a.hook.Scripts() {
		if source, err := bash.Parse(path, text, bash.DefaultLimits); err == nil {
			for _, f := range declared(source.File()) {
				own[f.Name.Value] = true
			}
		}
	}
	bash.Commands(a.hook.Entry, a.hook.Scripts(), shellop.CheckedLibrary(world), bash.DefaultLimits, func(path string, call *syntax.CallExpr) {
		if len(call.Args) == 0 {
			return
		}
		if name := bash.StaticText(call.Args[0]); (name == "curl" || name == "wget") && !own[name] {
			a.problem(path, int(call.Pos().Line()), name+": a hook has no network", true)
		}
	})
}

// refuse notes why a hook cannot be loaded.
func (a *analysis) refuse(err error) {
	switch err := err.(type) {
	case *bash.Problem:
		a.problem(err.File, err.Line, err.Text, true)
	case *bash.SyntaxError:
		a.problem(err.Name, err.Line, err.Text, true)
	default:
		a.problem(a.hook.Entry, 0, err.Error(), true)
	}
}

func (a *analysis) problem(file string, line int, text string, refused bool) {
	key := fmt.Sprintf("%s:%d:%s", file, line, text)
	if a.said[key] {
		return
	}
	a.said[key] = true
	a.listing.Problems = append(a.listing.Problems, Problem{file, line, text, refused})
}

// request adds a request, or what is not known of one that is there.
func (a *analysis) request(r Request) {
	key := fmt.Sprintf("%s:%d %s %s %s %q %q", r.File, r.Line, r.Verb, r.Group, r.Resource, r.Namespace, r.Name)
	at, ok := a.known[key]
	if !ok {
		a.known[key] = len(a.listing.Requests)
		a.listing.Requests = append(a.listing.Requests, r)
		return
	}
	there := &a.listing.Requests[at]
	for _, one := range r.Unknown {
		if !slices.Contains(there.Unknown, one) {
			there.Unknown = append(there.Unknown, one)
		}
	}
}

// parsed is a file of the hook.
type parsed struct {
	path string
	file *syntax.File
	// ran says that it is run, and not sourced.
	ran bool
}

// scripts reads the files of the hook and visits what they do: the files that the entry sources, and the entry.
func (a *analysis) scripts(limits bash.Limits) {
	all := a.all
	texts := a.hook.Scripts()
	var text strings.Builder
	for _, path := range slices.Sorted(maps.Keys(a.hook.Files)) {
		text.Write(a.hook.Files[path])
		text.WriteByte('\n')
	}
	a.text = text.String()
	for path, text := range texts {
		// A file that is not valid was reported.
		if source, err := bash.Parse(path, text, limits); err == nil {
			all[path] = &parsed{path: path, file: source.File()}
			a.markCalls(path, source.File())
			a.extglob = a.extglob || strings.Contains(text, "extglob")
		}
	}
	entry := all[a.hook.Entry]
	if entry == nil {
		return
	}
	order := a.sourced(entry)
	for _, one := range order {
		a.sources(one)
	}
	a.global = newFrame(nil)
	for _, one := range order {
		for _, f := range declared(one.file) {
			fn := &function{name: f.Name.Value, file: one.path, body: f.Body, code: printed(f)}
			if there := a.functions[fn.name]; there == nil {
				a.functions[fn.name] = fn
			} else if !slices.ContainsFunc(there.declarations(), func(other *function) bool { return other.code == fn.code }) {
				there.others = append(there.others, fn)
			}
		}
		if !one.ran {
			a.global.collect(one.path, one.file.Stmts)
		}
	}
	for _, one := range order {
		f := a.global
		if one.ran {
			f = newFrame(a.global)
			f.given = false
			f.collect(one.path, one.file.Stmts)
		}
		f.file = one.path
		a.visited[one.path] = true
		a.stmts(f, one.file.Stmts)
	}
	a.global.file = entry.path
	a.roots(order, entry)
}

// sourced are the files that the entry sources or runs, before it. A name that is not known stands for all of them.
func (a *analysis) sourced(entry *parsed) []*parsed {
	seen := map[string]bool{}
	var order []*parsed
	var add func(one *parsed)
	add = func(one *parsed) {
		if seen[one.path] {
			return
		}
		seen[one.path] = true
		syntax.Walk(one.file, func(node syntax.Node) bool {
			call, ok := node.(*syntax.CallExpr)
			if !ok {
				return true
			}
			for _, found := range a.runFiles(call) {
				if there := a.all[found]; found != entry.path && !seen[found] {
					there.ran = true
					add(there)
				}
			}
			if len(call.Args) < 2 {
				return true
			}
			if name := bash.StaticText(call.Args[0]); name != "source" && name != "." {
				return true
			}
			for _, found := range matching(call.Args[1], a.all) {
				if found != entry.path {
					add(a.all[found])
				}
			}
			return true
		})
		order = append(order, one)
	}
	add(entry)
	return order
}

// sources notes files that a file sources, and that are not there. A run goes on without them, and fails later for another
// reason.
func (a *analysis) sources(one *parsed) {
	conditional := map[syntax.Node]bool{}
	syntax.Walk(one.file, func(node syntax.Node) bool {
		switch node := node.(type) {
		case *syntax.IfClause, *syntax.CaseClause, *syntax.WhileClause, *syntax.FuncDecl:
			markAll(node, conditional)
		case *syntax.BinaryCmd:
			if node.Op == syntax.AndStmt || node.Op == syntax.OrStmt {
				markAll(node, conditional)
			}
		case *syntax.CallExpr:
			if len(node.Args) < 2 {
				return true
			}
			if name := bash.StaticText(node.Args[0]); name != "source" && name != "." {
				return true
			}
			word := node.Args[1]
			text, end := bash.StaticText(word), lastLiteral(word)
			// What a run writes is in /tmp, and a word without an end can be anything.
			if end == "" || strings.HasPrefix(text, "/tmp/") || strings.HasPrefix(text, "/dev/") || len(matching(word, a.all)) > 0 {
				return true
			}
			name, where := text, text
			if text == "" {
				name, where = printed(word), end
			}
			if !path.IsAbs(where) {
				where = path.Join(path.Dir(a.hook.Entry), where)
			}
			if _, err := a.files.Stat(path.Clean(where)); err == nil {
				return true
			}
			remedy := "put it into the directory of the hooks, which a run has as /hooks"
			if path.IsAbs(text) && !strings.HasPrefix(text, "/hooks/") {
				remedy = "put it into the directory of the hooks as lib/rootfs" + path.Clean(text) + ", which a run has at the root"
			}
			a.problem(one.path, int(node.Pos().Line()), fmt.Sprintf("source: there is no file %s: %s", name, remedy), text != "" && !conditional[node])
		}
		return true
	})
}

// markAll marks a node and what is in it.
func markAll(node syntax.Node, marked map[syntax.Node]bool) {
	syntax.Walk(node, func(inner syntax.Node) bool {
		if inner != nil {
			marked[inner] = true
		}
		return true
	})
}

// matching are the files that a word can name, which may begin with a folder that is not known.
func matching(word *syntax.Word, all map[string]*parsed) []string {
	end := lastLiteral(word)
	if end != "" && (bash.StaticText(word) != "" || end[0] == '/') {
		end = path.Clean("/" + end)
	}
	var found []string
	for _, one := range slices.Sorted(maps.Keys(all)) {
		if strings.HasSuffix(one, end) {
			found = append(found, one)
		}
	}
	return found
}

// lastLiteral is the end of a word such as "$(dirname "$0")/lib/names.sh".
func lastLiteral(word *syntax.Word) string {
	parts := word.Parts
	if len(parts) == 1 {
		if quoted, ok := parts[0].(*syntax.DblQuoted); ok {
			parts = quoted.Parts
		}
	}
	if len(parts) == 0 {
		return ""
	}
	switch last := parts[len(parts)-1].(type) {
	case *syntax.Lit:
		return last.Value
	case *syntax.SglQuoted:
		return last.Value
	}
	return ""
}

// roots visits functions that no command of the hook calls by name: the framework calls handlers, and traps call others.
func (a *analysis) roots(order []*parsed, entry *parsed) {
	called := map[string]bool{}
	for _, one := range order {
		syntax.Walk(one.file, func(node syntax.Node) bool {
			if call, ok := node.(*syntax.CallExpr); ok && len(call.Args) > 0 {
				called[bash.StaticText(call.Args[0])] = true
			}
			return true
		})
	}
	for _, uncalled := range []bool{true, false} {
		for _, one := range order {
			for _, f := range declared(one.file) {
				name := f.Name.Value
				handler := strings.HasPrefix(name, "__") && name != "__config__"
				if called[name] == uncalled || a.reached[name] || name == "__config__" || one != entry && !handler {
					continue
				}
				a.enter(a.global, a.functions[name], nil, false)
			}
		}
	}
}

func declared(file *syntax.File) []*syntax.FuncDecl {
	var all []*syntax.FuncDecl
	syntax.Walk(file, func(node syntax.Node) bool {
		if f, ok := node.(*syntax.FuncDecl); ok && f.Name != nil {
			all = append(all, f)
		}
		return true
	})
	return all
}

// printed is the code of a node.
func printed(node syntax.Node) string {
	var text strings.Builder
	if err := syntax.NewPrinter().Print(&text, node); err != nil {
		return ""
	}
	return text.String()
}
