package bash

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// ansiC decodes the escapes of $'…'.
func ansiC(text string) string {
	if !strings.Contains(text, `\`) {
		return text
	}
	var out strings.Builder
	for i := 0; i < len(text); {
		if text[i] != '\\' || i+1 == len(text) {
			out.WriteByte(text[i])
			i++
			continue
		}
		decoded, size, ok := escape(text[i+1:])
		if !ok {
			out.WriteByte('\\')
			i++
			continue
		}
		if strings.HasPrefix(decoded, "\x00") {
			// A NUL ends the string.
			return out.String()
		}
		out.WriteString(decoded)
		i += 1 + size
	}
	return out.String()
}

// escape decodes what follows a backslash, and says how long it is.
func escape(text string) (decoded string, size int, ok bool) {
	simple := map[byte]string{
		'a': "\a", 'b': "\b", 'e': "\x1b", 'E': "\x1b", 'f': "\f", 'n': "\n", 'r': "\r", 't': "\t", 'v': "\v",
		'\\': `\`, '\'': "'", '"': `"`, '?': "?",
	}
	if text == "" {
		return "", 0, false
	}
	if s, ok := simple[text[0]]; ok {
		return s, 1, true
	}
	switch c := text[0]; {
	case c >= '0' && c <= '7':
		n, size := digits(text, 8, 3)
		return string([]byte{byte(n)}), size, true
	case c == 'x':
		n, size := digits(text[1:], 16, 2)
		if size == 0 {
			return "", 0, false
		}
		return string([]byte{byte(n)}), size + 1, true
	case c == 'u' || c == 'U':
		longest := 4
		if c == 'U' {
			longest = 8
		}
		n, size := digits(text[1:], 16, longest)
		if size == 0 {
			return "", 0, false
		}
		return string(rune(n)), size + 1, true
	case c == 'c' && len(text) > 1:
		return string([]byte{text[1] & 0x1f}), 2, true
	}
	return "", 0, false
}

func digits(text string, base, longest int) (n, size int) {
	for size < len(text) && size < longest {
		d := strings.IndexByte("0123456789abcdef", text[size]|0x20)
		if text[size] >= '0' && text[size] <= '9' {
			d = int(text[size] - '0')
		}
		if d < 0 || d >= base {
			break
		}
		n = n*base + d
		size++
	}
	return n, size
}

// printable says whether a text can be shown as it is.
func printable(text string) bool {
	if !utf8.ValidString(text) {
		return false
	}
	for _, c := range text {
		if c < ' ' || c == 0x7f {
			return false
		}
	}
	return true
}

// dollarQuote is $'…'.
func dollarQuote(text string) string {
	var out strings.Builder
	out.WriteString("$'")
	for i := 0; i < len(text); {
		c, size := utf8.DecodeRuneInString(text[i:])
		switch {
		case c == utf8.RuneError && size == 1:
			fmt.Fprintf(&out, `\%03o`, text[i])
		case c == '\'' || c == '\\':
			out.WriteByte('\\')
			out.WriteRune(c)
		case c < ' ' || c == 0x7f:
			if at := strings.IndexRune("\a\b\x1b\f\n\r\t\v", c); at >= 0 {
				out.WriteByte('\\')
				out.WriteByte("abEfnrtv"[at])
			} else {
				fmt.Fprintf(&out, `\%03o`, c)
			}
		default:
			out.WriteRune(c)
		}
		i += size
	}
	out.WriteByte('\'')
	return out.String()
}

// quoteAlways is the quoting of ${x@Q} and of `declare -p` for keys.
func quoteAlways(text string) string {
	if !printable(text) {
		return dollarQuote(text)
	}
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}

// quoteIfNeeded is the quoting of set -x.
func quoteIfNeeded(text string) string {
	if text == "" {
		return "''"
	}
	if strings.ContainsAny(text, " \t\n|&;()<>$`\\\"'*?[]#~=%!{}") || !printable(text) {
		return quoteAlways(text)
	}
	return text
}

// quoteDouble is the quoting of values that `declare -p` prints.
func quoteDouble(text string) string {
	if !printable(text) {
		return dollarQuote(text)
	}
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "$", `\$`, "`", "\\`").Replace(text) + `"`
}

// quoteBackslash is printf's %q.
func quoteBackslash(text string) string {
	if text == "" {
		return "''"
	}
	if !printable(text) {
		return dollarQuote(text)
	}
	var out strings.Builder
	for i, c := range text {
		if strings.ContainsRune(" \t|&;()<>$`\\\"'*?[]!^{},", c) || i == 0 && (c == '#' || c == '~') {
			out.WriteByte('\\')
		}
		out.WriteRune(c)
	}
	return out.String()
}

// quoteKey is the quoting of a key that `declare -p` prints.
func quoteKey(k kind, key string) string {
	if k == indexed || !strings.ContainsAny(key, " \t\n|&;()<>$`\\\"'*?[]#~=%!{}@") && key != "" && printable(key) {
		return key
	}
	return quoteDouble(key)
}

// attributes are the letters of `declare`.
func attributes(v *variable) string {
	letters := ""
	add := func(on bool, letter string) {
		if on {
			letters += letter
		}
	}
	add(v.kind == indexed, "a")
	add(v.kind == associative, "A")
	add(v.integer, "i")
	add(v.nameref, "n")
	add(v.readonly, "r")
	add(v.exported, "x")
	add(v.lower, "l")
	add(v.upper, "u")
	return letters
}

// declaration is a variable as `declare -p` prints it; short is the form of ${name@A}.
func declaration(name string, v *variable, short bool) string {
	flags := attributes(v)
	if short && flags == "" {
		return name + "=" + quoteAlways(v.text)
	}
	if flags == "" {
		flags = "-"
	}
	line := "declare -" + flags + " " + name
	switch v.kind {
	case indexed:
		if !v.set && len(v.list.indices) == 0 {
			return line
		}
		parts := make([]string, len(v.list.indices))
		for i, index := range v.list.indices {
			parts[i] = "[" + itoa(index) + "]=" + quoteDouble(v.list.values[i])
		}
		return line + "=(" + strings.Join(parts, " ") + ")"
	case associative:
		if !v.set && len(v.table.entries) == 0 {
			return line
		}
		var out strings.Builder
		v.table.each(func(key, value string) {
			out.WriteString("[" + quoteKey(associative, key) + "]=" + quoteDouble(value) + " ")
		})
		return line + "=(" + out.String() + ")"
	}
	if !v.set {
		return line
	}
	if short {
		return line + "=" + quoteAlways(v.text)
	}
	return line + "=" + quoteDouble(v.text)
}
