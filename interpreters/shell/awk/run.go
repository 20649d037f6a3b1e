package awk

import (
	"bufio"
	"errors"
	"io"
	"math"
	"strconv"
	"strings"

	"github.com/boathook/boathook/interpreters/shell/regex"
)

// special are the variables that awk itself reads or sets, in the order of the constants.
var special = []string{
	"NF", "NR", "FNR", "FS", "OFS", "ORS", "RS", "SUBSEP", "CONVFMT", "OFMT", "RSTART", "RLENGTH", "FILENAME", "ENVIRON", "ARGC", "ARGV",
}

const (
	specialNF = iota
	specialNR
	specialFNR
	specialFS
	specialOFS
	specialORS
	specialRS
	specialSUBSEP
	specialCONVFMT
	specialOFMT
	specialRSTART
	specialRLENGTH
	specialFILENAME
	specialENVIRON
	specialARGC
	specialARGV
)

// runner is one run of a program.
type runner struct {
	program *Program
	host    Host
	globals []*cell
	frames  []*cell // the locals of the current function
	depth   int

	line        value
	lineKnown   bool // false when a field was set since
	fields      []value
	fieldsKnown bool

	regexes  map[string]*regex.Regexp
	ranges   []bool
	stdout   *output
	outputs  map[string]*output
	order    []string
	inputs   map[string]*reader
	statuses map[string]int
	current  *reader
	argument int
	anyFile  bool
	seed     float64
	random   uint64
	returned value
}

// The panics that leave a statement.
type (
	nextRecord struct{ file bool }
	exiting    struct{ status int }
)

// jump is how a statement ended.
type jump int

const (
	goOn jump = iota
	breaking
	continuing
	returning
)

// maxCalls bounds the recursion of functions.
const maxCalls = 300

// Assignment is -v NAME=VALUE, or an operand of this form.
type Assignment struct{ Name, Value string }

// Run runs a program, and returns its status. operands are files and assignments.
func (p *Program) Run(host Host, assignments []Assignment, operands []string) (status int, err error) {
	r := &runner{
		program: p, host: host, globals: make([]*cell, len(p.globals)), ranges: make([]bool, len(p.rules)),
		regexes: map[string]*regex.Regexp{}, outputs: map[string]*output{}, inputs: map[string]*reader{}, statuses: map[string]int{},
		lineKnown: true, fieldsKnown: true,
	}
	for i := range r.globals {
		r.globals[i] = &cell{}
	}
	for at, text := range map[int]string{
		specialFS: " ", specialOFS: " ", specialORS: "\n", specialRS: "\n", specialSUBSEP: "\x1c", specialCONVFMT: "%.6g", specialOFMT: "%.6g",
	} {
		r.globals[at].value = str(text)
	}
	for _, at := range []int{specialNF, specialNR, specialFNR, specialRSTART} {
		r.globals[at].value = num(0)
	}
	r.globals[specialRLENGTH].value = num(-1)
	for _, pair := range host.Environ() {
		name, text, _ := strings.Cut(pair, "=")
		r.globals[specialENVIRON].asArray().get(name).value = input(text)
	}
	arguments := r.globals[specialARGV].asArray()
	arguments.get("0").value = str("awk")
	for i, operand := range operands {
		arguments.get(strconv.Itoa(i + 1)).value = input(operand)
	}
	r.globals[specialARGC].value = num(float64(len(operands) + 1))
	r.stdout = &output{writer: bufio.NewWriter(host.Stdout())}
	for _, a := range assignments {
		r.assignNamed(a.Name, a.Value)
	}
	status, err = r.all()
	if closing := r.closeAll(); err == nil {
		err = closing
	}
	return status, err
}

func (r *runner) assignNamed(name, text string) {
	index, ok := r.program.global[name]
	if !ok {
		return
	}
	r.setGlobal(index, input(Unescape(text)))
}

// all runs the parts of the program.
func (r *runner) all() (status int, err error) {
	ended := r.guarded(&status, &err, func() {
		for _, b := range r.program.begin {
			r.block(b)
		}
		if len(r.program.rules) == 0 && len(r.program.end) == 0 {
			panic(exiting{0})
		}
		r.input()
	})
	if err != nil || ended && len(r.program.rules) == 0 && len(r.program.end) == 0 {
		return status, err
	}
	// exit in BEGIN or in a rule still runs END.
	r.guarded(&status, &err, func() {
		for _, b := range r.program.end {
			r.block(b)
		}
	})
	return status, err
}

// guarded runs a part, and says whether exit ended it.
func (r *runner) guarded(status *int, err *error, part func()) (ended bool) {
	defer func() {
		switch reason := recover().(type) {
		case nil:
		case exiting:
			ended = true
			r.frames, r.depth = nil, 0
			if reason.status >= 0 {
				*status = reason.status
			}
		case stop:
			*status, *err = 2, reason.err
		case nextRecord:
			*status, *err = 2, errors.New("next is not in a rule")
		default:
			panic(reason)
		}
	}()
	part()
	return false
}

func (r *runner) closeAll() (err error) {
	defer func() {
		switch reason := recover().(type) {
		case nil:
		case stop:
			err = reason.err
		default:
			panic(reason)
		}
	}()
	if flushed := r.stdout.writer.Flush(); flushed != nil {
		return flushed
	}
	for _, name := range r.order {
		r.close(name)
	}
	for _, in := range r.inputs {
		in.closer.Close()
	}
	return nil
}

// input runs the rules for each record.
func (r *runner) input() {
	for {
		text, ok := r.nextLine()
		if !ok {
			return
		}
		r.setRecord(text)
		r.rules()
	}
}

// rules runs the rules for the current record.
func (r *runner) rules() {
	defer func() {
		switch reason := recover().(type) {
		case nil:
		case nextRecord:
			r.frames, r.depth = nil, 0
			if reason.file && r.current != nil {
				r.current.closer.Close()
				r.current = nil
			}
		default:
			panic(reason)
		}
	}()
	for _, rule := range r.program.rules {
		if r.applies(rule) {
			if rule.action == nil {
				r.write(r.stdout, r.field(0, 0).text(r.ofmt())+r.text(specialORS))
				continue
			}
			r.block(rule.action)
		}
	}
}

func (r *runner) applies(rule *rule) bool {
	if rule.pattern == nil {
		return true
	}
	if rule.until == nil {
		return r.eval(rule.pattern).isTrue()
	}
	if !r.ranges[rule.active] {
		if !r.eval(rule.pattern).isTrue() {
			return false
		}
		r.ranges[rule.active] = true
	}
	if r.eval(rule.until).isTrue() {
		r.ranges[rule.active] = false
	}
	return true
}

// nextLine reads the next record of the operands.
func (r *runner) nextLine() (string, bool) {
	for {
		if r.current == nil && !r.nextFile() {
			return "", false
		}
		text, ok := r.record(r.current)
		if ok {
			r.host.Tick()
			r.globals[specialNR].value = num(r.globals[specialNR].value.number() + 1)
			r.globals[specialFNR].value = num(r.globals[specialFNR].value.number() + 1)
			return text, true
		}
		r.current.closer.Close()
		r.current = nil
	}
}

// nextFile opens the next operand, after the assignments before it.
func (r *runner) nextFile() bool {
	for {
		r.argument++
		count := int(r.globals[specialARGC].value.number())
		if r.argument >= count {
			if r.anyFile {
				return false
			}
			r.anyFile = true
			return r.open("-", "")
		}
		element, ok := r.globals[specialARGV].asArray().elements[strconv.Itoa(r.argument)]
		if !ok {
			continue
		}
		operand := element.value.text(r.convfmt())
		if operand == "" {
			continue
		}
		if name, text, found := strings.Cut(operand, "="); found && isName(name) {
			r.assignNamed(name, text)
			continue
		}
		r.anyFile = true
		if r.open(operand, operand) {
			return true
		}
	}
}

func (r *runner) open(name, shown string) bool {
	file, err := r.host.Open(name)
	if err != nil {
		panic(stop{err})
	}
	r.current = newReader(file)
	r.globals[specialFILENAME].value = str(shown)
	r.globals[specialFNR].value = num(0)
	return true
}

func isName(text string) bool {
	if text == "" || !isLetter(text[0]) {
		return false
	}
	for i := range len(text) {
		if !isLetter(text[i]) && !isDigit(text[i]) {
			return false
		}
	}
	return true
}

func (r *runner) text(at int) string { return r.globals[at].value.text(r.convfmt()) }
func (r *runner) convfmt() string    { return r.globals[specialCONVFMT].value.text("%.6g") }
func (r *runner) ofmt() string       { return r.globals[specialOFMT].value.text("%.6g") }

func (r *runner) regex(source string) *regex.Regexp {
	if known, ok := r.regexes[source]; ok {
		return known
	}
	compiled, err := regex.Compile(source, regex.Options{Awk: true})
	if err != nil {
		panic(stop{err})
	}
	if len(r.regexes) < 500 {
		r.regexes[source] = compiled
	}
	return compiled
}

func (r *runner) write(out *output, text string) {
	if _, err := out.writer.WriteString(text); err != nil {
		panic(stop{err})
	}
	if out.buffer == nil && out.to == nil && out != r.stdout {
		out.writer.Flush()
	}
}

func (r *runner) block(b *block) jump {
	for _, s := range b.list {
		if j := r.exec(s); j != goOn {
			return j
		}
	}
	return goOn
}

func (r *runner) exec(s stmt) jump {
	r.host.Tick()
	switch s := s.(type) {
	case *block:
		return r.block(s)
	case *exprStmt:
		r.eval(s.expr)
	case *printStmt:
		r.print(s)
	case *ifStmt:
		if r.eval(s.test).isTrue() {
			return r.exec(s.yes)
		} else if s.no != nil {
			return r.exec(s.no)
		}
	case *whileStmt:
		for first := s.after; first || r.eval(s.test).isTrue(); first = false {
			if j := r.exec(s.body); j == breaking {
				break
			} else if j == returning {
				return j
			}
		}
	case *forStmt:
		if s.init != nil {
			r.exec(s.init)
		}
		for s.test == nil || r.eval(s.test).isTrue() {
			if j := r.exec(s.body); j == breaking {
				break
			} else if j == returning {
				return j
			}
			if s.step != nil {
				r.exec(s.step)
			}
		}
	case *forInStmt:
		for _, key := range r.arrayOf(s.array).keys() {
			r.assign(s.variable, input(key))
			if j := r.exec(s.body); j == breaking {
				break
			} else if j == returning {
				return j
			}
		}
	case *deleteStmt:
		a := r.arrayOf(s.array)
		if s.key == nil {
			clear(a.elements)
		} else {
			delete(a.elements, r.subscript(s.key))
		}
	case *jumpStmt:
		switch s.what {
		case "break":
			return breaking
		case "continue":
			return continuing
		case "next":
			panic(nextRecord{})
		case "nextfile":
			panic(nextRecord{file: true})
		}
	case *exitStmt:
		status := -1
		if s.code != nil {
			status = int(r.eval(s.code).number()) & 0xff
		}
		panic(exiting{status})
	case *returnStmt:
		r.returned = value{}
		if s.value != nil {
			r.returned = r.eval(s.value)
		}
		return returning
	}
	return goOn
}

func (r *runner) print(s *printStmt) {
	var text string
	if s.format {
		args := make([]value, len(s.args))
		for i, arg := range s.args {
			args[i] = r.eval(arg)
		}
		text = sprintf(args[0].text(r.convfmt()), args[1:], r.convfmt())
	} else {
		parts := make([]string, len(s.args))
		for i, arg := range s.args {
			parts[i] = r.eval(arg).text(r.ofmt())
		}
		if len(s.args) == 0 {
			parts = []string{r.field(0, 0).text(r.ofmt())}
		}
		text = strings.Join(parts, r.text(specialOFS)) + r.text(specialORS)
	}
	r.host.Length(len(text))
	out := r.stdout
	if s.op != "" {
		out = r.stream(s.op, r.eval(s.to).text(r.convfmt()))
	}
	r.write(out, text)
}

// cellOf is the variable of an expression.
func (r *runner) cellOf(v *varExpr) *cell {
	if v.local {
		return r.frames[v.index]
	}
	return r.globals[v.index]
}

func (r *runner) arrayOf(v *varExpr) *array {
	c := r.cellOf(v)
	if c.value.kind != none && c.array == nil {
		failAt(0, "%s is not an array", v.name)
	}
	return c.asArray()
}

// subscript is the key of an element.
func (r *runner) subscript(key []expr) string {
	parts := make([]string, len(key))
	for i, part := range key {
		parts[i] = r.eval(part).text(r.convfmt())
	}
	return strings.Join(parts, r.text(specialSUBSEP))
}

func (r *runner) setGlobal(index int, v value) {
	switch index {
	case specialNF:
		r.split()
		r.resize(int(v.number()))
		return
	}
	c := r.globals[index]
	if c.array != nil {
		failAt(0, "%s is an array", r.program.globals[index])
	}
	c.value = v
}

func (r *runner) assign(target expr, v value) {
	switch t := target.(type) {
	case *varExpr:
		if !t.local {
			// The separation of the record depends on FS as it was.
			if t.index == specialFS {
				r.split()
			}
			r.setGlobal(t.index, v)
			return
		}
		c := r.frames[t.index]
		if c.array != nil {
			failAt(0, "%s is an array", t.name)
		}
		c.value = v
	case *fieldExpr:
		r.setField(int(r.eval(t.index).number()), v)
	case *indexExpr:
		key := r.subscript(t.key)
		r.arrayOf(t.array).get(key).value = v
	}
}

func (r *runner) eval(e expr) value {
	switch e := e.(type) {
	case *numberExpr:
		return num(e.n)
	case *textExpr:
		return str(e.s)
	case *regexExpr:
		return truth(r.regex(e.source).Match(r.field(0, 0).text(r.convfmt())))
	case *varExpr:
		return r.variable(e)
	case *fieldExpr:
		return r.field(int(r.eval(e.index).number()), 0)
	case *indexExpr:
		key := r.subscript(e.key)
		return r.arrayOf(e.array).get(key).value
	case *assignExpr:
		return r.assignment(e)
	case *stepExpr:
		before := r.eval(e.target).number()
		after := num(before + e.by)
		r.assign(e.target, after)
		if e.after {
			return num(before)
		}
		return after
	case *binaryExpr:
		return r.binary(e)
	case *unaryExpr:
		v := r.eval(e.expr)
		switch e.op {
		case "!":
			return truth(!v.isTrue())
		case "-":
			return num(-v.number())
		}
		return num(v.number())
	case *condExpr:
		if r.eval(e.test).isTrue() {
			return r.eval(e.yes)
		}
		return r.eval(e.no)
	case *matchExpr:
		text := r.eval(e.left).text(r.convfmt())
		return truth(r.expression(e.right).Match(text) != e.not)
	case *inExpr:
		_, ok := r.arrayOf(e.array).elements[r.subscript(e.key)]
		return truth(ok)
	case *groupExpr:
		if len(e.list) != 1 {
			failAt(0, "a list of expressions can only stand before `in` and in print")
		}
		return r.eval(e.list[0])
	case *callExpr:
		return r.call(e)
	case *builtinExpr:
		return builtins[e.name].run(r, e)
	case *getlineExpr:
		return r.getline(e)
	}
	return value{}
}

// expression is a regular expression: one of the program, or a text.
func (r *runner) expression(e expr) *regex.Regexp {
	if own, ok := e.(*regexExpr); ok {
		return r.regex(own.source)
	}
	if group, ok := e.(*groupExpr); ok && len(group.list) == 1 {
		return r.expression(group.list[0])
	}
	return r.regex(r.eval(e).text(r.convfmt()))
}

func (r *runner) variable(v *varExpr) value {
	if !v.local {
		if v.index == specialNF {
			r.split()
		}
	}
	c := r.cellOf(v)
	if c.array != nil {
		failAt(0, "%s is an array", v.name)
	}
	return c.value
}

func (r *runner) assignment(e *assignExpr) value {
	v := r.eval(e.value)
	if e.op != "" {
		v = r.arithmetic(e.op, r.eval(e.target).number(), v.number())
	}
	r.assign(e.target, v)
	return v
}

func (r *runner) arithmetic(op string, a, b float64) value {
	switch op {
	case "+":
		return num(a + b)
	case "-":
		return num(a - b)
	case "*":
		return num(a * b)
	case "/":
		if b == 0 {
			failAt(0, "division by zero")
		}
		return num(a / b)
	case "%":
		if b == 0 {
			failAt(0, "division by zero in %%")
		}
		return num(math.Mod(a, b))
	}
	return num(math.Pow(a, b))
}

func (r *runner) binary(e *binaryExpr) value {
	switch e.op {
	case "&&":
		return truth(r.eval(e.left).isTrue() && r.eval(e.right).isTrue())
	case "||":
		return truth(r.eval(e.left).isTrue() || r.eval(e.right).isTrue())
	}
	left, right := r.eval(e.left), r.eval(e.right)
	switch e.op {
	case " ":
		a, b := left.text(r.convfmt()), right.text(r.convfmt())
		r.host.Length(len(a) + len(b))
		return str(a + b)
	case "<", "<=", "==", "!=", ">", ">=":
		return truth(r.compare(e.op, left, right))
	}
	return r.arithmetic(e.op, left.number(), right.number())
}

func (r *runner) compare(op string, left, right value) bool {
	var order int
	if left.numeric() && right.numeric() {
		a, b := left.number(), right.number()
		switch {
		case a < b:
			order = -1
		case a > b:
			order = 1
		case a != b: // not a number
			return op == "!="
		}
	} else {
		order = strings.Compare(left.text(r.convfmt()), right.text(r.convfmt()))
	}
	switch op {
	case "<":
		return order < 0
	case "<=":
		return order <= 0
	case "==":
		return order == 0
	case "!=":
		return order != 0
	case ">":
		return order > 0
	}
	return order >= 0
}

func (r *runner) call(e *callExpr) value {
	f := r.program.functions[e.name]
	if r.depth++; r.depth > maxCalls {
		failAt(e.line, "functions call each other more than %d times deep", maxCalls)
	}
	frame := make([]*cell, len(f.params))
	for i := range frame {
		frame[i] = &cell{}
		if i >= len(e.args) {
			continue
		}
		v, isVariable := e.args[i].(*varExpr)
		if !isVariable {
			frame[i].value = r.eval(e.args[i])
			continue
		}
		of := r.cellOf(v)
		switch {
		case of.array != nil:
			frame[i].array = of.array
		case of.value.kind == none && !(!v.local && v.index <= specialFILENAME):
			frame[i].of = of
		default:
			frame[i].value = r.variable(v)
		}
	}
	outer := r.frames
	r.frames = frame
	r.returned = value{}
	r.block(f.body)
	r.frames = outer
	r.depth--
	result := r.returned
	r.returned = value{}
	return result
}

// getline is 1 for a record, 0 at the end, and -1 where the source cannot be read.
func (r *runner) getline(e *getlineExpr) value {
	var text string
	ok := false
	switch {
	case e.source == nil:
		if text, ok = r.nextLine(); !ok {
			return num(0)
		}
	default:
		name := r.eval(e.source).text(r.convfmt())
		in, known := r.inputs[name]
		if !known {
			var err error
			if in, err = r.source(name, e.command); err != nil {
				return num(-1)
			}
			r.inputs[name] = in
		}
		if text, ok = r.record(in); !ok {
			return num(0)
		}
		if e.command {
			r.globals[specialNR].value = num(r.globals[specialNR].value.number() + 1)
		}
	}
	if e.target == nil {
		r.setRecord(text)
	} else {
		r.assign(e.target, input(text))
	}
	return num(1)
}

func (r *runner) source(name string, command bool) (*reader, error) {
	if !command {
		file, err := r.host.Open(name)
		if err != nil {
			return nil, err
		}
		return newReader(file), nil
	}
	r.flush()
	var out strings.Builder
	r.statuses[name] = r.host.Shell(name, nil, limited{r.host, &out})
	return newReader(io.NopCloser(strings.NewReader(out.String()))), nil
}
