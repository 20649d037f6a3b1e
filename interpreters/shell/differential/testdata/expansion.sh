### defaults
unset u; e=; echo "${u-a}" "${u:-b}" "${e-c}" "${e:-d}" "${u+x}" "${e+y}" "${e:+z}"
### assign default
unset u; echo ${u:=v} $u; e=; echo "${e=w}[$e]"
### error if unset
unset u; (echo ${u:?gone away}; echo no); echo $?
### error ends the script
echo a; echo ${u?}; echo b
### length
x=hello; echo ${#x} ${#u}; set -- a b; echo ${#} ${#@} ${#*}
### prefixes
x=/a/b/c.tar.gz; echo ${x#*/} ${x##*/} ${x#a} ${x#/a}
### suffixes
x=/a/b/c.tar.gz; echo ${x%.*} ${x%%.*} ${x%/*} ${x%z}
### quoted pattern
x='a*b*c'; echo ${x#a'*'} ${x#"a*"} ${x##*'*'}
### pattern from variable
x=foo.bar; p='*.'; echo ${x#$p} "${x#"$p"}"
### replace
x=banana; echo ${x/a/A} ${x//a/A} ${x/#b/B} ${x/%a/Z} ${x/an} ${x//an/}
### replace with pattern
x='a1b22c'; echo ${x//[0-9]/#} ${x/[0-9]*/-} ${x//[!0-9]}
### replace slash
x=a/b/c; echo ${x//\//-} "${x////:}"
### replace with quotes
x='a b'; echo "${x/ /'-'}" "${x// /"_"}"
### ampersand in replacement
x=abc; echo "${x/b/[&]}" "${x/b/[\&]}"; y='<&>'; echo ${x/b/$y} "${x/b/"$y"}"
### replace newlines
x=$'a\nb'; echo "${x//$'\n'/,}"
### case
x=hELLO; echo ${x^} ${x^^} ${x,} ${x,,} ${x^^[l]} ${x,,[E]}
### case of unicode
x=éà; echo ${x^^}
### substring
x=abcdef; echo ${x:2} ${x:1:3} ${x: -2} ${x: -3:2} ${x:0:-1} ${x:9} "${x:2:0}"
### substring expression
x=abcdef; n=2; echo ${x:n:n+1} ${x:$n} ${x:(-2)} ${x:n-1:1}
### substring too negative
x=abc; (echo ${x:1:-5}); echo $?
### indirect
a=b; b=c; echo ${!a}; x='arr[1]'; arr=(p q); echo ${!x}
### indirect positional
set -- x y z; n=2; echo ${!n} ${!#}
### indirect with operator
a=b; b=hello.txt; echo ${!a%.txt} ${!a:-none}; unset b; echo ${!a:-none}
### names with prefix
ab1=1; ab2=2; echo ${!ab*} "${!ab@}"
### keys
a=(x y z); unset 'a[1]'; echo ${!a[@]}; declare -A m=([k]=v); echo ${!m[@]}
### quote operator
x="a'b c"; echo "${x@Q}" ${x@Q}; y=plain; echo ${y@Q}; z=$'t\tn\n'; echo "${z@Q}"
### quote empty and unset
e=; echo "${e@Q}" "[${u@Q}]"
### upper lower operators
x=hello; echo ${x@U} ${x@u} ${x@L}
### expand operator
x='a\tb'; echo "${x@E}"
### attribute operator
declare -i n=1; declare -r r=2; declare -a a=(1); echo "${n@a} ${r@a} ${a@a}[${x@a}]"
### assign operator
x='a b'; echo "${x@A}"; declare -i n=3; echo "${n@A}"
### array quotes
a=(1 'b c'); echo "${a[@]@Q}"
### nested defaults
unset a b; echo ${a:-${b:-deep}} ${a:-$(echo sub)} ${a:-$((1+2))}
### default with spaces
f() { echo $#; }; f ${u:-a b c} "${u:-a b c}" ${u:-"a b" c}
### alternate with at
set -- a b; f() { echo $#; }; f ${1+"$@"}; set --; f ${1+"$@"}
### arithmetic in words
echo $((1+2)) $(( 3 * (4 - 1) )) "$((2**10))"
### command substitution trims
x=$(printf 'a\n\n\n'); echo "[$x]"
### command substitution status
x=$(exit 3); echo $?; echo $(exit 4) $?
### command substitution keeps inner newlines
x=$(printf 'a\nb\n'); echo "$x"; echo $x
### file substitution
echo content > f; x=$(<f); echo "$x"
### nested substitutions
echo $(echo $(echo $(echo deep)))
### substitution with case
x=$(case a in a) echo yes;; esac); echo $x
### substitution with here document
x=$(cat <<EOF
in $((1+1))
EOF
); echo "$x"
### variables are local to substitution
x=1; y=$(x=2; echo $x); echo $x $y
### process substitution
cat <(echo a) <(echo b)
### process substitution and redirect
while read -r l; do echo "[$l]"; done < <(printf 'x\ny\n')
### output process substitution
echo hello > >(tr a-z A-Z); sleep 0.1
### tee to process substitution
echo data | tee >(cat > copy) > orig; sleep 0.1; cat orig copy
### diff of process substitutions
diff <(echo a) <(echo a) && echo same
### underscore
echo a b c > /dev/null; echo $_; true x y; echo $_
### positional in function
f() { echo "$0:$1:$#"; }; set -- z; f a b | sed 's/.*snippet.sh/S/'; echo $1
### status parameter
false; echo $?; true; echo $?
### dollar minus
set -u; case $- in *u*) echo has u;; esac
### special hash
set -- a b c; echo $# ${#1}
### unset with nounset
set -u; echo ${x-ok} ${x:-ok2} ${x+no}; echo "$x"; echo never
### nounset positional
set -u; set --; echo "$@" "$*" $#; echo $1; echo never
### nounset empty array
set -u; a=(); echo "${a[@]}" "${#a[@]}"; echo end
### nounset array element
set -u; a=(1); echo ${a[0]}; echo ${a[1]}; echo never
### nounset in substitution
set -u; x=$(echo $nope); echo "status $?"
### nounset arithmetic
set -u; echo $((nope + 1)); echo never
### quoted default in assignment
x=${y:-"a  b"}; echo "$x"
### star of array in string
a=(a b c); IFS=,; echo "${a[*]}" "${#a[*]}"
### assoc order
declare -A m; for k in one two three four five six seven eight nine ten; do m[$k]=1; done; echo ${!m[@]}
### assoc order of paths
declare -A m; for k in /a/b app.kubernetes.io/name x-y "with space" é 1 2 10; do m[$k]=v; done; for k in "${!m[@]}"; do echo "$k"; done
### assoc many
declare -A m; for i in {1..60}; do m[key$i]=$i; done; echo ${m[@]}
### assoc after unset
declare -A m=([a]=1 [b]=2 [c]=3 [d]=4); unset 'm[b]'; m[e]=5; echo "${!m[@]}" "${m[@]}"
### substring of at with zero
set -- a b; echo "${@:0}" | sed 's/snippet.sh/S/'
### replace in array
a=(foo.txt bar.txt); echo "${a[@]%.txt}" "${a[@]/o/0}" "${a[@]^}"
### slice of array
a=(0 1 2 3 4); echo "${a[@]:1:2}" "${a[@]: -2}" "${a[@]:3}"
### slice of sparse array
a=([2]=x [5]=y [9]=z); echo "${a[@]:3}" "${a[@]:0:2}"
### length of element
a=(abc de); echo ${#a} ${#a[1]} ${#a[@]}
### extglob patterns
shopt -s extglob
x=aaabbb; echo ${x##+(a)} ${x%%+(b)} ${x/@(aa|bb)/-} ${x//!(a)/z}
### trim spaces
shopt -s extglob
x='  a b  '; x=${x##+([[:space:]])}; x=${x%%+([[:space:]])}; echo "[$x]"
### trim spaces without extglob
x='  a b  '; x="${x#"${x%%[![:space:]]*}"}"; x="${x%"${x##*[![:space:]]}"}"; echo "[$x]"
### classes
x='aB3 _-'; echo "${x//[[:alpha:]]/L}" "${x//[[:digit:]]/D}" "${x//[[:punct:]]/P}" "${x//[^[:alnum:]]/.}"
### join with printf
a=(x y z); printf -v j ',%s' "${a[@]}"; echo "${j:1}"
### BASH_VERSION
echo ${BASH_VERSION%%.*} ${BASH_VERSINFO[0]}
### variables of the shell
echo ${#RANDOM} > /dev/null; [[ $RANDOM =~ ^[0-9]+$ ]] && echo number; [ $SECONDS -ge 0 ] && echo seconds; [[ $EPOCHSECONDS -gt 1000 ]] && echo epoch
### LINENO
echo $LINENO

echo $LINENO
f() {
  echo $LINENO
}
f
### bash substring of special
set -- abc def; echo ${1:1} ${2#d} ${1/b/X}
### deep indirection through nameref
declare -n r=t; t=5; echo $r; r=6; echo $t
### nameref to array
f() { local -n arr=$1; arr+=(new); echo ${#arr[@]} "${arr[-1]}"; }; x=(a b); f x; echo "${x[@]}"
### nameref to element
declare -n r='a[1]'; a=(x y z); echo $r; r=Q; echo ${a[@]}
### nameref to associative array
declare -A conf=([k]=v); f() { local -n m=$1; m[n]=w; for k in "${!m[@]}"; do echo "$k=${m[$k]}"; done | sort; }; f conf
### part of what is not set, to a negative length
echo "<${u:0:-1}>"; e=; echo "<${e:0:-1}>"; echo next
### elements that are changed, in an assignment
a1=(w w); IFS=,; x="${a1[@]/w/x}"; echo "$x"; x="${a1[@]:0}"; echo "$x"; x="${!a1[@]}"; echo "$x"; x=${!a1[@]}; echo "$x"; x=${a1[@]#w}; echo "$x"; x=a${a1[@]#w}; echo "$x"; x=${a1[@]/w/x}; echo "$x"; x="${a1[@]}"; echo "$x"; set -- a b; x="$@"; echo "$x"; x="${@:1}"; echo "$x"; x=${@#a}; echo "$x"; local_() { local x="${a1[@]^}"; echo "$x"; }; local_; unset x; echo "${x:="${a1[@]@Q}"}"; IFS=; x="${a1[@]#x}"; echo "$x"
### elements that are changed, in a here-string
a1=(w w); IFS=,; cat <<< "${a1[@]/w/x}"; cat <<< "${!a1[@]}"; cat <<< ${a1[@]#a}; cat <<< "${a1[@]}"; cat <<< "x${a1[@]#a}y${a1[@]}"; case "${!a1[@]}" in '0 1') echo space;; esac; declare -A m; m["${a1[@]/w/x}"]=k; echo "${!m[@]}"
### the parameters as a command refused: ${@@A} is not supported
set -- a b; echo "${@@A}"
### empty elements of an unquoted list
for IFS in : ': ' ' :' '' ,; do a1=('' w); printf '<%s>' ${a1[*]} w; set -- '' w; printf '<%s>' $* w; printf '<%s>' $@ w; a1=('' '' w ''); printf '<%s>' ${a1[*]} w; printf '<%s>' ${a1[@]} w; x=; printf '<%s>' $x w; x=${a1[*]}; printf '<%s>' "$x"; echo; done; a1=('a:' b); IFS=:; printf '<%s>' ${a1[@]}
### quotes with a list without elements
f() { echo "$# [$*]"; }; set --; f "$@$u1"; f "${@:1:1}${u1}"; f "x$@"; f "$@""$u1"; f "${a[@]}$u1"; f "$u1$@"; f "$@"''; f "$u1$u1"; f "$@$(:)"; f "$@$((1))"; f "${@#x}$u1"; v=; f "$v$@$v"; f "$@${v:+x}"; f "${a[*]}$u1"; f "$*$u1"; f "$@"$u1; f "${v:-$@}"; x="$@$v"; echo "[$x]"
### a list without elements in an operand
f() { echo "$#"; }; set --; unset u; f "${u-$@}"; f "${u-"$@"}"; f "${u:-${a[@]}}"; f "${u:-$@$@}"; f ${u-"$@"}; f ${u-"$@$v"}; f "${u+$@}"; u=1; f "${u+$@}"; f "${u:+${a[@]}}"; f "k${u:+${a[@]}}"; f "${a[@]-}"; f "${a[@]-$@}"; f "${a[@]:+$@}"
### names with prefix joined
v1=w v2=w IFS=,; x="${!v@}"; echo "$x"; read -r a b <<< 'q '"${!v@}"; echo "$a|$b"; cat <<< ${!v@}; cat <<< "${!v*}"; echo "${!v@}"
f() { read -r a b <<< "${!v@}"; echo "$a|$b"; }; v3=x f
### attributes without a value
f() { local v; local -i i; printf '<%s>' ${v@A} "${v@A}" "${i@A}" "${i@a}" x; }; f; declare e; declare -a a; declare -A m
printf '<%s>' "${e@A}" "${e[@]@A}" "${e[@]@a}" "${a@A}" "${a[@]@A}" "${a[@]@a}" "${m[@]@A}" "${m[@]@a}" "${u@A}" "${u[@]@A}"
a=('x y' z); printf '<%s>' "${a[@]@A}" "${a[*]@A}" "${a[@]@a}" "q${a[@]@A}r"; b=5; printf '<%s>' "${b[@]@A}" "${b[@]@a}"; IFS=,; printf '<%s>' "${a[@]@A}"
### zeros in a command substitution
x=$(printf 'a%cb'); echo "$x"; printf '\0' > f; y=$(<f) 2>/dev/null; echo "$y"
### words of substitutions without IFS
set -- w w
IFS=''
echo $* w
[[ "$(echo $* w)" == "w w w" ]] ; echo $?
[[ $(echo $* w) == x ]] || echo "$(echo $* w)"
v=$(echo $* w); echo "$v"
[[ "$(echo $* w >&2)" > w ]]
[[ $(echo $* w >&2) > w ]]
[[ $(echo $* w >&2) == w ]]
[[ -n $(echo $* w >&2) ]]
[[ -n "$(echo $* w >&2)" ]]
case $(echo $* w >&2) in x) ;; esac
case "$(echo $* w >&2)" in x) ;; esac
: <<< "$(echo here $* w >&2)"
x=$(echo ass $* w >&2)
x="$(echo assq $* w >&2)"
a=($(echo arr $* w >&2))
echo "${u-$(echo def $* w >&2)}"
x=${u-$(echo def2 $* w >&2)}
x=${u-$*}; echo "$x"
[[ -n $(f() { echo fn $* w >&2; }; f a b) ]]
[[ -n $(eval 'echo ev $* w >&2') ]]
[[ -n $( ( echo sub $* w >&2 ) ) ]]
[[ -n $( echo pipe $* w | cat >&2  ) ]]
[[ -n $( for x in $* ; do echo for $x; done >&2  ) ]]
[[ -n $( a=($*); echo arr ${#a[@]} >&2  ) ]]
[[ -n $( echo ${@} x >&2  ) ]]
[[ -n $( echo p$*q x >&2  ) ]]
[[ -n $( set -- a b; echo $* x >&2  ) ]]
a=(x y)
[[ -n $( echo star ${a[*]} x >&2  ) ]]
[[ -n $( echo at ${a[@]} x >&2  ) ]]
[[ -n $( echo ${*#x} ${*:1} ${a[*]:0} ${a[*]#x} x >&2  ) ]]
(( $(echo arith $* x >&2; echo 1) ))
echo $(( $(echo arith2 $* x >&2; echo 1) ))
cat <<E
$(echo doc $* x)
E
cat < <(echo $* x)
echo ${v:$(echo sl $* x >&2)0}
### more words of substitutions without IFS
set -- w w
IFS=''
x=$(y=1; echo $* x); echo "$x"
x=$(echo "$(echo $* z)" $*); echo "$x"
x=$([[ a == a ]]; echo $* x); echo "$x"
x=$([[ a == $y ]]; echo $* x); echo "$x"
x=$(for i in "$y"; do echo $* x; done); echo "$x"
x=$(case $y in *) echo $* x;; esac); echo "$x"
x=$(f() { local q=$y; echo $* x; }; f a b); echo "$x"
x=$(echo "$*" x); echo "$x"
x=$(cat <<< $* ); echo "$x"
x=$(cat <<E
$* x
E
); echo "$x"
x=$(read -r q <<< x; echo $* x); echo "$x"
x=$(echo a > /dev/null; echo $* x); echo "$x"
x=$(export q=$y; echo $* x); echo "$x"
x=$(export q=1; echo $* x); echo "$x"
x=$(q=$y echo a; echo $* x); echo "$x"
x=$( ((1)); echo $* x); echo "$x"
x=$( q[0]=1; echo $* x); echo "$x"
x=$( q=(1 2); echo $* x); echo "$x"
x=$( echo "${q-$y}"; echo $* x); echo "$x"
x=$( echo "${q//$y/x}"; echo $* x); echo "$x"
x=$( eval 'y=1'; echo $* x); echo "$x"
x=$( echo `echo $* x` ); echo "$x"
x=$( (echo $* x) | cat ); echo "$x"
x=`echo $* x`; echo "$x"
x=$(printf '<%s>' $* x; printf '<%s>' "${*}"  ${*/w/q} ${*:2} ${#*} ); echo "$x"
x=$(set -- 'a b' c; for q in $*; do echo "<$q>"; done; [[ $* == "a bc" ]]; echo $? $*); echo "$x"
v=1
[[ $(echo $* x) == "ww x" ]] && echo yes
export e=$(echo $* x); echo "$e"
declare d="$(echo $* x)"; echo "$d"
a[0]=$(echo $* x); echo "${a[0]}"
a=([1]=$(echo $* x)); echo "${a[1]}"
declare -A m=([k]=$(echo $* x) [$(echo $* y)]=1); echo "${m[k]}|${!m[*]}"
for i in $(echo $* x); do echo "$i"; done
echo "$(echo $* x)" $(echo $* x)
printf -v p '%s' "$(echo $* x)"; echo "$p"
cat < <(echo $* x)
: ${z:=$(echo $* x)}; echo "$z"
echo ${z2:-$(echo $* x)} "${z3:-$(echo $* x)}"
echo ${z#$(echo $* x)}
echo "${z/$(echo $* x)/k}"
if [ "$(echo $* x)" = "w w x" ]; then echo t; fi
w=1 sh -c 'echo $w'
v1=$(echo $* x) env | grep v1
### attributes of arrays without a first element
t() { (eval "$1") 2>/dev/null || echo "$?"; }
for op in a A Q U k; do
for pre in 'a1=(w w); unset "a1[0]"' 'a1=([1]=w)' 'a1=(w)' 'declare -a a1' 'declare a1' 'declare -i a1' 'declare -A a1=([k]=v)' 'unset a1' 'declare -A a1'  'a1=(w w); unset "a1[0]" "a1[1]"' ; do echo "$op $pre"; t "set -u; $pre; echo \"<\${a1@$op}>\"";  t "$pre; echo \"<\${a1@$op}>\""; done; done
t 'set -u; a1=(w w); unset "a1[0]"; echo "<${a1[0]@a}>"'
t 'set -u; a1=(w w); unset "a1[0]"; echo "<${a1[5]@a}>"'
t 'set -u; a1=(w w); unset "a1[0]"; echo "<${a1[0]@A}>"'
t 'a1=(w w); unset "a1[0]"; echo "<${a1[0]@a}>"'
t 'a1=(w w); unset "a1[0]"; echo "<${a1[0]@A}>"'
t 'a1=(w w); unset "a1[0]"; echo "<${a1@A}>"'
t 'set -u; r=a1; a1=(w w); unset "a1[0]"; echo "<${!r@a}>"'
t 'set -u; a1=(w w); unset "a1[0]"; x=1; a1=5 ; unset a1[0]; echo "<${a1@a}>"'
t 'set -u; echo "<${1@a}>"'
t 'set -u; declare -i i; echo "<${i@a}>"'
t 'declare -i i; echo "<${i@a}>"'
a=(x 'y z'); declare -A m=([k]='v w'); declare -i i=5; declare -xa xa=(1 2)
echo "${a@A}|${a[1]@A}|${a[@]@A}|${m[k]@A}|${m[z]@A}|${m@A}|${i@A}|${i[0]@A}|${xa[1]@A}|${m[@]@A}|${a[5]@A}"
r=a; echo "${!r@A}"; r='a[1]'; echo "${!r@A}|${!r@Q}|${!r@a}"; r='a[@]'; echo "${!r@A}|${!r@Q}|${!r@a}"
declare -n n=a; echo "${n@A}|${n[1]@A}|${n@a}"; declare -n n2=a[1];  echo "${n2@A}|${n2@a}"
p=1; echo "${p[0]@A}|${p[1]@A}|${p[@]@A}|${p[@]@a}|${p[1]@a}"
set -- x 'y z'; echo "${1@A}|${2@Q}|${9@A}"
f() { local l=3 u; local -a la=(1); echo "${l@A}|${u@A}|${la@A}|${la[1]@A}|${u@a}|${l@a}"; }; f
### lists in here-documents
set -- w x
a=(p q)
for IFS in '' ':' ' ' 'unset'; do
[[ $IFS == unset ]] && unset IFS
cat <<E
1 $* 2 ${*} 3 ${a[*]} 4 ${*:1} 5 ${*#w} 6 ${a[*]/p/z} 7 $@ 8 ${a[@]} 9 "$*" 10 ${u-$*} 11 ${*:-x} 12 ${*@Q} 13 ${!a@} 14 ${!a*} 15 "${a[*]}" 16 ${u-"$*"} 17 ${a[@]:0} 18 ${!a[*]} 19 ${#*} 20 ${@@Q} 21 ${*^^} 22 ${a[*]^^}
E
done
### changed lists in here-documents
set -- w x
a=(p q)
declare -A m=([k]=v)
r='a[*]'; b=x
for IFS in '' ':' ' ' 'unset'; do
[[ $IFS == unset ]] && unset IFS
cat <<E
1 ${*/w/z} 2 ${a[*]#p} 3 ${a[*]:0} 4 ${a[*]@Q} 5 ${*,,} 6 ${a[*]-x} 7 ${a[*]:-x} 8 ${a[*]+x$*} 9 ${*@U} 10 ${a[*]@U} 11 ${a[*]@A} 12 ${a[*]@a} 13 ${*//x/y} 14 ${a[*]%q} 15 ${a[*]@k} 16 ${!r} 17 ${!r#p} 18 ${a[*]@K} 20 ${*-x} 21 ${a[*]@L} 22 ${u-${a[*]}} 23 $(echo "$*") 24 ${b/x/$*} 25 ${b/x/${a[*]}} 26 ${b#$*} 27 ${u-"${a[*]}"} 29 ${*^} 30 ${@^} 31 ${@/w/z} 32 ${a[@]^^} 33 ${a[@]@Q}
E
done
### lists in replacements
set -- w x
b=x; a=(p q); aa=1
for IFS in '' ':' ' ' 'unset'; do
[[ $IFS == unset ]] && unset IFS
echo "1 ${b/x/$*}" "2 ${b/x/"$*"}" 3 ${b/x/$*} "4 ${b/x/${a[*]}}" "5 ${b/x/$@}" "6 ${b/x/${*/w/z}}"
y=${b/x/$*} z=${b/x/"${a[*]}"}; echo "$y" "$z"
echo "${!a*}"  ; printf '<%s>' ${!a*} "${!a@}"
cat <<E
${!a*} ${!a@} ${b/x/$*} ${b/x/"$*"} ${u-${b/x/$*}}
E
cat <<< "$* ${a[*]} ${!a*} ${*#w}"
cat <<< $*
done
### names without IFS
a=1 aa=2; set -- w x
IFS=''
printf '<%s>' ${!a*}; echo
printf '<%s>' "${!a*}"; echo
printf '<%s>' ${!a@}; echo
printf '<%s>' $*; echo
printf '<%s>' p${!a*}q; echo
for i in ${!a*}; do echo $i; done
x=${!a*}; echo "$x"
IFS=:
printf '<%s>' ${!a*}; echo
x=${!a*}; echo "$x"
q=(5 6)
IFS=
printf '<%s>' ${!q[*]} ${q[*]} ${q[*]@Q} ${!q[@]}; echo
x=${!q[*]}; echo "$x"
### a subshell at the begin of a substitution
x=$((echo a; echo b) | tail -n 1); echo "$x"
echo "$((exit 3)
)" $?
y=$((1 + 2)); echo $y
z=$(( (1 + 2) * 3 )); echo $z
echo $((echo "a)b"; echo c) | wc -l)
f() { echo "$((set -e; false; echo no) || echo or)"; }; f
w=$(((1+1))); echo $w
