package bash

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Strftime formats a time as date does in the C locale, with GNU's flags - _ 0 ^ and widths.
func Strftime(format string, t time.Time) string {
	var out strings.Builder
	for i := 0; i < len(format); i++ {
		if format[i] != '%' || i+1 == len(format) {
			out.WriteByte(format[i])
			continue
		}
		start := i
		i++
		flag := byte(0)
		for i < len(format) && strings.IndexByte("-_0^#", format[i]) >= 0 {
			flag = format[i]
			i++
		}
		width := 0
		for i < len(format) && format[i] >= '0' && format[i] <= '9' {
			width = width*10 + int(format[i]-'0')
			i++
		}
		colons := 0
		for i < len(format) && format[i] == ':' {
			colons++
			i++
		}
		if i < len(format) && (format[i] == 'E' || format[i] == 'O') {
			i++
		}
		if i == len(format) {
			out.WriteString(format[start:])
			break
		}
		text, ok := timeField(format[i], flag, min(width, 1000), colons, t)
		if !ok {
			text = format[start : i+1]
		}
		out.WriteString(text)
	}
	return out.String()
}

func timeField(verb, flag byte, width, colons int, t time.Time) (string, bool) {
	number := func(n, size int, pad byte) (string, bool) {
		switch flag {
		case '-':
			return strconv.Itoa(n), true
		case '_':
			pad = ' '
		case '0':
			pad = '0'
		}
		return padLeft(strconv.Itoa(n), max(size, width), pad), true
	}
	text := func(s string) (string, bool) {
		if flag == '^' {
			s = strings.ToUpper(s)
		}
		return padLeft(s, width, ' '), true
	}
	hour12 := (t.Hour()+11)%12 + 1
	switch verb {
	case '%':
		return "%", true
	case 'n':
		return "\n", true
	case 't':
		return "\t", true
	case 'a':
		return text(t.Format("Mon"))
	case 'A':
		return text(t.Format("Monday"))
	case 'b', 'h':
		return text(t.Format("Jan"))
	case 'B':
		return text(t.Format("January"))
	case 'c':
		return text(t.Format("Mon Jan _2 15:04:05 2006"))
	case 'C':
		return number(t.Year()/100, 2, '0')
	case 'd':
		return number(t.Day(), 2, '0')
	case 'D', 'x':
		return text(t.Format("01/02/06"))
	case 'e':
		return number(t.Day(), 2, ' ')
	case 'F':
		return text(t.Format("2006-01-02"))
	case 'g':
		year, _ := t.ISOWeek()
		return number(year%100, 2, '0')
	case 'G':
		year, _ := t.ISOWeek()
		return number(year, 4, '0')
	case 'H':
		return number(t.Hour(), 2, '0')
	case 'I':
		return number(hour12, 2, '0')
	case 'j':
		return number(t.YearDay(), 3, '0')
	case 'k':
		return number(t.Hour(), 2, ' ')
	case 'l':
		return number(hour12, 2, ' ')
	case 'm':
		return number(int(t.Month()), 2, '0')
	case 'M':
		return number(t.Minute(), 2, '0')
	case 'N':
		return nanoseconds(flag, width, t)
	case 'p':
		return text(t.Format("PM"))
	case 'P':
		return text(t.Format("pm"))
	case 'q':
		return number((int(t.Month())+2)/3, 1, '0')
	case 'r':
		return text(t.Format("03:04:05 PM"))
	case 'R':
		return text(t.Format("15:04"))
	case 's':
		return number(int(t.Unix()), 1, '0')
	case 'S':
		return number(t.Second(), 2, '0')
	case 'T', 'X':
		return text(t.Format("15:04:05"))
	case 'u':
		return number((int(t.Weekday())+6)%7+1, 1, '0')
	case 'U':
		return number((t.YearDay()+6-int(t.Weekday()))/7, 2, '0')
	case 'V':
		_, week := t.ISOWeek()
		return number(week, 2, '0')
	case 'w':
		return number(int(t.Weekday()), 1, '0')
	case 'W':
		return number((t.YearDay()+6-(int(t.Weekday())+6)%7)/7, 2, '0')
	case 'y':
		return number(t.Year()%100, 2, '0')
	case 'Y':
		return number(t.Year(), 1, '0')
	case 'z':
		return text(t.Format([]string{"-0700", "-07:00", "-07:00:00"}[min(colons, 2)]))
	case 'Z':
		return text(t.Format("MST"))
	}
	return "", false
}

func nanoseconds(flag byte, width int, t time.Time) (string, bool) {
	digits := fmt.Sprintf("%09d", t.Nanosecond())
	if flag == '-' {
		return strings.TrimRight(digits, "0"), true
	}
	if width > 0 && width < 9 {
		digits = digits[:width]
	}
	return digits, true
}

func padLeft(text string, width int, pad byte) string {
	if missing := width - len(text); missing > 0 {
		return strings.Repeat(string(pad), missing) + text
	}
	return text
}
