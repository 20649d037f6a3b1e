### 001 set -e  false  echo no
set -e; false; echo no
### 002 set -e  false || true  echo ok
set -e; false || true; echo ok
### 003 set -e  true && false  echo no
set -e; true && false; echo no
### 004 set -e  false && true  echo ok
set -e; false && true; echo ok
### 005 set -e  if false  then   fi  echo ok
set -e; if false; then :; fi; echo ok
### 006 set -e  while false  do   done  echo ok
set -e; while false; do :; done; echo ok
### 007 set -e  until true  do   done  echo ok
set -e; until true; do :; done; echo ok
### 008 set -e  ! true  echo ok
set -e; ! true; echo ok
### 009 set -e  ! false  echo ok
set -e; ! false; echo ok
### 010 set -e  f    false  echo no    f || echo caught
set -e; f() { false; echo no; }; f || echo caught
### 011 set -e  f    false  echo in    if f  then echo yes
set -e; f() { false; echo in; }; if f; then echo yes; fi
### 012 set -e  f    false  echo in    f && echo yes
set -e; f() { false; echo in; }; f && echo yes
### 013 set -e  f    false  echo no    f  echo no2
set -e; f() { false; echo no; }; f; echo no2
### 014 set -e  f    return 3    f  echo no
set -e; f() { return 3; }; f; echo no
### 015 set -e  f    false && true    f  echo no
set -e; f() { false && true; }; f; echo no
### 016 set -e    false && true    echo ok
set -e; { false && true; }; echo ok
### 017 set -e   false && true  echo no
set -e; (false && true); echo no
### 018 set -e   false  echo no  echo no2
set -e; (false; echo no); echo no2
### 019 set -e   false  || echo caught
set -e; (false) || echo caught
### 020 set -e  x=$ false  echo no
set -e; x=$(false); echo no
### 021 set -e  x=$ false  echo in  echo  ok $x
set -e; x=$(false; echo in); echo "ok $x"
### 022 set -e  echo $ false  echo ok
set -e; echo $(false); echo ok
### 023 set -e  local f    local x=$ false  echo ok    loc
set -e; local_f() { local x=$(false); echo ok; }; local_f
### 024 set -e  export x=$ false  echo ok
set -e; export x=$(false); echo ok
### 025 set -e  x=1 y=$ false  z=3  echo no
set -e; x=1 y=$(false) z=3; echo no
### 026 set -e  false | true  echo ok
set -e; false | true; echo ok
### 027 set -e  true | false  echo no
set -e; true | false; echo no
### 028 set -eo pipefail  false | true  echo no
set -eo pipefail; false | true; echo no
### 029 set -eo pipefail  false | true || echo caught
set -eo pipefail; false | true || echo caught
### 030 set -e    false  echo no    | cat  echo  ok
set -e; { false; echo no; } | cat; echo "ok"
### 031 set -eo pipefail    false  echo no    | cat  echo
set -eo pipefail; { false; echo no; } | cat; echo no2
### 032 set -e   0  echo no
set -e; ((0)); echo no
### 033 set -e   1  echo ok
set -e; ((1)); echo ok
### 034 set -e  i=0   i  echo no
set -e; i=0; ((i++)); echo no
### 035 set -e  i=0   i  echo ok
set -e; i=0; ((++i)); echo ok
### 036 set -e  i=0   i  || true  echo ok
set -e; i=0; ((i++)) || true; echo ok
### 037 set -e  let x=0  echo no
set -e; let x=0; echo no
### 038 set -e    a == b   echo no
set -e; [[ a == b ]]; echo no
### 039 set -e    a = b   echo no
set -e; [ a = b ]; echo no
### 040 set -e    a == b   || echo ok
set -e; [[ a == b ]] || echo ok
### 041 set -e  test 1 = 2 && echo x  echo ok
set -e; test 1 = 2 && echo x; echo ok
### 042 set -e  for i in 1 2  do false  echo no  done
set -e; for i in 1 2; do false; echo no; done
### 043 set -e  for i in 1 2  do false || echo $i  done
set -e; for i in 1 2; do false || echo $i; done
### 044 set -e  case a in a  false  esac  echo no
set -e; case a in a) false;; esac; echo no
### 045 set -e  case a in b  false  esac  echo ok
set -e; case a in b) false;; esac; echo ok
### 046 set -e  eval false  echo no
set -e; eval false; echo no
### 047 set -e  eval  false || true  echo ok
set -e; eval 'false || true'; echo ok
### 048 set -e     dev stdin <<<  false  echo no  echo no2
set -e; . /dev/stdin <<< 'false; echo no'; echo no2
### 049 set -e  source  nofile  echo no
set -e; source ./nofile; echo no
### 050 set -e  nosuchcommand x 2> dev null || echo caught refused: there is no such command
set -e; nosuchcommand_x 2>/dev/null || echo caught
### 051 set -e  set  e  false  echo ok  set -e  false  ech
set -e; set +e; false; echo ok; set -e; false; echo no
### 052 set -e  f    set  e  false  echo in    f  false  e
set -e; f() { set +e; false; echo in; }; f; false; echo "still off"
### 053 set -e  true   exit 0  echo a   exit 4  echo no
set -e; true; (exit 0); echo a; (exit 4); echo no
### 054 set -e  bash -c  exit 5  echo no
set -e; bash -c 'exit 5'; echo no
### 055 set -e  bash -c  false  echo inner  echo ok
set -e; bash -c 'false; echo inner'; echo ok
### 056 set -e  cat nofile  echo no
set -e; cat nofile; echo no
### 057 set -e  cat < nofile  echo no
set -e; cat < nofile; echo no
### 058 set -e  echo x >  nodir f  echo no
set -e; echo x > /nodir/f; echo no
### 059 set -e  x=$ exit 3  || echo  caught $
set -e; x=$(exit 3) || echo "caught $?"
### 060 set -e  if x=$ exit 3  then echo y  else echo  n $
set -e; if x=$(exit 3); then echo y; else echo "n $?"; fi
### 061 set -e  shopt -s inherit errexit  x=$ false  echo
set -e; shopt -s inherit_errexit; x=$(false; echo in); echo no
### 062 set -e  while read -r l  do    $l  = b   && echo f
set -e; while read -r l; do [ "$l" = b ] && echo found; done <<< $'a\nb'; echo ok
### 063 set -e  while read -r l  do    $l  = a   && echo f
set -e; while read -r l; do [ "$l" = a ] && echo found; done <<< $'a\nb'; echo no
### 064 set -e  f       $1  = x   && echo x    f x  f y  e
set -e; f() { [ "$1" = x ] && echo x; }; f x; f y; echo no
### 065 set -e  f       $1  = x   && echo x  return 0    f
set -e; f() { [ "$1" = x ] && echo x; return 0; }; f y; echo ok
### 066 set -e  f    if    $1  = x   then echo x  fi    f
set -e; f() { if [ "$1" = x ]; then echo x; fi; }; f y; echo ok
### 067 set -e  true &&   false  echo no    echo no2
set -e; true && { false; echo no; }; echo no2
### 068 set -e    false  echo in    || echo no
set -e; { false; echo in; } || echo no
### 069 set -e  false || false  echo no
set -e; false || false; echo no
### 070 set -e  false || false || echo ok
set -e; false || false || echo ok
### 071 set -e  !   false  echo in    echo  after
set -e; ! { false; echo in; }; echo "after"
### 072 set -e  declare x=$ false  echo ok
set -e; declare x=$(false); echo ok
### 073 set -e  readonly x=$ false  echo ok
set -e; readonly x=$(false); echo ok
### 074 set -e  x=$ y -$ false  echo no
set -e; x=${y:-$(false)}; echo no
### 075 set -e  arr= $ false  echo no
set -e; arr=($(false)); echo no
### 076 set -e  echo a | grep b  echo no
set -e; echo a | grep b; echo no
### 077 set -e  echo a | grep b || true  echo ok
set -e; echo a | grep b || true; echo ok
### 078 set -e  n=$ echo a | grep -c b  echo no
set -e; n=$(echo a | grep -c b); echo no
### 079 set -e  n=$ echo a | grep -c b || true  echo  ok $
set -e; n=$(echo a | grep -c b || true); echo "ok $n"
### 080 set -eu  echo $ undefined x  echo no
set -eu; echo ${undefined_x}; echo no
### 081 set -eu  echo $ undefined x -ok
set -eu; echo ${undefined_x:-ok}
### 082 set -Eeuo pipefail  echo $ x -ok  false | true  ec
set -Eeuo pipefail; echo ${x:-ok}; false | true; echo no
### 083 set -e  trap  echo exit $  EXIT  false  echo no
set -e; trap 'echo exit $?' EXIT; false; echo no
### 084 set -e  trap  echo exit $  EXIT  exit 3
set -e; trap 'echo exit $?' EXIT; exit 3
### 085 set -e  trap  echo err  ERR  false  echo no
set -e; trap 'echo err' ERR; false; echo no
### 086 set -e  f    trap  echo inner  EXIT  false    f
set -e; f() { trap 'echo inner' EXIT; false; }; f
### 087 set -e   trap  echo sub $  EXIT  false  echo no
set -e; (trap 'echo sub $?' EXIT; false); echo no
### 088 set -e  cd  nodir  echo no
set -e; cd /nodir; echo no
### 089 set -e  time false  echo no
set -e; time false; echo no
### 090 set -e  false & wait  echo ok
set -e; false & wait; echo ok
### 091 set -e  false & wait $!  echo no
set -e; false & wait $!; echo no
### 092 set -e  x=$   false    echo no
set -e; x=$( (false) ); echo no
### 093 set -e  until false  do break  done  echo ok
set -e; until false; do break; done; echo ok
### 094 set -e  f    false    x=$ f  echo no
set -e; f() { false; }; x=$(f); echo no
### 095 set -e  f    echo a  false  echo b    x=$ f  || tr
set -e; f() { echo a; false; echo b; }; x=$(f) || true; echo "$x"
### 096 set -e  f    echo a  false  echo b    x=$ f || tru
set -e; f() { echo a; false; echo b; }; x=$(f || true); echo "$x"
### 097 set -e  if ! false  then echo ok  fi
set -e; if ! false; then echo ok; fi
### 098 set -e    -n  $x    && echo y    -z  $x    && echo
set -e; [ -n "$x" ] && echo y; [ -z "$x" ] && echo z
### 099 set -o errexit  false  echo no
set -o errexit; false; echo no
### 100 set -e  command false  echo no
set -e; command false; echo no
### 101 set -e  command false || echo ok
set -e; command false || echo ok
### 102 set -e  builtin false  echo no
set -e; builtin false; echo no
### 103 set -e  env false  echo no
set -e; env false; echo no
### 104 set -e  xargs false <<< a  echo no
set -e; xargs false <<< a; echo no
### 105 set -e  diff < echo a  < echo b  >  dev null  echo
set -e; diff <(echo a) <(echo b) > /dev/null; echo no
### 106 set -e  read -r x <  dev null  echo no
set -e; read -r x < /dev/null; echo no
### 107 set -e  read -r x <  dev null || true  echo ok
set -e; read -r x < /dev/null || true; echo ok
### 108 set -e  mapfile -t a <  dev null  echo ok
set -e; mapfile -t a < /dev/null; echo ok
### 109 set -e  exec 3< nofile  echo no
set -e; exec 3< nofile; echo no
### 110 set -e  unset nothing x  echo ok
set -e; unset nothing_x; echo ok
### 111 set -e  shift 2> dev null  echo no
set -e; shift 2>/dev/null; echo no
### 112 set -e  return 2> dev null  echo no
set -e; return 2>/dev/null; echo no
### 113 set -e  x=abc    $x =  b   echo ok    $x =  z   ec
set -e; x=abc; [[ $x =~ b ]]; echo ok; [[ $x =~ z ]]; echo no
### 114 set -e  printf  d n  abc  echo no
set -e; printf '%d\n' abc; echo no
### 115 set -e  y=$ 1 0  echo no
set -e; y=$((1/0)); echo no
### 116 set -e  f    local r  r=$ false  echo no    f  ech
set -e; f() { local r; r=$(false); echo no; }; f; echo no
### 117 set -e  f    local r=  r=$ false  || r=x  echo $r
set -e; f() { local r=; r=$(false) || r=x; echo $r; }; f
### 118 set -e  trap - ERR  false || echo z
set -e; trap - ERR; false || echo z
### the status before a for loop
false; for x in a b; do echo $?; false; done; false; for x in $(true) a; do echo $?; done; false; for x in; do :; done; echo $?
### inherit_errexit in what is no simple command
set -e; shopt -s inherit_errexit; f() { case $(false; echo x) in x) echo yes;; *) echo no;; esac; for x in $(false; echo x); do echo "f $x"; done; (( $(false; echo 1) )) && echo yes; cat <<< $(false; echo 1); cat <<E1
$(false; echo 2)
E1
case x in $(false; echo x)) echo yes;; *) echo no;; esac; [[ $(false; echo x) == x ]] && echo test; v=$(false; echo 1); local w=$(false; echo 2); echo "$v $w $(false; echo 3)"; eval 'case $(false; echo x) in x) echo yes;; *) echo no;; esac'; }; f && :
### an ERR trap of an eval in a condition
eval 'trap "echo E2" ERR; false; echo in' || echo or; false; trap 'echo ERR' ERR
eval 'trap "echo E3" ERR; false; echo in' || echo or; false
### an ERR trap of a sourced file in a condition
echo 'trap "echo trap $?" ERR; false' > s1; f() { . ./s1; }; f && : || :; false
### an ERR trap does not run in eval in a condition
set -e; trap 'echo ERR' ERR; eval '! false; false; echo in' || echo or; f() { eval 'return 2'; echo no; }
if f; then echo y; else echo n; fi; trap -p; false; echo no
### errexit in eval in a condition
set -e; eval 'set -e; false; echo in' || echo or; false; echo no
### errexit in a process that is an eval
set -o pipefail; set -e; if eval 'false; echo hi' | cat; then echo yes; else echo $?; fi
eval '(exit 4); echo hi' | cat || echo $?; command eval 'x:y' | : || echo $?
trap 'echo ERR' ERR; set -E; if eval 'false; echo hi' | cat; then echo yes; else echo $?; fi; eval '(exit 4)' | cat
### errexit in a RETURN trap of a condition
set -eT; trap 'false; echo RET' RETURN; f() { :; }; f || echo or
### errexit in substitutions of eval in a condition
set -e; eval 'cat < <(false; echo a)' || :; eval 'x=$(set -e; false; echo b); echo "[$x]"' || :
x=$(for y in $(set -e; false; echo c); do echo "$y"; done) || :; echo "$x"
x=$( (eval 'set -e; false; echo d') ) || :; echo "$x"; shopt -s inherit_errexit
eval 'x=$(false; echo e); echo "$x"; x=$(set -e; false; echo f); echo "$x"' || :
### negated commands of loops
set -e
for i in 1 2; do
! false
! true
echo "in $i $?"
done
echo "a $?"
while ! false; do ! true; break; done
echo "b $?"
set +e
for i in 1 2; do
set -e
! false
set +e
false
echo "c $?"
done
set -e
for i in 1 2; do ! true; set +e; false; echo "d $?"; set -e; done
f() { ! true; set +e; false; echo "e $?"; }
for i in 1; do f; done
echo "f $?"
trap 'echo ERR $?' ERR
set -e
for i in 1 2; do ! false; set +e; false; echo g $?; done
set -e
for i in 1 2; do ! { set +e; false; }; false; echo h $?; done
set -e
until ! { set +e; false; }; do :; done
echo "i $?"
set -e
for i in 1 2; do ! { false; set +e; false; }; ! false; false; echo j $?; done
set +e
trap - ERR
trap 'echo ERR $?' ERR
set -E
f() { for i in 1 2; do echo "f $i"; ! { false; }; set +e; done; }
set -e; f; set +e; f
for j in 1 2; do set -e; f; set +e; f; done
echo '! { false; }; set +e' > s.sh
set -e; for j in 1 2; do . ./s.sh; echo $j; done
set -e; for j in 1 2; do eval '! { false; }; set +e'; echo $j; done
set -e; for j in 1 2; do (! { false; }; :); set +e; echo $j; done
set -e; for j in 1 2; do echo $(! { false; }; :); set +e; echo $j; done
set -e; for j in 1 2; do g() { ! { false; }; }; g; set +e; echo $j; done
set -e; for j in 1 2; do if ! { false; }; then echo y; fi; set +e; echo $j; done
set -e; for j in 1 2; do for k in 1 2; do ! { false; }; set +e; done; echo $j; done
### negated subshells
( set -e
( ! ( false ) )
echo $? ); echo "1 $?"
( set -e
( ! ( false; true ) )
echo $? ); echo "2 $?"
( set -e
( ! ( ( false; : ) ) )
echo $? ); echo "3 $?"
( set -e
( ! ( ! ( false ) ) )
echo $? ); echo "4 $?"
( set -e
( ! ( false ) 2>&1 )
echo $? ); echo "5 $?"
( set -e
x=$( ( ! ( false; echo x ) ) ); echo $x
echo $? ); echo "6 $?"
( set -e
cat <( ( ! ( false; echo in ) ) )
echo $? ); echo "7 $?"
( set -e
( ! ( false; true ) ) | cat
echo $? ); echo "8 $?"
( set -e
( ! ( exit 4 ) )
echo $? ); echo "9 $?"
( set -e
( ! ( false; true ) ) && echo and
echo $? ); echo "10 $?"
( set -e
f() ( ! ( return 3 ) ); f
echo $? ); echo "11 $?"
( set -Ee; trap "echo T" ERR
( ! ( false ) )
echo $? ); echo "12 $?"
( set -Ee; trap "echo T" ERR
( ! ( false; true ) )
echo $? ); echo "13 $?"
( set -Ee; trap "echo T" ERR
( ! ( ( false; : ) ) )
echo $? ); echo "14 $?"
( set -Ee; trap "echo T" ERR
( ! ( ! ( false ) ) )
echo $? ); echo "15 $?"
( set -Ee; trap "echo T" ERR
( ! ( false ) 2>&1 )
echo $? ); echo "16 $?"
( set -Ee; trap "echo T" ERR
x=$( ( ! ( false; echo x ) ) ); echo $x
echo $? ); echo "17 $?"
( set -Ee; trap "echo T" ERR
cat <( ( ! ( false; echo in ) ) )
echo $? ); echo "18 $?"
( set -Ee; trap "echo T" ERR
( ! ( false; true ) ) | cat
echo $? ); echo "19 $?"
( set -Ee; trap "echo T" ERR
( ! ( exit 4 ) )
echo $? ); echo "20 $?"
( set -Ee; trap "echo T" ERR
( ! ( false; true ) ) && echo and
echo $? ); echo "21 $?"
( set -Ee; trap "echo T" ERR
f() ( ! ( return 3 ) ); f
echo $? ); echo "22 $?"
( set -E; trap "echo T; exit 3" ERR
( ! ( false ) )
echo $? ); echo "23 $?"
( set -E; trap "echo T; exit 3" ERR
( ! ( false; true ) )
echo $? ); echo "24 $?"
( set -E; trap "echo T; exit 3" ERR
( ! ( ( false; : ) ) )
echo $? ); echo "25 $?"
( set -E; trap "echo T; exit 3" ERR
( ! ( ! ( false ) ) )
echo $? ); echo "26 $?"
( set -E; trap "echo T; exit 3" ERR
( ! ( false ) 2>&1 )
echo $? ); echo "27 $?"
( set -E; trap "echo T; exit 3" ERR
x=$( ( ! ( false; echo x ) ) ); echo $x
echo $? ); echo "28 $?"
( set -E; trap "echo T; exit 3" ERR
cat <( ( ! ( false; echo in ) ) )
echo $? ); echo "29 $?"
( set -E; trap "echo T; exit 3" ERR
( ! ( false; true ) ) | cat
echo $? ); echo "30 $?"
( set -E; trap "echo T; exit 3" ERR
( ! ( exit 4 ) )
echo $? ); echo "31 $?"
( set -E; trap "echo T; exit 3" ERR
( ! ( false; true ) ) && echo and
echo $? ); echo "32 $?"
( set -E; trap "echo T; exit 3" ERR
f() ( ! ( return 3 ) ); f
echo $? ); echo "33 $?"
