### 001 echo  a b c  | while read -r x y  do echo  $y-$x
echo "a b c" | while read -r x y; do echo "$y-$x"; done
### 002 while IFS=  read -r a b  do echo  $b $a  done <<<
while IFS=, read -r a b; do echo "$b $a"; done <<< $'1,2\n3,4'
### 003 read -r x <<<    lead trail    echo  $x  IFS= read
read -r x <<< '  lead trail  '; echo "[$x]"; IFS= read -r x <<< '  lead trail  '; echo "[$x]"
### 004 read x y z <<<  a b c d e  echo  $x|$y|$z  read x
read x y z <<< 'a b c d e'; echo "$x|$y|$z"; read x y <<< one; echo "[$x][$y]"
### 005 read <<<  to reply  x   echo  $REPLY
read <<< 'to reply  x '; echo "[$REPLY]"
### 006 read x <<<  a tb c  echo  $x  read -r x <<<  a tb
read x <<< 'a\tb\\c'; echo "$x"; read -r x <<< 'a\tb\\c'; echo "$x"
### 007 printf  a nb n  |   read x  echo  $x
printf 'a\\\nb\n' | { read x; echo "$x"; }
### 008 read -d   x <<<  a b  echo $x  read -r -d   x < <
read -d ';' x <<< 'a;b'; echo $x; read -r -d '' x < <(printf 'a\nb\0c'); echo "$x"
### 009 IFS= read -r -d   x <<<  whole  echo  $   $x
IFS= read -r -d '' x <<< 'whole'; echo "$? [$x]"
### 010 read -n 3 x <<< abcdef  echo $x  read -N 2 x <<< a
read -n 3 x <<< abcdef; echo $x; read -N 2 x <<< abc; echo $x; read -n1 x <<< é; echo $x
### 011 IFS=  read -r a b c <<<  x y z w  echo  $a|$b|$c
IFS=: read -r a b c <<< 'x:y:z:w'; echo "$a|$b|$c"; IFS=: read -r a b <<< 'x:'; echo "[$a][$b]"; IFS=: read -r a b <<< ':y'; echo "[$a][$b]"
### 012 IFS=    read -r a b c <<<  p  q  r  echo  $a|$b|$c
IFS=', ' read -r a b c <<< 'p, q ,r'; echo "$a|$b|$c"
### 013 IFS=$ t  read -r a b <<< $ x y tz  echo  $a|$b  IF
IFS=$'\t' read -r a b <<< $'x y\tz'; echo "$a|$b"; IFS=$'\t' read -r a b c <<< $'x\t\tz'; echo "$a|$b|$c"
### 014 IFS= |  read -r a b c <<<  x||z  echo  $a $b $c
IFS='|' read -r a b c <<< 'x||z'; echo "$a,$b,$c"
### 015 read x <  dev null  echo  $   $x  printf  no nl  |
read x < /dev/null; echo "$? [$x]"; printf 'no nl' | { read -r x; echo "$? $x"; }
### 016 read -r x y < < echo 1 2  echo $ x y  read -a arr
read -r x y < <(echo 1 2); echo $((x+y)); read -a arr <<< '1 2 3'; echo ${arr[1]} ${#arr[@]}
### 017 read -r -p  prompt  x <<< v  echo $x  read -r -t 1
read -r -p 'prompt' x <<< v; echo $x; read -r -t 1 x <<< t; echo $x; read -r -u 0 x <<< u; echo $x
### 018 for k in a b  do read -r $k  done <<< $ 1 n2  echo
for k in a b; do read -r $k; done <<< $'1\n2'; echo $a $b
### 019 while read -r line  do case $line in  |  continue
while read -r line; do case $line in '#'*|'') continue;; esac; echo "$line"; done <<< $'# c\n\nk=v\n#x\nz'
### 020 while IFS= =  read -r k v  do echo  $k -> $v  done
while IFS='=' read -r k v; do echo "$k -> $v"; done <<< $'a=1\nb=x=y'
### 021 while IFS= read -r -d   f  do echo  <$f>  done < <
while IFS= read -r -d '' f; do echo "<$f>"; done < <(printf 'a b\0c\nd\0')
### 022 read -x y <<< z  echo $  read 1bad <<< z  echo $
read -x y <<< z; echo $?; read 1bad <<< z; echo $?
### 023 printf  s= q n  a  b c  printf  q      it s   $x
printf '%s=%q\n' a "b c"; printf '%q ' '' "it's" '$x' 'a*b' $'t\tn' 'a;b' é '~' 'a~' '#x' 'a#'; echo
### 024 printf  5 2f| -5s| 5s| 05d| x| X| o| e n  3 14159
printf '%5.2f|%-5s|%5s|%05d|%x|%X|%o|%e\n' 3.14159 ab cd 42 255 255 8 12345.678
### 025 printf  d  i  u n  5 -6 7  printf  d   d n  5 5  p
printf '%d %i %u\n' 5 -6 7; printf '%+d % d\n' 5 5; printf '%#x %#o\n' 255 8; printf '%c%c\n' abc d
### 026 printf  b   a tb n  printf  b n   x 0101 x42 u00e9
printf '%b' 'a\tb\n'; printf '%b\n' 'x\0101\x42\u00e9' 'a\cb'; echo after
### 027 printf  s n  a b c  printf  s- s n  a b c  printf
printf '%s\n' a b c; printf '%s-%s\n' a b c; printf '%s\n'; printf 'no args\n'; printf '%d\n'
### 028 printf  | 5 | n  2> dev null  printf  a tb n n  pr
printf '%%|%5%|\n' 2>/dev/null; printf 'a\tb\\n\n'; printf '\x41\101\u00e9\n'; printf "it's\n"
### 029 printf  3s| 0s| 10s n  abcdef xyz ab  printf  d| -
printf '%.3s|%.0s|%.10s\n' abcdef xyz ab; printf '%*d|%-*d|\n' 5 42 5 42; printf '%.*f\n' 2 3.14159
### 030 printf -v z  03d| s  7 q  echo  $z  printf -v x  a
printf -v z '%03d|%s' 7 q; echo "$z"; printf -v x 'a\n'; echo "[$x]"
### 031 printf  Y- m- d  H M S T n  0  printf  F T n  8640
printf '%(%Y-%m-%d %H:%M:%S)T\n' 0; printf '%(%F)T\n' 86400; printf '%(%s)T\n' 12345
### 032 printf  d n  0x1f 010  A   B  printf  d n  abc  ec
printf '%d\n' 0x1f 010 "'A" '"B'; printf '%d\n' abc; echo $?; printf '%d\n' 12abc; echo $?; printf '%f\n' 1e3
### 033 printf  s  s n   a b  c  printf  s   $  echo  prin
printf '%s %s\n' "a b" c; printf '[%s]' "$@"; echo; printf '%s,' 1 2 3; echo; printf -- '-x\n'; printf -- '%s\n' -a
### 034 printf  5s| -6s| 06 2f n    ab 3 14159
printf '%5s|%-6s|%06.2f\n' é ab 3.14159
### 035 printf  s n   $ x  printf  s n    printf  s    ech
printf '%s\n' "${x[@]}"; printf '(%s)\n' ""; printf '%s' ''; echo "[$(printf '%s\n')]"
### 036 printf  x n  -1  printf  o n  -1  printf  u n  -1
printf '%x\n' -1; printf '%o\n' -1; printf '%u\n' -1; printf '%g %g %g\n' 0.0001 1000000 1e20; printf '%G\n' 1e-10
### 037 printf  z n  echo  st $  printf  echo  st $
printf '%z\n'; echo "st $?"; printf; echo "st $?"
### 038 echo -e  a tb nc  echo -n x  echo  echo -E  a tb
echo -e 'a\tb\nc'; echo -n x; echo; echo -E 'a\tb'; echo -ne 'q\n'; echo -x; echo -; echo --; echo -e 'x\cy'; echo
### 039 echo -e  x41 0101 e 0m  | cat -v 2> dev null | hea
echo -e '\x41\0101\e[0m' | head -c 1; echo; echo "a\tb"; echo 'back\\slash'
### 040 echo a b   c  echo  a   b  echo  echo   echo -n  e
echo a b   c; echo "a   b"; echo; echo ''; echo -n; echo end
### 041 echo  a c  > f  cat f  echo   echo
echo {a..c} > f; cat f; echo *; echo "*"
### 042 mapfile -t lines <<< $ a n nb  echo $ lines  print
mapfile -t lines <<< $'a\n\nb'; echo ${#lines[@]}; printf '<%s>' "${lines[@]}"; echo
### 043 let n=3  printf  s n  $n   printf  = 0s   1 5  ech
let n=3; printf '%*s\n' $n ''; printf '=%.0s' {1..5}; echo
### 044 printf  s n   a b  | head -1  printf  x sy sz n  1
printf '%s\n' 'a%b' | head -1; printf 'x%sy%sz\n' 1; printf '%d-%d\n' 1 2 3
### 045 printf  -10s| 10s| n  left right  printf  | 5 1f|
printf '%-10s|%10s|\n' left right; printf '|%5.1f|%-8.3f|\n' 2.25 1.5
### mapfile and read of integers
declare -ai a=(1) b=(1); mapfile -t a <<< '1+2'; echo "$? ${a[*]}"; read -ra b <<< '1+2 3*4'; echo "$? ${b[*]}"; declare -au c; mapfile -t c <<< 'abc'; echo "${c[*]}"; declare -al d; read -ra d <<< 'ABC D'; echo "${d[*]}"
### mapfile and read of what is no integer
declare -ai a=(1) b=(1) c
mapfile -t a < <(printf '1\n2\n$x\n4\n'); echo never
echo "$? ${a[*]}"
read -ra b <<< '1+2 $x 4'; echo never
echo "$? ${b[*]}"
declare -i n=1
(printf -v n '$x'; echo never); echo "$? $n"
(read -r n <<< '$x'; echo never); echo "$? $n"
for n in '$x' 2; do echo never; done; echo never
echo "$? $n"
### printf with errors between lines
printf '%%%6.2f|a%+d|\n' w a b 2>&1 | grep -c . ; printf 'line1\n%d\nline2 %d\n' w x |& sed 's/.*: printf/printf/'
