package commands

import (
	"fmt"
	"io"
	"math"
	"sort"
	"strconv"
	"strings"
	"unicode"
)

func init() {
	define("sort", spec{short: "nrufbgMhVk:t:o:czsdiRmS:T:C", long: map[string]string{
		"numeric-sort": "n", "reverse": "r", "unique": "u", "ignore-case": "f", "ignore-leading-blanks": "b", "key": "k",
		"field-separator": "t", "output": "o", "check": "c", "zero-terminated": "z", "stable": "s", "version-sort": "V",
		"human-numeric-sort": "h", "general-numeric-sort": "g", "dictionary-order": "d", "month-sort": "M",
	}}, 2, sortCommand)
}

// sortKey is a -k of sort.
type sortKey struct {
	fromField, fromChar, toField, toChar int
	order                                order
	own                                  bool // it has letters of its own
}

// order says how texts compare.
type order struct {
	numeric, general, human, version, month, fold, blanks, dictionary, reverse bool
}

func (o *order) letter(c byte) bool {
	switch c {
	case 'n':
		o.numeric = true
	case 'g':
		o.general = true
	case 'h':
		o.human = true
	case 'V':
		o.version = true
	case 'M':
		o.month = true
	case 'f':
		o.fold = true
	case 'b':
		o.blanks = true
	case 'd':
		o.dictionary = true
	case 'r':
		o.reverse = true
	default:
		return false
	}
	return true
}

func parseKey(text string) (sortKey, error) {
	k := sortKey{toField: -1}
	part := func(text string, isEnd bool) (field, char int, err error) {
		end := strings.IndexFunc(text, func(c rune) bool { return unicode.IsLetter(c) })
		if end < 0 {
			end = len(text)
		}
		for i := end; i < len(text); i++ {
			if !k.order.letter(text[i]) {
				return 0, 0, fmt.Errorf("the order '%c' of -k is not supported", text[i])
			}
			k.own = true
		}
		first, second, has := strings.Cut(text[:end], ".")
		if field, err = strconv.Atoi(first); err != nil || field < 1 {
			return 0, 0, fmt.Errorf("invalid number at field start: invalid count at start of '%s'", text)
		}
		if has {
			if char, err = strconv.Atoi(second); err != nil {
				return 0, 0, fmt.Errorf("invalid number after '.': '%s'", second)
			}
		}
		return field, char, nil
	}
	from, to, has := strings.Cut(text, ",")
	var err error
	if k.fromField, k.fromChar, err = part(from, false); err != nil {
		return k, err
	}
	if has {
		k.toField, k.toChar, err = part(to, true)
	}
	return k, err
}

func sortCommand(c *call) int {
	for _, flag := range []string{"R", "S", "T", "i"} {
		if c.flags[flag] && flag != "S" && flag != "T" {
			return c.Fail(2, "the option -%s is not supported", flag)
		}
	}
	var global order
	for _, letter := range []byte("nghVMfbdr") {
		if c.flags[string(letter)] {
			global.letter(letter)
		}
	}
	var keys []sortKey
	for _, text := range c.values["k"] {
		k, err := parseKey(text)
		if err != nil {
			return c.Fail(2, "%s", err)
		}
		if !k.own {
			k.order = global
		}
		keys = append(keys, k)
	}
	separator := c.value("t", "")
	if separator == `\0` {
		separator = "\x00"
	}
	if c.flags["t"] && len(separator) != 1 {
		return c.Fail(2, "multi-character tab '%s'", separator)
	}
	lines := c.allLines(c.args, c.zero("z"))
	if c.status != 0 {
		return 2
	}
	s := &sorter{keys: keys, global: global, separator: separator}
	if c.flags["c"] || c.flags["C"] {
		for i := 1; i < len(lines); i++ {
			if d := s.compare(lines[i-1], lines[i], !c.flags["u"] && !c.flags["s"]); d > 0 || d == 0 && c.flags["u"] {
				if c.flags["c"] {
					c.Fail(1, "-:%d: disorder: %s", i+1, lines[i])
				}
				return 1
			}
		}
		return 0
	}
	last := !c.flags["s"] && !c.flags["u"]
	sort.SliceStable(lines, func(i, j int) bool {
		c.Tick()
		return s.compare(lines[i], lines[j], last) < 0
	})
	var out strings.Builder
	for i, line := range lines {
		if c.flags["u"] && i > 0 && s.compare(lines[i-1], line, false) == 0 {
			// Of equal lines, the first stays; the sort is stable.
			lines[i] = lines[i-1]
			continue
		}
		out.WriteString(line)
		out.WriteByte(c.zero("z"))
	}
	if name := c.value("o", ""); name != "" {
		w, err := c.Create(name, false)
		if err != nil {
			return c.Fail(2, "open failed: %s: %s", name, reasonOf(err))
		}
		io.WriteString(w, out.String())
		w.Close()
		return 0
	}
	c.print(out.String())
	return 0
}

type sorter struct {
	keys      []sortKey
	global    order
	separator string
}

// compare compares by keys; last says that the whole lines decide where the keys are equal.
func (s *sorter) compare(a, b string, last bool) int {
	if len(s.keys) == 0 {
		if d := s.global.compare(a, b); d != 0 {
			return d
		}
	}
	for i := range s.keys {
		k := &s.keys[i]
		if d := k.order.compare(s.part(a, k), s.part(b, k)); d != 0 {
			return d
		}
	}
	if !last {
		return 0
	}
	d := strings.Compare(a, b)
	if s.global.reverse {
		d = -d
	}
	return d
}

// part cuts a key from a line. Without a separator, a field begins with the blanks before it.
func (s *sorter) part(line string, k *sortKey) string {
	start := s.fieldStart(line, k.fromField)
	if k.order.blanks {
		for start < len(line) && (line[start] == ' ' || line[start] == '\t') {
			start++
		}
	}
	if k.fromChar > 0 {
		start = min(len(line), start+k.fromChar-1)
	}
	end := len(line)
	if k.toField > 0 {
		if k.toChar == 0 {
			end = s.fieldEnd(line, k.toField)
		} else {
			end = min(len(line), s.fieldStart(line, k.toField)+k.toChar)
		}
	}
	if end < start {
		return ""
	}
	return line[start:end]
}

func (s *sorter) fieldStart(line string, field int) int {
	at := 0
	for ; field > 1 && at < len(line); field-- {
		at = s.skip(line, at)
		if s.separator != "" && at < len(line) {
			at++
		}
	}
	return at
}

func (s *sorter) fieldEnd(line string, field int) int {
	at := 0
	for ; field > 0 && at < len(line); field-- {
		at = s.skip(line, at)
		if s.separator != "" && field > 1 && at < len(line) {
			at++
		}
	}
	return at
}

// skip moves to the end of a field.
func (s *sorter) skip(line string, at int) int {
	if s.separator != "" {
		if end := strings.Index(line[at:], s.separator); end >= 0 {
			return at + end
		}
		return len(line)
	}
	for at < len(line) && (line[at] == ' ' || line[at] == '\t') {
		at++
	}
	for at < len(line) && line[at] != ' ' && line[at] != '\t' {
		at++
	}
	return at
}

func (o *order) compare(a, b string) int {
	d := 0
	switch {
	case o.numeric:
		d = compareNumeric(a, b)
	case o.general:
		d = compareFloats(generalNumber(a), generalNumber(b))
	case o.human:
		d = compareHuman(a, b)
	case o.version:
		d = compareVersions(strings.TrimLeft(a, ""), b)
	case o.month:
		d = month(a) - month(b)
	default:
		d = strings.Compare(o.shaped(a), o.shaped(b))
	}
	if o.reverse {
		return -d
	}
	return d
}

func (o *order) shaped(text string) string {
	if o.blanks {
		text = strings.TrimLeft(text, " \t")
	}
	if o.dictionary {
		text = strings.Map(func(c rune) rune {
			if c == ' ' || c == '\t' || unicode.IsLetter(c) || unicode.IsDigit(c) {
				return c
			}
			return -1
		}, text)
	}
	if o.fold {
		text = strings.ToUpper(text)
	}
	return text
}

// leadingNumber is the decimal number at the begin of a text.
func leadingNumber(text string) (number string, rest string) {
	text = strings.TrimLeft(text, " \t")
	end := 0
	if strings.HasPrefix(text, "-") {
		end++
	}
	dot := false
	for end < len(text) && (text[end] >= '0' && text[end] <= '9' || text[end] == '.' && !dot) {
		dot = dot || text[end] == '.'
		end++
	}
	return text[:end], text[end:]
}

func compareNumeric(a, b string) int {
	x, _ := leadingNumber(a)
	y, _ := leadingNumber(b)
	// Digits are compared as text where a float would lose some.
	f, _ := strconv.ParseFloat(strings.TrimSuffix(x, "."), 64)
	g, _ := strconv.ParseFloat(strings.TrimSuffix(y, "."), 64)
	if f == g && math.Abs(f) >= 1<<53 && !strings.Contains(x+y, ".") {
		p, q := strings.TrimLeft(strings.TrimPrefix(x, "-"), "0"), strings.TrimLeft(strings.TrimPrefix(y, "-"), "0")
		d := len(p) - len(q)
		if d == 0 {
			d = strings.Compare(p, q)
		}
		if f < 0 {
			d = -d
		}
		return d
	}
	return compareFloats(f, g)
}

func compareFloats(a, b float64) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

func generalNumber(text string) float64 {
	text = strings.TrimSpace(text)
	for end := len(text); end > 0; end-- {
		if n, err := strconv.ParseFloat(text[:end], 64); err == nil {
			return n
		}
	}
	return math.Inf(-1)
}

func compareHuman(a, b string) int {
	value := func(text string) (rank int, n float64) {
		number, rest := leadingNumber(text)
		n, _ = strconv.ParseFloat(number, 64)
		if rest != "" && n != 0 {
			rank = strings.IndexByte("KMGTPEZY", rest[0]) + 1
			if rest[0] == 'k' {
				rank = 1
			}
		}
		if n < 0 {
			rank = -rank
		}
		return rank, n
	}
	r1, n1 := value(a)
	r2, n2 := value(b)
	sign := func(n float64) int { return compareFloats(n, 0) }
	if sign(n1) != sign(n2) {
		return sign(n1) - sign(n2)
	}
	if r1 != r2 {
		return r1 - r2
	}
	return compareFloats(n1, n2)
}

func month(text string) int {
	text = strings.ToUpper(strings.TrimLeft(text, " \t"))
	for i, name := range []string{"JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC"} {
		if strings.HasPrefix(text, name) {
			return i + 1
		}
	}
	return 0
}

// compareVersions is the order of sort -V: digits by their value, letters before other characters, ~ before the end.
func compareVersions(a, b string) int {
	rank := func(text string, i int) int {
		if i >= len(text) {
			return 0
		}
		switch c := text[i]; {
		case c >= '0' && c <= '9':
			return 0
		case c == '~':
			return -1
		case c|0x20 >= 'a' && c|0x20 <= 'z':
			return int(c)
		default:
			return int(c) + 256
		}
	}
	digit := func(text string, i int) bool { return i < len(text) && text[i] >= '0' && text[i] <= '9' }
	i, j := 0, 0
	for i < len(a) || j < len(b) {
		for i < len(a) && !digit(a, i) || j < len(b) && !digit(b, j) {
			if d := rank(a, i) - rank(b, j); d != 0 {
				return d
			}
			i++
			j++
		}
		for digit(a, i) && a[i] == '0' {
			i++
		}
		for digit(b, j) && b[j] == '0' {
			j++
		}
		first := 0
		for digit(a, i) && digit(b, j) {
			if first == 0 {
				first = int(a[i]) - int(b[j])
			}
			i++
			j++
		}
		if digit(a, i) {
			return 1
		}
		if digit(b, j) {
			return -1
		}
		if first != 0 {
			return first
		}
	}
	return 0
}
