package commands

import (
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/boathook/boathook/interpreters/shell/bash"
	"github.com/boathook/boathook/interpreters/shell/jq"
)

func init() {
	all["jq"] = func(p *bash.Process) int { return (&jqRun{Process: p, indent: "  "}).run() }
}

// jqRun is one call of jq.
type jqRun struct {
	*bash.Process
	program                                  *string
	files                                    []string
	variables                                map[string]any
	named                                    *jq.Object
	positional                               []any
	raw, joined, compact, exit, null, slurp  bool
	rawInput, sort, ascii, rawZero, sequence bool
	arguments                                int // 1: --args, 2: --jsonargs
	indent                                   string
	decoder                                  *jq.Decoder
	lines                                    []string
	inputFailure                             error
	out                                      strings.Builder
}

func (j *jqRun) run() int {
	j.variables, j.named = map[string]any{}, jq.NewObject()
	if status := j.parse(j.Args[1:]); status >= 0 {
		return status
	}
	if j.program == nil {
		// As jq does where its output is not a terminal.
		identity := "."
		j.program = &identity
	}
	program, err := j.compile(*j.program)
	if err != nil {
		j.Stderr.Write([]byte("jq: error: " + err.Error() + "\njq: 1 compile error\n"))
		return 3
	}
	args := jq.NewObject()
	args.Set("positional", append([]any{}, j.positional...))
	args.Set("named", j.named)
	j.variables["$ARGS"] = args
	j.variables["$__prog_args"] = args
	environment := jq.NewObject()
	for _, pair := range j.Env {
		name, value, _ := strings.Cut(pair, "=")
		environment.Set(name, value)
	}
	options := &jq.Options{
		Variables: j.variables, Env: environment, Tick: j.Tick, Size: j.CheckLength,
		Now:   func() float64 { return float64(j.World.Now().UnixMicro()) / 1e6 },
		Debug: func(text string) { j.flush(); io.WriteString(j.Stderr, text) },
		Line:  func() int { return 0 },
	}
	next, status := j.inputs()
	if status >= 0 {
		return status
	}
	options.Input = next
	return j.each(program, options, next)
}

// compile parses a program once in a run of the script.
func (j *jqRun) compile(text string) (*jq.Program, error) {
	type key struct{ jq string }
	if p, ok := j.World.Shared.Load(key{text}); ok {
		return p.(*jq.Program), nil
	}
	p, err := jq.ParseProgram(text)
	if err == nil {
		j.World.Shared.Store(key{text}, p)
	}
	return p, err
}

// each runs the program for each input.
func (j *jqRun) each(program *jq.Program, options *jq.Options, next func() (any, bool, error)) int {
	status := 0
	last := 4 // of -e: no output yet
	one := func(input any) (done bool) {
		err := program.Run(input, options, func(v any) error {
			last = 0
			if v == nil || v == false {
				last = 1
			}
			j.write(v)
			return nil
		})
		var halt *jq.Halt
		switch {
		case err == nil:
		case errors.As(err, &halt):
			j.flush()
			if halt.Prints {
				if text, ok := halt.Value.(string); ok {
					io.WriteString(j.Stderr, text)
				} else {
					io.WriteString(j.Stderr, jq.Text(halt.Value)+"\n")
				}
			}
			status = halt.Status
			return true
		default:
			j.flush()
			fmt.Fprintf(j.Stderr, "jq: error (at <stdin>:0): %s\n", err)
			status = 5
		}
		return false
	}
	if j.null {
		if one(nil) {
			return status
		}
	} else {
		for {
			v, ok, err := next()
			if err != nil {
				j.flush()
				fmt.Fprintf(j.Stderr, "jq: error (at <stdin>:0): %s\n", err)
				return 2
			}
			if !ok {
				break
			}
			if one(v) {
				j.flush()
				return status
			}
		}
	}
	j.flush()
	if j.inputFailure != nil {
		return 2
	}
	if status != 0 || !j.exit {
		return status
	}
	return last
}

func (j *jqRun) flush() {
	if j.out.Len() > 0 {
		io.WriteString(j.Stdout, j.out.String())
		j.out.Reset()
	}
}

func (j *jqRun) write(v any) {
	if text, ok := v.(string); ok && j.raw {
		j.out.WriteString(text)
	} else {
		f := &jq.Format{Indent: j.indent, Sort: j.sort, ASCII: j.ascii}
		f.Append(&j.out, v)
	}
	switch {
	case j.rawZero:
		j.out.WriteByte(0)
	case !j.joined:
		j.out.WriteByte('\n')
	}
	j.CheckLength(j.out.Len())
	if j.out.Len() > 16<<10 {
		j.flush()
	}
}

// inputs opens the files and returns what reads values of them.
func (j *jqRun) inputs() (func() (any, bool, error), int) {
	var readers []io.Reader
	missing := false
	for _, name := range j.files {
		r, err := j.Open(name)
		if err != nil {
			fmt.Fprintf(j.Stderr, "jq: error: Could not open %s: %s\n", name, bash.Reason(err))
			missing = true
			continue
		}
		readers = append(readers, r)
	}
	if len(j.files) == 0 {
		readers = []io.Reader{j.Stdin}
	}
	in := io.MultiReader(readers...)
	decoder := jq.NewDecoder(in)
	value := func() (any, bool, error) {
		v, err := decoder.Next()
		if err == io.EOF {
			if missing {
				j.inputFailure = io.EOF
			}
			return nil, false, nil
		}
		return v, err == nil, err
	}
	switch {
	case j.rawInput && j.slurp:
		return j.once(func() (any, error) { text, err := j.ReadAll(in); return string(text), err }), -1
	case j.rawInput:
		text := []byte(nil)
		read := false
		return func() (any, bool, error) {
			if !read {
				read = true
				text, _ = j.ReadAll(in)
			}
			if len(text) == 0 {
				return nil, false, nil
			}
			line, rest, _ := strings.Cut(string(text), "\n")
			text = []byte(rest)
			return line, true, nil
		}, -1
	case j.slurp:
		return j.once(func() (any, error) {
			list := []any{}
			for {
				v, ok, err := value()
				if err != nil || !ok {
					return list, err
				}
				list = append(list, v)
				j.CheckLength(16 * len(list))
			}
		}), -1
	}
	return value, -1
}

func (j *jqRun) once(read func() (any, error)) func() (any, bool, error) {
	done := false
	return func() (any, bool, error) {
		if done {
			return nil, false, nil
		}
		done = true
		v, err := read()
		return v, err == nil, err
	}
}

// parse reads the options. A status of 0 or more ends jq.
func (j *jqRun) parse(args []string) int {
	options := true
	for i := 0; i < len(args); i++ {
		arg := args[i]
		if !options || len(arg) < 2 || arg[0] != '-' {
			if status := j.operand(arg); status >= 0 {
				return status
			}
			continue
		}
		if arg == "--" {
			options = false
			continue
		}
		if strings.HasPrefix(arg, "--") {
			used, status := j.long(arg[2:], args[i+1:])
			if status >= 0 {
				return status
			}
			i += used
			continue
		}
		for k := 1; k < len(arg); k++ {
			if arg[k] == 'f' || arg[k] == 'L' {
				if i+1 >= len(args) || arg[k] == 'L' {
					return j.Fail(2, "the option -%c is not supported in this way", arg[k])
				}
				i++
				if status := j.fromFile(args[i]); status >= 0 {
					return status
				}
				continue
			}
			if !j.letter(arg[k]) {
				return j.Fail(2, "Unknown option: -%c", arg[k])
			}
		}
	}
	return -1
}

func (j *jqRun) operand(arg string) int {
	switch {
	case j.program == nil:
		j.program = &arg
	case j.arguments == 1:
		j.positional = append(j.positional, arg)
	case j.arguments == 2:
		v, err := jq.Parse(arg)
		if err != nil {
			return j.Fail(2, "Invalid JSON text passed to --jsonargs")
		}
		j.positional = append(j.positional, v)
	default:
		j.files = append(j.files, arg)
	}
	return -1
}

func (j *jqRun) fromFile(name string) int {
	r, err := j.Open(name)
	if err != nil {
		return j.Fail(2, "error: Could not open %s: %s", name, bash.Reason(err))
	}
	text, _ := j.ReadAll(r)
	program := string(text)
	if j.program != nil {
		// What was taken for the program is a file.
		j.files = append([]string{*j.program}, j.files...)
	}
	j.program = &program
	return -1
}

func (j *jqRun) letter(c byte) bool {
	switch c {
	case 'r':
		j.raw = true
	case 'j':
		j.raw, j.joined = true, true
	case 'c':
		j.indent, j.compact = "", true
	case 'e':
		j.exit = true
	case 'n':
		j.null = true
	case 's':
		j.slurp = true
	case 'R':
		j.rawInput = true
	case 'S':
		j.sort = true
	case 'a':
		j.ascii = true
	case 'M', 'C':
		return c == 'M'
	default:
		return false
	}
	return true
}

var jqLong = map[string]byte{
	"raw-output": 'r', "join-output": 'j', "compact-output": 'c', "exit-status": 'e', "null-input": 'n', "slurp": 's', "raw-input": 'R',
	"sort-keys": 'S', "ascii-output": 'a', "monochrome-output": 'M',
}

func (j *jqRun) long(name string, next []string) (used, status int) {
	if letter, ok := jqLong[name]; ok {
		j.letter(letter)
		return 0, -1
	}
	need := func(n int) bool { return len(next) >= n }
	switch name {
	case "tab":
		j.indent = "\t"
	case "indent":
		if !need(1) {
			return 0, j.Fail(2, "--indent takes one parameter")
		}
		n, err := strconv.Atoi(next[0])
		if err != nil || n < 0 || n > 7 {
			return 0, j.Fail(2, "Cannot indent by %s characters", next[0])
		}
		j.indent = strings.Repeat(" ", n)
		return 1, -1
	case "unbuffered", "seq":
		if name == "seq" {
			return 0, j.Fail(2, "--seq is not supported")
		}
	case "raw-output0":
		j.raw, j.rawZero = true, true
	case "args":
		j.arguments = 1
	case "jsonargs":
		j.arguments = 2
	case "arg", "argjson", "slurpfile", "rawfile":
		if !need(2) {
			return 0, j.Fail(2, "--%s takes two parameters (e.g. --%s varname value)", name, name)
		}
		v, problem := j.argument(name, next[1])
		if problem != "" {
			return 0, j.Fail(2, "%s", problem)
		}
		if _, ok := j.variables["$"+next[0]]; !ok {
			j.variables["$"+next[0]] = v
			j.named.Set(next[0], v)
		}
		return 2, -1
	case "from-file":
		if !need(1) {
			return 0, j.Fail(2, "--from-file takes one parameter")
		}
		return 1, j.fromFile(next[0])
	case "version":
		io.WriteString(j.Stdout, "jq-1.6\n")
		return 0, 0
	default:
		return 0, j.Fail(2, "Unknown option: --%s", name)
	}
	return 0, -1
}

func (j *jqRun) argument(kind, text string) (any, string) {
	switch kind {
	case "arg":
		return text, ""
	case "argjson":
		v, err := jq.Parse(text)
		if err != nil {
			return nil, "Invalid JSON text passed to --argjson"
		}
		return v, ""
	}
	r, err := j.Open(text)
	if err != nil {
		return nil, "Bad JSON in --" + kind + " " + text + ": Could not open: " + bash.Reason(err)
	}
	content, _ := j.ReadAll(r)
	if kind == "rawfile" {
		return string(content), ""
	}
	list := []any{}
	d := jq.NewDecoder(strings.NewReader(string(content)))
	for {
		v, err := d.Next()
		if err == io.EOF {
			return list, ""
		}
		if err != nil {
			return nil, "Bad JSON in --slurpfile " + text + ": " + err.Error()
		}
		list = append(list, v)
	}
}
