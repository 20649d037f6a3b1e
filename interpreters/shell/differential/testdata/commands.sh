### 001 printf  b na nc n  | sort  printf  b na nb n  | so
printf 'b\na\nc\n' | sort; printf 'b\na\nb\n' | sort -u; printf '10\n9\n1\n' | sort -n; printf '1\n10\n2\n' | sort -rn; printf 'b 2\na 1\nc 3\n' | sort -k2,2nr; printf 'x:2\ny:1\n' | sort -t: -k2
### 002 printf  B na nC n  | sort  printf  B na nC n  | so
printf 'B\na\nC\n' | sort; printf 'B\na\nC\n' | sort -f; printf '1.10\n1.9\n' | sort -V; printf '1K\n2M\n3\n' | sort -h; printf 'a 2\nb 2\na 1\n' | sort -k2,2n -k1,1r; printf 'c\na\n' | sort -o f; cat f; printf 'a\nb\n' | sort -c && echo sorted; printf 'b\na\n' | sort -c 2>/dev/null; echo $?
### 003 printf   b na n  | sort  printf   b na n  | sort -
printf ' b\na\n' | sort; printf ' b\na\n' | sort -b; printf 'a b\na a\n' | sort -k2; printf 'x 10\nx 9\n' | sort -k2n; printf 'a,3\nb,1\n' | sort -t, -k2 -n; printf '3\n\n1\n' | sort -n; printf 'a\0b\0' | sort -z | tr '\0' ' '; echo
### 004 printf  a na nb na n  | uniq  printf  a na nb n  |
printf 'a\na\nb\na\n' | uniq; printf 'a\na\nb\n' | uniq -c; printf 'a\na\nb\n' | uniq -d; printf 'a\na\nb\n' | uniq -u; printf 'a 1\nb 1\n' | uniq -f1; printf 'A\na\n' | uniq -i; printf 'ax\nay\n' | uniq -w1
### 005 seq 5 | head -2  seq 5 | head -n -2  seq 5 | tail
seq 5 | head -2; seq 5 | head -n -2; seq 5 | tail -2; seq 5 | tail -n +4; printf abcdef | head -c 3; echo; printf abcdef | tail -c 2; echo; seq 3 > f; seq 2 > g; head -n1 f g; head -qn1 f g; seq 3 | head -0; tail -1 f
### 006 echo a b c | cut -d  -f2  echo a b c | cut -d  -f1
echo a:b:c | cut -d: -f2; echo a:b:c | cut -d: -f1,3; echo a:b:c | cut -d: -f2-; echo abcdef | cut -c2-4; echo abcdef | cut -c-2,5; printf 'a\tb\n' | cut -f2; echo nodelim | cut -d: -f2; echo nodelim | cut -sd: -f2; echo a:b:c | cut -d: -f3,1 --output-delimiter=-; echo a b | cut -d' ' -f2; echo abc | cut -b1; echo a:b | cut --complement -d: -f1
### 007 echo hello | tr a-z A-Z  echo hello | tr -d l  ech
echo hello | tr a-z A-Z; echo hello | tr -d l; echo aabbcc | tr -s a-c; echo a1b2 | tr -cd 0-9; echo; echo 'a b  c' | tr -s ' ' '\n'; echo abc | tr abc x; echo 'a.b.c' | tr . /; echo Hi | tr '[:upper:]' '[:lower:]'; printf 'a\nb\n' | tr '\n' ,; echo; echo 'a-b' | tr -- - _; echo abc | tr -c 'a\n' x; echo 'x[y]' | tr '[]' '()'
### 008 seq 3  seq 2 4  seq 1 2 7  seq 5 -2 1  seq -w 8 10
seq 3; seq 2 4; seq 1 2 7; seq 5 -2 1; seq -w 8 10; seq -s, 3; seq 0 0.5 1; seq 3 1; seq -f 'n%g' 2; seq 1 0
### 009 echo  a b c  | wc  echo  a b c  | wc -w  printf  a
echo 'a b c' | wc; echo 'a b c' | wc -w; printf 'a\nb' | wc -l; printf abc | wc -c; echo é | wc -m; seq 3 > f; wc -l f; wc f; wc -l < f; seq 2 > g; wc -l f g; wc -lc f
### 010 echo abc | rev  printf  1 n2 n3 n  | tac  printf
echo abc | rev; printf '1\n2\n3\n' | tac; printf 'a\n\nb\n' | nl; printf 'a\n' | nl -ba; printf 'a\nb\n' | cat -n; printf 'abcdefgh\n' | fold -w3; echo 'aa bb cc' | fold -sw5; seq 3 | paste -sd,; seq 4 | paste - -; paste <(seq 2) <(seq 3 4); paste -d: <(seq 2) <(seq 3 4); seq 3 | paste -sd+ | tr + -
### 011 comm < printf  a nb n  < printf  b nc n  comm -12
comm <(printf 'a\nb\n') <(printf 'b\nc\n'); comm -12 <(printf 'a\nb\n') <(printf 'b\nc\n'); comm -23 <(printf 'a\nb\n') <(printf 'b\nc\n'); comm -13 <(printf 'a\nb\n') <(printf 'b\nc\n')
### 012 diff < echo a  < echo b  echo $  diff < printf  a
diff <(echo a) <(echo b); echo $?; diff <(printf 'a\nb\nc\n') <(printf 'a\nx\nc\n'); diff <(printf 'a\nb\n') <(printf 'a\n'); diff <(printf 'a\n') <(printf 'a\nb\nc\n'); diff -q <(echo a) <(echo a); echo $?; echo a > f; echo a > g; diff f g; echo $?; diff f nofile 2>/dev/null; echo $?; cmp f g; echo $?; cmp -s f <(echo b); echo $?
### 013 echo hi | base64  echo aGkK | base64 -d  printf  s
echo hi | base64; echo aGkK | base64 -d; printf '%s' 'user:pass' | base64; base64 -w0 <<< hi; echo; head -c 60 /dev/zero 2>/dev/null | tr '\0' a | base64; echo '!!' | base64 -d 2>/dev/null; echo $?; printf 'aGk=\n' | base64 --decode; echo; printf 'aGVsbG8gd29ybGQ=' | base64 -d; echo
### 014 echo -n a | md5sum  echo -n a | sha1sum  echo -n a
echo -n a | md5sum; echo -n a | sha1sum; echo -n a | sha256sum; sha256sum <<< x | cut -c1-8; echo x > f; sha256sum f; md5sum f > sums; md5sum -c sums; echo y > f; md5sum -c sums 2>/dev/null; echo $?; echo -n a | sha512sum | cut -c1-10
### 015 basename  a b txt  basename  a b txt  txt  basenam
basename /a/b.txt; basename /a/b.txt .txt; basename a/; basename -s .sh x.sh; dirname /a/b; dirname a; dirname /; dirname a/b/; realpath -m /a/../b/./c; mkdir -p d; readlink -f d/../d; realpath d | sed 's#/tmp/snippet#S#'; basename -a x/y z/w
### 016 mkdir d  mkdir d 2> dev null  echo $  mkdir -p d e
mkdir d; mkdir d 2>/dev/null; echo $?; mkdir -p d/e/f; mkdir x/y 2>/dev/null; echo $?; touch d/a d/b; ls d; ls -a d; ls -A d; ls nofile 2>/dev/null; echo $?; ls -d d; ls -1 d/a d/b; rmdir d 2>/dev/null; echo $?; rm d 2>/dev/null; echo $?; rm -r d; ls; rm nofile 2>/dev/null; echo $?; rm -f nofile; echo $?; touch q; mkdir z; ls
### 017 echo a > f  cp f g  cat g  mkdir d  cp f d  cat d
echo a > f; cp f g; cat g; mkdir d; cp f d; cat d/f; cp f d/h; ls d; cp d e 2>/dev/null; echo $?; cp -r d e; ls e; mv f i; ls; mv i d; ls d; mv d/f d/h z 2>/dev/null; echo $?; cp nofile x 2>/dev/null; echo $?; mv nofile x 2>/dev/null; echo $?; mkdir t; mv d/* t; ls t; cp t/* e; ls e
### 018 touch a sh b txt  mkdir s  touch s c sh  find   -n
touch a.sh b.txt; mkdir s; touch s/c.sh; find . -name '*.sh' | sort; find . -type f | sort; find . -type d | sort; find . -maxdepth 1 -type f | sort; find s -name c.sh -exec echo found {} \;; find . -name '*.sh' -print0 | sort -z | tr '\0' ' '; echo; find . -name nofile; find . -type f ! -name '*.sh' -not -name snippet.sh; find . \( -name '*.txt' -o -name c.sh \) | sort; find nodir 2>/dev/null; echo $?; find . -name a.sh -delete; ls; find . -iname 'B*'; find s -type f -exec cat {} +
### 019 f=$ mktemp    -f  $f    && echo file  d=$ mktemp -
f=$(mktemp); [ -f "$f" ] && echo file; d=$(mktemp -d); [ -d "$d" ] && echo dir; mktemp ./x.XXXX | sed 's/x\.....$/x.R/'; rm -f ./x.*; rm -rf "$f" "$d"; mktemp -p . t.XXXXX | cut -c1-4; rm -f t.*; mktemp -u /tmp/q.XXXXXX | cut -c1-7
### 020 date -u -d  0  FT TZ  date -u -d  1970-01-01T00 00
date -u -d @0 +%FT%TZ; date -u -d '1970-01-01T00:00:00Z' +%s; date -u -d '1970-01-01 00:00:00 +1 day' +%F 2>/dev/null; date -u -d '2020-02-28 + 2 days' +%F; date -u -d '2020-01-31 12:34:56' '+%Y/%m/%d %H-%M-%S %j %u %a %b %e %y %I %p %Z %z %s %n%t%%'; date -u -d '@1600000000' +%c; date -u -d '2020-01-01 1 month ago' +%F; date -u -d nonsense 2>/dev/null; echo $?; date -u -d @1.5 +%N; date -u -d 2021-03-04T05:06:07+02:00 +%FT%T; date -u -d '2020-01-01' -Iseconds; date -u -d '2020-01-01' +%U%V%G; date -u -d '2020-05-06 UTC' +%-d.%-m; date -u -d @0 -R; date -u -d @86399 +%T
### 021 $ date  s  -gt 1600000000   && echo now  date  Y
[ $(date +%s) -gt 1600000000 ] && echo now; date +%Y | grep -cE '^20[0-9]{2}$'; date -u -d 'now' +%Z; [ "$(date -d '1 day ago' +%s)" -lt "$(date +%s)" ] && echo past; date -u -d '2020-01-01 10:00 + 90 minutes' +%R
### 022 env A=1 printenv A  env -i B=2 env  printenv nothi
env A=1 printenv A; env -i B=2 env; printenv nothing_z; echo $?; X=1 env | grep '^X='; env -u HOME printenv HOME; echo $?; export Q=q; printenv Q; env nosuch_cmd 2>/dev/null; echo $?; env bash -c 'echo $0 $1' a b; A=b envsubst <<< 'x $A ${A}y $none.' 2>/dev/null | head -1 | grep -c . ; true
### 023 echo  a b c  | xargs -n1 echo  echo a b | xargs -I
echo "a b c" | xargs -n1 echo; echo a b | xargs -I{} echo "<{}>"; printf 'a b\nc\n' | xargs -I{} echo "[{}]"; echo 'a "b c" d\ e' | xargs -n1; printf 'a\0b c\0' | xargs -0 -n1 echo; echo | xargs echo none; xargs -r echo never < /dev/null; seq 5 | xargs -n2 echo; echo a | xargs false; echo $?; echo a | xargs nosuch_c 2>/dev/null; echo $?; seq 3 | xargs; printf '1\n2\n' | xargs -L1 echo l; echo x,y | xargs -d, -n1 echo; seq 3 | xargs -P2 -n1 echo | sort; seq 2 | xargs -I% sh -c 'echo "sh %"'; echo hi | xargs bash -c 'echo "$0"'
### 024 timeout 1 echo t  timeout 0 05 sleep 5  echo $  ti
timeout 1 echo t; timeout 0.05 sleep 5; echo $?; timeout 5 bash -c 'exit 3'; echo $?; timeout 0.1 bash -c 'while :; do :; done'; echo $?; sleep 0; sleep 0.01s; echo $?; timeout 1 nosuch_c 2>/dev/null; echo $?; sleep x 2>/dev/null; echo $?
### 025 whoami  id -u  id -un  uname  test -n  $ hostname
whoami; id -u; id -un; uname; test -n "$(hostname)" && echo host; true; echo $?; false; echo $?; nproc >/dev/null; echo $?; tty; echo $?; yes n | head -2; which cat | grep -c cat; which nosuch_c; echo $?
### 026 echo x > f  stat -c  s f  stat -c  n  F  a  f  sta
echo x > f; stat -c %s f; stat -c '%n %F %a' f; stat -c %F .; chmod 600 f; stat -c %a f; chmod u+x f; stat -c %a f; chmod a-r f; stat -c %a f; chmod go=rx f; stat -c %a f; stat nofile 2>/dev/null; echo $?; touch -d @1000 f; stat -c %Y f; truncate -s 2 f; stat -c %s f; chmod +x f; [ -x f ] && echo x; touch new; touch -c none; [ -e none ] || echo no
### 027 expr 5   3  expr 10 - 4   2  expr   1   2     3  e
expr 5 + 3; expr 10 - 4 \* 2; expr \( 1 + 2 \) \* 3; expr a = a; expr a \< b; expr abc : '.*'; expr abcd : 'ab\(.\)'; expr substr hello 2 3; expr index hello l; expr 5 % 3; expr 0; echo $?; expr "" ; echo $?; expr 1 / 0 2>/dev/null; echo $?; expr 3 '>' 2 '&' 1
### 028 printf  a b nccc d n  | column -t  printf  a b nc
printf 'a b\nccc d\n' | column -t; printf 'a:b\nc:dd\n' | column -t -s:; printf 'a\tb\n' | expand -t4; printf '%s\n' x y | tee f | tr x z; cat f; echo more | tee -a f > /dev/null; cat f; cat f - < f | wc -l
### cat of the file that it writes
echo a > f; cat f > f; echo "$? $(cat f)"; echo a > f; cat f >> f 2>/dev/null; echo $?; cat < f >> f 2>/dev/null; echo $?; echo b > g; (echo x; cat < g) > g 2>/dev/null; echo "$? $(cat g)"
echo b > g; cat g f >> g 2>/dev/null; echo "$?"; cat g; cat -n f >> f 2>/dev/null; echo $?; cat f nofile > h 2>/dev/null; echo "$? $(cat h)"; cat - < f > h; cat h; : > e; cat e >> e; echo $?
### wc of a file
printf 'a b\n' > f; wc < f; wc - < f; wc -lw < f; cat f | wc -lw; wc f -  < f
### zones
TZ=UTC date -d @0 +%H; TZ=UTC0 date -d @0 +%H; date -u -d @0 +%H
### zones that are not known refused: only UTC is supported
TZ=Europe/Berlin date -d @0 +%H
### zones of printf refused: only UTC is supported
TZ=Asia/Tokyo; printf '%(%H)T\n' 0
