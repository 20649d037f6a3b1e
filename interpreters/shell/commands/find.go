package commands

import (
	"os"
	"path"
	"sort"
	"strconv"
	"strings"

	"github.com/boathook/boathook/interpreters/shell/bash"
)

func sortBy(list []string, less func(a, b string) bool) {
	sort.SliceStable(list, func(i, j int) bool { return less(list[i], list[j]) })
}

// findNode is a part of find's expression.
type findNode func(p string, info os.FileInfo) bool

type finder struct {
	*bash.Process
	args               []string
	at                 int
	minDepth, maxDepth int
	acts               bool
	prune              bool
	depthFirst, over   bool
	status             int
	problem, start     string
	batches            []*findBatch
}

// findBatch collects the files of -exec … +.
type findBatch struct{ command, files []string }

func find(p *bash.Process) int {
	f := &finder{Process: p, maxDepth: -1}
	args := p.Args[1:]
	var starts []string
	for len(args) > 0 && !strings.HasPrefix(args[0], "-") && args[0] != "(" && args[0] != "!" {
		starts, args = append(starts, args[0]), args[1:]
	}
	if len(starts) == 0 {
		starts = []string{"."}
	}
	f.args = args
	test := findNode(func(string, os.FileInfo) bool { return true })
	if len(args) > 0 {
		test = f.or()
		if f.problem == "" && f.at < len(f.args) {
			f.problem = "paths must precede expression: '" + f.args[f.at] + "'"
		}
	}
	if f.problem != "" {
		return p.Fail(1, "%s", f.problem)
	}
	if !f.acts {
		inner := test
		test = func(p string, info os.FileInfo) bool {
			if inner(p, info) {
				f.Stdout.Write([]byte(p + "\n"))
			}
			return true
		}
	}
	for _, start := range starts {
		if f.over {
			break
		}
		info, err := p.FS().Stat(p.Abs(start))
		if err != nil {
			f.status = p.Fail(1, "'%s': %s", start, bash.Reason(err))
			continue
		}
		f.start = start
		f.walk(start, info, 0, test)
	}
	for _, b := range f.batches {
		if len(b.files) > 0 && f.Run(append(b.command, b.files...), f.Env, f.Stdin, f.Stdout, f.Stderr) != 0 {
			f.status = 1
		}
	}
	return f.status
}

func (f *finder) walk(p string, info os.FileInfo, depth int, test findNode) {
	f.Tick()
	if f.over {
		return
	}
	f.prune = false
	visit := func() {
		if depth >= f.minDepth && !f.over {
			test(p, info)
		}
	}
	if !f.depthFirst {
		visit()
	}
	if info.IsDir() && !f.prune && (f.maxDepth < 0 || depth < f.maxDepth) {
		children, _ := f.FS().ReadDir(f.Abs(p))
		for _, child := range children {
			f.walk(strings.TrimSuffix(p, "/")+"/"+child.Name(), child, depth+1, test)
		}
	}
	if f.depthFirst {
		visit()
	}
}

func (f *finder) take() string {
	if f.at < len(f.args) {
		f.at++
		return f.args[f.at-1]
	}
	f.problem = "missing argument"
	return ""
}

func (f *finder) peek() string {
	if f.at < len(f.args) {
		return f.args[f.at]
	}
	return ""
}

func (f *finder) or() findNode {
	left := f.and()
	for f.peek() == "-o" || f.peek() == "-or" {
		f.at++
		a, b := left, f.and()
		left = func(p string, i os.FileInfo) bool { return a(p, i) || b(p, i) }
	}
	return left
}

func (f *finder) and() findNode {
	left := f.primary()
	for f.problem == "" && f.at < len(f.args) && f.peek() != "-o" && f.peek() != "-or" && f.peek() != ")" {
		if f.peek() == "-a" || f.peek() == "-and" {
			f.at++
		}
		a, b := left, f.primary()
		left = func(p string, i os.FileInfo) bool { return a(p, i) && b(p, i) }
	}
	return left
}

func (f *finder) primary() findNode {
	yes := func(string, os.FileInfo) bool { return true }
	switch word := f.take(); word {
	case "!", "-not":
		inner := f.primary()
		return func(p string, i os.FileInfo) bool { return !inner(p, i) }
	case "(":
		inner := f.or()
		if f.take() != ")" {
			f.problem = "missing ')'"
		}
		return inner
	case "-name", "-iname":
		pattern := f.take()
		fold := word == "-iname"
		if fold {
			pattern = strings.ToLower(pattern)
		}
		return func(p string, _ os.FileInfo) bool {
			name := path.Base(p)
			if fold {
				name = strings.ToLower(name)
			}
			return bash.MatchPattern(pattern, name)
		}
	case "-path", "-wholename":
		pattern := f.take()
		return func(p string, _ os.FileInfo) bool { return bash.MatchPattern(pattern, p) }
	case "-type":
		kind := f.take()
		if kind != "f" && kind != "d" && kind != "l" {
			f.problem = "-type " + kind + " is not supported"
		}
		return func(_ string, i os.FileInfo) bool {
			return kind == "d" && i.IsDir() || kind == "f" && i.Mode().IsRegular()
		}
	case "-empty":
		return func(p string, i os.FileInfo) bool {
			if i.IsDir() {
				children, _ := f.FS().ReadDir(f.Abs(p))
				return len(children) == 0
			}
			return i.Size() == 0
		}
	case "-executable":
		return func(_ string, i os.FileInfo) bool { return i.IsDir() || i.Mode()&0o111 != 0 }
	case "-maxdepth", "-mindepth":
		n, err := strconv.Atoi(f.take())
		if err != nil {
			f.problem = word + ": a number is needed"
		}
		if word == "-maxdepth" {
			f.maxDepth = n
		} else {
			f.minDepth = n
		}
		return yes
	case "-depth":
		f.depthFirst = true
		return yes
	case "-prune":
		return func(string, os.FileInfo) bool { f.prune = true; return true }
	case "-true":
		return yes
	case "-print", "-print0":
		f.acts = true
		end := "\n"
		if word == "-print0" {
			end = "\x00"
		}
		return func(p string, _ os.FileInfo) bool { f.Stdout.Write([]byte(p + end)); return true }
	case "-quit":
		f.acts = true
		return func(string, os.FileInfo) bool { f.over = true; return true }
	case "-printf":
		f.acts = true
		return f.printf()
	case "-delete":
		f.acts, f.depthFirst = true, true
		return func(p string, _ os.FileInfo) bool {
			if err := f.FS().Remove(f.Abs(p)); err != nil {
				f.status = f.Fail(1, "cannot delete '%s': %s", p, bash.Reason(err))
				return false
			}
			return true
		}
	case "-exec":
		return f.exec()
	default:
		if f.problem == "" {
			f.problem = "the test " + word + " is not supported"
		}
		return yes
	}
}

// printf prints a format with the directives that scripts use.
func (f *finder) printf() findNode {
	format, _ := bash.EchoEscapes(f.take())
	for i := 0; i < len(format); i++ {
		if format[i] != '%' {
			continue
		}
		if i++; i >= len(format) || strings.IndexByte("pfhsmdyP%", format[i]) < 0 {
			f.problem = "-printf " + format + " is not supported: only %p, %P, %f, %h, %s, %m, %d, %y and %% are"
			return nil
		}
	}
	return func(p string, info os.FileInfo) bool {
		below := strings.TrimPrefix(strings.TrimPrefix(p, f.start), "/")
		kind := "f"
		if info.IsDir() {
			kind = "d"
		}
		depth := 0
		if below != "" {
			depth = strings.Count(below, "/") + 1
		}
		dir, name := path.Split(p)
		if dir == "" {
			dir = "."
		}
		f.Stdout.Write([]byte(strings.NewReplacer(
			"%p", p, "%P", below, "%f", name, "%h", strings.TrimSuffix(dir, "/"), "%s", strconv.FormatInt(info.Size(), 10),
			"%m", strconv.FormatUint(uint64(info.Mode().Perm()), 8), "%d", strconv.Itoa(depth), "%y", kind, "%%", "%",
		).Replace(format)))
		return true
	}
}

func (f *finder) exec() findNode {
	f.acts = true
	var command []string
	for {
		word := f.take()
		if f.problem != "" {
			f.problem = "missing argument to '-exec'"
			return nil
		}
		if word == ";" {
			break
		}
		if word == "+" && len(command) > 0 && command[len(command)-1] == "{}" {
			b := &findBatch{command: command[: len(command)-1 : len(command)-1]}
			f.batches = append(f.batches, b)
			return func(p string, _ os.FileInfo) bool { b.files = append(b.files, p); return true }
		}
		command = append(command, word)
	}
	return func(p string, _ os.FileInfo) bool {
		args := make([]string, len(command))
		for i, word := range command {
			args[i] = strings.ReplaceAll(word, "{}", p)
		}
		return f.Run(args, f.Env, f.Stdin, f.Stdout, f.Stderr) == 0
	}
}
