package commands

import (
	"fmt"
	"io"
	"regexp"
	"sort"
	"strconv"
	"strings"
	"unicode/utf8"
)

func init() {
	define("cat", spec{short: "nAbEsTuvet", long: map[string]string{"number": "n", "show-all": "A", "show-ends": "E", "squeeze-blank": "s", "show-tabs": "T", "show-nonprinting": "v", "number-nonblank": "b"}}, 1, cat)
	define("head", spec{short: "n:c:qvz", long: map[string]string{"lines": "n", "bytes": "c", "quiet": "q", "zero-terminated": "z", "verbose": "v"}, digits: 'n'}, 1, head)
	define("tail", spec{short: "n:c:qvzfF", long: map[string]string{"lines": "n", "bytes": "c", "quiet": "q", "zero-terminated": "z"}, digits: 'n'}, 1, tail)
	define("wc", spec{short: "lwcmL", long: map[string]string{"lines": "l", "words": "w", "bytes": "c", "chars": "m", "max-line-length": "L"}}, 1, wc)
	define("rev", spec{}, 1, rev)
	define("tac", spec{}, 1, tac)
	define("nl", spec{short: "b:w:s:v:n:", long: map[string]string{"body-numbering": "b"}}, 1, nl)
	define("fold", spec{short: "w:sb", long: map[string]string{"width": "w", "spaces": "s"}, digits: 'w'}, 1, fold)
	define("paste", spec{short: "d:s", long: map[string]string{"delimiters": "d", "serial": "s"}}, 1, paste)
	define("cut", spec{short: "d:f:c:b:sz", long: map[string]string{"delimiter": "d", "fields": "f", "characters": "c", "bytes": "b", "only-delimited": "s", "complement": "", "output-delimiter:": ""}}, 1, cut)
	define("tr", spec{short: "+cCdst", long: map[string]string{"complement": "c", "delete": "d", "squeeze-repeats": "s", "truncate-set1": "t"}}, 1, tr)
	define("uniq", spec{short: "cdDuif:s:w:z", long: map[string]string{"count": "c", "repeated": "d", "unique": "u", "ignore-case": "i", "skip-fields": "f", "skip-chars": "s", "check-chars": "w", "zero-terminated": "z"}}, 1, uniq)
	define("comm", spec{short: "123", long: map[string]string{"nocheck-order": "", "check-order": "", "output-delimiter:": ""}}, 1, comm)
	define("tee", spec{short: "ai", long: map[string]string{"append": "a"}}, 1, tee)
	define("column", spec{short: "ts:o:", long: map[string]string{"table": "t", "separator": "s", "output-separator": "o"}}, 1, column)
	define("expand", spec{short: "t:"}, 1, expandTabs)
}

// visible shows the signs that cannot be seen, with -v and -T of cat.
func (c *call) visible(line string) string {
	if !c.flags["v"] && !c.flags["T"] {
		return line
	}
	var out strings.Builder
	for i := range len(line) {
		b := line[i]
		switch {
		case b == '\t':
			if c.flags["T"] {
				out.WriteString("^I")
			} else {
				out.WriteByte(b)
			}
			continue
		case !c.flags["v"]:
			out.WriteByte(b)
			continue
		case b >= 128:
			out.WriteString("M-")
			b -= 128
		}
		switch {
		case b < 32:
			out.WriteString("^" + string(rune(b+64)))
		case b == 127:
			out.WriteString("^?")
		default:
			out.WriteByte(b)
		}
	}
	return out.String()
}

func cat(c *call) int {
	number := 0
	for letter, means := range map[string]string{"A": "vET", "e": "vE", "t": "vT"} {
		for i := range means {
			c.flags[means[i:i+1]] = c.flags[means[i:i+1]] || c.flags[letter]
		}
	}
	empty := false
	c.inputs(c.args, func(name string, r io.Reader) {
		if c.flush(); c.IsOutput(name) {
			c.failed("%s: input file is output file", name)
			return
		}
		if !c.flags["n"] && !c.flags["b"] && !c.flags["v"] && !c.flags["E"] && !c.flags["T"] && !c.flags["s"] {
			buffer := make([]byte, 32<<10)
			for {
				c.Tick()
				n, err := r.Read(buffer)
				c.out.Write(buffer[:n])
				c.flush()
				if err != nil {
					if err != io.EOF {
						c.failed("%s: %s", name, err)
					}
					return
				}
			}
		}
		c.lines(r, '\n', func(line string, ended bool) bool {
			if c.flags["s"] && line == "" && empty {
				return true
			}
			empty = line == ""
			if c.flags["n"] && !c.flags["b"] || c.flags["b"] && line != "" {
				number++
				c.printf("%6d\t", number)
			}
			c.print(c.visible(line))
			if ended && c.flags["E"] {
				c.print("$")
			}
			if ended {
				c.print("\n")
			}
			return true
		})
	})
	return c.status
}

// several prints the names of files before their parts, where there are several.
func (c *call) several(first *bool, name string) {
	if len(c.args) > 1 && !c.flags["q"] || c.flags["v"] {
		if !*first {
			c.print("\n")
		}
		*first = false
		if name == "-" {
			name = "standard input"
		}
		c.printf("==> %s <==\n", name)
	}
}

func head(c *call) int {
	lines, bytes := c.value("n", "10"), c.value("c", "")
	amount, unit := lines, "lines"
	if c.flags["c"] {
		amount, unit = bytes, "bytes"
	}
	n, ok := size(strings.TrimPrefix(amount, "-"))
	if !ok {
		return c.Fail(1, "invalid number of %s: '%s'", unit, amount)
	}
	exceptLast := strings.HasPrefix(amount, "-")
	first := true
	c.inputs(c.args, func(name string, r io.Reader) {
		c.several(&first, name)
		if unit == "bytes" && !exceptLast {
			io.Copy(c.out, io.LimitReader(r, n))
			return
		}
		if exceptLast {
			text, err := c.ReadAll(r)
			if err != nil {
				c.failed("error reading '%s': %s", name, err)
			}
			c.print(exceptEnd(string(text), n, unit, c.zero("z")))
			return
		}
		if n == 0 {
			return
		}
		left := n
		c.lines(r, c.zero("z"), func(line string, ended bool) bool {
			c.print(line)
			if ended {
				c.out.WriteByte(c.zero("z"))
			}
			left--
			return left > 0
		})
	})
	return c.status
}

// exceptEnd is a text without its last n lines or bytes.
func exceptEnd(text string, n int64, unit string, delimiter byte) string {
	if unit == "bytes" {
		return text[:max(0, int64(len(text))-n)]
	}
	lines := strings.SplitAfter(text, string([]byte{delimiter}))
	if lines[len(lines)-1] == "" {
		lines = lines[:len(lines)-1]
	}
	return strings.Join(lines[:max(0, int64(len(lines))-n)], "")
}

// oldTail is how the first line was written before there was -n.
var oldTail = regexp.MustCompile(`^\+[0-9]+$`)

func tail(c *call) int {
	if c.flags["f"] || c.flags["F"] {
		return c.Fail(1, "-f is not supported: a file of a hook does not grow by itself")
	}
	amount, unit := c.value("n", "10"), "lines"
	if c.flags["c"] {
		amount, unit = c.value("c", ""), "bytes"
	} else if !c.flags["n"] && len(c.args) > 0 && oldTail.MatchString(c.args[0]) {
		amount, c.args = c.args[0], c.args[1:]
	}
	n, ok := size(strings.TrimLeft(amount, "+-"))
	if !ok {
		return c.Fail(1, "invalid number of %s: '%s'", unit, amount)
	}
	from := strings.HasPrefix(amount, "+")
	first := true
	c.inputs(c.args, func(name string, r io.Reader) {
		c.several(&first, name)
		text, err := c.ReadAll(r)
		if err != nil {
			c.failed("error reading '%s': %s", name, err)
		}
		c.print(endOf(string(text), n, unit, from, c.zero("z")))
	})
	return c.status
}

func endOf(text string, n int64, unit string, from bool, delimiter byte) string {
	if unit == "bytes" {
		if from {
			return text[min(int64(len(text)), max(0, n-1)):]
		}
		return text[max(0, int64(len(text))-n):]
	}
	lines := strings.SplitAfter(text, string([]byte{delimiter}))
	if lines[len(lines)-1] == "" {
		lines = lines[:len(lines)-1]
	}
	count := int64(len(lines))
	if from {
		return strings.Join(lines[min(count, max(0, n-1)):], "")
	}
	return strings.Join(lines[max(0, count-n):], "")
}

func wc(c *call) int {
	counts := func(text string) []int {
		longest := 0
		for _, line := range strings.Split(text, "\n") {
			longest = max(longest, utf8.RuneCountInString(line))
		}
		return []int{strings.Count(text, "\n"), len(strings.Fields(text)), utf8.RuneCountInString(text), len(text), longest}
	}
	letters := []string{"l", "w", "m", "c", "L"}
	any := false
	for _, letter := range letters {
		any = any || c.flags[letter]
	}
	type row struct {
		counts []int
		name   string
	}
	var rows []row
	total := make([]int, 5)
	c.inputs(c.args, func(name string, r io.Reader) {
		text, err := c.ReadAll(r)
		if err != nil {
			c.failed("%s: %s", name, err)
		}
		n := counts(string(text))
		if len(c.args) == 0 {
			name = ""
		}
		rows = append(rows, row{n, name})
		for i := range total {
			if i == 4 {
				total[i] = max(total[i], n[i])
			} else {
				total[i] += n[i]
			}
		}
	})
	if len(c.args) > 1 {
		rows = append(rows, row{total, "total"})
	}
	columns := 0
	for i, letter := range letters {
		if c.flags[letter] || !any && i != 2 && i != 4 {
			columns++
		}
	}
	// The width is that of the largest number; of streams, whose size is not known, it is 7.
	width := 1
	if columns > 1 || len(rows) > 1 {
		width = len(strconv.Itoa(total[3]))
		streams := len(c.args) == 0 && !c.ReadsFile()
		for _, name := range c.args {
			streams = streams || name == "-" && !c.ReadsFile() || strings.HasPrefix(name, "/dev/")
		}
		if streams {
			width = max(width, 7)
		}
		if len(rows) == 1 && columns == 1 {
			width = 1
		}
	}
	for _, r := range rows {
		var parts []string
		for i, letter := range letters {
			if c.flags[letter] || !any && i != 2 && i != 4 {
				parts = append(parts, fmt.Sprintf("%*d", width, r.counts[i]))
			}
		}
		line := strings.Join(parts, " ")
		if r.name != "" {
			line += " " + r.name
		}
		c.print(line + "\n")
	}
	return c.status
}

func contains(list []string, text string) bool {
	for _, other := range list {
		if other == text {
			return true
		}
	}
	return false
}

func rev(c *call) int {
	c.inputs(c.args, func(_ string, r io.Reader) {
		c.lines(r, '\n', func(line string, ended bool) bool {
			runes := []rune(line)
			for i, j := 0, len(runes)-1; i < j; i, j = i+1, j-1 {
				runes[i], runes[j] = runes[j], runes[i]
			}
			c.print(string(runes))
			if ended {
				c.print("\n")
			}
			return true
		})
	})
	return c.status
}

func tac(c *call) int {
	c.inputs(c.args, func(name string, r io.Reader) {
		text, err := c.ReadAll(r)
		if err != nil {
			c.failed("%s: %s", name, err)
		}
		lines := strings.SplitAfter(string(text), "\n")
		for i := len(lines) - 1; i >= 0; i-- {
			c.print(lines[i])
		}
	})
	return c.status
}

func nl(c *call) int {
	width, _ := strconv.Atoi(c.value("w", "6"))
	number, _ := strconv.Atoi(c.value("v", "1"))
	separator := c.value("s", "\t")
	format := map[string]string{"rn": "%*d", "ln": "%-*d", "rz": "%0*d"}[c.value("n", "rn")]
	style := c.value("b", "t")
	if format == "" || style != "a" && style != "t" && style != "n" {
		return c.Fail(1, "this style is not supported")
	}
	c.inputs(c.args, func(_ string, r io.Reader) {
		c.lines(r, '\n', func(line string, _ bool) bool {
			if style == "a" || style == "t" && line != "" {
				c.printf(format, width, number)
				c.print(separator + line + "\n")
				number++
			} else {
				c.print(strings.Repeat(" ", width+len(separator)) + line + "\n")
			}
			return true
		})
	})
	return c.status
}

func fold(c *call) int {
	width, err := strconv.Atoi(c.value("w", "80"))
	if err != nil || width < 1 {
		return c.Fail(1, "invalid number of columns: '%s'", c.value("w", ""))
	}
	c.inputs(c.args, func(_ string, r io.Reader) {
		c.lines(r, '\n', func(line string, ended bool) bool {
			for len(line) > width {
				cut := width
				if c.flags["s"] {
					if space := strings.LastIndexByte(line[:width], ' '); space >= 0 {
						cut = space + 1
					}
				}
				c.print(line[:cut] + "\n")
				line = line[cut:]
			}
			c.print(line)
			if ended {
				c.print("\n")
			}
			return true
		})
	})
	return c.status
}

// delimiters decodes the list of paste -d.
func delimiters(text string) []string {
	var list []string
	for i := 0; i < len(text); i++ {
		one := text[i : i+1]
		if text[i] == '\\' && i+1 < len(text) {
			i++
			switch text[i] {
			case 'n':
				one = "\n"
			case 't':
				one = "\t"
			case '0':
				one = ""
			default:
				one = text[i : i+1]
			}
		}
		list = append(list, one)
	}
	if len(list) == 0 {
		return []string{""}
	}
	return list
}

func paste(c *call) int {
	list := delimiters(c.value("d", "\t"))
	names := c.args
	if len(names) == 0 {
		names = []string{"-"}
	}
	var columns [][]string
	streams := 0
	for _, name := range names {
		if name == "-" {
			streams++
		}
	}
	var stdin []string
	for _, name := range names {
		if name == "-" && streams > 1 && !c.flags["s"] {
			if stdin == nil {
				stdin = append([]string{}, c.allLines([]string{"-"}, '\n')...)
			}
			columns = append(columns, nil)
			continue
		}
		columns = append(columns, c.allLines([]string{name}, '\n'))
	}
	if stdin != nil {
		// Several columns of one stream take its lines in turn.
		at := 0
		for i, name := range names {
			if name == "-" {
				for j := at; j < len(stdin); j += streams {
					columns[i] = append(columns[i], stdin[j])
				}
				at++
			}
		}
	}
	if c.flags["s"] {
		for _, column := range columns {
			for i, line := range column {
				if i > 0 {
					c.print(list[(i-1)%len(list)])
				}
				c.print(line)
			}
			c.print("\n")
		}
		return c.status
	}
	rows := 0
	for _, column := range columns {
		rows = max(rows, len(column))
	}
	for row := range rows {
		for i, column := range columns {
			if i > 0 {
				c.print(list[(i-1)%len(list)])
			}
			if row < len(column) {
				c.print(column[row])
			}
		}
		c.print("\n")
	}
	return c.status
}

// positions is a list such as 1,3-5,7-.
type positions [][2]int

func parsePositions(text string) (positions, error) {
	var list positions
	number := func(part string) (int, error) {
		n, err := strconv.Atoi(part)
		if err != nil || n < 1 {
			return 0, fmt.Errorf("invalid field value '%s'", part)
		}
		return n, nil
	}
	for _, part := range strings.FieldsFunc(text, func(c rune) bool { return c == ',' || c == ' ' }) {
		from, to, isRange := strings.Cut(part, "-")
		low, high := 1, 1<<30
		var err error
		if from != "" {
			if low, err = number(from); err != nil {
				return nil, err
			}
		}
		switch {
		case !isRange:
			high = low
		case to != "":
			if high, err = number(to); err != nil {
				return nil, err
			}
		case from == "":
			return nil, fmt.Errorf("invalid range with no endpoint: -")
		}
		if high < low {
			return nil, fmt.Errorf("invalid decreasing range")
		}
		list = append(list, [2]int{low, high})
	}
	if len(list) == 0 {
		return nil, fmt.Errorf("you must specify a list of bytes, characters, or fields")
	}
	return list, nil
}

func (p positions) has(n int) bool {
	for _, r := range p {
		if r[0] <= n && n <= r[1] {
			return true
		}
	}
	return false
}

func cut(c *call) int {
	text := c.value("f", c.value("c", c.value("b", "")))
	list, err := parsePositions(text)
	if err != nil {
		return c.Fail(1, "%s", err)
	}
	delimiter := c.value("d", "\t")
	if c.flags["d"] && delimiter == "" {
		delimiter = "\x00"
	}
	if c.flags["d"] && len(delimiter) != 1 {
		return c.Fail(1, "the delimiter must be a single character")
	}
	if c.flags["d"] && !c.flags["f"] {
		return c.Fail(1, "an input delimiter may be specified only when operating on fields")
	}
	chosen := func(n int) bool { return list.has(n) != c.flags["complement"] }
	end := string([]byte{c.zero("z")})
	c.inputs(c.args, func(_ string, r io.Reader) {
		c.lines(r, c.zero("z"), func(line string, _ bool) bool {
			if !c.flags["f"] {
				var parts []byte
				for i := range len(line) {
					if chosen(i + 1) {
						parts = append(parts, line[i])
					}
				}
				c.print(string(parts) + end)
				return true
			}
			fields := strings.Split(line, delimiter)
			if len(fields) == 1 {
				if !c.flags["s"] {
					c.print(line + end)
				}
				return true
			}
			var parts []string
			for i, field := range fields {
				if chosen(i + 1) {
					parts = append(parts, field)
				}
			}
			c.print(strings.Join(parts, c.value("output-delimiter", delimiter)) + end)
			return true
		})
	})
	return c.status
}

func uniq(c *call) int {
	fields, _ := strconv.Atoi(c.value("f", "0"))
	chars, _ := strconv.Atoi(c.value("s", "0"))
	width := -1
	if c.flags["w"] {
		width, _ = strconv.Atoi(c.value("w", ""))
	}
	key := func(line string) string {
		for range fields {
			line = strings.TrimLeft(line, " \t")
			if at := strings.IndexAny(line, " \t"); at >= 0 {
				line = line[at:]
			} else {
				line = ""
			}
		}
		line = line[min(chars, len(line)):]
		if width >= 0 {
			line = line[:min(width, len(line))]
		}
		if c.flags["i"] {
			line = strings.ToLower(line)
		}
		return line
	}
	previous, count := "", 0
	var group []string // the equal lines, for -D
	var out strings.Builder
	flush := func() {
		if count == 0 || c.flags["d"] && count < 2 || c.flags["u"] && count > 1 {
			return
		}
		if c.flags["D"] {
			for _, line := range group[:len(group)*min(1, count-1)] {
				out.WriteString(line)
				out.WriteByte(c.zero("z"))
			}
			return
		}
		if c.flags["c"] {
			fmt.Fprintf(&out, "%7d ", count)
		}
		out.WriteString(previous)
		out.WriteByte(c.zero("z"))
	}
	in := c.args
	if len(in) > 1 {
		in = in[:1]
	}
	c.inputs(in, func(_ string, r io.Reader) {
		c.lines(r, c.zero("z"), func(line string, _ bool) bool {
			if count > 0 && key(line) == key(previous) {
				count++
				if c.flags["D"] {
					group = append(group, line)
				}
				return true
			}
			flush()
			previous, count, group = line, 1, []string{line}
			return true
		})
	})
	flush()
	if len(c.args) > 1 {
		w, err := c.Create(c.args[1], false)
		if err != nil {
			return c.Fail(1, "%s: %s", c.args[1], err)
		}
		io.WriteString(w, out.String())
		return c.status
	}
	c.print(out.String())
	return c.status
}

func comm(c *call) int {
	if len(c.args) != 2 {
		return c.Fail(1, "two files are needed")
	}
	a, b := c.allLines(c.args[:1], '\n'), c.allLines(c.args[1:], '\n')
	if c.status != 0 {
		return c.status
	}
	separator := c.value("output-delimiter", "\t")
	show := func(column int, line string) {
		if c.flags[strconv.Itoa(column)] {
			return
		}
		for before := 1; before < column; before++ {
			if !c.flags[strconv.Itoa(before)] {
				c.print(separator)
			}
		}
		c.print(line + "\n")
	}
	unsorted := ""
	for i, list := range [][]string{a, b} {
		if !c.flags["nocheck-order"] && !sort.StringsAreSorted(list) && unsorted == "" {
			unsorted = strconv.Itoa(i + 1)
		}
	}
	differ := false
	for len(a) > 0 || len(b) > 0 {
		switch {
		case len(b) == 0 || len(a) > 0 && a[0] < b[0]:
			show(1, a[0])
			a, differ = a[1:], true
		case len(a) == 0 || b[0] < a[0]:
			show(2, b[0])
			b, differ = b[1:], true
		default:
			show(3, a[0])
			a, b = a[1:], b[1:]
		}
	}
	if unsorted != "" && differ {
		c.failed("file %s is not in sorted order", unsorted)
	}
	return c.status
}

func tee(c *call) int {
	writers := []io.Writer{c.Stdout}
	for _, name := range c.args {
		w, err := c.Create(name, c.flags["a"])
		if err != nil {
			c.failed("%s: %s", name, reasonOf(err))
			continue
		}
		defer w.Close()
		writers = append(writers, w)
	}
	buffer := make([]byte, 32<<10)
	for {
		c.Tick()
		n, err := c.Stdin.Read(buffer)
		for _, w := range writers {
			w.Write(buffer[:n])
		}
		if err != nil {
			return c.status
		}
	}
}

// column aligns fields in columns.
func column(c *call) int {
	if !c.flags["t"] {
		return c.Fail(1, "only -t is supported")
	}
	separator := c.value("s", "")
	between := c.value("o", "  ")
	var rows [][]string
	var widths []int
	for _, line := range c.allLines(c.args, '\n') {
		var fields []string
		if separator == "" {
			fields = strings.Fields(line)
		} else {
			fields = strings.Split(line, separator)
		}
		if len(fields) == 0 || line == "" {
			continue
		}
		for i, field := range fields {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], utf8.RuneCountInString(field))
		}
		rows = append(rows, fields)
	}
	for _, fields := range rows {
		for i, field := range fields {
			c.print(field)
			if i < len(fields)-1 {
				c.print(strings.Repeat(" ", widths[i]-utf8.RuneCountInString(field)) + between)
			}
		}
		c.print("\n")
	}
	return c.status
}

func expandTabs(c *call) int {
	width, err := strconv.Atoi(c.value("t", "8"))
	if err != nil || width < 1 {
		return c.Fail(1, "tab size contains invalid character(s): '%s'", c.value("t", ""))
	}
	c.inputs(c.args, func(_ string, r io.Reader) {
		c.lines(r, '\n', func(line string, ended bool) bool {
			at := 0
			for _, char := range line {
				if char == '\t' {
					n := width - at%width
					c.print(strings.Repeat(" ", n))
					at += n
					continue
				}
				c.out.WriteRune(char)
				at++
			}
			if ended {
				c.print("\n")
			}
			return true
		})
	})
	return c.status
}
