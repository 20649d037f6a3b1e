package differential

import (
	"fmt"
	"strings"
)

// wide is a statement of the parts of bash that meet others: scopes, signals, jobs, descriptors, here-documents in loops.
func (w *writer) wide() *part {
	switch w.IntN(24) {
	case 0:
		return of(statement, "(\n", w.ownTrap(), "\n", w.list(1+w.IntN(2)), ")", w.redirection())
	case 1:
		return of(statement, w.pick("v1=", "local v2=", "echo "), "$(\n", w.ownTrap(), "\n", w.substituted(1), ")")
	case 2:
		return w.loopDocument()
	case 3:
		return of(statement, "while ", w.pick("IFS= ", "IFS=: ", "IFS=, ", ""), "read -r", w.pick(" l", "a a1", " l m", " l m n"), w.pick("", " || [[ -n $l ]]"), "; do\necho \"<${l-}|${m-}|${a1[*]}>\"\n", w.looped(), "done < <(\n", w.substituted(1), "printf '", w.pick(`a:b:c\n`, `1,2\n,3\n`, ` x  y \n`, `no end`, `a\\b c\n`), "'\n)")
	case 4:
		return of(statement, w.pick("cat", "wc -l", "sort"), " <(\n", w.substituted(1+w.IntN(2)), ")", w.pick("", " <(echo second)"))
	case 5:
		return of(statement, w.pick("read -r v1", "mapfile -t a1", "IFS=: read -ra a1", "read -r -d '' v1", "read -r -n 2 v1", "mapfile -t -n 1 a1", "mapfile -s 1 a1", "mapfile -O 1 -t a1", "mapfile -td : a1", "read v1 v2"), " < <(", w.pick(`printf 'a:b\nc\n'`, `echo 'x\y z'`, `printf '%s\n' "$v1" "$v2"`, `echo`, `:`), ")")
	case 6:
		return of(statement, "printf '", w.format(), `\n' `, w.words())
	case 7:
		return of(statement, "{\n", w.list(1), w.pick("exit ", "false\nexit ", "return "), w.digit(), w.pick("\n", "\n:\n"), "} & ", w.pick("wait -n", "wait $!", "wait", "wait -n $!", "wait -n -p p1; [[ -n $p1 ]]"), "; echo \"wait $?\"")
	case 8:
		return w.descriptors()
	case 9:
		return of(statement, "trap '", w.pick("echo usr $?", "v1=sig", "echo usr; return 4", "exit 6", ""), "' USR1\n", w.pick("kill -USR1 $BASHPID", w.function()+"; kill -USR1 $BASHPID", "{\nkill -USR1 $BASHPID\n} > f1", "if kill -USR1 $BASHPID; then echo sent; fi"), "\ntrap - USR1")
	case 10:
		if !w.inFunction {
			return of(statement, w.pick("declare -A m2=([a]=1 [b]=$v1)", "declare -n r1=a1; r1+=(x)", "declare -n r2=m1; r2[q]=$v1", "declare -ai a1=(1+1 n1)", "typeset v1", "declare -r q1=1; q1=2", "declare -x v1; export -n v1", "declare -lx v2=ABC"))
		}
		return of(statement, w.pick("local -A m1=([k]=1 [$v1]=2)", "local -n r=a1; r+=(x)", "local -n r=m1; r[k]=z; echo ${!r[@]}", "local -r q=1; q=2", "local -", "declare -g v1=glob", "declare -gA m3=([x]=y)", "local v1 v2; echo ${v1-u}", "local -a a1; a1[1]=$v1", "local IFS=:", "local v1=$v1 n1", "unset v1; echo ${v1-gone}", "local -u v1=up; v1+=p", "local -n r=$v1 2>/dev/null"))
	case 11:
		if w.chance(2) {
			return of(statement, "if ! ", w.statement1(), "; then\n", w.list(1), "fi")
		}
		return of(statement, w.pick("while ! ", "until "), w.statement1(), "; do\n", w.looped(), "break\ndone")
	case 12:
		return w.pipe(w.statement1, w.reader, w.reader)
	case 13:
		if w.substituting > 0 {
			return w.plain()
		}
		w.number++
		// Files are in files, so each has an end of its own.
		file, end := fmt.Sprint("s", w.number), fmt.Sprint("S", w.number)
		begin := ""
		if w.extglob {
			begin = "shopt -s extglob\n"
		}
		return of(statement, "cat > ", file, " <<'", end, "'\n", begin, w.list(1+w.IntN(2)), w.pick("", "return 4\n", "false\n"), end, "\n", w.pick(". ./", "source ./", "bash ./", ". ./"), file, w.pick("", " p q"))
	case 14:
		return of(statement, "eval \"", w.pick("v1='", "echo '", "set -- '", "echo x'"), "$n2' ", w.pick(`\$v1`, `\"\$v1\"`, "$n1", `; echo \$?`), "\" 2>/dev/null")
	case 15:
		return of(statement, "OPTIND=1\nwhile getopts ", w.pick(":ab:", "ab:", "a:b", ":"), " o ", w.pick("-a -b", "-b", "-ab x -- -a", "-xb y", "-a - -b q", `"$@"`, "-bval z"), " 2>/dev/null; do echo \"$o ${OPTARG-unset} $OPTIND\"; done; shift $((OPTIND > 2 ? 0 : 0)); echo \"$? $OPTIND\"")
	case 16:
		return of(statement, "for x", w.pick("", " in", ` in "$@"`, " in {a,b}{1..2}", " in f*", ` in "${!m1[@]}"`), "; do\n", w.looped(), "done")
	case 17:
		if w.chance(2) {
			return of(statement, "! (\n", w.list(1), ")")
		}
		return of(statement, "! {\n", w.list(1), "}")
	case 18:
		return of(statement, "case ", w.word(), " in\n", w.pattern(), "|", w.pattern(), ") ", w.statement(), "\n", w.pick(";;", ";&", ";;&"), "\n", w.pattern(), ") ", w.statement(), "\n", w.pick(";;", ";&", ";;&"), "\n*) ", w.statement(), "\n;;\nesac")
	case 19:
		if w.chance(2) {
			return of(statement, w.pick("a1=(", "a1+=(", "set -- $("), w.pick("", "echo "), w.replacement(), ")")
		}
		return of(statement, w.pick("v1=", "local v1=", "echo ", "printf '<%s>' "), w.replacement())
	case 20:
		return of(statement, "f3() {\n", w.pick("local v1=in\n", "local -a a1=(p)\n", ""), w.inside(), "}\nf3 ", w.words(), "\necho \"f3 $?\"")
	case 21:
		return of(statement, w.pick("v1=t", "IFS=:", "v1=t v2=$v1", "a=1"), " ", w.pick(w.function(), w.function(), "eval", "bash -c", "command echo", "read -r v2 <<<"), " ", w.pick(`'echo "$v1|$v2"'`, `"$v1"`, "x:y"))
	case 22:
		return of(statement, "echo ", w.pick(`"${v1@Q}"`, `"${a1[@]@Q}"`, `"${m1[@]@K}"`, `"${a1[@]@A}"`, `"${v1@A}"`, `"${a1@a}${v1@a}"`, `"${*@Q}"`, `"${a1[*]@U}"`, `"${@@u}"`, `"${a1[@]^}"`, `"${a1[@]:0:1}"`, `"${a1[@]: -1}"`, `"${a1[*]%b}"`, `"${!a1[*]}"`, `"${@: -1}"`, `"${*/a/b}"`, `"${#a1[0]}"`, `${a1[@]:+set}`, `"${a1[@]+${a1[0]}}"`, `"${v1:-${v2:-${u1:-deep}}}"`, `"${v1:+"$v2"}"`, `${v1:+"$v2" '*'}`))
	default:
		return of(statement, "((", w.wideArithmetic(), "))", w.pick("", " && echo yes", " || echo no"))
	}
}

// function is a function that can be called here.
func (w *writer) function() string {
	if len(w.functions) == 0 {
		return "echo"
	}
	return w.pick(w.functions...)
}

// inside is the body of a function.
func (w *writer) inside() *part {
	was := w.inFunction
	w.inFunction = true
	defer func() { w.inFunction = was }()
	return w.list(1 + w.IntN(3))
}

// ownTrap is a trap of a subshell.
func (w *writer) ownTrap() *part {
	return of(statement, "trap '", w.pick("echo own $?", "exit 5", "false", "echo $v1; exit"), "' ", w.pick("EXIT", "EXIT", "ERR", "RETURN"))
}

// loopDocument is a loop with here-documents in it or for it.
func (w *writer) loopDocument() *part {
	if w.substituting > 0 {
		return w.plain()
	}
	w.number++
	end := fmt.Sprint("L", w.number)
	dash, tab := "", ""
	if w.chance(3) {
		dash, tab = "-", "\t"
	}
	if w.chance(2) {
		return of(statement, "for x in 1 2; do\n", w.pick("cat", "read -r v1", "mapfile -t a1"), " <<", dash, end, "\n", tab, "$x ", w.document(), "\n", tab, end, "\n", w.looped(), "done")
	}
	return of(statement, "while read -r l", w.pick("", " m"), "; do\necho \"$l\"\n", w.looped(), "done <<", dash, w.pick(end, "'"+end+"'"), "\n", tab, w.document(), "\n", end, "\n")
}

// descriptors opens, uses and closes a descriptor.
func (w *writer) descriptors() *part {
	if w.piped > 0 {
		return w.plain()
	}
	n := w.pick("3", "4", "7")
	switch w.IntN(6) {
	case 0:
		return of(statement, "exec ", n, w.pick("> ", ">> "), "f1\necho to", n, " >&", n, "\n", w.statement(), "\nexec ", n, ">&-")
	case 1:
		return of(statement, "echo 'l1 x\nl2' > f2\nexec ", n, "< f2\nread -r v1 <&", n, "\n", w.statement(), "\nread -r v2 <&", n, "\nexec ", n, "<&-")
	case 2:
		return of(statement, "exec {fd}> f1\necho fd >&$fd\n", w.statement(), "\nexec {fd}>&-")
	case 3:
		return of(statement, "{\n", w.list(1), "} ", n, ">&1 >f1 2>&", n)
	case 4:
		return of(statement, "exec ", n, ">&1 >f2\n", w.statement(), "\nexec >&", n, " ", n, ">&-")
	default:
		return of(statement, "{ ", w.pick("echo a; echo b >&2", "cat nofile", w.function(), "("+w.function()+")"), "; } ", w.pick("2>&1 >/dev/null", "&> f1", ">f1 2>f2", "&>> f2", ">&2 2>f1", "2>&1 | cat", "|& cat"))
	}
}

// format is a format of printf with one to three directives.
func (w *writer) format() *part {
	var text strings.Builder
	for range 1 + w.IntN(3) {
		text.WriteString(w.pick("", "a", " ", `\t`, "%%", `\x41`))
		verb := w.pick("s", "s", "d", "q", "b", "x", "o", "u", "c", "X", "5s", "-6s", ".2s", "05d", "+d", "#x", ".3d", "-4d", "6.2f", "e", "g", "i")
		text.WriteString("%" + verb + w.pick("", "|"))
	}
	return of(word, text.String())
}

// replacement is ${name/pattern/text} with quotes in each part.
func (w *writer) replacement() *part {
	quote := w.pick("", `"`)
	return of(word, quote, "${", w.variable(), w.pick("/", "//", "/#", "/%"), w.pick("a", `\/`, `"a"`, `[/:]`, `\*`, `"*"`, `?`, `"$v2"`, `x*`, `' '`, `[[:space:]]`, `'\'`), "/", w.pick("", `\/`, `"x y"`, `$v2`, `"$v2"`, `&`, `\&`, `"&"`, `[&]`, `'q'`, `\\`), "}", quote)
}

func (w *writer) wideArithmetic() *part {
	return of(word, w.pick(
		"a1[0]++", "a1[n1] += 2", "m1[k] += 1", "m1[new]++", "n1 ? a1[1] = 3 : (n2 = 4)", "n1 = n2 = 5, n1 - n2", "n1 <<= 1", "n1 ^= n2 | 3", "n1 && (n2 = 0) || n2", "n1 ** 2 % 7",
		"16#1f + 2#101 - 010", "-n1 ** 2", "!n1 == 0", "~n2 & 0xff", "n1-- - --n1", "n1 > n2 ? n1 : n2", "v1", "u1 + 1", "a1[${#a1[@]} - 1]", "a1[-1]", "${#v1} + 1", "1 / n2", "n1 % n2", "(n1)", "n1 , n2", "$n1$n2", "n1==n2", "08 + 1",
	))
}
