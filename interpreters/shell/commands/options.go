package commands

import (
	"bufio"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/boathook/boathook/interpreters/shell/bash"
)

// call is a command with its options.
type call struct {
	*bash.Process
	flags  map[string]bool
	values map[string][]string
	args   []string
	status int
	out    *bufio.Writer
}

// spec says which options a command has.
type spec struct {
	// short is as for getopt: a colon after a letter says that it has a value; a plus at the begin, that the first
	// operand ends the options.
	short string
	// long gives the letter of each long option. An option without a letter is its own name; "name:" has a value.
	long map[string]string
	// digits says that -5 means the value 5 of this letter, as in head -5.
	digits byte
}

// define registers a command.
func define(name string, s spec, status int, run func(*call) int) {
	all[name] = func(p *bash.Process) int {
		c := &call{Process: p, flags: map[string]bool{}, values: map[string][]string{}}
		if err := c.parse(&s); err != nil {
			return p.Fail(status, "%s", err)
		}
		c.out = bufio.NewWriter(p.Stdout)
		result := run(c)
		if err := c.out.Flush(); err != nil && result == 0 {
			return p.Fail(1, "write error: %s", bash.Reason(err))
		}
		return result
	}
}

func (s *spec) takesValue(letter byte) (known, value bool) {
	at := strings.IndexByte(s.short, letter)
	if at < 0 || letter == ':' || letter == '+' {
		return false, false
	}
	return true, at+1 < len(s.short) && s.short[at+1] == ':'
}

func (c *call) parse(s *spec) error {
	args := c.Args[1:]
	for i := 0; i < len(args); i++ {
		arg := args[i]
		switch {
		case arg == "--":
			c.args = append(c.args, args[i+1:]...)
			return nil
		case strings.HasPrefix(arg, "--"):
			used, err := c.longOption(s, arg[2:], args[i+1:])
			if err != nil {
				return err
			}
			i += used
		case len(arg) > 1 && arg[0] == '-':
			used, err := c.shortOptions(s, arg[1:], args[i+1:])
			if err != nil {
				return err
			}
			i += used
		default:
			if strings.HasPrefix(s.short, "+") {
				c.args = append(c.args, args[i:]...)
				return nil
			}
			c.args = append(c.args, arg)
		}
	}
	return nil
}

func (c *call) shortOptions(s *spec, letters string, next []string) (used int, err error) {
	if s.digits != 0 {
		if _, err := strconv.Atoi(letters); err == nil {
			c.add(string(s.digits), letters)
			return 0, nil
		}
	}
	for i := 0; i < len(letters); i++ {
		known, value := s.takesValue(letters[i])
		if !known {
			return 0, fmt.Errorf("the option -%c is not supported", letters[i])
		}
		letter := letters[i : i+1]
		if !value {
			c.flags[letter] = true
			continue
		}
		if i+1 < len(letters) {
			c.add(letter, letters[i+1:])
			return 0, nil
		}
		if len(next) == 0 {
			return 0, fmt.Errorf("option requires an argument -- '%s'", letter)
		}
		c.add(letter, next[0])
		return 1, nil
	}
	return 0, nil
}

func (c *call) longOption(s *spec, text string, next []string) (used int, err error) {
	name, value, given := strings.Cut(text, "=")
	letter, known := s.long[name]
	own, ownValue := s.long[name+":"]
	switch {
	case ownValue:
		if letter = own; letter == "" {
			letter = name
		}
	case !known:
		return 0, fmt.Errorf("the option --%s is not supported", name)
	case letter == "":
		letter = name
	}
	wants := ownValue
	if len(letter) == 1 {
		_, wants = s.takesValue(letter[0])
	}
	switch {
	case !wants && given:
		return 0, fmt.Errorf("option '--%s' doesn't allow an argument", name)
	case !wants:
		c.flags[letter] = true
	case given:
		c.add(letter, value)
	case len(next) == 0:
		return 0, fmt.Errorf("option '--%s' requires an argument", name)
	default:
		c.add(letter, next[0])
		return 1, nil
	}
	return 0, nil
}

func (c *call) add(letter, value string) {
	c.flags[letter] = true
	c.values[letter] = append(c.values[letter], value)
}

// value is the last value of an option.
func (c *call) value(letter, otherwise string) string {
	if list := c.values[letter]; len(list) > 0 {
		return list[len(list)-1]
	}
	return otherwise
}

// open opens an operand; "-" is standard input. It reports an error and remembers it for the status.
func (c *call) open(name string) io.ReadCloser {
	if name == "-" {
		return io.NopCloser(c.Stdin)
	}
	if info, err := c.FS().Stat(c.Abs(name)); err == nil && info.IsDir() {
		c.failed("%s: Is a directory", name)
		return nil
	}
	r, err := c.Open(name)
	if err != nil {
		c.failed("%s: %s", name, bash.Reason(err))
		return nil
	}
	return r
}

func (c *call) failed(format string, args ...any) {
	c.flush()
	c.Fail(1, format, args...)
	c.status = 1
}

// flush writes what is buffered, so that it comes before an error.
func (c *call) flush() { c.out.Flush() }

// inputs calls use for each operand, or for standard input.
func (c *call) inputs(names []string, use func(name string, r io.Reader)) {
	if len(names) == 0 {
		names = []string{"-"}
	}
	for _, name := range names {
		if r := c.open(name); r != nil {
			use(name, r)
			r.Close()
		}
	}
}

// lines reads lines, up to the delimiter. ended says whether the line had one. visit returns false to stop.
func (c *call) lines(r io.Reader, delimiter byte, visit func(line string, ended bool) bool) {
	in := bufio.NewReader(r)
	for {
		c.Tick()
		line, err := in.ReadString(delimiter)
		c.CheckLength(len(line))
		if line != "" {
			ended := line[len(line)-1] == delimiter
			if ended {
				line = line[:len(line)-1]
			}
			if !visit(line, ended) {
				return
			}
		}
		if err != nil {
			if err != io.EOF {
				c.failed("%s", bash.Reason(err))
			}
			return
		}
	}
}

// allLines reads the lines of all inputs.
func (c *call) allLines(names []string, delimiter byte) []string {
	var lines []string
	size := 0
	c.inputs(names, func(_ string, r io.Reader) {
		c.lines(r, delimiter, func(line string, _ bool) bool {
			size += len(line) + 16
			c.CheckLength(size)
			lines = append(lines, line)
			return true
		})
	})
	return lines
}

// all reads all inputs as one text.
func (c *call) all(names []string) []byte {
	var text []byte
	c.inputs(names, func(_ string, r io.Reader) {
		part, err := c.ReadAll(r)
		if err != nil {
			c.failed("%s", bash.Reason(err))
		}
		text = append(text, part...)
		c.CheckLength(len(text))
	})
	return text
}

// zero is the delimiter of lines: a NUL with -z.
func (c *call) zero(letter string) byte {
	if c.flags[letter] {
		return 0
	}
	return '\n'
}

func (c *call) print(text string) { c.out.WriteString(text) }

func (c *call) printf(format string, args ...any) { fmt.Fprintf(c.out, format, args...) }

// size reads a number with a suffix, as head -c 1K has it.
func size(text string) (int64, bool) {
	if text == "" {
		return 0, false
	}
	factor := int64(1)
	units := map[byte]int64{'b': 512, 'k': 1 << 10, 'K': 1 << 10, 'M': 1 << 20, 'G': 1 << 30}
	number := strings.TrimSuffix(text, "iB")
	if f, ok := units[number[len(number)-1]]; ok {
		factor = f
		number = number[:len(number)-1]
	} else if rest, ok := strings.CutSuffix(number, "B"); ok && rest != "" {
		decimal := map[byte]int64{'k': 1e3, 'K': 1e3, 'M': 1e6, 'G': 1e9}
		if f, ok := decimal[rest[len(rest)-1]]; ok {
			factor, number = f, rest[:len(rest)-1]
		}
	}
	n, err := strconv.ParseInt(number, 10, 64)
	return n * factor, err == nil
}
