### 001 fields
printf 'a b c\nd e f\n' | awk '{print $1, $3}'; echo "a:b" | awk -F: '{print $2}'; echo "a, b,c" | awk -F', *' '{print $2 "-" $3}'; echo 'x  y' | awk '{$2="z"; print; print NF}'; echo 'a b c' | awk '{$5="e"; print; NF=2; print}'; echo 'a b' | awk '{print $NF, $(NF-1)}'
### 002 patterns
seq 1 10 | awk 'NR==2, NR==4'; seq 1 5 | awk '$1 > 3'; printf 'ab\ncd\n' | awk '/c/'; printf 'ab\ncd\n' | awk '!/c/'; seq 3 | awk 'END {print NR}'; seq 3 | awk 'BEGIN {s=1} {s*=$1} END {print s}'; printf 'a\nb\n' | awk '$0 ~ "^b$" {print "found " $0}'
### 003 numbers
awk 'BEGIN {print 1e6, 0.1+0.2, 100000000, 1/3, 2^10, -2^2, 7%3, -7%3, 1e300*1e10, 3.0, "3.0"+0, "3x"+1, 017, 1e-5}'
### 004 strings
awk 'BEGIN {print length("abc"), substr("hello", 2, 3), substr("hello", 0), index("foobar", "bar"), toupper("aB"), tolower("AB")}'
awk 'BEGIN {s = "aaa"; n = gsub(/a/, "b", s); print n, s; t = "hello"; sub(/l+/, "[&]", t); print t; u = "a.b.c"; gsub(/\./, "\\&", u); print u}'
awk 'BEGIN {print match("foobar", /o+/), RSTART, RLENGTH; print match("x", /y/), RSTART, RLENGTH}'
### 005 split and arrays
awk 'BEGIN {n = split("a b c", x); print n, x[1], x[3]; n = split("a:b", y, ":"); print n, y[2]; delete x[1]; print (1 in x), (2 in x); for (k in y) c++; print c; split("", y); print length(y)}'
printf 'b 1\na 2\nb 3\n' | awk '{s[$1] += $2} END {for (k in s) print k, s[k]}' | sort
awk 'BEGIN {a["x", "y"] = 1; if (("x", "y") in a) print "in"; for (k in a) {split(k, p, SUBSEP); print p[1] p[2]}}'
### 006 printf
awk 'BEGIN {printf "%d|%5d|%-5d|%05d|%x|%o|%c|%c|%s|%.2f|%e|%g|%%\n", 3.9, 42, 42, 42, 255, 8, 65, "hello", "s", 3.14159, 12345.678, 0.0001}'
awk 'BEGIN {printf "%5.1f|%-8s|%8s|%.2s\n", 2.25, "ab", "cd", "xyz"; printf "%*d\n", 6, 42}' 2>/dev/null
### 007 control
awk 'BEGIN {for (i = 0; i < 5; i++) {if (i == 1) continue; if (i == 4) break; print i}; while (j < 2) j++; print j; do k++; while (k < 3); print k}'
seq 5 | awk '$1 == 2 {next} {print} $1 == 4 {exit 3}'; echo $?
awk 'BEGIN {exit 1} END {print "end"}'; echo $?
### 008 functions
awk 'function f(n) {return n <= 1 ? 1 : n * f(n - 1)} function fill(a, n,   i) {for (i = 0; i < n; i++) a[i] = i * i} BEGIN {print f(5); fill(sq, 4); print sq[3], length(sq)}'
### 009 getline and commands
printf '1\n2\n' > f; awk 'BEGIN {while ((getline line < "f") > 0) print "got " line; close("f"); "echo x y" | getline; print $2; "echo z" | getline v; print v; print (getline w < "missing")}'
printf 'b\na\n' | awk '{print | "sort"} END {close("sort"); print "done"}'; awk 'BEGIN {r = system("exit 3"); print r}'; awk 'BEGIN {print "to file" > "g"; close("g"); while ((getline l < "g") > 0) print l}'
### 010 separators
printf 'a b\n\nc d\ne f\n' | awk 'BEGIN {RS = ""} {print NR ": " $1 "," NF}'; printf 'a;b;c' | awk 'BEGIN {RS = ";"} {print}'; echo 'a b c' | awk 'BEGIN {OFS = "-"} {$1 = $1; print}'; printf '1\n2\n' | awk 'BEGIN {ORS = ","} {print}'; echo; echo 'a|b' | awk -F'|' '{print $2}'; printf 'a\tb c\n' | awk -F'\t' '{print $2}'
### 011 variables
awk -v x=5 -v s='a\tb' 'BEGIN {print x + 1, s}'; printf '1\n' > f; awk '{print v, $1}' v=7 f; A=b awk 'BEGIN {print ENVIRON["A"]}'; awk 'END {print FILENAME, FNR, NR}' f f; awk 'BEGIN {print ARGC, ARGV[1]}' one
### 012 comparisons
echo '10 9' | awk '{print ($1 > $2), ("10" > "9"), ($1 == "10"), ($1 == 10.0)}'; echo 'abc' | awk '{if ($1) print "true"; if ($2) print "no"; if (!x) print "unset"}'; awk 'BEGIN {if (0) print "no"; if ("0") print "text"; print (1 == 1.0), ("a" < "b"), 1 " " 2, 1 + 1 " x"}'; echo 0 | awk '{if ($1) print "yes"; else print "zero"}'
### 013 what scripts of hooks do
printf 'NAME READY STATUS\nweb-1 1/1 Running\nweb-2 0/1 Pending\n' | awk 'NR>1 && $3!="Running" {print $1}'; printf 'a=1\nb=2\n' | awk -F= '{print "export " toupper($1) "=\"" $2 "\""}'; df='x 50% /'; echo "$df" | awk '{gsub("%", "", $2); if ($2 > 40) print $3 " is full"}'; printf 'k: v\n' | awk '$1=="k:" {print $2}'; printf '1\n2\n3\n' | awk '{sum+=$1} END {print sum/NR}'; echo 'a b' | awk '{ print $1; print $2 }' | awk 'ORS=NR%2?" ":"\n"'
### 014 errors
awk 'BEGIN {print 1' ; echo $?; awk 'BEGIN {f(1)}'; echo $?; awk '{print}' missing; echo $?
### 015 concatenation and precedence
awk 'BEGIN {x = 1; print x++ + ++x, x; print 1 - 1 " " 2 - 1; print -1 " " -1; y = "a" "b"; print y; print 2 * 3 "4"; print !0 + 1; a = b = 3; print a b}'; awk 'BEGIN {print (1 > 2) ? "x" : "y"; print 1==1 && 2<3 || 0; print "a" ~ /A/, "a" ~ "a"; i = 5; print i--, i}'
