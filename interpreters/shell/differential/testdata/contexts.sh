### lone bang
!; echo $?
### lone bang 2
set -e
!
echo after
### test -e == refused: not a valid test operator
[[ -e == w ]]; echo $?
### v-star empty ifs
IFS=; set -- a b c; unset n; v=${n-$*}; echo "$v"; v="${n-$*}"; echo "$v"; v=$*; echo "$v"; v=${n-$@}; echo "$v"; v=${n:-"$*"}; echo "$v"
### eval return pipe refused: would run the rest of the command a second time
f() { eval "return 3" | cat; echo in; }; f; echo after
### eval return background refused: would run the rest of the command a second time
f() { eval "return 3" & wait; echo in; }; f; echo after
### eval return pipe outside
eval "return 4" | cat; echo "${PIPESTATUS[*]}"
f() { g() { return 5; }; eval "g; echo \$?" | cat; ( eval "return 3" ) | cat; echo "${PIPESTATUS[*]}"; }; f
### trap -p in background
trap 'echo x' EXIT; { trap -p; } & wait $!; trap - EXIT
### trap -p in background 2
trap 'echo x' USR1; trap -p > out & wait; cat out
### wait -n
sleep 0.1 & (exit 3) & wait -n; echo $?; wait -n; echo $?; wait -n; echo $?
### wait -n -p
(exit 4) & p=$!; wait -n -p v; echo $? $((v == p)); wait -p v; echo "$? ${v-unset}"
### wait -n ids
(sleep 0.2; exit 5) & a=$!; (exit 6) & b=$!; wait -n $a $b; echo $?; wait $a; echo $?; wait $b; echo $?
### wait -f
(exit 5) & wait -f $!; echo $?
### declare -n
x=1; declare -n r=x; r=2; echo $x ${!r} $r; unset r; echo ${x-unset}; unset -n r; echo "${r-gone}"
### declare -n array
a=(1 2 3); declare -n r=a; r[1]=z; echo "${a[@]}" "${#r[@]}" "${r[@]:1}" "${!r[@]}"; r+=(4); echo "${a[*]}"; for i in "${!r[@]}"; do echo $i=${r[i]}; done
### nameref element
a=(1 2 3); declare -n r='a[1]'; echo $r; r=9; echo "${a[@]}"
### nameref function return
f() { declare -n out=$1; out="val $2"; }; f res hello; echo "$res"; g() { local -n arr=$1; arr+=(x); arr[5]=y; }; declare -a q=(a); g q; declare -p q
### nameref for
declare -n r; a=1 b=2; for r in a b; do echo $r; done
### nameref circular
f() { local -n x=x; echo "$x"; }; x=5; f
### local assoc
f() { local -A m=([a]=1 [b]=2); m[c]=3; for k in a b c; do echo $k=${m[$k]}; done; }; f; echo "${m[a]-none}"
### local -
f() { local -; set -f; echo *; }; cd /; f; [[ $- == *f* ]] && echo still || echo restored
### declare -g
f() { declare -g x=5; declare -gA m=([k]=v); local x=6; echo $x; }; f; echo $x ${m[k]}
### local -r
f() { local -r c=1; c=2; echo no; }; f; echo "after $?"
### unset local
x=g; f() { local x=l; unset x; echo "${x-unset}"; }; f; echo $x; g() { local x=1; h; echo "${x-un}"; }; h() { unset x; x=3; }; g; echo $x
### declare -p func
f() { local x=1 y; local -a z=(1 2); local -i i=3; declare -p x y z i; local; }; f
### subshell trap
trap 'echo outer' EXIT; (trap 'echo inner' EXIT; (trap 'echo innermost' EXIT; exit 3); echo $?); x=$(trap 'echo sub' EXIT; echo body); echo "[$x]"
### trap in pipe
trap 'echo E' EXIT; (trap 'echo P' EXIT; echo a) | cat; echo b | (trap 'echo Q' EXIT; cat)
### trap ERR in subshell
set -E; trap 'echo err:$?' ERR; (false; echo x); x=$(false; echo y); echo $x; f() { false; }; f
### trap int
trap 'echo got TERM' TERM; kill -TERM $$; echo after; (kill -TERM $BASHPID; echo no); echo $?
### set -e contexts
set -e
f() { local x=$(false); echo "after local"; local y; y=$(false); echo no; }
f && echo and
(f) || echo "or $?"
x=$(f) || echo "x $x"
f
### set -e bang
set -e; ! true; echo 1; ! false; echo 2; ! { false; echo in; }; echo 3; if ! false; then echo 4; fi; ! (exit 3) && echo 5
### set -e pipeline
set -e; false | true; echo 1; true | false && echo no; echo 2; set -o pipefail; (false | true; echo no) || echo "3 $?"; if false | true; then :; fi; echo 4; false | true; echo no
### set -e while
set -e; while false; do :; done; echo 1; until true; do :; done; i=0; while ((i < 3)); do ((++i)); done; echo $i; while true; do false || break; done; echo 2; for x in 1; do false; done; echo no
### set -e arithmetic
set -e; ((1)); let 1; i=0; ((i++)) || echo zero; ((i--)); echo no
### set -e case
set -e; case $(false; echo x) in x) echo m;; esac; case a in a) false;; esac; echo no
### set -e heredoc
set -e; cat <<E
$(false)x
E
echo 1; cat <<< "$(false)"; echo 2; echo $(false); echo 3; x=$(false)y; echo no
### set -e test
set -e; [[ -n '' ]] || echo 1; [ -n '' ] && echo no; echo 2; [[ a == b ]]; echo no
### set -e export
set -e; export x=$(false); echo 1; readonly y=$(false); echo 2; declare z=$(exit 3); echo $?; z=$(exit 3) echo hi; echo 4; z=$(exit 3); echo no
### set -e func in cond
set -e; f() { false; echo "in $1"; return 0; }; if f a; then echo yes; fi; f b || echo no; while f c; do break; done; ! f d; echo "st $?"; f e; echo never
### set -e subshell
set -e; (false) || echo 1; (set +e; false; echo 2); ( (false); echo no ); echo no
### set -e cmd subst nested
set -e; x=$(echo a; false; echo b); echo "$x"; y=$(set -e; echo a; false; echo b) || echo "y $y"; shopt -s inherit_errexit; z=$(echo a; false; echo b) || echo "z $z"; w=$(echo a; false; echo b); echo no
### set -e trap
set -e; trap 'echo exit $?' EXIT; trap 'echo err $?' ERR; f() { return 4; }; f || true; f; echo no
### set -e eval
set -e; eval 'false' || echo 1; eval 'false; echo in' || echo 2; eval 'true; false'; echo no
### set -e source
set -e; echo 'false; echo in' > l.sh; . ./l.sh || echo 2; if . ./l.sh; then echo y; fi; . ./l.sh; echo no
### set -e background
set -e; false & wait $! || echo "w $?"; { false; echo no; } & wait $!; echo no
### set -e process subst
set -e; cat <(false; echo x); echo 1; read -r x < <(echo y; false); echo $x
### heredocs in loops
for i in 1 2; do cat <<E
line $i $((i * 2)) $(echo sub $i)
E
done; while read -r l; do cat <<-E2
	tab $l
	E2
done <<X
a
b
X
### two heredocs
cat <<A - <<B
one
A
two
B
f() { cat <<E; echo "after $1"; }
in f $1
E
f x; f y
### heredoc pipe
cat <<E | tr a-z A-Z | sed 's/^/> /'
hello
world
E
cat <<E && echo ok
x
E
### heredoc quoting
x=1; cat <<E
"$x" '$x' \$x \\ \a \" `echo hi` ${x:-"d"} ${y:-'q'} ${y:-"q"} $'a' 
E
cat <<"E"
$x
E
cat <<\E
$x \
E
cat <<E
a\
b
E
### exit in trap contexts
trap 'echo EXIT $?' EXIT; trap 'echo ERR $? $LINENO; exit 9' ERR; f() { false; echo no; }; f; echo after; false; echo never
### return in trap
f() { trap 'echo RET' RETURN; echo body; return 3; }; f; echo $?; g() { echo g; }; g; trap - RETURN
### local with set -e masks
set -e; f() { local a=$(false) b; echo "a=$a"; local -r c=$(exit 3); echo ok; }; f; g() { readonly z=$(false); echo z; }; g; export q=$(false); echo q
### set -e in nested functions in conditions
set -e; a() { b; echo a-end; }; b() { false; echo b-end; }; if a; then echo t; fi; a && echo and; a || true; ! a; echo "neg $?"; a | cat; echo pipe; x=$(a) || echo or; echo "x=$x"; a; echo never
### set -e && || chains
set -e; true && false || echo 1; false || false || echo 2; true && true && echo 3; false && false; echo 4; { true && false; }; echo 5; (true && false); echo never
### set -e final && in function
set -e; f() { true && false; }; f; echo never
### set -e final && in subshell
set -e; (false && true); echo never
### set -e for last cmd
set -e; for i in 1 2; do [[ $i == 3 ]] && echo x; done; echo "ok $?"; while read -r l; do [[ $l == z ]] && echo; done <<< y; echo never
### set -e if without else
set -e; if false; then :; fi; echo "1 $?"; if false; then :; elif false; then :; fi; echo 2; case x in y) ;; esac; echo 3; while false; do false; done; echo 4
### set -e command substitution in args
set -e; echo "a$(false)b"; echo $(exit 3); x="$(false)" || echo or; local_x() { local v; v=$(false) || return 7; }; local_x || echo "r $?"; [[ $(false) == '' ]] && echo t; case $(false) in '') echo c;; esac; for i in $(echo 1; false); do echo $i; done; (( $(echo 1; false) )); echo d; arr=($(false)); echo never
### set -e array assign
set -e; arr=($(false) x) || echo or; echo "${arr[@]}"; declare -a b=($(false)); echo b; b=($(false)); echo never
### set -e redirect failure
set -e; echo x > /nodir/f || echo or; { echo y; } > /nodir/f || echo or2; while true; do :; done < /nofile || echo or3; echo z > /nodir/f; echo never
### set -e cd failure
set -e; cd /nodir || echo or; (cd /nodir; echo no) || echo or2; cd /nodir; echo never
### set -e unset var with -u
set -eu; echo ${x:-d}; (echo $x; echo no) || echo "sub $?"; y=$(echo $x) || echo "cs $?"; echo $x; echo never
### set -e pipefail with head
set -eo pipefail; seq 100000 | head -1; echo never
### set -e negation in function
set -e; f() { ! true; }; f; echo "1 $?"; g() { ! true; echo in; }; g; if ! f; then echo neg; fi; h() { ! true; return; }; h; echo never
### set -e wait
set -e; (exit 3) & wait $! && echo no || echo "w $?"; (exit 4) & wait; echo all; (exit 5) & wait $!; echo never
### set -e let and (( in conditions
set -e; if ((0)); then :; fi; ((0)) || echo z; while ((0)); do :; done; let 'x=0' || echo l; x=5; ((x-=5)) || true; echo $x; let x=0; echo never
### set -e ERR trap inherits
set -eE; trap 'echo "ERR $? ${FUNCNAME[0]-main}"' ERR; f() { g; }; g() { return 3; }; f || echo handled; x=$(f) || echo cs; (f) || echo ss; f; echo never
### ERR trap no errexit
trap 'echo "E$?"' ERR; false; (exit 4); false || true; if false; then :; fi; ! true; ! false; f() { return 5; }; f; x=$(exit 6); false | true; true | false; { false; }; [[ a == b ]]; ((0)); let 0; cd /nodir; local 2>/dev/null; while false; do :; done; until true; do :; done; case a in a) false;; esac; echo end
### pipestatus
false | true | (exit 3); echo "${PIPESTATUS[@]}"; true; echo "${PIPESTATUS[@]}"; ! false | (exit 2); echo "${PIPESTATUS[@]} $?"; (exit 4); echo "${PIPESTATUS[0]}"; x=$(exit 5); echo "${PIPESTATUS[0]}"; [[ a == b ]]; echo ${PIPESTATUS[0]}; if false | true; then echo "${PIPESTATUS[@]}"; fi; f() { return 6; }; f | f; echo ${PIPESTATUS[*]}; { false | true; }; echo ${PIPESTATUS[*]}; (false | true); echo ${PIPESTATUS[*]}; eval 'false | true'; echo ${PIPESTATUS[*]}
### subshell isolation
x=1; a=(1); declare -A m=([k]=v); (x=2; a+=(2); m[k]=w; cd /; set -f; f() { :; }; shopt -s nullglob; trap 'echo t' EXIT; exit 3); echo $? $x ${a[*]} ${m[k]} $PWD; type f 2>/dev/null || echo nof; shopt -q nullglob || echo noglob
### subshell vars
echo $BASH_SUBSHELL; (echo $BASH_SUBSHELL; (echo $BASH_SUBSHELL)); x=$(echo $BASH_SUBSHELL); echo $x; echo a | (read q; echo $BASH_SUBSHELL); { echo $BASH_SUBSHELL; } | cat; [[ $$ == $(echo $$) ]] && echo samepid; (( $(sh -c 'echo $PPID' 2>/dev/null || echo 0) )) ; [[ $BASHPID == $$ ]] && echo same; ( [[ $BASHPID == $$ ]] || echo diff )
### funcname stack
f() { echo "${FUNCNAME[@]} ${BASH_LINENO[@]} ${#BASH_SOURCE[@]}"; }
g() { f; }
g
h() { caller; caller 0; caller 1; }
h
main() { h; }
main
### function features
f() { echo "$# $1 ${*:2} $0"; set -- x y; echo "$1"; shift; echo "$1 $#"; }; f a b c; function g { echo g "$@"; }; g 1; function h() { echo h; }; h; i() ( x=sub; echo $x ); x=main; i; echo $x; j() if true; then echo if; fi; j; k() for q in 1 2; do echo $q; done; k; unset -f k; k 2>/dev/null || echo gone; f-g() { echo dash; }; f-g; f.x() { echo dot; }; f.x; declare -F f; declare -f i | head -1
### recursion
fact() { if (($1 <= 1)); then echo 1; else echo $(( $1 * $(fact $(($1 - 1))) )); fi; }; fact 10; fib() { local n=$1; ((n < 2)) && { echo $n; return; }; echo $(( $(fib $((n-1))) + $(fib $((n-2))) )); }; fib 10; walk() { local d=$1 i; ((d == 0)) && return; for i in 1 2; do echo "$d.$i"; walk $((d-1)); done; }; walk 2
### dynamic scope
x=g; f() { local x=f; g; echo "f:$x"; }; g() { echo "g:$x"; x=changed; }; f; echo $x; h() { local x; echo "[${x-unset}]"; x=1; }; h; echo $x; export x; i() { local x=loc; bash -c 'echo $x'; }; i; x=tmp g; echo $x
### tempenv
f() { echo "$V"; V=inner; echo "$V"; g; }; g() { echo "g$V"; }; V=outer; V=tmp f; echo $V; V=a eval 'echo $V'; echo $V; V=b export V; echo $V; V=c :; echo $V; V=d command eval 'echo $V'; IFS=: read -r a b <<< x:y; echo $a $b; V=1 W=$V bash -c 'echo $W'
### arrays deep
a=(a b c); a[5]=f; echo ${#a[@]} ${!a[@]} "${a[@]}"; unset 'a[1]'; echo ${!a[@]}; a=("${a[@]}"); echo ${!a[@]}; a+=(x y); a[-1]=z; echo ${a[@]}; b=("${a[@]:1:2}"); echo ${b[@]}; echo "${a[@]/#/pre}" "${a[@]/%/suf}"; c=([2]=x [0]=y z); declare -p c; d=(); echo "${d[@]}" "${#d[@]}" "${d[*]-none}"; for i in "${d[@]}"; do echo no; done; e=("" ""); echo ${#e[@]}; for i in "${e[@]}"; do echo "[$i]"; done; IFS=,; echo "${a[*]}"; unset IFS; x=(${a[@]}); echo ${#x[@]}; a=(); a+=(); declare -p a; mapfile -t s < <(printf '%s\n' "${x[@]}" | sort -r); echo "${s[@]}"; [[ -v x[1] ]] && echo set; [[ -v x[99] ]] || echo unset; [[ " ${x[*]} " == *" f "* ]] && echo has; echo "${x[@]: -1}" "${x[-2]}"; y=("${x[@]}" more "${d[@]}"); echo ${#y[@]}
### assoc deep
declare -A m=([a]=1 [b c]=2 ["d]"]=3 [e]=); for k in "${!m[@]}"; do echo "$k=${m[$k]}"; done | sort; m[f]=6; m+=([g]=7 [a]=1x); echo ${#m[@]} "${m[a]}"; unset 'm[b c]'; [[ -v m[e] ]] && echo e; [[ -v m[zz] ]] || echo nozz; k='x y'; m[$k]=v; echo "${m[$k]}" "${m['x y']}" "${m["x y"]}"; declare -p m | tr ' ' '\n' | grep -c =; n=a; echo "${m[$n]}" ${m[a]:0:1} ${m[a]%x} "${m[nope]-def}" "${m[nope]:-}"; ((m[cnt]++)); ((m[cnt]+=5)); echo ${m[cnt]}; declare -A copy; for k in "${!m[@]}"; do copy[$k]=${m[$k]}; done; echo ${#copy[@]}; m=(); echo ${#m[@]}; declare -A q=(k1 v1 k2 v2); echo ${q[k2]}
### assoc key odd
declare -A m; m[a/b]=1; m["a.b"]=2; m[a:b]=3; m['$x']=4; m[a-b]=5; m["*"]=6; m[@x]=7; x='a/b'; echo ${m[$x]} ${m[a.b]} ${m[a:b]} "${m['$x']}" ${m[a-b]} "${m["*"]}" ${m[@x]}; for k in "${!m[@]}"; do printf '%s\n' "$k"; done | sort; app="app.kubernetes.io/name"; m[$app]=n; echo ${m[$app]} ${m[app.kubernetes.io/name]}
### string ops
s="hello world"; echo ${#s} ${s:0:5} ${s#* } ${s% *} ${s/o/0} ${s//o/0} ${s/#hello/bye} ${s/%world/all} ${s^} ${s^^} "${s//[^a-z]/}" "${s//[aeiou]}"; echo "${s:${#s}-3}" "${s: -3:2}" "${s:(-5)}"; t=" trim "; t="${t#"${t%%[![:space:]]*}"}"; t="${t%"${t##*[![:space:]]}"}"; echo "[$t]"; p=a/b/c.txt; b=${p##*/}; echo $b ${b%.*} ${b##*.} ${p%/*}; IFS=/ read -ra parts <<< "$p"; echo ${#parts[@]} ${parts[1]}; u=ünïcödé; echo ${#u} ${u:1:3} ${u^^} ${u//ï/i}; printf -v pad '%*s' 5 ''; echo "[${pad// /-}]"; [[ $s == *wor* ]] && echo c; [[ $s =~ ^h(.*)o\ (w.*)$ ]] && echo "${BASH_REMATCH[@]}"
### regex
[[ 2024-01-15 =~ ^([0-9]{4})-([0-9]{2})-([0-9]{2})$ ]] && echo "${BASH_REMATCH[1]} ${BASH_REMATCH[2]}"; re='^[a-z]+$'; [[ abc =~ $re ]] && echo m; [[ "a.c" =~ "a.c" ]] && echo lit; [[ abc =~ "a.c" ]] || echo nolit; [[ abc =~ a.c ]] && echo re; [[ 'a b' =~ a\ b ]] && echo sp; [[ ab =~ (a)(x)? ]]; echo "${#BASH_REMATCH[@]} [${BASH_REMATCH[2]}]"; [[ x =~ y ]] || echo "n ${#BASH_REMATCH[@]}"; [[ foobar =~ o+ ]]; echo ${BASH_REMATCH}; v='a+b'; [[ 'a+b' =~ ^"$v"$ ]] && echo q; [[ aab =~ ^$v$ ]] && echo r; shopt -s nocasematch; [[ ABC =~ abc ]] && echo ci; [[ ABC == abc ]] && echo cie; case ABC in abc) echo cc;; esac; shopt -u nocasematch; [[ $'a\nb' =~ a.b ]] && echo nl; [[ '[x]' =~ \[(.*)\] ]] && echo ${BASH_REMATCH[1]}; [[ abc123 =~ [[:alpha:]]+([[:digit:]]+) ]] && echo ${BASH_REMATCH[1]}; [[ a =~ ^(a|b)$ ]] && echo alt; [[ '' =~ ^$ ]] && echo empty; [[ 'x=1' =~ ^([^=]+)=(.*)$ ]] && echo ${BASH_REMATCH[1]}:${BASH_REMATCH[2]}
### test ops
touch f; mkdir d; echo x > s; chmod +x s; ln -s f l 2>/dev/null; for t in '-e f' '-f f' '-d d' '-s f' '-s s' '-x s' '-x f' '-r f' '-w f' '-e nof' '! -e nof' '-z ""' '-n x' 'f -nt nof' 'f -ef f' 'a = a' 'a == b' 'a != b' '1 -eq 1' '1 -lt 2' '-5 -gt -6' 'a < b' '-o errexit' '-v HOME' '-t 0' '-L f'; do eval "[[ $t ]]" && echo "$t y" || echo "$t n"; done; [ a \< b ] && echo lt; [ -n "" -o -n x ] && echo o; [ ! -n "" -a 1 -eq 1 ] && echo na; [ \( a = a \) -a \( b = b \) ] && echo paren; test; echo $?; test x; echo $?; [ ! ]; echo $?; [ -n ]; echo $?; [ a = ] 2>/dev/null; echo $?; [ 1 -eq x ] 2>/dev/null; echo $?; [[ 5 -gt 3 && ( a == b || c == c ) ]] && echo g; [[ ! ( a == b ) ]] && echo ng; x=; [ $x = a ] 2>/dev/null; echo $?; [[ $x = a ]]; echo $?; [[ 010 -eq 8 ]] && echo oct; [ 010 -eq 10 ] && echo dec; [[ 1+1 -eq 2 ]] && echo ar
### word splitting
x='a b  c'; set -- $x; echo $#; set -- "$x"; echo $#; set -- $x$x; echo $#; IFS=:; x=a:b::c:; set -- $x; echo $#; for i in $x; do echo "[$i]"; done; set -- "a b" c; for i in $@; do echo "<$i>"; done; for i in "$@"; do echo "{$i}"; done; unset IFS; for i in $*; do echo "($i)"; done; y=; set -- $y; echo $#; set -- "$y"; echo $#; set -- $y"" ; echo $#; set -- a${y}b $y c; echo $#; z=' lead trail '; set -- $z; echo $#; set -- x$z''y; printf '<%s>' "$@"; echo; IFS=; w='a b'; set -- $w; echo $#
### quoting
echo "a\b\$c\"d\`e\\f" 'a\b$c"d' a\ b\$c\"d $'a\tb\x41\u00e9\101\e[0m\'q' "it's" 'say "hi"' "\n" '\n' "a
b" a\
b "c\
d" $"loc" ""'' "$(echo "nested "quote"")" "${x:-"in "ner""}" "`echo "bq"`" `echo \$HOME` "`echo \"x\"`" \' \" "'" '"' !x "!x" "\!x"
### backticks
echo `echo a``echo b` "`echo \`echo nested\``" `echo '$x'` `echo "a  b"` "`echo "a  b"`" `echo \\\\` "`echo \\\\`"; x=`printf 'a\n\n'`; echo "[$x]"
### comments and continuation
echo a # comment
echo a#b 'c # d' "e # f" ; # trailing
echo one \
  two \
  three
if true; then # c
  echo t # c
fi
for i in 1 2 # c
do echo $i; done
x=( # c
 a # c
 b
)
echo ${#x[@]}
true && # c
echo and
echo p | # c
cat
### heredoc misc
cat <<E > f; cat f
body
E
cat <<'E' | tr a-z A-Z
quoted $x
E
while read -r a b; do echo "$b $a"; done <<E
1 2
3 4
E
x=$(cat <<E
in $((1+1))
E
); echo "$x"; cat <<E
$(cat <<F
nested
F
)
E
f() { cat <<E
$1
E
}; f arg; cat <<-	E
	a
	 b
	E
cat <<E 3<<F
$(cat <&3)
E
f
F
cat <<"A B"
sp
A B
if true; then cat <<E; fi
if
E
(cat <<E
sub
E
)
### here string
cat <<< "a b"; cat <<< a\ b; x='p  q'; cat <<< $x; cat <<< "$x"; cat <<< 'a
b'; read -r a <<< "1 2"; echo $a; cat <<< ""; wc -c <<< abc; cat <<< $(echo x; echo y); cat <<< *
### redirect order
exec 3>&1; { echo out; echo err >&2; } 2>&1 >&3 | sed 's/^/p:/'; exec 3>&-; ls nofile 2>/dev/null || echo failed; echo a >f1 2>&1; cat f1; { echo x; echo y >&2; } &> both; cat both; { echo z; } >> both 2>&1; cat both; echo q &>> both; cat both; cat < f1 > f2; cat f2; : > f2; cat f2; echo n >| f2; cat f2; cat 0< f1; echo e 1>&2 2>/dev/null; echo v 2>&1 | cat; cat <f1 <f2; echo m >f3 >f4; wc -c f3 f4
### while read
printf '1 a\n2 b\n3 c' > f; n=0; while read -r x y; do ((n++)); echo "$x:$y"; done < f; echo $n; while IFS= read -r l || [[ $l ]]; do echo "[$l]"; done < f; cat f | while read -r x _; do t=$x; done; echo "${t-unset}"; while read -r -u 7 l; do echo $l; done 7< f; while read -r a && read -r b <&8; do echo "$a-$b"; done < f 8< <(printf 'x\ny\n')
### select-like menus, until, nested break
for i in 1 2 3; do for j in a b c; do [[ $j == b ]] && continue 2; [[ $i == 3 ]] && break 2; echo $i$j; done; done; i=0; until ((i >= 3)); do ((i++)); ((i == 2)) && continue; echo $i; done; for ((i=0, j=10; i<j; i+=3, j-=2)); do echo $i $j; done; for ((;;)); do break; done; for i; do echo $i; done; set -- p q; for i; do echo $i; done; for i in; do echo no; done; echo "st $?"; for f in {1..3}; do :; done; echo $f; while :; do while :; do break 2; done; done; echo out
### printf reuse
printf '%s=%s\n' a 1 b 2 c; printf '%d\n' 1 2 3; printf 'x\n' a b; printf '%s\n'; printf '%s\n' ""; printf '%s %s\n' a b c d e; printf '%5.2f|%-8s|%03d\n' 3.14159 ab 7 2 c 8; printf '%s\n' "$(printf '%s' "a\nb")"; printf '%b' 'a\nb\n' 'c\td\n'; printf '%s' a b c; echo; printf -- '--%s\n' x; printf '%-10s|\n' é; printf '%.2s|\n' éé; printf '%c' abc def; echo; printf '%q ' a 'b c' "d'e" $'f\ng'; echo; printf '%x %o %X %#x %#o\n' 255 8 255 255 8; printf '%e\n' 12345.678; printf '%g %g %g\n' 0.00001 100000 1e20; printf '%i\n' 0x10; printf '\\ \a\b\f\v\e \" \x41 \u20ac \U0001F600\n'
### unset things
x=1; unset x; echo ${x-u}; f() { :; }; unset f; type f 2>/dev/null || echo nof; a=(1 2 3); unset a[1]; echo ${a[@]}; unset 'a[@]'; echo ${#a[@]}; readonly r=1; unset r 2>/dev/null; echo "$? $r"; unset nosuch; echo $?; declare -A m=([k]=v); unset m[k]; echo ${#m[@]}; unset -v x; unset -f f; x=1 y=2; unset x y; echo ${x-u}${y-u}
### cd pushd
mkdir -p a/b; cd a; pwd | sed 's/.*snippet[^/]*/T/'; cd b; cd -  | sed 's/.*snippet[^/]*/T/'; cd ..; pushd a > /dev/null; pushd b >/dev/null; dirs -p 2>/dev/null | wc -l; popd > /dev/null; popd >/dev/null; cd nodir 2>/dev/null || echo nodir; (cd a && echo in); cd ''; echo $?; CDPATH=a; cd b > /dev/null && echo cdpath; cd; echo ~ $HOME; cd /tmp; cd ./; pwd; cd /; pwd; cd /tmp/..; pwd
### type command
type -t echo ls if f nosuch; f() { :; }; type -t f; command -v echo; command -v f; command -v if; command -v nosuch || echo no; type f | head -2; type -t cat; hash cat; echo $?; builtin echo b; command echo c; type -a echo | head -1; command -V echo
### let, (( )), $[ ]
let a=1+2 b=a*2; echo $a $b; ((c = a > b ? a : b)); echo $c; ((a++, b--)); echo $a $b; echo $((a<<2|1)) $((a&b)) $(( (a+b)*c )); ((d = 5, e = d ** 2)); echo $e; x=; echo $((x + 1)); y=abc; echo $((y + 1)) $((abc=7)) $((y)); ((arr[2] = 5)); echo ${arr[2]} $((arr[2]++)) ${arr[2]}; echo $((16#ff)) $((2#1111 + 8#17)); i=5; while ((i-- > 0)); do printf "$i "; done; echo; echo $(( i < 0 && i > -5 )) $((!i)) $((-i)) $((~i)); ((i=7)) && echo t; ((i==7)) || echo f; echo $[1+2]
### set builtin
set -- -a b; echo $1; set a b c; echo $#; set --; echo $#; set -o pipefail; [[ -o pipefail ]] && echo on; set +o pipefail; shopt -po errexit; set -euo pipefail; echo $-  | tr -d 'hBs' ; set +eu; set -x 2>/dev/null; { set +x; } 2>/dev/null; set -o | grep -c on; set -f; echo *; set +f; set -a; EXP=1; set +a; bash -c 'echo $EXP'; set -C; echo a > cl; echo b > cl 2>/dev/null || echo noclob; set +C
### exported functions and env
export A=1; bash -c 'echo $A'; B=2 bash -c 'echo $B'; env C=3 bash -c 'echo $C'; f() { echo func $1; }; export -f f; bash -c 'f x'; export -n A; bash -c 'echo ${A-unset}'; declare -x D=4; bash -c 'echo $D'; env | grep -c '^D='; printenv D; env -i bash -c 'echo ${D-clean}'; env -u D bash -c 'echo ${D-gone}'; export E; E=5; bash -c 'echo $E'; declare +x E; bash -c 'echo ${E-noexp}'; bash -c 'echo $0 $1 $#' name arg; echo 'echo from stdin $1' | bash -s x; bash -ec 'false; echo no' || echo "rc $?"; bash -uc 'echo $zz' 2>/dev/null || echo "rc $?"
### source
cat > lib.sh <<'E'
echo "args $# $1"
libf() { echo "lib $1"; }
VAR=lib
return 3
echo no
E
. ./lib.sh a b; echo "$? $VAR"; libf x; source lib.sh; (. ./lib.sh; echo in); . ./nofile 2>/dev/null || echo "no $?"; f() { . ./lib.sh; echo "after $?"; }; f q; echo 'exit 4' > e.sh; (. ./e.sh; echo no); echo $?; echo 'local z=1; echo $z' > l.sh; g() { . ./l.sh; echo $z; }; g; set -- m n; . ./lib.sh; . ./lib.sh "new arg"; echo $1
### special vars
f() { echo $# $* "$@" $? $0; }; false; f a 'b c'; echo $_ ; : x y; echo $_; echo ${#} ${#@} ${#*}; set -- a b c; echo ${#@} $# ${@: -1} ${!#} $((${#}+1)); echo "$-" | grep -q h && echo h; echo $PPID | grep -c '^[0-9]*$'; echo ${RANDOM:+r} ${SECONDS:+s} ${LINENO:+l} ${EPOCHSECONDS:+e} ${BASH_VERSION%%.*} ${BASH_VERSINFO[0]} $HOSTTYPE ${OSTYPE} ${UID}; echo $IFS | wc -c; shift 2; echo $1; shift 5; echo $? $#
### patterns after all words
printf '[%s]' * $(echo > made) z*; echo; a=(* $(echo > made2)); echo "${#a[@]}"; for f in * $(echo > made3); do echo $f; done; set -- *3 $(rm made3); echo $1
### errexit in a process substitution in a condition
set -e; if cat <(false; echo no); then echo yes; fi; { read -r x < <(false; echo no); } || echo "or [$x]"; cat <(false; echo no) && echo and; while read -r l; do echo "$l"; done < <(echo a; false; echo b) || echo never; x=$(cat <(false; echo no)) || echo never; echo "[$x]"
### the end of a process in a pipe
set -o pipefail; exit 2 | :; echo $? ${PIPESTATUS[0]}; f() { return 4 | :; echo $?; }; f; eval 'exit 5' | :; echo $?; exit 6 & wait $!; echo $?
set -e; exit 7 | :
