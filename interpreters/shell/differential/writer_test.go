package differential

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
)

// writer writes one script.
type writer struct {
	*rand.Rand
	// number makes names that are used once.
	number int
	// depth is how deep statements and words are nested.
	depth int
	// inFunction and loops say what return and break can leave.
	inFunction bool
	loops      int
	// functions are those that can be called, without a circle.
	functions []string
	// pure says that nothing is assigned: bash expands the redirections of a program in another process.
	pure bool
	// piped counts the pipes around: their processes would write to one file in any order.
	piped int
	// substituting counts the substitutions of commands and processes around: in them, here-documents change the commands after them.
	substituting int
	// extglob says that the script sets it at its begin, so that patterns may have the extended operators.
	extglob bool
}

func newWriter(seed uint64) *writer { return &writer{Rand: rand.New(rand.NewPCG(seed, 0))} }

func (w *writer) pick(texts ...string) string { return texts[w.IntN(len(texts))] }

// chance is true once in so many times.
func (w *writer) chance(of int) bool { return w.IntN(of) == 0 }

func (w *writer) script() *part {
	lines := &part{kind: other, list: true}
	add := func(p *part) { lines.texts = append(lines.texts, of(other, p, "\n")) }
	if w.extglob = w.chance(4); w.extglob {
		// It is no statement, because a script without it would be refused.
		add(of(other, "shopt -s extglob"))
	}
	for _, option := range []string{"set -e", "set -u", "set -o pipefail", "set -E", "shopt -s lastpipe", "shopt -s inherit_errexit", "shopt -s nullglob", "shopt -s nocasematch", "set -f"} {
		if w.chance(4) {
			add(of(statement, option))
		}
	}
	if w.chance(3) {
		add(w.trap())
	}
	add(of(statement, `v1=`, w.value(), ` v2=`, w.value(), ` n1=`, w.digit(), ` n2=`, w.digit()))
	add(of(statement, `a1=(`, w.value(), ` `, w.value(), `)`))
	add(of(statement, `declare -A m1=([k]=`, w.value(), `)`))
	if w.chance(3) {
		add(of(statement, `set -- `, w.value(), ` `, w.value()))
	}
	if w.chance(6) {
		add(of(statement, `IFS=`, w.pick(`:`, `,`, `''`, `$'\n'`, `' :'`)))
	}
	for _, name := range []string{"f1", "f2"} {
		open, end := "{", "}"
		if w.chance(4) {
			open, end = "(", ")"
		}
		w.inFunction = true
		add(of(statement, name, "() ", open, "\n", w.list(1+w.IntN(4)), end))
		w.inFunction = false
		w.functions = append(w.functions, name)
	}
	for range 2 + w.IntN(5) {
		add(w.statement())
	}
	add(of(statement, `echo "end $? $v1|$n1|${a1[*]}|$#"`))
	return lines
}

// list are statements, one in a line.
func (w *writer) list(count int) *part {
	p := &part{kind: other, list: true}
	for range count {
		p.texts = append(p.texts, of(other, w.statement(), "\n"))
	}
	return p
}

func (w *writer) trap() *part {
	return of(statement, `trap '`, w.pick(`echo trap $?`, `echo "t $? $v1"`, `v1=trapped; echo in`, `exit 3`, `false`, `echo trap; false`), `' `, w.pick(`EXIT`, `ERR`, `RETURN`, `EXIT`, `ERR`))
}

func (w *writer) value() *part {
	return of(word, w.pick(``, `''`, `ab`, `'x y'`, `' p  q '`, `5`, `'*'`, `a:b:c`, `/x/y.z`, `-n`, `$'l1\nl2'`, `'a\b'`, `"it's"`, `'?'`, `0`, `'[a]'`, `~`, `'$v2'`, `aXbX`))
}

func (w *writer) digit() *part { return of(word, strconv.Itoa(w.IntN(10))) }

func (w *writer) variable() string { return w.pick("v1", "v1", "v2", "n1", "u1") }

func (w *writer) statement() *part {
	if w.depth > 4 {
		return w.plain()
	}
	w.depth++
	defer func() { w.depth-- }()
	switch w.IntN(46) {
	case 34, 35, 36, 37, 38, 39, 40, 41, 42:
		return w.wide()
	case 0, 1:
		return of(statement, w.statement1(), " && ", w.statement1())
	case 2, 3:
		return of(statement, w.statement1(), " || ", w.statement1())
	case 4:
		return of(statement, w.statement1(), " && ", w.statement1(), " || ", w.statement1())
	case 5:
		return of(statement, "! ", w.statement1())
	case 6, 7:
		p := of(statement, "if ", w.statement(), "\nthen\n", w.list(1+w.IntN(2)))
		if w.chance(2) {
			p.texts = append(p.texts, "else\n", w.list(1+w.IntN(2)))
		}
		p.texts = append(p.texts, "fi")
		return p
	case 8:
		w.number++
		i := fmt.Sprint("i", w.number)
		if w.loops > 1 {
			return w.plain()
		}
		return of(statement, i, "=0\n", w.pick("while (("+i+"++ < 2))", "until (("+i+"++ > 1))"), w.pick("", " && [[ -n x ]]"), "; do\n", w.looped(), "done")
	case 9:
		return of(statement, "for x in ", w.words(), "; do\n", w.looped(), "done")
	case 10:
		w.number++
		i := fmt.Sprint("i", w.number)
		return of(statement, "for ((", i, "=0; ", i, "<2; ", i, "++)); do\n", w.looped(), "done")
	case 11:
		return of(statement, "case ", w.word(), " in ", w.pattern(), ") ", w.statement(), w.pick(" ;;", " ;&", " ;;&"), "\n ", w.pick("*", "a*", "x|y", "''"), ") ", w.statement(), "\n;; esac")
	case 12:
		return of(statement, "{\n", w.list(1+w.IntN(3)), "}", w.redirection())
	case 13, 14:
		return of(statement, "(\n", w.list(1+w.IntN(3)), ")", w.redirection())
	case 15, 16, 17:
		return w.pipe(w.statement1, w.reader)
	case 18, 19:
		if len(w.functions) == 0 {
			return w.plain()
		}
		return of(statement, w.pick(w.functions...), " ", w.words())
	case 20:
		if w.substituting > 0 {
			return w.plain()
		}
		w.number++
		end := fmt.Sprint("E", w.number)
		quote := w.pick("", "", "'")
		return of(statement, "{\n", w.pick("cat", "read -r v1 v2", "mapfile -t a1", "tr a-z A-Z"), " <<", quote, end, quote, "\n", w.document(), "\n", end, "\n}")
	case 21:
		return of(statement, w.pick("cat", "read -r v1", "read -r v1 v2", "IFS=: read -r v1 v2", "read -ra a1", "mapfile -t a1"), " <<< ", w.unchanging())
	case 22:
		return of(statement, "eval ", w.pick(`'echo "$v1"'`, `"echo $n1"`, `'false'`, `'v1=$((n1 + 1))'`, `"return 3" 2>/dev/null`, `'f1() { echo again; }'`, `'for e in 1 2; do echo $e; done'`))
	case 23:
		return of(statement, "[[ ", w.test(), " ]]")
	case 24:
		return of(statement, "((", w.arithmetic(), "))")
	case 25:
		return of(statement, w.pick("v1", "v2", "n1"), "=", w.word(), " ", w.pick("echo", "printf '<%s>'", "f1", "eval", ":"), " ", w.words())
	case 26:
		return of(statement, w.pick("v1=", "local v1=", "export v1=", "declare v2=", "readonly r$((n1))="), "$(\n", w.substituted(1+w.IntN(2)), ")")
	case 27:
		return of(statement, "{\n", w.list(1), "} & wait $!")
	case 28:
		return of(statement, "while getopts ab: o ", w.pick("-a", "-b x", "-ab y", "-c", "z", `"$@"`), " 2>/dev/null; do echo $o ${OPTARG-}; done; OPTIND=1")
	default:
		return w.plain()
	}
}

// statement1 is a statement that can stand beside an operator.
func (w *writer) statement1() *part {
	p := w.statement()
	text := p.String()
	if strings.Contains(text, "\n") && !strings.HasPrefix(text, "{") && !strings.HasPrefix(text, "(") || strings.Contains(text, "; ") || strings.Contains(text, "& wait") || strings.HasPrefix(text, "!") || strings.HasPrefix(text, "let ") {
		return of(statement, "{\n", p, "\n}")
	}
	return p
}

func (w *writer) looped() *part {
	w.loops++
	defer func() { w.loops-- }()
	return w.list(1 + w.IntN(2))
}

// reader is the end of a pipe. It reads everything, so that no signal comes at a time of its own.
func (w *writer) reader() *part {
	switch w.IntN(6) {
	case 0:
		return of(statement, "{\ncat\n", w.list(1+w.IntN(2)), "}")
	case 1:
		return of(statement, "while read -r l", w.pick("", " m"), "; do echo \"<$l>\"; v1=$l; done")
	case 2:
		return of(statement, "(\ncat\n", w.statement(), "\n)")
	case 3:
		return of(statement, "mapfile -t a1")
	default:
		return of(statement, w.pick("cat", "wc -l", "tr a-z A-Z", "sort", "{ cat; false; }"))
	}
}

// pipe is a pipe of these parts.
func (w *writer) pipe(parts ...func() *part) *part {
	w.piped++
	defer func() { w.piped-- }()
	p := of(statement, parts[0]())
	for _, next := range parts[1:] {
		p.texts = append(p.texts, w.pick(" | ", " | ", " |& "), next())
	}
	return p
}

func (w *writer) redirection() string {
	if w.piped > 0 {
		return w.pick("", "", "", " 2>&1", " 2>/dev/null", " >&2", " < /dev/null", " < nofile", " 3>&1 >&3")
	}
	return w.pick("", "", "", " 2>&1", " 2>/dev/null", " > f1", " >> f1", " > f2 2>&1", " 2> f2", " >&2", " < /dev/null", " < nofile", " 3>&1 >&3")
}

// plain is a statement without others.
func (w *writer) plain() *part {
	switch w.IntN(36) {
	case 0, 1, 2:
		return of(statement, `echo `, w.words(), w.redirection())
	case 3, 4, 5:
		return of(statement, `printf '<%s>' `, w.words(), w.redirection())
	case 6, 7:
		return of(statement, `echo "$?`, w.pick("", " $#", " ${PIPESTATUS[*]}", " $v1", w.caller()), `"`)
	case 8, 9, 10:
		return of(statement, "false")
	case 11:
		return of(statement, "true")
	case 12:
		return of(statement, "(exit ", w.digit(), ")")
	case 13:
		if w.inFunction {
			return of(statement, "return ", w.digit())
		}
		return of(statement, w.pick("return 2>/dev/null", "false", "exit "+fmt.Sprint(w.IntN(5))))
	case 14:
		if w.loops > 0 {
			return of(statement, w.pick("break", "continue", "break 2", "continue 2"))
		}
		return of(statement, "shift", w.pick("", " 2"))
	case 15, 16:
		return of(statement, w.pick("v1", "v2", "n1", "v1+", "n1+"), "=", w.word())
	case 17:
		return of(statement, w.pick("a1", "a1+"), "=(", w.words(), ")")
	case 18:
		return of(statement, w.pick("a1[0]", "a1[2]", "a1[n1]", "a1[-1]", "m1[k]", `m1["a b"]`, "m1[$v1]"), w.pick("=", "+="), w.word())
	case 19:
		if w.inFunction {
			return of(statement, "local ", w.pick("v1", "v2=", "n1=$n1", "v1=ab v2=$v1", "-a a1=(1 2)", "-n r=v1; r=x", "-i n1=2+3"))
		}
		return of(statement, w.pick("local v1=1 2>/dev/null", "declare -i n1=2+3", "declare -u v1=abc", "declare -l v2=ABC", "declare -n r=v1; r=x; unset -n r", "export v1", "declare -p v1", "declare -p a1", "declare -p m1"))
	case 20:
		return of(statement, "unset ", w.pick("v1", "u1", "'a1[0]'", "a1", "'m1[k]'", "v2 n1", "-f f1"))
	case 21:
		return of(statement, "set -- ", w.words())
	case 22:
		return of(statement, w.pick("set -e", "set +e", "set -u", "set +u", "set -o pipefail", "set +o pipefail", "set -f", "set +f", "shopt -s nullglob", "shopt -u nullglob"))
	case 23:
		return w.trap()
	case 24:
		return of(statement, "printf -v v1 ", w.pick(`'%05d' "$n1"`, `'%q' "$v2"`, `'%s-' a b`, `'%x' 255`, `'%-5s|' "$v1"`))
	case 25:
		return of(statement, w.pick("[", "test"), " ", w.simpleTest(), w.pick(" ]", " ]"))
	case 26:
		return of(statement, "let ", w.pick("n1++", "n1+=2", "'n1 = n2 * 2'", "0", "1", "'n1 > 2'"))
	case 27:
		return of(statement, w.pick("cat f1", "cat < f1", "cat f1 f2 2>/dev/null", "wc -l < f1", "[[ -s f1 ]]", "rm -f f1", ": > f2", `"${nosuch-nosuch}" 2>/dev/null`, "cat /dev/null"))
	case 28:
		return of(statement, "exit ", w.digit())
	case 29:
		return of(statement, w.pick(`readonly v2`, `v1=(x y)`, `a1=z`, `: "${v1:=dflt}"`, `: ${u1?} 2>/dev/null`, `: "${u1:?gone}" 2>/dev/null`, `type -t f1`, `command -v cat >/dev/null`, `builtin echo b`, `command echo c`))
	default:
		return of(statement, `printf '[%s]' `, w.words())
	}
}

// caller is the name of the function. Outside, bash has one where a function ended by an error.
func (w *writer) caller() string {
	if w.inFunction {
		return " ${FUNCNAME[0]-}"
	}
	return ""
}

func (w *writer) simpleTest() *part {
	return of(other, w.pick(`"$v1" = ab`, `-n "$v1"`, `-z "$v1"`, `$n1 -lt 5`, `"$v1" != "$v2"`, `-e f1`, `! -n "$v1"`, `"$n1" -eq "$n2"`, `-n "$v1" -a "$n1" -gt 3`, `-v v1`, `"$v1"`, ``))
}

func (w *writer) test() *part {
	not := func() string { return w.pick("", "", "", "! ") }
	p := of(other, not(), w.test1())
	for w.chance(3) {
		p.texts = append(p.texts, w.pick(" && ", " || "), not())
		if w.chance(4) {
			p.texts = append(p.texts, "( ", w.test1(), w.pick(" && ", " || "), not(), w.test1(), " )")
			continue
		}
		p.texts = append(p.texts, w.test1())
	}
	return p
}

func (w *writer) test1() *part {
	switch w.IntN(6) {
	case 0:
		return of(other, w.word(), " == ", w.pattern())
	case 1:
		return of(other, w.word(), " != ", w.pattern())
	case 2:
		return of(other, w.word(), " =~ ", w.pick(`^a`, `b$`, `[0-9]+`, `^(.)(.*)$`, `$v2x`, `"$v1"`, `x\ y`))
	case 3:
		return of(other, w.word(), w.pick(" < ", " > "), w.word())
	case 4:
		return of(other, w.pick("-n ", "-z ", "-v v1 && -n ", "-e "), w.word())
	default:
		return of(other, "n1 ", w.pick("-lt", "-eq", "-ge"), " ", w.digit())
	}
}

func (w *writer) arithmetic() *part {
	if w.depth > 5 || w.chance(3) {
		return of(word, w.pick("n1", "n2", "0", "1", "7", "a1[0]", "${n1}", "u1", "${#a1[@]}", "0x1f", "010", "2#11"))
	}
	w.depth++
	defer func() { w.depth-- }()
	choice := w.IntN(8)
	if w.pure {
		choice = 7
	}
	switch choice {
	case 0:
		return of(word, "n1 ", w.pick("=", "+=", "-=", "*="), " (", w.arithmetic(), ")")
	case 1:
		return of(word, w.pick("n1++", "++n2", "n1--", "-n1", "!n1", "~n2"))
	case 2:
		return of(word, "(", w.arithmetic(), ") ? ", w.arithmetic(), " : (", w.arithmetic(), ")")
	case 3:
		return of(word, "(", w.arithmetic(), ")")
	default:
		return of(word, "(", w.arithmetic(), ") ", w.pick("+", "-", "*", "/", "%", "<<", "&", "|", "^", "&&", "||", "<", ">=", "==", "!=", ","), " (", w.arithmetic(), ")")
	}
}

func (w *writer) pattern() *part {
	if w.extglob && w.chance(3) {
		return of(word, w.pick("", "a", ""), w.pick("@", "?", "*", "+", "!"), "(", w.pick("a|b", "a", "ab|x", "?", "[0-9]", `$v2`, `"$v1"`, "a*", "@(a|b)"), ")", w.pick("", "b", "*"))
	}
	return of(word, w.pick(`a*`, `*b`, `?`, `*`, `[ab]*`, `[!a]*`, `''`, `"$v1"`, `$v1`, `"a"*`, `\*`, `*[[:space:]]*`, `ab`, `x\ y`, `$v2*`))
}

func (w *writer) words() *part {
	p := of(other, w.word())
	for range w.IntN(3) {
		p.texts = append(p.texts, " ", w.word())
	}
	return p
}

// word is one word of a command, which may become several or none.
func (w *writer) word() *part {
	if w.depth > 6 {
		return of(word, w.pick("w", `"$v1"`, "$n1"))
	}
	w.depth++
	defer func() { w.depth-- }()
	switch w.IntN(16) {
	case 0:
		return w.literal()
	case 1, 2:
		return of(word, "$", w.variable())
	case 3, 4, 5:
		return of(word, w.expansion(false))
	case 6, 7, 8:
		return of(word, `"`, w.quoted(), `"`)
	case 9:
		return of(word, w.pick(`"$@"`, `$*`, `"$*"`, `$@`, `"${@:2}"`, `"${a1[@]}"`, `${a1[*]}`, `"${a1[*]}"`, `"${!a1[@]}"`, `${#a1[@]}`, `"${a1[@]:1}"`, `"${a1[@]/b/B}"`, `"${m1[k]-none}"`, `"${#m1[@]}"`, `"x$@y"`, `"${a1[@]#a}"`, `"${a1[@]:-none}"`))
	case 10:
		return of(word, "$((", w.arithmetic(), "))")
	case 11:
		return of(word, "$(", w.simple(), ")")
	case 12:
		return of(word, w.pick("{a,b}", "x{1..3}", "{1..3}", "pre{$v1,z}", "{a,b}{c,d}", "'a b'", `$'t\tn'`, `\$v1`, `a\ b`, "*.sh", "f?", "nofile*", "~/x", "[x", `"a"'b'c`, "`echo t`", "-e", "--"))
	case 13:
		return of(word, w.pick("p", "", "'q '"), `"`, w.quoted(), `"`, w.pick("", "s", "$v2", "'*'"))
	default:
		return w.literal()
	}
}

// unchanging is a word that assigns nothing.
func (w *writer) unchanging() *part {
	w.pure = true
	defer func() { w.pure = false }()
	return w.word()
}

func (w *writer) literal() *part {
	return of(word, w.pick("w", "ab", "a", "x", "5", "'x y'", "b", `"it's"`, `''`, "k", "Abc", "a,b"))
}

// simple is a command in a command substitution.
func (w *writer) simple() *part {
	if w.depth > 5 {
		return of(statement, w.pick("echo s", "printf 'a b\\n\\n'", "false", "echo $v1"))
	}
	return of(statement, "\n", w.substituted(1), "")
}

// substituted are the statements of a substitution.
func (w *writer) substituted(count int) *part {
	w.substituting++
	defer func() { w.substituting-- }()
	return w.list(count)
}

// expansion is ${…}.
func (w *writer) expansion(quoted bool) *part {
	v := w.variable()
	argument := func() *part {
		if quoted {
			return of(word, w.pick("", "d", "d e", "$v2", `\$`, "'s'", `"q r"`, "*"))
		}
		return of(word, w.pick("", "d", "d e", "$v2", `"$v2"`, "'s t'", `"q r"`, "*", `\*`))
	}
	switch w.IntN(16) {
	case 0, 1:
		if w.pure {
			return of(word, "${", v, w.pick("-", ":-", "+", ":+"), argument(), "}")
		}
		return of(word, "${", v, w.pick("-", ":-", "+", ":+", "=", ":="), argument(), "}")
	case 2, 3:
		return of(word, "${", v, w.pick("#", "##", "%", "%%"), w.pattern(), "}")
	case 4, 5:
		return of(word, "${", v, w.pick("/", "//", "/#", "/%"), w.pick("a", "?", "[ab]", "*b", "x", "' '", `"$v2"`, ":"), w.pick("/Z", "/", "", "/$v2", `/"<&>"`, "/$*", "/${a1[*]}"), "}")
	case 6, 7:
		return of(word, "${", v, ":", w.pick("0", "1", " -1", "n1", "1:2", "0:-1", " -2:1", ":2", "9"), "}")
	case 8:
		return of(word, "${#", v, "}")
	case 9:
		return of(word, "${", v, w.pick("^", "^^", ",", ",,", "^^[a-c]"), "}")
	case 10:
		return of(word, "${", v, w.pick("@Q", "@U", "@L", "@u", "@E", "@A", "@a"), "}")
	case 11:
		return of(word, w.pick("${!v3-}", "${!v@}", "${!u1-gone}", "${a1[n1]-}", "${a1[-1]-}", "${a1}", "${1-one}", "${#}", "${2:-two}", "${@:1:1}", "${*:2}", "${a1[@]@Q}", "${a1@A}", "${a1@a}", "${a1[1]@A}", "${m1@a}"))
	case 12:
		return of(word, "${", v, "?}")
	default:
		return of(word, "${", v, "}")
	}
}

// quoted is what stands between double quotes.
func (w *writer) quoted() *part {
	p := of(other)
	for range 1 + w.IntN(2) {
		switch w.IntN(8) {
		case 0, 1:
			p.texts = append(p.texts, w.pick("a", " ", "x y", "'", "*", `\"`, `\$`, `\\`, `\a`, "~", "{a,b}", "!"))
		case 2:
			p.texts = append(p.texts, "$"+w.variable())
		case 3, 4:
			p.texts = append(p.texts, w.expansion(true))
		case 5:
			p.texts = append(p.texts, of(other, "$(", w.simple(), ")"))
		case 6:
			p.texts = append(p.texts, of(other, "$((", w.arithmetic(), "))"))
		default:
			p.texts = append(p.texts, w.pick("${a1[*]}", "$*", "$?", "${#v1}", "${m1[*]}"))
		}
	}
	return p
}

// document is the text of a here-document.
func (w *writer) document() *part {
	w.pure = true
	defer func() { w.pure = false }()
	p := of(other)
	for i := range 1 + w.IntN(3) {
		if i > 0 {
			p.texts = append(p.texts, "\n")
		}
		p.texts = append(p.texts, w.pick("line ", "  two", "", `q"q `, `it's `, `b\ `, `\$v1 `, `\\ `, "* "))
		switch w.IntN(4) {
		case 0:
			p.texts = append(p.texts, "$"+w.variable())
		case 1:
			p.texts = append(p.texts, w.expansion(true))
		case 2:
			p.texts = append(p.texts, of(other, "$((", w.arithmetic(), "))"))
		default:
			p.texts = append(p.texts, w.pick("$(echo sub)", "$(echo sub)", "$*", "${a1[*]}", "${*#a}", "${a1[*]/b/B}", "$@"))
		}
	}
	return p
}
