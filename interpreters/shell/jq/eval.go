package jq

import (
	"errors"
	"fmt"
	"math"
	"strings"

	"github.com/itchyny/gojq"
)

// Error is an error that a program raised; try catches its value.
type Error struct{ Value any }

func (e *Error) Error() string {
	if text, ok := e.Value.(string); ok {
		return text
	}
	return Text(e.Value) + " (not a string)"
}

// Halt ends a program, by halt or halt_error.
type Halt struct {
	Value  any
	Status int
	Prints bool
}

func (*Halt) Error() string { return "halt" }

type breakError struct{ label *int }

func (breakError) Error() string { return "break" }

// errStop ends a generator whose consumer has enough.
var errStop = errors.New("stop")

func failf(format string, args ...any) error { return &Error{fmt.Sprintf(format, args...)} }

// Program is a parsed program. It can run many times.
type Program struct {
	query *gojq.Query
}

// Parse parses a program.
func ParseProgram(text string) (*Program, error) {
	if strings.TrimSpace(stripComments(text)) == "" {
		text = "."
	}
	q, err := gojq.Parse(text)
	if err != nil {
		return nil, err
	}
	if len(q.Imports) > 0 {
		return nil, errors.New("modules are not supported: put the functions in the program")
	}
	return &Program{q}, nil
}

func stripComments(text string) string {
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		if strings.HasPrefix(strings.TrimSpace(line), "#") {
			lines[i] = ""
		}
	}
	return strings.Join(lines, "\n")
}

// Options are what a run of a program can see.
type Options struct {
	Variables map[string]any
	Env       *Object
	// Input returns the next input, or false.
	Input func() (any, bool, error)
	// Debug prints a message.
	Debug func(text string)
	// Tick is called for each step, and bounds the run.
	Tick func()
	// Now is the time in seconds.
	Now func() float64
	// Size bounds a string or an array.
	Size func(int)
	// Line is the line of the last input.
	Line func() int
}

// Run calls yield for each output. It returns the error that ended the program.
func (p *Program) Run(input any, o *Options, yield func(any) error) error {
	e := &evaluator{o: o}
	env := &environment{}
	for name, v := range o.Variables {
		env = env.bind(name, v)
	}
	env = env.bind("$ENV", o.Env)
	return e.query(p.query, env, pathed{v: input}, func(out pathed) error { return yield(out.v) })
}

// pathed is a value with the path to it, where paths are wanted.
type pathed struct {
	v    any
	path *step
	// tracked says that a path is wanted; lost, that the value has none.
	tracked, lost bool
}

type step struct {
	up  *step
	key any
}

func (s *step) list() []any {
	var keys []any
	for ; s != nil; s = s.up {
		keys = append(keys, s.key)
	}
	for i, j := 0, len(keys)-1; i < j; i, j = i+1, j-1 {
		keys[i], keys[j] = keys[j], keys[i]
	}
	if keys == nil {
		keys = []any{}
	}
	return keys
}

// only is a value without a path, in the place of another.
func (p pathed) only(v any) pathed { return pathed{v: v, tracked: p.tracked, lost: p.tracked} }

func (p pathed) plain() pathed { return pathed{v: p.v} }

// environment has the variables and functions that an expression sees.
type environment struct {
	up       *environment
	name     string // $name, or name/arity
	value    any
	params   []string
	body     *gojq.Query
	defined  *environment // of a closure or a function; nil is this one
	function bool
	label    *int
}

func (e *environment) bind(name string, v any) *environment {
	return &environment{up: e, name: name, value: v}
}

func (e *environment) find(name string) *environment {
	for ; e != nil; e = e.up {
		if e.name == name {
			return e
		}
	}
	return nil
}

type evaluator struct {
	o     *Options
	depth int
}

// The depth of calls is bounded, because a program that calls itself for ever would use up the memory.
const maxCalls = 5000

type yield func(pathed) error

func (e *evaluator) query(q *gojq.Query, env *environment, in pathed, out yield) error {
	e.o.Tick()
	if e.depth++; e.depth > maxCalls {
		e.depth--
		return &Halt{Value: "the program has more than 5000 nested calls", Status: 5, Prints: true}
	}
	defer func() { e.depth-- }()
	for _, def := range q.FuncDefs {
		env = &environment{up: env, name: fmt.Sprintf("%s/%d", def.Name, len(def.Args)), params: def.Args, body: def.Body, function: true}
	}
	if q.Term != nil {
		return e.term(q.Term, env, in, out)
	}
	if q.Right == nil {
		return out(in)
	}
	if len(q.Patterns) > 0 {
		return e.query(q.Left, env, in.plain(), func(v pathed) error {
			return e.destructure(q.Patterns, env, in, v.v, func(inner *environment) error { return e.query(q.Right, inner, in, out) })
		})
	}
	switch q.Op {
	case gojq.OpPipe:
		return e.query(q.Left, env, in, func(v pathed) error { return e.query(q.Right, env, v, out) })
	case gojq.OpComma:
		if err := e.query(q.Left, env, in, out); err != nil {
			return err
		}
		return e.query(q.Right, env, in, out)
	case gojq.OpAlt:
		return e.alternative(q, env, in, out)
	case gojq.OpAnd, gojq.OpOr:
		return e.query(q.Left, env, in.plain(), func(left pathed) error {
			if truthy(left.v) == (q.Op == gojq.OpOr) {
				return out(in.only(q.Op == gojq.OpOr))
			}
			return e.query(q.Right, env, in.plain(), func(right pathed) error { return out(in.only(truthy(right.v))) })
		})
	case gojq.OpAssign, gojq.OpModify, gojq.OpUpdateAdd, gojq.OpUpdateSub, gojq.OpUpdateMul, gojq.OpUpdateDiv, gojq.OpUpdateMod, gojq.OpUpdateAlt:
		return e.update(q, env, in, out)
	}
	return e.query(q.Right, env, in.plain(), func(right pathed) error {
		return e.query(q.Left, env, in.plain(), func(left pathed) error {
			v, err := e.operate(q.Op, left.v, right.v)
			if err != nil {
				return err
			}
			return out(in.only(v))
		})
	})
}

// alternative is a // b: the outputs of a that are neither null nor false, or else those of b.
func (e *evaluator) alternative(q *gojq.Query, env *environment, in pathed, out yield) error {
	found := false
	var outer error
	err := e.query(q.Left, env, in, func(v pathed) error {
		if !truthy(v.v) {
			return nil
		}
		found = true
		outer = out(v)
		return outer
	})
	if outer != nil {
		return outer
	}
	if _, caught := err.(*Error); err != nil && !caught {
		return err
	}
	if found {
		return nil
	}
	return e.query(q.Right, env, in, out)
}

func (e *evaluator) term(t *gojq.Term, env *environment, in pathed, out yield) error {
	return e.suffixed(t, len(t.SuffixList), env, in, out)
}

// suffixed evaluates a term with the first n of its suffixes.
func (e *evaluator) suffixed(t *gojq.Term, n int, env *environment, in pathed, out yield) error {
	if n == 0 {
		return e.bare(t, env, in, out)
	}
	s := t.SuffixList[n-1]
	switch {
	case s.Optional:
		return e.try(func(out yield) error { return e.suffixed(t, n-1, env, in, out) }, func(any) error { return nil }, out)
	case s.Iter:
		return e.suffixed(t, n-1, env, in, func(v pathed) error { return e.iterate(v, out) })
	}
	return e.indices(s.Index, env, in, func(key any) error {
		return e.suffixed(t, n-1, env, in, func(v pathed) error { return e.index(v, key, out) })
	})
}

// slice is the key of .[from:to].
type slice struct{ from, to any }

// indices evaluates the key of an index.
func (e *evaluator) indices(i *gojq.Index, env *environment, in pathed, use func(key any) error) error {
	switch {
	case i.Name != "":
		return use(i.Name)
	case i.Str != nil:
		return e.text(i.Str, "", env, in.plain(), func(v pathed) error { return use(v.v) })
	case !i.IsSlice:
		return e.query(i.Start, env, in.plain(), func(v pathed) error { return use(v.v) })
	}
	bound := func(q *gojq.Query, use func(any) error) error {
		if q == nil {
			return use(nil)
		}
		return e.query(q, env, in.plain(), func(v pathed) error { return use(v.v) })
	}
	return bound(i.End, func(to any) error {
		return bound(i.Start, func(from any) error { return use(slice{from, to}) })
	})
}

// index yields v[key].
func (e *evaluator) index(v pathed, key any, out yield) error {
	if err := v.checkPath(); err != nil {
		return err
	}
	item, err := indexValue(v.v, key)
	if err != nil {
		return err
	}
	next := pathed{v: item, tracked: v.tracked}
	if v.tracked {
		if s, ok := key.(slice); ok {
			o := NewObject()
			o.Set("start", s.from)
			o.Set("end", s.to)
			key = o
		}
		next.path = &step{v.path, key}
	}
	return out(next)
}

func (p pathed) checkPath() error {
	if p.tracked && p.lost {
		return failf("Invalid path expression with result %s", short(p.v))
	}
	return nil
}

func (e *evaluator) iterate(v pathed, out yield) error {
	if err := v.checkPath(); err != nil {
		return err
	}
	child := func(item, key any) error {
		e.o.Tick()
		next := pathed{v: item, tracked: v.tracked}
		if v.tracked {
			next.path = &step{v.path, key}
		}
		return out(next)
	}
	switch list := v.v.(type) {
	case []any:
		for i, item := range list {
			if err := child(item, float64(i)); err != nil {
				return err
			}
		}
		return nil
	case *Object:
		for _, key := range append([]string(nil), list.keys...) {
			if err := child(list.values[key], key); err != nil {
				return err
			}
		}
		return nil
	case nil:
		if v.tracked {
			return nil
		}
	}
	return failf("Cannot iterate over %s", describe(v.v))
}

// describe names a value in an error.
func describe(v any) string {
	if v == nil {
		return "null"
	}
	return typeOf(v) + " (" + short(v) + ")"
}

func short(v any) string {
	text := Text(v)
	if len(text) > 11 {
		return text[:10] + "..."
	}
	return text
}

// bare evaluates a term without suffixes.
func (e *evaluator) bare(t *gojq.Term, env *environment, in pathed, out yield) error {
	switch t.Type {
	case gojq.TermTypeIdentity:
		return out(in)
	case gojq.TermTypeRecurse:
		return e.recurse(in, out)
	case gojq.TermTypeNull:
		return out(in.only(nil))
	case gojq.TermTypeTrue:
		return out(in.only(true))
	case gojq.TermTypeFalse:
		return out(in.only(false))
	case gojq.TermTypeIndex:
		return e.indices(t.Index, env, in, func(key any) error { return e.index(in, key, out) })
	case gojq.TermTypeFunc:
		return e.call(t.Func, env, in, out)
	case gojq.TermTypeObject:
		return e.object(t.Object.KeyVals, env, in, NewObject(), out)
	case gojq.TermTypeArray:
		list := []any{}
		if t.Array.Query != nil {
			if err := e.query(t.Array.Query, env, in.plain(), func(v pathed) error {
				list = append(list, v.v)
				e.o.Size(16 * len(list))
				return nil
			}); err != nil {
				return err
			}
		}
		return out(in.only(list))
	case gojq.TermTypeNumber:
		n, err := parseNumber(t.Number, nil)
		if err != nil {
			return failf("%s", err)
		}
		return out(in.only(n))
	case gojq.TermTypeUnary:
		return e.term(t.Unary.Term, env, in.plain(), func(v pathed) error {
			n, ok := plain(v.v).(float64)
			if !ok {
				return failf("%s cannot be negated", describe(v.v))
			}
			if t.Unary.Op == gojq.OpSub {
				n = -n
			}
			return out(in.only(n))
		})
	case gojq.TermTypeFormat:
		if t.Str == nil {
			text, err := e.format(t.Format, in.v)
			if err != nil {
				return err
			}
			return out(in.only(text))
		}
		return e.text(t.Str, t.Format, env, in, out)
	case gojq.TermTypeString:
		return e.text(t.Str, "", env, in, out)
	case gojq.TermTypeIf:
		return e.conditional(t.If, env, in, out)
	case gojq.TermTypeTry:
		return e.try(func(out yield) error { return e.query(t.Try.Body, env, in, out) }, func(v any) error {
			if t.Try.Catch == nil {
				return nil
			}
			return e.query(t.Try.Catch, env, in.only(v).plain(), out)
		}, out)
	case gojq.TermTypeReduce:
		return e.reduce(t.Reduce, env, in, out)
	case gojq.TermTypeForeach:
		return e.foreach(t.Foreach, env, in, out)
	case gojq.TermTypeLabel:
		label := new(int)
		inner := &environment{up: env, name: "*" + t.Label.Ident, label: label}
		err := e.query(t.Label.Body, inner, in, out)
		if b, ok := err.(breakError); ok && b.label == label {
			return nil
		}
		return err
	case gojq.TermTypeBreak:
		found := env.find("*" + t.Break)
		if found == nil {
			return failf("$*label-%s is not defined", t.Break)
		}
		return breakError{found.label}
	case gojq.TermTypeQuery:
		return e.query(t.Query, env, in, out)
	}
	return failf("the term %s is not supported", t)
}

// try catches the errors of a body, but not those of what consumes its outputs.
func (e *evaluator) try(body func(yield) error, catch func(any) error, out yield) error {
	var outer error
	err := body(func(v pathed) error {
		outer = out(v)
		return outer
	})
	if err == nil || err == outer {
		return err
	}
	if caught, ok := err.(*Error); ok {
		if o, ok := caught.Value.(*Object); ok {
			if v, has := o.Get("__jq"); has {
				_ = v
				return nil
			}
		}
		return catch(caught.Value)
	}
	return err
}

func (e *evaluator) recurse(in pathed, out yield) error {
	if err := out(in); err != nil {
		return err
	}
	switch in.v.(type) {
	case []any, *Object:
		return e.iterate(in, func(v pathed) error { return e.recurse(v, out) })
	}
	return nil
}

func (e *evaluator) conditional(c *gojq.If, env *environment, in pathed, out yield) error {
	return e.query(c.Cond, env, in.plain(), func(v pathed) error {
		if truthy(v.v) {
			return e.query(c.Then, env, in, out)
		}
		if len(c.Elif) > 0 {
			next := &gojq.If{Cond: c.Elif[0].Cond, Then: c.Elif[0].Then, Elif: c.Elif[1:], Else: c.Else}
			return e.conditional(next, env, in, out)
		}
		if c.Else == nil {
			return out(in)
		}
		return e.query(c.Else, env, in, out)
	})
}

// object builds the combinations of the keys and values.
func (e *evaluator) object(pairs []*gojq.ObjectKeyVal, env *environment, in pathed, built *Object, out yield) error {
	if len(pairs) == 0 {
		return out(in.only(built))
	}
	// The last pair changes slowest, as in jq 1.6.
	return e.pair(pairs, 0, env, in, built, out)
}

func (e *evaluator) pair(pairs []*gojq.ObjectKeyVal, at int, env *environment, in pathed, built *Object, out yield) error {
	if at == len(pairs) {
		return out(in.only(built.copy()))
	}
	kv := pairs[at]
	with := func(key, value any) error {
		name, ok := key.(string)
		if !ok {
			return failf("Object keys must be strings")
		}
		next := built.copy()
		next.Set(name, value)
		return e.pair(pairs, at+1, env, in, next, out)
	}
	value := func(key any) error {
		if kv.Val == nil {
			v, err := indexValue(in.v, key)
			if err != nil {
				return err
			}
			return with(key, v)
		}
		return e.query(kv.Val, env, in.plain(), func(v pathed) error { return with(key, v.v) })
	}
	switch {
	case kv.KeyString != nil:
		return e.text(kv.KeyString, "", env, in.plain(), func(v pathed) error { return value(v.v) })
	case kv.KeyQuery != nil:
		return e.query(kv.KeyQuery, env, in.plain(), func(v pathed) error { return value(v.v) })
	case strings.HasPrefix(kv.Key, "$"):
		found := env.find(kv.Key)
		if kv.Key == "$__loc__" {
			o := NewObject()
			o.Set("file", "<top-level>")
			o.Set("line", 1.0)
			return with("__loc__", o)
		}
		if found == nil {
			return failf("%s is not defined", kv.Key)
		}
		return with(kv.Key[1:], found.value)
	}
	return value(kv.Key)
}

// text evaluates a string with its interpolations.
func (e *evaluator) text(s *gojq.String, format string, env *environment, in pathed, out yield) error {
	if s.Queries == nil {
		return out(in.only(s.Str))
	}
	var build func(i int, after string) error
	build = func(i int, after string) error {
		if i < 0 {
			return out(in.only(after))
		}
		q := s.Queries[i]
		if q.Term != nil && q.Term.Type == gojq.TermTypeString && len(q.Term.SuffixList) == 0 && q.Term.Str.Queries == nil {
			return build(i-1, q.Term.Str.Str+after)
		}
		return e.query(q, env, in.plain(), func(v pathed) error {
			var text string
			var err error
			if format == "" {
				text = toText(v.v)
			} else {
				text, err = e.format(format, v.v)
			}
			if err != nil {
				return err
			}
			e.o.Size(len(text) + len(after))
			return build(i-1, text+after)
		})
	}
	return build(len(s.Queries)-1, "")
}

func toText(v any) string {
	if text, ok := v.(string); ok {
		return text
	}
	return Text(v)
}

func (e *evaluator) reduce(r *gojq.Reduce, env *environment, in pathed, out yield) error {
	return e.query(r.Start, env, in, func(state pathed) error {
		err := e.query(r.Query, env, in.plain(), func(v pathed) error {
			return e.destructure(r.Patterns, env, in, v.v, func(inner *environment) error {
				next := state.only(nil)
				err := e.query(r.Update, inner, state, func(s pathed) error {
					next = s
					return nil
				})
				state = next
				return err
			})
		})
		if err != nil {
			return err
		}
		return out(state)
	})
}

func (e *evaluator) foreach(f *gojq.Foreach, env *environment, in pathed, out yield) error {
	return e.query(f.Start, env, in, func(state pathed) error {
		return e.query(f.Query, env, in.plain(), func(v pathed) error {
			return e.destructure(f.Patterns, env, in, v.v, func(inner *environment) error {
				return e.query(f.Update, inner, state, func(s pathed) error {
					state = s
					if f.Extract == nil {
						return out(s)
					}
					return e.query(f.Extract, inner, s, out)
				})
			})
		})
	})
}

// destructure binds the variables of patterns; a pattern that fails gives way to the next one.
func (e *evaluator) destructure(patterns []*gojq.Pattern, env *environment, in pathed, v any, use func(*environment) error) error {
	if len(patterns) == 1 {
		return e.bindPattern(patterns[0], env, in, v, use)
	}
	for _, p := range patterns {
		for _, name := range patternNames(p) {
			env = env.bind(name, nil)
		}
	}
	for i, p := range patterns {
		var outer error
		err := e.bindPattern(p, env, in, v, func(inner *environment) error {
			outer = use(inner)
			return outer
		})
		if _, caught := err.(*Error); err != nil && caught && i < len(patterns)-1 {
			continue
		}
		return err
	}
	return nil
}

func patternNames(p *gojq.Pattern) []string {
	if p.Name != "" {
		return []string{p.Name}
	}
	var names []string
	for _, inner := range p.Array {
		names = append(names, patternNames(inner)...)
	}
	for _, o := range p.Object {
		if strings.HasPrefix(o.Key, "$") {
			names = append(names, o.Key)
		}
		if o.Val != nil {
			names = append(names, patternNames(o.Val)...)
		}
	}
	return names
}

func (e *evaluator) bindPattern(p *gojq.Pattern, env *environment, in pathed, v any, use func(*environment) error) error {
	switch {
	case p.Name != "":
		return use(env.bind(p.Name, v))
	case len(p.Array) > 0:
		if _, ok := v.([]any); !ok && v != nil {
			return failf("Cannot index %s with number", typeOf(v))
		}
		var next func(i int, env *environment) error
		next = func(i int, env *environment) error {
			if i == len(p.Array) {
				return use(env)
			}
			item, err := indexValue(v, float64(i))
			if err != nil {
				return err
			}
			return e.bindPattern(p.Array[i], env, in, item, func(inner *environment) error { return next(i+1, inner) })
		}
		return next(0, env)
	}
	var next func(i int, env *environment) error
	next = func(i int, env *environment) error {
		if i == len(p.Object) {
			return use(env)
		}
		o := p.Object[i]
		with := func(key any) error {
			item, err := indexValue(v, key)
			if err != nil {
				return err
			}
			inner := env
			if strings.HasPrefix(o.Key, "$") {
				inner = inner.bind(o.Key, item)
			}
			if o.Val == nil {
				return next(i+1, inner)
			}
			return e.bindPattern(o.Val, inner, in, item, func(inner *environment) error { return next(i+1, inner) })
		}
		switch {
		case o.KeyString != nil:
			return e.text(o.KeyString, "", env, in.plain(), func(key pathed) error { return with(key.v) })
		case o.KeyQuery != nil:
			return e.query(o.KeyQuery, env, in.plain(), func(key pathed) error { return with(key.v) })
		}
		return with(strings.TrimPrefix(o.Key, "$"))
	}
	return next(0, env)
}

// call calls a function: of the program, a parameter, a variable, or a builtin.
func (e *evaluator) call(f *gojq.Func, env *environment, in pathed, out yield) error {
	if strings.HasPrefix(f.Name, "$") {
		if f.Name == "$__loc__" {
			o := NewObject()
			o.Set("file", "<top-level>")
			o.Set("line", 1.0)
			return out(in.only(o))
		}
		found := env.find(f.Name)
		if found == nil {
			return failf("%s is not defined", f.Name)
		}
		return out(in.only(found.value))
	}
	name := fmt.Sprintf("%s/%d", f.Name, len(f.Args))
	if found := env.find(name); found != nil {
		defined := found.defined
		if found.function {
			defined = found
		}
		return e.apply(found, defined, f.Args, 0, env, in, out)
	}
	return e.builtin(name, f.Args, env, in, out)
}

// apply binds the arguments one after another; $name parameters take values.
func (e *evaluator) apply(found, inner *environment, args []*gojq.Query, at int, env *environment, in pathed, out yield) error {
	if at == len(args) {
		return e.query(found.body, inner, in, out)
	}
	param := found.params[at]
	arg := args[at]
	if !strings.HasPrefix(param, "$") {
		closure := &environment{up: inner, name: param + "/0", body: arg, defined: env}
		return e.apply(found, closure, args, at+1, env, in, out)
	}
	return e.query(arg, env, in.plain(), func(v pathed) error {
		bound := inner.bind(param, v.v)
		bound = &environment{up: bound, name: param[1:] + "/0", body: constant(param), defined: bound}
		return e.apply(found, bound, args, at+1, env, in, out)
	})
}

// constant is a query of a variable.
func constant(name string) *gojq.Query {
	return &gojq.Query{Term: &gojq.Term{Type: gojq.TermTypeFunc, Func: &gojq.Func{Name: name}}}
}

// paths yields the paths that a query gives, as lists of keys.
func (e *evaluator) paths(q *gojq.Query, env *environment, in any, use func([]any, any) error) error {
	return e.query(q, env, pathed{v: in, tracked: true}, func(v pathed) error {
		if err := v.checkPath(); err != nil {
			return err
		}
		return use(v.path.list(), v.v)
	})
}

// update runs the assignments.
func (e *evaluator) update(q *gojq.Query, env *environment, in pathed, out yield) error {
	if q.Op == gojq.OpModify {
		v, err := e.modify(q.Left, q.Right, env, in.v)
		if err != nil {
			return err
		}
		return out(in.only(v))
	}
	return e.query(q.Right, env, in.plain(), func(right pathed) error {
		result := in.v
		err := e.paths(q.Left, env, in.v, func(path []any, _ any) error {
			old, err := getPath(result, path)
			if err != nil {
				return err
			}
			v := right.v
			switch q.Op {
			case gojq.OpAssign:
			case gojq.OpUpdateAlt:
				if truthy(old) {
					v = old
				}
			default:
				ops := map[gojq.Operator]gojq.Operator{gojq.OpUpdateAdd: gojq.OpAdd, gojq.OpUpdateSub: gojq.OpSub, gojq.OpUpdateMul: gojq.OpMul, gojq.OpUpdateDiv: gojq.OpDiv, gojq.OpUpdateMod: gojq.OpMod}
				if v, err = e.operate(ops[q.Op], old, right.v); err != nil {
					return err
				}
			}
			result, err = setPath(result, path, v)
			return err
		})
		if err != nil {
			return err
		}
		return out(in.only(result))
	})
}

// modify is a |= f: each place gets the first output of f; without output, it is deleted.
func (e *evaluator) modify(target, f *gojq.Query, env *environment, in any) (any, error) {
	result := in
	var remove []any
	err := e.paths(target, env, in, func(path []any, _ any) error {
		old, err := getPath(result, path)
		if err != nil {
			return err
		}
		found := false
		err = e.query(f, env, pathed{v: old}, func(v pathed) error {
			found = true
			if result, err = setPath(result, path, v.v); err != nil {
				return err
			}
			return errStop
		})
		if err != nil && err != errStop {
			return err
		}
		if !found {
			remove = append(remove, any(path))
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return deletePaths(result, remove)
}

func (e *evaluator) operate(op gojq.Operator, a, b any) (any, error) {
	switch op {
	case gojq.OpEq:
		return compare(a, b) == 0, nil
	case gojq.OpNe:
		return compare(a, b) != 0, nil
	case gojq.OpLt:
		return compare(a, b) < 0, nil
	case gojq.OpLe:
		return compare(a, b) <= 0, nil
	case gojq.OpGt:
		return compare(a, b) > 0, nil
	case gojq.OpGe:
		return compare(a, b) >= 0, nil
	}
	x, xNumber := plain(a).(float64)
	y, yNumber := plain(b).(float64)
	numbers := xNumber && yNumber
	switch op {
	case gojq.OpAdd:
		return e.add(a, b)
	case gojq.OpSub:
		if numbers {
			return x - y, nil
		}
		if p, ok := a.([]any); ok {
			if q, ok := b.([]any); ok {
				rest := []any{}
				for _, item := range p {
					if !containsValue(q, item) {
						rest = append(rest, item)
					}
				}
				return rest, nil
			}
		}
		return nil, failf("%s and %s cannot be subtracted", describe(a), describe(b))
	case gojq.OpMul:
		return e.multiply(a, b)
	case gojq.OpDiv:
		if numbers {
			if y == 0 {
				return nil, failf("%s and %s cannot be divided because the divisor is zero", describe(a), describe(b))
			}
			return x / y, nil
		}
		if p, ok := a.(string); ok {
			if q, ok := b.(string); ok {
				return splitText(p, q), nil
			}
		}
		return nil, failf("%s and %s cannot be divided", describe(a), describe(b))
	case gojq.OpMod:
		if !numbers {
			return nil, failf("%s and %s cannot be divided", describe(a), describe(b))
		}
		if math.IsNaN(x) || math.IsNaN(y) {
			return math.NaN(), nil
		}
		i, j := toInteger(x), toInteger(y)
		if j == 0 {
			return nil, failf("%s and %s cannot be divided because the divisor is zero", describe(a), describe(b))
		}
		if j < 0 {
			j = -j
		}
		return float64(i % j), nil
	}
	return nil, failf("the operator %s is not supported", op)
}

func toInteger(f float64) int64 {
	switch {
	case f >= math.MaxInt64:
		return math.MaxInt64
	case f <= math.MinInt64:
		return math.MinInt64 + 1
	}
	return int64(f)
}

func (e *evaluator) add(a, b any) (any, error) {
	if a == nil {
		return b, nil
	}
	if b == nil {
		return a, nil
	}
	switch x := plain(a).(type) {
	case float64:
		if y, ok := plain(b).(float64); ok {
			return x + y, nil
		}
	case string:
		if y, ok := b.(string); ok {
			e.o.Size(len(x) + len(y))
			return x + y, nil
		}
	case []any:
		if y, ok := b.([]any); ok {
			e.o.Size(16 * (len(x) + len(y)))
			return append(x[:len(x):len(x)], y...), nil
		}
	case *Object:
		if y, ok := b.(*Object); ok {
			sum := x.copy()
			for _, key := range y.keys {
				sum.Set(key, y.values[key])
			}
			return sum, nil
		}
	}
	return nil, failf("%s and %s cannot be added", describe(a), describe(b))
}

func (e *evaluator) multiply(a, b any) (any, error) {
	x, xNumber := plain(a).(float64)
	y, yNumber := plain(b).(float64)
	if xNumber && yNumber {
		return x * y, nil
	}
	text, isText := a.(string)
	if isText && yNumber {
		if y <= 0 {
			return nil, nil
		}
		n := int(math.Max(1, math.Ceil(math.Min(y, 1<<40))))
		e.o.Size(n * len(text))
		return strings.Repeat(text, n), nil
	}
	p, ok1 := a.(*Object)
	q, ok2 := b.(*Object)
	if ok1 && ok2 {
		return deepMerge(p, q), nil
	}
	return nil, failf("%s and %s cannot be multiplied", describe(a), describe(b))
}

func deepMerge(a, b *Object) *Object {
	merged := a.copy()
	for _, key := range b.keys {
		x, ok1 := merged.values[key].(*Object)
		y, ok2 := b.values[key].(*Object)
		if ok1 && ok2 {
			merged.Set(key, deepMerge(x, y))
		} else {
			merged.Set(key, b.values[key])
		}
	}
	return merged
}

func containsValue(list []any, v any) bool {
	for _, item := range list {
		if compare(item, v) == 0 {
			return true
		}
	}
	return false
}

func splitText(text, separator string) []any {
	list := []any{}
	if text == "" {
		return list
	}
	for _, part := range strings.Split(text, separator) {
		list = append(list, part)
	}
	return list
}
