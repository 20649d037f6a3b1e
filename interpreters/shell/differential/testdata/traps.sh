### 001 trap  echo bye  EXIT  echo hi
trap 'echo bye' EXIT; echo hi
### 002 trap  echo a  exit 5  EXIT  exit 1
trap 'echo a; exit 5' EXIT; exit 1
### 003 trap  echo  st $  EXIT   exit 3
trap 'echo "st $?"' EXIT; (exit 3)
### 004 trap  echo err $  ERR  false  true   exit 4  echo
trap 'echo err $?' ERR; false; true; (exit 4); echo end
### 005 trap  echo err  ERR  false || true  if false  then
trap 'echo err' ERR; false || true; if false; then :; fi; ! true; false && true; echo end
### 006 trap  echo err  ERR  f    false    f  echo end
trap 'echo err' ERR; f() { false; }; f; echo end
### 007 set -E  trap  echo err  ERR  f    false  true    f
set -E; trap 'echo err' ERR; f() { false; true; }; f; echo end
### 008 set -E  trap  echo err in $ FUNCNAME 0 -main  ERR
set -E; trap 'echo err in ${FUNCNAME[0]:-main}' ERR; f() { false; }; f; echo end
### 009 trap  echo err  ERR   false  echo end
trap 'echo err' ERR; (false); echo end
### 010 set -E  trap  echo err  ERR   false  true  echo en
set -E; trap 'echo err' ERR; (false; true); echo end
### 011 set -E  trap  echo err  ERR  x=$ false  echo end
set -E; trap 'echo err' ERR; x=$(false); echo end
### 012 trap  echo line $LINENO  ERR  true
trap 'echo line $LINENO' ERR; true
### 013 set -e  trap  echo  failed  $BASH COMMAND  ERR  fa
set -e; trap 'echo "failed: $BASH_COMMAND"' ERR; false
### 014 trap  echo  cmd  $BASH COMMAND  ERR  ls  nodir x 2
trap 'echo "cmd: $BASH_COMMAND"' ERR; ls /nodir/x 2>/dev/null; echo end
### 015 trap  rm -f t  echo cleaned  EXIT  echo x > t  cat
trap 'rm -f t; echo cleaned' EXIT; echo x > t; cat t
### 016 trap   EXIT  echo no trap
trap '' EXIT; echo no trap
### 017 trap  echo one  EXIT  trap  echo two  EXIT
trap 'echo one' EXIT; trap 'echo two' EXIT
### 018 trap  echo x  EXIT  trap - EXIT  echo end
trap 'echo x' EXIT; trap - EXIT; echo end
### 019 trap  echo sub  EXIT  echo in  echo out
(trap 'echo sub' EXIT; echo in); echo out
### 020 trap  echo main  EXIT   echo in  echo out
trap 'echo main' EXIT; (echo in); echo out
### 021 trap  echo main  EXIT  x=$ echo in  echo $x
trap 'echo main' EXIT; x=$(echo in); echo $x
### 022 f    trap  echo from f  EXIT    f  echo end
f() { trap 'echo from f' EXIT; }; f; echo end
### 023 trap  echo int  INT TERM  trap -p INT  trap -p
trap 'echo int' INT TERM; trap -p INT; trap -p
### 024 trap  echo  a b  EXIT  trap -p EXIT
trap 'echo "a b"' EXIT; trap -p EXIT
### 025 trap --  echo q  EXIT
trap -- 'echo q' EXIT
### 026 trap  echo t  0  echo s
trap 'echo t' 0; echo s
### 027 trap  x=$  echo $x  exit $x  EXIT  exit 7
trap 'x=$?; echo $x; exit $x' EXIT; exit 7
### 028 set -e  trap  echo e1  false  echo e2  EXIT  true
set -e; trap 'echo e1; false; echo e2' EXIT; true
### 029 trap  echo $ FUNCNAME -none  EXIT  f    exit 2
trap 'echo ${FUNCNAME[*]:-none}' EXIT; f() { exit 2; }; f
### 030 trap  exit 9  ERR  false  echo no
trap 'exit 9' ERR; false; echo no
### 031 trap  return 3  ERR  f    set -E  trap  return 3
trap 'return 3' ERR; f() { set -E; trap 'return 3' ERR; false; echo no; }; f; echo "st $?"
### 032 trap  echo $HOME  EXIT
trap "echo $HOME" EXIT
### 033 trap  echo  $1  EXIT  set -- arg
trap 'echo "$1"' EXIT; set -- arg
### 034 set -E  err    echo  err $1 $2    trap  err $LINEN
set -E; err() { echo "err $1 $2"; }; trap 'err $LINENO $?' ERR; false
### 035 set -eE  trap  echo trap $  ERR  trap  echo exit $
set -eE; trap 'echo trap $?' ERR; trap 'echo exit $?' EXIT; false
### 036 set -eE  trap  echo trap  ERR  f    g    g    fals
set -eE; trap 'echo trap' ERR; f() { g; }; g() { false; }; f
### 037 trap  echo err  ERR  cat nofile | cat  echo ok
trap 'echo err' ERR; cat nofile | cat; echo ok
### 038 set -o pipefail  trap  echo err $  ERR  false | tr
set -o pipefail; trap 'echo err $?' ERR; false | true; echo ok
### 039 trap  echo  $ echo in trap  EXIT
trap 'echo "$(echo in trap)"' EXIT
### 040 trap  cat <<< here  EXIT
trap 'cat <<< here' EXIT
### 041 trap  echo err  ERR    a == b    0  let 0  echo en
trap 'echo err' ERR; [[ a == b ]]; ((0)); let 0; echo end
### 042 bash -c  trap  echo bye  EXIT  exit 3  echo $
bash -c 'trap "echo bye" EXIT; exit 3'; echo $?
### 043 trap  echo E  EXIT  exec echo replaced
trap 'echo E' EXIT; exec echo replaced
### 044 trap nosuch NOSIG  echo $
trap nosuch NOSIG; echo $?
### 045 trap  echo e  ERR  eval false  echo x
trap 'echo e' ERR; eval false; echo x
### 046 trap  echo e  ERR    false    echo x
trap 'echo e' ERR; { false; }; echo x
### 047 trap  echo e  ERR  for i in 1  do false  done  ech
trap 'echo e' ERR; for i in 1; do false; done; echo x
### 048 trap  echo e  ERR  while true  do false  break  do
trap 'echo e' ERR; while true; do false; break; done; echo x
### 049 trap  echo e $  ERR  f    return 2    f  echo x
trap 'echo e $?' ERR; f() { return 2; }; f; echo x
### RETURN after a function that sets it
f() { trap 'echo "return $? ${FUNCNAME[0]}"' RETURN; false; }; g() { f; echo in g; }; h() { echo h; }; f; echo "after $?"; h; g; echo after g
### RETURN of a file that is sourced
echo 'echo sourced; return 3; echo no' > s; trap 'echo "return $? ${FUNCNAME[0]-none}"' RETURN; . ./s; echo $?; g() { . ./s; }; g; (. ./s); x=$(. ./s); echo "$x"
### RETURN is not inherited without functrace
trap 'echo return' RETURN; f() { echo f; return 4; }; f; echo $?; set -T; f; echo $?; (f); set +T; k() { trap - RETURN; }; k; trap -p RETURN; trap - RETURN; trap -p RETURN; . /dev/null
### RETURN sees the variables of the function
f() { local file=$1; trap 'echo "rm $file"' RETURN; [[ $file == a ]] && return 2; echo long; }; f a; echo $?; f b; echo $?
### RETURN with errexit
f() { trap 'echo "r $?"' RETURN; false; echo went on; }; f || echo no; (set -e; f; echo never); echo $?; m() { trap 'echo m; false' RETURN; true; }; set -e; m; echo never
### RETURN and exit
f() { trap 'echo r' RETURN; exit 3; }; (f); echo $?; g() { trap 'echo r; exit 5' RETURN; }; g; echo never
### RETURN that is ignored
f() { trap 'echo r' RETURN; trap '' RETURN; }; f; echo 'echo s' > s; . ./s
### ERR in what is negated
trap 'echo t' ERR; ! { false; }; ! { (exit 3); true; }; if :; then ! { [[ a == b ]]; }; fi; ! for x in 1; do false; done; ! f; ! (false); ! false | true; f() { false; echo f; }; ! f; ! { ( false; false ); }
### ERR in what is negated, with errtrace
set -E; trap 'echo t' ERR; f() { false; echo f; }; ! f; ! f | cat; ! { false; echo g; } | cat; if ! f; then :; fi; ! eval 'false; echo'; ! (false; echo k); ! cat | (false); ! { false; } | ( false; )
### ERR in what is negated, with errexit
trap 'echo trap $?' ERR; set -e; ! { false; set +e; false; }; ! { false; echo x; }; set +e; f() { ! { false; return 3; }; }; f; echo $?; ! { set -e; false; echo never; }; echo never
### EXIT where arithmetic reads what is unset
set -u; trap 'echo "t $? ${v-none}"' EXIT; f() { local v=in; echo $((w)); }; f
### EXIT where arithmetic reads what is unset, with redirections
set -u; trap 'echo "t $? ${v-none}" >> log' EXIT; trap 'echo e' ERR; f() { local v=in; { ((w)); } >&2; }; f >> log
### EXIT of substitutions where arithmetic reads what is unset
set -u; x=$(trap 'echo "t $? ${v-none}"' EXIT; f() { local v=in; ((w)); }; f >&2); echo "$? [$x]"; x=$( ( trap 'echo "t $? ${v-none}"' EXIT; f() { local v=in; ((w)); }; f) ); echo "$? [$x]"; cat <(trap 'echo "t $? ${v-none}"' EXIT; f() { local v=in; ((w)); }; f >&2)
### EXIT of substitutions whose status is ignored
set -e; shopt -s inherit_errexit; f() { v=$(trap 'false; echo y' EXIT; :); echo "$? $v"; cat <(trap 'false; echo z' EXIT; :); v=$( ( trap 'false; echo y' EXIT; : ) ); echo "$? $v"; }; f && :; f
### traps in a process whose words cannot be expanded
trap 'echo trap; false; echo x' EXIT; trap 'echo trap $?' ERR; a1=('x y'); f() { :; }; f w $((a1[0])) | { cat; :; }
### ERR in nested parentheses
set -E; trap 'echo "t $?"' ERR; ( ( (exit 3) ) ); ( (exit 3) ); ( ( (false) ) ); ( { (exit 3); } ); ( (exit 3); : ); ( (exit 3; ) >f ); ( (exit 3; ) ) | cat; { ( (exit 3; ) ); } | cat; ( ( echo $BASH_SUBSHELL ) )
### ERR of parentheses with lastpipe
shopt -s lastpipe; trap 'echo in' ERR; : | (false); echo; : | false; echo; : | { false; }; echo; true | (:; exit 3)
### EXIT of a substitution that break or continue ends
for x in 1 2; do echo "[$(trap 'echo in' EXIT && continue; echo k)]"; cat <(trap 'echo in' EXIT; break); (trap 'echo out' EXIT; continue) 2>/dev/null; done
### an error that ends the trap of errors
set -u; trap 'echo e; : $u' ERR; trap 'echo bye; (exit 4); echo x; true' EXIT; false
### an error that ends the trap of errors in that of the end
set -u; trap '(exit 7)' EXIT; trap 'echo $u' ERR; exit 5
### a redirection that fails in a process, and the trap of errors
set -E; trap 'echo E' ERR; f() { :; }
echo 1; [[ x ]] < nofile | cat; echo 2; ((1)) < nofile | cat; echo 3; while :; do :; done < nofile | cat; echo 4; echo < nofile | cat; echo 5; f < nofile | cat
echo 6; { :; } < nofile & wait; echo 7; echo < nofile & wait; echo 8; (:) < nofile & wait; echo 9; (:) < nofile | cat; echo 10; cat < nofile | cat; echo 11; declare x=1 < nofile | cat; echo 12; let x=1 < nofile | cat
echo 13; : | { :; } < nofile; echo 14; : | [[ x ]] < nofile; echo 15; : | [[ -z x ]]; echo 16; ( { :; } < nofile ); echo 17; : | (:) < nofile; echo 18; : | while :; do :; done < nofile; echo 19; : | cat < nofile
### pipefail and the trap of errors of parentheses at the end of a pipe
set -o pipefail; trap 'echo trap $?' ERR; (exit 3) | (cat); echo $?; (:) < nofile | (cat); echo $?; (exit 3) | { cat; }; echo $?
### exit in an ERR trap of an EXIT trap
{ (trap 'echo in; exit' ERR; trap 'false' EXIT; false); echo $?; } || :
(trap 'echo in; exit 3' ERR; trap 'false' EXIT; :); echo $?
### an error in a process with the EXIT trap of its parent
trap 'echo trap $?' EXIT; f() { : ${u1?} 2>/dev/null | cat; }; f > f1
### an error in a process with the EXIT trap of its parent in redirected groups
trap 'echo trap $?' EXIT
{ { : ${u1?} | cat; } > f2; } > f3
### an error in a process of an eval with the EXIT trap of its parent
trap 'echo trap $?' EXIT
eval '{ : ${u1?} | cat; } > f2' > f1
### the command of an ERR trap
trap 'echo "err $LINENO <$BASH_COMMAND>"' ERR
set -o pipefail
true 0; true | { false; }
true 0; true | (false)
true 0; true | [[ a == b ]]
true 0; true | ((0))
true 0; false | { true; }
true 0; (false) | { true; }
true 0; (false) | { true; } | (true)
true 0; { false; } | { true; } | (true)
true 0; false | while read x; do :; done
f() { false | true; }; f
false >&2
false > /dev/null 2>&1
false 2>/dev/null < /dev/null >> /dev/null
false &> /dev/null
false <<< "a $x"
false "a b" 'c d' $x "${x[@]}" $(echo a; echo b) `echo q` $((1 + 2)) <(echo a) a\ b
x=1 y=2 false
false <<EOF
a
EOF
false | false
cd /nonexist 2>&-
[ a = b ] 
test a = b
[[ a == b && -f x || ! -n $x ]]
(( x > 5 && y ))
false 3<&0 4>&1 5>&-
export w=$(false)
! false
for i in 1 2; do false; done
while false; do :; done
if false; then :; fi; (exit 3)
f() { (exit 4); }; f
f() { [[ a == b ]]; }; f
f() { false; }; f 
g() { f; }; g
eval 'true; false'; eval 'f'
. /dev/stdin <<< 'false'
x=$(false); x=$(true; false) y=2
(false) ; (cd /; false >/dev/null); (x=$(false); false | true); ([[ a == b ]]); (! true); ( (false) )
echo a | grep -q b
### more commands of an ERR trap
trap 'echo "err $LINENO <$BASH_COMMAND>"' ERR
true a
true | false
[[ a == b ]]
((0))
(false)
(false; false 1)
(true; (false))
{ false; }
f() { false; }
f
f x
f | false
for i in 1; do false; done
if true; then (exit 3); fi
! true
true && false
( false ) > /dev/null
( false ) 2>&1 | cat
let 0
x=$(exit 4)
local_x= false
(cd /; false) && true
(  echo "a  b" >&2; exit   2 ) 2> /dev/null
eval false
eval '(false)'
case a in a) (false);; esac
echo "${BASH_COMMAND}"
### the command of an EXIT trap
(trap 'echo "exit <$BASH_COMMAND>"' EXIT
set -e
true
(false)
)
echo $?
(trap 'echo "exit <$BASH_COMMAND>"' EXIT
set -e
true
true | false
)
echo $?
(trap 'echo "exit <$BASH_COMMAND>"' EXIT
set -e
true
[[ a == b ]]
)
echo $?
(trap 'echo "exit <$BASH_COMMAND>"' EXIT
true 1
(exit 3)
)
echo $?
### the command of an ERR trap in functions
set -Ee; trap 'echo "$BASH_COMMAND failed with $? at $LINENO ${BASH_LINENO[*]} ${FUNCNAME[*]-}"' ERR
f() {
 echo a | grep b
}
g() {
 f
}
g
