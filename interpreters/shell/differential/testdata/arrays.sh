### basics
a=(1 2 "3 4"); echo "${#a[@]} ${a[@]} ${a[-1]} ${!a[@]} ${a[@]:1:2}"
### append
a=(1); a+=(2 3); a[5]=6; a[1]+=x; echo "${a[@]}" "${!a[@]}"
### sparse
a[3]=c; a[1]=a; echo ${#a[@]} ${!a[@]} "${a[@]}"
### negative index
a=(x y z); a[-1]=Z; echo ${a[-1]} ${a[-3]}
### bad index
a=(1); echo "${a[-5]}"; echo "after $?"
### bad index assignment
a=(1); a[-5]=x; echo "after $?"
### unset element
a=(a b c); unset 'a[1]'; echo ${#a[@]} "${a[1]-gone}" ${a[2]}
### unset array
a=(a b); unset a; echo "${a[@]-none}"
### scalar to array
x=s; x[1]=t; echo "${x[0]}" "${x[1]}"; y=s; y+=(t); echo ${y[@]}
### array to scalar
a=(1 2 3); a=x; echo ${a[@]}; echo $a
### first element
a=(p q); echo $a "${a}" ${a[0]}
### explicit indices
a=([2]=c [0]=a d [7]=h i); echo "${!a[@]}" "${a[@]}"
### arithmetic index
a=(a b c d); i=1; echo ${a[i]} ${a[i+1]} ${a[$i*3]} ${a[$((i-1))]}
### index side effects
i=0; a[i++]=x; a[i++]=y; echo $i ${a[@]}
### copy
a=(1 "2 3"); b=("${a[@]}"); b[0]=z; echo ${a[0]} ${#b[@]}
### from command
a=($(echo a b c)); echo ${#a[@]}
### from glob
touch x1 x2 x3; a=(x*); echo ${#a[@]} ${a[1]}
### loop with index
a=(a b c); for i in "${!a[@]}"; do echo "$i=${a[i]}"; done
### loop over elements with spaces
a=("a b" "c d"); for e in "${a[@]}"; do echo "[$e]"; done; for e in ${a[@]}; do echo "[$e]"; done
### contains
a=(x y z); [[ " ${a[*]} " == *" y "* ]] && echo yes
### associative basics
declare -A m; m[x]=1; m["y z"]=2; m['q']=3; echo "${#m[@]} ${m[x]} ${m["y z"]} ${m[q]}"
### associative key with space
declare -A m; m[y z]=2; echo "${m[y z]}"
### associative key from variable
declare -A m; k='a b/c.d'; m[$k]=1; m["$k-2"]=2; echo "${m[$k]}" "${m["$k-2"]}" ${#m[@]}
### associative keys with signs
declare -A m; m[a-b]=1; m[c+d]=2; m[app.kubernetes.io/name]=3; echo ${m[a-b]} ${m[c+d]} ${m[app.kubernetes.io/name]}
### associative list
declare -A m=([a]=1 [b c]=2 ["d"]=3); echo ${m[a]} ${m[b c]} ${m[d]}
### associative without keys
declare -A m=(a 1 b 2); echo ${m[a]} ${m[b]}
### associative append
declare -A m=([a]=1); m+=([b]=2); m[a]+=x; echo "${m[a]}" "${m[b]}"
### associative set test
declare -A m=([a]=1 [e]=); [[ -v m[a] ]] && echo a; [[ -v m[e] ]] && echo e; [[ -v m[z] ]] || echo no z; [[ -n ${m[z]+x} ]] || echo unset
### associative set test with variable key
declare -A m=(["x y"]=1); k="x y"; [[ -v m[$k] ]] && echo yes; [[ -v "m[$k]" ]] && echo yes2
### associative unset
declare -A m=([a]=1 [b]=2); unset 'm[a]'; echo ${#m[@]} "${m[a]-gone}"; k=b; unset "m[$k]"; echo ${#m[@]}
### associative counter
declare -A n; for w in a b a c a; do n[$w]=$(( ${n[$w]:-0} + 1 )); done; echo ${n[a]} ${n[b]}
### associative counter arithmetic
declare -A n; for w in a b a; do (( n[$w]++ )); done; echo ${n[a]} ${n[b]}
### associative empty key
declare -A m; m[""]=x; echo "after $?"
### indexed with string key
a=(); b=1; a[b]=x; echo ${!a[@]}
### local array
f() { local a=(1 2); local -A m=([k]=v); echo ${#a[@]} ${m[k]}; }; f; echo ${#a[@]}
### return array by name
f() { local -n out=$1; out=(x "y z"); }; f r; echo ${#r[@]} "${r[1]}"
### readonly array
declare -ra a=(1 2); a[0]=x; echo "status $?"
### declare -p
a=(1 "b c"); declare -p a; declare -A m=([k]="v w"); declare -p m; x='q"r$'; declare -p x; declare -i n=5; declare -p n; declare -rx e=1; declare -p e
### declare -p of nothing
declare -p nope; echo $?
### declare -p special characters
x=$'a\nb'; declare -p x; e=; declare -p e; declare u; declare -p u
### declare -a empty
declare -a a; echo "${#a[@]}"; declare -p a; a=(); declare -p a
### integer array
declare -ai a=(1+1 2*3); a+=(4+4); echo ${a[@]}
### mapfile
mapfile -t a < <(printf 'x\ny z\n\nw'); echo ${#a[@]} "[${a[1]}]" "[${a[2]}]" "${a[3]}"
### mapfile keeps newlines
printf 'a\nb\n' > f; mapfile a < f; printf '%s|' "${a[@]}"
### mapfile options
seq 10 > f; mapfile -t -s 2 -n 3 a < f; echo ${a[@]}; mapfile -t -O 5 b < f; echo ${!b[@]}
### mapfile delimiter
printf 'a:b:c' > f; mapfile -d : -t a < f; echo ${#a[@]} ${a[2]}
### readarray
readarray -t a <<< "$(printf 'x\ny')"; echo "${a[*]}"
### read into array
IFS=: read -r -a p <<< "a:b::c"; echo ${#p[@]} "${p[3]}"
### array in arithmetic
a=(5 6); echo $((a[0] + a[1])) $((a + 1)); ((a[1]*=2)); echo ${a[1]}
### array elements as commands
cmd=(echo "a b" c); "${cmd[@]}"
### array of options
args=(-n); args+=("x y"); echo "${args[@]}"; echo
### pass array
f() { echo $#; }; a=("1 2" 3); f "${a[@]}" "${a[*]}" ${a[@]}
### stack
s=(); s+=(a); s+=(b); echo ${s[-1]}; unset 's[-1]'; echo ${#s[@]}
### queue
q=(a b c); q=("${q[@]:1}"); echo ${q[@]}
### sort an array
a=(c a b); IFS=$'\n' b=($(sort <<< "${a[*]}")); unset IFS; echo ${b[@]}
### star in quotes with IFS
a=(a b); IFS=+; x="${a[*]}"; echo "$x"
### array keys quoted
declare -A m=(["a]b"]=1); echo "${m["a]b"]}"
### printf to element
printf -v 'a[2]' %s z; echo ${a[2]} ${!a[@]}
### read to element
read -r 'a[1]' <<< hey; echo ${a[1]}
### array default
a=(); echo "${a[@]:-none}" "${a[0]:-zero}"; a=(""); echo "[${a[@]:-none}]"
### plus operator on arrays
a=(); echo "[${a[@]+x}]"; a=(1); echo "[${a[@]+x}]"; b=(); f() { echo $#; }; f ${b[@]+"${b[@]}"}
### unset at
a=(1 2); unset 'a[@]'; echo ${#a[@]}
### negative slice
a=(1 2 3); echo "${a[@]: -2:1}"
### subscript with expansion of array
a=(1 2 3); echo "${a[${#a[@]}-1]}" "${a[${a[0]}]}"
### quoted subscript arithmetic
a=(x y z); i=2; echo "${a["$i"]}" "${a['1']}"
### assoc with at key in loop
declare -A m=([x]=1); for k in "${!m[@]}"; do for v in "${m[$k]}"; do echo $k $v; done; done
### K operator
declare -A m=([a]="1 2"); echo "${m[@]@K}"; a=(x 'y z'); echo "${a[@]@K}"
### k operator
a=(x 'y z'); printf '<%s>' "${a[@]@k}"; echo
### the words of an associative array stay as they are
x='a b'; e=; set -- p q; touch f1; declare -A m=([k]=~ [j]=~/x [i]=a:~ [h]=f* [g]={a,b}); for k in k j i h g; do echo "${m[$k]}"; done; m=(k ~ $x 1 j $e i f* h "$@"); for k in k "$x" j i h; do echo "[${m[$k]}]"; done
declare -A n=([a]= [b]="$(echo c d)"); n+=([c]=~); n[d]=~; echo "[${n[a]}] ${n[b]} ${n[c]} ${n[d]}"; f() { local -A m=([k]=~); echo "${m[k]}"; local -a l=(~ [3]=~ f*); echo "${l[@]}"; }; f
### a subscript before the begin of an array that is not set
set -u; unset a; echo "[${a[-1]-none}]"; echo $?
