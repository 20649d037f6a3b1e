### 001 x= a 1 2 b null  jq -c   <<<  $x  jq -r  a |tostri
x='{"a":[1,2,{"b":null}]}'; jq -c . <<< "$x"; jq -r '.a[]|tostring' <<< "$x"; echo "$x" | jq '.a|length'
### 002 jq   <<<  b 1 a d c  jq -S   <<<  b 1 a 2  jq --ta
jq . <<< '{"b":1,"a":{"d":[],"c":{}}}'; jq -S . <<< '{"b":1,"a":2}'; jq --tab . <<< '{"a":[1]}'; jq --indent 1 . <<< '{"a":[1]}'
### 003 jq -c  keys keys unsorted to entries to entries|fr
jq -c 'keys,keys_unsorted,to_entries,(to_entries|from_entries),with_entries(.value+=1)' <<< '{"b":1,"a":2}'
### 004 jq -n --arg a 1 --argjson b  c 2   a $a b $b c  -c
jq -n --arg a 1 --argjson b '{"c":2}' '{a:$a,b:$b.c}' -c; jq -nc '$ARGS' --args a b; jq -nc '$ARGS.positional' --jsonargs 1 '{"a":2}'; true
### 005 jq -nr  $ENV HOME  env HOME  x=5 jq -n  $ENV x
jq -nr '$ENV.HOME, env.HOME'; x=5 jq -n '$ENV.x'
### 006 jq -rn  1 a b null true | csv tsv json html text
jq -rn '[1,"a b",null,true]|@csv,@tsv,@json,@html,@text'; jq -rn '"a b&c/d~é"|@uri'; jq -rn '"it'"'"'s"|@sh'; jq -rn '[1,"x y"]|@sh'; jq -rn '"hi"|@base64,(@base64|@base64d)'
### 007 jq -rn  base64  x ab y  jq -rn  json  v= 1 a  jq -
jq -rn '@base64 "x\("ab")y"'; jq -rn '@json "v=\([1,"a"])"'; jq -rn '@uri "https://x/\("a b")?q=\("&")"'
### 008 jq -e  x  <<<   > dev null  echo $  jq -e   <<< fa
jq -e '.x' <<< '{}' >/dev/null; echo $?; jq -e . <<< false >/dev/null; echo $?; jq -e .a <<< '{"a":1}' >/dev/null; echo $?; jq -e empty <<< 1; echo $?
### 009 jq   <<<   > dev null 2>&1 || echo bad  jq  a  <<<
jq . <<< '{' >/dev/null 2>&1 || echo bad; jq '.a(' <<< 1 2>/dev/null; echo $?; jq 'error("x")' <<< 1 2>/dev/null; echo $?; jq .a <<< '"s"' 2>/dev/null; echo $?; jq . nofile 2>/dev/null; echo $?
### 010 jq -r  |select n|test a | n v | tsv  <<<  n ab v 1
jq -r '.[]|select(.n|test("^a"))|[.n,.v]|@tsv' <<< '[{"n":"ab","v":1},{"n":"b","v":2}]'
### 011 jq -c  | n v v  <<<  n ab v 1 n b v 2
jq -c '.[]|{n,v:.v}' <<< '[{"n":"ab","v":1},{"n":"b","v":2}]'
### 012 jq -c  map a |add  <<<  a 1 a 2  jq -c  add  <<<
jq -c 'map(.a)|add' <<< '[{"a":1},{"a":2}]'; jq -c 'add' <<< '["a","b"]'; jq -c add <<< '[[1],[2]]'; jq -c add <<< '[{"a":1},{"b":2}]'; jq -c add <<< '[]'; jq -c add <<< '{"a":1,"b":2}'
### 013 echo  a 1 a 2  | jq -c -s  map a |add   | json  ec
echo '{"a":1}{"a":2}' | jq -c -s 'map(.a)|add, (.|@json)'; echo '1 2 3' | jq -n '[inputs]' -c; echo '1 2' | jq -n 'input'; echo '1 2 3' | jq -c '[., input]' 2>/dev/null; echo $?
### 014 printf  a nb  | jq -R   printf  a nb n  | jq -Rs
printf 'a\nb' | jq -R .; printf 'a\nb\n' | jq -Rs .; printf 'a b\nc d\n' | jq -Rc 'split(" ")'; printf '1\n2\n' | jq -Rn '[inputs]' -c
### 015 jq -nc  range 5 range 2 4 range 0 10 3 range 5 0 -
jq -nc '[range(5)],[range(2;4)],[range(0;10;3)],[range(5;0;-2)]'; jq -nc '[limit(3;range(10))],first(range(5)),[first(empty)],isempty(empty),[last(range(3))]'
### 016 jq -nc  reduce range 5  as $i  0 $i   foreach rang
jq -nc 'reduce range(5) as $i (0;.+$i), [foreach range(4) as $i (0;.+$i)], [foreach range(3) as $i (0;.+$i;[$i,.])]'
### 017 jq -nc  def f x  x 2  f 3  jq -nc  def f $a  $b  $
jq -nc 'def f(x): x*2; f(3)'; jq -nc 'def f($a; $b): $a+$b; f(1;2)'; jq -nc 'def fac: if . <= 1 then 1 else . * (. - 1 | fac) end; 5|fac'; jq -nc 'def f: def g: 3; g; f'; jq -c 'def inc(f): f|=.+1; inc(.a)' <<< '{"a":1}'
### 018 jq -nc  1 2 3  as  $a $b  |  a $a b $b  jq -nc  a
jq -nc '[1,2,3] as [$a,$b] | {a:$a,b:$b}'; jq -nc '{"a":1,"b":{"c":2}} as {a:$x,b:{c:$y}} | [$x,$y]'; jq -nc '{"a":1} as {$a} | $a'; jq -nc '[[1,2],[3,4]] | .[] as [$a,$b] | $a+$b'
### 019 jq -nc  3 1 2 |sort sort by - min max unique rever
jq -nc '[3,1,2]|sort,sort_by(-.),min,max,unique,reverse,length,first,last,nth(1)'; jq -c 'sort_by(.a),group_by(.a),unique_by(.a),min_by(.a),max_by(.a)' <<< '[{"a":2,"b":1},{"a":1,"b":2},{"a":2,"b":3}]'
### 020 jq -nc  1 2 3 |flatten flatten 1  jq -nc  1 2 3 |a
jq -nc '[1,[2,[3]]]|flatten,flatten(1)'; jq -nc '[1,2,3]|any(.>2),all(.>0),contains([1]),inside([1,2,3,4]),index(2),indices(2),.[1:],.[:-1],.[-1],.[5]'
### 021 jq -nc  abc |length explode ascii upcase 1 2 test
jq -nc '"abc"|length,explode,ascii_upcase,.[1:2],test("B";"i"),startswith("a"),endswith("c"),ltrimstr("a"),rtrimstr("c"),contains("b"),index("c"),split("b"),(explode|implode)'
### 022 jq -nc  a b  c |split   split null splits   sub -
jq -nc '"a,b, c"|split(", "),split(",";null),[splits(", *")],sub(",";"-"),gsub(",";"-"),gsub("(?<x>[a-z])";"<\(.x)>"),[match("[a-z]";"g").string],[scan("[a-c]")],capture("(?<f>a),(?<s>b)")'
### 023 jq -nc  foo bar | match o captures 0 string scan o
jq -nc '"foo bar"|[match("(o+)").captures[0].string],[scan("(o)(o)")],test("x"),sub("(?<a>o+)";"[\(.a)]"),ascii_downcase,(.+"!"),(.*2)'
### 024 jq -nc  try error x  catch  try error a 1  catch
jq -nc '[.[]?],(try error("x") catch .),(try error({a:1}) catch .a),([1,2]|.[0]?),("a"|.b?),(1|tostring|tonumber)' 
### 025 jq -nc   |  a b c = 1   a 2  = 3   x  = 1   l  =
jq -nc '{} | .a.b.c = 1, .a[2] = 3, (.x += 1), (.l += ["a"]), (.n //= 5)'; jq -c '.a |= .+1, .b += 2, del(.a), (.c.d |= 3), to_entries[0].key' <<< '{"a":1,"b":2}'
### 026 jq -c  del 1 2 del 0 del -1 1 = 9 |= 2 map select
jq -c 'del(.[1,2]),del(.[0]),del(.[-1]),(.[1:]=[9]),(.[]|=.*2),map(select(.>1))' <<< '[1,2,3]'; jq -c 'delpaths([["a"],["b",0]]),[paths],[paths(type=="number")],[leaf_paths],getpath(["b",0]),setpath(["c"];1)' <<< '{"a":1,"b":[2]}'
### 027 jq -c  path |numbers |strings  <<<  a 1 x  jq -c
jq -c 'path(..),[..|numbers],[..|strings]' <<< '{"a":[1,"x"]}'; jq -c '[path(.a[]?)],(.a[]|=.+1)' <<< '{"a":[1,2]}'; jq -c 'walk(if type=="number" then .+1 else . end)' <<< '{"a":[1,{"b":2}]}'
### 028 jq -nc  1 as $x | 2 as $y |  $x $y $x $y  jq -nc
jq -nc '1 as $x | 2 as $y | [$x,$y,$x+$y]'; jq -nc '[1,2]|map(.*10)|join("-")'; jq -nc '["a",1,null,true]|join(",")'; jq -nc '[]|join(",")'
### 029 jq -nc  1 null a |type  jq -nc  1 a null 1 true |m
jq -nc '1,null,"a"|type'; jq -nc '[1,"a",null,[1],{},true]|map(type)|sort|unique'; jq -nc '[{},[],"a",1,true,false,null]|sort'; jq -nc '[[2,1],[1,3],[1]]|sort'; jq -nc '[{"a":2},{"a":1},{"b":0}]|sort'
### 030 jq -n  1 3  10 4  7 3  -7 3  1e3  1 0  1 5e300  0
jq -n '1/3, 10/4, 7%3, -7%3, 1e3, 1.0, 1.5e300, 0.1+0.2, 100000000000000000000, 3.14159, 1e-5, 123456789012, -0' -c
### 031 jq -nc  1 | 0 0  2> dev null  echo $  jq -nc  a 1
jq -nc '[1]|.[0]/0' 2>/dev/null; echo $?; jq -nc '"a"+1' 2>/dev/null; echo $?; jq -nc '{}+[]' 2>/dev/null; echo $?; jq -nc '[]-[1],[1,2,1]-[1],{a:1}+{b:2},{a:{b:1}}*{a:{c:2}},"a,b"/","'
### 032 jq -nc  null 1 1 null null null null x 0 ab 2 1 2
jq -nc 'null+1,1+null,null+null,[]+null,"x"*0,"ab"*2,[1,2]+[3],4-1,2*3'; jq -nc '1==1.0,"a"<"b",[1]<[2],null<false,{}=={},1!=2,(1,2)>1'
### 033 jq -nc  true and false  true or false   null|not
jq -nc 'true and false, true or false, (null|not), (true,false|not), (1 and null), (null or 1)'; jq -nc '(1,null,2)//3, (empty//4), (null//false//5), [false,1][] // 9, .a//"d"'
### 034 jq -nc  if   then 1 else 2 end   if 1 then  y  els
jq -nc 'if . then 1 else 2 end, (if 1 then "y" else "n" end), (if false then 1 elif true then 2 else 3 end), [if (true,false) then 1 else 2 end]'
### 035 jq -nc  |1   1 2 3 1   abc 1   1 2 3 -2   a 1 |has
jq -nc '[.[]?|1], [1,2,3][1:], "abc"[1:], [1,2,3][-2:], ({"a":1}|has("a"),has("b")), ([1]|has(0),has(1)), ("a"|in({"a":1}))'
### 036 jq -nc  now|type  jq -nc  0|todate gmtime strftime
jq -nc 'now|type'; jq -nc '0|todate,gmtime,strftime("%Y-%m-%d %H:%M:%S %j %a %b"),(gmtime|mktime)'; jq -nc '"2020-01-02T03:04:05Z"|fromdate,fromdateiso8601,(strptime("%Y-%m-%dT%H:%M:%SZ")|mktime)'
### 037 jq -nc  limit 5 repeat 1   1|limit 4 recurse 1   1
jq -nc '[limit(5;repeat(1))], [1|limit(4;recurse(.+1))], [1|while(.<20;.*2)], [1|until(.>100;.*3)], ([1,[2]]|[recurse]), ({"a":[1]}|[recurse(.[]?)]|length)'
### 038 jq -nc  1 2 3 |tojson tojson|fromjson tostring 0 |
jq -nc '[1,2,3]|tojson,(tojson|fromjson),tostring,(.[0]|tojson),@json'; jq -nc '"[1,{\"a\":2}]"|fromjson'; jq -nc '"x"|fromjson' 2>/dev/null; echo $?; jq -nc '"1.50"|tonumber'; jq -nc '"1x"|tonumber' 2>/dev/null; echo $?
### 039 jq -nc  label $f | 1  break $f  2  jq -nc  label $
jq -nc 'label $f | 1, break $f, 2'; jq -nc '[label $out | foreach (1,2,3) as $i (0; .+$i; if . > 2 then ., break $out else . end)]'; jq -nc 'first(range(10;0;-1))'
### 040 jq -nc  splits a b  2> dev null  jq -nc  1 2 |comb
jq -nc '[splits("a";"b")]?' 2>/dev/null; jq -nc '[1,2]|combinations?' 2>/dev/null; jq -nc '[[1,2],[3,4]]|[combinations],transpose'; jq -nc '[2|combinations(1)]?' 2>/dev/null; echo done
### 041 jq -nc  1 2 3 |IN 2 |IN 2 3  jq -nc  INDEX id 1 v
jq -nc '[1,2,3]|IN(2),(.[]|IN(2,3))'; jq -nc 'INDEX({"id":1,"v":"a"},{"id":2,"v":"b"};.id)'; jq -nc '[{"id":"x"}]|INDEX(.id)'; jq -nc '[1,2]|tostream' ; jq -nc 'fromstream([1,[2]]|tostream)'; jq -nc '[1|truncate_stream([[0],1],[[1,0],2],[[1,0]],[[1]])]'
### 042 jq -nc  1 7|floor ceil round sqrt fabs  jq -nc  po
jq -nc '1.7|floor,ceil,round,sqrt,fabs'; jq -nc '[pow(2;10),log2,exp10?]' 2>/dev/null; jq -nc '8|log2,sqrt'; jq -nc '[nan]|sort,(nan<1),(infinite|tostring),([nan|isnan]),(1|isinfinite)'
### 043 jq -nc  u00e9 n t   u0001  ud83d ude00  jq -nac
jq -nc '"\u00e9\n\t\"\\ \u0001 \ud83d\ude00"'; jq -nac '"é😀"'; jq -nr '"é\n"'; jq -nj '1,"a",2'; echo; jq -rj '.[]' <<< '["a","b"]'; echo; jq -r . <<< '"a\tb"'
### 044 jq -c   <<<  a 1 a 2  jq -c   <<<  1 2 0 1e2 -0 5
jq -c . <<< '{"a":1,"a":2}'; jq -c . <<< '[1,2.0,1e2,-0.5,1E+2,12345678901234567890]'; jq -c . <<< 'null true "x"'; jq -c '.' <<< ''; echo $?; jq -c . <<< '[1,]' 2>/dev/null || echo bad; jq -c . <<< "{'a':1}" 2>/dev/null || echo bad
### 045 jq -c  a a a-b a-b a  <<<  a 1 a-b 2  jq -c  a b c
jq -c '.["a"],."a",."a-b"?,.["a-b"],.a?' <<< '{"a":1,"a-b":2}'; jq -c '.a["b"].c,.a.b["c"],.a|.b' <<< '{"a":{"b":{"c":1}}}'; jq -c '.[0].a,.[0]["a"],.[].a,..?' <<< '[{"a":1}]'
### 046 jq -c  metadata annotations example com x none met
jq -c '.metadata.annotations["example.com/x"]//"none",(.metadata.labels//{}|keys),.spec.containers[].image,(.spec.containers|map(.name)|join(","))' <<< '{"metadata":{"labels":{"b":"1","a":"2"}},"spec":{"containers":[{"name":"c1","image":"i1"},{"name":"c2","image":"i2"}]}}'
### 047 jq -r  items | metadata namespace metadata name  <
jq -r '.items[]|"\(.metadata.namespace)/\(.metadata.name)"' <<< '{"items":[{"metadata":{"name":"a","namespace":"x"}},{"metadata":{"name":"b","namespace":"y"}}]}'
### 048 jq -c  del metadata uid metadata resourceVersion s
jq -c 'del(.metadata.uid,.metadata.resourceVersion,.status)|.metadata.namespace="new"|.metadata|=with_entries(select(.key!="x"))' <<< '{"kind":"S","metadata":{"name":"n","uid":"u","resourceVersion":"1","x":1},"status":{}}'
### 049 jq -r  0 object| metadata name metadata labels|to
jq -r '.[0].object|[.metadata.name,(.metadata.labels|to_entries|map("\(.key)=\(.value)")|join(","))]|join(" ")' <<< '[{"object":{"metadata":{"name":"n","labels":{"z":"1","a":"2"}}}}]'
### 050 jq -c --slurpfile f < echo  1 2   $f  <<< null  ec
jq -c --slurpfile f <(echo '1 2') '$f' <<< null; echo '{"k":"v"}' > a.json; jq -c --slurpfile f a.json '$f[0].k' <<< null; jq -c --rawfile r a.json '$r' <<< null; jq -c '.k' a.json a.json; echo '.k' > p.jq; jq -f p.jq a.json; jq -rf p.jq a.json
### 051 jq -nc  a b 1 2  jq -nc  a 1 2 b 3 4  jq -nc  1 2
jq -nc '[("a","b")+("1","2")]'; jq -nc '[{a:(1,2),b:(3,4)}]'; jq -nc '[(1,2)*(10,100)]'; jq -nc '[[1,2][(0,1)]]'; jq -nc '["\(1,2)-\(3,4)"]'; jq -nc '[{"a":1,"b":2},{"a":3,"b":4}]|[.[]["a","b"]]'
### 052 jq -nc  env|type  jq -nc  $ loc  jq -nc  |input fi
jq -nc 'env|type'; jq -nc '$__loc__'; jq -nc '[.]|input_filename'; jq -nc 'halt_error' 2>/dev/null; echo $?; jq -nc '"bye\n"|halt_error(3)' 2>/dev/null; echo $?; jq -nc '1,halt,2'; echo $?
### 053 jq -nc  debug  2> dev null  jq -nc  1 2 |debug|len
jq -nc 'debug' 2>/dev/null; jq -nc '[1,2]|debug|length' 2>/dev/null; jq -c '# comment
.a # more
' <<< '{"a":1}'; jq -nc '{"if":1,"and":2}|.if,.and' 2>/dev/null; echo $?
### 054 jq -nc  | csv  jq -nc  1 | 0 | csv    jq -nrc  a b
jq -nc '[.[]?]|@csv'; jq -nc '[[1]]|.[0]|@csv' ; jq -nrc '["a\"b","c,d"]|@csv'; jq -nrc '["a\tb"]|@tsv'; jq -nc '{a:1}|@csv' 2>/dev/null; echo $?
### 055 jq -nc  ltrimstr 1 a |ltrimstr b 1 |ltrimstr a  jq
jq -nc 'ltrimstr(1),("a"|ltrimstr("b")),([1]|ltrimstr("a"))'; jq -nc '"abcabc"|indices("bc"),rindex("bc"),index("z")'; jq -nc '[0,1,2,1]|indices(1),indices([1,2])'; jq -nc '"  x "|sub("^ +";"")|sub(" +$";"")'
### 056 jq -nc  a1b22 | match d g | string offset length g
jq -nc '"a1b22"|[match("\\d+";"g")|.string,.offset,.length],gsub("\\d";"#")' 2>/dev/null; jq -nc '"aXbX"|gsub("x";"-";"i"),sub("X$";"!"),[match("(?i)x";"g").offset]'
### 057 jq -nc  name a value 1 key c |from entries  jq -nc
jq -nc '[{"name":"a","value":1},{"key":"c"}]|from_entries'; jq -nc '[{"name":"x"},{"name":"y"}]|map({(.name):.})|add|keys'; jq -nc '{"a":[1,2],"b":[3]}|map_values(length),(to_entries|map(.value)|flatten),(.[]|=add),[.[][]]'
### 058 jq -nc  getpath a b 1 |getpath 0 a 1 | getpath a b
jq -nc 'getpath(["a","b"]),([1]|getpath([0])),({"a":1}|[getpath(["a"],["b"])])'; jq -nc '{"a":1}|.b=.a|.c=(.a,.b)' ; jq -nc '{"a":[1,2,3]}|.a[1:]|=map(.*2)'; jq -nc '[1,2,3]|to_entries' 2>/dev/null; echo $?
### 059 jq -nc  1 null 2 |map values |numbers map nulls ma
jq -nc '[1,null,2]|map(values),(.[]|numbers),map(nulls),(map(select(.!=null))|length)'; jq -nc '"x" as $x|"y" as $y|{$x,$y,"z":($x+$y)}'; jq -nc '[1,2,3]|.[1]=9|.[5]=1'; jq -nc '[.a,.b]=[1]' 2>/dev/null; echo $?
### 060 jq -nc  1 2 3 | 1 0 1 | 0    jq -nc  a b|=1| c 0 d
jq -nc '[1,[2,3]]|.[1][0],.[1]|.[0]?' ; jq -nc '.a.b|=1|.c[0].d=2'; jq -nc '{} | .["x"]."y" = 1'; jq -nc '[[1,2],[3]]|map(add)|add'; jq -nc '"\("a" + "b") \(1 + 2)"'
### 061 jq -cn  1 2 3 4 | |if  2==0 then  even  else  odd
jq -cn '[1,2,3,4]|[.[]|if .%2==0 then "even" else "odd" end]|group_by(.)|map({k:.[0],n:length})'; jq -cn '[5,3]|sort|.[0] as $min|map(.-$min)'; jq -nr '[1,2]|.[]|"v\(.)"'; jq -cn '{"a":{"b":1}}|[paths|join(".")]' ; jq -cn '{"a":1}|keys[0] as $k|{($k+"x"):.[$k]}'
### 062 jq -c  ascii downcase length  <<<  AB  jq   <<<  u
jq -c 'ascii_downcase?,length?' <<< '"AB"'; jq '.' <<< '"unicode é"'; jq -c 'splits("b")?' <<< '"abc"'; jq --arg v "multi
line" -n '$v'; jq -n --argjson v '[1,2]' '$v[1]'; jq -n --argjson v bad '$v' 2>/dev/null; echo $?; jq -Z . 2>/dev/null; echo $?
### jq without a program
echo '{"b":1,"a":[1]}' | jq -c; echo '{"b":1}' | jq | wc -l; jq -n; jq < /dev/null; echo $?; x=$(jq -rS <<< '{"b":"x","a":"y"}'); echo "$x"; jq -c --arg a b <<< '[1]'; jq -s -c <<< '1 2'
### jq options
j='{"a":1,"b":[1,2,{"c":"x y"}],"d":null,"e":"é","f":1.50,"g":true}'; jq . <<< "$j"; jq -c . <<< "$j"; jq -r '.b[2].c' <<< "$j"; jq '.a' <<< "$j"; jq -S -c . <<< '{"b":1,"a":2}'; jq -n '1+1'; jq -n --arg x 5 '$x'; jq -n --argjson x 5 '$x+1'; jq -s -c . <<< '1 2 3'; jq -R . <<< $'a\nb'; jq -Rs . <<< $'a\nb'; jq -e .d <<< "$j"; echo $?; jq -e .g <<< "$j"; echo $?; jq -j '.a,.a' <<< "$j"; echo; jq --tab . <<< '{"a":1}'; jq --indent 1 . <<< '{"a":[1]}'; jq -a . <<< '"é"'; jq -c '.b[]' <<< "$j"; jq '.nope' <<< "$j"; jq .x.y <<< '{}'; jq '.a.b' <<< "$j" 2>/dev/null; echo $?; jq '.[' <<< 1 2>/dev/null; echo $?; jq -r '.b | @csv' <<< '{"b":[1,"a\"b",null]}'; jq -r '@tsv "\(.)"' <<< '["a\tb",1]'; jq -r '@base64' <<< '"hi"'; jq -r '@base64d' <<< '"aGk="'; jq -r '@uri' <<< '"a b&c"'; jq -r '@sh "echo \(.)"' <<< '"it'"'"'s"'; jq -r '@html' <<< '"<a>"'; jq -r --arg n web '.items[] | select(.name==$n) | .v' <<< '{"items":[{"name":"web","v":1},{"name":"db","v":2}]}'; jq -c 'to_entries' <<< '{"a":1}'; jq -c 'from_entries' <<< '[{"key":"a","value":1},{"name":"b","value":2}]'; jq -c 'with_entries(.value+=1)' <<< '{"a":1}'; jq -c 'map(select(.>1))' <<< '[1,2,3]'; jq -c 'group_by(.a)' <<< '[{"a":1},{"a":2},{"a":1}]'; jq -c 'sort_by(.a)|reverse' <<< '[{"a":2},{"a":1}]'; jq -c 'unique' <<< '[3,1,3]'; jq 'add' <<< '[1,2]'; jq 'length' <<< '"héé"'; jq -c 'keys,values' <<< '{"b":1,"a":2}'; jq -c 'del(.a)' <<< '{"a":1,"b":2}'; jq -c '.a |= .+1' <<< '{"a":1}'; jq -c '. * {"a":{"c":2}}' <<< '{"a":{"b":1}}'; jq -r 'join(",")' <<< '["a",1,null]'; jq -c 'split(",")' <<< '"a,b"'; jq 'test("^a")' <<< '"abc"'; jq -c '[match("b";"g").offset]' <<< '"abcb"'; jq -c 'capture("(?<x>a)(?<y>b)")' <<< '"ab"'; jq -r 'sub("a";"b"),gsub("a";"b")' <<< '"aa"'; jq -c '[paths]' <<< '{"a":{"b":1}}'; jq 'any,all' <<< '[true,false]'; jq -c 'first,last,nth(1)' <<< '[1,2,3]'; jq -c '[range(3)]' <<< 0; jq -c 'flatten' <<< '[1,[2,[3]]]'; jq -r 'tostring,tojson' <<< '{"a":1}'; jq 'tonumber' <<< '"5"'; jq -r 'ascii_downcase,ascii_upcase' <<< '"aB"'; jq 'if .>1 then "y" elif .==1 then "one" else "n" end' <<< 1; jq '.a // "d"' <<< '{}'; jq -c 'try error("x") catch .' <<< 1; jq -c 'reduce .[] as $x (0;.+$x)' <<< '[1,2]'; jq -c '[foreach .[] as $x (0;.+$x)]' <<< '[1,2]'; jq -c 'def f(x): x+1; f(.)' <<< 1; jq -c '.[1:]' <<< '[1,2,3]'; jq -c '{a,b:.c}' <<< '{"a":1,"c":2}'; jq -c '{(.k):1}' <<< '{"k":"z"}'; jq -c '.[] as [$a,$b] | {a:$a,b:$b}' <<< '[[1,2]]'; jq -c 'env|type' <<< 1; jq -rn '$ENV.HOME' ; jq -c 'has("a"),(.|has("b"))' <<< '{"a":1}'; jq 'contains("b")' <<< '"abc"'; jq -c 'inside([1,2])' <<< '[1]'; jq -c 'indices(1)' <<< '[1,2,1]'; jq 'startswith("a"),endswith("c"),ltrimstr("a"),rtrimstr("c")' <<< '"abc"'; jq 'floor,ceil,round' <<< 1.5; jq -c 'min_by(.a),max_by(.a)' <<< '[{"a":1},{"a":2}]'; jq -c 'limit(2;.[])' <<< '[1,2,3]'; jq -c 'until(.>4;.+1)' <<< 1; jq -c '[recurse(if .<2 then .+1 else empty end)]' <<< 0; jq -c 'input' <<< '1 2'; jq -nc '[inputs]' <<< '1 2'; jq -r '"\(1+2) x"' <<< 1; jq 'todate' <<< 0; jq '"1970-01-01T00:00:00Z"|fromdate' <<< 0; jq -c 'transpose' <<< '[[1,2],[3]]'; jq -c 'tojson|fromjson' <<< '[1]'; jq -c 'getpath(["a","b"])' <<< '{"a":{"b":1}}'; jq -c 'setpath(["a"];1)' <<< '{}'; jq -c 'to_entries|map("\(.key)=\(.value)")|join(",")' <<< '{"a":1,"b":2}'; jq -c '.. | numbers' <<< '[1,[2]]'; jq -c 'splits(", *")' <<< '"a, b"'; jq -c 'implode,(.|length)' <<< '[65]'; jq -c 'explode' <<< '"A"'; jq -c '@json' <<< '[1]'; jq -c 'infinite,-infinite,nan|tostring' <<< 1; jq . <<< 100000000000000000000; jq . <<< 1e1000; jq . <<< 0.1; jq . <<< 1.0; jq '.+1' <<< 3.0; jq -c . <<< '[1e3,1E-5,123456789012]'; jq -r .a,.b <<< '{"a":"x","b":null}'; jq --arg a 1 --arg b 2 -n '$a+$b'; jq -n --args '$ARGS.positional' a b -c; jq -n -c '$ARGS.named' --arg x 1; jq --slurpfile s <(echo '1 2') -n -c '$s'; jq --rawfile s <(echo hi) -n -c '$s'; jq -c 'walk(if type=="number" then .+1 else . end)' <<< '[1,{"a":2}]'; jq -c 'label $out | 1, break $out' <<< 1; jq -c '.a?' <<< 1; jq -c '.[]?' <<< 1; jq -c '.a."b-c"' <<< '{"a":{"b-c":1}}'; jq -c '."a.b"' <<< '{"a.b":1}'; jq -c '.["a"]' <<< '{"a":1}'; jq -c 'strptime("%Y-%m-%d")|mktime' <<< '"2024-01-15"'; jq 'gmtime|strftime("%F")' <<< 0; jq -r 'ascii_downcase' <<< '"É"'; jq -f <(echo '.a') <<< '{"a":1}'; jq -c -s 'add' <(echo '{"a":1}') <(echo '{"b":2}'); jq '.a' nofile 2>/dev/null; echo $?; jq -c 'tostream' <<< '{"a":[1]}'; jq -c '[.[]|tostring]' <<< '[1,"a",null,true]'; jq -r '.[]|@text' <<< '[1,"a"]'; jq -c 'combinations' <<< '[[1,2],[3]]'; jq -c 'ltrimstr(1)' <<< '"a"'; jq -c '.[-1]' <<< '[1,2]'; jq -c '.a[0].b' <<< '{"a":[{"b":1}]}'; jq -c 'delpaths([["a"]])' <<< '{"a":1}'; jq -c 'to_entries[]|select(.value>1)|.key' <<< '{"a":1,"b":2}'; jq -c 'paths(type=="number")' <<< '{"a":[1]}'; jq -c 'leaf_paths' <<< '{"a":[1]}'; jq -c 'ascii_upcase|ltrimstr("A")' <<< '"ab"'; jq -c 'unique_by(.a)|length' <<< '[{"a":1},{"a":1}]'; jq -c '.a = 1 | .b += 2 | .c //= 3' <<< '{"b":1}'; jq -c 'map_values(.+1)' <<< '{"a":1}'; jq -c 'env.NOPE' <<< 1; jq -c 'splits("a")' <<< '"bab"'; jq -c 'error' <<< '"x"' 2>/dev/null; echo $?; jq -c 'halt_error' <<< '"x"' 2>/dev/null; echo $?; jq -c '"x"|halt_error(3)' <<< 1 2>/dev/null; echo $?
