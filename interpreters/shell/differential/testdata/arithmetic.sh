### 001 echo $ 1 2 3  $ 1 2 3  $ 7 2  $ -7 2  $ 7 3  $ -7
echo $((1+2*3)) $(((1+2)*3)) $((7/2)) $((-7/2)) $((7%3)) $((-7%3)) $((2**10)) $((2**3**2))
### 002 echo $ 1<<4  $ 255>>2  $ 6&3  $ 6|3  $ 6 3  $ 5  $
echo $((1<<4)) $((255>>2)) $((6&3)) $((6|3)) $((6^3)) $((~5)) $((!5)) $((!0))
### 003 echo $ 3>2  $ 3<2  $ 3>=3  $ 3<=2  $ 3==3  $ 3!=3
echo $((3>2)) $((3<2)) $((3>=3)) $((3<=2)) $((3==3)) $((3!=3)) $((1&&0)) $((1||0))
### 004 echo $ 1 2 3  $ 0 2 3  $ 1 0 4 5 6  $ 1 2 3
echo $((1?2:3)) $((0?2:3)) $((1?0?4:5:6)) $((1,2,3))
### 005 echo $ 0x1f  $ 017  $ 2 101  $ 16 ff  $ 36 z  $ 64
echo $((0x1f)) $((017)) $((2#101)) $((16#ff)) $((36#z)) $((64#_)) $((10#08))
### 006 i=5  echo $ i  $i $ i  $i $ i--  $ --i
i=5; echo $((i++)) $i $((++i)) $i $((i--)) $((--i))
### 007 i=5   i =3  echo $i   i =2  echo $i   i-=1   i =3
i=5; ((i+=3)); echo $i; ((i*=2)); echo $i; ((i-=1)); ((i/=3)); ((i%=3)); echo $i; ((i<<=3)); ((i|=1)); ((i^=3)); ((i&=14)); echo $i
### 008 x=1 2  echo $ x 2  $ $x 2  y=x  echo $ y
x=1+2; echo $((x*2)) $(($x*2)); y=x; echo $((y))
### 009 a=b  b=c  c=7  echo $ a  $ a 1
a=b; b=c; c=7; echo $((a)) $((a+1))
### 010 echo $ undefined y  $ undefined y 1
echo $((undefined_y)) $((undefined_y+1))
### 011 x=  echo $ x  $ x 1
x=; echo $((x)) $((x+1))
### 012 echo $ 1 0  echo  st $
echo $((1/0)); echo "st $?"
### 013 echo $ 1 0  echo  st $
echo $((1%0)); echo "st $?"
### 014 echo $ 1  echo  st $ refused: must be followed by an expression
echo $((1+)); echo "st $?"
### 015 1 0  echo  st $
((1/0)); echo "st $?"
### 016 let x=1 2 y=x 2  echo $x $y  let  z = 3  echo $z
let x=1+2 y=x*2; echo $x $y; let 'z = 3'; echo $z; let i++; echo $i
### 017 x=5 y=6  echo $x $y   0  echo $   7  echo $
((x=5,y=6)); echo $x $y; ((0)); echo $?; ((7)); echo $?
### 018 op=  echo $ 1 $op 2  e= 3   4  echo $ e  $  $e   1 refused: not a valid arithmetic operator
op='+'; echo $((1 $op 2)); e='3 * 4'; echo $((e)) $(( $e + 1 ))
### 019 echo $ 9223372036854775807 1  $ -92233720368547758
echo $((9223372036854775807+1)) $((-9223372036854775808)) $((9223372036854775807*2))
### 020 a= 1 2 3  echo $ a 1 a 2  $ $ a 0 1  $ a a 0
a=(1 2 3); echo $((a[1]+a[2])) $((${a[0]}+1)) $((a[a[0]]))
### 021 declare -A m= k =5  echo $ m k 1  $ $ m k 2
declare -A m=([k]=5); echo $((m[k]+1)) $((${m[k]}*2))
### 022 echo  $  1    2    s= 4  echo $   $s    1
echo "$(( 1 + "2" ))"; s="4"; echo $(( "$s" + 1 ))
### 023 echo $   1 < 2  &&  3 > 2    $ 5>3 10 20
echo $(( (1 < 2) && (3 > 2) )) $((5>3?10:20))
### 024 n=010  echo $ n  $ 10 $n  echo $ 08    echo  st $
n=010; echo $((n)) $((10#$n)); echo $((08)) ; echo "st $?"
### 025 declare -i n=5 5  echo $n  n =1  echo $n  n=abc  e
declare -i n=5+5; echo $n; n+=1; echo $n; n=abc; echo $n; n=2*3; echo $n
### 026 x=5  echo $ x==5 1 0  $ -x  $ - -x  $ x  $ x - -1
x=5; echo $((x==5?1:0)) $((-x)) $((- -x)) $((+x)) $((x - -1))
### 027 echo $  1   $ echo 2    $   echo 3    2
echo $(( 1 + $(echo 2) )) $(( `echo 3` * 2 ))
### 028 echo $ 1 2
echo $[1+2]
### 029 x=3    x > 2   && echo big  if   x   2 == 0   then
x=3; (( x > 2 )) && echo big; if (( x % 2 == 0 )); then echo even; else echo odd; fi
### 030 echo $ 1 == 1 && 2 == 2 || 0
echo $((1 == 1 && 2 == 2 || 0))
### 031 for   do break  done  echo ok  for  i=3 i>0 i--  d
for ((;;)); do break; done; echo ok; for ((i=3;i>0;i--)); do printf '%d ' $i; done; echo
### 032 i=0  while   i  < 3   do echo -n  $i   done  echo
i=0; while (( i++ < 3 )); do echo -n "$i "; done; echo
### 033 echo $  0 &&  x=9    $x  echo $  1 ||  y=9     $y
echo $(( 0 && (x=9) )) $x; echo $(( 1 || (y=9) )) "[$y]"
### 034 x=10  echo $ x 1 0 1  $ x =2  $x
x=10; echo ${x:1+0:1} $((x/=2)) $x
### 035 i=1  echo $ i i  $i
i=1; echo $((i+++i)) $i
### 036 echo $  3 > 2 > 1   $ 5 - 3 - 1  $ 2   3   4
echo $(( 3 > 2 > 1 )) $((5 - 3 - 1)) $((2 * 3 % 4))
### 037 echo $ 16 FF   8 17  $ 0xAbC
echo $((16#FF + 8#17)) $((0xAbC))
### 038 printf  d n  $ 1<<62  $ 1<<63  $ 1<<64
printf '%d\n' $((1<<62)) $((1<<63)) $((1<<64))
### 039 a=1  && echo $a   a==2  || echo no
((a=1)) && echo $a; ((a==2)) || echo no
### 040 expr 1   2  expr 7   2  expr 3   4  expr abc    a
expr 1 + 2; expr 7 / 2; expr 3 \* 4; expr abc : 'a\(.*\)'; expr length hello; expr 1 = 2; echo $?
### 041 echo $ 1 5  echo  st $ refused: floating point arithmetic is not a part of bash
echo $((1.5)); echo "st $?"
### 042 x=1   x x  echo $x
x=1; ((x++,x++)); echo $x
### 043 2 3 -eq 5   && echo eq    5 -eq 5   && echo eq2
[[ 2+3 -eq 5 ]] && echo eq; [ 5 -eq 5 ] && echo eq2; x=4; [[ x -gt 3 ]] && echo gt
### 044 test 1 -lt 2 -a 2 -lt 3 && echo and    1 -eq abc
test 1 -lt 2 -a 2 -lt 3 && echo and; [ 1 -eq abc ]; echo $?
### 045 RANDOM=1  a=$RANDOM    $a -ge 0   &&   $a -le 3276
RANDOM=1; a=$RANDOM; [ $a -ge 0 ] && [ $a -le 32767 ] && echo range
### numbers that are not hexadecimal
n=1x
echo $((n)) r
(( 2X0 ))
echo "$? $((0x1f)) $((0XfF))"
echo $((1x2))
echo here
### an unset name before what is no operator
set -u
for n in 'p[1][w]s' 'p[w][w]s' 'p]' 'p 1x' 'p 08' 'p[1] [2]' 'w {' 'w;'; do (
echo $((n))
echo "here $n"
); done
### a variable that names itself
x=y y='x + 1'
echo $((x)); echo never
echo here; ((x)); echo "$?"; [[ x -eq 1 ]]; echo "$?"; (echo $((x)); echo never); echo "$?"
### what follows a name is read before the name is evaluated
set -u; x="it's"; echo never $((x))
echo "next $?"; x="1 it's sub"; echo never $((x))
echo "next $?"; x='nothing 08'; echo never $((x))
echo "next $?"
### what follows a name that is not set
set -u; x='nothing + 1'; echo never $((x))
### a subscript that is no expression discards the line
n='$v'; a=(1)
((a[n] += 2)); echo "never 1"
echo "1 $?"; ((a[n] = 2)); echo "never 2"
echo "2 $?"; ((a[n])); echo "never 3"
echo "3 $?"; ((u[n])); echo "never 4"
echo "4 $?"; ((u[n] = 1)); echo "never 5"
echo "5 $?"; let 'a[n]++'; echo "never 6"
echo "6 $?"; : $((a[n])); echo "never 7"
echo "7 $?"; ((a[1/0])); echo "never 8"
echo "8 $?"; for ((i = a[n]; i < 1; i++)); do :; done; echo "never 9"
echo "9 $?"; ((n)); echo "same 10"
s=5; ((s[n])); echo "never 11"
echo "11 $?"; ((s[n] = 1)); echo "never 12"
echo "12 $?"; [[ a[n] -eq 1 ]]; echo "never 13"
echo "13 $?"; declare -A m=([k]=1); ((m[k])); echo "same 14"
((0 && a[n])); echo "same 15"
x='a[n]'; ((x)); echo "never 16"
echo "16 $?"
### an operator that is none after a name without an operator
for x in "1 it's" '1 @' '1 a b' '1 #' '1 2x' '1 it' '1 2'; do ((x)); echo $?; done 2>&1
### numbers with bases
(echo $((1 + 3l1 + 5))) 2>/dev/null || echo "no"
(echo $((1 + 08 + 5))) 2>/dev/null || echo "no"
(echo $((1 + 1#2 + 5))) 2>/dev/null || echo "no"
(echo $((1 + 70#2 + 5))) 2>/dev/null || echo "no"
(echo $((1 + 3# + 5))) 2>/dev/null || echo "no"
(echo $((1 + 0x + 5))) 2>/dev/null || echo "no"
(echo $((1 + 3#5 + 5))) 2>/dev/null || echo "no"
(echo $((1 + 2#2#3 + 5))) 2>/dev/null || echo "no"
(echo $((09#1))) 2>/dev/null || echo "no"
(echo $((010#1))) 2>/dev/null || echo "no"
(echo $((1a#1))) 2>/dev/null || echo "no"
(echo $((2##1))) 2>/dev/null || echo "no"
(echo $((2#1@))) 2>/dev/null || echo "no"
(echo $((64#_ + 64#@ + 37#A+ 36#A + 0))) 2>/dev/null || echo "no"
(echo $((2#))) 2>/dev/null || echo "no"
(echo $((99999999999999999999))) 2>/dev/null || echo "no"
