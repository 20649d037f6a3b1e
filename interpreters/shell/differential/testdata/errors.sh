### a readonly variable discards the line
readonly r=1; r=2; echo never
echo "next $?"; readonly r=1; r+=2 && echo never
echo "next $?"; readonly r; echo $((r = 2)); echo never
echo "next $?"
### a readonly variable and builtins
readonly r=1; readonly q r=2 s=3; echo "$? $s"; export r=2; echo $?; declare r=2 t=4; echo "$? $t"; printf -v r x; echo $?; read r <<< x; echo $?
read a r b <<< 'x y z'; echo "$? $a ${b-unset}"; mapfile r <<< x; echo $?; getopts a r -a; echo $?; ((r = 3)); echo $?; let r=3; echo $?; echo $r
### a readonly variable and a loop
readonly r=1; for r in a b; do echo never; done; echo $?; for ((r = 0; r < 2; r++)); do echo never; done; echo $?
### a readonly variable and local
readonly r=5; f() { local a=1 r=6 b=2; echo "$? $a $r $b"; }; f; g() { declare r=6; echo "$? $r"; }; g; h() { local -r own=1; local own=2; echo "$? $own"; }; h
f() { local -r inner=1; g; }; g() { local inner=2; echo "$? $inner"; }; f
### errexit and readonly, in a condition
set -e; readonly r=1; readonly r=2 || echo never; echo never
### errexit and readonly, in an if
set -e; readonly r=1; if export r=2; then echo never; fi; echo never
### errexit and readonly, negated
set -e; readonly r=1; ! readonly r=2; echo never
### errexit and readonly, in a function in a condition
set -e; readonly r=1; f() { readonly r=2; echo never; }; f || echo never; echo never
### errexit and readonly, in a subshell in a condition
set -e; readonly r=1; (readonly r=2; echo never) || echo "or $?"; echo next
### errexit and readonly, in eval and command in a condition
set -e; readonly r=1; eval 'r=2; echo never' || echo "or $?"; eval 'readonly r=2; echo in' && echo and; command readonly r=2 || echo "or $?"; echo next
### errexit and readonly, in declare in a condition
set -e; readonly r=1; declare r=2 || echo "or $?"; unset r || echo "or $?"; echo next
### errexit and readonly, with a status
set -e; trap 'echo "exit $?"' EXIT; trap 'echo never' ERR; readonly r=1; (exit 4) || r=3; echo never
### errexit and readonly, in a command substitution
set -e; readonly r=1; x=$(readonly r=2; echo in) || echo or; echo "$? $x"
### errexit and readonly, in arithmetic
set -e; readonly r=1; ((r = 2)) || echo never; echo never
### a bad subscript discards the line
declare -A m; m[$v]=w; echo never
echo "next $?"; m[$v]+=w || echo never
echo "next $?"; f() { m[$v]=w; echo never; }; f; echo never
echo "next $?"; for i in 1 2; do echo $i; m[$v]=w; done; echo never
echo "next $?"; (m[$v]=w; echo never); echo "subshell $?"; eval 'm[$v]=w; echo never'; echo "eval $?"
a=(1); a[-5]=w; echo never
echo "next $?"; x=${#a[-5]}; echo never
echo "next $?"
### a bad subscript is left out of a list
declare -A m=([a]=1 [$v]=2 [c]=3); echo "$? ${m[a]} ${m[c]}"; m+=([$v]=2 [d]=4); echo "$? ${m[d]}"; m=(a 1 '' 2 c 3); echo "$? ${m[c]}"
a=(1 2 [-5]=2 x); echo "$? ${a[*]}"; a=(1 2); a+=([-1]=z [-9]=q t); echo "$? ${a[*]}"; declare -a b=([-5]=2 x); echo "$? ${b[*]}"
### reading an element that is not there
a=(1); echo "${a[-5]}" "${a[-5]:-default}" ${a[-5]+never}; echo $?; x=5; echo "[${x[0]}][${x[1]}][${x[-2]}]"; echo $((a[-5])) $?; ((a[-5]++)); echo $?
### errexit and a bad subscript
set -e; a=(1); echo "${a[-5]}" || echo never; echo never
### errexit and a bad subscript of a map
set -e; declare -A m; f() { m[$v]=w; echo never; }; if f; then echo never; fi; echo never
### a subscript in quotes is expanded
declare -A m=([a]=1 [b]=2 ['x y']=3); k=a; unset 'm[$k]'; echo "${!m[@]}"; k='x y'; unset 'm[$k]'; echo "${!m[@]}"; printf -v 'm[$k]' 4; read 'm["c d"]' <<< 5; echo "${m[x y]} ${m[c d]}"
[[ -v 'm[$k]' ]] && [ -v 'm[$k]' ] && echo set; r='m[$k]'; echo "${!r}"; declare 'm[$k]=6'; echo "${m[x y]}"; read 'm[$(echo sub)]' <<< 7; echo "${m[sub]}"
a=(1 2 3 4); i=1; unset 'a[$i]' "a[i+1]"; echo "${a[@]}"; declare 'a[$i]=z'; echo "${a[@]}"; unset 'm[$nothing]' 2>/dev/null; echo $?
### removing keys in a loop
declare -A m=([a]=1 [b]=2 [c]=3); for k in "${!m[@]}"; do [[ ${m[$k]} == 2 ]] || unset 'm[$k]'; done; echo "${!m[@]}"
### nounset and the length of an array that was never set
set -u; echo "${#zz[@]}"; echo never
echo "next $?"; echo $((${#zz[@]} + 1)); echo never
echo "next $?"; declare -a zz; echo ${#zz[*]}; echo never
echo "next $?"; zz=5; x=${#zz[@]}; echo never
echo "next $?"; zz=(); echo ${#zz[@]}; zz=(1); unset 'zz[0]'; echo ${#zz[@]}; declare -A m=(); echo ${#m[@]}; mapfile -t l < /dev/null; echo ${#l[@]}; f() { local -a n=(); echo ${#n[@]}; }; f
### code that is not a script
eval "it's"; echo $?; eval 'if' || echo "or $?"; v=1 eval fi; echo $?; echo 'if' > code; . ./code; echo $?; (eval "'"; echo $?)
### errexit and code that is not a script
set -e; eval 'fi'; echo never
### break and continue in a command substitution
for i in 1 2; do x=$(echo a; continue; echo never); echo "$x $?"; done; for i in 1 2; do x=$(for j in a b; do echo $j; break 2; done; echo never); echo "$x $?"; done
for i in 1 2; do x=$(false; break); echo "$x $?"; cat <(echo b; break; echo never); (break; echo in); done
### the errors of a pipe come after the redirections
{ echo a; echo b >&2; } 2>/dev/null |& cat; f() { echo o; echo e >&2; }; f > out |& tr a-z A-Z; cat out; f 2> out |& tr a-z A-Z; ! f |& cat; echo $?
(cat <<< w) >&2 |& cat; { f; } |& { cat; f; } |& sort; for i in 1 2; do echo $i >&2; done |& sort -r
### nounset and an expression that is wrong
set -u; x='a\b'; echo $((x)); echo never
echo "next $?"
### an expansion of arithmetic that fails discards the line
n='x y'; [[ $((n)) != w ]]; echo never
echo "next $?"; (( $((n)) > 1 )); echo never
echo "next $?"; for ((i = $((n)); i < 2; i++)); do echo never; done; echo never
echo "next $?"; if [[ $((1 / 0)) -eq 1 ]]; then echo never; else echo never; fi; echo never
echo "next $?"; [[ n -lt 5 ]]; echo "test $?"; (( n > 1 )); echo "command $?"; set -e; [[ $((n++)) != w ]]; echo never
echo "next $?"
### trap with one operand
trap w; echo $?; trap 'echo x' w; echo $?; trap - w; echo $?; trap 'echo left' EXIT; trap EXIT; echo $?
### PIPESTATUS after a redirection that fails
{ ( : ) < nofile; echo "$? ${PIPESTATUS[*]}"; true | false; { :; } < nofile; echo "$? ${PIPESTATUS[*]}"; true | false; ! (:) < nofile; echo "$? ${PIPESTATUS[*]}"; true | false; declare x=1 < nofile; echo "$? ${PIPESTATUS[*]}"; true | false; x=1 < nofile; echo "$? ${PIPESTATUS[*]}"; true | false; [[ a ]] < nofile; echo "$? ${PIPESTATUS[*]}"; } 2>/dev/null
### ! before a command whose redirection fails
{ ! : < nofile; echo $?; ! { :; } < nofile; echo $?; ! cat < nofile; echo $?; ! [[ a ]] < nofile; echo $?; ! ((1)) < nofile; echo $?; ! while false; do :; done < nofile; echo $?; f() { :; }; ! f < nofile; echo $?; ! (:) < nofile; echo $?; ! x=1 < nofile; echo $?; ! declare x=1 < nofile; echo $?; trap 'echo t' ERR; ! { :; } < nofile; echo $?; set -e; ! { :; } < nofile; echo $?; } 2>/dev/null
### the length of an element that is not set
set -u
for v in 1 2; do
echo "$v ${#a1[0]}"; echo never
done
echo here
a1=(1); echo "${#a1[2]}"
declare -A m
echo "${#m[a]}"
(echo "${#v2}"; echo never)
echo here
### an unset name where an operator is needed
set -u
x=1
for n in 'x y' '2 y' 'x[0] y'; do (
echo $((n))
echo never
); echo "$?"; done
y=2 n='x y'
echo $((n))
echo here
### in is no command
eval in; echo $?; x=in; eval "$x" || echo "or $?"; for in in in; do echo $in; done; case in in in) echo in;; esac; echo in; > /dev/null bash -c in; echo $?
