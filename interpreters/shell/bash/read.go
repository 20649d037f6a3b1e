package bash

import (
	"strconv"
	"strings"
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
	fromTty   bool
}

func readBuiltin(s *Shell, args []string) error {
	o := readOptions{delimiter: '\n', count: -1}
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
	text, escaped, ended := s.readLine(d, &o)
	if err := s.assignRead(&o, text, escaped); err != nil {
		s.refused("read", err)
		return s.done(1)
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
		// Input is there, or it never comes: nothing waits for a person.
		_, err = strconv.ParseFloat(value, 64)
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

// mapfileBuiltin runs mapfile.
func mapfileBuiltin(s *Shell, args []string) error {
	name, delimiter := "MAPFILE", byte('\n')
	trim, skip, count, origin, fd := false, 0, 0, 0, 0
	keep := false
	rest := args[1:]
	for len(rest) > 0 && len(rest[0]) > 1 && rest[0][0] == '-' {
		option := rest[0]
		rest = rest[1:]
		if option == "-t" {
			trim = true
			continue
		}
		if option == "--" {
			break
		}
		letter, value := option[1], option[2:]
		if strings.IndexByte("dnOsu", letter) < 0 {
			return s.usage(2, "%s: %s is not supported", args[0], option)
		}
		if letter == 't' {
			continue
		}
		if value == "" {
			if len(rest) == 0 {
				return s.usage(2, "%s: %s: option requires an argument", args[0], option)
			}
			value, rest = rest[0], rest[1:]
		}
		n, err := strconv.Atoi(value)
		if letter != 'd' && err != nil {
			return s.usage(1, "%s: %s: invalid number", args[0], value)
		}
		switch letter {
		case 'd':
			delimiter = 0
			if value != "" {
				delimiter = value[0]
			}
		case 'n':
			count = n
		case 'O':
			origin, keep = n, true
		case 's':
			skip = n
		case 'u':
			fd = n
		}
	}
	if len(rest) > 0 {
		name = rest[0]
	}
	d := s.fds[fd]
	if d == nil {
		return s.usage(1, "%s: %d: invalid file descriptor", args[0], fd)
	}
	var lines []string
	o := readOptions{raw: true, delimiter: delimiter, count: -1}
	for count == 0 || len(lines) < count {
		text, _, ended := s.readLine(d, &o)
		if !ended && text == "" {
			break
		}
		if skip > 0 {
			skip--
			continue
		}
		if ended && !trim {
			text += string([]byte{delimiter})
		}
		lines = append(lines, text)
		if !ended {
			break
		}
	}
	if keep {
		for i, line := range lines {
			if err := s.setElement(name, strconv.Itoa(origin+i), line, false); err != nil {
				s.refused(args[0], err)
				return s.done(1)
			}
		}
		return s.done(0)
	}
	if err := s.setList(name, lines); err != nil {
		s.refused(args[0], err)
		return s.done(1)
	}
	return s.done(0)
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
			}
			at++
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
