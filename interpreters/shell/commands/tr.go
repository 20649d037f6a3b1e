package commands

import (
	"fmt"
	"strings"

	"github.com/boathook/boathook/interpreters/shell/bash"
)

func reasonOf(err error) string { return bash.Reason(err) }

// trSet decodes a set of tr, of bytes: GNU's tr knows no others.
func trSet(text string, fill int) ([]byte, error) {
	var set []byte
	star := -1
	var starred byte
	next := func(i int) (byte, int) {
		if text[i] != '\\' || i+1 == len(text) {
			return text[i], i + 1
		}
		c := text[i+1]
		if at := strings.IndexByte("abfnrtv", c); at >= 0 {
			return "\a\b\f\n\r\t\v"[at], i + 2
		}
		if c >= '0' && c <= '7' {
			n, end := 0, i+1
			for end < len(text) && end < i+4 && text[end] >= '0' && text[end] <= '7' {
				n = n*8 + int(text[end]-'0')
				end++
			}
			return byte(n), end
		}
		return c, i + 2
	}
	for i := 0; i < len(text); {
		if strings.HasPrefix(text[i:], "[:") {
			if end := strings.Index(text[i:], ":]"); end > 0 {
				class, ok := trClass(text[i+2 : i+end])
				if !ok {
					return nil, fmt.Errorf("invalid character class '%s'", text[i+2:i+end])
				}
				set = append(set, class...)
				i += end + 2
				continue
			}
		}
		if strings.HasPrefix(text[i:], "[=") && len(text) > i+4 && text[i+3:i+5] == "=]" {
			set = append(set, text[i+2])
			i += 5
			continue
		}
		if text[i] == '[' && i+2 < len(text) {
			c, after := next(i + 1)
			if after < len(text) && text[after] == '*' {
				if end := strings.IndexByte(text[after:], ']'); end > 0 {
					count := 0
					fmt.Sscanf(text[after+1:after+end], "%d", &count)
					if count == 0 {
						star, starred = len(set), c
					}
					set = append(set, strings.Repeat(string([]byte{c}), count)...)
					i = after + end + 1
					continue
				}
			}
		}
		low, after := next(i)
		if after+1 < len(text) && text[after] == '-' {
			high, end := next(after + 1)
			if high < low {
				return nil, fmt.Errorf("range-endpoints of '%s' are in reverse collating sequence order", text[i:end])
			}
			for b := int(low); b <= int(high); b++ {
				set = append(set, byte(b))
			}
			i = end
			continue
		}
		set = append(set, low)
		i = after
	}
	if star >= 0 && fill > len(set) {
		filled := append([]byte(nil), set[:star]...)
		for len(filled) < star+fill-len(set) {
			filled = append(filled, starred)
		}
		set = append(filled, set[star:]...)
	}
	return set, nil
}

func trClass(name string) ([]byte, bool) {
	tests := map[string]func(byte) bool{
		"upper": func(b byte) bool { return b >= 'A' && b <= 'Z' },
		"lower": func(b byte) bool { return b >= 'a' && b <= 'z' },
		"digit": func(b byte) bool { return b >= '0' && b <= '9' },
		"alpha": func(b byte) bool { return b|0x20 >= 'a' && b|0x20 <= 'z' },
		"alnum": func(b byte) bool { return b|0x20 >= 'a' && b|0x20 <= 'z' || b >= '0' && b <= '9' },
		"space": func(b byte) bool { return b == ' ' || b >= 9 && b <= 13 },
		"blank": func(b byte) bool { return b == ' ' || b == '\t' },
		"punct": func(b byte) bool {
			return b > 32 && b < 127 && !(b|0x20 >= 'a' && b|0x20 <= 'z' || b >= '0' && b <= '9')
		},
		"cntrl":  func(b byte) bool { return b < 32 || b == 127 },
		"print":  func(b byte) bool { return b >= 32 && b < 127 },
		"graph":  func(b byte) bool { return b > 32 && b < 127 },
		"xdigit": func(b byte) bool { return b >= '0' && b <= '9' || b|0x20 >= 'a' && b|0x20 <= 'f' },
	}
	test, ok := tests[name]
	if !ok {
		return nil, false
	}
	var class []byte
	for b := range 256 {
		if test(byte(b)) {
			class = append(class, byte(b))
		}
	}
	return class, true
}

func tr(c *call) int {
	if len(c.args) == 0 || len(c.args) > 2 {
		return c.Fail(1, "one or two sets are needed")
	}
	for _, arg := range c.args {
		for i := range len(arg) {
			if arg[i] >= 0x80 {
				return c.Fail(1, "'%s': characters outside of ASCII are not supported: tr works on bytes; use sed y/…/…/", arg)
			}
		}
	}
	from, err := trSet(c.args[0], 0)
	if err != nil {
		return c.Fail(1, "%s", err)
	}
	complement := c.flags["c"] || c.flags["C"]
	if complement {
		from = complementOf(from)
	}
	var to []byte
	two := len(c.args) == 2
	if two {
		if to, err = trSet(c.args[1], len(from)); err != nil {
			return c.Fail(1, "%s", err)
		}
	}
	translate := two && !c.flags["d"]
	switch {
	case translate && len(to) == 0:
		return c.Fail(1, "when not truncating set1, string2 must be non-empty")
	case !two && !c.flags["d"] && !c.flags["s"]:
		return c.Fail(1, "missing operand after '%s'", c.args[0])
	case c.flags["d"] && two && !c.flags["s"]:
		return c.Fail(1, "extra operand '%s'", c.args[1])
	}
	var table [256]byte
	var remove, squeeze [256]bool
	for b := range 256 {
		table[b] = byte(b)
	}
	for i, b := range from {
		switch {
		case c.flags["d"]:
			remove[b] = true
		case translate && i < len(to):
			table[b] = to[i]
		case translate && !c.flags["t"]:
			table[b] = to[len(to)-1]
		}
	}
	if c.flags["s"] {
		set := from
		if two {
			set = to
		}
		for _, b := range set {
			squeeze[b] = true
		}
	}
	last := -1
	buffer := make([]byte, 32<<10)
	for {
		c.Tick()
		n, err := c.Stdin.Read(buffer)
		for _, b := range buffer[:n] {
			if remove[b] {
				continue
			}
			b = table[b]
			if squeeze[b] && int(b) == last {
				continue
			}
			last = int(b)
			c.out.WriteByte(b)
		}
		if err != nil {
			return c.status
		}
	}
}

func complementOf(set []byte) []byte {
	var in [256]bool
	for _, b := range set {
		in[b] = true
	}
	var rest []byte
	for b := range 256 {
		if !in[b] {
			rest = append(rest, byte(b))
		}
	}
	return rest
}
