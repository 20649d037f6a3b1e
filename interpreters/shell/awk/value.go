package awk

import (
	"math"
	"sort"
	"strconv"
	"strings"
)

// value is a number, a text, or a text of the input that looks like a number.
type value struct {
	kind valueKind
	n    float64
	s    string
}

type valueKind uint8

const (
	none valueKind = iota
	isNumber
	isText
	isInput // of the input: a number if it looks like one
)

func num(n float64) value { return value{kind: isNumber, n: n} }
func str(s string) value  { return value{kind: isText, s: s} }

func truth(b bool) value {
	if b {
		return num(1)
	}
	return num(0)
}

// input is a text that was read.
func input(s string) value { return value{kind: isInput, s: s} }

// numeric says whether the value compares as a number.
func (v value) numeric() bool {
	switch v.kind {
	case isNumber, none:
		return true
	case isInput:
		return looksNumeric(v.s)
	}
	return false
}

func (v value) number() float64 {
	switch v.kind {
	case isNumber:
		return v.n
	case none:
		return 0
	}
	return prefixNumber(v.s)
}

// text is the value as a text. format is CONVFMT or OFMT.
func (v value) text(format string) string {
	switch v.kind {
	case isNumber:
		return numberText(v.n, format)
	case none:
		return ""
	}
	return v.s
}

func (v value) isTrue() bool {
	switch v.kind {
	case isNumber:
		return v.n != 0
	case none:
		return false
	case isInput:
		if looksNumeric(v.s) {
			return prefixNumber(v.s) != 0
		}
	}
	return v.s != ""
}

func numberText(n float64, format string) string {
	switch {
	case n == math.Trunc(n) && math.Abs(n) < 1e16:
		return strconv.FormatInt(int64(n), 10)
	case math.IsNaN(n):
		return "nan"
	case math.IsInf(n, 1):
		return "inf"
	case math.IsInf(n, -1):
		return "-inf"
	}
	if format == "%.6g" {
		return sixDigits(n)
	}
	return sprintf(format, []value{num(n)}, "%.6g")
}

// sixDigits is %.6g.
func sixDigits(n float64) string { return floatText('g', n, 6, false) }

func looksNumeric(s string) bool {
	s = strings.Trim(s, " \t\n\r\f\v")
	return s != "" && len(numericPrefix(s)) == len(s)
}

// numericPrefix is the number at the begin of a text.
func numericPrefix(s string) string {
	i := 0
	if i < len(s) && (s[i] == '+' || s[i] == '-') {
		i++
	}
	digits := 0
	for i < len(s) && isDigit(s[i]) {
		i++
		digits++
	}
	if i < len(s) && s[i] == '.' {
		i++
		for i < len(s) && isDigit(s[i]) {
			i++
			digits++
		}
	}
	if digits == 0 {
		return ""
	}
	if i < len(s) && (s[i] == 'e' || s[i] == 'E') {
		j := i + 1
		if j < len(s) && (s[j] == '+' || s[j] == '-') {
			j++
		}
		if j < len(s) && isDigit(s[j]) {
			for j < len(s) && isDigit(s[j]) {
				j++
			}
			i = j
		}
	}
	return s[:i]
}

func prefixNumber(s string) float64 {
	return parseNumber(numericPrefix(strings.TrimLeft(s, " \t\n\r\f\v")))
}

func parseNumber(text string) float64 {
	if strings.HasPrefix(text, "0x") || strings.HasPrefix(text, "0X") {
		n, _ := strconv.ParseUint(text[2:], 16, 64)
		return float64(n)
	}
	n, _ := strconv.ParseFloat(text, 64)
	return n
}

// array keeps the order in which keys came, so that a loop over them is the same in each run.
type array struct {
	elements map[string]*element
	next     int
}

type element struct {
	value value
	at    int
}

func newArray() *array { return &array{elements: map[string]*element{}} }

func (a *array) get(key string) *element {
	e, ok := a.elements[key]
	if !ok {
		e = &element{at: a.next}
		a.next++
		a.elements[key] = e
	}
	return e
}

func (a *array) keys() []string {
	keys := make([]string, 0, len(a.elements))
	for key := range a.elements {
		keys = append(keys, key)
	}
	sort.Slice(keys, func(i, j int) bool { return a.elements[keys[i]].at < a.elements[keys[j]].at })
	return keys
}

// cell is a variable: a value, or an array.
type cell struct {
	value value
	array *array
	// of is the variable of the caller, for a parameter without a value: it may become an array here.
	of *cell
}

func (c *cell) asArray() *array {
	if c.array == nil {
		if c.of != nil {
			c.array = c.of.asArray()
		} else {
			c.array = newArray()
		}
	}
	return c.array
}
