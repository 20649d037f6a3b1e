package jq

import (
	"fmt"
	"math"
	"strings"
	"sync"

	"github.com/itchyny/gojq"
)

// definitions are the builtins that are written in jq.
const definitions = `
def map(f): [.[] | f];
def map_values(f): .[] |= f;
def recurse(f): def r: ., (f | r); r;
def recurse(f; cond): def r: ., (f | select(cond) | r); r;
def recurse_down: recurse;
def with_entries(f): to_entries | map(f) | from_entries;
def values: select(. != null);
def nulls: select(. == null);
def booleans: select(type == "boolean");
def numbers: select(type == "number");
def strings: select(type == "string");
def arrays: select(type == "array");
def objects: select(type == "object");
def iterables: select(type | . == "array" or . == "object");
def scalars: select(type | . != "array" and . != "object");
def finites: select(isinfinite or isnan | not);
def normals: select(isnormal);
def in(xs): . as $x | xs | has($x);
def inside(xs): . as $x | xs | contains($x);
def add(f): reduce f as $x (null; . + $x);
def any: any(.[]; .);
def all: all(.[]; .);
def any(f): any(.[]; f);
def all(f): all(.[]; f);
def any(g; cond): isempty(first(g | cond | select(.))) | not;
def all(g; cond): isempty(first(g | cond | select(. | not)));
def paths: path(..) | select(length > 0);
def paths(node_filter): . as $in | paths | select(. as $p | $in | getpath($p) | node_filter);
def leaf_paths: paths(scalars);
def del(f): delpaths([path(f)]);
def todate: strftime("%Y-%m-%dT%H:%M:%SZ");
def fromdateiso8601: strptime("%Y-%m-%dT%H:%M:%SZ") | mktime;
def todateiso8601: strftime("%Y-%m-%dT%H:%M:%SZ");
def fromdate: fromdateiso8601;
def date: todate;
def dateadd(u; n): . + n;
def datesub(u; n): . - n;
def match($val): ($val | type) as $t | if $t == "string" then match($val; null) elif $t == "array" and ($val | length) > 1 then match($val[0]; $val[1]) elif $t == "array" and ($val | length) > 0 then match($val[0]; null) else error($t + " not a string or array") end;
def match($re; $flags): _match($re; $flags; false) | .[];
def test($val): ($val | type) as $t | if $t == "string" then test($val; null) elif $t == "array" and ($val | length) > 1 then test($val[0]; $val[1]) elif $t == "array" and ($val | length) > 0 then test($val[0]; null) else error($t + " not a string or array") end;
def test($re; $flags): _match($re; $flags; true);
def capture(val): match(val) | _captures;
def capture(re; flags): match(re; flags) | _captures;
def _captures: [.captures | .[] | select(.name != null) | {key: .name, value: .string}] | from_entries;
def scan($re): scan($re; null);
def scan($re; $flags): match($re; "g" + $flags) | if (.captures | length) > 0 then [.captures | .[] | .string] else .string end;
def split($re; $flags): . as $s | [foreach ((match($re; $flags + "g") | [.offset, .length]), null) as $m ([0, null]; if $m == null then [.[0], $s[.[0]:]] else [$m[0] + $m[1], $s[.[0]:$m[0]]] end; .[1])];
def splits($re): splits($re; null);
def splits($re; flags): split($re; flags) | .[];
def ascii: [.] | implode;
def while(cond; update): def _while: if cond then ., (update | _while) else empty end; _while;
def repeat(f): def _repeat: f | (., _repeat); _repeat;
def until(cond; update): _until(cond; update);
def inputs: def r: (try [input] catch (if . == "No more inputs" then null else error end)) as $x | if $x == null then empty else $x[0], r end; r;
def combinations: if length == 0 then [] else .[0][] as $x | (.[1:] | combinations) as $w | [$x] + $w end;
def combinations(n): . as $dot | [range(n)] | map($dot) | combinations;
def walk(f): def w: if type == "object" then map_values(w) elif type == "array" then map(w) else . end | f; w;
def first: .[0];
def last: .[-1];
def nth($n): .[$n];
def nth($n; f): if $n < 0 then error("Out of bounds negative array index") else last(limit($n + 1; f)) end;
def isvalid(f): try (f | true) catch false;
def tostream: path(def r: (.[]?|r), .; r) as $p | getpath($p) | reduce path(.[]?) as $q ([$p, .]; [$p + $q]);
def fromstream(f): {x: null, e: false} as $init | foreach f as $i ($init; if .e then $init else . end | if $i | length == 2 then setpath(["e"]; $i[0] | length == 0) | setpath(["x"] + $i[0]; $i[1]) else setpath(["e"]; $i[0] | length == 1) end; if .e then .x else empty end);
def truncate_stream(stream): . as $n | null | stream | . as $input | if (.[0] | length) > $n then setpath([0]; .[0][$n:]) else empty end;
def IN(s): any(s == .; .);
def IN(src; s): any(src == s; .);
def INDEX(stream; idx_expr): reduce stream as $row ({}; .[$row | idx_expr | tostring] |= $row);
def INDEX(idx_expr): INDEX(.[]; idx_expr);
def finites: select(isinfinite or isnan | not);
def min_by(f): _min_by(map([f]));
def max_by(f): _max_by(map([f]));
def sort_by(f): _sort_by(map([f]));
def group_by(f): _group_by(map([f]));
def unique_by(f): [group_by(f)[] | .[0]];
def pick(pathexps): . as $top | reduce path(pathexps) as $p (null; setpath($p; $top | getpath($p)));
def debug(msg): (msg | debug | empty), .;
def have_literal_numbers: true;
def have_decnum: false;
def halt_error: halt_error(5);
def toarray: if type == "array" then . else [.] end;
def abs: if type == "number" and . < 0 then -. else . end;
`

var library = sync.OnceValue(func() *environment {
	q, err := gojq.Parse(definitions + " .")
	if err != nil {
		panic(err)
	}
	var env *environment
	for _, def := range q.FuncDefs {
		name := fmt.Sprintf("%s/%d", def.Name, len(def.Args))
		env = &environment{up: env, name: name, params: def.Args, body: def.Body, function: true}
	}
	return env
})

// builtin calls a function that is not the program's.
func (e *evaluator) builtin(name string, args []*gojq.Query, env *environment, in pathed, out yield) error {
	if handled, err := e.control(name, args, env, in, out); handled {
		return err
	}
	if f, ok := valueFunctions[name]; ok {
		return e.arguments(args, len(args)-1, make([]any, len(args)), env, in, func(values []any) error {
			v, err := f(e, in.v, values)
			if err != nil {
				return err
			}
			return out(in.only(v))
		})
	}
	if found := library().find(name); found != nil {
		return e.apply(found, libraryTop(found), args, 0, env, in, out)
	}
	return failf("%s is not defined", name)
}

// libraryTop makes a function of the library see all others, also later ones.
func libraryTop(found *environment) *environment {
	return &environment{up: library(), name: found.name, params: found.params, body: found.body, function: true}
}

// arguments evaluates arguments as values; the last one is the outermost loop.
func (e *evaluator) arguments(args []*gojq.Query, at int, values []any, env *environment, in pathed, use func([]any) error) error {
	if at < 0 {
		return use(append([]any(nil), values...))
	}
	return e.query(args[at], env, in.plain(), func(v pathed) error {
		values[at] = v.v
		return e.arguments(args, at-1, values, env, in, use)
	})
}

// control runs the functions that decide how often their arguments run.
func (e *evaluator) control(name string, args []*gojq.Query, env *environment, in pathed, out yield) (bool, error) {
	switch name {
	case "empty/0":
		return true, nil
	case "error/0":
		return true, &Error{in.v}
	case "error/1":
		return true, e.query(args[0], env, in.plain(), func(v pathed) error { return &Error{v.v} })
	case "not/0":
		return true, out(in.only(!truthy(in.v)))
	case "select/1":
		return true, e.query(args[0], env, in.plain(), func(v pathed) error {
			if truthy(v.v) {
				return out(in)
			}
			return nil
		})
	case "recurse/0":
		return true, e.recurse(in, out)
	case "path/1":
		return true, e.query(args[0], env, pathed{v: in.v, tracked: true}, func(v pathed) error {
			if err := v.checkPath(); err != nil {
				return err
			}
			return out(in.only(v.path.list()))
		})
	case "getpath/1":
		return true, e.query(args[0], env, in.plain(), func(p pathed) error {
			path, ok := p.v.([]any)
			if !ok {
				return failf("Path must be specified as an array")
			}
			if err := in.checkPath(); err != nil {
				return err
			}
			v, err := getPath(in.v, path)
			if err != nil {
				return err
			}
			next := pathed{v: v, tracked: in.tracked, path: in.path}
			if in.tracked {
				for _, key := range path {
					next.path = &step{next.path, key}
				}
			}
			return out(next)
		})
	case "range/1", "range/2", "range/3":
		return true, e.arguments(args, len(args)-1, make([]any, len(args)), env, in, func(values []any) error {
			return e.ranges(values, func(n float64) error { return out(in.only(n)) })
		})
	case "first/1":
		return true, e.limited(1, args[0], env, in, out)
	case "limit/2":
		return true, e.query(args[0], env, in.plain(), func(n pathed) error {
			count, ok := plain(n.v).(float64)
			if !ok || count <= 0 {
				return nil
			}
			return e.limited(int(count), args[1], env, in, out)
		})
	case "skip/2":
		return true, e.query(args[0], env, in.plain(), func(n pathed) error {
			count, _ := plain(n.v).(float64)
			return e.query(args[1], env, in, func(v pathed) error {
				if count--; count >= 0 {
					return nil
				}
				return out(v)
			})
		})
	case "last/1":
		found := false
		var last pathed
		if err := e.query(args[0], env, in, func(v pathed) error { found, last = true, v; return nil }); err != nil || !found {
			return true, err
		}
		return true, out(last)
	case "isempty/1":
		empty := true
		err := e.query(args[0], env, in.plain(), func(pathed) error { empty = false; return errStop })
		if err != nil && err != errStop {
			return true, err
		}
		return true, out(in.only(empty))
	case "_until/2":
		return true, e.until(args, env, in, out)
	case "input/0":
		v, ok, err := e.o.Input()
		if err != nil {
			return true, failf("%s", err)
		}
		if !ok {
			return true, failf("No more inputs")
		}
		return true, out(in.only(v))
	case "debug/0":
		list := []any{"DEBUG:", in.v}
		e.o.Debug(Text(list) + "\n")
		return true, out(in)
	case "stderr/0":
		e.o.Debug(Text(in.v))
		return true, out(in)
	case "env/0":
		return true, out(in.only(e.o.Env))
	case "input_line_number/0":
		return true, out(in.only(float64(e.o.Line())))
	case "input_filename/0":
		return true, out(in.only(nil))
	case "halt/0":
		return true, &Halt{}
	case "halt_error/1":
		return true, e.query(args[0], env, in.plain(), func(v pathed) error {
			n, _ := plain(v.v).(float64)
			return &Halt{in.v, int(n) & 255, true}
		})
	case "sub/2", "sub/3", "gsub/2", "gsub/3":
		return true, e.sub(name, args, env, in, out)
	case "now/0":
		return true, out(in.only(e.o.Now()))
	}
	return false, nil
}

func (e *evaluator) ranges(values []any, use func(float64) error) error {
	numbers := []float64{0, 0, 1}
	for i, v := range values {
		n, ok := plain(v).(float64)
		if !ok {
			return failf("Range bounds must be numeric")
		}
		if len(values) == 1 {
			numbers[1] = n
		} else {
			numbers[i] = n
		}
	}
	from, to, by := numbers[0], numbers[1], numbers[2]
	if by == 0 {
		if from < to {
			return failf("the step of range is 0: it does not end")
		}
		return nil
	}
	for n := from; by > 0 && n < to || by < 0 && n > to; n += by {
		e.o.Tick()
		if err := use(n); err != nil {
			return err
		}
	}
	return nil
}

func (e *evaluator) limited(n int, q *gojq.Query, env *environment, in pathed, out yield) error {
	// Only this call's stop ends here.
	stop := &Halt{}
	err := e.query(q, env, in, func(v pathed) error {
		n--
		if err := out(v); err != nil {
			return err
		}
		if n <= 0 {
			return stop
		}
		return nil
	})
	if err == error(stop) {
		return nil
	}
	return err
}

// until runs without nesting, because it may take many steps.
func (e *evaluator) until(args []*gojq.Query, env *environment, in pathed, out yield) error {
	for {
		e.o.Tick()
		done := false
		if err := e.query(args[0], env, in.plain(), func(v pathed) error { done = truthy(v.v); return nil }); err != nil {
			return err
		}
		if done {
			return out(in)
		}
		found := false
		next := in
		if err := e.query(args[1], env, in, func(v pathed) error { found, next = true, v; return nil }); err != nil || !found {
			return err
		}
		in = next
	}
}

// sub replaces matches; the replacement sees the captures as its input.
func (e *evaluator) sub(name string, args []*gojq.Query, env *environment, in pathed, out yield) error {
	text, ok := in.v.(string)
	if !ok {
		return failf("%s cannot be matched, as it is not a string", describe(in.v))
	}
	global := strings.HasPrefix(name, "g")
	with := func(flags string) error {
		return e.query(args[0], env, in.plain(), func(re pathed) error {
			pattern, ok := re.v.(string)
			if !ok {
				return failf("%s cannot be matched, as it is not a string", describe(re.v))
			}
			matches, err := findMatches(text, pattern, flags, global)
			if err != nil {
				return err
			}
			return e.replaceAll(text, matches, 0, 0, "", args[1], env, func(result string) error { return out(in.only(result)) })
		})
	}
	if len(args) == 2 {
		return with("")
	}
	return e.query(args[2], env, in.plain(), func(f pathed) error {
		flags, _ := f.v.(string)
		global = global || strings.Contains(flags, "g")
		return with(flags)
	})
}

func (e *evaluator) replaceAll(text string, matches []found, at, end int, built string, with *gojq.Query, env *environment, use func(string) error) error {
	if at == len(matches) {
		return use(built + text[end:])
	}
	m := matches[at]
	return e.query(with, env, pathed{v: m.captures()}, func(v pathed) error {
		replacement, ok := v.v.(string)
		if !ok {
			return failf("%s cannot be added to a string", describe(v.v))
		}
		next := built + text[end:m.from] + replacement
		e.o.Size(len(next))
		return e.replaceAll(text, matches, at+1, m.to, next, with, env, use)
	})
}

var mathFunctions = map[string]func(float64) float64{
	"floor": math.Floor, "ceil": math.Ceil, "round": math.Round, "sqrt": math.Sqrt, "fabs": math.Abs, "trunc": math.Trunc,
	"exp": math.Exp, "exp2": math.Exp2, "exp10": func(x float64) float64 { return math.Pow(10, x) }, "log": math.Log, "log2": math.Log2,
	"log10": math.Log10, "sin": math.Sin, "cos": math.Cos, "tan": math.Tan, "asin": math.Asin, "acos": math.Acos, "atan": math.Atan,
	"cbrt": math.Cbrt, "significand": func(x float64) float64 { f, _ := math.Frexp(x); return 2 * f }, "rint": math.RoundToEven, "nearbyint": math.RoundToEven,
	"logb": math.Logb,
}
