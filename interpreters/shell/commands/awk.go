package commands

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/boathook/boathook/interpreters/shell/awk"
	"github.com/boathook/boathook/interpreters/shell/bash"
)

func init() {
	for _, name := range []string{"awk", "gawk", "mawk"} {
		all[name] = runAWK
	}
}

func runAWK(p *bash.Process) int {
	var assignments []awk.Assignment
	var program *string
	args := p.Args[1:]
	add := func(text string) {
		if program == nil {
			program = new(string)
		}
		*program += text + "\n"
	}
options:
	for len(args) > 0 && len(args[0]) > 1 && args[0][0] == '-' {
		option, value := args[0][1:2], args[0][2:]
		if args[0] == "--" {
			args = args[1:]
			break options
		}
		if strings.IndexByte("vFf", option[0]) < 0 {
			return p.Fail(2, "the option %s is not supported", args[0])
		}
		args = args[1:]
		if value == "" {
			if len(args) == 0 {
				return p.Fail(2, "option requires an argument -- %s", option)
			}
			value, args = args[0], args[1:]
		}
		switch option {
		case "v":
			name, text, found := strings.Cut(value, "=")
			if !found {
				return p.Fail(2, "-v %s: NAME=VALUE is expected", value)
			}
			assignments = append(assignments, awk.Assignment{Name: name, Value: text})
		case "F":
			if value == "t" {
				value = `\t`
			}
			assignments = append(assignments, awk.Assignment{Name: "FS", Value: value})
		case "f":
			text, err := awkFile(p, value)
			if err != nil {
				return p.Fail(2, "cannot open %s (%s)", value, bash.Reason(err))
			}
			add(text)
		}
	}
	if program == nil {
		if len(args) == 0 {
			return p.Fail(2, "a program is needed: awk '{ print $1 }'")
		}
		add(args[0])
		args = args[1:]
	}
	parsed, err := compileAWK(p, *program)
	if err != nil {
		return p.Fail(2, "%s", err)
	}
	status, err := parsed.Run(awkHost{p}, assignments, args)
	if err != nil {
		return p.Fail(2, "%s", bash.Reason(err))
	}
	return status
}

// compileAWK parses a program once in a run of the script.
func compileAWK(p *bash.Process, text string) (*awk.Program, error) {
	type key struct{ awk string }
	if known, ok := p.World.Shared.Load(key{text}); ok {
		return known.(*awk.Program), nil
	}
	parsed, err := awk.Parse(text)
	if err == nil {
		p.World.Shared.Store(key{text}, parsed)
	}
	return parsed, err
}

func awkFile(p *bash.Process, name string) (string, error) {
	if name == "-" {
		text, err := p.ReadAll(p.Stdin)
		return string(text), err
	}
	file, err := p.Open(name)
	if err != nil {
		return "", err
	}
	defer file.Close()
	text, err := p.ReadAll(file)
	return string(text), err
}

// awkHost is the process that runs a program.
type awkHost struct{ p *bash.Process }

// openFailed names the file that cannot be opened.
type openFailed struct {
	name string
	err  error
}

func (o *openFailed) Error() string {
	return fmt.Sprintf("cannot open %q (%s)", o.name, bash.Reason(o.err))
}

func (h awkHost) Open(name string) (io.ReadCloser, error) {
	if name == "-" || name == "/dev/stdin" {
		return io.NopCloser(h.p.Stdin), nil
	}
	file, err := h.p.Open(name)
	if err != nil {
		return nil, &openFailed{name, err}
	}
	return file, nil
}

func (h awkHost) Create(name string, appends bool) (io.WriteCloser, error) {
	file, err := h.p.Create(name, appends)
	if err != nil {
		return nil, &openFailed{name, err}
	}
	return file, nil
}

func (h awkHost) Shell(command string, in io.Reader, out io.Writer) int {
	if in == nil {
		in = h.p.Stdin
	}
	return h.p.Run([]string{"sh", "-c", command}, h.p.Env, in, out, h.p.Stderr)
}

func (h awkHost) Stdout() io.Writer { return h.p.Stdout }
func (h awkHost) Stderr() io.Writer { return h.p.Stderr }
func (h awkHost) Tick()             { h.p.Tick() }
func (h awkHost) Length(n int)      { h.p.CheckLength(n) }
func (h awkHost) Environ() []string { return h.p.Env }
func (h awkHost) Now() int64        { return h.p.World.Now().Unix() }
func (h awkHost) Random() uint64    { return h.p.World.Random() }

func (h awkHost) Date(format string, seconds int64) string {
	return bash.Strftime(format, time.Unix(seconds, 0).UTC())
}
