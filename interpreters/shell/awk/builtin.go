package awk

import (
	"math"
	"strconv"
	"strings"
	"unicode/utf8"
)

// builtin is a function of awk.
type builtin struct {
	least, most int
	run         func(r *runner, e *builtinExpr) value
}

var builtins map[string]*builtin

func init() {
	numeric := func(f func(float64) float64) *builtin {
		return &builtin{1, 1, func(r *runner, e *builtinExpr) value { return num(f(r.eval(e.args[0]).number())) }}
	}
	textual := func(f func(string) string) *builtin {
		return &builtin{1, 1, func(r *runner, e *builtinExpr) value { return str(f(r.argument_(e, 0))) }}
	}
	bits := func(f func(a, b uint64) uint64) *builtin {
		return &builtin{2, 2, func(r *runner, e *builtinExpr) value {
			return num(float64(f(uint64(r.eval(e.args[0]).number()), uint64(r.eval(e.args[1]).number()))))
		}}
	}
	builtins = map[string]*builtin{
		"length":  {0, 1, length},
		"substr":  {2, 3, substr},
		"index":   {2, 2, index},
		"split":   {2, 3, split},
		"sub":     {2, 3, substitute},
		"gsub":    {2, 3, substitute},
		"gensub":  {3, 4, gensub},
		"match":   {2, 3, match},
		"sprintf": {1, 1 << 20, func(r *runner, e *builtinExpr) value { return str(r.format(e)) }},
		"tolower": textual(strings.ToLower),
		"toupper": textual(strings.ToUpper),
		"sin":     numeric(math.Sin),
		"cos":     numeric(math.Cos),
		"exp":     numeric(math.Exp),
		"log":     numeric(math.Log),
		"sqrt":    numeric(math.Sqrt),
		"int":     numeric(math.Trunc),
		"atan2": {2, 2, func(r *runner, e *builtinExpr) value {
			return num(math.Atan2(r.eval(e.args[0]).number(), r.eval(e.args[1]).number()))
		}},
		"rand":     {0, 0, random},
		"srand":    {0, 1, seed},
		"system":   {1, 1, system},
		"close":    {1, 2, func(r *runner, e *builtinExpr) value { return num(float64(r.close(r.argument_(e, 0)))) }},
		"fflush":   {0, 1, func(r *runner, e *builtinExpr) value { r.flush(); return num(0) }},
		"systime":  {0, 0, func(r *runner, _ *builtinExpr) value { return num(float64(r.host.Now())) }},
		"strftime": {0, 2, strftime},
		"strtonum": {1, 1, strtonum},
		"and":      bits(func(a, b uint64) uint64 { return a & b }),
		"or":       bits(func(a, b uint64) uint64 { return a | b }),
		"xor":      bits(func(a, b uint64) uint64 { return a ^ b }),
		"lshift":   bits(func(a, b uint64) uint64 { return a << b }),
		"rshift":   bits(func(a, b uint64) uint64 { return a >> b }),
	}
}

// argument_ is an argument as a text.
func (r *runner) argument_(e *builtinExpr, at int) string {
	return r.eval(e.args[at]).text(r.convfmt())
}

func (r *runner) format(e *builtinExpr) string {
	args := make([]value, len(e.args))
	for i, arg := range e.args {
		args[i] = r.eval(arg)
	}
	text := sprintf(args[0].text(r.convfmt()), args[1:], r.convfmt())
	r.host.Length(len(text))
	return text
}

func length(r *runner, e *builtinExpr) value {
	if len(e.args) == 0 {
		return num(float64(utf8.RuneCountInString(r.field(0, 0).text(r.convfmt()))))
	}
	if v, ok := e.args[0].(*varExpr); ok {
		c := r.cellOf(v)
		if c.array != nil || c.value.kind == none && c.of != nil && c.of.array != nil {
			return num(float64(len(c.asArray().elements)))
		}
	}
	return num(float64(utf8.RuneCountInString(r.argument_(e, 0))))
}

// substr counts characters from 1, and rounds.
func substr(r *runner, e *builtinExpr) value {
	text := []rune(r.argument_(e, 0))
	from := math.RoundToEven(r.eval(e.args[1]).number())
	until := math.Inf(1)
	if len(e.args) == 3 {
		until = from + math.RoundToEven(r.eval(e.args[2]).number())
	}
	if math.IsNaN(from) || math.IsNaN(until) {
		return str("")
	}
	from = max(from, 1)
	until = min(until, float64(len(text)+1))
	if from >= until {
		return str("")
	}
	return str(string(text[int(from)-1 : int(until)-1]))
}

func index(r *runner, e *builtinExpr) value {
	text, part := r.argument_(e, 0), r.argument_(e, 1)
	at := strings.Index(text, part)
	if at < 0 {
		return num(0)
	}
	return num(float64(utf8.RuneCountInString(text[:at]) + 1))
}

func arrayArgument(r *runner, e *builtinExpr, at int) *array {
	v, ok := e.args[at].(*varExpr)
	if !ok {
		failAt(e.line, "%s needs an array as argument %d", e.name, at+1)
	}
	return r.arrayOf(v)
}

func split(r *runner, e *builtinExpr) value {
	text := r.argument_(e, 0)
	var parts []string
	switch {
	case len(e.args) < 3:
		parts = r.separate(text, r.text(specialFS))
	default:
		if own, ok := e.args[2].(*regexExpr); ok {
			parts = r.separateBy(text, own.source)
		} else {
			parts = r.separate(text, r.argument_(e, 2))
		}
	}
	a := arrayArgument(r, e, 1)
	clear(a.elements)
	for i, part := range parts {
		a.get(strconv.Itoa(i + 1)).value = input(part)
	}
	return num(float64(len(parts)))
}

// separateBy splits at an expression, also at one of a single character.
func (r *runner) separateBy(text, source string) []string {
	if text == "" {
		return nil
	}
	var parts []string
	from := 0
	r.regex(source).Each(text, func(at []int) bool {
		if at[0] == at[1] {
			return true
		}
		parts = append(parts, text[from:at[0]])
		from = at[1]
		return true
	})
	return append(parts, text[from:])
}

// substitute is sub and gsub.
func substitute(r *runner, e *builtinExpr) value {
	re := r.expression(e.args[0])
	with := r.argument_(e, 1)
	var target expr = &fieldExpr{&numberExpr{0}}
	if len(e.args) == 3 {
		target = e.args[2]
		if group, ok := target.(*groupExpr); ok && len(group.list) == 1 {
			target = group.list[0]
		}
	}
	text := r.eval(target).text(r.convfmt())
	var out strings.Builder
	count, from := 0, 0
	re.Each(text, func(at []int) bool {
		r.host.Tick()
		out.WriteString(text[from:at[0]])
		ampersands(&out, with, text[at[0]:at[1]])
		r.host.Length(out.Len())
		from = at[1]
		count++
		return e.name == "gsub"
	})
	if count > 0 {
		out.WriteString(text[from:])
		if isLvalue(target) {
			r.assign(target, str(out.String()))
		}
	}
	return num(float64(count))
}

// ampersands writes a replacement: & is the match, and \& an ampersand.
func ampersands(out *strings.Builder, with, match string) {
	for i := 0; i < len(with); i++ {
		switch {
		case with[i] == '\\' && i+1 < len(with) && (with[i+1] == '&' || with[i+1] == '\\'):
			i++
			out.WriteByte(with[i])
		case with[i] == '&':
			out.WriteString(match)
		default:
			out.WriteByte(with[i])
		}
	}
}

// gensub returns the text with replacements; \1 is a group, and "g" or a number says which matches.
func gensub(r *runner, e *builtinExpr) value {
	re := r.expression(e.args[0])
	with, how := r.argument_(e, 1), r.argument_(e, 2)
	text := ""
	if len(e.args) == 4 {
		text = r.argument_(e, 3)
	} else {
		text = r.field(0, 0).text(r.convfmt())
	}
	wanted := max(int(prefixNumber(how)), 1)
	all := strings.HasPrefix(how, "g") || strings.HasPrefix(how, "G")
	var out strings.Builder
	count, from := 0, 0
	re.Each(text, func(at []int) bool {
		count++
		if !all && count != wanted {
			return count < wanted
		}
		out.WriteString(text[from:at[0]])
		for i := 0; i < len(with); i++ {
			switch {
			case with[i] == '\\' && i+1 < len(with) && isDigit(with[i+1]):
				i++
				if group := int(with[i]-'0') * 2; group+1 < len(at) && at[group] >= 0 {
					out.WriteString(text[at[group]:at[group+1]])
				}
			case with[i] == '\\' && i+1 < len(with):
				i++
				out.WriteByte(with[i])
			case with[i] == '&':
				out.WriteString(text[at[0]:at[1]])
			default:
				out.WriteByte(with[i])
			}
		}
		r.host.Length(out.Len())
		from = at[1]
		return all
	})
	out.WriteString(text[from:])
	return str(out.String())
}

func match(r *runner, e *builtinExpr) value {
	text := r.argument_(e, 0)
	at := r.expression(e.args[1]).Find(text, 0)
	start, size := 0, -1
	if at != nil {
		start = utf8.RuneCountInString(text[:at[0]]) + 1
		size = utf8.RuneCountInString(text[at[0]:at[1]])
	}
	if len(e.args) == 3 {
		a := arrayArgument(r, e, 2)
		clear(a.elements)
		for i := 0; i+1 < len(at); i += 2 {
			if at[i] >= 0 {
				a.get(strconv.Itoa(i / 2)).value = input(text[at[i]:at[i+1]])
			}
		}
	}
	r.globals[specialRSTART].value, r.globals[specialRLENGTH].value = num(float64(start)), num(float64(size))
	return num(float64(start))
}

func random(r *runner, _ *builtinExpr) value {
	if r.random == 0 {
		r.random = r.host.Random() | 1
	}
	r.random ^= r.random << 13
	r.random ^= r.random >> 7
	r.random ^= r.random << 17
	return num(float64(r.random>>11) / (1 << 53))
}

func seed(r *runner, e *builtinExpr) value {
	before := r.seed
	r.seed = float64(r.host.Now())
	if len(e.args) == 1 {
		r.seed = r.eval(e.args[0]).number()
	}
	r.random = math.Float64bits(r.seed+1)*0x9e3779b97f4a7c15 | 1
	return num(before)
}

func system(r *runner, e *builtinExpr) value {
	command := r.argument_(e, 0)
	r.flush()
	return num(float64(r.host.Shell(command, nil, r.host.Stdout())))
}

func strftime(r *runner, e *builtinExpr) value {
	format, seconds := "%a %b %e %H:%M:%S %Z %Y", r.host.Now()
	if len(e.args) > 0 {
		format = r.argument_(e, 0)
	}
	if len(e.args) > 1 {
		seconds = int64(r.eval(e.args[1]).number())
	}
	return str(r.host.Date(format, seconds))
}

func strtonum(r *runner, e *builtinExpr) value {
	v := r.eval(e.args[0])
	text := strings.TrimSpace(v.text(r.convfmt()))
	if len(text) > 1 && text[0] == '0' && strings.Trim(text, "01234567") == "" {
		n, _ := strconv.ParseUint(text, 8, 64)
		return num(float64(n))
	}
	if strings.HasPrefix(text, "0x") || strings.HasPrefix(text, "0X") {
		return num(parseNumber(text))
	}
	return num(v.number())
}
