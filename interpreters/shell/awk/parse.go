package awk

import (
	"strconv"
	"strings"
)

// Program is a parsed program. It can run several times.
type Program struct {
	begin, end []*block
	rules      []*rule
	functions  map[string]*function
	globals    []string
	global     map[string]int
}

type rule struct {
	pattern, until expr // until is the end of a range
	action         *block
	active         int // which of the running ranges this is
}

type function struct {
	name   string
	params []string
	body   *block
	line   int
}

// expr is an expression.
type expr any

type (
	numberExpr struct{ n float64 }
	textExpr   struct{ s string }
	regexExpr  struct{ source string }
	// varExpr is a global variable, or a local one.
	varExpr struct {
		name  string
		local bool
		index int
	}
	fieldExpr struct{ index expr }
	indexExpr struct {
		array *varExpr
		key   []expr
	}
	assignExpr struct {
		target expr
		op     string
		value  expr
	}
	stepExpr struct { // ++ and --
		target expr
		by     float64
		after  bool
	}
	binaryExpr struct {
		op          string
		left, right expr
	}
	unaryExpr struct {
		op   string
		expr expr
	}
	condExpr  struct{ test, yes, no expr }
	matchExpr struct {
		left, right expr
		not         bool
	}
	inExpr struct {
		key   []expr
		array *varExpr
	}
	groupExpr struct{ list []expr }
	callExpr  struct {
		name string
		args []expr
		line int
	}
	builtinExpr struct {
		name string
		args []expr
		line int
	}
	getlineExpr struct {
		target  expr // nil is $0
		source  expr // nil is the input
		command bool
	}
)

// stmt is a statement.
type stmt any

type (
	block     struct{ list []stmt }
	exprStmt  struct{ expr expr }
	printStmt struct {
		args   []expr
		format bool
		op     string // > >> |
		to     expr
	}
	ifStmt struct {
		test    expr
		yes, no stmt
	}
	whileStmt struct {
		test  expr
		body  stmt
		after bool // do … while
	}
	forStmt struct {
		init, step stmt
		test       expr
		body       stmt
	}
	forInStmt struct {
		variable *varExpr
		array    *varExpr
		body     stmt
	}
	deleteStmt struct {
		array *varExpr
		key   []expr // nil is all
	}
	jumpStmt struct { // break continue next nextfile
		what string
		line int
	}
	exitStmt   struct{ code expr }
	returnStmt struct{ value expr }
)

type parser struct {
	tokens  []token
	at      int
	program *Program
	locals  map[string]int
	inLoop  int
	inFunc  bool
	noMore  bool // in the arguments of print: > is a redirection
	calls   []*callExpr
	depth   int
}

// maxDepth bounds nested expressions and statements.
const maxDepth = 200

// Parse reads a program.
func Parse(text string) (program *Program, err error) {
	defer func() {
		switch reason := recover().(type) {
		case nil:
		case stop:
			program, err = nil, reason.err
		default:
			panic(reason)
		}
	}()
	p := &parser{program: &Program{functions: map[string]*function{}, global: map[string]int{}}}
	for _, name := range special {
		p.variable(name)
	}
	p.tokens = lex(text)
	p.all()
	for _, call := range p.calls {
		f := p.program.functions[call.name]
		if f == nil {
			failAt(call.line, "the function %s is not defined", call.name)
		}
		if len(call.args) > len(f.params) {
			failAt(call.line, "the function %s has %d parameters, not %d", call.name, len(f.params), len(call.args))
		}
	}
	return p.program, nil
}

func (p *parser) peek() token { return p.tokens[p.at] }

func (p *parser) take() token {
	t := p.tokens[p.at]
	if t.kind != end {
		p.at++
	}
	return t
}

func (p *parser) is(text string) bool {
	t := p.peek()
	return (t.kind == signToken || t.kind == wordToken) && t.text == text
}

func (p *parser) accept(text string) bool {
	if p.is(text) {
		p.at++
		return true
	}
	return false
}

func (p *parser) expect(text string) {
	if !p.accept(text) {
		p.unexpected(text)
	}
}

func (p *parser) unexpected(wanted string) {
	t := p.peek()
	found := strconv.Quote(t.text)
	switch t.kind {
	case end:
		found = "the end of the program"
	case newline:
		found = "the end of the line"
	}
	if wanted != "" {
		failAt(t.line, "there is %s where %q is expected", found, wanted)
	}
	failAt(t.line, "there is %s where an expression is expected", found)
}

func (p *parser) newlines() {
	for p.peek().kind == newline {
		p.at++
	}
}

func (p *parser) separators() {
	for p.peek().kind == newline || p.is(";") {
		p.at++
	}
}

func (p *parser) deeper() func() {
	if p.depth++; p.depth > maxDepth {
		failAt(p.peek().line, "the program is nested more than %d times", maxDepth)
	}
	return func() { p.depth-- }
}

func (p *parser) all() {
	for p.separators(); p.peek().kind != end; p.separators() {
		switch {
		case p.accept("function"):
			p.function()
		case p.accept("BEGIN"):
			p.program.begin = append(p.program.begin, p.block())
		case p.accept("END"):
			p.program.end = append(p.program.end, p.block())
		case p.is("{"):
			p.program.rules = append(p.program.rules, &rule{action: p.block()})
		default:
			r := &rule{pattern: p.expr(), active: len(p.program.rules)}
			if p.accept(",") {
				p.newlines()
				r.until = p.expr()
			}
			if p.is("{") {
				r.action = p.block()
			}
			p.program.rules = append(p.program.rules, r)
		}
	}
	for i, r := range p.program.rules {
		r.active = i
	}
}

func (p *parser) function() {
	t := p.take()
	if t.kind != nameToken && t.kind != callToken {
		failAt(t.line, "%q cannot be the name of a function", t.text)
	}
	f := &function{name: t.text, line: t.line}
	p.expect("(")
	p.locals = map[string]int{}
	for !p.accept(")") {
		name := p.take()
		if name.kind != nameToken {
			failAt(name.line, "%q cannot be a parameter", name.text)
		}
		p.locals[name.text] = len(f.params)
		f.params = append(f.params, name.text)
		if !p.accept(",") && !p.is(")") {
			p.unexpected(")")
		}
		p.newlines()
	}
	p.newlines()
	if p.program.functions[f.name] != nil {
		failAt(t.line, "the function %s is defined twice", f.name)
	}
	p.program.functions[f.name] = f
	p.inFunc = true
	f.body = p.block()
	p.inFunc, p.locals = false, nil
}

func (p *parser) block() *block {
	p.newlines()
	p.expect("{")
	b := &block{}
	for p.separators(); !p.accept("}"); p.separators() {
		if p.peek().kind == end {
			p.unexpected("}")
		}
		b.list = append(b.list, p.statement())
	}
	return b
}

// body is the statement after if, while and for.
func (p *parser) body() stmt {
	p.newlines()
	if p.accept(";") {
		return &block{}
	}
	return p.statement()
}

func (p *parser) loopBody() stmt {
	p.inLoop++
	defer func() { p.inLoop-- }()
	return p.body()
}

func (p *parser) statement() stmt {
	defer p.deeper()()
	switch {
	case p.is("{"):
		return p.block()
	case p.accept("if"):
		p.expect("(")
		s := &ifStmt{test: p.expr()}
		p.expect(")")
		s.yes = p.body()
		// An else may come after separators.
		at := p.at
		p.separators()
		if !p.accept("else") {
			p.at = at
			return s
		}
		s.no = p.body()
		return s
	case p.accept("while"):
		p.expect("(")
		s := &whileStmt{test: p.expr()}
		p.expect(")")
		s.body = p.loopBody()
		return s
	case p.accept("do"):
		s := &whileStmt{after: true, body: p.loopBody()}
		p.separators()
		p.expect("while")
		p.expect("(")
		s.test = p.expr()
		p.expect(")")
		p.ended()
		return s
	case p.accept("for"):
		return p.forStatement()
	case p.is(";"):
		p.at++
		return &block{}
	}
	s := p.simple()
	p.ended()
	return s
}

// ended checks that a statement ends here.
func (p *parser) ended() {
	if p.peek().kind == newline || p.accept(";") || p.is("}") || p.peek().kind == end {
		return
	}
	p.unexpected(";")
}

func (p *parser) forStatement() stmt {
	p.expect("(")
	// for (name in array)
	if p.peek().kind == nameToken && p.at+3 < len(p.tokens) && p.tokens[p.at+1].text == "in" && p.tokens[p.at+1].kind == wordToken &&
		p.tokens[p.at+2].kind == nameToken && p.tokens[p.at+3].text == ")" {
		s := &forInStmt{variable: p.variable(p.take().text)}
		p.at++
		s.array = p.variable(p.take().text)
		p.at++
		s.body = p.loopBody()
		return s
	}
	s := &forStmt{}
	if !p.is(";") {
		s.init = p.simple()
	}
	p.expect(";")
	p.newlines()
	if !p.is(";") {
		s.test = p.expr()
	}
	p.expect(";")
	p.newlines()
	if !p.is(")") {
		s.step = p.simple()
	}
	p.expect(")")
	s.body = p.loopBody()
	return s
}

// simple is a statement without a body.
func (p *parser) simple() stmt {
	t := p.peek()
	if t.kind != wordToken {
		return &exprStmt{p.expr()}
	}
	switch t.text {
	case "print", "printf":
		p.at++
		return p.print(t.text == "printf")
	case "break", "continue":
		p.at++
		if p.inLoop == 0 {
			failAt(t.line, "%s is not in a loop", t.text)
		}
		return &jumpStmt{t.text, t.line}
	case "next", "nextfile":
		p.at++
		return &jumpStmt{t.text, t.line}
	case "exit":
		p.at++
		return &exitStmt{p.optional()}
	case "return":
		p.at++
		if !p.inFunc {
			failAt(t.line, "return is not in a function")
		}
		return &returnStmt{p.optional()}
	case "delete":
		p.at++
		name := p.take()
		if name.kind != nameToken {
			failAt(name.line, "delete needs an array")
		}
		s := &deleteStmt{array: p.variable(name.text)}
		if p.accept("[") {
			s.key = p.list("]")
		}
		return s
	case "getline":
		return &exprStmt{p.expr()}
	}
	p.unexpected("")
	return nil
}

// optional is an expression, if there is one.
func (p *parser) optional() expr {
	if p.peek().kind == newline || p.is(";") || p.is("}") || p.peek().kind == end {
		return nil
	}
	return p.expr()
}

// list are expressions up to a sign.
func (p *parser) list(close string) []expr {
	var list []expr
	noMore := p.noMore
	p.noMore = false
	p.newlines()
	for !p.accept(close) {
		list = append(list, p.expr())
		p.newlines()
		if !p.accept(",") && !p.is(close) {
			p.unexpected(close)
		}
		p.newlines()
	}
	p.noMore = noMore
	return list
}

func (p *parser) print(format bool) stmt {
	s := &printStmt{format: format}
	p.noMore = true
	for !p.endsPrint() {
		s.args = append(s.args, p.expr())
		if !p.accept(",") {
			break
		}
		p.newlines()
	}
	p.noMore = false
	if len(s.args) == 1 {
		if group, ok := s.args[0].(*groupExpr); ok {
			s.args = group.list
		}
	}
	if format && len(s.args) == 0 {
		failAt(p.peek().line, "printf needs a format")
	}
	for _, op := range []string{">>", ">", "|"} {
		if p.accept(op) {
			s.op = op
			p.noMore = true
			s.to = p.concat()
			p.noMore = false
			break
		}
	}
	return s
}

func (p *parser) endsPrint() bool {
	return p.peek().kind == newline || p.peek().kind == end || p.is(";") || p.is("}") || p.is(">") || p.is(">>") || p.is("|")
}

// expr is an expression, with assignments.
func (p *parser) expr() expr {
	defer p.deeper()()
	left := p.ternary()
	if !isLvalue(left) {
		return left
	}
	for _, op := range []string{"=", "+=", "-=", "*=", "/=", "%=", "^=", "**="} {
		if p.accept(op) {
			p.newlines()
			op = strings.Replace(strings.TrimSuffix(op, "="), "**", "^", 1)
			return &assignExpr{left, op, p.expr()}
		}
	}
	return left
}

func isLvalue(e expr) bool {
	switch e.(type) {
	case *varExpr, *fieldExpr, *indexExpr:
		return true
	}
	return false
}

func (p *parser) ternary() expr {
	test := p.or()
	if !p.accept("?") {
		return test
	}
	p.newlines()
	c := &condExpr{test: test}
	c.yes = p.expr()
	p.newlines()
	p.expect(":")
	p.newlines()
	c.no = p.expr()
	return c
}

func (p *parser) or() expr {
	left := p.and()
	for p.accept("||") {
		p.newlines()
		left = &binaryExpr{"||", left, p.and()}
	}
	return left
}

func (p *parser) and() expr {
	left := p.in()
	for p.accept("&&") {
		p.newlines()
		left = &binaryExpr{"&&", left, p.in()}
	}
	return left
}

func (p *parser) in() expr {
	left := p.match()
	for p.accept("in") {
		name := p.take()
		if name.kind != nameToken {
			failAt(name.line, "in needs an array")
		}
		key := []expr{left}
		if group, ok := left.(*groupExpr); ok {
			key = group.list
		}
		left = &inExpr{key, p.variable(name.text)}
	}
	return left
}

func (p *parser) match() expr {
	left := p.comparison()
	for p.is("~") || p.is("!~") {
		not := p.take().text == "!~"
		left = &matchExpr{left, p.comparison(), not}
	}
	return left
}

func (p *parser) comparison() expr {
	left := p.concat()
	for p.is("|") && p.tokens[p.at+1].kind == wordToken && p.tokens[p.at+1].text == "getline" {
		p.at += 2
		left = &getlineExpr{target: p.getlineTarget(), source: left, command: true}
	}
	for _, op := range []string{"<", "<=", "==", "!=", ">", ">="} {
		if op == ">" && p.noMore {
			continue
		}
		if p.accept(op) {
			return &binaryExpr{op, left, p.concat()}
		}
	}
	return left
}

func (p *parser) concat() expr {
	left := p.additive()
	for p.startsOperand() {
		left = &binaryExpr{" ", left, p.additive()}
	}
	return left
}

// startsOperand says whether a text follows that is appended.
func (p *parser) startsOperand() bool {
	switch t := p.peek(); t.kind {
	case numberToken, stringToken, regexToken, nameToken, callToken, builtinToken:
		return true
	case signToken:
		return t.text == "(" || t.text == "$" || t.text == "++" || t.text == "--"
	}
	return false
}

func (p *parser) additive() expr {
	left := p.multiplicative()
	for p.is("+") || p.is("-") {
		op := p.take().text
		left = &binaryExpr{op, left, p.multiplicative()}
	}
	return left
}

func (p *parser) multiplicative() expr {
	left := p.unary()
	for p.is("*") || p.is("/") || p.is("%") {
		op := p.take().text
		left = &binaryExpr{op, left, p.unary()}
	}
	return left
}

func (p *parser) unary() expr {
	defer p.deeper()()
	if p.is("!") || p.is("-") || p.is("+") {
		op := p.take().text
		return &unaryExpr{op, p.unary()}
	}
	return p.power()
}

func (p *parser) power() expr {
	left := p.postfix()
	if p.accept("^") || p.accept("**") {
		// It binds to the right, and stronger than a sign on its left.
		return &binaryExpr{"^", left, p.exponent()}
	}
	return left
}

func (p *parser) exponent() expr {
	if p.is("-") || p.is("+") || p.is("!") {
		op := p.take().text
		return &unaryExpr{op, p.exponent()}
	}
	return p.power()
}

func (p *parser) postfix() expr {
	e := p.primary()
	if isLvalue(e) {
		if p.accept("++") {
			return &stepExpr{e, 1, true}
		}
		if p.accept("--") {
			return &stepExpr{e, -1, true}
		}
	}
	return e
}

func (p *parser) primary() expr {
	defer p.deeper()()
	t := p.take()
	switch t.kind {
	case numberToken:
		return &numberExpr{parseNumber(t.text)}
	case stringToken:
		return &textExpr{t.text}
	case regexToken:
		return &regexExpr{t.text}
	case nameToken:
		if p.accept("[") {
			return &indexExpr{p.variable(t.text), p.list("]")}
		}
		return p.variable(t.text)
	case callToken:
		p.expect("(")
		call := &callExpr{t.text, p.list(")"), t.line}
		p.calls = append(p.calls, call)
		return call
	case builtinToken:
		return p.builtin(t)
	}
	switch t.text {
	case "$":
		if p.is("++") || p.is("--") {
			by := 1.0
			if p.take().text == "--" {
				by = -1
			}
			return &fieldExpr{&stepExpr{p.primary(), by, false}}
		}
		if p.accept("-") {
			return &fieldExpr{&unaryExpr{"-", p.primary()}}
		}
		return &fieldExpr{p.primary()}
	case "++", "--":
		target := p.primary()
		if !isLvalue(target) {
			failAt(t.line, "%s needs a variable", t.text)
		}
		by := 1.0
		if t.text == "--" {
			by = -1
		}
		return &stepExpr{target, by, false}
	case "(":
		list := p.list(")")
		switch len(list) {
		case 0:
			p.at--
			p.unexpected("")
		case 1:
			// A variable in brackets is not assigned to.
			return &groupExpr{list}
		}
		return &groupExpr{list}
	case "-", "+", "!":
		return &unaryExpr{t.text, p.unary()}
	case "getline":
		g := &getlineExpr{target: p.getlineTarget()}
		if p.accept("<") {
			g.source = p.primary()
		}
		return g
	}
	if t.kind != end {
		p.at--
	}
	p.unexpected("")
	return nil
}

func (p *parser) getlineTarget() expr {
	if t := p.peek(); t.kind == nameToken || t.kind == signToken && t.text == "$" {
		return p.primary()
	}
	return nil
}

func (p *parser) builtin(t token) expr {
	call := &builtinExpr{name: t.text, line: t.line}
	if p.accept("(") {
		call.args = p.list(")")
	} else if t.text != "length" {
		p.unexpected("(")
	}
	b := builtins[t.text]
	if len(call.args) < b.least || len(call.args) > b.most {
		failAt(t.line, "%s cannot have %d arguments", t.text, len(call.args))
	}
	return call
}

// variable finds a variable by its name.
func (p *parser) variable(name string) *varExpr {
	if index, ok := p.locals[name]; ok {
		return &varExpr{name, true, index}
	}
	index, ok := p.program.global[name]
	if !ok {
		index = len(p.program.globals)
		p.program.globals = append(p.program.globals, name)
		p.program.global[name] = index
	}
	return &varExpr{name, false, index}
}
