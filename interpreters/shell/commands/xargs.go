package commands

import (
	"io"
	"strconv"
	"strings"

	"github.com/boathook/boathook/interpreters/shell/bash"
)

type xargsRun struct {
	*bash.Process
	command   []string
	replace   string
	perCall   int
	lines     int
	delimiter string // of items; empty is white space with quotes
	delimited bool
	noEmpty   bool
	trace     bool
	status    int
	input     io.Reader // of -a
}

func xargs(p *bash.Process) int {
	x := &xargsRun{Process: p}
	args := p.Args[1:]
	for len(args) > 0 && len(args[0]) > 1 && args[0][0] == '-' {
		arg := args[0]
		args = args[1:]
		if arg == "--" {
			break
		}
		letter, value := arg[:2], arg[2:]
		switch arg {
		case "--null":
			letter = "-0"
		case "--no-run-if-empty":
			letter = "-r"
		}
		switch letter {
		case "-a":
			if value == "" && len(args) > 0 {
				value, args = args[0], args[1:]
			}
			in, err := p.Open(value)
			if err != nil {
				return p.Fail(1, "Cannot open input file '%s': %s", value, bash.Reason(err))
			}
			defer in.Close()
			x.input = in
			continue
		case "-0", "-r", "-t":
			for _, c := range arg[1:] {
				switch c {
				case '0':
					x.delimited, x.delimiter = true, "\x00"
				case 'r':
					x.noEmpty = true
				case 't':
					x.trace = true
				default:
					if !strings.HasPrefix(arg, "--") {
						return p.Fail(1, "the option %s is not supported", arg)
					}
				}
			}
			if letter == "-0" {
				x.delimited, x.delimiter = true, "\x00"
			}
			if letter == "-r" {
				x.noEmpty = true
			}
			continue
		case "-n", "-L", "-I", "-d", "-P", "-s":
			if value == "" {
				if len(args) == 0 {
					return p.Fail(1, "option requires an argument -- '%s'", letter[1:])
				}
				value, args = args[0], args[1:]
			}
		case "-i":
			letter = "-I"
			if value == "" {
				value = "{}"
			}
		default:
			return p.Fail(1, "the option %s is not supported", arg)
		}
		n, err := strconv.Atoi(value)
		switch letter {
		case "-I":
			x.replace, err = value, nil
		case "-d":
			decoded, _ := bash.EchoEscapes(value)
			x.delimited, x.delimiter, err = true, decoded, nil
		case "-n":
			x.perCall = n
		case "-L":
			x.lines = n
		}
		if err != nil {
			return p.Fail(1, "invalid number \"%s\" for %s option", value, letter)
		}
	}
	x.command = args
	if len(args) == 0 {
		x.command = []string{"echo"}
	}
	return x.run()
}

func (x *xargsRun) run() int {
	from := x.Stdin
	if x.input != nil {
		from = x.input
	}
	data, err := x.ReadAll(from)
	if err != nil {
		return x.Fail(1, "%s", err)
	}
	text := string(data)
	if x.replace != "" {
		return x.replaced(text)
	}
	var groups [][]string
	if x.lines > 0 && !x.delimited {
		lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
		for i := 0; i < len(lines); i += x.lines {
			items, problem := xargsItems(strings.Join(lines[i:min(len(lines), i+x.lines)], "\n"))
			if problem != "" {
				return x.Fail(1, "%s", problem)
			}
			if len(items) > 0 {
				groups = append(groups, items)
			}
		}
	} else {
		items, problem := x.items(text)
		if problem != "" {
			return x.Fail(1, "%s", problem)
		}
		per := x.perCall
		if per <= 0 {
			per = max(1, len(items))
		}
		for i := 0; i < len(items); i += per {
			groups = append(groups, items[i:min(len(items), i+per)])
		}
	}
	if len(groups) == 0 && !x.noEmpty {
		groups = [][]string{nil}
	}
	for _, group := range groups {
		if !x.call(append(append([]string(nil), x.command...), group...)) {
			break
		}
	}
	return x.status
}

func (x *xargsRun) items(text string) (items []string, problem string) {
	if x.delimited {
		if text = strings.TrimSuffix(text, x.delimiter); text == "" {
			return nil, ""
		}
		return strings.Split(text, x.delimiter), ""
	}
	return xargsItems(text)
}

// replaced runs the command once for each line, with the line in place of a mark.
func (x *xargsRun) replaced(text string) int {
	delimiter := "\n"
	if x.delimited {
		delimiter = x.delimiter
	}
	for _, line := range strings.Split(strings.TrimSuffix(text, delimiter), delimiter) {
		if !x.delimited {
			line = strings.TrimLeft(line, " \t")
			if line == "" {
				continue
			}
			// Quotes and backslashes count, but blanks do not separate.
			items, problem := xargsItems(strings.NewReplacer(" ", `\ `, "\t", "\\\t").Replace(line))
			if problem != "" {
				return x.Fail(1, "%s", problem)
			}
			line = strings.Join(items, "")
		}
		args := make([]string, len(x.command))
		for i, word := range x.command {
			args[i] = strings.ReplaceAll(word, x.replace, line)
		}
		if !x.call(args) {
			break
		}
	}
	return x.status
}

// call runs the command, and says whether to go on.
func (x *xargsRun) call(args []string) bool {
	x.Tick()
	if x.trace {
		x.Stderr.Write([]byte(strings.Join(args, " ") + "\n"))
	}
	if !x.Known(args[0]) && !bash.IsBuiltinWithFile(args[0]) {
		x.status = x.Fail(127, "%s: No such file or directory", args[0])
		return false
	}
	status := x.Run(args, x.Env, strings.NewReader(""), x.Stdout, x.Stderr)
	switch {
	case status == 255:
		x.status = x.Fail(124, "%s: exited with status 255; aborting", args[0])
		return false
	case status == 126 || status == 127:
		x.status = status
		return false
	case status > 128:
		x.status = 125
		return false
	case status != 0:
		x.status = 123
	}
	return true
}

// xargsItems splits by white space, with quotes and backslashes.
func xargsItems(text string) (items []string, problem string) {
	var item strings.Builder
	started := false
	quote := byte(0)
	for i := 0; i < len(text); i++ {
		c := text[i]
		switch {
		case quote != 0 && c == quote:
			quote = 0
		case quote != 0 && c == '\n':
			return nil, "unmatched quote; by default quotes are special to xargs unless you use the -0 option"
		case quote != 0:
			item.WriteByte(c)
		case c == '\'' || c == '"':
			quote, started = c, true
		case c == '\\' && i+1 < len(text):
			i++
			item.WriteByte(text[i])
			started = true
		case c == ' ' || c == '\t' || c == '\n':
			if started {
				items = append(items, item.String())
				item.Reset()
				started = false
			}
		default:
			item.WriteByte(c)
			started = true
		}
	}
	if quote != 0 {
		return nil, "unmatched quote; by default quotes are special to xargs unless you use the -0 option"
	}
	if started {
		items = append(items, item.String())
	}
	return items, ""
}
