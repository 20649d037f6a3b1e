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
