### read basics
read -r a b c <<< "1 2 3 4"; echo "$a|$b|$c"; read a b <<< 'x\ y z'; echo "$a|$b"; read -r a b <<< 'x\ y z'; echo "$a|$b"; IFS=, read -r a b c <<< "a,,c,d"; echo "$a|$b|$c"; IFS=, read -ra arr <<< "a,b,,c,"; declare -p arr; read -r -d '' x <<< $'a\nb'; echo "$? [$x]"; read -r -n 3 x <<< abcdef; echo "$x"; read -r -N 3 x <<< abcdef; echo "$x"; read -r -d : x <<< a:b; echo $x
### read ifs edge
IFS=: read -r a b <<< "a:b:"; echo "$a|$b"; IFS=: read -r a b <<< "a:b::"; echo "$a|$b"; IFS=' :' read -r a b c <<< " a : b :: c "; echo "$a|$b|$c"; IFS= read -r l <<< "  x  "; echo "[$l]"; read -r l <<< "  x y  "; echo "[$l]"; IFS=: read -r x <<< "a:b:"; echo "$x"; IFS=: read -r x <<< "a:"; echo "$x"; read <<< "  r s "; echo "[$REPLY]"
### read eof
printf 'no newline' | { read -r x; echo "$? $x"; }; read -r x < /dev/null; echo "$? [$x]"; printf 'a\nb' | while read -r l; do echo "<$l>"; done; printf 'a\nb' | while read -r l || [[ -n $l ]]; do echo "<$l>"; done
### read -t
read -t 0.1 x < <(sleep 1); echo "$(( $? > 128 ))"; read -t 1 x <<< y; echo "$? $x"; read -t 0 < /dev/null; echo $?
### read -u
exec 5< <(printf 'a\nb\n'); read -u 5 x; read -u 5 -r y; echo $x $y; read -u 5 z; echo $?; exec 5<&-; read -u 5 q 2>/dev/null; echo $?
### read -a -p -s -e
read -p 'prompt' -s x <<< v; echo $x; read -ra a < <(echo 1 2 3); echo ${#a[@]}; read -a a -r <<< 'a\b'; echo ${a[0]}; read -i text x <<< ''; echo "[$x]"
### read invalid
read 1x <<< a; echo $?; read a-b <<< a; echo $?; read 'a[1]' <<< q; echo ${a[1]}; read -q x <<< a; echo $?
### read backslash continuation
printf 'a\\\nb\nc\n' | { read x; echo "$x"; read -r y; echo "$y"; }; printf 'a\\\nb\n' | { read -r x; echo "$x"; }
### mapfile
mapfile -t a < <(printf '1\n2\n3\n'); echo "${a[@]}"; mapfile -t -s 1 -n 1 a < <(printf '1\n2\n3\n'); declare -p a; mapfile -t -O 5 a < <(printf 'x\n'); declare -p a; mapfile -d : a <<< 'p:q:r'; declare -p a; mapfile -td '' a < <(printf 'x\0y\0'); declare -p a; mapfile a <<< $'l1\nl2'; declare -p a; mapfile <<< z; echo "${MAPFILE[0]}"
### mapfile callback
cb() { echo "cb $1 $2"; }; mapfile -t -C cb -c 2 a < <(seq 5); echo "${#a[@]}"
### mapfile -u
exec 4< <(seq 3); mapfile -t -u 4 a; echo "${a[*]}"
### process subst
diff <(echo a) <(echo a) && echo same; cat <(echo 1) <(echo 2); tee >(tr a-z A-Z > up) <<< hello > low; sleep 0.1; cat up low; paste -d, <(seq 2) <(seq 3 4); while read -r a b; do echo $b $a; done < <(echo x y); comm -12 <(printf 'a\nb\n') <(printf 'b\nc\n')
### process subst in function
f() { cat "$1"; }; f <(echo hi); g() { while read -r l; do echo "g:$l"; done < "$1"; }; g <(seq 2); [[ -e <(true) ]] && echo e; [[ -p <(true) ]] && echo p; wc -l < <(seq 3)
### printf formats
printf '%s\n' a b c; printf '%s-%s\n' a b c; printf '%d %i %u %o %x %X\n' 10 10 10 10 255 255; printf '%5s|%-5s|%05d|%+d|% d\n' a b 3 4 5; printf '%.3s|%10.2s|\n' abcdef xyz; printf '%c%c\n' abc xyz; printf '%%|%5%|\n'; printf '%e %f %g %G\n' 1234.5 1.5 0.0001 1e10; printf '%*d|%-*d|\n' 5 42 5 42; printf '%.*f\n' 2 3.14159; printf '%b\n' 'a\tb\x41\0101\u00e9'; printf '%q %q %q\n' 'a b' "it's" ''; printf '%q\n' $'a\nb' '*' '~x' 'a~' '#a' 'a#' '{a,b}' 'é' '$x' 'a=b' '!'; printf '%(%Y)T\n' 0; printf '%s' ; echo "[$(printf '%d')]"; printf '%d\n' "'a" '"b' 0x1F 010 -5 +3; printf '\x41\101\u0041\n'; printf -- '-%s\n' x; printf '%s %s\n' only; printf 'no args\n' extra; printf '%ld %lld %hd\n' 1 2 3
### printf errors
printf '%d\n' abc; echo $?; printf '%d\n' 12abc; echo $?; printf '%z\n' x; echo $?; printf; echo $?; printf '%d\n' 99999999999999999999; echo $?; printf '%d\n' ''; echo $?; printf '%f\n' x; echo $?; printf '%s %d\n' a b c 4; echo $?; printf '%' ; echo $?; printf 'abc%' ; echo $?; printf '%5' ; echo $?; printf '%x\n' -1; printf '%u\n' -1
### printf -v
printf -v x '%03d' 7; echo $x; printf -v 'a[2]' q; declare -p a; declare -A m; printf -v 'm[k x]' v; declare -p m; printf -v x ''; echo "[$x]"; printf -v 1x a; echo $?; printf -v x '%s\n' a b; echo "$x"
### printf q extended
printf '%q\n' "a'b\"c" $'\e[0m' $'\t' 'a\b' 'a;b' 'a&b' 'a|b' '(x)' '<a>' '[a]' 'a?b' 'a^b' 'a%b' 'a@b' 'a:b' 'a,b' 'a/b' 'a+b' 'a-b' 'a.b' 'a_b' '`x`' $'\x01\x7f' $'\xff' ' '; printf '%10q|\n' 'a b'; printf '%Q|%.3Q\n' 'a b' 'abcdef'
### at Q
x='a b' y="it's" z=$'l1\nl2' e=; echo "${x@Q} ${y@Q} ${z@Q} ${e@Q}"; a=('a b' c); echo "${a[@]@Q}"; unset u; echo "[${u@Q}]"; set -- 'p q' r; echo "${@@Q}" "${*@Q}"; echo "${x@U} ${x@u} ${x@L} ${x@A} ${x@E}"; declare -r ro=1; echo "${ro@a} ${ro@A}"; declare -A m=([k]='v w'); echo "${m[@]@A}" "${m[@]@K}" "${m[@]@k}" "${m[@]@a}" "${m@a}"; echo "${a[@]@A}" "${a[@]@K}" "${a[@]@a}"; p='\t\$x'; echo "${p@E}"; echo "${a@Q} ${a[1]@Q}"
### at P refused: a hook has no prompt
x='a\$b $HOME'; echo "${x@P}"
### case fallthrough
for x in a b c d; do case $x in a) echo A;& b) echo B;; c) echo C;;& [cd]) echo CD;; *) echo other; esac; done; case x in esac; echo $?; case x in y) false;; esac; echo $?; case x in x) ;; esac; echo $?; case "a b" in a\ b) echo m;; esac; case abc in (a*) echo paren;; esac; case é in ?) echo one;; esac; x='*'; case abc in "$x") echo no;; $x) echo yes;; esac
### case extglob
shopt -s extglob
for x in foo.tar.gz foo.zip bar baz; do case $x in *.@(zip|tar.gz)) echo arc;; !(bar)) echo notbar;; +(a|b|r)) echo abr;; *) echo o;; esac; done
### arithmetic
echo $((1+2*3)) $((2**10)) $((7/2)) $((-7/2)) $((-7%3)) $((1<<4)) $((0x1f)) $((010)) $((2#1010)) $((36#z)) $((64#_)) $((1?2:3)) $((0?2:3?4:5)) $((1,2)) $((!0)) $((~0)) $((5&3|4^1)) $((1==1&&0||1)); x=5; echo $((x++ + ++x)) $x $((x--)) $x $((x+=3)) $((x<<=1)) $x; y='x+1'; echo $((y)) $((y*2)); a=(1 2 3); echo $((a[1]+a[-1])) $((a[x-x])); declare -A m=([k]=7); echo $((m[k])); k=k; echo $((m[$k]+1)); echo $(( 'x' )) 2>&1; echo $((x=1,y=2,x+y)); ((x>0)) && echo pos; let x=5+5 y=x*2; echo $x $y; echo $((08)) 2>/dev/null; echo $?
### arithmetic errors refused: must be followed by an expression
(echo $((1/0))); echo $?; (echo $((1+))); echo $?; (echo $((a b))); echo $?; (let 'x=1/0'); echo $?; ((1/0)); echo $?; echo $((2**-1)); echo after $?
### arithmetic overflow
echo $((9223372036854775807+1)) $((-9223372036854775808)) $((9223372036854775808)) $((1<<63)) $((1<<64)) $((-9223372036854775808 / -1)) $((-1>>1)) $((2**63)) $((2**64)) $((99999999999999999999))
### globs
touch a.txt b.txt c.log .hid 'sp ace.txt'; mkdir d; touch d/e.txt; echo *; echo *.txt; echo ?.log; echo [ab].txt; echo [!a].txt; echo [^a]*; echo .*; echo d/*; echo */; echo nomatch*; shopt -s nullglob; echo nomatch* x; shopt -u nullglob; shopt -s dotglob; echo *; shopt -u dotglob; echo "*.txt" '*.txt' \*.txt; x='*.txt'; echo $x "$x"; for f in *.txt; do echo "<$f>"; done; shopt -s globstar; echo **/*.txt; echo **; set -f; echo *; set +f; shopt -s failglob; echo zz* ; echo "failglob $?"
### globs 2
touch a1 a2 b1 'x[1]' 'y*z' A1; echo [a-b]1; echo *[1-2]; echo [[:lower:]]*; echo x\[*; echo 'y*'z; echo y\*z; echo "x["*; echo {a,b}*; echo [[:digit:]]*; echo a[12]; echo a[!1]; shopt -s nocaseglob; echo a1*; GLOBIGNORE='a*'; echo *1
### extglob
shopt -s extglob
touch a ab abb b bb c; echo a*(b) ; echo a+(b); echo a?(b); echo @(a|b); echo !(a*); x=aabbcc; echo ${x##+(a)} ${x%%+(c)} ${x//+(b)/X} ${x/@(a|b)/Y}; [[ abab == +(ab) ]] && echo y; [[ foo == !(bar) ]] && echo n; [[ abc == *(a|b|c) ]] && echo z
### brace expansion
echo {a,b,c} {1..5} {5..1} {a..e} {1..10..3} {10..1..3} {01..10} {a,b}{1,2} x{,y} {a,{b,c}} {a} {} {a,} {,} {1..} {a..1} "{a,b}" '{a,b}' \{a,b\} {a\,b,c} $HOME/{x,y} {$x,y} a{b,c}d{e,f} {-5..5..5} {1..3}{a..b} {z..w} {A..c..20} {1.5..2}; x={a,b}; echo $x; echo {"a b",c}; echo {a,b}{,}; echo ${x:-{a,b}}; echo a{1..2}b{3..4}
### quoting in subst
x='a/b/c'; echo ${x/\//_} ${x//\//_} ${x//"/"/_} "${x//\//\\}" ${x/b/"B C"} "${x/b/"B C"}" "${x/b/'q'}" ${x/b/'q r'} ${x//[ab]/\&} ${x//[ab]/&&} "${x//[ab]/[&]}" "${x//b/\"}" ; y='it'"'"'s'; echo "${y//\'/Q}" "${y//"'"/\'}" ${y//\'/}; s="a'b"; echo "${s/\'/\\\'}"; z='a*b?c'; echo "${z//\*/S}" "${z//[*?]/_}" "${z/'*'/S}" ; w='x y  z'; echo ${w// /} "${w// /_}" "${w//  / }"; p='$v'; v=val; echo "${p/\$v/$v}" "${p/'$v'/$v}"; e=abc; echo ${e/#a/X} ${e/%c/X} ${e/#c/X} ${e/#/X} ${e/%/X} ${e//?/X} ${e/*/X}; u='&'; echo "${e/b/$u}" "${e/b/"$u"}" "${e/b/\\&}"; shopt -u patsub_replacement; echo "${e/b/<&>}"
### substring
x=abcdefg; echo ${x:2} ${x:2:3} ${x: -3} ${x: -3:2} ${x:(-3)} ${x:1:-1} ${x:0} ${x:10} ${x:2:0} "${x: -10}|"; a=(1 2 3 4 5); echo ${a[@]:1:2} ${a[@]: -2} ${a[@]:2} ; set -- a b c d; echo ${@:2} ${@:2:2} ${@: -1} "${@:0:1}" ${*:1:2}; n=2; echo ${x:n} ${x:n+1:n} ${x:$n:1} ${x:n?1:2}
### defaults
unset u; e=; s=v; echo ${u-d} ${u:-d} ${e-d} ${e:-d} ${s+a} ${e+a} ${e:+a}x ${u+a}x; echo ${u:=new} $u; echo "${e:="q r"}"; (echo ${z?msg}) ; (echo ${z:?}); echo "${s:-"x"}" "${u2:-a b}" ${u2:-'a  b'} ${u2-$(echo c)} "${u2:-'x'}" "${u2:-\"x\"}"; echo ${#s} ${#u2} ${#}; echo "${u2:-${u3:-deep}}" "${u2:-}" "${u2-}"
### remove
x=/usr/local/lib/foo.tar.gz; echo ${x##*/} ${x#*/} ${x%/*} ${x%%/*}x ${x%.*} ${x%%.*} ${x##*.} ${x#/usr} ${x%"gz"} ${x#"$HOME"}; a=(a.x b.y); echo "${a[@]%.*}" "${a[@]#?}"; set -- foo.c bar.c; echo "${@%.c}" "${*/%.c/.o}"
### case conv
x='hello World'; echo ${x^} ${x^^} ${x,} ${x,,} ${x^^[lo]} "${x^h}"; a=(foo bar); echo ${a[@]^} ${a[@]^^}
### indirect
a=b; b=c; c=d; echo ${!a} ; arr=(x y); r='arr[1]'; echo ${!r}; r='arr[@]'; echo "${!r}" ; set -- p q; i=2; echo ${!i} ${!#}; echo ${!a*} ; unset n; echo "${!n-unset}" 2>&1; p=a1; a1=v; echo "${!p:-x}" "${!p/v/w}" "${!p^}"; pre_a=1 pre_b=2; echo ${!pre_@} "${!pre_*}"
### getopts
f() { local OPTIND o; while getopts ':ab:c' o "$@"; do case $o in a|c) echo "opt $o";; b) echo "b=$OPTARG";; :) echo "missing $OPTARG";; \?) echo "bad $OPTARG";; esac; done; shift $((OPTIND-1)); echo "rest $*"; }; f -a -b x y; f -ab val -- -c; f -b; f -z q; f -acb1 r; f a -b
### getopts 2
while getopts 'a:b' o -a 1 -b -x 2>/dev/null; do echo "$o ${OPTARG-none} $OPTIND"; done; echo $? $o; OPTIND=1; set -- -b -a; while getopts a:b o 2>&1; do echo "$o"; done
### exec redirections
exec 3>&1 > out; echo hidden; exec >&3 3>&-; echo shown; cat out; exec 4< out; read -r x <&4; echo "$x"; exec 4<&-; exec 5> f5; echo a >&5; echo b >&5; exec 5>&-; cat f5; exec 6>> f5; echo c >&6; exec 6>&-; cat f5; exec 2> err; ls nofile; exec 2>&1; wc -l < err; { echo x >&7; } 7> f7; cat f7; exec {fd}> ff; echo y >&$fd; exec {fd}>&-; cat ff; exec 8<> f7; read -r z <&8; echo "z=$z"; echo more >&8; cat f7
### exec bad
exec 3< nofile; echo "after $?"; exec nosuch_zz; echo not
### exec in subshell
(exec > o; echo in); echo out; cat o; (exec echo replaced; echo no); x=$(exec echo y); echo $x
### select refused refused: select needs a terminal
select x in a b; do echo; done
### coproc refused refused: coproc is not supported
coproc cat; echo
### tempenv builtins
V=o; V=b readonly V; echo $V
W=o; W=b declare W; echo $W; W=c declare -x W; echo $W; bash -c 'echo ${W-no}'; W=f export W=g; echo $W; W=h unset W; echo ${W-un}; W=o; W=i read W <<< z; echo $W; W=j printf -v W q; echo $W; W=k let W=5; echo $W; W=l eval 'W=m'; echo $W
f() { X=t export X; echo $X; }; X=g; f; echo $X; g() { local Y=l; Y=t export Y; echo $Y; }; Y=g; g; echo $Y; bash -c 'echo ${X-nx} ${Y-ny}'; h() { Z=t local Z; echo ${Z-un}; }; Z=g; h; echo $Z
N=n1 export M; echo ${N-un} ${M-unm}; N=n2 . /dev/null; echo ${N-un}; N=n3 cd .; echo ${N-un}; N=n4 true; echo ${N-un}
### tempenv sequence
A=1 B=$A bash -c 'echo $B'; A=2 B=${A}x C=$B bash -c 'echo $C'; A=9; A=3 B=$A eval 'echo $B'; A=a A=${A}b bash -c 'echo $A'; f() { echo $1 $P; }; P=1 f $P; A=5 echo $A; IFS=: eval 'set -- $X'; A+=x bash -c 'echo $A'; echo $A
### local export
export x=1; f() { local x; x=2; bash -c 'echo ${x-unset}'; local y=3; bash -c 'echo ${y-unset}'; }; f; bash -c 'echo $x'; declare -x z=1; g() { local z=5 ; bash -c 'echo $z'; }; g; declare -i n=1; h() { local n=2+3; echo $n; }; h
### bash exits
bash -c 'echo ${x?}' 2>/dev/null; echo $?; bash -c 'echo $((1/0))' 2>/dev/null; echo $?; bash -uc 'echo $x; echo no' 2>/dev/null; echo $?; bash -c 'readonly r=1; r=2; echo no' 2>/dev/null; echo $?; bash -c '. /nofile; echo yes' 2>/dev/null; echo $?; bash -c 'nosuch_q' 2>/dev/null; echo $?; bash -c 'if' 2>/dev/null; echo $?; bash -c 'exit 300'; echo $?; bash -c 'return 3' 2>/dev/null; echo $?; bash -c 'false'; echo $?; bash -c ''; echo $?; sh -c 'exit 3'; echo $?; bash nofile 2>/dev/null; echo $?; bash . 2>/dev/null; echo $?; echo 'exit 4' > s; bash s; echo $?; ./s 2>/dev/null; echo $?; chmod +x s; ./s; echo $?; bash -c 'set -u; f() { echo $zz; }; f' 2>/dev/null; echo $?; echo 'echo $zz' | bash -u 2>/dev/null; echo $?; echo 'set -u; echo $zz' > t; bash t 2>/dev/null; echo $?; bash -uc '(echo $zz); echo $?' 2>/dev/null
### bash -s
echo 'echo "$1-$2-$#"' | bash -s a b; echo 'echo "$0"' | bash; bash -s -- x < <(echo 'echo $1'); bash -c 'echo $-' | tr -d hBcs; bash -ex -c 'true' 2>/dev/null; bash -o pipefail -c 'false | true'; echo $?; bash +e -c 'echo ok'; bash -xc 'echo hi' 2>&1; bash --norc -c 'echo norc'; bash -lc 'echo login' 
### quoted backquotes
echo "`echo \"a  b\"`" `echo "a  b"` "`echo 'a"b'`" "`echo \\"x\\"`" "`echo \$((1+1))`" "`echo "in \`echo "deep"\`"`"; x="`printf '%s' \"q\"`"; echo "$x"; cat <<E
`echo \"h\"` `echo "h2"`
E
### subshell levels
echo a | (echo $BASH_SUBSHELL; (echo $BASH_SUBSHELL)); (echo $BASH_SUBSHELL) | cat; { echo $BASH_SUBSHELL; } | cat; (echo $BASH_SUBSHELL) & wait; { echo $BASH_SUBSHELL; } & wait; echo $BASH_SUBSHELL & wait; cat <(echo $BASH_SUBSHELL); x=$(echo a | (echo $BASH_SUBSHELL)); echo $x; f() (echo $BASH_SUBSHELL); f; f | cat; if true; then echo $BASH_SUBSHELL; fi | cat; x=$( (echo $BASH_SUBSHELL) ); echo $x
### dirs
cd /; mkdir -p /tmp/dd/e; pushd /tmp >/dev/null; pushd dd; dirs; dirs -p; dirs -v; dirs -l; pushd; popd; popd; echo ${DIRSTACK[@]}; dirs -c; dirs; popd 2>/dev/null || echo empty; pushd 2>/dev/null || echo noother; rm -r /tmp/dd
### printf T
TZ=UTC printf '%(%Y-%m-%d %H:%M:%S %j %a %b %e %p %I %y %Z %z %s %u %%)T\n' 1700000000; printf '%(%F %T)T|%(%D)T|%(%R)T|%(%c)T|%(%x)T|%(%X)T\n' 0 0 0 0 0 0; printf '%(%s)T\n' 5; printf '%(x%Qy)T\n' 0; printf '%10(%Y)T|\n' 0
### lastpipe and others
shopt -s lastpipe; echo a | read x; echo $x; printf '1\n2\n' | mapfile -t m; echo ${#m[@]}; echo q | while read -r l; do v=$l; done; echo $v; set -e; false | true; echo ok; true | false || echo or; f() { echo x | return 3; echo "no $?"; }; f; echo y | { read z; }; echo $z; echo 1 | exit 5; echo never
### nullglob failglob nocase
shopt -s nullglob; a=(*.nope); echo ${#a[@]}; for f in *.nope; do echo no; done; echo x*.nope y; cat *.nope < /dev/null; shopt -u nullglob; shopt -s failglob; (echo *.nope; echo no) 2>/dev/null; echo $?; echo *.nope 2>/dev/null; echo "never on this line"
echo "next $?"; for f in *.nope; do :; done 2>/dev/null; echo x
### glob hidden and classes
touch .a b.c '-x' 'a b' 'q?'; mkdir -p .h v/u; touch v/.z v/u/y; echo * .* v/* v/.* */ v/*/* ./-*; echo [![:alpha:]]* ; echo *' '*; echo q\?; echo 'q?'*; echo *\?; for f in ./*; do echo "$f"; done; x=v; echo $x/*; y='*'; echo v/$y "v/$y"; echo v/"*"; echo {v,x}/*; echo ~/nosuch*; echo /tmp/nosuch[a; echo v/[u]; echo [; echo []; echo [a
### nocasematch case
shopt -s nocasematch; x=ABC; [[ $x == a* ]] && echo 1; case $x in abc) echo 2;; esac; [[ $x =~ b ]] && echo 3; echo ${x/b/z} ${x#a} ${x%c}; [[ a < B ]] && echo 4; [ $x = abc ] || echo 5; echo ${x//[a-b]/-}; echo ${x,,[a]} 
### param errors
(echo ${x:?}) 2>/dev/null; echo $?; (: ${1:?need}) 2>/dev/null; echo $?; f() { : "${1:?need arg}"; echo no; }; (f) 2>/dev/null; echo $?; ((${x:-0})) || echo z
### read loop with IFS variants
while IFS=$'\t' read -r a b c; do echo "$a|$b|$c"; done <<< $'1\t\t3\n4\t5'; while IFS=, read -r a b c; do echo "$a|$b|$c"; done <<< $'1,,3\n4,5\n,,'; while IFS='|' read -ra f; do echo "${#f[@]}:${f[*]}"; done <<< 'a||b|'; IFS=$'\n' read -rd '' -a l < <(printf 'x y\nz\n'); echo "${#l[@]} ${l[0]}"; IFS=: read -r u _ id rest <<< 'root:x:0:0:root:/root:/bin/bash'; echo $u $id $rest; IFS=' =' read -r k v <<< 'key = val ue'; echo "$k|$v"
### arithmetic with assoc and quotes
declare -A m; m[a]=1; ((m[a]+=2)); ((m[b]++)); k=c; ((m[$k]=5)); echo ${m[a]} ${m[b]} ${m[c]}; ((m["d e"]=1)); echo "${m["d e"]}"; i=3; a=(1 2 3 4); echo $((a[i])) $((a[$i])) $((a[i-1]*2)) ${a[i-1]} ${a[$((i-1))]} ${a[-1]}; ((a[i]++, i++)); echo ${a[3]} $i; x="5 + 5"; echo $((x)) $(($x*2)); echo $(( "3" + '4' )) 2>/dev/null || echo err; n=08; echo $((10#$n)); echo $(( 10#08 + 10#09 )); h=ff; echo $((16#$h)); echo $(( 1 > 0 ? 10 : 20 )) $(( (1,2,3) ))
### nounset and elements in arithmetic
set -u; a=(); ((a[0])); echo ok $?; a=(1); echo $((a[3])); x=5; echo $((x[1])); (unset b; echo $((b[0]+1))); echo $?; (declare -A m; ((m[x]))); echo $?; (declare -a c; ((c[0]))); echo $?; declare -A n=(); ((n[x]++)); echo ${n[x]}; mapfile -t d < /dev/null; ((d[0])); echo $?; (echo ${a[5]}); echo $?; (unset b; ((b[0]++)); echo no); echo $?
### negative index of arrays that are not set
((a[-1])); echo $?; echo $((b[-1])) $?; ((c[${#c[@]} - 1])); echo $?; d=(); ((d[-1])); echo $?; echo "${e[-1]}" $?; ((f[-1] = 3)); echo "$?"; x=5; ((x[-1])); echo $?; ((x[-2])); echo $?; echo $((g[-1] + 1))
### effects in subscripts of arrays that are not set
i=0; echo $((a[i++])) $i; ((b[i++])); echo $i; [[ -v c[i++] ]]; echo $i; echo "${d[i++]}" $i; unset 'e[i++]'; echo $i; x=5; echo $((x[0])) $((x[1])) "${x[0]}"; r='x[0]'; echo "${!r}"
