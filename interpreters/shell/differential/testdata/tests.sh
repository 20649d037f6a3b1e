### 001 abc == a  && -n x || 1 -gt 2   && echo t
[[ abc == a* && -n x || 1 -gt 2 ]] && echo t
### 002 abc123  =   a-z 0-9 $   && echo  $ BASH REMATCH
[[ "abc123" =~ ^([a-z]+)([0-9]+)$ ]] && echo "${BASH_REMATCH[0]} ${BASH_REMATCH[1]} ${BASH_REMATCH[2]} ${#BASH_REMATCH[@]}"
### 003 abc =  b   && echo $BASH REMATCH    abc =  z   |
[[ abc =~ b ]] && echo $BASH_REMATCH; [[ abc =~ z ]] || echo "[${BASH_REMATCH[0]}]"
### 004 re= v 0-9 0-9    v1 22 3 =  $re   && echo $ BASH R
re='^v([0-9]+)\.([0-9]+)'; [[ v1.22.3 =~ $re ]] && echo ${BASH_REMATCH[1]} ${BASH_REMATCH[2]}
### 005 a b =  a b   && echo 1    axb =  a b   || echo 2
[[ a.b =~ a\.b ]] && echo 1; [[ axb =~ a\.b ]] || echo 2; [[ axb =~ "a.b" ]] || echo 3; [[ axb =~ a.b ]] && echo 4
### 006 x= a b    $x =   a  b$   && echo sp    $x =   a b
x='a b'; [[ $x =~ ^a\ b$ ]] && echo sp; [[ $x =~ 'a b' ]] && echo q
### 007 foo =   f x    && echo  $ BASH REMATCH 1 $ BASH
[[ foo =~ (f)(x)? ]] && echo "[${BASH_REMATCH[1]}][${BASH_REMATCH[2]}]"
### 008 a b  =      && echo plus    abc =   alpha 3
[[ "a+b" =~ \+ ]] && echo plus; [[ abc =~ [[:alpha:]]{3} ]] && echo three
### 009 $ a nb  =  a b   && echo nl      =   $   && echo
[[ $'a\nb' =~ a.b ]] && echo nl; [[ é =~ ^.$ ]] && echo uni
### 010 a =      echo $
[[ a =~ [ ]]; echo $?
### 011 a = a   &&   a != b   &&   a < b   &&   b > a
[[ a = a ]] && [[ a != b ]] && [[ a < b ]] && [[ b > a ]] && echo cmp
### 012 -z   && -n a && ! -z a   && echo z    a   && ech
[[ -z "" && -n a && ! -z a ]] && echo z; [[ a ]] && echo s; [[ "" ]] || echo e
### 013 1 -eq 1 || 2 -eq 3  && 4 -eq 4   && echo grp
[[ (1 -eq 1 || 2 -eq 3) && 4 -eq 4 ]] && echo grp
### 014 x=    $x   || echo empty    -z $x   && echo z    $
x=; [[ $x ]] || echo empty; [[ -z $x ]] && echo z; [[ $x == "" ]] && echo q
### 015 $unset v ==     && echo u    -v unset v   || ech
[[ $unset_v == "" ]] && echo u; [[ -v unset_v ]] || echo nv; y=; [[ -v y ]] && echo v
### 016 touch f  mkdir d    -e f && -f f && ! -d f && -d d
touch f; mkdir d; [[ -e f && -f f && ! -d f && -d d && -r f && -w f && ! -x f && ! -s f ]] && echo files; echo x > g; [[ -s g ]] && echo size
### 017 -e f   || echo no  touch f    -f f   && echo f
[ -e f ] || echo no; touch f; [ -f f ] && echo f; [ -d . ] && echo dot; [ -x f ] || echo nx; chmod +x f; [ -x f ] && echo x
### 018 -L f   echo $    -c  dev null   && echo chr    -
[ -L f ]; echo $?; [ -c /dev/null ] && echo chr; [ -t 0 ]; echo $?
### 019 touch -d 2020-01-01 a  touch -d 2021-01-01 b    b
touch -d 2020-01-01 a; touch -d 2021-01-01 b; [ b -nt a ] && echo newer; [[ a -ot b ]] && echo older; [ a -ef a ] && echo same
### 020 a = a -a b = b   && echo and    a = b -o b = b
[ a = a -a b = b ] && echo and; [ a = b -o b = b ] && echo or; [ ! a = b ] && echo not; [ \( a = a \) ] && echo par
### 021 -n     echo $        echo $      echo $    -z
[ -n "" ]; echo $?; [ "" ]; echo $?; [ ]; echo $?; [ -z ]; echo $?; [ -n ]; echo $?; test; echo $?
### 022 a  echo $
[ a; echo $?
### 023 1 -eq 1 -a   echo $
[ 1 -eq 1 -a ]; echo $?
### 024 a b   echo $    a b c d   echo $
[ a b ]; echo $?; [ a b c d ]; echo $?
### 025 x= a b    $x = a   echo $     $x  =  a b    && ech
x="a b"; [ $x = a ]; echo $?; [ "$x" = "a b" ] && echo ok
### 026 = = =   && echo eq    -f = -f   && echo w    !
[ = = = ] && echo eq; [ -f = -f ] && echo w; [ ! ] && echo bang; [ ! "" ] && echo e; [ "(" ] && echo p
### 027 a  < b   && echo lt    b  > a   && echo gt
[ a \< b ] && echo lt; [ b \> a ] && echo gt
### 028 01 -eq 1   && echo num      1  -eq 1   && echo s
[ 01 -eq 1 ] && echo num; [ " 1" -eq 1 ] && echo sp; [ -1 -lt 0 ] && echo neg; [ 1.5 -gt 1 ]; echo $?
### 029 shopt -s nocasematch    ABC == abc   && echo nc  c
shopt -s nocasematch; [[ ABC == abc ]] && echo nc; case ABC in abc) echo cc;; esac; [[ ABC =~ b ]] && echo re
### 030 a ==  abc    && echo cls    a ==  abc    || echo
[[ a == [abc] ]] && echo cls; [[ a == "[abc]" ]] || echo lit; [[ ab == a?(b) ]] && echo ext; [[ aXb == a@(X|Y)b ]] && echo at; [[ zz == !(a*) ]] && echo neg
### 031 foo == f o && foo !=  x    && echo pats  p= f
[[ foo == f*o && foo != *x* ]] && echo pats; p='f*'; [[ foo == $p ]] && echo v; [[ 'f*' == "$p" ]] && echo qv
### 032 a b ==  a b    || echo esc     a b  == a b   &&
[[ a\b == 'a\b' ]] || echo esc; [[ 'a\b' == a\\b ]] && echo esc2
### 033 -o errexit   || echo off  set -e    -o errexit
[[ -o errexit ]] || echo off; set -e; [[ -o errexit ]] && echo on
### 034 $ echo a  == a   && echo sub    $ 1 1  -eq 2
[[ "$(echo a)" == a ]] && echo sub; [[ $((1+1)) -eq 2 ]] && echo ar
### 035 10 -gt 9   && echo n    10 > 9   || echo s
[[ 10 -gt 9 ]] && echo n; [[ 10 > 9 ]] || echo s
### 036 ! a == b   && echo neg  !   a == a   || echo x
[[ ! a == b ]] && echo neg; ! [[ a == a ]] || echo x
### 037 a == a
[[ a == a
&& b == b ]] && echo multi
### 038 if   $  -eq 0   then echo none  fi    $1 ==  --con
if [[ $# -eq 0 ]]; then echo none; fi; [[ $1 == "--config" ]] || echo run
### 039 true == true   &&   echo blk
[[ true == true ]] && { echo blk; }
### 040 x$y == x   && echo xy    x $y  = x   && echo old
[[ x$y == x ]] && echo xy; [ x"$y" = x ] && echo old
### an operator as the first word refused: test operator words must consist of a single literal
[[ -e =~ b$ ]]; echo $?
### an operator as the first word, in quotes
[[ "-e" =~ e$ ]]; echo $?; x=-e; [[ $x == -e ]]; echo $?
### a term that is wrong, among others
[[ 0ww -eq 1 || -n x ]]; echo "a $?"; [[ ! 0ww -eq 1 && -n x ]]; echo "b $?"; [[ 0ww -eq 1 && -n $(echo >f) ]]; echo "c $?"; [[ a =~ [ || -n x ]]; echo "d $?"; [[ ! a =~ [ ]]; echo "e $?"; [[ a =~ [ && -n x ]]; echo "f $?"; [[ a =~ [ ]]; echo "g $?"; [[ ( 0ww -eq 1 ) || -n $(echo >f2) ]]; echo "h $?"
### ! before one term of several
[[ ! a == a || x == x ]]; echo $?; [[ ! a == a && x == y ]]; echo $?; [[ ! -n a || x == x ]]; echo $?; [[ ! ( a == a ) || x == x ]]; echo $?; [[ ! a == a && x == y || z == z ]]; echo $?; [[ ! ! a || b == c ]]; echo $?; [[ ! -e nofile && ! -d nofile || -n $(echo >f) ]]; echo $?; [[ ! ( a == a || x == x ) ]]; echo $?; [[ ! a == b || -n $(echo >f2) ]]; echo $?; [ ! a = a -o x = x ]; echo $?; [ ! a = a -a x = y ]; echo $?; [[ a == a && ! b == b || c == c ]]; echo $?
