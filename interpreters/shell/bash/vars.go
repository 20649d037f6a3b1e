package bash

import (
	"slices"
	"sort"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

type kind uint8

const (
	scalar kind = iota
	indexed
	associative
)

// variable is the value and the attributes of a name. A shell that shares one with a subshell copies it before a change.
type variable struct {
	kind     kind
	set      bool
	text     string
	list     list
	table    table
	exported bool
	readonly bool
	integer  bool
	lower    bool
	upper    bool
	nameref  bool
	shared   bool
	// lasting says that export changed an assignment before a function, which then stays after the function.
	lasting bool
	// temporary says that the value is of an assignment before a command. A local variable with its name begins with it.
	temporary bool
}

// list is an indexed array, which may have gaps. The indices ascend.
type list struct {
	indices []int64
	values  []string
}

func (l *list) find(index int64) (int, bool) {
	if n := int64(len(l.indices)); n > 0 && index == l.indices[n-1] {
		return int(n - 1), true
	} else if n == 0 || index > l.indices[n-1] {
		return int(n), false
	}
	at := sort.Search(len(l.indices), func(i int) bool { return l.indices[i] >= index })
	return at, at < len(l.indices) && l.indices[at] == index
}

func (l *list) get(index int64) (string, bool) {
	if at, ok := l.find(index); ok {
		return l.values[at], true
	}
	return "", false
}

func (l *list) put(index int64, value string) {
	at, ok := l.find(index)
	if ok {
		l.values[at] = value
		return
	}
	l.indices = append(l.indices, 0)
	l.values = append(l.values, "")
	copy(l.indices[at+1:], l.indices[at:])
	copy(l.values[at+1:], l.values[at:])
	l.indices[at], l.values[at] = index, value
}

func (l *list) remove(index int64) {
	if at, ok := l.find(index); ok {
		l.indices = append(l.indices[:at], l.indices[at+1:]...)
		l.values = append(l.values[:at], l.values[at+1:]...)
	}
}

// next is the index after the last one.
func (l *list) next() int64 {
	if len(l.indices) == 0 {
		return 0
	}
	return l.indices[len(l.indices)-1] + 1
}

// resolve makes a negative index count from the end.
func (l *list) resolve(index int64) (int64, bool) {
	if index < 0 {
		index += l.next()
	}
	return index, index >= 0
}

func listOf(values []string) list {
	l := list{make([]int64, len(values)), append([]string(nil), values...)}
	for i := range values {
		l.indices[i] = int64(i)
	}
	return l
}

func (l list) copy() list {
	return list{append([]int64(nil), l.indices...), append([]string(nil), l.values...)}
}

// table is an associative array. Scripts see its order, so it has the buckets of bash's hash table: a script that prints
// keys prints them in the same order here.
type table struct {
	entries map[string]*entry
	buckets [][]*entry
}

type entry struct{ key, value string }

// bash's hash tables start with 1024 buckets, and grow when there are twice as many entries.
const firstBuckets = 1024

func hash(key string) uint32 {
	h := uint32(2166136261)
	for i := range len(key) {
		h *= 16777619
		h ^= uint32(int32(int8(key[i])))
	}
	return h
}

func (t *table) get(key string) (string, bool) {
	if e := t.entries[key]; e != nil {
		return e.value, true
	}
	return "", false
}

func (t *table) put(key, value string) {
	if e := t.entries[key]; e != nil {
		e.value = value
		return
	}
	if t.entries == nil {
		t.entries = map[string]*entry{}
		t.buckets = make([][]*entry, firstBuckets)
	}
	if len(t.entries) >= 2*len(t.buckets) {
		t.grow()
	}
	e := &entry{key, value}
	t.entries[key] = e
	at := hash(key) & uint32(len(t.buckets)-1)
	t.buckets[at] = append(t.buckets[at], e)
}

func (t *table) grow() {
	old := t.buckets
	t.buckets = make([][]*entry, 4*len(old))
	for _, bucket := range old {
		for i := len(bucket) - 1; i >= 0; i-- {
			at := hash(bucket[i].key) & uint32(len(t.buckets)-1)
			t.buckets[at] = append(t.buckets[at], bucket[i])
		}
	}
}

func (t *table) remove(key string) {
	e := t.entries[key]
	if e == nil {
		return
	}
	delete(t.entries, key)
	at := hash(key) & uint32(len(t.buckets)-1)
	for i, other := range t.buckets[at] {
		if other == e {
			t.buckets[at] = append(t.buckets[at][:i], t.buckets[at][i+1:]...)
			return
		}
	}
}

// each visits the entries in bash's order: the newest of a bucket first.
func (t *table) each(visit func(key, value string)) {
	if len(t.entries) == 0 {
		return
	}
	for _, bucket := range t.buckets {
		for i := len(bucket) - 1; i >= 0; i-- {
			visit(bucket[i].key, bucket[i].value)
		}
	}
}

func (t *table) copy() table {
	var c table
	if t.entries == nil {
		return c
	}
	c.entries = make(map[string]*entry, len(t.entries))
	c.buckets = make([][]*entry, len(t.buckets))
	for i, bucket := range t.buckets {
		for _, e := range bucket {
			copied := &entry{e.key, e.value}
			c.entries[e.key] = copied
			c.buckets[i] = append(c.buckets[i], copied)
		}
	}
	return c
}

// size is what a variable counts against the limit of memory.
func (v *variable) size() int64 {
	n := int64(64 + len(v.text))
	for _, text := range v.list.values {
		n += int64(len(text)) + 24
	}
	for key, e := range v.table.entries {
		n += int64(len(key)+len(e.value)) + 96
	}
	return n
}

// values are the elements in order; a scalar is an array of one.
func (v *variable) values() []string {
	if v == nil {
		return nil
	}
	switch v.kind {
	case indexed:
		return v.list.values
	case associative:
		values := make([]string, 0, len(v.table.entries))
		v.table.each(func(_, value string) { values = append(values, value) })
		return values
	}
	if !v.set {
		return nil
	}
	return []string{v.text}
}

// keys are the indices or keys of values.
func (v *variable) keys() []string {
	if v == nil {
		return nil
	}
	switch v.kind {
	case indexed:
		keys := make([]string, len(v.list.indices))
		for i, index := range v.list.indices {
			keys[i] = itoa(index)
		}
		return keys
	case associative:
		keys := make([]string, 0, len(v.table.entries))
		v.table.each(func(key, _ string) { keys = append(keys, key) })
		return keys
	}
	if !v.set {
		return nil
	}
	return []string{"0"}
}

// first is the value of the name without a subscript.
func (v *variable) first() (string, bool) {
	if v == nil {
		return "", false
	}
	switch v.kind {
	case indexed:
		return v.list.get(0)
	case associative:
		return v.table.get("0")
	}
	return v.text, v.set
}

func validName(name string) bool {
	if name == "" {
		return false
	}
	for i, c := range name {
		if c != '_' && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (i == 0 || c < '0' || c > '9') {
			return false
		}
	}
	return true
}

// scope holds the variables of a function, of the assignments before a command, or of the shell.
type scope struct {
	names map[string]*variable
	// function says that `local` makes variables here.
	function bool
	// passing says that it has the assignments before a builtin, which changes the variables below them.
	passing bool
	// options are those to come back to, for `local -`.
	options *options
}

// lookup finds a variable in the innermost scope that has it. It does not follow references.
func (s *Shell) lookup(name string) (*variable, *scope) {
	for i := len(s.scopes) - 1; i >= 0; i-- {
		if v := s.scopes[i].names[name]; v != nil {
			if v.nameref && v.text == name && i > 0 {
				// A reference to its own name means the variable outside of the functions.
				return s.scopes[0].names[name], s.scopes[0]
			}
			return v, s.scopes[i]
		}
	}
	return nil, nil
}

// isReference says whether a name is one of `declare -n`.
func (s *Shell) isReference(name string) bool {
	v, _ := s.lookup(name)
	return v != nil && v.nameref
}

// resolve follows `declare -n`. The result may have a subscript.
func (s *Shell) resolve(name string) string {
	for range 16 {
		v, _ := s.lookup(name)
		if v == nil || !v.nameref || v.text == "" {
			return name
		}
		name = v.text
		if strings.ContainsRune(name, '[') {
			return name
		}
	}
	return name
}

// variable returns a variable for reading, also the dynamic ones.
func (s *Shell) variable(name string) *variable {
	name = s.resolve(name)
	if base, subscript, ok := splitSubscript(name); ok {
		if text, set, err := s.element(base, subscript); err == nil && set {
			return &variable{set: true, text: text}
		}
		return nil
	}
	if dynamic := s.dynamic(name); dynamic != nil {
		return dynamic
	}
	v, _ := s.lookup(name)
	return v
}

// get is the text of a name, and whether it is set.
func (s *Shell) get(name string) (string, bool) { return s.variable(name).first() }

// text is the value of a name, or nothing.
func (s *Shell) text(name string) string {
	text, _ := s.get(name)
	return text
}

// splitSubscript cuts `name[subscript]`.
func splitSubscript(text string) (name, subscript string, ok bool) {
	open := strings.IndexByte(text, '[')
	if open <= 0 || !strings.HasSuffix(text, "]") || !validName(text[:open]) {
		return text, "", false
	}
	return text[:open], text[open+1 : len(text)-1], true
}

// namedElement cuts `name[subscript]` that a text names, such as an argument of unset, and expands the subscript, which is not
// expanded yet where the text stood in quotes.
func (s *Shell) namedElement(text string) (name, subscript string, ok bool, err error) {
	name, subscript, ok = splitSubscript(text)
	if !ok || !strings.ContainsAny(subscript, "$`\\\"'") {
		return name, subscript, ok, nil
	}
	source, err := s.parsed(s.codeName(), "_="+protectKey(subscript), s.line-1)
	if err != nil || len(source.file.Stmts) != 1 {
		return name, "", true, &shellError{text: "`" + text + "': not a valid identifier", status: 1}
	}
	call, isCall := source.file.Stmts[0].Cmd.(*syntax.CallExpr)
	if !isCall || len(call.Args) != 0 || len(call.Assigns) != 1 {
		return name, "", true, &shellError{text: "`" + text + "': not a valid identifier", status: 1}
	}
	err = s.within(source, func() error {
		subscript, err = s.assignedWord(call.Assigns[0].Value)
		return err
	})
	return name, subscript, true, err
}

// writable returns the variable to change, in the scope where it is, or a new one in the outermost scope.
func (s *Shell) writable(name string) (*variable, error) {
	v, in := s.lookup(name)
	if in != nil && in.passing {
		v, in = s.below(name)
	}
	if in == nil || v == nil {
		in = s.scopes[0]
	}
	return s.writableIn(in, name, v)
}

// below is lookup without the assignments before a builtin.
func (s *Shell) below(name string) (*variable, *scope) {
	scopes := s.scopes
	s.scopes = scopes[:len(scopes)-1]
	v, in := s.lookup(name)
	s.scopes = scopes
	return v, in
}

func (s *Shell) writableIn(in *scope, name string, v *variable) (*variable, error) {
	if v != nil && v.readonly {
		return nil, &readonlyError{name}
	}
	if v == nil {
		v = &variable{}
		in.names[name] = v
	} else if v.shared {
		copied := *v
		copied.shared = false
		copied.list, copied.table = v.list.copy(), v.table.copy()
		v = &copied
		in.names[name] = v
	}
	return v, nil
}

// account counts a change of memory, and bounds it.
func (s *Shell) account(name string, grown int64) {
	s.owned += grown
	if s.world.memory.Add(grown) > s.world.Limits.Memory {
		s.world.die(&LimitError{s.where(), "variable " + name + ": the variables of the run exceed " +
			sizeText(s.world.Limits.Memory) + ": store less, or write to a file"})
	}
}

// checkLength bounds one string.
func (s *Shell) checkLength(n int, what string) {
	if n > s.world.Limits.Value {
		s.world.die(&LimitError{s.where(), what + " exceeds " + sizeText(int64(s.world.Limits.Value)) + ": use a file or a pipe"})
	}
}

// setText assigns to a name as `name=value` does.
func (s *Shell) setText(name, value string) error {
	name = s.resolve(name)
	if base, subscript, ok := splitSubscript(name); ok {
		return s.setElement(base, subscript, value, false)
	}
	if s.setDynamic(name, value) {
		return nil
	}
	v, err := s.writable(name)
	if err != nil {
		return err
	}
	return s.store(v, name, value)
}

// store puts a text in a variable, as its attributes want it.
func (s *Shell) store(v *variable, name, value string) error {
	value, err := s.shaped(v, value)
	if err != nil {
		return err
	}
	s.checkLength(len(value), "variable "+name)
	switch v.kind {
	case indexed:
		old, _ := v.list.get(0)
		s.account(name, int64(len(value)-len(old)))
		v.list.put(0, value)
	case associative:
		old, _ := v.table.get("0")
		s.account(name, int64(len(value)-len(old)))
		v.table.put("0", value)
	default:
		s.account(name, int64(len(value)-len(v.text)))
		v.text = value
	}
	v.set = true
	if s.options.allexport {
		v.exported = true
	}
	return nil
}

// shaped applies -i, -l and -u.
func (s *Shell) shaped(v *variable, value string) (string, error) {
	switch {
	case v.integer:
		n, err := s.arithmetic(value)
		return itoa(n), err
	case v.lower:
		return strings.ToLower(value), nil
	case v.upper:
		return strings.ToUpper(value), nil
	}
	return value, nil
}

// element reads `name[subscript]`, where the subscript is text that has been expanded.
func (s *Shell) element(name, subscript string) (string, bool, error) {
	v := s.variable(name)
	if v == nil {
		// The subscript is evaluated for its effects only.
		index, err := s.arithmetic(subscript)
		if err == nil && index < 0 {
			s.severe("%s: bad array subscript", name)
		}
		return "", false, err
	}
	if v.kind == associative {
		if subscript == "" {
			s.severe("%s: bad array subscript", name)
		}
		text, ok := v.table.get(subscript)
		return text, ok, nil
	}
	index, err := s.arithmetic(subscript)
	if err != nil {
		return "", false, err
	}
	if v.kind == scalar {
		if index < 0 {
			s.severe("%s: bad array subscript", name)
		}
		if index == 0 {
			return v.text, v.set, nil
		}
		return "", false, nil
	}
	index, ok := v.list.resolve(index)
	if !ok {
		s.severe("%s: bad array subscript", name)
		return "", false, nil
	}
	text, ok := v.list.get(index)
	return text, ok, nil
}

// setElement assigns `name[subscript]=value`.
func (s *Shell) setElement(name, subscript, value string, appends bool) error {
	name = s.resolve(name)
	v, err := s.writable(name)
	if err != nil {
		return err
	}
	return s.putElement(v, name, subscript, value, appends)
}

func (s *Shell) putElement(v *variable, name, subscript, value string, appends bool) error {
	if v.kind == associative {
		if subscript == "" {
			return badSubscript(name, subscript)
		}
		old, _ := v.table.get(subscript)
		value, err := s.appended(v, old, value, appends)
		if err != nil {
			return err
		}
		s.account(name, int64(len(value)-len(old))+int64(len(subscript)))
		v.table.put(subscript, value)
		v.set = true
		return nil
	}
	index, err := s.arithmetic(subscript)
	if err != nil {
		return err
	}
	if v.kind == scalar {
		if v.set {
			v.list.put(0, v.text)
		}
		v.kind, v.text = indexed, ""
	}
	resolved, ok := v.list.resolve(index)
	if !ok {
		return badSubscript(name, subscript)
	}
	old, _ := v.list.get(resolved)
	value, err = s.appended(v, old, value, appends)
	if err != nil {
		return err
	}
	s.account(name, int64(len(value)-len(old))+32)
	v.list.put(resolved, value)
	v.set = true
	return nil
}

// appended is the value of += or =.
func (s *Shell) appended(v *variable, old, value string, appends bool) (string, error) {
	if appends {
		if v.integer {
			if old == "" {
				old = "0"
			}
			value = old + "+(" + value + ")"
		} else {
			value = old + value
		}
	}
	s.checkLength(len(value), "a variable")
	return s.shaped(v, value)
}

// setList makes an indexed array of values.
func (s *Shell) setList(name string, values []string) error {
	name = s.resolve(name)
	v, err := s.writable(name)
	if err != nil {
		return err
	}
	before := v.size()
	if v.integer || v.lower || v.upper {
		values = slices.Clone(values)
		for i, value := range values {
			// What comes before a value that is wrong is assigned.
			if values[i], err = s.shaped(v, value); err != nil {
				values = values[:i]
				break
			}
		}
	}
	v.kind, v.set, v.text, v.list, v.table = indexed, true, "", listOf(values), table{}
	s.account(name, v.size()-before)
	return err
}

// unset removes a variable or an element.
func (s *Shell) unset(name string) error {
	base, subscript, ok, err := s.namedElement(name)
	if err != nil {
		return err
	}
	if ok {
		base = s.resolve(base)
		v, _ := s.lookup(base)
		if v == nil {
			return nil
		}
		v, err := s.writable(base)
		if err != nil {
			return err
		}
		if v.kind == associative {
			if subscript == "" {
				return &shellError{text: name + ": bad array subscript"}
			}
			// bash 5.2 removes only the key for [@] and [*], too.
			v.table.remove(subscript)
			return nil
		}
		if subscript == "@" || subscript == "*" {
			v.list, v.text = list{}, ""
			return nil
		}
		index, err := s.arithmetic(subscript)
		if err != nil {
			return err
		}
		if v.kind == scalar {
			if index == 0 {
				return s.unset(base)
			}
			return &shellError{text: base + ": not an array variable"}
		}
		index, ok := v.list.resolve(index)
		if !ok {
			return &shellError{text: "[" + subscript + "]: bad array subscript"}
		}
		v.list.remove(index)
		return nil
	}
	name = s.resolve(name)
	v, in := s.lookup(name)
	if v == nil {
		return nil
	}
	if v.readonly {
		return &shellError{text: name + ": cannot unset: readonly variable"}
	}
	s.account(name, -v.size()+64)
	delete(in.names, name)
	// A local variable stays local when it is unset in its own function.
	if in.function && in == s.scopes[len(s.scopes)-1] {
		in.names[name] = &variable{}
	}
	return nil
}

// environment lists the exported variables, as a command gets them.
func (s *Shell) environment() []string {
	seen := map[string]bool{}
	var names []string
	values := map[string]string{}
	for i := len(s.scopes) - 1; i >= 0; i-- {
		for name, v := range s.scopes[i].names {
			if seen[name] {
				continue
			}
			seen[name] = true
			if v.exported && v.set && v.kind == scalar {
				names = append(names, name)
				values[name] = v.text
			}
		}
	}
	sort.Strings(names)
	list := make([]string, 0, len(names))
	for _, name := range names {
		list = append(list, name+"="+values[name])
	}
	for name, f := range s.functions {
		if f.exported {
			list = append(list, "BASH_FUNC_"+name+"%%="+f.source.text[f.body.Pos().Offset():f.body.End().Offset()])
		}
	}
	return list
}
