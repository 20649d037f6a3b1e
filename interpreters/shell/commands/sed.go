package commands

import (
	"bufio"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/boathook/boathook/interpreters/shell/bash"
	"github.com/boathook/boathook/interpreters/shell/regex"
)

func init() {
	all["sed"] = sed
}

// sedProgram is a parsed script of sed.
type sedProgram struct {
	commands []*sedCommand
	labels   map[string]int
	extended bool
	quiet    bool
	compile  func(string, regex.Options) (*regex.Regexp, error)
}

type sedAddress struct {
	line, step int // step -1 is none
	last       bool
	re         *regex.Regexp
	empty      bool // the last expression that was used
	plus       int  // ,+N; -1 is none
	multiple   int  // ,~N; -1 is none
}

type sedCommand struct {
	first, second *sedAddress
	negated       bool
	name          byte
	text          string
	re            *regex.Regexp
	empty         bool
	with          []sedPart
	global, print bool
	eval          bool
	occurrence    int
	file          string
	table         map[rune]rune
	number        int
	target        int // of } and of branches
	active        bool
	until         int
}

// sedPart is a piece of a replacement.
type sedPart struct {
	text  string
	group int  // -1 is text
	shape byte // U L u l E
}

func sed(p *bash.Process) (status int) {
	c := &call{Process: p, flags: map[string]bool{}, values: map[string][]string{}}
	defer regexTooHard(c, 1, &status)
	s := &sedRun{call: c, program: &sedProgram{labels: map[string]int{}, compile: p.Regex}, writers: map[string]io.Writer{}}
	var scripts []string
	suffix, inPlace, given := "", false, false
	args := p.Args[1:]
	for i := 0; i < len(args); i++ {
		arg := args[i]
		value := func(attached string) string {
			if attached != "" {
				return attached
			}
			if i+1 < len(args) {
				i++
				return args[i]
			}
			return ""
		}
		switch {
		case arg == "--":
			c.args = append(c.args, args[i+1:]...)
			i = len(args)
		case strings.HasPrefix(arg, "--expression="):
			scripts, given = append(scripts, arg[13:]), true
		case strings.HasPrefix(arg, "--file="), arg == "--file", arg == "--expression":
			return p.Fail(1, "%s is not supported: use -e or -f", arg)
		case arg == "--quiet" || arg == "--silent":
			s.program.quiet = true
		case arg == "--regexp-extended":
			s.program.extended = true
		case arg == "--in-place" || strings.HasPrefix(arg, "--in-place="):
			inPlace, suffix = true, strings.TrimPrefix(strings.TrimPrefix(arg, "--in-place"), "=")
		case arg == "--separate":
			s.separate = true
		case arg == "--null-data":
			s.delimiter = true
		case strings.HasPrefix(arg, "--"):
			return p.Fail(1, "the option %s is not supported", arg)
		case len(arg) > 1 && arg[0] == '-':
			for j := 1; j < len(arg); j++ {
				stop := false
				switch arg[j] {
				case 'n':
					s.program.quiet = true
				case 'E', 'r':
					s.program.extended = true
				case 's':
					s.separate = true
				case 'u':
				case 'z':
					s.delimiter = true
				case 'i':
					inPlace, suffix, stop = true, arg[j+1:], true
				case 'e':
					scripts, given, stop = append(scripts, value(arg[j+1:])), true, true
				case 'f':
					text, err := c.Process.Open(value(arg[j+1:]))
					if err != nil {
						return p.Fail(1, "couldn't open file: %s", bash.Reason(err))
					}
					all, _ := p.ReadAll(text)
					scripts, given, stop = append(scripts, strings.TrimSuffix(string(all), "\n")), true, true
				default:
					return p.Fail(1, "the option -%c is not supported", arg[j])
				}
				if stop {
					break
				}
			}
		default:
			if !given && scripts == nil {
				scripts = append(scripts, arg)
			} else {
				c.args = append(c.args, arg)
			}
		}
	}
	if len(scripts) == 0 {
		return p.Fail(1, "no script was specified")
	}
	if err := s.program.parse(strings.Join(scripts, "\n")); err != nil {
		return p.Fail(1, "-e expression #1: %s", err)
	}
	if inPlace {
		return s.inPlace(suffix)
	}
	s.out = bufio.NewWriter(p.Stdout)
	code := 0
	if s.separate && len(c.args) > 1 {
		// Each file has its own lines and its own last one.
		for _, name := range c.args {
			s.number = 0
			if code = s.run([]string{name}); s.quit {
				break
			}
		}
	} else {
		code = s.run(c.args)
	}
	s.out.Flush()
	return code
}

// sedRun is the state of a run of sed.
type sedRun struct {
	*call
	program    *sedProgram
	out        *bufio.Writer
	writers    map[string]io.Writer
	hold       string
	number     int
	lastRE     *regex.Regexp
	appended   []string
	separate   bool
	delimiter  bool
	quit       bool
	exit       int
	next       func() (string, bool, bool) // line, ended, more
	ahead      *sedLine
	missing    bool // the last line has no newline
	substitute bool
}

type sedLine struct {
	text        string
	ended, more bool
}

func (s *sedRun) end() byte {
	if s.delimiter {
		return 0
	}
	return '\n'
}

// inPlace runs the program on each file, and replaces the file.
func (s *sedRun) inPlace(suffix string) int {
	if len(s.args) == 0 {
		return s.Fail(1, "no input files")
	}
	for _, name := range s.args {
		info, err := s.FS().Stat(s.Abs(name))
		if err != nil {
			s.Fail(2, "can't read %s: %s", name, bash.Reason(err))
			s.exit = 2
			continue
		}
		if info.IsDir() {
			s.Fail(4, "couldn't edit %s: not a regular file", name)
			s.exit = 4
			continue
		}
		var text strings.Builder
		s.out = bufio.NewWriter(&text)
		s.number = 0
		old := s.exit
		status := s.run([]string{name})
		s.out.Flush()
		if old != 0 {
			status = old
		}
		s.exit = status
		if suffix != "" {
			backup := name + suffix
			if strings.Contains(suffix, "*") {
				return s.Fail(1, "a * in the suffix of -i is not supported")
			}
			before, _ := s.FS().ReadFile(s.Abs(name))
			if w, err := s.Create(backup, false); err == nil {
				w.Write(before)
				w.Close()
			}
		}
		w, err := s.Create(name, false)
		if err != nil {
			return s.Fail(4, "couldn't open file %s: %s", name, bash.Reason(err))
		}
		io.WriteString(w, text.String())
		w.Close()
		s.FS().Chmod(s.Abs(name), info.Mode())
		if s.quit {
			break
		}
	}
	return s.exit
}

// reader gives the lines of the files one after another.
func (s *sedRun) reader(names []string) func() (string, bool, bool) {
	if len(names) == 0 {
		names = []string{"-"}
	}
	var in *bufio.Reader
	return func() (string, bool, bool) {
		for {
			s.Tick()
			if in == nil {
				if len(names) == 0 {
					return "", false, false
				}
				name := names[0]
				names = names[1:]
				if name == "-" {
					in = bufio.NewReader(s.Stdin)
				} else {
					info, err := s.FS().Stat(s.Abs(name))
					if err == nil && info.IsDir() {
						s.out.Flush()
						s.Fail(2, "couldn't read %s: Is a directory", name)
						s.exit = 2
						continue
					}
					r, err := s.Open(name)
					if err != nil {
						s.out.Flush()
						s.Fail(2, "can't read %s: %s", name, bash.Reason(err))
						s.exit = 2
						continue
					}
					in = bufio.NewReader(r)
				}
			}
			line, err := in.ReadString(s.end())
			s.CheckLength(len(line))
			if err != nil {
				in = nil
			}
			if line == "" {
				continue
			}
			ended := line[len(line)-1] == s.end()
			if ended {
				line = line[:len(line)-1]
			}
			return line, ended, true
		}
	}
}

// read takes the next line; last looks one ahead.
func (s *sedRun) read() (string, bool) {
	if s.ahead == nil {
		line, ended, more := s.next()
		s.ahead = &sedLine{line, ended, more}
	}
	current := s.ahead
	s.ahead = nil
	if !current.more {
		return "", false
	}
	s.number++
	s.missing = !current.ended
	return current.text, true
}

func (s *sedRun) last() bool {
	if s.ahead == nil {
		line, ended, more := s.next()
		s.ahead = &sedLine{line, ended, more}
	}
	return !s.ahead.more
}

// emit writes a line; the last one of a file without a newline gets none.
func (s *sedRun) emit(text string) {
	s.out.WriteString(text)
	if !s.missing || !s.last() {
		s.out.WriteByte(s.end())
	}
}

func (s *sedRun) run(names []string) int {
	s.next = s.reader(names)
	s.ahead = nil
	for !s.quit {
		line, more := s.read()
		if !more {
			break
		}
		s.cycle(line)
	}
	return s.exit
}

// cycle runs the program on a pattern space.
func (s *sedRun) cycle(space string) {
	restart := true
	for restart {
		var deleted bool
		space, deleted, restart = s.commands(space)
		if !deleted && !s.program.quiet {
			s.emit(space)
		}
		for _, text := range s.appended {
			if s.missing && s.last() {
				s.out.WriteByte('\n')
			}
			s.out.WriteString(text)
		}
		s.appended = nil
	}
}

func (s *sedRun) commands(space string) (result string, deleted, restart bool) {
	s.substitute = false
	for at := 0; at < len(s.program.commands); at++ {
		s.Tick()
		c := s.program.commands[at]
		if s.selected(c, space) == c.negated {
			if c.name == '{' {
				at = c.target
			}
			continue
		}
		switch c.name {
		case '{', '}', ':', '#':
		case '=':
			s.out.WriteString(strconv.Itoa(s.number) + "\n")
		case 'a':
			s.appended = append(s.appended, c.text+"\n")
		case 'i':
			s.out.WriteString(c.text + "\n")
		case 'c':
			if c.second == nil || c.negated || !c.active {
				s.out.WriteString(c.text + "\n")
			}
			return "", true, false
		case 'd':
			return "", true, false
		case 'D':
			first, rest, has := strings.Cut(space, "\n")
			if !has {
				return first, true, false
			}
			// The next cycle begins without a new line.
			for _, text := range s.appended {
				s.out.WriteString(text)
			}
			s.appended = nil
			space = rest
			at = -1
		case 'g':
			space = s.hold
		case 'G':
			space += "\n" + s.hold
		case 'h':
			s.hold = space
		case 'H':
			s.hold += "\n" + space
		case 'x':
			space, s.hold = s.hold, space
		case 'l':
			s.out.WriteString(visible(space) + "$\n")
		case 'n':
			if s.last() {
				if !s.program.quiet {
					s.emit(space)
				}
				s.quit = true
				return "", true, false
			}
			if !s.program.quiet {
				s.emit(space)
			}
			space, _ = s.read()
		case 'N':
			if s.last() {
				s.quit = true
				return space, false, false
			}
			line, _ := s.read()
			space += "\n" + line
		case 'p':
			s.emit(space)
		case 'P':
			first, _, has := strings.Cut(space, "\n")
			if has {
				s.out.WriteString(first + "\n")
			} else {
				s.emit(first)
			}
		case 'q', 'Q':
			s.quit, s.exit = true, c.number
			return space, c.name == 'Q', false
		case 'r':
			if text, err := s.FS().ReadFile(s.Abs(c.file)); err == nil {
				s.appended = append(s.appended, string(text))
			}
		case 's':
			space = s.replace(c, space)
		case 't':
			if s.substitute {
				s.substitute = false
				at = c.target
			}
		case 'T':
			if !s.substitute {
				at = c.target
			}
			s.substitute = false
		case 'b':
			at = c.target
		case 'w':
			s.writeTo(c.file, space)
		case 'y':
			space = strings.Map(func(r rune) rune {
				if to, ok := c.table[r]; ok {
					return to
				}
				return r
			}, space)
		case 'z':
			space = ""
		}
		s.CheckLength(len(space) + len(s.hold))
	}
	return space, false, false
}

func visible(text string) string {
	var out strings.Builder
	for i := range len(text) {
		switch b := text[i]; {
		case b == '\\':
			out.WriteString(`\\`)
		case strings.IndexByte("\a\b\f\n\r\t\v", b) >= 0:
			out.WriteByte('\\')
			out.WriteByte("abfnrtv"[strings.IndexByte("\a\b\f\n\r\t\v", b)])
		case b < 32 || b >= 127:
			fmt.Fprintf(&out, `\%03o`, b)
		default:
			out.WriteByte(b)
		}
	}
	return out.String()
}

func (s *sedRun) writeTo(name, text string) {
	w := s.writers[name]
	if w == nil {
		switch name {
		case "/dev/stdout":
			w = s.out
		case "/dev/stderr":
			w = s.Stderr
		default:
			file, err := s.Create(name, false)
			if err != nil {
				s.exit = s.Fail(4, "couldn't open file %s: %s", name, bash.Reason(err))
				return
			}
			w = file
		}
		s.writers[name] = w
	}
	io.WriteString(w, text+"\n")
}

func (s *sedRun) matches(a *sedAddress, space string) bool {
	switch {
	case a.last:
		return s.last()
	case a.empty || a.re != nil:
		re := a.re
		if a.empty {
			re = s.lastRE
		}
		if re == nil {
			return false
		}
		s.lastRE = re
		return re.Match(space)
	case a.step >= 0:
		if a.step == 0 {
			return s.number == a.line
		}
		return s.number >= a.line && (s.number-a.line)%a.step == 0
	}
	return s.number == a.line
}

// selected says whether a command's addresses select the current line.
func (s *sedRun) selected(c *sedCommand, space string) bool {
	if c.first == nil {
		return true
	}
	if c.second == nil {
		return s.matches(c.first, space)
	}
	if !c.active {
		zero := c.first.re == nil && !c.first.last && c.first.line == 0 && c.first.step < 0
		if zero && s.number == 1 {
			c.active = !s.ends(c, space)
			return true
		}
		if zero || !s.matches(c.first, space) {
			return false
		}
		switch {
		case c.second.plus >= 0:
			c.until = s.number + c.second.plus
		case c.second.multiple > 0:
			c.until = (s.number + c.second.multiple - 1) / c.second.multiple * c.second.multiple
		case c.second.multiple == 0:
			return true
		case c.second.re == nil && !c.second.empty && !c.second.last:
			c.until = c.second.line
		default:
			c.active = !c.second.last || !s.last()
			return true
		}
		c.active = c.until > s.number
		return true
	}
	if s.ends(c, space) {
		c.active = false
		// A line beyond the end is not in the range.
		if c.second.re == nil && !c.second.empty && !c.second.last && s.number > c.until {
			return false
		}
	}
	return true
}

func (s *sedRun) ends(c *sedCommand, space string) bool {
	if c.second.re != nil || c.second.empty || c.second.last {
		return s.matches(c.second, space)
	}
	return s.number >= c.until
}

func (s *sedRun) replace(c *sedCommand, space string) string {
	re := c.re
	if c.empty {
		re = s.lastRE
	}
	if re == nil {
		return space
	}
	s.lastRE = re
	var out strings.Builder
	count, end, changed := 0, 0, false
	re.Each(space, func(at []int) bool {
		count++
		if count < c.occurrence {
			return true
		}
		out.WriteString(space[end:at[0]])
		out.WriteString(expandSed(c.with, space, at))
		end = at[1]
		changed = true
		return c.global
	})
	if !changed {
		return space
	}
	out.WriteString(space[end:])
	s.substitute = true
	space = out.String()
	if c.print {
		s.emit(space)
	}
	if c.file != "" {
		s.writeTo(c.file, space)
	}
	return space
}

// expandSed builds a replacement, with the changes of case that \U and the like want.
func expandSed(parts []sedPart, text string, at []int) string {
	var out strings.Builder
	mode, once := byte(0), byte(0)
	for _, p := range parts {
		if p.shape != 0 {
			switch p.shape {
			case 'U', 'L':
				mode = p.shape
			case 'E':
				mode, once = 0, 0
			default:
				once = p.shape
			}
			continue
		}
		piece := p.text
		if p.group >= 0 {
			piece = ""
			if 2*p.group+1 < len(at) && at[2*p.group] >= 0 {
				piece = text[at[2*p.group]:at[2*p.group+1]]
			}
		}
		switch mode {
		case 'U':
			piece = strings.ToUpper(piece)
		case 'L':
			piece = strings.ToLower(piece)
		}
		if once != 0 && piece != "" {
			first := []rune(piece)[0]
			rest := piece[len(string(first)):]
			if once == 'u' {
				piece = strings.ToUpper(string(first)) + rest
			} else {
				piece = strings.ToLower(string(first)) + rest
			}
			once = 0
		}
		out.WriteString(piece)
	}
	return out.String()
}
