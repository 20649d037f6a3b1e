### 001 f    local x=1  local -r y=2  echo  $x$y $  $1 $
f() { local x=1; local -r y=2; echo "$x$y $# $1 $*"; return 3; }; f a b; echo $?
### 002 function f   echo f    function g    echo g    f
function f { echo f; }; function g() { echo g; }; f; g
### 003 f    echo  $ FUNCNAME 0    f
f() { echo "${FUNCNAME[0]}"; }; f
### 004 f    g    g    echo  $ FUNCNAME    f
f() { g; }; g() { echo "${FUNCNAME[@]}"; }; f
### 005 f    echo  $ BASH LINENO 0    f
f() { echo "${BASH_LINENO[0]}"; }; f
### 006 f    caller 0    f
f() { caller 0; }; f
### 007 f    caller    f
f() { caller; }; f
### 008 f    echo $ BASH SOURCE 0    f  echo $ BASH SOURCE
f() { echo ${BASH_SOURCE[0]##*/}; }; f; echo ${BASH_SOURCE##*/}
### 009 x=g  f    local x=l  h  echo $x    h    echo $x  x
x=g; f() { local x=l; h; echo $x; }; h() { echo $x; x=h; }; f; echo $x
### 010 f    x=2    x=1  f  echo $x
f() { x=2; }; x=1; f; echo $x
### 011 f    local x  echo  $ x-unset  x=5    x=1  f  echo
f() { local x; echo "[${x-unset}]"; x=5; }; x=1; f; echo $x
### 012 f    local x=$x  x=b  echo $x    x=a  f  echo $x
f() { local x=$x; x=b; echo $x; }; x=a; f; echo $x
### 013 f    unset x  echo  $ x-unset    x=1  f  echo  $ x
f() { unset x; echo "[${x-unset}]"; }; x=1; f; echo "[${x-unset}]"
### 014 f    local x=1  unset x  echo  $ x-unset    x=o  f
f() { local x=1; unset x; echo "[${x-unset}]"; }; x=o; f
### 015 f    return    false  f  echo $
f() { return; }; false; f; echo $?
### 016 f    false  return    f  echo $
f() { false; return; }; f; echo $?
### 017 f    return 256    f  echo $
f() { return 256; }; f; echo $?
### 018 f    echo $1  shift  echo $1 $    f a b c  echo $
f() { echo $1; shift; echo $1 $#; }; f a b c; echo $#
### 019 f    set -- x y  echo $1 $    set -- a  f  echo $1
f() { set -- x y; echo $1 $#; }; set -- a; f; echo $1 $#
### 020 f      $1 -le 1   &&   echo 1  return    echo $  $
f() { [ $1 -le 1 ] && { echo 1; return; }; echo $(( $1 * $(f $(( $1 - 1 ))) )); }; f 5
### 021 f     return 4  echo $    f
f() { (return 4); echo $?; }; f
### 022 f    echo out  echo err >&2    f 2> dev null  x=$
f() { echo out; echo err >&2; }; f 2>/dev/null; x=$(f 2>/dev/null); echo $x
### 023 f    cat    echo piped | f
f() { cat; }; echo piped | f
### 024 f    echo  $    x=1 f a  echo  $ x-
f() { echo "$@"; }; x=1 f a; echo "[${x-}]"
### 025 f    echo  v=$v    v=1  v=2 f  echo $v
f() { echo "v=$v"; }; v=1; v=2 f; echo $v
### 026 f    echo a    > out  f  cat out
f() { echo a; } > out; f; cat out
### 027 f    echo in    unset -f f  f 2> dev null || echo
f() { echo in; }; unset -f f; f 2>/dev/null || echo gone
### 028 f        declare -F f  type -t f  type -t echo  ty
f() { :; }; declare -F f; type -t f; type -t echo; type -t cat; type -t if; type -t nosuch; echo $?
### 029 f    echo in    export -f f  bash -c f
f() { echo in; }; export -f f; bash -c f
### 030 x=1 y=2  export x  bash -c  echo  $x $y  sh -c  ec
x=1 y=2; export x; bash -c 'echo "$x[$y]"'; sh -c 'echo s'
### 031 bash -c  echo $0 $1 $  a b c
bash -c 'echo $0 $1 $#' a b c
### 032 bash -c  exit 3  echo $
bash -c 'exit 3'; echo $?
### 033 bash -c  echo a  false  echo $
bash -c 'echo a; false'; echo $?
### 034 bash -ec  false  echo no  echo $
bash -ec 'false; echo no'; echo $?
### 035 bash -x -c  echo t  2> dev null
bash -x -c 'echo t' 2>/dev/null
### 036 bash <<<  echo from stdin
bash <<< 'echo from stdin'
### 037 echo  echo $1-$2  > s sh  bash s sh a b  chmod  x
echo 'echo $1-$2' > s.sh; bash s.sh a b; chmod +x s.sh; ./s.sh c d
### 038 printf  ! bin bash necho shebang $1 n  > s  chmod
printf '#!/bin/bash\necho shebang $1\n' > s; chmod +x s; ./s q
### 039 nofile  echo $
./nofile; echo $?
### 040 echo x > nf   nf  echo $
echo x > nf; ./nf; echo $?
### 041 nosuchcmd q  echo $ refused: there is no such command
nosuchcmd_q; echo $?
### 042 echo  y=7  f2    echo f2    > lib sh     lib sh  e
echo 'y=7; f2() { echo f2; }' > lib.sh; . ./lib.sh; echo $y; f2
### 043 echo  echo  $1 $  return 4  echo no  > lib sh  sou
echo 'echo "$1 $#"; return 4; echo no' > lib.sh; source ./lib.sh p q; echo $?; set -- z; . ./lib.sh
### 044 source nofile  echo  st $
source nofile; echo "st $?"
### 045 command -v cat > dev null && echo yes  command -v
command -v cat >/dev/null && echo yes; command -v nosuch_x || echo no
### 046 command echo hi  f    echo f    echo    builtin ec
command echo hi; f() { echo f; }; echo() { builtin echo "wrapped $*"; }; echo a; command echo b; unset -f echo; echo c
### 047 eval  x=1  echo $x  eval echo  $x   a  b
eval 'x=1; echo $x'; eval echo '$x' "'a  b'"
### 048 eval  echo $  eval  exit 3  echo no
eval; echo $?; eval 'exit 3'; echo no
### 049 getopts f    local OPTIND=1 o  while getopts  a bc
getopts_f() { local OPTIND=1 o; while getopts "a:bc" o; do case $o in a) echo "a=$OPTARG";; b) echo b;; c) echo c;; *) echo bad;; esac; done; shift $((OPTIND-1)); echo "rest $*"; }; getopts_f -a 1 -bc x y; getopts_f -b -- -c; getopts_f -z 2>/dev/null
### 050 while getopts  x  o -x 2> dev null  do echo  $o $O
while getopts ":x:" o -x 2>/dev/null; do echo "$o $OPTARG"; done
### 051 set -- -a -b v arg  while getopts ab  o  do echo
set -- -a -b v arg; while getopts ab: o; do echo "$o ${OPTARG-}"; done; echo $OPTIND
### 052 set -- --flag=v pos  for a  do case $a in -- =  ec
set -- --flag=v pos; for a; do case $a in --*=*) echo "k=${a%%=*} v=${a#*=}";; *) echo p=$a;; esac; done
### 053 while   $  -gt 0   do   done  set -- --name n --x
while [ $# -gt 0 ]; do :; done; set -- --name n --x; while [ $# -gt 0 ]; do case "$1" in --name) echo "name $2"; shift 2;; *) echo "other $1"; shift;; esac; done
### 054 f    local IFS=  echo  $    f a b c  set -- x y  e
f() { local IFS=,; echo "$*"; }; f a b c; set -- x y; echo "$*"
### 055 f    local -a a= 1 2  local n=$ a  echo $n    f
f() { local -a a=(1 2); local n=${#a[@]}; echo $n; }; f
### 056 f    declare x=in  declare -g y=glob    f  echo  $
f() { declare x=in; declare -g y=glob; }; f; echo "[${x-}] $y"
### 057 f    readonly rr=1    f  echo $rr
f() { readonly rr=1; }; f; echo $rr
### 058 readonly r=1  r=2  echo  never
readonly r=1; r=2; echo "never"
### 059 f    local -r r=1  r=2  echo no    f  echo  st $
f() { local -r r=1; r=2; echo no; }; f; echo "st $?"
### 060 f    local x=1 y=$x  echo  $y    f
f() { local x=1 y=$x; echo "[$y]"; }; f
### 061 f    local a b=2 c  echo  $a$b$c    f
f() { local a b=2 c; echo "[$a$b$c]"; }; f
### 062 local x=1  echo $
local x=1; echo $?
### 063 f    return 1    f && echo y || echo n
f() { return 1; }; f && echo y || echo n
### 064 f  for i in 1 2  do echo $i  done  f
f() for i in 1 2; do echo $i; done; f
### 065 f    x=sub  exit 3   f  echo  $   $ x-
f() ( x=sub; exit 3 ); f; echo "$? [${x-}]"
### 066 f    f2    echo nested      f  f2
f() { f2() { echo nested; }; }; f; f2
### 067 a-b    echo dashed    a-b  ns f    echo ns    ns f
a-b() { echo dashed; }; a-b; ns::f() { echo ns; }; ns::f
### 068 declare -f f  f    echo body    declare -f f > dev
declare -f f; f() { echo body; }; declare -f f >/dev/null; echo $?
### 069 f    echo  $FUNCNAME $LINENO    f
f() { echo "$FUNCNAME $LINENO"; }; f
### 070 set --  $  x  echo $
set -- "$@" x; echo $#
### 071 f    echo $ 2  echo  $  -1    f a b c
f() { echo ${@:2}; echo "${@: -1}"; }; f a b c
### 072 break  echo  st $  for i in 1 2 3  do for j in 1 2
break; echo "st $?"; for i in 1 2 3; do for j in 1 2; do [ $i = 2 ] && continue 2; [ $i = 3 ] && break 2; echo $i$j; done; done
### 073 for  i=0 i<3 i  do echo -n $i  done  echo
for ((i=0;i<3;i++)); do echo -n $i; done; echo
### 074 for  i=0 j=5 i<j i j--  do echo $i $j  done
for ((i=0,j=5;i<j;i++,j--)); do echo $i $j; done
### 075 for i in a b  do echo $i  done  echo $i
for i in a b; do echo $i; done; echo $i
### 076 for i  do echo $i  done
for i; do echo $i; done
### 077 for i in  do echo no  done  echo st $
for i in; do echo no; done; echo st $?
### 078 for f in  none  do echo $f  done
for f in *.none; do echo $f; done
### 079 i=0  while  i<3  do  i    $i = 2   && continue  ec
i=0; while ((i<3)); do ((i++)); [ $i = 2 ] && continue; echo $i; done
### 080 until   $ n -0  -ge 2   do n=$ $ n -0 1  done  ech
until [ ${n:-0} -ge 2 ]; do n=$((${n:-0}+1)); done; echo $n
### 081 while   do break  done  echo $
while :; do break; done; echo $?
### 082 while false  do   done  echo $
while false; do :; done; echo $?
### 083 for i in 1 2  do  exit 3  done  echo $
for i in 1 2; do (exit 3); done; echo $?
### 084 if  exit 2  then   fi  echo $
if (exit 2); then :; fi; echo $?
### 085 if false  then a  elif true  then echo elif  else refused: there is no such command
if false; then a; elif true; then echo elif; else echo no; fi
### 086 case foo yaml in  json  echo j   y a ml| yml  echo refused: needs shopt -s extglob
case foo.yaml in *.json) echo j;; *.y?(a)ml|*.yml) echo y;; *) echo n;; esac
### 087 case a in a  echo 1 & b  echo 2  c  echo 3  esac
case a in a) echo 1;& b) echo 2;; c) echo 3;; esac
### 088 case a in a  echo 1 &   echo 2  esac
case a in a) echo 1;;& *) echo 2;; esac
### 089 case  $x  in   echo empty  esac  case  a b  in  a
case "$x" in "") echo empty;; esac; case 'a b' in "a b") echo sp;; esac
### 090 case abc in  a-c  echo cls  esac  case   in   echo
case abc in [a-c]*) echo cls;; esac; case '*' in \*) echo star;; esac; case x in (x) echo paren;; esac
### 091 case   in   echo one  esac
case é in ?) echo one;; esac
### 092 x= a  case abc in $x  echo pat  esac  case  a  in
x='a*'; case abc in $x) echo pat;; esac; case 'a*' in "$x") echo lit;; esac
### 093 select unused=1  echo $select unused
select_unused=1; echo $select_unused
### 094 echo a  echo b     echo c    echo d    > f  cat
{ echo a; echo b; }; (echo c); { echo d; } > f; cat f
### 095 exit 3  echo $   cd  tmp  pwd  pwd | sed  s snipp
(exit 3); echo $?; (cd /tmp; pwd); pwd | sed 's,/tmp/snippet,S,'
### 096 x=1   x=2  echo $x    x=3    echo $x
x=1; (x=2); echo $x; { x=3; }; echo $x
### 097 echo $BASH SUBSHELL   echo $BASH SUBSHELL   echo $
echo $BASH_SUBSHELL; (echo $BASH_SUBSHELL; (echo $BASH_SUBSHELL))
### 098 ! true  echo $  ! false  echo $  !  exit 3  echo $
! true; echo $?; ! false; echo $?; ! (exit 3); echo $?
### 099 true && echo a || echo b  false && echo a || echo
true && echo a || echo b; false && echo a || echo b; true || echo c; false; echo $?
### 100 exit 300
exit 300
### 101 exit abc
exit abc
### 102 exit -1  echo $
(exit -1); echo $?
### 103 hash cat  echo $  type cat > dev null  echo $
hash cat; echo $?; type cat >/dev/null; echo $?
### 104 umask  umask 077  umask
umask; umask 077; umask
### 105 alias ll= ls -l  echo $
alias ll='ls -l'; echo $?
### 106 times > dev null  echo $
times >/dev/null; echo $?
### 107 pushd  tmp > dev null  pwd  popd > dev null  pwd |
pushd /tmp >/dev/null; pwd; popd >/dev/null; pwd | sed 's,/tmp/snippet,S,'
### 108 cd  tmp  cd - > dev null  pwd | sed  s snippet S
cd /tmp; cd - >/dev/null; pwd | sed 's,/tmp/snippet,S,'; cd nodir; echo $?; cd /; echo $OLDPWD | sed 's,/tmp/snippet,S,'
### 109 cd   pwd  mkdir -p  tmp snippet a b  cd  tmp snipp
cd ..; pwd; mkdir -p /tmp/snippet/a/b; cd /tmp/snippet/a/./b/..; pwd
### 110 set -o | grep -c errexit  shopt nullglob  shopt -s
set -o | grep -c errexit; shopt nullglob; shopt -s nullglob; shopt -q nullglob && echo on
### 111 set -x 2> dev null  set  x 2> dev null  echo $-
set -x 2>/dev/null; set +x 2>/dev/null; echo $-
### 112 wait  echo $  sleep 0 01 & wait $!  echo $   exit
wait; echo $?; sleep 0.01 & wait $!; echo $?; (exit 3) & wait $!; echo $?
### 113 exit 3  & p=$!  wait $p  echo $  wait 99999  echo
(exit 3) & p=$!; wait $p; echo $?; wait 99999; echo $?
### 114 for i in 1 2 3  do echo $i > f$i & done  wait  cat
for i in 1 2 3; do echo $i > f$i & done; wait; cat f1 f2 f3
### 115 kill -0 99999 2> dev null || echo none
kill -0 99999 2>/dev/null || echo none
### 116 sleep 5 & kill $!  wait $! 2> dev null  echo $
sleep 5 & kill $!; wait $! 2>/dev/null; echo $?
### 117 $ x=5  echo $x  true    > e    -e e   && echo ma
: $((x=5)); echo $x; true; : > e; [ -e e ] && echo made
### break in the words of a loop
for x in $(break; echo n) w; do echo $x; done; echo $?; for x in a; do for y in $(break 2; echo n) b; do echo $y; done; done; for ((i=$(echo 1; break; echo 1); i<3; i++)); do echo $i; done; for x in 1 2; do : | { for y in $(continue 2) w; do :; done; echo k; }; done
### break and continue in a condition
for x in 1 2; do echo $x; until echo cond; break 2; do :; done; echo never; done; echo $?; for x in 1 2; do echo $x; while echo cond; continue 2; do :; done; echo never; done; echo $?; for x in 1 2; do while false; break; do :; done; echo "$? $x"; i=0; while ((i++ < 2)); [[ $i == 1 ]] && continue; false; do :; done; echo "$? $i"; until break 5; do :; done; echo never; done; echo end
### ! before break and continue
for i in 1 2; do ! continue; done; echo $?; for i in 1 2; do ! break; done; echo $?; f() { ! return 3; }; f; echo $?; for i in 1; do ! { continue; }; done; echo $?; for i in 1; do ! eval continue; done; echo $?; while :; do ! break; done; echo $?
### local takes the value that is given to the call
f2() { local v1 v2; echo ${v1-u}; }; v1=w f2; v1=w eval f2; v1=k; f2; export v1; f2; f3() { f2; }; v1=w f3; f4() { local v1=z; f2; }; f4; v1=w f4; f5() { local -a v1; echo ${v1-u}; }; v1=w f5; f6() { local v1+=x; echo $v1; }; v1=w f6; f7() { declare v1; v1+=y; env | grep ^v1; }; v1=w f7; echo $v1
### set in a file that is sourced with arguments
echo 'set -- a b c' > s; set -- k; . ./s; echo "$*"; set -- k; . ./s p q; echo "$*"; f() { source ./s p q; echo "$*"; }; f x; echo 'shift; echo "in $*"' > s; set -- k l; . ./s p q; echo "$*"; echo 'g() { set -- 1; }; g' > s; . ./s p; echo "$*"
### break and continue in conditions
until continue; do echo u; done; echo 1
n=0; while ((n++ < 3)) && { [ $n = 2 ] && continue; true; }; do echo b$n; done; echo 2
n=0; while { ((n++)); [ $n = 2 ] && continue; [ $n -lt 4 ]; }; do echo c$n; done; echo 3
n=0; until { ((n++)); [ $n = 2 ] && continue; [ $n -ge 4 ]; }; do echo d$n; done; echo 4
for i in 1 2; do n=0; while { ((n++)); [ $n = 2 ] && continue 2; [ $n -lt 4 ]; }; do echo e$i$n; done; echo no; done; echo 5
n=0; until { ((n++)); [ $n = 2 ] && break; false; }; do echo f$n; done; echo 6 $?
n=0; while { ((n++)); [ $n = 2 ] && break; true; }; do echo g$n; (exit 3); done; echo 7 $?
for i in 1 2; do until { break 2; }; do :; done; echo no; done; echo 8
for i in 1 2; do while break 2; do :; done; echo no$i; done; echo 9
for i in 1 2; do until break; do :; done; echo yes$i; done; echo 10
