### plain words
echo a  b   c
### single quotes keep all
echo 'a  $x `y` \n "z"'
### double quotes keep spaces
x='a  b'; echo "$x" $x
### escapes in double quotes
echo "a\$b \`c\` \" \\ \n \a"
### backslash outside
echo a\ b \$x \\ \n \"
### dollar quotes
echo $'a\tb\n\x41\101\u00e9\'q\\'
### dollar quotes with nul
x=$'ab\0cd'; echo "[$x]"
### dollar double quotes
echo $"hello world"
### adjacent quotes join
a=1; echo x"$a"'y'$a"z"
### empty arguments
f() { echo $#; }; f "" '' $u "$u" ''""
### empty in the middle
f() { for a; do echo "[$a]"; done; }; f a "" b
### newline in quotes
echo "line one
line two"
### continued line
echo one \
  two\
three
### continued in double quotes
echo "one\
two"
### single quote inside double
echo "it's" 'say "hi"'
### quote in default
echo "${x:-'a b'}" ${x:-'a b'} "${x:-"q r"}"
### brace in default
echo "${x:-{a}}" ${x:-a\}b}
### tilde
HOME=/h; echo ~ ~/x "~" a~ ~root x=~
### tilde in assignments
HOME=/h; a=~/b:~/c; echo $a
### comment
echo a # b
echo a#b '#c'
### backquotes
echo `echo a` "`echo "b c"`"
### nested backquotes
echo `echo \`echo deep\``
### backquote escapes
x=5; echo `echo \$x` `echo '\\'`
### nested substitution quotes
echo "$(echo "$(echo "a  b")")"
### quotes in substitution in quotes
x="p q"; echo "$(printf '[%s]' "$x" 'r s')"
### glob characters in quotes
touch aa ab; echo a* "a*" 'a*' a\*
### question mark
touch f1 f2 f10; echo f? f??
### bracket glob
touch a1 b2 c3; echo [ab]* [!a]* [a-b]?
### no match stays
echo nothing*here
### star in variable splits and globs
touch x1 x2; p='x*'; echo $p "$p"
### dot files
touch .hid vis; echo *; echo .h*
### IFS colon
IFS=:; x=a:b::c; set -- $x; echo $# "$3" "$4"
### IFS space and colon
IFS=' :'; x=' a : b  c:: d '; set -- $x; for i; do echo "[$i]"; done
### IFS empty
IFS=; x='a b'; set -- $x; echo $#
### IFS unset
unset IFS; x=$'a\tb\nc'; set -- $x; echo $#
### IFS trailing separator
IFS=,; x=a,b,; set -- $x; echo $#; x=,a; set -- $x; echo $#
### IFS star join
IFS=-; set -- a b c; echo "$*" "$@" $*
### at and star
set -- "a b" c; for i in "$@"; do echo "[$i]"; done; for i in "$*"; do echo "[$i]"; done; for i in $@; do echo "[$i]"; done
### at with text around
set -- a b c; for i in "x$@y"; do echo "[$i]"; done
### at without parameters
set --; f() { echo $#; }; f "$@"; f "a$@"; f "$*"
### at in assignment
set -- a b; x="$@"; y=$*; echo "$x|$y"
### slices of parameters
set -- a b c d; echo "${@:2}" "${@:2:2}" "${@: -1}" "${*:1:1}" "${@:0:1}"
### more than nine parameters
set -- 1 2 3 4 5 6 7 8 9 ten; echo ${10} $10
### shift
set -- a b c; shift; echo $1 $#; shift 2; echo "[$1]" $#; shift; echo $?
### unicode length
x=héé; echo ${#x} ${x:1:1}
### escaped newline in word
echo ab\
cd
### quoted at with index
a=("x y" z); printf '<%s>' "${a[@]}" "${a[*]}"; echo
### a star that ends quotes
x="*"; echo "$x"; [[ "$x" == "*" ]] && echo lit; [[ abc == $x ]] && echo pat
### here string quotes
x='a  b'; cat <<< $x; cat <<< "$x"; cat <<< 'c "d"'
### backslash newline in single
echo 'a\
b'
### history sign
echo "hi!" 'a!b' c!
### braces are text
echo {} {a} { a } {a,b {a..} "{a,b}" a{b}c
### braces expand
echo {a,b}c x{1,2}{y,z} {1..5} {5..1..2} {a..e} {01..03} {-1..1} {,x}
### braces with variables
n=3; echo {1..$n} {$n,b}
### nested braces
echo {a,b{1,2},c} {{x,y},z}
### braces in quotes
echo {"a b",c} '{a,b}'
### printf of empty array
a=(); printf '<%s>\n' "${a[@]}"
### eval quoting
x='echo "a  b"'; eval "$x"; eval $x
### word with equals
echo a=b c=$HOME "d=$((1+1))"
### dollar alone
echo $ "$" a$ $% '$'
### colon command
: ${x:=v}; echo $x
