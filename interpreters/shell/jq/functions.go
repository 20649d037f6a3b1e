package jq

import (
	"encoding/base32"
	"encoding/base64"
	"math"
	"net/url"
	"sort"
	"strconv"
	"strings"
	"unicode/utf8"
)

type valueFunction func(e *evaluator, in any, args []any) (any, error)

// valueFunctions are the builtins that make one value of their input and arguments.
var valueFunctions map[string]valueFunction

func init() {
	valueFunctions = map[string]valueFunction{
		"length/0":         length,
		"utf8bytelength/0": func(_ *evaluator, in any, _ []any) (any, error) { s, err := text(in); return float64(len(s)), err },
		"keys/0":           func(_ *evaluator, in any, _ []any) (any, error) { return keys(in, true) },
		"keys_unsorted/0":  func(_ *evaluator, in any, _ []any) (any, error) { return keys(in, false) },
		"to_entries/0":     toEntries,
		"from_entries/0":   fromEntries,
		"has/1":            has,
		"contains/1": func(_ *evaluator, in any, args []any) (any, error) {
			if typeOf(in) != typeOf(args[0]) {
				return nil, failf("%s and %s cannot have their containment checked", describe(in), describe(args[0]))
			}
			return containsPart(in, args[0]), nil
		},
		"add/0":       addAll,
		"type/0":      func(_ *evaluator, in any, _ []any) (any, error) { return typeOf(in), nil },
		"tostring/0":  func(_ *evaluator, in any, _ []any) (any, error) { return toText(in), nil },
		"tonumber/0":  toNumber,
		"tojson/0":    func(_ *evaluator, in any, _ []any) (any, error) { return Text(in), nil },
		"fromjson/0":  fromJSON,
		"sort/0":      listFunction("sorted", func(list []any) any { return sortValues(list) }),
		"unique/0":    listFunction("sorted", func(list []any) any { return unique(sortValues(list)) }),
		"reverse/0":   reverse,
		"min/0":       listFunction("indexed", func(list []any) any { return extreme(list, list, -1) }),
		"max/0":       listFunction("indexed", func(list []any) any { return extreme(list, list, 1) }),
		"_min_by/1":   byKeys(func(list, keys []any) any { return extreme(list, keys, -1) }),
		"_max_by/1":   byKeys(func(list, keys []any) any { return extreme(list, keys, 1) }),
		"_sort_by/1":  byKeys(func(list, keys []any) any { return sortBy(list, keys) }),
		"_group_by/1": byKeys(groupBy),
		"flatten/0":   func(_ *evaluator, in any, _ []any) (any, error) { return flatten(in, 1e9) },
		"flatten/1": func(_ *evaluator, in any, args []any) (any, error) {
			n, _ := plain(args[0]).(float64)
			if n < 0 {
				return nil, failf("flatten depth must not be negative")
			}
			return flatten(in, n)
		},
		"join/1":           join,
		"split/1":          split,
		"ascii_downcase/0": textFunction(func(s string) any { return mapASCII(s, 'A', 'Z', 32) }),
		"ascii_upcase/0":   textFunction(func(s string) any { return mapASCII(s, 'a', 'z', -32) }),
		"explode/0":        textFunction(explode),
		"implode/0":        implode,
		"ltrimstr/1":       trimmer(strings.TrimPrefix),
		"rtrimstr/1":       trimmer(strings.TrimSuffix),
		"startswith/1":     tester("startswith", strings.HasPrefix),
		"endswith/1":       tester("endswith", strings.HasSuffix),
		"trim/0":           textFunction(func(s string) any { return strings.TrimSpace(s) }),
		"ltrim/0":          textFunction(func(s string) any { return strings.TrimLeft(s, " \t\n\r\f\v") }),
		"rtrim/0":          textFunction(func(s string) any { return strings.TrimRight(s, " \t\n\r\f\v") }),
		"indices/1":        indices,
		"index/1":          func(e *evaluator, in any, args []any) (any, error) { return oneIndex(e, in, args, false) },
		"rindex/1":         func(e *evaluator, in any, args []any) (any, error) { return oneIndex(e, in, args, true) },
		"setpath/2":        func(_ *evaluator, in any, args []any) (any, error) { return setPath(in, asList(args[0]), args[1]) },
		"delpaths/1":       func(_ *evaluator, in any, args []any) (any, error) { return deletePaths(in, asList(args[0])) },
		"transpose/0":      transpose,
		"infinite/0":       constantFunction(math.Inf(1)),
		"nan/0":            constantFunction(math.NaN()),
		"isinfinite/0":     numberTest(func(n float64) bool { return math.IsInf(n, 0) }),
		"isnan/0":          numberTest(math.IsNaN),
		"isnormal/0": numberTest(func(n float64) bool {
			return n != 0 && !math.IsInf(n, 0) && !math.IsNaN(n) && math.Abs(n) >= 2.2250738585072014e-308
		}),
		"null/0":          constantFunction(nil),
		"true/0":          constantFunction(true),
		"false/0":         constantFunction(false),
		"pow/2":           twoNumbers(math.Pow),
		"atan2/2":         twoNumbers(math.Atan2),
		"fmin/2":          twoNumbers(math.Min),
		"fmax/2":          twoNumbers(math.Max),
		"fmod/2":          twoNumbers(math.Mod),
		"ldexp/2":         twoNumbers(func(a, b float64) float64 { return math.Ldexp(a, int(b)) }),
		"scalb/2":         twoNumbers(func(a, b float64) float64 { return math.Ldexp(a, int(b)) }),
		"_match/3":        match,
		"mktime/0":        mktime,
		"gmtime/0":        gmtime,
		"localtime/0":     gmtime,
		"strftime/1":      strftime,
		"strflocaltime/1": strftime,
		"strptime/1":      strptime,
		"bsearch/1":       bsearch,
	}
	for name, f := range mathFunctions {
		valueFunctions[name+"/0"] = func(_ *evaluator, in any, _ []any) (any, error) {
			n, ok := plain(in).(float64)
			if !ok {
				return nil, failf("%s number required", describe(in))
			}
			return f(n), nil
		}
	}
}

func asList(v any) []any {
	list, _ := v.([]any)
	return list
}

func text(v any) (string, error) {
	s, ok := v.(string)
	if !ok {
		return "", failf("%s only strings have UTF-8 byte length", describe(v))
	}
	return s, nil
}

func constantFunction(v any) valueFunction {
	return func(*evaluator, any, []any) (any, error) { return v, nil }
}

func textFunction(f func(string) any) valueFunction {
	return func(_ *evaluator, in any, _ []any) (any, error) {
		s, ok := in.(string)
		if !ok {
			return nil, failf("%s cannot be processed: a string is needed", describe(in))
		}
		return f(s), nil
	}
}

func listFunction(verb string, f func([]any) any) valueFunction {
	return func(_ *evaluator, in any, _ []any) (any, error) {
		list, ok := in.([]any)
		if !ok {
			return nil, failf("%s cannot be %s, as it is not an array", describe(in), verb)
		}
		return f(list), nil
	}
}

func numberTest(f func(float64) bool) valueFunction {
	return func(_ *evaluator, in any, _ []any) (any, error) {
		n, ok := plain(in).(float64)
		if !ok {
			return nil, failf("%s number required", describe(in))
		}
		return f(n), nil
	}
}

func twoNumbers(f func(a, b float64) float64) valueFunction {
	return func(_ *evaluator, _ any, args []any) (any, error) {
		a, ok1 := plain(args[0]).(float64)
		b, ok2 := plain(args[1]).(float64)
		if !ok1 || !ok2 {
			return nil, failf("%s number required", describe(args[0]))
		}
		return f(a, b), nil
	}
}

func length(_ *evaluator, in any, _ []any) (any, error) {
	switch v := plain(in).(type) {
	case nil:
		return 0.0, nil
	case float64:
		return math.Abs(v), nil
	case string:
		return float64(utf8.RuneCountInString(v)), nil
	case []any:
		return float64(len(v)), nil
	case *Object:
		return float64(len(v.keys)), nil
	}
	return nil, failf("%s has no length", describe(in))
}

func keys(in any, sorted bool) (any, error) {
	switch v := in.(type) {
	case *Object:
		names := v.keys
		if sorted {
			names = v.sorted()
		}
		list := make([]any, len(names))
		for i, name := range names {
			list[i] = name
		}
		return list, nil
	case []any:
		list := make([]any, len(v))
		for i := range v {
			list[i] = float64(i)
		}
		return list, nil
	}
	return nil, failf("%s has no keys", describe(in))
}

func toEntries(_ *evaluator, in any, _ []any) (any, error) {
	if list, ok := in.([]any); ok {
		// An array has its indices for keys.
		entries := make([]any, len(list))
		for i, item := range list {
			entry := NewObject()
			entry.Set("key", float64(i))
			entry.Set("value", item)
			entries[i] = entry
		}
		return entries, nil
	}
	o, ok := in.(*Object)
	if !ok {
		return nil, failf("%s has no keys", describe(in))
	}
	list := make([]any, 0, len(o.keys))
	for _, key := range o.keys {
		entry := NewObject()
		entry.Set("key", key)
		entry.Set("value", o.values[key])
		list = append(list, entry)
	}
	return list, nil
}

func fromEntries(_ *evaluator, in any, _ []any) (any, error) {
	list, ok := in.([]any)
	if !ok {
		return nil, failf("Cannot iterate over %s", describe(in))
	}
	o := NewObject()
	for _, item := range list {
		entry, ok := item.(*Object)
		if !ok {
			return nil, failf("Cannot index %s with \"key\"", typeOf(item))
		}
		var key any
		for _, name := range []string{"key", "k", "name", "Name", "Key", "K"} {
			if v, has := entry.Get(name); has && v != nil && (v != false || key == nil) {
				key = v
				if v != false {
					break
				}
			}
		}
		var value any
		for _, name := range []string{"value", "v", "Value", "V"} {
			if v, has := entry.Get(name); has {
				value = v
				break
			}
		}
		switch k := plain(key).(type) {
		case string:
			o.Set(k, value)
		case nil:
			o.Set("null", value)
		case bool, float64:
			o.Set(toText(k), value)
		default:
			return nil, failf("Cannot use %s as object key", describe(key))
		}
	}
	return o, nil
}

func has(_ *evaluator, in any, args []any) (any, error) {
	switch v := in.(type) {
	case *Object:
		if key, ok := args[0].(string); ok {
			_, found := v.Get(key)
			return found, nil
		}
	case []any:
		if n, ok := plain(args[0]).(float64); ok {
			return n >= 0 && n < float64(len(v)), nil
		}
	}
	return nil, failf("Cannot check whether %s has a %s key", typeOf(in), typeOf(args[0]))
}

func containsPart(a, b any) bool {
	switch x := a.(type) {
	case *Object:
		y, ok := b.(*Object)
		if !ok {
			return false
		}
		for _, key := range y.keys {
			v, has := x.Get(key)
			if !has || !containsPart(v, y.values[key]) {
				return false
			}
		}
		return true
	case []any:
		y, ok := b.([]any)
		if !ok {
			return false
		}
		for _, wanted := range y {
			found := false
			for _, item := range x {
				found = found || containsPart(item, wanted)
			}
			if !found {
				return false
			}
		}
		return true
	case string:
		y, ok := b.(string)
		return ok && strings.Contains(x, y)
	}
	return compare(a, b) == 0
}

func addAll(e *evaluator, in any, _ []any) (any, error) {
	var items []any
	switch v := in.(type) {
	case []any:
		items = v
	case *Object:
		for _, key := range v.keys {
			items = append(items, v.values[key])
		}
	default:
		return nil, failf("Cannot iterate over %s", describe(in))
	}
	// Strings are collected, because adding each one would copy all before it.
	if len(items) > 0 {
		var all strings.Builder
		strs := true
		for _, item := range items {
			s, ok := item.(string)
			if !ok && item != nil {
				strs = false
				break
			}
			all.WriteString(s)
			e.o.Size(all.Len())
		}
		if _, first := items[0].(string); strs && first {
			return all.String(), nil
		}
	}
	var sum any
	for _, item := range items {
		e.o.Tick()
		var err error
		if sum, err = e.add(sum, item); err != nil {
			return nil, err
		}
	}
	return sum, nil
}

func toNumber(_ *evaluator, in any, _ []any) (any, error) {
	switch v := in.(type) {
	case float64, Number:
		return v, nil
	case string:
		n, err := strconv.ParseFloat(v, 64)
		if err != nil || strings.ContainsAny(v, "_xXpP") || v != strings.TrimSpace(v) {
			return nil, failf("Invalid numeric literal at EOF at line 1, column %d (while parsing '%s')", len(v), v)
		}
		return n, nil
	}
	return nil, failf("%s cannot be parsed as a number", describe(in))
}

func fromJSON(_ *evaluator, in any, _ []any) (any, error) {
	s, ok := in.(string)
	if !ok {
		return nil, failf("%s only strings can be parsed", describe(in))
	}
	v, err := Parse(s)
	if err != nil {
		return nil, failf("%s (while parsing '%s')", err, s)
	}
	return v, nil
}

func unique(sorted []any) any {
	list := []any{}
	for i, item := range sorted {
		if i == 0 || compare(item, sorted[i-1]) != 0 {
			list = append(list, item)
		}
	}
	return list
}

func reverse(_ *evaluator, in any, _ []any) (any, error) {
	switch v := in.(type) {
	case nil:
		return []any{}, nil
	case string:
		runes := []rune(v)
		for i, j := 0, len(runes)-1; i < j; i, j = i+1, j-1 {
			runes[i], runes[j] = runes[j], runes[i]
		}
		return string(runes), nil
	case []any:
		list := make([]any, len(v))
		for i, item := range v {
			list[len(v)-1-i] = item
		}
		return list, nil
	}
	return nil, failf("Cannot reverse %s", describe(in))
}

// extreme is the least (-1, the first of equals) or the greatest (1, the last of equals) element.
func extreme(list, keys []any, sign int) any {
	if len(list) == 0 {
		return nil
	}
	best := 0
	for i := range list {
		d := compare(keys[i], keys[best])
		if sign < 0 && d < 0 || sign > 0 && d >= 0 {
			best = i
		}
	}
	return list[best]
}

func byKeys(f func(list, keys []any) any) valueFunction {
	return func(_ *evaluator, in any, args []any) (any, error) {
		list, ok := in.([]any)
		if !ok {
			return nil, failf("Cannot index %s with number", typeOf(in))
		}
		return f(list, asList(args[0])), nil
	}
}

func orderBy(keys []any) []int {
	order := make([]int, len(keys))
	for i := range order {
		order[i] = i
	}
	sort.SliceStable(order, func(i, j int) bool { return compare(keys[order[i]], keys[order[j]]) < 0 })
	return order
}

func sortBy(list, keys []any) any {
	sorted := make([]any, len(list))
	for i, at := range orderBy(keys) {
		sorted[i] = list[at]
	}
	return sorted
}

func groupBy(list, keys []any) any {
	groups := []any{}
	last := -1
	for _, at := range orderBy(keys) {
		if last >= 0 && compare(keys[at], keys[last]) == 0 {
			groups[len(groups)-1] = append(groups[len(groups)-1].([]any), list[at])
		} else {
			groups = append(groups, any([]any{list[at]}))
		}
		last = at
	}
	return groups
}

func flatten(in any, depth float64) (any, error) {
	list, ok := in.([]any)
	if !ok {
		return nil, failf("Cannot iterate over %s", describe(in))
	}
	flat := []any{}
	for _, item := range list {
		inner, ok := item.([]any)
		if !ok || depth < 1 {
			flat = append(flat, item)
			continue
		}
		part, err := flatten(inner, depth-1)
		if err != nil {
			return nil, err
		}
		flat = append(flat, part.([]any)...)
	}
	return flat, nil
}

func join(e *evaluator, in any, args []any) (any, error) {
	list, ok := in.([]any)
	if !ok {
		return nil, failf("Cannot iterate over %s", describe(in))
	}
	if len(list) == 0 {
		return "", nil
	}
	separator, ok := args[0].(string)
	if !ok {
		return nil, failf("%s and %s cannot be added", describe(list[0]), describe(args[0]))
	}
	var out strings.Builder
	for i, item := range list {
		if i > 0 {
			out.WriteString(separator)
		}
		switch v := item.(type) {
		case nil:
		case []any, *Object:
			return nil, failf("%s and %s cannot be added", describe(out.String()), describe(item))
		default:
			out.WriteString(toText(v))
		}
		e.o.Size(out.Len())
	}
	return out.String(), nil
}

func split(_ *evaluator, in any, args []any) (any, error) {
	s, ok1 := in.(string)
	separator, ok2 := args[0].(string)
	if !ok1 || !ok2 {
		return nil, failf("split input and separator must be strings")
	}
	return splitText(s, separator), nil
}

func mapASCII(s string, from, to byte, by int) string {
	b := []byte(s)
	for i, c := range b {
		if c >= from && c <= to {
			b[i] = byte(int(c) + by)
		}
	}
	return string(b)
}

func explode(s string) any {
	list := []any{}
	for _, c := range s {
		list = append(list, float64(c))
	}
	return list
}

func implode(_ *evaluator, in any, _ []any) (any, error) {
	list, ok := in.([]any)
	if !ok {
		return nil, failf("%s cannot be imploded: an array of codepoints is needed", describe(in))
	}
	var out strings.Builder
	for _, item := range list {
		n, ok := plain(item).(float64)
		if !ok {
			return nil, failf("Unicode codepoint must be numeric")
		}
		out.WriteRune(rune(n))
	}
	return out.String(), nil
}

func trimmer(trim func(s, part string) string) valueFunction {
	return func(_ *evaluator, in any, args []any) (any, error) {
		s, ok1 := in.(string)
		part, ok2 := args[0].(string)
		if !ok1 || !ok2 {
			return in, nil
		}
		return trim(s, part), nil
	}
}

func tester(name string, test func(s, part string) bool) valueFunction {
	return func(_ *evaluator, in any, args []any) (any, error) {
		s, ok1 := in.(string)
		part, ok2 := args[0].(string)
		if !ok1 || !ok2 {
			return nil, failf("%s() requires string inputs", name)
		}
		return test(s, part), nil
	}
}

func indices(_ *evaluator, in any, args []any) (any, error) {
	switch v := in.(type) {
	case nil:
		return nil, nil
	case string:
		part, ok := args[0].(string)
		if !ok {
			return nil, failf("Cannot determine indices of %s in a string", describe(args[0]))
		}
		list := []any{}
		if part == "" {
			return nil, nil
		}
		// Positions count bytes in jq 1.6 and code points since; of ASCII both are the same.
		for i := 0; i+len(part) <= len(v); i++ {
			if v[i:i+len(part)] == part {
				list = append(list, float64(utf8.RuneCountInString(v[:i])))
			}
		}
		return list, nil
	case []any:
		if part, ok := args[0].([]any); ok {
			return indicesOf(v, part), nil
		}
		return indicesOf(v, []any{args[0]}), nil
	}
	return nil, failf("Cannot determine indices of %s", describe(in))
}

func oneIndex(e *evaluator, in any, args []any, last bool) (any, error) {
	all, err := indices(e, in, args)
	list := asList(all)
	if err != nil || len(list) == 0 {
		return nil, err
	}
	if last {
		return list[len(list)-1], nil
	}
	return list[0], nil
}

func transpose(_ *evaluator, in any, _ []any) (any, error) {
	rows, ok := in.([]any)
	if !ok {
		return nil, failf("Cannot iterate over %s", describe(in))
	}
	width := 0
	for _, row := range rows {
		width = max(width, len(asList(row)))
	}
	columns := make([]any, width)
	for i := range columns {
		column := make([]any, len(rows))
		for j, row := range rows {
			if list := asList(row); i < len(list) {
				column[j] = list[i]
			}
		}
		columns[i] = column
	}
	return columns, nil
}

func bsearch(_ *evaluator, in any, args []any) (any, error) {
	list, ok := in.([]any)
	if !ok {
		return nil, failf("%s cannot be searched from", describe(in))
	}
	at := sort.Search(len(list), func(i int) bool { return compare(list[i], args[0]) >= 0 })
	if at < len(list) && compare(list[at], args[0]) == 0 {
		return float64(at), nil
	}
	return float64(-1 - at), nil
}

// format is @name.
func (e *evaluator) format(name string, v any) (string, error) {
	switch name {
	case "@text":
		return toText(v), nil
	case "@json":
		return Text(v), nil
	case "@csv", "@tsv":
		return row(name, v)
	case "@html":
		return strings.NewReplacer("<", "&lt;", ">", "&gt;", "&", "&amp;", "'", "&#39;", `"`, "&quot;").Replace(toText(v)), nil
	case "@uri":
		return strings.NewReplacer("+", "%20", "%7E", "~").Replace(url.QueryEscape(toText(v))), nil
	case "@sh":
		return shellWords(v)
	case "@base64":
		return base64.StdEncoding.EncodeToString([]byte(toText(v))), nil
	case "@base64d":
		s := strings.TrimRight(toText(v), "=")
		decoded, err := base64.RawStdEncoding.DecodeString(s)
		if err != nil && len(s)%4 == 1 {
			decoded, err = base64.RawStdEncoding.DecodeString(s[:len(s)-1])
			if len(decoded) == 0 {
				err = base64.CorruptInputError(0)
			}
		}
		if err != nil {
			return "", failf("%s is not valid base64 data", describe(v))
		}
		return strings.ToValidUTF8(string(decoded), "\ufffd"), nil
	case "@base32":
		return base32.StdEncoding.EncodeToString([]byte(toText(v))), nil
	case "@base32d":
		decoded, err := base32.StdEncoding.DecodeString(toText(v))
		if err != nil {
			return "", failf("%s is not valid base32 data", describe(v))
		}
		return string(decoded), nil
	}
	return "", failf("%s is not a valid format", strings.TrimPrefix(name, "@"))
}

func row(name string, v any) (string, error) {
	list, ok := v.([]any)
	if !ok {
		return "", failf("%s cannot be %s-formatted, only an array can be", describe(v), name[1:])
	}
	parts := make([]string, len(list))
	for i, item := range list {
		switch x := item.(type) {
		case nil:
		case string:
			if name == "@csv" {
				parts[i] = `"` + strings.ReplaceAll(x, `"`, `""`) + `"`
			} else {
				parts[i] = strings.NewReplacer(`\`, `\\`, "\t", `\t`, "\n", `\n`, "\r", `\r`).Replace(x)
			}
		case []any, *Object:
			return "", failf("%s is not valid in a %s row", describe(item), name[1:])
		default:
			parts[i] = Text(x)
		}
	}
	return strings.Join(parts, map[string]string{"@csv": ",", "@tsv": "\t"}[name]), nil
}

func shellWords(v any) (string, error) {
	list, ok := v.([]any)
	if !ok {
		list = []any{v}
	}
	parts := make([]string, len(list))
	for i, item := range list {
		switch x := item.(type) {
		case string:
			parts[i] = "'" + strings.ReplaceAll(x, "'", `'\''`) + "'"
		case []any, *Object:
			return "", failf("%s can not be escaped for shell", describe(item))
		default:
			parts[i] = Text(x)
		}
	}
	return strings.Join(parts, " "), nil
}
