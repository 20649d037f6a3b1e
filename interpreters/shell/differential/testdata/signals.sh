### joinstar
IFS=:; set -- a b c; unset n; v=${n-$*}; echo "$v"; v=$*; echo "$v"; v=${n-"$*"}; echo "$v"; a=(x y); v=${a[*]}; echo "$v"; v=${n-${a[*]}}; echo "$v"; case $* in a:b:c) echo colon;; esac; IFS=; case $* in abc) echo none;; "a b c") echo sp;; esac; cat <<< $*; cat <<< ${n-$*}; [[ $* == abc ]] && echo tt; v=x${a[*]}y; echo "$v"; v=${a[@]}; echo "$v"; declare w=$*; echo "$w"; v=${*:2}; echo "$v"; v=${*#a}; echo "$v"
v=${n-$*}; echo "$v"; v=${n-x$*}; echo "$v"; case ${n-$*} in abc) echo a;; 'a b c') echo b;; esac; ### waittwice
(exit 4)& p=$!; wait $p; echo $?; wait $p; echo $?; wait; echo $?; wait $p; echo $?
### killjob
sleep 5 & kill -9 $!; wait $!; echo $?; sleep 5 & kill $!; wait $! ; echo $?; { trap "echo bye; exit 3" TERM; sleep 0.3; echo no; } & sleep 0.1; kill $!; wait $!; echo $?; kill -0 $! ; echo $?; kill -l TERM; kill -l 9; kill -l 143
### killmain
trap "echo T; exit 5" TERM; f() { echo x; kill -TERM $$; sleep 0.1; echo y; }; v=$(f); echo "v=$v"; echo never
### killmain2
trap "echo T" USR1; echo "$(kill -USR1 $$; echo in)" after; echo next; (kill -USR1 $$; echo sub); echo n2; echo a | { cat; kill -USR1 $$; } ; echo n3; if (kill -USR1 $$); then echo body; fi
### killmain3
trap "echo E \$?" EXIT; (kill $$); echo never
### exittrap1
set -e; trap "echo in" EXIT; { (exit 2); } > f1
### exittrap2
set -e; trap "echo in" EXIT; while true; do { (exit 2); } > f1; done
### exittrap3
trap "echo in" EXIT; while true; do { exit 3; } > f1; done
### exittrap4
set -e; trap "echo in" EXIT; f() { false; }; f > f1
### exittrap5
set -e; trap "echo in" EXIT; { if true; then (exit 2); fi; } > f1
### exittrap6
set -e; trap "echo in" EXIT; { false; } > f1
### exittrap7
set -e; trap "echo in" EXIT; for i in 1; do false; done > f1
### exittrap8
set -u; trap "echo in" EXIT; for i in 1; do echo $zz; done > f1
### exittrap9
trap "echo in" EXIT; eval 'exit 3' > f1
### exittrap10
trap "echo in" EXIT; f() { exit 3; }; f > f1
### exittrap11
trap "echo in" EXIT; f() { { exit 3; } > f1; }; f
### exittrap12
trap "echo in" EXIT; echo 'exit 3' > l; . ./l > f1
### exittrap13
trap "echo in" EXIT; command exit 3 > f1
### exittrap14
trap "echo in" EXIT; exit 3 > f1
### exittrap15
trap "echo in" EXIT; { f; } > f1; f() { exit 2; }; { f; } > f2
### exittrap16
(trap "echo in" EXIT; { exit 3; } > f1; ); echo $?
### exittrap17
trap "echo in; cat" EXIT; while read -r x; do exit 1; done <<< $'a\nb\nc'
### exittrap18
set -eu; trap "echo in" EXIT; f() { echo x; return 3; }; { f; } > f1
### pipetrap
trap "echo T \$?" EXIT; printf $((1/0)) | cat; { printf $((1/0)); } | cat; echo a | printf $((1/0)); f() { echo $((1/0)); }; f | cat; (echo $((1/0))) | cat; x=$((1/0)) | cat; echo end
### kill lists
kill -l INT; kill -s 0 $$; echo $?; kill -n 0 $$; echo $?; kill -SIGUSR1 99999999; echo $?; kill; echo $?; kill -l 15 2; kill -0 $BASHPID; echo $?
### extglob off
p='a+(b)'; [[ 'a+(b)' == $p ]]; echo $?; case 'abb' in $p) echo ext;; *) echo lit;; esac; case 'a+(b)' in $p) echo lit;; esac; x=abbc; echo ${x#$p}; touch abb 'a+(b)'; echo $p; y='a+(b)c'; echo ${y#$p} ${y/$p/X} ${x/$p/X}
### signals in jobs
trap 'echo m' USR1; (trap 'echo child' USR1; kill -USR1 $BASHPID; echo after); (kill -USR1 $BASHPID; echo never); echo $?
### readonly before a command
readonly v=1; v=2 echo hi; echo "$? $v"; v=2 true; echo $?; f() { echo "f $v"; }; v=2 f; echo $?; v=2 cat /dev/null; echo $?; v=2 eval 'echo e'; echo $?; v=2 bash -c 'echo "[$v]"'; echo $?; v=2 x=3 bash -c 'echo "[$x]"'; v=2 : && echo and; v=2 export w=5; echo $w
echo next
### readonly before a command with errexit
set -e; readonly v=1; v=2 echo hi; echo never
### exit trap with an error
set -u; trap 'echo $zz; echo no' EXIT; exit 0
### exit trap with an error and exit 3
set -u; trap 'echo a; echo $zz; echo no' EXIT; exit 3
### exit trap with a division
trap 'echo a; echo $((1/0)); echo b' EXIT; exit 0
### exit trap false
set -e; trap 'false; echo no' EXIT; exit 0
### exit trap return
trap 'echo a; return 5; echo no' EXIT; false
### errexit and indirect
set -e; echo ${!nope-x}; echo never
### errexit and indirect in condition
set -e; x='a b'; if echo ${!x}; then :; fi; echo never
### eval options
eval -n; echo $?; eval -- 'echo x'; eval - ; echo $?; eval; echo $?; eval '' ; echo $?; eval "-x"; echo $?
### quotes in values of arithmetic
n='"'; (echo $((n))); echo $?; m='"5"'; (echo $((m))); echo $?; echo $(("5" + 1)); k="'5'"; (echo $((k))); echo $?; a=('"2"'); (echo $((a[0]))); echo $?; ((x = "3")); echo $x; (let 'y = "4"'; echo $y); (( "a" == 0 )) && echo z; [[ '"1"' -eq 1 ]] || echo tt; declare -i i='"7"' || echo di; echo "${i-u}"; s=abc; echo ${s:"1"} ; o='"1"'; (echo ${s:o}); echo $?
### nullglob and brackets
shopt -s nullglob; echo [] x; echo "[]" []; set -- $(echo '[]'); echo $#; v='[x'; echo $v; v='a]['; echo $v; v='[]]'; echo $v [!] []a] ; unset q; echo ${q-[]}; for i in []; do echo no; done
### negated pipelines
set -e; ! { false; echo x; } | cat; echo "1 $?"; ! (false; echo y) | cat; echo 2; ! cat < /dev/null | { false; echo z; }; echo 3; f() { false; echo f; }; ! f | cat; echo 4; ! f; echo 5; if ! { false; echo i; } | cat; then :; fi; echo 6; { false; echo g; } | cat || echo or; echo 7; { false; echo h; } | cat && echo and
### conditions and pipelines
set -e; if { false; echo a; } | cat; then echo t; fi; while { false; echo b; } | cat && false; do :; done; { false; echo c; } | { cat; false; echo d; } || echo e; (false; echo f) | cat || echo g; (false; echo h) || echo i; { false; echo j; } || echo k; x=$(false; echo l) || echo m; echo $x; f() { { false; echo n; } | cat; echo o; }; f || echo p; f
### signals and wait
trap 'echo usr' USR1; (kill -USR1 $$); { sleep 0.2; exit 4; } & wait $!; echo $?; { sleep 0.1; kill -USR1 $$; sleep 0.2; exit 5; } & wait $!; echo "$(( $? > 128 ))"; wait $!; echo $?; (kill -USR1 $$); (exit 6) & wait $!; echo $?
### signals and wait for several
trap 'echo usr' USR1; sleep 0.5 & { sleep 0.1; kill -USR1 $$; sleep 0.3; exit 5; } & p=$!; wait -n -p v; echo "$? ${v-unset}"; wait $p; echo $?; { sleep 0.1; kill -USR1 $$; sleep 0.3; exit 6; } & p=$!; wait; echo $?; wait $p; echo $?; { sleep 0.1; kill -USR1 $$; sleep 0.3; exit 7; } & p=$!; sleep 0.5 & wait $p $!; echo $?; wait $p; echo $?; wait
### export in a function with an assignment before it
v=g; f() { export v=in; }; v=t f; echo $v; w=g; g() { export w; }; w=t g; echo $w; x=g; h() { x=in; }; x=t h; echo $x; i() { readonly y; }; y=t i; echo ${y-unset}; k() { export q=1; echo $q; unset q; echo ${q-un}; }; q=t k; echo ${q-unset}; v3=g; m() { declare -gx v3=in; }; v3=t m; echo $v3
### negated error in parentheses
a='*'; ( ! echo $((a)) ); echo $?; ( ! { echo $((a)); } ); echo $?; ( ! { echo $((a)); }; echo no ); echo $?; ( { echo $((a)); } ); echo $?; x=$( ! echo $((a)) ); echo $?
### exit in an EXIT trap
trap 'echo x; exit' EXIT; (exit 3); (trap 'true; exit' EXIT; exit 4); echo $?; (trap 'f() { exit; }; true; f' EXIT; exit 5); echo $?; (trap 'x=$(exit); echo "c$?"; exit 6' EXIT; exit 7); echo $?; (trap 'true; return' EXIT; exit 8) 2>/dev/null; echo $?; (exit 9)
### traps in conditions
trap 'false; echo T' USR1; trap 'echo ERR' ERR; if kill -USR1 $BASHPID; then echo sent; fi; kill -USR1 $BASHPID || echo or; ! kill -USR1 $BASHPID; f() { trap 'false; echo R' RETURN; true; }; if f; then echo f; fi; trap - RETURN
### traps in conditions with errexit
trap 'false; echo T' USR1; set -e; if kill -USR1 $BASHPID; then echo sent; fi; echo never
### return in traps
f() { trap 'true; return' USR1; (exit 3); kill -USR1 $BASHPID; echo no; }; f; echo $?; g() { trap 'true; return' ERR; (exit 4); echo no; }; g; echo $?; trap - ERR; h() { trap 'true; return 5' USR1; kill -USR1 $BASHPID; echo no; }; h; echo $?
### the status in case
false; case a in a) echo $?;; esac; false; case a in b) ;; esac; echo $?; false; case a in a) ;; esac; echo $?; (exit 3); case a in a) echo $? ;& b) echo $?;; esac; false; case $(exit 4) in '') echo $?;; esac; (exit 5); case x in x) ;;& *) echo $?;; esac; (exit 5); case x in x) ;& y) ;; esac; echo $?; false; case a in a) : ;; esac; echo $?; f() { case $1 in x) return;; esac; }; (exit 6); f x; echo $?
### references to nothing
f() { local -n r=$1; echo "in $?"; }; f ''; echo $?; f 'a b'; echo $?; declare -n q=1x; echo $?; declare -n p='a[1]'; p=5; echo ${a[1]}; f 2>/dev/null; echo $?
### break and continue in pipes
for i in 1 2; do continue | cat; echo $i; done; for i in 1 2; do { continue; echo no; } | cat; echo $i; done; for i in 1 2; do (continue; echo s) 2>&1 | wc -l; done; for i in 1 2; do echo x | while read -r l; do break 2; done; echo "a$i"; done; for i in 1 2; do { break; echo n; } & wait; echo $i; done; for i in 1 2; do break | true; echo b$i; done
### EXIT trap in pipes with errexit
set -e; trap 'echo in' EXIT; : "${u1:?gone}" | cat; echo a; : "${u1:?gone}" 2>/dev/null |& cat; echo b; echo $((1/0)) | cat; echo c; { { echo $((1/0)) | cat; } & wait; }; echo d
### ERR trap in the last part of a pipe
set -E; trap 'echo E' ERR; true | (false); true | (false; true); true | (exit 3); true | (: $((1/0))); trap - ERR; set +E; trap 'echo F' ERR; true | (false); true | (exit 3) || echo or; true | { false; }; false | (true)
### a trap that the command sets
f() { trap 'echo E' ERR; return 3; }; f; echo a; f; g() { trap 'echo X' EXIT; }; g; eval 'trap "echo E2" ERR; false'; false
### break and continue as processes
for i in 1 2; do { continue; echo no; } 2>&1 | cat; done; for i in 1; do (continue; echo s) 2>&1; done; for i in 1; do continue 2 2>&1 | cat; done; for i in 1; do { continue; echo bg; } 2>&1 & wait; done; for i in 1; do continue 2>&1 & wait; done; for i in 1; do if true; then continue; echo iff; fi 2>&1 | cat; done; f() { continue; echo f; }; for i in 1; do f 2>&1 | cat; done
### errors go where redirections say
set -u; ([[ $zz == x ]] 2> f; echo no); cat f | wc -l; ( ((zz > 1)) 2> g; echo no); wc -l < g; (for i in $zz; do :; done 2> h); wc -l < h; (case $zz in x) ;; esac) 2> k; wc -l < k; (case $zz in x) ;; esac 2> m); wc -l < m; (declare x=$zz 2> n); wc -l < n; rm -f f g h k m n
### ! in the background
! { :; } & wait $!; echo $?; ! { (exit 3); } & wait $!; echo $?; ! false & wait $!; echo $?; ! (exit 3) & wait $!; echo $?; ! false | false & wait $!; echo $?; ! { exit 3; } > f & wait $!; echo $?; ! [[ -z a ]] & wait $!; echo $?
### ! in the background with errexit
set -e; ! { false; echo x; } & wait $! || echo $?; ! false & wait $! || echo $?; f() { false; echo f; }; ! f & wait $! || echo $?; set +e -E; trap 'echo t' ERR; ! { false; echo x; } & wait $! || echo $?; ! false & wait $! || echo $?
