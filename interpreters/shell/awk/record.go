package awk

import (
	"bufio"
	"io"
	"strings"
)

// Host is what a program needs of the process that runs it.
type Host interface {
	// Open opens a file to read; "-" is standard input.
	Open(name string) (io.ReadCloser, error)
	// Create opens a file to write.
	Create(name string, appends bool) (io.WriteCloser, error)
	// Shell runs a command of the shell, and returns its status.
	Shell(command string, in io.Reader, out io.Writer) int
	Stdout() io.Writer
	Stderr() io.Writer
	// Tick is called at each step. It does not return when the run is over.
	Tick()
	// Length is called before a text of this length is made. It does not return if that is too long.
	Length(n int)
	Environ() []string
	// Now is the time in seconds since 1970.
	Now() int64
	Random() uint64
	// Date formats a time as strftime does.
	Date(format string, seconds int64) string
}

// reader separates a stream into records.
type reader struct {
	in     *bufio.Reader
	closer io.Closer
	done   bool
}

func newReader(in io.ReadCloser) *reader { return &reader{in: bufio.NewReader(in), closer: in} }

// record reads the next record. Its end is a character, an empty line, or an expression.
func (r *runner) record(in *reader) (text string, ok bool) {
	rs := r.globals[specialRS].value.text(r.convfmt())
	switch {
	case in.done:
		return "", false
	case len(rs) == 1:
		return r.upTo(in, rs[0])
	case rs == "":
		return r.paragraph(in)
	}
	return r.upToMatch(in, rs)
}

func (r *runner) upTo(in *reader, end byte) (string, bool) {
	text, err := in.in.ReadString(end)
	r.host.Length(len(text))
	if err != nil {
		in.done = true
		return text, text != ""
	}
	return text[:len(text)-1], true
}

// paragraph reads lines up to an empty one.
func (r *runner) paragraph(in *reader) (string, bool) {
	var lines []string
	size := 0
	for {
		line, ok := r.upTo(in, '\n')
		if !ok || line == "" {
			if len(lines) > 0 {
				return strings.Join(lines, "\n"), true
			}
			if !ok {
				return "", false
			}
			continue
		}
		size += len(line) + 1
		r.host.Length(size)
		lines = append(lines, line)
	}
}

func (r *runner) upToMatch(in *reader, expression string) (string, bool) {
	// The whole rest is read, because a longer match could follow.
	rest, err := io.ReadAll(io.LimitReader(in.in, 64<<20))
	if err != nil && len(rest) == 0 {
		in.done = true
		return "", false
	}
	r.host.Length(len(rest))
	text := string(rest)
	if text == "" {
		in.done = true
		return "", false
	}
	at := r.regex(expression).Find(text, 0)
	if at == nil || at[0] == at[1] {
		in.done = true
		return strings.TrimSuffix(text, "\n"), true
	}
	if at[1] == len(text) {
		in.done = true
	} else {
		in.in = bufio.NewReader(strings.NewReader(text[at[1]:]))
	}
	return text[:at[0]], true
}

// setRecord makes a text the current record.
func (r *runner) setRecord(text string) {
	r.line, r.lineKnown = input(text), true
	r.fieldsKnown = false
}

// fields separates the record, when it is needed.
func (r *runner) split() {
	if r.fieldsKnown {
		return
	}
	r.fieldsKnown = true
	r.fields = r.fields[:0]
	for _, text := range r.separate(r.line.text(r.convfmt()), r.globals[specialFS].value.text(r.convfmt())) {
		r.fields = append(r.fields, input(text))
	}
	r.globals[specialNF].value = num(float64(len(r.fields)))
}

// separate splits a text at a separator.
func (r *runner) separate(text, separator string) []string {
	paragraph := r.globals[specialRS].value.kind != none && r.globals[specialRS].value.text("%.6g") == ""
	switch {
	case text == "":
		return nil
	case separator == " ":
		return strings.FieldsFunc(text, func(c rune) bool { return c == ' ' || c == '\t' || c == '\n' })
	case separator == "":
		parts := make([]string, 0, len(text))
		for _, c := range text {
			parts = append(parts, string(c))
		}
		return parts
	case len(separator) == 1 && separator != "\\" && !paragraph:
		// One character is itself, also where it would be special in an expression.
		return strings.Split(text, separator)
	}
	if len(separator) == 1 && strings.Contains(`.[]^$*+?{}|()`, separator) {
		separator = `\` + separator
	}
	if paragraph {
		separator = "(" + separator + ")|\n"
	}
	return r.separateBy(text, separator)
}

// field is $n.
func (r *runner) field(n int, line int) value {
	if n < 0 {
		failAt(line, "the field %d does not exist", n)
	}
	if n == 0 {
		if !r.lineKnown {
			r.join()
		}
		return r.line
	}
	r.split()
	if n > len(r.fields) {
		return value{kind: none}
	}
	return r.fields[n-1]
}

// maxFields bounds what an assignment to a field can make.
const maxFields = 1 << 20

func (r *runner) setField(n int, v value) {
	if n < 0 || n > maxFields {
		failAt(0, "the field %d cannot be set", n)
	}
	if n == 0 {
		r.setRecord(v.text(r.convfmt()))
		return
	}
	r.split()
	r.resize(max(n, len(r.fields)))
	r.fields[n-1] = v
	r.lineKnown = false
}

// resize changes NF.
func (r *runner) resize(n int) {
	if n < 0 || n > maxFields {
		failAt(0, "NF cannot be %d", n)
	}
	for len(r.fields) < n {
		r.fields = append(r.fields, value{})
	}
	r.fields = r.fields[:n]
	r.globals[specialNF].value = num(float64(n))
	r.lineKnown = false
}

// join makes the record of its fields.
func (r *runner) join() {
	texts := make([]string, len(r.fields))
	size := 0
	for i, field := range r.fields {
		texts[i] = field.text(r.convfmt())
		size += len(texts[i]) + 1
	}
	r.host.Length(size)
	r.line = input(strings.Join(texts, r.globals[specialOFS].value.text(r.convfmt())))
	r.lineKnown = true
}

// output is where print writes.
type output struct {
	to      io.WriteCloser
	writer  *bufio.Writer
	command string
	buffer  *strings.Builder
}

// stream finds or opens the stream of a redirection.
func (r *runner) stream(op, name string) *output {
	if out, ok := r.outputs[name]; ok {
		return out
	}
	out := &output{}
	switch {
	case op == "|":
		out.command, out.buffer = name, &strings.Builder{}
		out.writer = bufio.NewWriter(limited{r.host, out.buffer})
	case name == "/dev/stdout" || name == "-":
		return r.stdout
	case name == "/dev/stderr":
		out.writer = bufio.NewWriterSize(r.host.Stderr(), 16)
	default:
		file, err := r.host.Create(name, op == ">>")
		if err != nil {
			panic(stop{err})
		}
		out.to, out.writer = file, bufio.NewWriter(file)
	}
	r.outputs[name] = out
	r.order = append(r.order, name)
	return out
}

// limited bounds what a command gets.
type limited struct {
	host Host
	to   *strings.Builder
}

func (l limited) Write(b []byte) (int, error) {
	l.host.Length(l.to.Len() + len(b))
	return l.to.Write(b)
}

// flush writes what is buffered.
func (r *runner) flush() {
	r.stdout.writer.Flush()
	for _, out := range r.outputs {
		out.writer.Flush()
	}
}

// close ends a stream. A command that gets the output of print runs now.
func (r *runner) close(name string) (status int) {
	status = -1
	if out, ok := r.outputs[name]; ok {
		r.stdout.writer.Flush()
		out.writer.Flush()
		delete(r.outputs, name)
		status = 0
		if out.command != "" {
			status = r.host.Shell(out.command, strings.NewReader(out.buffer.String()), r.host.Stdout())
		} else if out.to != nil {
			out.to.Close()
		}
	}
	if in, ok := r.inputs[name]; ok {
		delete(r.inputs, name)
		in.closer.Close()
		if status < 0 {
			status = r.statuses[name]
		}
	}
	return status
}
