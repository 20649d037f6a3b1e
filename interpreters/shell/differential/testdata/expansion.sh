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
