package commands

import (
	"crypto/md5"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/base32"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"hash"
	"io"
	"math"
	"regexp"
	"strconv"
	"strings"

	"github.com/boathook/boathook/interpreters/shell/bash"
)

func init() {
	define("true", spec{short: "+"}, 0, func(*call) int { return 0 })
	define("false", spec{short: "+"}, 1, func(*call) int { return 1 })
	define("base64", spec{short: "dDiw:", long: map[string]string{"decode": "d", "wrap": "w", "ignore-garbage": "i"}}, 1, func(c *call) int { return baseN(c, true) })
	define("base32", spec{short: "diw:", long: map[string]string{"decode": "d", "wrap": "w"}}, 1, func(c *call) int { return baseN(c, false) })
	sums := map[string]func() hash.Hash{"md5sum": md5.New, "sha1sum": sha1.New, "sha256sum": sha256.New, "sha512sum": sha512.New, "sha224sum": sha256.New224, "sha384sum": sha512.New384}
	for name, make := range sums {
		define(name, spec{short: "cbts", long: map[string]string{"check": "c", "binary": "b", "status": "s"}}, 1, func(c *call) int { return checksum(c, make) })
	}
	define("yes", spec{short: "+"}, 1, yes)
	define("sleep", spec{}, 1, sleep)
	define("whoami", spec{}, 1, func(c *call) int { c.print("root\n"); return 0 })
	define("hostname", spec{short: "sfi"}, 1, func(c *call) int { c.print(c.World.Hostname + "\n"); return 0 })
	define("id", spec{short: "ugnr"}, 1, id)
	define("uname", spec{short: "asrmno"}, 1, uname)
	define("nproc", spec{}, 1, func(c *call) int { c.print("1\n"); return 0 })
	define("tty", spec{short: "s"}, 1, func(c *call) int { c.print("not a tty\n"); return 1 })
	define("sync", spec{short: "+"}, 1, func(*call) int { return 0 })
	define("printenv", spec{}, 1, printenv)
	define("envsubst", spec{}, 1, envsubst)
	define("which", spec{short: "a"}, 1, which)
	define("factor", spec{}, 1, func(c *call) int { return c.Fail(1, "is not supported") })
	define("diff", spec{short: "uqrNBbwaiU:s", long: map[string]string{"unified": "u", "brief": "q", "label:": "", "new-file": "N", "ignore-case": "i", "ignore-all-space": "w", "ignore-space-change": "b", "text": "a"}}, 2, diff)
	all["curl"] = func(p *bash.Process) int {
		return p.Fail(7, "a hook has no network yet: write what you need with kubectl")
	}
	all["wget"] = func(p *bash.Process) int {
		return p.Fail(4, "a hook has no network yet: write what you need with kubectl")
	}
	all["seq"] = seq
	all["echo"] = func(p *bash.Process) int {
		args := p.Args[1:]
		end := "\n"
		if len(args) > 0 && args[0] == "-n" {
			args, end = args[1:], ""
		}
		text := strings.Join(args, " ")
		if len(args) > 0 && args[0] == "-e" {
			decoded, stop := bash.EchoEscapes(strings.Join(args[1:], " "))
			if text = decoded; stop {
				end = ""
			}
		}
		fmt.Fprint(p.Stdout, text+end)
		return 0
	}
	all["printf"] = func(p *bash.Process) int {
		if len(p.Args) < 2 {
			return p.Fail(1, "missing operand")
		}
		f := bash.NewFormatter(p.World.Now, p.Tick, func(text string) { p.Fail(1, "%s", text) })
		text, status := f.Format(p.Args[1], p.Args[2:])
		io.WriteString(p.Stdout, text)
		return status
	}
	all["env"] = env
	all["xargs"] = xargs
	all["timeout"] = timeout
	all["nohup"] = func(p *bash.Process) int { return p.Run(p.Args[1:], p.Env, p.Stdin, p.Stdout, p.Stderr) }
	all["test"] = func(p *bash.Process) int { return p.Test(p.Args) }
	all["["] = func(p *bash.Process) int { return p.Test(p.Args) }
	all["expr"] = expr
}

func baseN(c *call, is64 bool) int {
	width, err := strconv.Atoi(c.value("w", "76"))
	if err != nil || width < 0 {
		return c.Fail(1, "invalid wrap size: '%s'", c.value("w", ""))
	}
	data := c.all(c.args)
	if c.status != 0 {
		return c.status
	}
	if c.flags["d"] || c.flags["D"] {
		text := strings.NewReplacer("\n", "").Replace(string(data))
		if c.flags["i"] {
			text = strings.Map(func(r rune) rune {
				if r < 128 && (r == '+' || r == '/' || r == '=' || r >= '0' && r <= '9' || r|0x20 >= 'a' && r|0x20 <= 'z') {
					return r
				}
				return -1
			}, text)
		}
		var decoded []byte
		if is64 {
			decoded, err = base64.StdEncoding.DecodeString(text)
			if err != nil && !strings.HasSuffix(text, "=") {
				// What is complete is printed before the error.
				whole := len(text) / 4 * 4
				if at, ok := err.(base64.CorruptInputError); ok {
					whole = min(whole, int(at)/4*4)
				}
				decoded, _ = base64.StdEncoding.DecodeString(text[:whole])
			}
		} else {
			decoded, err = base32.StdEncoding.DecodeString(text)
		}
		c.out.Write(decoded)
		if err != nil {
			c.flush()
			return c.Fail(1, "invalid input")
		}
		return 0
	}
	text := base32.StdEncoding.EncodeToString(data)
	if is64 {
		text = base64.StdEncoding.EncodeToString(data)
	}
	if width == 0 {
		c.print(text)
		return 0
	}
	for len(text) > width {
		c.print(text[:width] + "\n")
		text = text[width:]
	}
	if text != "" {
		c.print(text + "\n")
	}
	return 0
}

func checksum(c *call, make func() hash.Hash) int {
	if c.flags["c"] {
		return checkSums(c, make)
	}
	names := c.args
	if len(names) == 0 {
		names = []string{"-"}
	}
	for _, name := range names {
		if r := c.open(name); r != nil {
			h := make()
			io.Copy(h, r)
			r.Close()
			c.printf("%s  %s\n", hex.EncodeToString(h.Sum(nil)), name)
		}
	}
	return c.status
}

func checkSums(c *call, make func() hash.Hash) int {
	bad := 0
	for _, line := range c.allLines(c.args, '\n') {
		sum, name, ok := strings.Cut(line, " ")
		if !ok || name == "" {
			continue
		}
		name = name[1:]
		r := c.open(name)
		if r == nil {
			bad++
			continue
		}
		h := make()
		io.Copy(h, r)
		r.Close()
		result := "OK"
		if hex.EncodeToString(h.Sum(nil)) != strings.ToLower(sum) {
			result = "FAILED"
			bad++
		}
		if !c.flags["s"] {
			c.printf("%s: %s\n", name, result)
		}
	}
	if bad > 0 {
		c.flush()
		if !c.flags["s"] {
			c.Fail(1, "WARNING: %d computed checksum did NOT match", bad)
		}
		return 1
	}
	return c.status
}

func yes(c *call) int {
	text := "y\n"
	if len(c.args) > 0 {
		text = strings.Join(c.args, " ") + "\n"
	}
	// Many lines at once, because a step of the run costs more than a line.
	block := strings.Repeat(text, max(1, 8192/len(text)))
	for {
		c.Tick()
		if _, err := io.WriteString(c.Stdout, block); err != nil {
			return 1
		}
	}
}

// seconds reads durations such as 1.5 or 2m.
func seconds(text string) (float64, bool) {
	factor := 1.0
	if text != "" {
		switch text[len(text)-1] {
		case 's':
			text = text[:len(text)-1]
		case 'm':
			factor, text = 60, text[:len(text)-1]
		case 'h':
			factor, text = 3600, text[:len(text)-1]
		case 'd':
			factor, text = 86400, text[:len(text)-1]
		}
	}
	n, err := strconv.ParseFloat(text, 64)
	return n * factor, err == nil && n >= 0
}

func sleep(c *call) int {
	if len(c.args) == 0 {
		return c.Fail(1, "missing operand")
	}
	total := 0.0
	for _, arg := range c.args {
		n, ok := seconds(arg)
		if !ok {
			return c.Fail(1, "invalid time interval '%s'", arg)
		}
		total += n
	}
	c.Sleep(total)
	return 0
}

func id(c *call) int {
	switch {
	case (c.flags["u"] || c.flags["g"]) && c.flags["n"]:
		c.print("root\n")
	case c.flags["u"] || c.flags["g"]:
		c.print("0\n")
	default:
		c.print("uid=0(root) gid=0(root) groups=0(root)\n")
	}
	return 0
}

func uname(c *call) int {
	fields := []struct{ flag, text string }{{"s", "Linux"}, {"n", c.World.Hostname}, {"r", "6.0.0"}, {"m", "x86_64"}, {"o", "GNU/Linux"}}
	var shown []string
	for _, f := range fields {
		if c.flags[f.flag] || c.flags["a"] || f.flag == "s" && len(c.flags) == 0 {
			shown = append(shown, f.text)
		}
	}
	c.print(strings.Join(shown, " ") + "\n")
	return 0
}

func printenv(c *call) int {
	if len(c.args) == 0 {
		for _, pair := range c.Env {
			c.print(pair + "\n")
		}
		return 0
	}
	status := 0
	for _, name := range c.args {
		if value, ok := c.Lookup(name); ok {
			c.print(value + "\n")
		} else {
			status = 1
		}
	}
	return status
}

// envsubst replaces $NAME and ${NAME}.
func envsubst(c *call) int {
	only := map[string]bool{}
	replace := func(text string, use func(name string) string) string {
		var out strings.Builder
		for i := 0; i < len(text); {
			if text[i] != '$' {
				out.WriteByte(text[i])
				i++
				continue
			}
			start := i + 1
			brace := start < len(text) && text[start] == '{'
			if brace {
				start++
			}
			end := start
			for end < len(text) && (text[end] == '_' || text[end]|0x20 >= 'a' && text[end]|0x20 <= 'z' || end > start && text[end] >= '0' && text[end] <= '9') {
				end++
			}
			after := end
			if brace {
				if end == len(text) || text[end] != '}' {
					out.WriteByte('$')
					i++
					continue
				}
				after++
			}
			if end == start {
				out.WriteByte('$')
				i++
				continue
			}
			name := text[start:end]
			if len(c.args) > 0 && !only[name] {
				out.WriteString(text[i:after])
			} else {
				out.WriteString(use(name))
			}
			i = after
		}
		return out.String()
	}
	formats := c.args
	c.args = nil
	for _, format := range formats {
		replace(format, func(name string) string { only[name] = true; return "" })
	}
	c.args = formats
	text, err := c.ReadAll(c.Stdin)
	if err != nil {
		return c.Fail(1, "%s", err)
	}
	c.print(replace(string(text), c.Getenv))
	return 0
}

func which(c *call) int {
	status := 0
	for _, name := range c.args {
		switch {
		case !c.Known(name) && !bash.IsBuiltinWithFile(name):
			status = 1
		case strings.Contains(name, "/"):
			c.print(name + "\n")
		default:
			c.print("/usr/bin/" + name + "\n")
		}
	}
	return status
}

// seqFormat has one number in it.
var seqFormat = regexp.MustCompile(`^([^%]|%%)*%[-+ #0]*[0-9]{0,4}(\.[0-9]{0,3})?[efgEFG]([^%]|%%)*$`)

func seq(p *bash.Process) int {
	separator, format, equal := "\n", "", false
	args := p.Args[1:]
	for len(args) > 0 && len(args[0]) > 1 && args[0][0] == '-' && (args[0][1] < '0' || args[0][1] > '9') && args[0][1] != '.' {
		switch {
		case args[0] == "-w":
			equal = true
		case args[0] == "-s" && len(args) > 1:
			separator, args = args[1], args[1:]
		case strings.HasPrefix(args[0], "--separator="):
			separator = strings.TrimPrefix(args[0], "--separator=")
		case strings.HasPrefix(args[0], "--format="):
			format = strings.TrimPrefix(args[0], "--format=")
		case args[0] == "--equal-width":
			equal = true
		case strings.HasPrefix(args[0], "-s"):
			separator = args[0][2:]
		case args[0] == "-f" && len(args) > 1:
			format, args = args[1], args[1:]
		default:
			return p.Fail(1, "the option %s is not supported", args[0])
		}
		args = args[1:]
	}
	if len(args) < 1 || len(args) > 3 {
		return p.Fail(1, "one to three numbers are needed")
	}
	if format != "" && !seqFormat.MatchString(format) {
		return p.Fail(1, "format '%s' is not supported", format)
	}
	numbers := []float64{1, 1, 0}
	decimals, width := 0, 0
	for i, arg := range args {
		n, err := strconv.ParseFloat(arg, 64)
		if err != nil {
			return p.Fail(1, "invalid floating point argument: '%s'", arg)
		}
		_, fraction, _ := strings.Cut(arg, ".")
		if i < len(args)-1 || len(args) == 1 {
			decimals = max(decimals, len(fraction))
		}
		switch {
		case len(args) == 1:
			numbers[2] = n
		case len(args) == 2 && i == 1:
			numbers[2] = n
		default:
			numbers[i] = n
		}
	}
	first, step, last := numbers[0], numbers[1], numbers[2]
	if step == 0 {
		return p.Fail(1, "invalid Zero increment value: '%s'", args[1])
	}
	if len(args) == 1 {
		decimals = 0
	}
	text := func(n float64) string { return strconv.FormatFloat(n, 'f', decimals, 64) }
	if equal {
		width = max(len(text(first)), len(text(first+math.Floor((last-first)/step)*step)))
	}
	count := 0
	for i := 0; ; i++ {
		p.Tick()
		n := first + float64(i)*step
		if step > 0 && n > last+1e-9 || step < 0 && n < last-1e-9 {
			break
		}
		one := text(n)
		if equal {
			sign := ""
			if strings.HasPrefix(one, "-") {
				sign, one = "-", one[1:]
			}
			one = sign + strings.Repeat("0", max(0, width-len(one)-len(sign))) + one
		}
		if format != "" {
			one = fmt.Sprintf(strings.ReplaceAll(format, "%g", "%v"), n)
		}
		if i > 0 {
			one = separator + one
		}
		if _, err := io.WriteString(p.Stdout, one); err != nil {
			return 1
		}
		count++
	}
	if count > 0 {
		io.WriteString(p.Stdout, "\n")
	}
	return 0
}

func env(p *bash.Process) int {
	args := p.Args[1:]
	environment := p.Env
	for len(args) > 0 {
		arg := args[0]
		switch {
		case arg == "-i" || arg == "-" || arg == "--ignore-environment":
			environment = nil
		case arg == "-u" && len(args) > 1:
			environment = without(environment, args[1])
			args = args[1:]
		case strings.HasPrefix(arg, "--unset="):
			environment = without(environment, arg[8:])
		case arg == "--":
			args = args[1:]
			return envRun(p, args, environment)
		case strings.HasPrefix(arg, "-"):
			return p.Fail(125, "the option %s is not supported", arg)
		case strings.Contains(arg, "="):
			name, _, _ := strings.Cut(arg, "=")
			environment = append(without(environment, name), arg)
		default:
			return envRun(p, args, environment)
		}
		args = args[1:]
	}
	return envRun(p, args, environment)
}

func envRun(p *bash.Process, args, environment []string) int {
	if len(args) == 0 {
		for _, pair := range environment {
			io.WriteString(p.Stdout, pair+"\n")
		}
		return 0
	}
	if !p.Known(args[0]) {
		return p.Fail(127, "'%s': No such file or directory", args[0])
	}
	return p.Run(args, environment, p.Stdin, p.Stdout, p.Stderr)
}

func without(environment []string, name string) []string {
	var rest []string
	for _, pair := range environment {
		if !strings.HasPrefix(pair, name+"=") {
			rest = append(rest, pair)
		}
	}
	return rest
}

func timeout(p *bash.Process) int {
	args := p.Args[1:]
	for len(args) > 0 && strings.HasPrefix(args[0], "-") {
		switch {
		case args[0] == "--foreground" || args[0] == "--preserve-status" || args[0] == "-v":
		case (args[0] == "-k" || args[0] == "-s") && len(args) > 1:
			args = args[1:]
		case strings.HasPrefix(args[0], "--signal=") || strings.HasPrefix(args[0], "--kill-after=") || len(args[0]) > 2 && (args[0][1] == 'k' || args[0][1] == 's'):
		default:
			return p.Fail(125, "the option %s is not supported", args[0])
		}
		args = args[1:]
	}
	if len(args) < 2 {
		return p.Fail(125, "missing operand")
	}
	limit, ok := seconds(args[0])
	if !ok {
		return p.Fail(125, "invalid time interval '%s'", args[0])
	}
	if !p.Known(args[1]) && !bash.IsBuiltinWithFile(args[1]) {
		return p.Fail(127, "failed to run command '%s': No such file or directory", args[1])
	}
	if limit == 0 {
		return p.Run(args[1:], p.Env, p.Stdin, p.Stdout, p.Stderr)
	}
	status, over := p.WithTimeout(limit, args[1:])
	if over {
		return 124
	}
	return status
}
