package commands

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"strconv"
	"strings"

	"github.com/boathook/boathook/interpreters/shell/bash"
	"github.com/boathook/boathook/interpreters/shell/fs"
)

func init() {
	define("touch", spec{short: "cd:r:t:am", long: map[string]string{"no-create": "c", "date": "d", "reference": "r"}}, 1, touch)
	define("mkdir", spec{short: "pm:v", long: map[string]string{"parents": "p", "mode": "m", "verbose": "v"}}, 1, mkdir)
	define("rmdir", spec{short: "p"}, 1, rmdir)
	define("rm", spec{short: "rRfdv", long: map[string]string{"recursive": "r", "force": "f", "dir": "d"}}, 1, rm)
	define("cp", spec{short: "rRafpTt:vn", long: map[string]string{"recursive": "r", "archive": "a", "force": "f"}}, 1, cp)
	define("mv", spec{short: "fnTv", long: map[string]string{"force": "f", "no-clobber": "n"}}, 1, mv)
	define("chmod", spec{short: "R", long: map[string]string{"recursive": "R"}}, 1, chmod)
	define("chown", spec{short: "+R"}, 1, func(c *call) int {
		return c.Fail(1, "files of a hook have no owners: remove it")
	})
	define("ln", spec{short: "+sfnr"}, 1, func(c *call) int {
		return c.Fail(1, "files of a hook have no links: use cp")
	})
	define("ls", spec{short: "1aAldrtSRpF", long: map[string]string{"all": "a", "almost-all": "A", "directory": "d", "reverse": "r"}}, 2, ls)
	define("basename", spec{short: "+as:z", long: map[string]string{"multiple": "a", "suffix": "s"}}, 1, basename)
	define("dirname", spec{short: "z"}, 1, dirname)
	define("realpath", spec{short: "emsqz", long: map[string]string{"canonicalize-existing": "e", "canonicalize-missing": "m", "no-symlinks": "s", "relative-to:": ""}}, 1, realpath)
	define("readlink", spec{short: "femnq", long: map[string]string{"canonicalize": "f"}}, 1, readlink)
	define("mktemp", spec{short: "dp:tuq", long: map[string]string{"directory": "d", "suffix:": "", "tmpdir": "tmpdir", "dry-run": "u"}}, 1, mktemp)
	define("stat", spec{short: "c:Lf", long: map[string]string{"format": "c", "printf:": ""}}, 1, stat)
	define("pwd", spec{short: "LP"}, 1, func(c *call) int { c.print(c.Dir + "\n"); return 0 })
	define("truncate", spec{short: "s:", long: map[string]string{"size": "s"}}, 1, truncate)
	define("cmp", spec{short: "s"}, 2, cmp)
	all["find"] = find
}

func (c *call) stat(name string) (os.FileInfo, error) { return c.FS().Stat(c.Abs(name)) }

func touch(c *call) int {
	if c.flags["t"] {
		return c.Fail(1, "the option -t is not supported: use -d")
	}
	at := c.World.Now()
	if c.flags["r"] {
		info, err := c.stat(c.value("r", ""))
		if err != nil {
			return c.Fail(1, "failed to get attributes of '%s': %s", c.value("r", ""), bash.Reason(err))
		}
		at = info.ModTime()
	}
	if c.flags["d"] {
		parsed, err := parseDate(c.value("d", ""), at)
		if err != nil {
			return c.Fail(1, "%s", err)
		}
		at = parsed
	}
	if len(c.args) == 0 {
		return c.Fail(1, "missing file operand")
	}
	for _, name := range c.args {
		if _, err := c.stat(name); err != nil {
			if c.flags["c"] {
				continue
			}
			w, err := c.Create(name, true)
			if err != nil {
				c.failed("cannot touch '%s': %s", name, bash.Reason(err))
				continue
			}
			w.Close()
		}
		c.FS().Touch(c.Abs(name), at)
	}
	return c.status
}

func mkdir(c *call) int {
	if len(c.args) == 0 {
		return c.Fail(1, "missing operand")
	}
	mode := os.FileMode(0o777)
	if c.flags["m"] {
		n, err := strconv.ParseUint(c.value("m", ""), 8, 12)
		if err != nil {
			return c.Fail(1, "invalid mode '%s': only octal modes are supported", c.value("m", ""))
		}
		mode = os.FileMode(n)
	}
	for _, name := range c.args {
		if err := c.makeDir(name, mode, c.flags["p"]); err != nil {
			c.failed("cannot create directory '%s': %s", name, bash.Reason(err))
		}
	}
	return c.status
}

func (c *call) makeDir(name string, mode os.FileMode, parents bool) error {
	if !parents {
		return c.FS().Mkdir(c.Abs(name), mode)
	}
	if info, err := c.stat(name); err == nil {
		if !info.IsDir() {
			return fs.Exist
		}
		return nil
	} else if bash.Reason(err) != string(fs.NotExist) {
		return err
	}
	if up := path.Dir(path.Clean(c.Abs(name))); up != "/" {
		if err := c.makeDir(up, 0o777, true); err != nil {
			return err
		}
	}
	err := c.FS().Mkdir(path.Clean(c.Abs(name)), mode)
	if err != nil && bash.Reason(err) == string(fs.Exist) {
		return nil
	}
	return err
}

func rmdir(c *call) int {
	for _, name := range c.args {
		info, err := c.stat(name)
		if err == nil && !info.IsDir() {
			err = fs.NotDir
		}
		if err == nil {
			err = c.FS().Remove(c.Abs(name))
		}
		if err != nil {
			c.failed("failed to remove '%s': %s", name, bash.Reason(err))
		}
	}
	return c.status
}

func rm(c *call) int {
	if len(c.args) == 0 && !c.flags["f"] {
		return c.Fail(1, "missing operand")
	}
	for _, name := range c.args {
		info, err := c.stat(name)
		switch {
		case err != nil:
			if !c.flags["f"] {
				c.failed("cannot remove '%s': %s", name, bash.Reason(err))
			}
			continue
		case path.Clean(c.Abs(name)) == "/":
			c.failed("it is dangerous to operate recursively on '/'")
			continue
		case info.IsDir() && !c.flags["r"] && !c.flags["R"] && !c.flags["d"]:
			c.failed("cannot remove '%s': Is a directory", name)
			continue
		}
		if c.flags["r"] || c.flags["R"] {
			err = c.FS().RemoveAll(c.Abs(name))
		} else {
			err = c.FS().Remove(c.Abs(name))
		}
		if err != nil {
			c.failed("cannot remove '%s': %s", name, bash.Reason(err))
		}
	}
	return c.status
}

// target is the place of a copy of `from`: in the last operand where that is a directory.
func (c *call) target(from, to string) string {
	if info, err := c.stat(to); err == nil && info.IsDir() && !c.flags["T"] {
		return strings.TrimSuffix(to, "/") + "/" + path.Base(path.Clean(from))
	}
	return to
}

func (c *call) sources() (sources []string, to string, ok bool) {
	if dir := c.value("t", ""); dir != "" {
		return c.args, dir, len(c.args) > 0
	}
	if len(c.args) < 2 {
		c.Fail(1, "missing file operand")
		return nil, "", false
	}
	sources, to = c.args[:len(c.args)-1], c.args[len(c.args)-1]
	if len(sources) > 1 {
		if info, err := c.stat(to); err != nil || !info.IsDir() {
			c.Fail(1, "target '%s': No such file or directory", to)
			return nil, "", false
		}
	}
	return sources, to, true
}

func cp(c *call) int {
	sources, to, ok := c.sources()
	if !ok {
		return 1
	}
	deep := c.flags["r"] || c.flags["R"] || c.flags["a"]
	for _, from := range sources {
		info, err := c.stat(from)
		target := c.target(from, to)
		switch {
		case err != nil:
			c.failed("cannot stat '%s': %s", from, bash.Reason(err))
		case info.IsDir() && !deep:
			c.failed("-r not specified; omitting directory '%s'", from)
		case c.same(info, target):
			c.failed("'%s' and '%s' are the same file", from, target)
		default:
			if _, err := c.stat(target); err == nil && c.flags["n"] {
				continue
			}
			if err := c.copy(c.Abs(from), target, info); err != nil {
				c.failed("cannot create regular file '%s': %s", target, bash.Reason(err))
			}
		}
	}
	return c.status
}

func (c *call) same(info os.FileInfo, target string) bool {
	other, err := c.stat(target)
	return err == nil && other.(*fs.Info).Inode() == info.(*fs.Info).Inode()
}

func (c *call) copy(from, to string, info os.FileInfo) error {
	c.Tick()
	if info.IsDir() {
		if _, err := c.stat(to); err != nil {
			if err := c.FS().Mkdir(c.Abs(to), info.Mode()); err != nil {
				return err
			}
		}
		children, err := c.FS().ReadDir(from)
		if err != nil {
			return err
		}
		for _, child := range children {
			if err := c.copy(from+"/"+child.Name(), to+"/"+child.Name(), child); err != nil {
				return err
			}
		}
		return nil
	}
	data, err := c.FS().ReadFile(from)
	if err != nil {
		return err
	}
	_, exists := c.stat(to)
	w, err := c.Create(to, false)
	if err != nil {
		return err
	}
	defer w.Close()
	if _, err := w.Write(data); err != nil {
		return err
	}
	if exists != nil {
		return c.FS().Chmod(c.Abs(to), info.Mode())
	}
	return nil
}

func mv(c *call) int {
	sources, to, ok := c.sources()
	if !ok {
		return 1
	}
	for _, from := range sources {
		target := c.target(from, to)
		info, err := c.stat(from)
		switch {
		case err != nil:
			c.failed("cannot stat '%s': %s", from, bash.Reason(err))
		case c.same(info, target):
			c.failed("'%s' and '%s' are the same file", from, target)
		default:
			if _, err := c.stat(target); err == nil && c.flags["n"] {
				continue
			}
			if err := c.FS().Rename(path.Clean(c.Abs(from)), path.Clean(c.Abs(target))); err != nil {
				c.failed("cannot move '%s' to '%s': %s", from, target, bash.Reason(err))
			}
		}
	}
	return c.status
}

func chmod(c *call) int {
	if len(c.args) < 2 {
		return c.Fail(1, "missing operand")
	}
	for _, name := range c.args[1:] {
		apply := func(p string, info os.FileInfo) error {
			mode, err := changeMode(c.args[0], info)
			if err != nil {
				return err
			}
			return c.FS().Chmod(p, mode)
		}
		info, err := c.stat(name)
		if err == nil {
			if c.flags["R"] {
				err = c.FS().Walk(c.Abs(name), apply)
			} else {
				err = apply(c.Abs(name), info)
			}
		}
		if err != nil {
			c.failed("cannot access '%s': %s", name, bash.Reason(err))
		}
	}
	return c.status
}

// changeMode applies a mode such as 644, +x or u=rw,go-w.
func changeMode(text string, info os.FileInfo) (os.FileMode, error) {
	if n, err := strconv.ParseUint(text, 8, 12); err == nil {
		return os.FileMode(n), nil
	}
	mode := info.Mode().Perm()
	for _, clause := range strings.Split(text, ",") {
		at := strings.IndexAny(clause, "+-=")
		if at < 0 {
			return 0, errors.New("invalid mode: '" + text + "'")
		}
		who := os.FileMode(0)
		for _, c := range clause[:at] {
			switch c {
			case 'u':
				who |= 0o700
			case 'g':
				who |= 0o070
			case 'o':
				who |= 0o007
			case 'a':
				who |= 0o777
			default:
				return 0, errors.New("invalid mode: '" + text + "'")
			}
		}
		bits := os.FileMode(0)
		for _, c := range clause[at+1:] {
			switch c {
			case 'r':
				bits |= 0o444
			case 'w':
				bits |= 0o222
			case 'x':
				bits |= 0o111
			case 'X':
				if info.IsDir() || mode&0o111 != 0 {
					bits |= 0o111
				}
			default:
				return 0, errors.New("invalid mode: '" + text + "'")
			}
		}
		if who == 0 {
			who = 0o777
			if clause[at] != '=' {
				bits &^= 0o022 & 0o222
			}
		}
		switch clause[at] {
		case '+':
			mode |= bits & who
		case '-':
			mode &^= bits & who
		default:
			mode = mode&^who | bits&who
		}
	}
	return mode, nil
}

func ls(c *call) int {
	for _, flag := range []string{"l", "R", "F", "p"} {
		if c.flags[flag] {
			return c.Fail(2, "the option -%s is not supported: use find or stat", flag)
		}
	}
	names := c.args
	if len(names) == 0 {
		names = []string{"."}
	}
	var files, dirs []string
	infos := map[string]os.FileInfo{}
	for _, name := range names {
		info, err := c.stat(name)
		if err != nil {
			c.flush()
			c.Fail(2, "cannot access '%s': %s", name, bash.Reason(err))
			c.status = 2
			continue
		}
		infos[name] = info
		if info.IsDir() && !c.flags["d"] {
			dirs = append(dirs, name)
		} else {
			files = append(files, name)
		}
	}
	show := func(names []string, infos map[string]os.FileInfo) {
		sortFiles(names, infos, c)
		for _, name := range names {
			c.print(name + "\n")
		}
	}
	show(files, infos)
	sortFiles(dirs, infos, c)
	for i, dir := range dirs {
		if len(names) > 1 {
			if i > 0 || len(files) > 0 {
				c.print("\n")
			}
			c.print(dir + ":\n")
		}
		children, err := c.FS().ReadDir(c.Abs(dir))
		if err != nil {
			c.failed("cannot open directory '%s': %s", dir, bash.Reason(err))
			continue
		}
		var list []string
		inside := map[string]os.FileInfo{}
		if c.flags["a"] {
			list = append(list, ".", "..")
			inside["."], inside[".."] = infos[dir], infos[dir]
		}
		for _, child := range children {
			if strings.HasPrefix(child.Name(), ".") && !c.flags["a"] && !c.flags["A"] {
				continue
			}
			list = append(list, child.Name())
			inside[child.Name()] = child
		}
		show(list, inside)
	}
	return c.status
}

func sortFiles(names []string, infos map[string]os.FileInfo, c *call) {
	less := func(a, b string) bool {
		x, y := infos[a], infos[b]
		switch {
		case c.flags["t"] && !x.ModTime().Equal(y.ModTime()):
			return x.ModTime().After(y.ModTime())
		case c.flags["S"] && x.Size() != y.Size():
			return x.Size() > y.Size()
		}
		return a < b
	}
	sortBy(names, func(a, b string) bool {
		if c.flags["r"] {
			return less(b, a)
		}
		return less(a, b)
	})
}

func basename(c *call) int {
	if len(c.args) == 0 {
		return c.Fail(1, "missing operand")
	}
	names, suffix := c.args[:1], c.value("s", "")
	if c.flags["a"] || c.flags["s"] {
		names = c.args
	} else if len(c.args) == 2 {
		suffix = c.args[1]
	} else if len(c.args) > 2 {
		return c.Fail(1, "extra operand '%s'", c.args[2])
	}
	for _, name := range names {
		base := strings.TrimRight(name, "/")
		if base == "" && name != "" {
			base = "/"
		} else {
			base = base[strings.LastIndexByte(base, '/')+1:]
		}
		if suffix != base {
			base = strings.TrimSuffix(base, suffix)
		}
		c.print(base)
		c.out.WriteByte(c.zero("z"))
	}
	return 0
}

func dirname(c *call) int {
	if len(c.args) == 0 {
		return c.Fail(1, "missing operand")
	}
	for _, name := range c.args {
		c.print(dirOf(name))
		c.out.WriteByte(c.zero("z"))
	}
	return 0
}

func dirOf(name string) string {
	trimmed := strings.TrimRight(name, "/")
	if trimmed == "" {
		if name == "" {
			return "."
		}
		return "/"
	}
	at := strings.LastIndexByte(trimmed, '/')
	if at < 0 {
		return "."
	}
	if dir := strings.TrimRight(trimmed[:at], "/"); dir != "" {
		return dir
	}
	return "/"
}

func realpath(c *call) int {
	if len(c.args) == 0 {
		return c.Fail(1, "missing operand")
	}
	base := ""
	if c.flags["relative-to"] {
		base = path.Clean(c.Abs(c.value("relative-to", "")))
	}
	for _, name := range c.args {
		p := path.Clean(c.Abs(name))
		_, err := c.FS().Stat(p)
		if err != nil && !c.flags["m"] {
			if _, up := c.FS().Stat(path.Dir(p)); up != nil || c.flags["e"] {
				if !c.flags["q"] {
					c.failed("%s: %s", name, bash.Reason(err))
				}
				c.status = 1
				continue
			}
		}
		if base != "" {
			p = relativePath(base, p)
		}
		c.print(p + string([]byte{c.zero("z")}))
	}
	return c.status
}

// relativePath is a path as seen from a directory.
func relativePath(base, p string) string {
	from, to := strings.Split(strings.Trim(base, "/"), "/"), strings.Split(strings.Trim(p, "/"), "/")
	if base == "/" {
		from = nil
	}
	if p == "/" {
		to = nil
	}
	same := 0
	for same < len(from) && same < len(to) && from[same] == to[same] {
		same++
	}
	up := strings.Repeat("../", len(from)-same)
	if rest := up + strings.Join(to[same:], "/"); rest != "" {
		return strings.TrimSuffix(rest, "/")
	}
	return "."
}

func readlink(c *call) int {
	if len(c.args) == 0 {
		return c.Fail(1, "missing operand")
	}
	if !c.flags["f"] && !c.flags["e"] && !c.flags["m"] {
		// There are no links.
		return 1
	}
	end := "\n"
	if c.flags["n"] {
		end = ""
	}
	for _, name := range c.args {
		p := path.Clean(c.Abs(name))
		_, err := c.FS().Stat(p)
		_, up := c.FS().Stat(path.Dir(p))
		if err != nil && !c.flags["m"] && (c.flags["e"] || up != nil) {
			c.status = 1
			continue
		}
		c.print(p + end)
	}
	return c.status
}

func mktemp(c *call) int {
	if c.flags["t"] && len(c.args) > 0 && strings.Contains(c.args[0], "/") {
		return c.Fail(1, "invalid template, '%s', contains directory separator", c.args[0])
	}
	dir := c.value("p", c.Getenv("TMPDIR"))
	if dir == "" {
		dir = "/tmp"
	}
	template := dir + "/tmp.XXXXXXXXXX"
	if len(c.args) > 0 {
		template = c.args[0]
		if c.flags["p"] || c.flags["tmpdir"] || c.flags["t"] {
			template = dir + "/" + template
		}
	}
	template += c.value("suffix", "")
	end := strings.LastIndex(template, "XXX")
	if end < 0 {
		return c.Fail(1, "too few X's in template '%s'", template)
	}
	end += 3
	start := end
	for start > 0 && template[start-1] == 'X' {
		start--
	}
	const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
	for range 100 {
		name := []byte(template)
		for i := start; i < end; i++ {
			name[i] = letters[c.World.Random()%uint64(len(letters))]
		}
		p := string(name)
		if _, err := c.stat(p); err == nil {
			continue
		}
		var err error
		switch {
		case c.flags["u"]:
		case c.flags["d"]:
			err = c.FS().Mkdir(c.Abs(p), 0o700)
		default:
			var w io.WriteCloser
			if w, err = c.Create(p, false); err == nil {
				w.Close()
				c.FS().Chmod(c.Abs(p), 0o600)
			}
		}
		if err != nil {
			return c.Fail(1, "failed to create file via template '%s': %s", template, bash.Reason(err))
		}
		c.print(p + "\n")
		return 0
	}
	return c.Fail(1, "failed to create file via template '%s': File exists", template)
}

func stat(c *call) int {
	format := c.value("c", "")
	end := "\n"
	if c.flags["printf"] {
		format, _ = bash.EchoEscapes(c.value("printf", ""))
		end = ""
	}
	if format == "" {
		return c.Fail(1, "only -c FORMAT is supported")
	}
	for _, name := range c.args {
		info, err := c.stat(name)
		if err != nil {
			c.failed("cannot statx '%s': %s", name, bash.Reason(err))
			continue
		}
		for i := 0; i < len(format); i++ {
			if format[i] != '%' || i+1 == len(format) {
				c.out.WriteByte(format[i])
				continue
			}
			i++
			kind := "regular file"
			switch {
			case info.IsDir():
				kind = "directory"
			case info.Mode()&os.ModeDevice != 0:
				kind = "character special file"
			case info.Size() == 0:
				kind = "regular empty file"
			}
			switch format[i] {
			case '%':
				c.print("%")
			case 'n':
				c.print(name)
			case 's':
				c.printf("%d", info.Size())
			case 'a':
				c.printf("%o", info.Mode().Perm())
			case 'A':
				c.print(strings.Replace(info.Mode().String(), "Dc", "c", 1))
			case 'F':
				c.print(kind)
			case 'Y':
				c.printf("%d", info.ModTime().Unix())
			case 'y':
				c.print(bash.Strftime("%F %T.%N %z", info.ModTime().UTC()))
			case 'U', 'G':
				c.print("root")
			case 'u', 'g':
				c.print("0")
			default:
				return c.Fail(1, "the format %%%c is not supported", format[i])
			}
		}
		c.print(end)
	}
	return c.status
}

func truncate(c *call) int {
	n, ok := size(c.value("s", ""))
	if !ok || n < 0 || n > 64<<20 {
		return c.Fail(1, "Invalid number: '%s'", c.value("s", ""))
	}
	for _, name := range c.args {
		data, _ := c.FS().ReadFile(c.Abs(name))
		for int64(len(data)) < n {
			data = append(data, make([]byte, n-int64(len(data)))...)
		}
		w, err := c.Create(name, false)
		if err != nil {
			c.failed("cannot open '%s' for writing: %s", name, bash.Reason(err))
			continue
		}
		w.Write(data[:n])
		w.Close()
	}
	return c.status
}

func cmp(c *call) int {
	if len(c.args) != 2 {
		return c.Fail(2, "two files are needed")
	}
	a, b := string(c.all(c.args[:1])), string(c.all(c.args[1:]))
	if c.status != 0 {
		return 2
	}
	for i := 0; i < min(len(a), len(b)); i++ {
		if a[i] != b[i] {
			if !c.flags["s"] {
				c.printf("%s %s differ: byte %d, line %d\n", c.args[0], c.args[1], i+1, strings.Count(a[:i], "\n")+1)
			}
			return 1
		}
	}
	if len(a) == len(b) {
		return 0
	}
	if !c.flags["s"] {
		shorter := c.args[0]
		if len(b) < len(a) {
			shorter = c.args[1]
		}
		c.flush()
		fmt.Fprintf(c.Stderr, "cmp: EOF on %s\n", shorter)
	}
	return 1
}
