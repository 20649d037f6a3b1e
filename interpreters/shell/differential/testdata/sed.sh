### 001 sed -n  2 3p  <<< $ a nb nc nd  sed  b d  <<< $ a
sed -n '2,3p' <<< $'a\nb\nc\nd'; sed '/b/d' <<< $'a\nb\nc'; sed '2d' <<< $'a\nb\nc'; sed '$d' <<< $'a\nb'; sed -n '$p' <<< $'a\nb'; sed -n '/a/,/c/p' <<< $'a\nb\nc\nd'; sed '1!d' <<< $'a\nb'; sed -n '1~2p' <<< $'a\nb\nc'; sed '2q' <<< $'a\nb\nc'; sed '/b/q5' <<< $'a\nb\nc'; echo $?
### 002 sed  s a b  <<< aaa  sed  s a b g  <<< aaa  sed  s
sed 's/a/b/' <<< aaa; sed 's/a/b/g' <<< aaa; sed 's/a/b/2' <<< aaa; sed 's/a/b/2g' <<< aaaa; sed -n 's/a/b/p' <<< $'a\nc'; sed 's/A/b/I' <<< aa; sed 's/\(a\)\(b\)/\2\1/' <<< ab; sed -E 's/(a)(b)?/[\1\2]/g' <<< 'ab a'; sed 's/a*/x/g' <<< baac; sed 's|/|-|g' <<< a/b/c; sed 's/[&]/\&\&/' <<< 'a&b'; sed 's/b/[&]/' <<< abc
### 003 sed  b d  s a &  <<< $ abc nb nad  sed -e  s a 1
sed '/b/d; s/a\(.\)*/[&]/' <<< $'abc\nb\nad'; sed -e 's/a/1/' -e 's/b/2/' <<< ab; sed 's/x/y/;s/y/z/' <<< x; sed -n '/a/{s/a/b/;p}' <<< $'a\nc'; sed '/a/!s/b/c/' <<< $'ab\nb'; sed 's/.*/"&"/' <<< q; sed "s/\$/!/" <<< end; sed 's/^/> /' <<< $'a\nb'; sed 's/ *$//' <<< 'a  '
### 004 sed  a after  <<< x  sed  i before  <<< x  sed  c
sed 'a after' <<< x; sed 'i before' <<< x; sed 'c changed' <<< $'x\ny'; sed '1a\
multi\
line' <<< x; sed '/b/i\  indented' <<< $'a\nb'; sed '2c new' <<< $'a\nb\nc'; sed '$a end' <<< $'a\nb'; sed '1,2c both' <<< $'a\nb\nc'
### 005 echo x > f  sed -i  s x y  f  cat f  sed -i bak  s
echo x > f; sed -i 's/x/y/' f; cat f; sed -i.bak 's/y/z/' f; cat f f.bak; sed -i '1i top' f; cat f; sed -i '/top/d' f; cat f; sed -i 's/q/r/' nofile 2>/dev/null; echo $?; printf 'a\nb\n' > g; sed -i -e '/a/d' -e 's/b/c/' f g; cat f g; sed -n 'w out' g; cat out; sed '1r g' f
### 006 sed  N s n -  <<< $ a nb nc  sed -n  H $ x s n g p
sed 'N;s/\n/-/' <<< $'a\nb\nc'; sed -n 'H;${x;s/\n/,/g;p}' <<< $'a\nb'; sed 'G' <<< $'a\nb'; sed -n '1!G;h;$p' <<< $'a\nb\nc'; sed '$!N;P;D' <<< $'a\nb\nc'; sed ':a;N;$!ba;s/\n/ /g' <<< $'a\nb\nc'; sed 'x;1d' <<< $'a\nb'; sed 'n;d' <<< $'a\nb\nc\nd'; sed -n '$=' <<< $'a\nb\nc'; sed = <<< $'a\nb'
### 007 sed  y abc xyz  <<< aabbcc  sed  s U&  <<< abc  se
sed 'y/abc/xyz/' <<< aabbcc; sed 's/.*/\U&/' <<< abc; sed 's/\w\+/\u&/g' <<< 'foo bar'; sed -E 's/(.)(.*)/\U\1\E\2/' <<< abc; sed 's/X/\n/' <<< aXb; sed 's/\t/T/' <<< $'a\tb'; sed -E 's/\s+/ /g' <<< $'a  \t b'; sed 's/[0-9]\{2,\}/N/g' <<< 'a1b22c333'; sed -E 's/[[:space:]]+$//' <<< 'x  '; sed -E 's/^([^=]+)=(.*)$/\2=\1/' <<< k=v
### 008 sed -n  start end start d end d p  <<< $ x nstart
sed -n '/start/,/end/{/start/d;/end/d;p}' <<< $'x\nstart\na\nb\nend\ny'; sed '/^#/d;/^$/d' <<< $'#c\n\nk'; sed '0,/a/s//X/' <<< $'a\na'; sed '2,$s/a/b/' <<< $'a\na'; sed '1,/b/d' <<< $'a\nb\nc'; sed -n '2{p;q}' <<< $'a\nb\nc'; sed '2,+1d' <<< $'a\nb\nc\nd'; sed -s -n '1p' <(echo a) <(echo b); sed -z 's/\n/,/g' <<< $'a\nb'; sed -n '/a/I p' <<< A 2>/dev/null; echo $?
### 009 sed  s 1 < 1> g  <<< aabccd  sed -E  s ab 1 X  <<<
sed 's/\(.\)\1/<\1>/g' <<< aabccd; sed -E 's/(ab)\1/X/' <<< abab; sed 's/a\|b/x/g' <<< abc; sed 's/a\+/x/' <<< baac; sed 's/a\?b/x/' <<< ab; sed 's/\./-/g' <<< a.b; sed 's/[.]/-/g' <<< a.b; sed 's/a.c/x/' <<< abc; sed 's/\//|/' <<< a/b; sed 's,a\,b,x,' <<< 'a,b'; sed -E 's/a{2}/x/' <<< aaa; sed 's/\bfoo\b/bar/' <<< 'foo foobar'; sed 's/\<f/F/g' <<< 'foo of'
### 010 sed  k  <<< x 2> dev null  echo $  sed  s a  <<< x
sed 'k' <<< x 2>/dev/null; echo $?; sed 's/a' <<< x 2>/dev/null; echo $?; sed 's/\(/x/' <<< x 2>/dev/null; echo $?; sed nofile_script_x 2>/dev/null <<< x; echo $?; printf 'no newline' | sed 's/no/a/'; echo; printf 'a\nb' | sed '$s/$/!/'; echo; sed -n l <<< $'a\tb'; sed --expression='s/a/b/' <<< a; sed -E -n 's/.*v([0-9]+).*/\1/p' <<< 'xv12y'; sed 's/%/\&amp;/g' <<< 50%; x='a/b'; sed "s|X|$x|" <<< X; sed -e ':l' -e 's/^\(.\{1,3\}\)$/0\1/;tl' <<< 7
### 011 sed  a b s x  <<< $ a nb  sed -n  b g p h  <<< $ a
sed '/a/b;s/^/x/' <<< $'a\nb'; sed -n '/b/{g;p};h' <<< $'a\nb'; sed 's/a/b/w o' <<< a; cat o; sed '/x/,$d' <<< $'a\nx\nb'; sed '$!d' <<< $'a\nb'; sed -n '2!p' <<< $'a\nb\nc'; sed 's/\(^\|[^0-9.]\)\([0-9]*\)\([0-9]\{3\}\)/\1\2,\3/g' <<< 1234567; sed "s/'/\"/g" <<< "it's"; sed 's/"//g' <<< '"q"'; sed 's/}/]/;s/{/[/' <<< '{a}'
