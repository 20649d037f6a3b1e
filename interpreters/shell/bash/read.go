package bash

import (
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// readOptions are those of read.
type readOptions struct {
	raw       bool
	array     string
	delimiter byte
	count     int // -1 is a line
	exact     bool
	fd        int
	names     []string
	// patience is how long read waits for its input; a negative one is no limit.
	patience time.Duration
	until    time.Time
	late     bool
}

func readBuiltin(s *Shell, args []string) error {
	o := readOptions{delimiter: '\n', count: -1, patience: -1}
	rest := args[1:]
options:
	for len(rest) > 0 && len(rest[0]) > 1 && rest[0][0] == '-' {
		arg := rest[0]
		rest = rest[1:]
		if arg == "--" {
			break
		}
		for i := 1; i < len(arg); i++ {
			c := arg[i]
			switch c {
			case 'r':
				o.raw = true
				continue
			case 's', 'e':
				continue
			}
			if strings.IndexByte("adnNptuiU", c) < 0 {
				return s.usage(2, "read: -%c: invalid option", c)
			}
			value := arg[i+1:]
			if value == "" {
				if len(rest) == 0 {
					return s.usage(2, "read: -%c: option requires an argument", c)
				}
				value, rest = rest[0], rest[1:]
			}
			if !o.set(c, value) {
				return s.usage(1, "read: %s: invalid number for -%c", value, c)
			}
			continue options
		}
	}
	o.names = rest
	d := s.fds[o.fd]
	if d == nil {
		return s.usage(1, "read: %d: invalid file descriptor: Bad file descriptor", o.fd)
	}
	for _, name := range o.names {
		if base, _, _ := splitSubscript(name); !validName(base) {
			return s.usage(1, "read: `%s': not a valid identifier", name)
		}
	}
	if o.patience == 0 {
		// Only a check whether there is something to read.
		return s.done(boolStatus(d.ready(time.Now())))
	}
	if o.patience > 0 {
		o.until = time.Now().Add(o.patience)
	}
	text, escaped, ended := s.readLine(d, &o)
	d.giveBack()
	if err := s.assignRead(&o, text, escaped); err != nil {
		if err := s.unassigned("read", err); err != nil {
			return err
		}
		return s.done(1)
	}
	if o.late {
		// As if the signal SIGALRM had come.
		return s.done(142)
	}
	return s.done(boolStatus(ended))
}

func (o *readOptions) set(letter byte, value string) bool {
	var err error
	switch letter {
	case 'a':
		o.array = value
	case 'd':
		o.delimiter = 0
		if value != "" {
			o.delimiter = value[0]
		}
	case 'n', 'N':
		o.count, err = strconv.Atoi(value)
		o.exact = letter == 'N'
	case 'u':
		o.fd, err = strconv.Atoi(value)
	case 't':
		var seconds float64
		seconds, err = strconv.ParseFloat(value, 64)
		if seconds < 0 {
			return false
		}
		o.patience = time.Duration(min(seconds, 1e6) * float64(time.Second))
	}
	return err == nil
}

// readLine reads up to the delimiter. escaped marks bytes that a backslash protects from splitting. ended says whether
// the delimiter, or the number of characters, was reached.
func (s *Shell) readLine(d *descriptor, o *readOptions) (text string, escaped map[int]bool, ended bool) {
	var out strings.Builder
	characters := 0
	if o.count == 0 {
		return "", nil, true
	}
	for {
		s.tick()
		if !o.until.IsZero() && !d.ready(o.until) {
			o.late = true
			return out.String(), escaped, false
		}
		c, err := d.readByte()
		if err != nil {
			return out.String(), escaped, false
		}
		switch {
		case c == o.delimiter && !o.exact:
			return out.String(), escaped, true
		case c == '\\' && !o.raw:
			next, err := d.readByte()
			if err != nil {
				return out.String(), escaped, false
			}
			if next == '\n' {
				continue
			}
			if escaped == nil {
				escaped = map[int]bool{}
			}
			escaped[out.Len()] = true
			out.WriteByte(next)
			characters++
		case c == 0:
			continue
		default:
			out.WriteByte(c)
			if utf8.RuneStart(c) {
				characters++
			}
			// A character of several bytes is read whole.
			for more := continuation(c); o.count > 0 && more > 0; more-- {
				if next, err := d.readByte(); err == nil {
					out.WriteByte(next)
				}
			}
		}
		s.checkLength(out.Len(), "a line that read reads")
		if o.count > 0 && characters >= o.count {
			return out.String(), escaped, true
		}
	}
}

// continuation is the number of bytes that follow the first one of a character.
func continuation(first byte) int {
	switch {
	case first >= 0xf0:
		return 3
	case first >= 0xe0:
		return 2
	case first >= 0xc0:
		return 1
	}
	return 0
}

// assignRead splits what was read and gives it to the names.
func (s *Shell) assignRead(o *readOptions, text string, escaped map[int]bool) error {
	if o.exact {
		name := "REPLY"
		if len(o.names) > 0 {
			name = o.names[0]
		}
		for _, other := range o.names[min(1, len(o.names)):] {
			if err := s.assignNamed(other, ""); err != nil {
				return err
			}
		}
		return s.assignNamed(name, text)
	}
	ifs, ok := s.get("IFS")
	if !ok {
		ifs = " \t\n"
	}
	if o.array != "" {
		var fields []string
		rest, at := text, 0
		for {
			field, next, more := cutField(rest, ifs, escaped, at, false)
			if !more {
				break
			}
			fields = append(fields, field)
			rest, at = rest[next:], at+next
		}
		return s.setList(o.array, fields)
	}
	if len(o.names) == 0 {
		return s.setText("REPLY", text)
	}
	rest, at := text, 0
	for i, name := range o.names {
		field, next, more := cutField(rest, ifs, escaped, at, i == len(o.names)-1)
		if !more {
			field, next = "", 0
		}
		if err := s.assignNamed(name, field); err != nil {
			return err
		}
		rest, at = rest[next:], at+next
	}
	return nil
}

func (s *Shell) assignNamed(name, value string) error {
	base, subscript, ok, err := s.namedElement(name)
	if err != nil {
		return err
	}
	if ok {
		return s.setElement(base, subscript, value, false)
	}
	return s.setText(name, value)
}

// cutField takes a field from the begin of a text. The last name gets all that is left.
func cutField(text, ifs string, escaped map[int]bool, at int, last bool) (field string, next int, more bool) {
	isSpace := func(i int) bool {
		return !escaped[at+i] && strings.IndexByte(" \t\n", text[i]) >= 0 && strings.IndexByte(ifs, text[i]) >= 0
	}
	isSeparator := func(i int) bool { return !escaped[at+i] && strings.IndexByte(ifs, text[i]) >= 0 }
	start := 0
	for start < len(text) && isSpace(start) {
		start++
	}
	if start == len(text) {
		return "", start, false
	}
	end := start
	for end < len(text) && !isSeparator(end) {
		end++
	}
	after := end
	for after < len(text) && isSpace(after) {
		after++
	}
	if after < len(text) && isSeparator(after) && !isSpace(after) {
		after++
		for after < len(text) && isSpace(after) {
			after++
		}
	}
	if !last || after == len(text) {
		return text[start:end], after, true
	}
	stop := len(text)
	for stop > start && isSpace(stop-1) {
		stop--
	}
	return text[start:stop], len(text), true
}

// mapfileOptions are those of mapfile.
type mapfileOptions struct {
	delimiter               byte
	trim, keep              bool
	skip, count, origin, fd int
	callback                string
	quantum                 int
}

// mapfileBuiltin runs mapfile.
func mapfileBuiltin(s *Shell, args []string) error {
	o := mapfileOptions{delimiter: '\n', quantum: 5000}
	rest := args[1:]
options:
	for len(rest) > 0 && len(rest[0]) > 1 && rest[0][0] == '-' {
		option := rest[0]
		rest = rest[1:]
		if option == "--" {
			break
		}
		for i := 1; i < len(option); i++ {
			if option[i] == 't' {
				o.trim = true
				continue
			}
			if strings.IndexByte("dnOsuCc", option[i]) < 0 {
				return s.usage(2, "%s: -%c: invalid option", args[0], option[i])
			}
			value := option[i+1:]
			if value == "" {
				if len(rest) == 0 {
					return s.usage(2, "%s: -%c: option requires an argument", args[0], option[i])
				}
				value, rest = rest[0], rest[1:]
			}
			if !o.set(option[i], value) {
				return s.usage(1, "%s: %s: invalid number for -%c", args[0], value, option[i])
			}
			continue options
		}
	}
	name := "MAPFILE"
	if len(rest) > 0 {
		name = rest[0]
	}
	if !validName(name) {
		return s.usage(1, "%s: `%s': not a valid identifier", args[0], name)
	}
	d := s.fds[o.fd]
	if d == nil {
		return s.usage(1, "%s: %d: invalid file descriptor: Bad file descriptor", args[0], o.fd)
	}
	if v := s.variable(name); v != nil && v.kind == associative {
		return s.usage(1, "%s: %s: not an indexed array", args[0], name)
	}
	if err := s.readArray(d, name, &o); err != nil {
		if _, ok := err.(*readonlyError); !ok {
			if _, ok := err.(*shellError); !ok {
				return err
			}
		}
		if err := s.unassigned(args[0], err); err != nil {
			return err
		}
		return s.done(1)
	}
	return s.done(0)
}

func (o *mapfileOptions) set(letter byte, value string) bool {
	n, err := strconv.Atoi(value)
	switch letter {
	case 'd':
		o.delimiter = 0
		if value != "" {
			o.delimiter = value[0]
		}
		return true
	case 'C':
		o.callback = value
		return true
	case 'n':
		o.count = n
	case 'O':
		o.origin, o.keep = n, true
	case 's':
		o.skip = n
	case 'u':
		o.fd = n
	case 'c':
		o.quantum = n
		return err == nil && n > 0
	}
	return err == nil && n >= 0
}

// readArray reads lines into an array. Without a callback, it assigns all of them at once.
func (s *Shell) readArray(d *descriptor, name string, o *mapfileOptions) error {
	if !o.keep {
		if err := s.setList(name, nil); err != nil {
			return err
		}
	}
	var lines []string
	line := readOptions{raw: true, delimiter: o.delimiter, count: -1}
	for n := 0; o.count == 0 || n < o.count; n++ {
		text, _, ended := s.readLine(d, &line)
		if !ended && text == "" {
			break
		}
		if o.skip > 0 {
			o.skip--
			n--
			continue
		}
		if ended && !o.trim {
			text += string([]byte{o.delimiter})
		}
		if o.callback == "" {
			lines = append(lines, text)
		} else {
			at := strconv.Itoa(o.origin + n)
			if (n+1)%o.quantum == 0 {
				if err := evalBuiltin(s, []string{"eval", o.callback + " " + at + " " + quoteAlways(text)}); err != nil {
					return err
				}
			}
			if err := s.setElement(name, at, text, false); err != nil {
				return err
			}
		}
		if !ended {
			break
		}
	}
	d.giveBack()
	if !o.keep && o.callback == "" {
		return s.setList(name, lines)
	}
	for i, text := range lines {
		if err := s.setElement(name, strconv.Itoa(o.origin+i), text, false); err != nil {
			return err
		}
	}
	return nil
}

// getoptsBuiltin runs getopts.
func getoptsBuiltin(s *Shell, args []string) error {
	if len(args) < 3 {
		return s.usage(2, "getopts: usage: getopts optstring name [arg ...]")
	}
	spec, name, params := args[1], args[2], s.params
	if len(args) > 3 {
		params = args[3:]
	}
	silent := strings.HasPrefix(spec, ":")
	spec = strings.TrimPrefix(spec, ":")
	at, err := strconv.Atoi(s.text("OPTIND"))
	if err != nil || at < 1 {
		at = 1
	}
	end := func() error {
		s.getoptsIn = 0
		s.setIndex(at)
		if err := s.setText(name, "?"); err != nil {
			s.refused("getopts", err)
		}
		s.unset("OPTARG")
		return s.done(1)
	}
	// What the name gets.
	result := "?"
	if at > len(params) {
		return end()
	}
	arg := params[at-1]
	if s.getoptsIn == 0 {
		if arg == "--" {
			at++
			return end()
		}
		if len(arg) < 2 || arg[0] != '-' {
			return end()
		}
		s.getoptsIn = 1
	}
	letter := arg[s.getoptsIn]
	in := s.getoptsIn + 1
	where := strings.IndexByte(spec, letter)
	s.unset("OPTARG")
	switch {
	case where < 0 || letter == ':':
		if silent {
			s.setText("OPTARG", string(letter))
		} else {
			s.printGetopts("illegal option -- " + string(letter))
		}
	case where+1 < len(spec) && spec[where+1] == ':':
		value, found := arg[in:], true
		if value == "" {
			if found = at < len(params); found {
				value = params[at]
				at++
			}
		}
		in = len(arg)
		switch {
		case found:
			s.setText("OPTARG", value)
			result = string(letter)
		case silent:
			s.setText("OPTARG", string(letter))
			result = ":"
		default:
			s.printGetopts("option requires an argument -- " + string(letter))
		}
	default:
		result = string(letter)
	}
	if in >= len(arg) {
		at, in = at+1, 0
	}
	s.setIndex(at)
	s.getoptsIn = in
	if err := s.setText(name, result); err != nil {
		s.refused("getopts", err)
		return s.done(2)
	}
	return s.done(0)
}

func (s *Shell) setIndex(at int) { s.setText("OPTIND", strconv.Itoa(at)) }

func (s *Shell) printGetopts(text string) {
	if s.text("OPTERR") != "0" {
		s.fds[2].Write([]byte(s.arg0 + ": " + text + "\n"))
	}
}
