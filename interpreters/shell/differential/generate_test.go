package differential

import (
	"fmt"
	"strings"
)

// family makes snippets of every combination of its parts, so that an edge of one feature meets each edge of another.
type family struct {
	name string
	// form has a %s for each list of parts.
	form  string
	parts [][]string
}

// Values that expansions, quotes and words treat in different ways.
var values = []string{
	`unset x`, `x=`, `x=a`, `x='a b'`, `x=' a  b '`, `x='a*b'`, `x=/x/y.tar.gz`, `x=-n`, `x=é`, `x=$'l1\nl2'`, `x='a\b'`, `x="it's"`, `x='~'`, `x='$y'`,
}

var families = []family{
	{"expansion", `%s; y=Y; set -- %s; printf '<%%s>' "$@"; echo " $#"`, [][]string{values, {
		`$x`, `"$x"`, `${x-d e}`, `"${x:-d e}"`, `${x:-"d e"}`, `${x:+y z}`, `"${x+set}"`, `${x#*/}`, `"${x##*[./]}"`, `${x%.*}`, `"${x%%[ .]*}"`,
		`${x/a/Z}`, `"${x//[a-z]/_}"`, `"${x/#/pre}"`, `"${x/%/post}"`, `${x:1}`, `"${x:1:2}"`, `"${x: -1}"`, `${#x}`, `"${x^}"`, `"${x^^}"`, `"${x,,}"`,
		`${x@Q}`, `a"$x"b$x`, `"${x/ /}"`, `${x//\*/+}`,
	}}},
	{"splitting", `IFS=%s; x=%s; %s`, [][]string{
		{`$' \t\n'`, `:`, `', '`, `''`, `$'\n'`, `' :'`},
		{`a:b:c`, `' a b '`, `:a::b:`, `'a, b ,c'`, `$'a\nb\n'`, `''`, `'a  b'`},
		{
			`set -- $x; printf '<%s>' "$@"; echo "$#"`, `read -r p q r <<< "$x"; echo "$p|$q|$r"`, `for w in $x; do printf '[%s]' "$w"; done; echo`,
			`a=($x); echo "${#a[@]} ${a[*]} ${a[0]-none}"`, `a=($x); echo "${a[*]}"; set -- "${a[@]}"; echo "$*"`, `read -ra a <<< "$x"; declare -p a`,
		},
	}},
	{"errexit", "%s\nf() { echo in; %s; echo out; }\n%s\necho end $?", [][]string{
		{`set -e`, `set -eo pipefail`, `set -eE; trap 'echo ERR $?' ERR`},
		{`false`, `(exit 3)`, `x=$(false)`, `local x=$(false)`, `! true`, `false | true`, `true | false`, `[[ a == b ]]`, `((0))`, `false && true`, `return 4`, `{ false; }`, `eval false`},
		{
			`f`, `if f; then echo yes; else echo no; fi`, `f || echo or $?`, `f && echo and`, `! f`, `(f)`, `x=$(f); echo "[$x]"`, `f | cat`, `while f; do echo body; break; done`,
			`{ f; } || echo or`, `echo "$(f)"`,
		},
	}},
	{"characters", `printf '<%%s>' %s; echo`, [][]string{escapes()}},
	{"tests", `a=%s b=%s; if %s; then echo yes; else echo no $?; fi`, [][]string{
		{`''`, `a`, `'a b'`, `'*'`, `10`, `9`, `'a*'`}, {`''`, `a`, `'a b'`, `'*'`, `10`, `9`},
		{`[[ $a == $b ]]`, `[[ $a == "$b" ]]`, `[[ $a != $b ]]`, `[[ $a < $b ]]`, `[[ $a =~ ^$b ]]`, `[ "$a" = "$b" ]`, `[ "$a" -lt "$b" ] 2>/dev/null`, `[[ -n $a && -z $b || $a ]]`},
	}},
	{"printf", `printf '%s|\n' %s 2>/dev/null; echo $?`, [][]string{
		{`%d`, `%5d`, `%-5d`, `%05d`, `%+d`, `%x`, `%#x`, `%o`, `%u`, `%s`, `%10s`, `%-6s`, `%.2s`, `%q`, `%b`, `%c`, `%e`, `%.3f`, `%g`, `%5.1f`, `%i %s`},
		{``, `''`, `0`, `7`, `-7`, `3.5`, `abc`, `'a b'`, `0x1f`, `010`, `"'A"`, `'a\tb'`, `1 2 3`},
	}},
	{"arithmetic", `x=4 y=; a=(5 6); echo $((%s %s %s)) 2>&1; echo $?`, [][]string{
		{`0`, `-3`, `7`, `0x10`, `010`, `x`, `a[1]`, `y`, `2#101`},
		{`+`, `-`, `*`, `/`, `%`, `**`, `<<`, `&`, `|`, `^`, `&&`, `||`, `<`, `==`, `,`},
		{`2`, `x`, `(1+1)`},
	}},
	{"jq", `printf '%%s' %s | jq -c %s; echo $?`, [][]string{
		{`'{"b":1,"a":[1,2,null,"x"]}'`, `'[3,1,2]'`, `'"text"'`, `'null'`, `'[{"k":"a","v":1},{"k":"b","v":2},{"k":"a","v":3}]'`},
		{
			`'.'`, `'keys? // "none"'`, `'length'`, `'.a? // "none"'`, `'.[0]? // "none"'`, `'map(.)?'`, `'[.[]?]'`, `'type'`, `'tojson'`, `'[paths]'`, `'to_entries?'`, `'add?'`, `'sort?'`,
			`'group_by(.k)?'`, `'[.. | numbers]'`, `'tostring'`, `'.a[1:]?'`, `'first(.[]?)'`, `'[limit(2; .[]?)]'`, `'if . == null then 1 elif type == "array" then 2 else 3 end'`,
			`'try error("x") catch .'`, `'[.[]? | select(type == "object") | .k] | unique'`, `'reduce .[]? as $i (0; . + 1)'`, `'(.a? // []) as $l | $l | length'`, `'@json'`, `'[.[]? | @text]'`, `'has("a")?'`,
			`'del(.a)?'`, `'with_entries(.value |= tostring)?'`, `'any'`, `'max?'`, `'index("x")?'`, `'ascii_downcase?'`, `'test("e")?'`, `'.[-1:]?'`, `'walk(.)'`, `'env | type'`, `'input_line_number'`, `'limit(0; 1)'`, `'getpath(["a",0])?'`,
		},
	}},
	{"sed", `printf '%%s\n' %s | sed %s`, [][]string{
		{`one two three`, `'a b' 'c d' ''`, `'key=value' '# comment' 'k2 = v2'`, `/usr/local/bin`},
		{
			`-n '2p'`, `'s/e/E/g'`, `'s/\([a-z]*\) \([a-z]*\)/\2 \1/'`, `-E 's/(.)(.)/\2\1/g'`, `'/^#/d'`, `'s/ *= */=/'`, `-n 's/^k//p'`, `'s#/#:#g'`, `'$!N;s/\n/+/'`, `'1!G;h;$!d'`, `'y/abc/xyz/'`, `'s/.*/[&]/'`,
			`'/two/,$d'`, `'/one/a after'`, `'2i before'`, `'s/x*/-/g'`, `-E 's/[aeiou]{1,2}/<&>/g'`, `'s/\b./\u&/g'`, `'1~2d'`, `-e 's/a/1/' -e 't end' -e 's/^/no /' -e ':end'`, `'/./!d'`, `'s/[^=]*$/X/'`, `-n '/a/{s/a/b/;p}'`, `'s/o/0/2'`,
			`'$='`, `'c changed'`, `-s 'n;d'`, `'s/\//\\/g'`,
		},
	}},
	{"grep", `printf '%%s\n' alpha beta 'gamma delta' '' alpha1 A.B | grep %s %s; echo $?`, [][]string{
		{``, `-v`, `-c`, `-n`, `-o`, `-i`, `-w`, `-x`, `-m1`, `-q`, `-A1`},
		{`a`, `'^a'`, `'a$'`, `'^$'`, `'l.*a'`, `-E 'a|b'`, `-E '^(al|be)[a-z]+$'`, `-F .`, `'[0-9]'`, `'\.'`, `-E 'm{2}'`, `nothing`, `-e beta -e delta`},
	}},
	{"sort", `printf '%%s\n' %s | sort %s`, [][]string{
		{`b a c a`, `10 9 1 100`, `'b 2' 'a 10' 'c 1'`, `B a C b`, `'x:3' 'y:1' 'x:2'`, `1.10 1.9 1.2`, `2K 1M 3`},
		{``, `-r`, `-n`, `-u`, `-nr`, `-k2`, `-k2n`, `-f`, `-t: -k2,2n`, `-t: -k1,1 -k2,2nr`, `-V`, `-h`, `-uf`, `-k2,2nr -k1,1`},
	}},
	{"cut", `printf '%%s\n' %s | cut %s`, [][]string{
		{`a:b:c`, `'a b  c'`, `plain`, `':x:'`, `$'t\tu'`, `abcdef`},
		{`-d: -f1`, `-d: -f2-`, `-d: -f1,3`, `-d' ' -f2`, `-d' ' -f3`, `-f2`, `-c1`, `-c2-3`, `-c-2`, `-sd: -f1`, `-d: -f2 --complement`, `-d: -f1,2 --output-delimiter=_`},
	}},
	{"awk", `printf '%%s\n' %s | awk %s`, [][]string{
		{`'a 1' 'b 2' 'a 3'`, `x,y,z 'p, q'`, `'k: v' 'other'`, `1 2.5 abc ''`},
		{
			`'{print $1}'`, `'{print $NF, NR, NF}'`, `-F, '{print $2}'`, `-F': *' '{print $2}'`, `'{s += $2} END {print s}'`, `'{n[$1]++} END {for (k in n) c++; print c}'`, `'$2 > 1'`, `'NR == 2 {exit} {print}'`, `'/a/ {print "m"}'`,
			`'!seen[$1]++'`, `'BEGIN {OFS="-"} {$1 = $1; print}'`, `'{print length($0), toupper($1)}'`, `'{printf "%s=%d\n", $1, $2}'`, `'{sub(/a/, "Z"); print}'`, `'{print substr($0, 2, 2)}'`, `'{split($0, p, /[ ,]/); print p[1] "|" p[2]}'`,
			`'END {print $0, NR}'`, `-v x=5 '{print x + $1}'`, `'{print ($1 == 1) ? "one" : "other"}'`, `'{gsub(/[0-9]/, "#")} 1'`, `'{print index($0, "b"), match($0, /[0-9]+/), RSTART, RLENGTH}'`,
		},
	}},
	{"arrays", `%s; set -- %s; printf '<%%s>' "$@"; echo " $#"`, [][]string{
		{`a=()`, `a=(x)`, `a=('x y' z)`, `a=([3]=d [1]=b)`, `declare -A a=([k]=v)`, `a=(1 '' 3)`, `unset a`, `a=x`},
		{
			`"${a[@]}"`, `${a[@]}`, `"${a[*]}"`, `${#a[@]}`, `"${!a[@]}"`, `"${a[@]:1}"`, `"${a[@]/x/Y}"`, `"${a[@]#x}"`, `"${a[0]-none}"`, `"${a[-1]-none}" 2>/dev/null`, `"${a[@]:-empty}"`, `"${a[@]+set}"`, `"p${a[@]}s"`, `"${a[@]^^}"`,
			`"${a[k]-none}"`, `"${a[1]+is}"`,
		},
	}},
	{"traps", "%s\n%s\necho last", [][]string{
		{`trap 'echo bye $?' EXIT`, `trap 'echo err $?' ERR`, `set -e; trap 'echo bye $?' EXIT`, `trap 'echo bye; exit 7' EXIT`, `trap 'echo usr' USR1`, `trap '' TERM; trap 'echo bye' EXIT`, `set -E; trap 'echo err $LINENO' ERR`},
		{
			`false`, `(exit 3)`, `(false; echo sub)`, `x=$(echo out; exit 2)`, `exit 5`, `f() { return 6; }; f`, `f() { false; echo in; }; f`, `false || true`, `if false; then :; fi`, `false | true`, `kill -USR1 $$`, `trap - EXIT ERR`, `(trap 'echo inner' EXIT; exit 1)`,
			`bash -c 'trap "echo child" EXIT; exit 4'`, `! true`, `while false; do :; done`, `trap -p | wc -l`,
		},
	}},
	{"redirections", "%s\necho status $?; for f in a b; do [[ -e $f ]] && { echo \"$f:\"; cat $f; }; done; true", [][]string{{
		`echo x > a`, `echo x >> a; echo y >> a`, `{ echo o; echo e >&2; } > a 2> b`, `{ echo o; echo e >&2; } > a 2>&1`, `{ echo o; echo e >&2; } 2>&1 > a`, `{ echo o; echo e >&2; } &> a`, `echo x >&2 2> a`, `exec 3> a; echo x >&3; exec 3>&-`,
		`echo x 3>&1 >&3 3>&-`, `cat < nofile 2> a; wc -l < a`, `echo x > a; cat < a > b`, `cat <<< "here $((1 + 1))" > a`, "cat > a <<EOF\nx $HOME `echo y` \\$z\nEOF", "cat > a <<'EOF'\nx $HOME `echo y`\nEOF", "cat <<-EOF > a\n\tindented\n\tx\n\tEOF",
		`echo x | tee a > b`, `: > a; [[ -s a ]] || echo empty`, `set -C; echo x > a; echo y > a 2> b; echo z >| a`, `for i in 1 2; do echo $i; done > a`, `while read -r l; do echo "<$l>"; done < <(printf 'p\nq\n') > a`, `f() { echo $1; } > a; f x; f y`, `if true; then echo t; fi > a`,
		`(echo s; echo e >&2) 2> a > b`, `echo a > a; { read -r x; echo "$x" > b; } < a`, `exec 4< <(echo proc); read -r x <&4; echo $x > a`, `diff <(echo 1) <(echo 2) > a`, `echo x > a > b`, `> a echo x`, `exec > a; echo x; exec > b; echo y; exec >&2`, `cat nofile 2>/dev/null || echo failed > a`,
		`printf 'l1\nl2\n' > a; mapfile -t m < a; echo ${#m[@]} > b`, `echo x {fd}> a; exec {fd}> b; echo y >&$fd`, `read -r x < nofile; echo "$?" > a`, `echo x > /dev/null; echo y > /dev/stdout`, `echo e > /dev/stderr 2> a`, `true > a | cat > b`, `cat a 2>&1 | wc -l > b`, `n=3; echo x >&$n 2> a`, `echo x 2>&- > a`,
	}}},
	{"pipes", "%s%s\necho $? ${PIPESTATUS[*]}", [][]string{
		{``, `set -o pipefail; `, `shopt -s lastpipe; `},
		{
			`true | false`, `false | true`, `false | true | (exit 3)`, `echo x | while read -r l; do v=$l; done; echo ${v-unset}`, `! false | true`, `yes | head -1`, `(exit 2) | (exit 3) | true`, `echo x | { read -r y; echo $y; }`, `seq 3 | { read -r a; cat; }`, `echo a | cat | cat - <(echo b)`,
			`f() { cat; return 4; }; echo x | f`, `echo x |& cat`, `nosuch_cmd 2>/dev/null | true`, `true | nosuch_cmd 2>/dev/null`, `x=$(false | true); echo "[$x]"`, `if false | true; then echo y; fi`, `echo x | (cat; exit 5) || echo or $?`, `for i in 1 2; do echo $i; done | sort -r`, `printf 'b\na\n' | sort | head -1`,
		},
	}},
	{"case", `x=%s; case $x in %s) echo one;; *) echo other;; esac`, [][]string{
		{`''`, `a`, `'a b'`, `abc`, `'*'`, `'[a]'`, `A`, `a.b`, `-`, `'\'`},
		{`a`, `a*`, `*b*`, `[a-c]`, `[!a]*`, `?`, `"*"`, `\*`, `''`, `a|A`, `"$x"`, `$x`, `*.?`, `[]a[]`, `[[:upper:]]`},
	}},
	{"braces", `printf '<%%s>' %s; echo`, [][]string{{
		`{a,b}`, `x{a,b}y`, `{a,b}{1,2}`, `{1..5}`, `{5..1}`, `{1..10..3}`, `{01..03}`, `{a..e}`, `{e..a..2}`, `{a}`, `{}`, `{a,}`, `"{a,b}"`, `{'a b',c}`, `{a,{b,c}}`, `{1..2}{x..y}`, `\{a,b\}`, `{a,b`, `a,b}`, `{-1..1}`, `{a..3}`, `{$x,b}`, `pre{"a","b"}`, `{a\,b,c}`, `{{a,b},c}`, `{1..1}`, `{001..3}`, `$(echo {x,y})`,
	}}},
	{"declare", "%s\ndeclare -p x 2>/dev/null; echo $?", [][]string{{
		`x=1`, `declare x`, `declare x=`, `declare -i x=2+3`, `declare -i x=abc`, `declare -r x=1`, `readonly x=2`, `export x=3`, `declare -a x`, `x=(a 'b c')`, `declare -A x=([a]=1)`, `declare -l x=ABC`, `declare -u x=abc`, `declare -x x='a b'`, `declare -n x=y; y=5; unset -n y`, `f() { local x=9; declare -p x; }; f`, `f() { declare -g x=8; }; f`,
		`x=1; unset x`, `x=(1 2); unset 'x[0]'`, `x=5; x+=5`, `declare -i x=5; x+=5`, `x=(a); x+=(b)`, `x=$'a\nb'`, `x=$'\e'`, `x='it'"'"'s'`, `x='$HOME'`, `x='a"b'`, `x='a\b'`, `declare -ai x=(1+1 2)`, `declare -ir x=4`, `x=a; declare -r x`, `x=; export x`, `typeset x=t`, `x=1; f() { local x; declare -p x; }; f`,
	}}},
}

// escapes are the signs of ASCII in every kind of quotes.
func escapes() []string {
	var all []string
	for _, sign := range "!#$%&()*+,-./:;<=>?@[]^_`{|}~\\\"' an0" {
		s := string(sign)
		all = append(all, `\`+s)
		if sign != '\'' {
			all = append(all, `'\`+s+`'`)
		}
		if !strings.ContainsRune("\"`\\", sign) {
			all = append(all, `"`+s+`x"`)
		}
		all = append(all, `"\`+s+`"`)
		if !strings.ContainsRune("\\' 0", sign) {
			all = append(all, `$'\`+s+`'`)
		}
	}
	return all
}

// generated are the snippets of all families. Their names are numbers and the parts.
func generated() map[string][]snippet {
	topics := map[string][]snippet{}
	for _, f := range families {
		topic := "generated-" + f.name
		combine(f.parts, nil, func(parts []any) {
			text := fmt.Sprintf(f.form, parts...)
			topics[topic] = append(topics[topic], snippet{
				name: fmt.Sprintf("%04d", len(topics[topic])+1), text: text + "\n", refused: refusal(text), differs: differs(f.name, parts),
			})
		})
	}
	return topics
}

func combine(parts [][]string, chosen []any, use func([]any)) {
	if len(parts) == 0 {
		use(chosen)
		return
	}
	for _, part := range parts[0] {
		combine(parts[1:], append(chosen[:len(chosen):len(chosen)], part), use)
	}
}

// refusal is the error of a snippet that is refused.
func refusal(text string) string {
	if strings.Contains(text, "nosuch_cmd") {
		return "there is no such command"
	}
	return ""
}

// differs says why a snippet does something else here.
func differs(family string, parts []any) string {
	if family != "jq" {
		return ""
	}
	return map[any]string{
		`'limit(0; 1)'`:                       "jq 1.6 has a value more, which 1.7 has not",
		`'.a[1:]?'`:                           "jq 1.6 fails in spite of ?, 1.7 does not",
		`'index("x")?'`:                       "jq 1.6 has null for an object, 1.7 an error",
		`'with_entries(.value |= tostring)?'`: "jq 1.6 has an error for an array, 1.7 has not",
		`'has("a")?'`:                         "jq 1.6 has false for null, 1.7 an error",
	}[parts[1]]
}
