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
### eval return pipe
f() { eval "return 3" | cat; echo $? ${PIPESTATUS[*]}; }; f
eval "return 4" | cat; echo "${PIPESTATUS[*]}"
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
