package awk

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"
)

// floatText writes a number for %e, %f and %g.
func floatText(verb byte, n float64, precision int, alternative bool) string {
	switch {
	case math.IsNaN(n):
		return "nan"
	case math.IsInf(n, 1):
		return "inf"
	case math.IsInf(n, -1):
		return "-inf"
	}
	lower := verb | 0x20
	if lower == 'g' && precision == 0 {
		precision = 1
	}
	text := strconv.FormatFloat(n, lower, precision, 64)
	if lower == 'g' {
		text = generalText(n, precision, alternative)
	}
	if verb != lower {
		text = strings.ToUpper(text)
	}
	return text
}

// generalText is %g: the shorter form, without zeros at the end.
func generalText(n float64, precision int, alternative bool) string {
	scientific := strconv.FormatFloat(n, 'e', precision-1, 64)
	at := strings.IndexByte(scientific, 'e')
	exponent, _ := strconv.Atoi(scientific[at+1:])
	if exponent < -4 || exponent >= precision {
		mantissa := scientific[:at]
		if !alternative {
			mantissa = withoutZeros(mantissa)
		}
		return mantissa + scientific[at:]
	}
	text := strconv.FormatFloat(n, 'f', precision-1-exponent, 64)
	if !alternative {
		text = withoutZeros(text)
	}
	return text
}

func withoutZeros(text string) string {
	if !strings.Contains(text, ".") {
		return text
	}
	return strings.TrimSuffix(strings.TrimRight(text, "0"), ".")
}

// maxWidth bounds what a format can pad.
const maxWidth = 1 << 20

// sprintf formats as awk does: arguments that are missing are empty.
func sprintf(format string, args []value, convfmt string) string {
	var out strings.Builder
	next := func() value {
		if len(args) == 0 {
			return value{}
		}
		v := args[0]
		args = args[1:]
		return v
	}
	for i := 0; i < len(format); i++ {
		if format[i] != '%' {
			out.WriteByte(format[i])
			continue
		}
		start := i
		i++
		flags := ""
		for i < len(format) && strings.IndexByte("-+ #0", format[i]) >= 0 {
			flags += format[i : i+1]
			i++
		}
		size := func() (int, bool) {
			if i < len(format) && format[i] == '*' {
				i++
				return int(next().number()), true
			}
			from := i
			for i < len(format) && isDigit(format[i]) {
				i++
			}
			n, _ := strconv.Atoi(format[from:i])
			return n, i > from
		}
		width, _ := size()
		if width < 0 {
			flags, width = flags+"-", -width
		}
		precision, given := -1, false
		if i < len(format) && format[i] == '.' {
			i++
			if precision, given = size(); !given {
				precision = 0
			}
			given = true
		}
		if max(width, precision) > maxWidth {
			panic(stop{fmt.Errorf("sprintf: a width or precision of more than %d is not supported", maxWidth)})
		}
		for i < len(format) && strings.IndexByte("hlLqjzt", format[i]) >= 0 {
			i++
		}
		if i >= len(format) {
			out.WriteString(format[start:])
			break
		}
		verb := format[i]
		if verb == '%' {
			out.WriteByte('%')
			continue
		}
		text, numeric := convert(verb, next, flags, precision, given, convfmt)
		if text == nil {
			out.WriteString(format[start : i+1])
			continue
		}
		out.WriteString(pad(*text, flags, width, numeric && !(given && strings.IndexByte("dixXou", verb) >= 0)))
	}
	return out.String()
}

// convert writes one value. numeric says that zeros can fill it.
func convert(verb byte, next func() value, flags string, precision int, given bool, convfmt string) (text *string, numeric bool) {
	sign := func(text string) string {
		switch {
		case strings.HasPrefix(text, "-"):
		case strings.Contains(flags, "+"):
			return "+" + text
		case strings.Contains(flags, " "):
			return " " + text
		}
		return text
	}
	var result string
	switch verb {
	case 'd', 'i':
		n := next().number()
		switch {
		case math.IsNaN(n) || math.IsInf(n, 0):
			result = sign(floatText('f', n, 0, false))
			return &result, false
		case math.Abs(n) < 1<<63:
			result = strconv.FormatInt(int64(n), 10)
		default:
			result = strconv.FormatFloat(math.Trunc(n), 'f', 0, 64)
		}
		result = sign(digits(result, precision))
	case 'o', 'x', 'X', 'u':
		n := next().number()
		base := map[byte]int{'o': 8, 'x': 16, 'X': 16, 'u': 10}[verb]
		var bits uint64
		if n < 0 {
			bits = uint64(int64(n))
		} else {
			bits = uint64(n)
		}
		result = digits(strconv.FormatUint(bits, base), precision)
		if strings.Contains(flags, "#") && bits != 0 {
			result = map[byte]string{'o': "0", 'x': "0x", 'X': "0x"}[verb] + result
		}
		if verb == 'X' {
			result = strings.ToUpper(result)
		}
	case 'e', 'E', 'f', 'F', 'g', 'G':
		if !given {
			precision = 6
		}
		if verb == 'F' {
			verb = 'f'
		}
		result = sign(floatText(verb, next().number(), precision, strings.Contains(flags, "#")))
	case 'c':
		v := next()
		switch {
		case v.kind == isNumber:
			result = string(rune(v.n))
		default:
			text := v.text(convfmt)
			_, size := utf8.DecodeRuneInString(text)
			result = text[:size]
		}
		return &result, false
	case 's':
		result = next().text(convfmt)
		if given && utf8.RuneCountInString(result) > precision {
			result = string([]rune(result)[:max(precision, 0)])
		}
		return &result, false
	default:
		return nil, false
	}
	return &result, true
}

// digits fills a number with zeros up to a precision.
func digits(text string, precision int) string {
	sign := ""
	if strings.HasPrefix(text, "-") {
		sign, text = "-", text[1:]
	}
	if missing := precision - len(text); missing > 0 {
		text = strings.Repeat("0", missing) + text
	}
	return sign + text
}

func pad(text, flags string, width int, numeric bool) string {
	missing := width - utf8.RuneCountInString(text)
	switch {
	case missing <= 0:
		return text
	case strings.Contains(flags, "-"):
		return text + strings.Repeat(" ", missing)
	case strings.Contains(flags, "0") && numeric:
		at := 0
		if text != "" && strings.IndexByte("+- ", text[0]) >= 0 {
			at = 1
		}
		if strings.HasPrefix(text[at:], "0x") {
			at += 2
		}
		return text[:at] + strings.Repeat("0", missing) + text[at:]
	}
	return strings.Repeat(" ", missing) + text
}
