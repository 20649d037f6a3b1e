### 001 echo a > f  echo b >> f  cat f  cat < f
echo a > f; echo b >> f; cat f; cat < f
### 002 echo out  echo err >&2  echo both &> x  cat x    e
echo out; echo err >&2; echo both &> x; cat x; { echo o; echo e >&2; } > all 2>&1; cat all
### 003 echo o  echo e >&2    2>&1 > dev null | sed  s p
{ echo o; echo e >&2; } 2>&1 >/dev/null | sed 's/^/p:/'
### 004 echo a  echo b >&2    2>&1 | sort
{ echo a; echo b >&2; } 2>&1 | sort
### 005 ls nofile 2> dev null  echo $  ls nofile > dev nul
ls nofile 2>/dev/null; echo $?; ls nofile >/dev/null 2>&1 || echo quiet; ls nofile &>/dev/null || echo q2
### 006 exec 3>&1  echo three >&3  exec 3>&-  echo x >&3
exec 3>&1; echo three >&3; exec 3>&-; echo x >&3; echo "st $?"
### 007 exec 3> f  echo a >&3  echo b >&3  exec 3>&-  cat
exec 3> f; echo a >&3; echo b >&3; exec 3>&-; cat f
### 008 exec 3< < printf  a nb n  read -r x <&3  read -r y
exec 3< <(printf 'a\nb\n'); read -r x <&3; read -r y <&3; echo $x $y; exec 3<&-
### 009 printf  l1 nl2 nl3 n  > f  exec 4< f  read -r a <&
printf 'l1\nl2\nl3\n' > f; exec 4< f; read -r a <&4; read -r b <&4; echo $a $b; cat <&4
### 010 exec > log  echo logged  exec >&2  cat log > copy
exec > log; echo logged; exec >&2; cat log > copy
### 011 exec 3>&1 1> f  echo hidden  exec 1>&3 3>&-  echo
exec 3>&1 1> f; echo hidden; exec 1>&3 3>&-; echo shown; cat f
### 012 exec  fd > f  echo via >&$fd  exec  fd >&-  cat f
exec {fd}> f; echo via >&$fd; exec {fd}>&-; cat f; [ $fd -ge 10 ] && echo ten
### 013 echo a >&3    3> f  cat f  echo z 3>&1 >&3 | cat
{ echo a >&3; } 3> f; cat f; echo z 3>&1 >&3 | cat
### 014 cat <<EOF
cat <<EOF
plain $((1+1)) `echo bt` \$x \\ "q" 'r'
EOF
### 015 cat << EOF
cat <<'EOF'
$x `no` \n
EOF
### 016 cat <<-EOF
cat <<-EOF
	tab $HOME
		two
	EOF
### 017 cat << A B
cat <<"A B"
x $y
A B
### 018 cat <<EOF | tr a-z A-Z
cat <<EOF | tr a-z A-Z
piped
EOF
### 019 cat <<A  cat <<B
cat <<A; cat <<B
one
A
two
B
### 020 x=$ cat <<EOF
x=$(cat <<EOF
in
EOF
); echo "$x"
### 021 while read -r l  do echo  <$l>  done <<EOF
while read -r l; do echo "<$l>"; done <<EOF
a b
 c
EOF
### 022 cat <<< word  cat <<<  two words  x= a
cat <<< word; cat <<< "two words"; x='a
b'; cat <<< "$x"; cat <<< ''
### 023 f    cat <<EOF
f() { cat <<EOF
fn $1
EOF
}; f arg
### 024 cat <<EOF
cat <<EOF
${x:-def} ${y:+alt} "$(echo "quoted")" $(printf '%s' 'a"b')
EOF
### 025 cat > out yaml <<EOF
cat > out.yaml <<EOF
a: 1
b:
  - "x"
EOF
cat out.yaml
### 026 cat << EOF > a  cat a
cat << EOF > a; cat a
to file
EOF
### 027 tee f1 f2 <<< multi  cat f1 f2  tee -a f1 <<< more
tee f1 f2 <<< multi; cat f1 f2; tee -a f1 <<< more >/dev/null; cat f1
### 028 set -C  echo a > f  echo b > f  echo  st $  echo c
set -C; echo a > f; echo b > f; echo "st $?"; echo c >| f; cat f
### 029 echo x > nodir f  echo  st $  cat < nofile  echo
echo x > nodir/f; echo "st $?"; cat < nofile; echo "st $?"; : > d; [ -f d ] && echo made
### 030 > empty    -s empty   || echo empty  < empty cat
> empty; [ -s empty ] || echo empty; < empty cat; echo a >f b; cat f
### 031 echo a >  sp ace  cat  sp ace  f= x y  echo b >  $
echo a > "sp ace"; cat "sp ace"; f='x y'; echo b > "$f"; cat "x y"; echo c > $f; echo "st $?"
### 032 if true  then echo a  echo b  fi > f  cat f  for i
if true; then echo a; echo b; fi > f; cat f; for i in 1 2; do echo $i; done > g; cat g; while read -r l; do echo $l; done < g > h; cat h
### 033 echo sub  echo err >&2  > f 2>&1  cat f    echo x
(echo sub; echo err >&2) > f 2>&1; cat f; { echo x; } >> f; cat f
### 034 echo a |   read -r x  echo  got $x    echo b |  re
echo a | { read -r x; echo "got $x"; }; echo b | (read -r y; echo $y)
### 035 printf  a nb n  | while read -r x  do n=$x  done
printf 'a\nb\n' | while read -r x; do n=$x; done; echo "[${n-}]"
### 036 shopt -s lastpipe  printf  a nb n  | while read -r
shopt -s lastpipe; printf 'a\nb\n' | while read -r x; do n=$x; done; echo "[$n]"
### 037 n=0  while read -r x  do n=$ n 1  done < < printf
n=0; while read -r x; do n=$((n+1)); done < <(printf '1\n2\n3\n'); echo $n
### 038 echo a | cat - < echo b  cat  dev stdin <<< dev  e
echo a | cat - <(echo b); cat /dev/stdin <<< dev; echo e > /dev/stderr; echo o > /dev/stdout; echo n > /dev/null
### 039 true | false | true  echo  $ PIPESTATUS  false  ec
true | false | true; echo "${PIPESTATUS[@]}"; false; echo "${PIPESTATUS[0]}"; (exit 3) | (exit 4); s=("${PIPESTATUS[@]}"); echo ${s[0]} ${s[1]}
### 040 set -o pipefail   exit 3  |  exit 4  | true  echo
set -o pipefail; (exit 3) | (exit 4) | true; echo $?; true | true; echo $?
### 041 yes | head -2  yes x | head -n 1  seq 100000 | hea
yes | head -2; yes x | head -n 1; seq 100000 | head -1; echo "${PIPESTATUS[1]}"
### 042 echo a |& cat    echo o  echo e >&2    |& sort
echo a |& cat; { echo o; echo e >&2; } |& sort
### 043 ! true | false  echo $  time -p true 2> dev null
! true | false; echo $?; time -p true 2>/dev/null; echo t
### 044 echo one | tr a-z A-Z | rev | cat -n
echo one | tr a-z A-Z | rev | cat -n
### 045 x=$ echo a | sed s a b  | tr b c  echo $x
x=$(echo a | sed s/a/b/ | tr b c); echo $x
### 046 exec 3<> f  echo rw >&3  cat f
exec 3<> f; echo rw >&3; cat f
### 047 echo a 1>&2 2> dev null  echo b 2>&1 1> dev null
echo a 1>&2 2>/dev/null; echo b 2>&1 1>/dev/null; echo c
### 048 read -r x < < echo sub  echo $x  readarray -t a <
read -r x < <(echo sub); echo $x; readarray -t a < <(seq 3); echo ${a[@]}
### 049 cat nofile - <<< x  echo $
cat nofile - <<< x; echo $?
### 050 printf  no newline  > f  cat f  echo  wc -c < f  w
printf 'no newline' > f; cat f; echo; wc -c < f; while read -r l || [ -n "$l" ]; do echo "[$l]"; done < f
### 051 ls > f  cat f  rm f  echo   | wc -w
ls > f; cat f; rm f; echo * | wc -w
### 052 exec 5>&1  x=$ echo a | tee  dev fd 5  echo  x=$x
exec 5>&1; x=$(echo a | tee /dev/fd/5); echo "x=$x"
### 053 f    echo to3 >&3    f 3>&1  f 3> f3  cat f3
f() { echo to3 >&3; }; f 3>&1; f 3> f3; cat f3
### 054 read -r a  read -r b    < < printf  1 n2 n  echo
{ read -r a; read -r b; } < <(printf '1\n2\n'); echo $a$b; { head -n 1; } < <(printf 'x\ny\n')
### 055 mkdir -p a b  echo deep > a b c  cat a c  echo a b
mkdir -p a/b; echo deep > a/b/c; cat a/*/c; echo a/b/*; (cd a && cat b/c)
### read and writes to the same file
printf 'l1\nl2\nl3\n' > f; exec 3< f; read -r a <&3; echo 'w w' > f; read -r b <&3; echo "[$b] $?"; printf 'abc\ndefgh\n' > f; read -r b <&3; echo "[$b]"; exec 3<&-; printf 'l1\nl2\nl3\n' > f; exec 3<> f; read -r a <&3; echo XX >&3; read -r b <&3; echo "$a $b"; exec 3>&-; cat f; printf 'a\nb\nc\n' > f; n=0; while read -r l; do echo "$l"; ((n++ < 2)) && echo "more$n" >> f; done < f; { mapfile -t -n 1 m; cat; } < f
### exec without a program sets PIPESTATUS
(exit 3) | (exit 4); exec 3>&1; echo "$? ${PIPESTATUS[*]}"; (exit 3) | (exit 4); exec -z; echo "$? ${PIPESTATUS[*]}"
### a bracket after the end of a here-document refused: unclosed here-document
x=$(cat <<EOF
a
EOF)
echo "$x"
