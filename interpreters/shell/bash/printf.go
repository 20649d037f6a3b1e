package bash

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// printfBuiltin runs printf.
func printfBuiltin(s *Shell, args []string) error {
	rest := args[1:]
	name := ""
	if len(rest) > 0 && strings.HasPrefix(rest[0], "-v") {
		if name = rest[0][2:]; name == "" {
			if len(rest) < 2 {
				return s.usage(2, "printf: -v: option requires an argument")
			}
			name, rest = rest[1], rest[1:]
		}
		rest = rest[1:]
		if base, _, _ := splitSubscript(name); !validName(base) {
			return s.usage(2, "printf: `%s': not a valid identifier", name)
		}
	}
	if len(rest) > 0 && rest[0] == "--" {
		rest = rest[1:]
	}
	if len(rest) == 0 {
		return s.usage(2, "printf: usage: printf [-v var] format [arguments]")
	}
	f := &Formatter{Now: s.world.Now, Started: s.world.started, Tick: s.tick, complain: func(text string) { s.complain("printf: %s", text) }}
	if zone := s.text("TZ"); strings.Contains(rest[0], ")T") && !IsUTC(zone) {
		return s.usage(1, "printf: TZ=%s: only UTC is supported", zone)
	}
	var failure error
	if name == "" {
		// As standard output of bash is buffered by lines, what ends with a newline comes before an error.
		f.complain = func(text string) {
			if lines := f.lines(); lines != "" && failure == nil {
				failure = s.print("printf", lines)
			}
			s.complain("printf: %s", text)
		}
	}
	text, status := f.Format(rest[0], rest[1:])
	if failure != nil {
		return failure
	}
	s.checkLength(len(text), "the output of printf")
	if name != "" {
		if err := s.assignNamed(name, strings.ReplaceAll(text, "\x00", "")); err != nil {
			if err := s.unassigned("printf", err); err != nil {
				return err
			}
			status = 1
			if e, ok := err.(*shellError); ok && e.severe {
				status = 2
			}
		}
		return s.done(status)
	}
	if err := s.print("printf", text); err != nil || s.status != 0 {
		return err
	}
	return s.done(status)
}

// IsUTC says whether a value of TZ means UTC. The zones of the world are not here.
func IsUTC(zone string) bool {
	switch strings.TrimPrefix(zone, ":") {
	case "", "UTC", "UTC0", "GMT", "GMT0", "Etc/UTC", "Etc/GMT", "UCT", "Etc/UCT", "Z", "Zulu", "Universal":
		return true
	}
	return false
}

// Formatter formats as printf does.
type Formatter struct {
	Now     func() time.Time
	Started time.Time
	// Tick is called for each use of the format.
	Tick     func()
	complain func(string)
	args     []string
	used     bool // an argument was read
	status   int
	out      strings.Builder
}

// NewFormatter is for the program printf; complain prints an error.
func NewFormatter(now func() time.Time, tick func(), complain func(string)) *Formatter {
	return &Formatter{Now: now, Started: now(), Tick: tick, complain: complain}
}

// Format uses the format again until the arguments are used up.
func (f *Formatter) Format(format string, args []string) (string, int) {
	f.args = args
	for {
		f.Tick()
		f.used = false
		if !f.once(format) || len(f.args) == 0 || !f.used {
			return f.out.String(), f.status
		}
	}
}

// lines takes the whole lines from the output so far.
func (f *Formatter) lines() string {
	text := f.out.String()
	end := strings.LastIndexByte(text, '\n') + 1
	if end == 0 {
		return ""
	}
	f.out.Reset()
	f.out.WriteString(text[end:])
	return text[:end]
}

func (f *Formatter) next() (string, bool) {
	f.used = true
	if len(f.args) == 0 {
		return "", false
	}
	arg := f.args[0]
	f.args = f.args[1:]
	return arg, true
}

func (f *Formatter) fail(format string, args ...any) {
	f.complain(fmt.Sprintf(format, args...))
	f.status = 1
}

// once formats with the next arguments. It returns false where the output ends.
func (f *Formatter) once(format string) bool {
	for i := 0; i < len(format); i++ {
		switch format[i] {
		case '\\':
			decoded, size, ok := formatEscape(format[i+1:])
			if !ok {
				if i+1 < len(format) && format[i+1] == 'c' {
					return false
				}
				f.out.WriteByte('\\')
				continue
			}
			f.out.WriteString(decoded)
			i += size
		case '%':
			if i+1 < len(format) && format[i+1] == '%' {
				f.out.WriteByte('%')
				i++
				continue
			}
			size, ok := f.directive(format[i+1:])
			if !ok {
				return false
			}
			i += size
		default:
			f.out.WriteByte(format[i])
		}
	}
	return true
}

// formatEscape decodes an escape of a format, where \0 is not special.
func formatEscape(text string) (string, int, bool) {
	if text != "" && (text[0] == '\'' || text[0] == '?') {
		return text[:1], 1, text[0] == '\'' || text[0] == '?'
	}
	return escape(text)
}

// directive is a % with its flags, width and precision.
type directive struct {
	flags            string
	width, precision int // precision -1 is none
	verb             byte
	time             string
}

// directive formats one argument, and returns the length of the directive.
func (f *Formatter) directive(text string) (int, bool) {
	d := directive{precision: -1}
	i := 0
	for i < len(text) && strings.IndexByte("-+ #0'", text[i]) >= 0 {
		d.flags += text[i : i+1]
		i++
	}
	number := func() int {
		if i < len(text) && text[i] == '*' {
			i++
			arg, _ := f.next()
			return int(f.integer(arg))
		}
		n := 0
		for i < len(text) && text[i] >= '0' && text[i] <= '9' && n < 1<<24 {
			n = n*10 + int(text[i]-'0')
			i++
		}
		return n
	}
	if d.width = number(); d.width < 0 {
		d.flags += "-"
		d.width = -d.width
	}
	if i < len(text) && text[i] == '.' {
		i++
		d.precision = number()
	}
	for i < len(text) && strings.IndexByte("hlLjzt", text[i]) >= 0 {
		i++
	}
	if i < len(text) && text[i] == '(' {
		end := strings.IndexByte(text[i:], ')')
		if end < 0 || i+end+1 >= len(text) || text[i+end+1] != 'T' {
			f.fail("`(': invalid format character")
			return 0, false
		}
		d.time = text[i+1 : i+end]
		i += end + 1
	}
	if i == len(text) {
		f.fail("`%%': missing format character")
		return 0, false
	}
	d.verb = text[i]
	if !f.verb(&d) {
		return 0, false
	}
	return i + 1, true
}

func (f *Formatter) verb(d *directive) bool {
	switch d.verb {
	case 's':
		arg, _ := f.next()
		f.pad(d, truncate(arg, d.precision))
	case 'b':
		arg, _ := f.next()
		text, stop := percentB(arg)
		f.pad(d, truncate(text, d.precision))
		if stop {
			return false
		}
	case 'q':
		arg, _ := f.next()
		f.pad(d, truncate(quoteBackslash(arg), d.precision))
	case 'Q':
		// The precision counts what is quoted, and not the quotes.
		arg, _ := f.next()
		f.pad(d, quoteBackslash(truncate(arg, d.precision)))
	case 'c':
		arg, _ := f.next()
		if arg == "" {
			arg = "\x00"
		}
		f.pad(d, arg[:1])
	case 'd', 'i':
		arg, _ := f.next()
		n := f.integer(arg)
		digits := strconv.FormatInt(n, 10)
		f.number(d, n < 0, strings.TrimPrefix(digits, "-"), "")
	case 'u', 'o', 'x', 'X':
		arg, _ := f.next()
		f.unsigned(d, uint64(f.integer(arg)))
	case 'e', 'E', 'f', 'F', 'g', 'G', 'a', 'A':
		arg, _ := f.next()
		f.float(d, f.real(arg))
	case 'T':
		arg, given := f.next()
		f.pad(d, f.timeText(d.time, arg, given))
	case 'n':
		f.fail("%%n is not supported: use ${#variable}")
		return false
	default:
		f.fail("`%c': invalid format character", d.verb)
		return false
	}
	return true
}

// percentB decodes the escapes of %b, where an octal number may begin without a zero.
func percentB(text string) (string, bool) {
	var out strings.Builder
	for i := 0; i < len(text); i++ {
		if text[i] != '\\' || i+1 == len(text) {
			out.WriteByte(text[i])
			continue
		}
		c := text[i+1]
		if c == 'c' {
			return out.String(), true
		}
		if c == '0' {
			n, size := digits(text[i+2:], 8, 3)
			out.WriteByte(byte(n))
			i += 1 + size
			continue
		}
		decoded, size, ok := escape(text[i+1:])
		if !ok {
			out.WriteByte('\\')
			continue
		}
		out.WriteString(decoded)
		i += size
	}
	return out.String(), false
}

func truncate(text string, precision int) string {
	if precision < 0 || precision >= len(text) {
		return text
	}
	// bash counts bytes here.
	return text[:precision]
}

func (f *Formatter) pad(d *directive, text string) {
	missing := d.width - len(text)
	if missing <= 0 {
		f.out.WriteString(text)
		return
	}
	if strings.Contains(d.flags, "-") {
		f.out.WriteString(text + strings.Repeat(" ", missing))
		return
	}
	f.out.WriteString(strings.Repeat(" ", missing) + text)
}

// number writes an integer with its sign, prefix, precision and padding.
func (f *Formatter) number(d *directive, negative bool, digits, prefix string) {
	if d.precision >= 0 {
		if d.precision == 0 && digits == "0" {
			digits = ""
		}
		digits = strings.Repeat("0", max(0, d.precision-len(digits))) + digits
	}
	sign := ""
	switch {
	case negative:
		sign = "-"
	case strings.Contains(d.flags, "+") && d.verb != 'u':
		sign = "+"
	case strings.Contains(d.flags, " ") && d.verb != 'u':
		sign = " "
	}
	if strings.Contains(d.flags, "0") && !strings.Contains(d.flags, "-") && d.precision < 0 {
		digits = strings.Repeat("0", max(0, d.width-len(sign)-len(prefix)-len(digits))) + digits
	}
	f.pad(d, sign+prefix+digits)
}

func (f *Formatter) unsigned(d *directive, n uint64) {
	base := map[byte]int{'u': 10, 'o': 8, 'x': 16, 'X': 16}[d.verb]
	digits := strconv.FormatUint(n, base)
	prefix := ""
	if strings.Contains(d.flags, "#") && n != 0 {
		prefix = map[byte]string{'o': "0", 'x': "0x", 'X': "0X"}[d.verb]
	}
	if d.verb == 'X' {
		digits = strings.ToUpper(digits)
	}
	flags := d.flags
	d.flags = strings.NewReplacer("+", "", " ", "").Replace(flags)
	f.number(d, false, digits, prefix)
}

func (f *Formatter) float(d *directive, n float64) {
	format := "%" + strings.ReplaceAll(d.flags, "'", "")
	if d.width > 0 {
		format += strconv.Itoa(d.width)
	}
	if math.IsInf(n, 0) || math.IsNaN(n) {
		text := strings.ToLower(strings.TrimPrefix(fmt.Sprint(n), "+"))
		f.pad(d, text)
		return
	}
	precision := d.precision
	if precision < 0 {
		precision = 6
	}
	verb := d.verb
	if verb == 'F' {
		verb = 'f'
	}
	if verb == 'a' || verb == 'A' {
		f.fail("%%%c is not supported: use %%f", d.verb)
		return
	}
	fmt.Fprintf(&f.out, format+"."+strconv.Itoa(precision)+string(verb), n)
}

// integer reads an argument of %d: a number, or a quote with a character.
func (f *Formatter) integer(arg string) int64 {
	if arg == "" {
		return 0
	}
	if arg[0] == '\'' || arg[0] == '"' {
		c, _ := utf8.DecodeRuneInString(arg[1:])
		if len(arg) == 1 {
			return 0
		}
		return int64(c)
	}
	text := strings.TrimLeft(arg, " \t\n")
	n, err := strconv.ParseInt(text, 0, 64)
	if err == nil && !strings.Contains(text, "_") && !strings.HasPrefix(strings.TrimLeft(text, "+-"), "0b") && !strings.HasPrefix(strings.TrimLeft(text, "+-"), "0o") {
		return n
	}
	if u, unsignedErr := strconv.ParseUint(text, 0, 64); unsignedErr == nil {
		return int64(u)
	}
	if e, ok := err.(*strconv.NumError); ok && e.Err == strconv.ErrRange {
		f.fail("warning: %s: Numerical result out of range", arg)
		f.status = 0
		return n
	}
	// What is a number at the begin counts, with an error.
	end := 0
	for end < len(text) && (text[end] >= '0' && text[end] <= '9' || end == 0 && (text[0] == '-' || text[0] == '+')) {
		end++
	}
	f.fail("%s: invalid number", arg)
	n, _ = strconv.ParseInt(text[:end], 10, 64)
	return n
}

func (f *Formatter) real(arg string) float64 {
	if arg == "" {
		return 0
	}
	if arg[0] == '\'' || arg[0] == '"' {
		return float64(f.integer(arg))
	}
	text := strings.TrimSpace(arg)
	n, err := strconv.ParseFloat(text, 64)
	if err == nil {
		return n
	}
	// A number in base 16 may have no exponent in C.
	if strings.ContainsAny(text, "xX") && !strings.ContainsAny(text, "pP") {
		if n, err = strconv.ParseFloat(text+"p0", 64); err == nil {
			return n
		}
	}
	end := len(text)
	for end > 0 {
		if n, err := strconv.ParseFloat(text[:end], 64); err == nil {
			f.fail("%s: invalid number", arg)
			return n
		}
		end--
	}
	f.fail("%s: invalid number", arg)
	return 0
}

// timeText is %(format)T: of a time, of now, or of the start of the shell.
func (f *Formatter) timeText(format, arg string, given bool) string {
	at := f.Now()
	if given {
		switch n := f.integer(arg); n {
		case -1:
		case -2:
			at = f.Started
		default:
			at = time.Unix(n, 0)
		}
	}
	if format == "" {
		format = "%X"
	}
	return Strftime(format, at.UTC())
}
