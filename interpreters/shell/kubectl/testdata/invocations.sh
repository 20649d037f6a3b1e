# What the real kubectl and ours do alike. Each paragraph is a script in a namespace of its own, with the objects of
# real_test.go in it.

kubectl get cm settings -o json

kubectl get cm settings -o yaml

kubectl get cm settings -o name

kubectl get cm settings

kubectl get cm settings -o wide

kubectl get cm settings --no-headers

kubectl get configmap settings --show-labels

kubectl get cm settings -L app,tier

kubectl get cm -l app=web

kubectl get cm -l 'app in (web,db)' -o name

kubectl get cm -l app!=web,app -o name

kubectl get cm -l app --sort-by=.metadata.name -o name

kubectl get cm settings other -o name

kubectl get cm/settings secret/token -o name

kubectl get cm/settings secret/token

kubectl get cm,secret -l app=web

kubectl get cm/settings secret/token -o json

kubectl get cm settings other -o yaml

kubectl get cm missing

kubectl get cm missing -o name

kubectl get cm settings missing -o name

kubectl get cm missing --ignore-not-found

kubectl get cm missing settings --ignore-not-found -o name

kubectl get deploy missing

kubectl get nothing

kubectl get nothing/x

kubectl get

kubectl get cm -l app=none

kubectl get cm -l app=none -o json

kubectl get cm -l app=none -o name

kubectl get cm -l app=none -o yaml

kubectl get secret token -o jsonpath='{.data.password}'

kubectl get secret token -o jsonpath='{.data.password}' | base64 -d

kubectl get secret token -o jsonpath="{.data['user']}"

kubectl get cm settings -o jsonpath='{.data.missing}'

kubectl get cm settings -o jsonpath='{.metadata.labels}'

kubectl get cm settings -o jsonpath='{.metadata.labels.app}{"\n"}'

kubectl get cm -l app -o jsonpath='{.items[*].metadata.name}'

kubectl get cm -l app -o jsonpath='{range .items[*]}{.metadata.name}{"\t"}{.metadata.labels.app}{"\n"}{end}'

kubectl get cm -l app -o jsonpath='{.items[?(@.metadata.labels.app=="web")].metadata.name}'

kubectl get cm -l app -o jsonpath='{.items[0].data}'

kubectl get cm -l app -o jsonpath='{.items[-1:].metadata.name}'

kubectl get svc web -o jsonpath='{.spec.ports[*].port}'

kubectl get svc web -o jsonpath='{.spec.ports[?(@.name=="http")].port}'

kubectl get svc web -o jsonpath='{.spec.ports}'

kubectl get pod lone -o jsonpath='{.spec.containers[*].image}'

kubectl get pod lone -o jsonpath='{.spec.containers[0]["name","image"]}'

kubectl get deploy web -o jsonpath='{.spec.replicas}'

kubectl get deploy web -o jsonpath='{..image}'

kubectl get cm settings -o jsonpath='{.metadata.name'

kubectl get cm settings -o jsonpath='metadata.name'

kubectl get cm settings -o jsonpath='{.metadata.annotations.note}'

kubectl get cm settings -o jsonpath-as-json='{.data}'

kubectl get cm settings -o go-template='{{.metadata.name}}'

kubectl get cm settings -o go-template='{{range $k, $v := .data}}{{$k}}={{$v}};{{end}}'

kubectl get cm -l app -o go-template='{{range .items}}{{.metadata.name}}{{"\n"}}{{end}}'

kubectl get secret token -o go-template='{{.data.password | base64decode}}'

kubectl get cm settings -o 'go-template={{index .metadata.labels "app"}}'

kubectl get cm settings -o go-template='{{.nothing}}'

kubectl get cm settings -o go-template='{{.metadata.nothing.more}}'

kubectl get cm settings -o go-template='{{if}}'

kubectl get cm settings --template='{{.metadata.name}}'

kubectl get cm -l app -o custom-columns=NAME:.metadata.name

kubectl get cm -l app -o custom-columns=NAME:.metadata.name,APP:.metadata.labels.app,TIER:.metadata.labels.tier

kubectl get cm -l app -o custom-columns=NAME:.metadata.name --no-headers

kubectl get pod lone -o custom-columns='NAME:.metadata.name,IMAGES:.spec.containers[*].image'

kubectl get cm settings -o custom-columns=NAME

kubectl get cm settings -o custom-columns=:metadata.name

kubectl get cm settings -o custom-columns=

kubectl get cm settings -o xml

kubectl get cm settings -ojson | jq -r .metadata.name

kubectl get pods

kubectl get po -o wide

kubectl get pods lone -o name

kubectl get pods --field-selector=status.phase=Pending -o name

kubectl get pods --field-selector metadata.name=lone -o name

kubectl get pods --field-selector nothing=1

kubectl get deploy

kubectl get deployments.apps web -o name

kubectl get deployment.v1.apps web -o name

kubectl get deploy web -o wide

kubectl get svc web

kubectl get svc web -o wide

kubectl get sa robot -o name

kubectl get sa robot

kubectl get secret token

kubectl get secrets -o name

kubectl get cronjob nightly

kubectl get cj nightly -o name

kubectl get role reader -o name

kubectl get role reader -o jsonpath='{.rules[0].verbs[0]}'

kubectl get ns "$NS" -o name

kubectl get ns "$NS"

kubectl get ns "$NS" -o jsonpath='{.metadata.labels.side}'

kubectl get ns "$NS" -o jsonpath='{.status.phase}'

kubectl get cm --frob

kubectl get cm -Z

kubectl get cm -o

kubectl get cm settings -l app=web

kubectl get cm settings secret/token

kubectl get cm/settings token

kubectl get cm settings extra -o name -l app

kubectl get -f cm.yaml

kubectl get -f missing.yaml

kubectl get cm settings -o json --show-managed-fields=false

kubectl get pod/lone --show-kind

kubectl get cm settings -o=name

kubectl get cm settings --output=name

kubectl get cm settings --output name

kubectl get CM settings -o name

kubectl get ConfigMap settings -o name

kubectl get configmaps settings -o name

kubectl create cm x --from-literal=a=b

kubectl create configmap x --from-literal=a=b --from-literal=c=d -o yaml

kubectl create configmap x --from-literal=a=b --dry-run=client -o yaml

kubectl create configmap x --from-literal=a=b --dry-run=client -o json

kubectl create configmap x --from-literal=a=b --dry-run=client

kubectl create configmap x --from-literal=a=b -o name

kubectl create configmap x --from-file=key.txt

kubectl create configmap x --from-file=named=key.txt -o yaml

kubectl create configmap x --from-env-file=vars.env -o yaml --dry-run=client

kubectl create configmap x --from-file=missing.txt

kubectl create configmap x --from-literal=a

kubectl create configmap x --from-literal=a=1 --from-literal=a=2

kubectl create configmap

kubectl create configmap settings

kubectl create configmap Bad_Name

kubectl create configmap x -o yaml --dry-run=client

kubectl create secret generic s --from-literal=k=v

kubectl create secret generic s --from-literal=k=v -o yaml --dry-run=client

kubectl create secret generic s --from-literal=k=v --type=example.com/x -o jsonpath='{.type}'

kubectl create secret generic s --from-file=key.txt -o jsonpath='{.data}'

kubectl create secret generic token --from-literal=k=v

kubectl create secret docker-registry r --docker-server=registry.example.com --docker-username=u --docker-password=p

kubectl create secret docker-registry r --docker-server=registry.example.com --docker-username=u --docker-password=p --dry-run=client -o yaml

kubectl create secret docker-registry r --docker-server=registry.example.com --docker-username=u --docker-password=p --docker-email=a@b.c -o jsonpath='{.data}'

kubectl create secret

kubectl create namespace "$NS-x"
kubectl get ns "$NS-x" -o name
kubectl delete ns "$NS-x" --wait=false

kubectl create ns x --dry-run=client -o yaml

kubectl create ns "$NS"

kubectl create serviceaccount bot

kubectl create sa bot --dry-run=client -o yaml

kubectl create role r --verb=get,list --resource=pods

kubectl create role r --verb=get --verb=list --resource=pods,deployments.apps --dry-run=client -o yaml

kubectl create role r --verb=get --resource=pods --resource-name=a --resource-name=b --dry-run=client -o yaml

kubectl create role r --verb=get --resource=pods/log --dry-run=client -o yaml

kubectl create role r --verb=get

kubectl create clusterrole "$NS-r" --verb=get,list,watch --resource=nodes -o yaml

kubectl create rolebinding b --role=reader --serviceaccount="$NS:robot"

kubectl create rolebinding b --clusterrole=view --serviceaccount=default:robot --user=u --group=g --dry-run=client -o yaml

kubectl create rolebinding b --serviceaccount=default:robot

kubectl create rolebinding b --role=reader --serviceaccount=robot

kubectl create clusterrolebinding "$NS-b" --clusterrole=view --group=g --dry-run=client -o yaml

kubectl create job j --image=busybox

kubectl create job j --image=busybox --dry-run=client -o yaml -- echo hi

kubectl create job j --from=cronjob/nightly

kubectl create job j --from=cronjob/missing

kubectl create quota q --hard=cpu=1,pods=2

kubectl create quota q --hard=cpu=1,pods=2 --dry-run=client -o yaml

kubectl create -f cm.yaml

kubectl create -f cm.yaml
kubectl create -f cm.yaml

kubectl create -f two.yaml

kubectl create -f two.yaml -o name

kubectl create -f missing.yaml

kubectl create -f bad.yaml

kubectl create -f - < cm.yaml

cat cm.yaml two.yaml | kubectl create -f -

kubectl create -f cm.yaml --dry-run=client

kubectl create -f cm.yaml --dry-run=client -o yaml

kubectl create -f cm.yaml --save-config -o jsonpath='{.metadata.annotations}'

kubectl create

echo '{}' | kubectl create -f -

echo '{"apiVersion":"v1","kind":"Nothing","metadata":{"name":"x"}}' | kubectl create -f -

echo '{"apiVersion":"v1","kind":"ConfigMap","metadata":{}}' | kubectl create -f -

echo '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"x","namespace":"default"}}' | kubectl create -f -

echo '{"apiVersion":"v1","kind":"Service","metadata":{"name":"bad"},"spec":{"ports":[{"port":0}]}}' | kubectl create -f -

kubectl apply -f cm.yaml

kubectl apply -f cm.yaml
kubectl apply -f cm.yaml

kubectl apply -f cm.yaml
sed 's/value/changed/' cm.yaml | kubectl apply -f -
kubectl get cm filed -o jsonpath='{.data.key}'

kubectl apply -f cm.yaml
sed 's/key: value/other: value/' cm.yaml | kubectl apply -f -
kubectl get cm filed -o jsonpath='{.data}'

kubectl apply -f two.yaml

kubectl apply -f two.yaml -o name

kubectl apply -f cm.yaml -o yaml

kubectl apply -f cm.yaml --dry-run=client

kubectl apply -f cm.yaml --dry-run=client -o yaml

kubectl apply -f deploy.yaml

kubectl apply -f deploy.yaml
kubectl apply -f deploy.yaml
kubectl get deploy web -o jsonpath='{.spec.template.spec.containers[*].name}'

kubectl apply -f deploy.yaml
sed 's/nginx:2/nginx:3/' deploy.yaml | kubectl apply -f -
kubectl get deploy web -o jsonpath='{.spec.template.spec.containers[*].image}'

kubectl apply -f missing.yaml

kubectl apply -f bad.yaml

kubectl apply

kubectl create configmap x --from-literal=a=b --dry-run=client -o yaml | kubectl apply -f -

kubectl create configmap x --from-literal=a=b -o yaml --dry-run=client | kubectl label -f - --local -o yaml k=v | kubectl apply -f -

kubectl get cm settings -o json | jq 'del(.metadata.uid, .metadata.resourceVersion, .metadata.creationTimestamp) | .metadata.name = "copy"' | kubectl apply -f -

kubectl get cm settings -o yaml | sed 's/name: settings/name: copy/' | kubectl create -f -

kubectl apply --server-side -f cm.yaml

kubectl apply --server-side -f cm.yaml
kubectl apply --server-side -f cm.yaml

kubectl apply --server-side -f two.yaml -o name

echo '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"settings"},"data":{"a":"3"}}' | kubectl apply --server-side -f -

echo '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"settings"},"data":{"a":"3"}}' | kubectl apply --server-side --force-conflicts -f -

echo '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"settings"},"data":{"a":"3"}}' | kubectl apply -f -

echo '{"kind":"ConfigMap","metadata":{"name":"x"}}' | kubectl apply -f -

echo '{"apiVersion":"v1","metadata":{"name":"x"}}' | kubectl apply -f -

echo '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"x"},"frob":1}' | kubectl apply -f -

echo '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"x"},"data":{"n":1}}' | kubectl apply -f -

echo '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"x"},"data":[]}' | kubectl apply -f -

echo '{"apiVersion":"example.com/v1","kind":"Thing","metadata":{"name":"x"}}' | kubectl apply -f -

echo '{"apiVersion":"v1","kind":"List","items":[{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"x"}},{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"y"}}]}' | kubectl apply -f -

kubectl apply -f - <<< ''

kubectl replace -f cm.yaml

kubectl create -f cm.yaml
kubectl replace -f cm.yaml

kubectl create -f cm.yaml
sed 's/value/new/' cm.yaml | kubectl replace -f - -o jsonpath='{.data.key}'

kubectl replace --force -f cm.yaml

kubectl create -f cm.yaml
kubectl replace --force -f cm.yaml

kubectl get cm settings -o json | jq '.data.a = "9"' | kubectl replace -f -

kubectl replace -f missing.yaml

kubectl replace

kubectl patch cm settings -p '{"data":{"a":"3"}}'

kubectl patch cm settings -p '{"data":{"a":"2"}}'

kubectl patch cm settings -p 'data: {a: "3"}' -o jsonpath='{.data.a}'

kubectl patch cm settings --type=merge -p '{"data":{"a":null}}'

kubectl patch cm settings --type=json -p '[{"op":"replace","path":"/data/a","value":"x"}]'

kubectl patch cm settings --type=json -p '[{"op":"remove","path":"/data/none"}]'

kubectl patch cm settings --type=json -p '{"data":{}}'

kubectl patch cm settings --type=frob -p '{}'

kubectl patch cm settings -p '{"data":{"a":3}}'

kubectl patch cm settings -p 'x'

kubectl patch cm settings -p '{'

kubectl patch cm settings

kubectl patch cm missing -p '{}'

kubectl patch cm -p '{}'

kubectl patch cm/settings cm/other -p '{"data":{"z":"1"}}'

kubectl patch deploy web -p '{"spec":{"template":{"spec":{"containers":[{"name":"side","image":"busybox:2"}]}}}}'
kubectl get deploy web -o jsonpath='{.spec.template.spec.containers[*].image}'

kubectl patch deploy web --type=merge -p '{"spec":{"replicas":0}}'

kubectl patch deploy web --subresource=scale --type=merge -p '{"spec":{"replicas":0}}'

kubectl patch cm settings -p '{"data":{"a":"3"}}' --dry-run=client

kubectl patch cm settings -p '{"data":{"a":"3"}}' --dry-run=client -o yaml

kubectl patch cm settings -p '{"data":{"a":"3"}}' -o name

kubectl patch cm settings --patch-file=missing.json

echo '{"data":{"a":"5"}}' > p.json
kubectl patch cm settings --patch-file=p.json

kubectl patch -f cm.yaml -p '{}'

kubectl delete cm settings

kubectl delete cm settings other

kubectl delete cm/settings secret/token

kubectl delete cm,secret -l app=web

kubectl delete cm -l app=web

kubectl delete cm -l app=none

kubectl delete cm missing

kubectl delete cm missing settings

kubectl delete cm missing --ignore-not-found

kubectl delete cm

kubectl delete

kubectl delete cm settings --wait=false

kubectl delete cm settings -o name

kubectl delete cm settings --dry-run=client

kubectl delete cm settings --cascade=orphan

kubectl delete cm settings --cascade=frob

kubectl delete cm settings --now

kubectl delete pod lone --grace-period=0 --force

kubectl delete pod lone --grace-period=0

kubectl delete deploy web --cascade=foreground

kubectl delete -f cm.yaml

kubectl create -f cm.yaml
kubectl delete -f cm.yaml

kubectl create -f two.yaml
kubectl delete -f two.yaml

kubectl create -f two.yaml
kubectl delete -f two.yaml --ignore-not-found
kubectl delete -f two.yaml --ignore-not-found

kubectl delete -f missing.yaml

kubectl delete cm --all -l app

kubectl delete secret token --ignore-not-found=true --wait=true --timeout=10s

kubectl label cm settings a=b

kubectl label cm settings app=web

kubectl label cm settings app=x

kubectl label cm settings app=x --overwrite

kubectl label --overwrite cm settings app=x tier=y

kubectl label cm settings app-

kubectl label cm settings none-

kubectl label cm settings a=b app-

kubectl label cm settings a=b a-

kubectl label cm settings a='not valid!'

kubectl label cm settings 'a b=c'

kubectl label cm settings

kubectl label cm settings a

kubectl label cm missing a=b

kubectl label cm -l app a=b

kubectl label cm --all a=b --overwrite -o name

kubectl label cm settings --list | sort

kubectl label cm settings a=b -o jsonpath='{.metadata.labels.a}'

kubectl label cm settings a=b --dry-run=client

kubectl label cm settings a=b --dry-run=client -o yaml

kubectl label cm/settings secret/token a=b

kubectl label ns "$NS" a=b

kubectl label cm settings a= && kubectl get cm settings -o jsonpath='{.metadata.labels}'

kubectl annotate cm settings a=b

kubectl annotate cm settings note=one

kubectl annotate cm settings note=two

kubectl annotate cm settings note=two --overwrite

kubectl annotate cm settings note-

kubectl annotate cm settings none-

kubectl annotate cm settings 'text=with spaces, and = signs'
kubectl get cm settings -o jsonpath='{.metadata.annotations.text}'

kubectl annotate cm missing a=b

kubectl annotate cm settings

kubectl annotate cm -l app a=b

kubectl annotate cm settings a=b -o yaml

kubectl scale deploy web --replicas=2

kubectl scale deploy/web --replicas=0

kubectl scale --replicas=1 deploy web -o name

kubectl scale deploy web --replicas=3 --current-replicas=5

kubectl scale deploy web --replicas=3 --current-replicas=0

kubectl scale deploy web

kubectl scale deploy missing --replicas=1

kubectl scale cm settings --replicas=1

kubectl scale deploy web --replicas=-1

kubectl set image deploy/web main=nginx:9
kubectl get deploy web -o jsonpath='{.spec.template.spec.containers[*].image}'

kubectl set image deployment web main=nginx:9 side=busybox:9

kubectl set image deploy/web '*=nginx:9'
kubectl get deploy web -o jsonpath='{.spec.template.spec.containers[*].image}'

kubectl set image deploy/web none=nginx:9

kubectl set image deploy/web main=nginx:1.25

kubectl set image deploy/web main=nginx:9 -o name

kubectl set image deploy/web main=nginx:9 --dry-run=client

kubectl set image deploy/web

kubectl set image deploy/missing main=x

kubectl set image pod/lone a=nginx:2

kubectl set image cm/settings a=b

kubectl set image cronjob/nightly c=busybox:9

kubectl rollout restart deploy/web

kubectl rollout restart deploy web

kubectl rollout restart deploy missing

kubectl rollout restart cm settings

kubectl rollout status deploy/web

kubectl rollout status deploy missing

kubectl rollout status cm settings

kubectl wait --for=condition=Available deploy/web --timeout=10s

kubectl wait --for=delete cm/missing --timeout=5s

kubectl wait --for=condition=Ready cm/missing --timeout=1s

kubectl wait --for=jsonpath='{.data.a}'=2 cm/settings --timeout=2s

kubectl wait --for=jsonpath='{.data.a}'=7 cm/settings --timeout=1s

kubectl wait --for=condition=Ready pod/lone --timeout=1s

kubectl wait cm/settings --timeout=1s

kubectl wait --for=frob cm/settings --timeout=1s

kubectl auth can-i get pods

kubectl auth can-i create deployments.apps

kubectl auth can-i get pods/log

kubectl auth can-i get pods -q

kubectl auth can-i

kubectl auth can-i list pods --as=nobody

kubectl api-resources --api-group=apps -o name

kubectl api-resources --api-group=batch

kubectl api-resources --api-group=apps --namespaced=false -o name

kubectl api-resources --api-group=batch --no-headers

kubectl api-resources --verbs=list --api-group=apps -o name

kubectl api-versions | grep -x -e apps/v1 -e v1 -e batch/v1

kubectl frob

kubectl config current-context >/dev/null && echo yes

kubectl get cm settings -o json > f.json && jq -r '.data.text' f.json

for name in $(kubectl get cm -l app -o name); do kubectl label "$name" seen=yes; done

kubectl get cm -l app -o json | jq -r '.items[].metadata.name'

if ! kubectl get cm missing >/dev/null 2>&1; then echo none; fi

kubectl get cm missing 2>/dev/null || kubectl create cm missing --from-literal=a=b

kubectl get deploy web -o json | jq -c .spec.template.spec.containers[].name

kubectl get secret token -o json | jq '.metadata = {name: "copied"}' | kubectl apply -f -

# Lists that are merged.

cat > c.yaml <<< '{apiVersion: v1, kind: ConfigMap, metadata: {name: x, finalizers: [example.com/a, example.com/b]}}'
kubectl apply -f c.yaml
sed -i 's#example.com/b#example.com/c#' c.yaml
kubectl apply -f c.yaml
kubectl apply -f c.yaml
kubectl get cm x -o jsonpath='{.metadata.finalizers}'

cat > c.yaml <<< '{apiVersion: v1, kind: ConfigMap, metadata: {name: x, finalizers: [example.com/a]}}'
kubectl apply -f c.yaml
kubectl patch cm x --type=json -p '[{"op":"add","path":"/metadata/finalizers/-","value":"example.com/theirs"}]'
kubectl apply -f c.yaml
sed -i 's#, finalizers: .example.com/a.##' c.yaml
kubectl apply -f c.yaml
kubectl get cm x -o jsonpath='{.metadata.finalizers}'

cat > d.yaml <<'EOF'
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 0
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers:
      - {name: main, image: nginx, env: [{name: B, value: "1"}, {name: A, value: "2"}]}
EOF
kubectl apply -f d.yaml
kubectl apply -f d.yaml
sed -i 's/{name: B, value: "1"}, //' d.yaml
kubectl apply -f d.yaml
kubectl get deploy web -o jsonpath='{.spec.template.spec.containers[0].env}'
sed -i 's/env: \[/env: [{name: C, value: x}, /' d.yaml
kubectl apply -f d.yaml
kubectl get deploy web -o jsonpath='{.spec.template.spec.containers[0].env}'

kubectl create deployment x --image=nginx --dry-run=client -o yaml

kubectl apply -f - <<EOF
apiVersion: v1
kind: Service
metadata: {name: web}
spec: {clusterIP: None, selector: {app: web}, ports: [{name: http, port: 80, targetPort: 8081}]}
EOF
kubectl get svc web -o jsonpath='{.spec.ports}'

kubectl apply -f - <<EOF
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: {name: np}
spec: {podSelector: {}, ingress: [{ports: [{port: 80}, {port: 81}]}]}
EOF
kubectl apply -f - <<EOF
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: {name: np}
spec: {podSelector: {}, ingress: [{ports: [{port: 80}, {port: 82}]}]}
EOF
kubectl get netpol np -o jsonpath='{.spec.ingress[0].ports[*].port}'

kubectl apply -f - <<EOF
apiVersion: v1
kind: ServiceAccount
metadata: {name: robot}
imagePullSecrets: [{name: a}, {name: b}]
EOF
kubectl apply -f - <<EOF
apiVersion: v1
kind: ServiceAccount
metadata: {name: robot}
imagePullSecrets: [{name: b}]
EOF
kubectl get sa robot -o jsonpath='{.imagePullSecrets}'

# More forms.

kubectl get -o name cm settings

kubectl get cm settings --namespace "$NS" -o name

kubectl get cm -n "$NS" settings -o name

kubectl get --no-headers=true cm settings | awk '{print $1}'

kubectl get pods -l app=web -o jsonpath='{.items[0].metadata.name}'

kubectl get pods -l app=none -o jsonpath='{.items[0].metadata.name}'

kubectl get pods lone -o jsonpath='{.status.phase}'

kubectl get pods --selector app=web --no-headers -o custom-columns=:metadata.name

kubectl get deploy,svc -l app=web -o name

kubectl get all -l app=none

kubectl get secret token -o jsonpath='{range .data.*}{@}{"\n"}{end}' | sort

kubectl get cm -l 'app notin (web)' -o name | grep other

kubectl get cm -l 'bad selector here' -o name

kubectl get cm settings -o 'jsonpath={.data.text}'

kubectl get cm settings -o jsonpath="{.data['a','b']}"

kubectl get cm settings -o jsonpath='{.data.a}{.data.b}'

kubectl get cm -l app -o jsonpath='{.items[*].data.a}'

kubectl get cm -l app -o jsonpath='{.items[?(@.data.a)].metadata.name}'

kubectl get deploy web -o jsonpath='{.spec.template.spec.containers[?(@.name=="main")].env[0].value}'

kubectl get deploy web -o jsonpath='{.spec.template.spec.containers[*]["name","image"]}'

kubectl get deploy web -o jsonpath='{.metadata.labels.app\.kubernetes\.io/name}'

kubectl get role reader -o jsonpath='{.rules}'

kubectl get role reader -o yaml

kubectl get cronjob nightly -o jsonpath='{.spec.suspend}'

kubectl get ns "$NS" --show-labels --no-headers | grep -o side=yes

kubectl get ns nowhere-at-all

kubectl get cm settings --namespace nowhere-at-all

kubectl create cm x --namespace nowhere-at-all

kubectl get pods,cm -l app=web -o custom-columns=KIND:.kind,NAME:.metadata.name

kubectl get cm settings -o custom-columns='A:.data.a,MISSING:.data.none'

kubectl delete pods --all --wait=false

kubectl delete pods -l app=web --grace-period=0 --force --wait=false

kubectl delete deploy/web svc/web --wait=false

kubectl delete --ignore-not-found cm settings missing

kubectl delete sa,role --all --wait=false | sort

kubectl annotate --overwrite cm settings note- a=b

kubectl annotate cm settings a=b c=d --overwrite && kubectl get cm settings -o jsonpath='{.metadata.annotations}'

kubectl annotate ns "$NS" x=y --overwrite

kubectl label pods -l app=web seen=1

kubectl label cm settings app=x other=y

kubectl label cm settings app=web b=c

kubectl patch cm settings --type merge --patch '{"metadata":{"labels":{"app":null}}}'
kubectl get cm settings -o jsonpath='{.metadata.labels}'

kubectl patch svc web -p '{"spec":{"ports":[{"port":80,"targetPort":9090}]}}'
kubectl get svc web -o jsonpath='{.spec.ports[*].targetPort}'

kubectl patch secret token -p "{\"data\":{\"password\":\"$(echo -n new | base64)\"}}"
kubectl get secret token -o jsonpath='{.data.password}' | base64 -d

kubectl patch pod lone --subresource=status --type=merge -p '{"status":{"phase":"Running"}}'
kubectl get pod lone -o jsonpath='{.status.phase}'

kubectl patch cm settings --type='json' -p='[{"op": "add", "path": "/data/new", "value":"x"}, {"op":"test","path":"/data/a","value":"2"}]'

kubectl patch cm settings --type='json' -p='[{"op":"test","path":"/data/a","value":"3"}]'

kubectl create secret tls t --cert=missing.pem --key=missing.pem

kubectl create -f cm.yaml -f two.yaml

kubectl apply -f cm.yaml,two.yaml

kubectl create cm x --from-file=. -o json | jq -c '.data | keys'

kubectl create -f cm.yaml -o jsonpath='{.metadata.name}{"\n"}'

kubectl create rolebinding b --role=reader --user=a --user=b -o jsonpath='{.subjects[*].name}'

kubectl create clusterrole "$NS-x" --verb='*' --resource=pods --dry-run=client -o jsonpath='{.rules}'

kubectl rollout restart deploy/web && kubectl get deploy web -o jsonpath='{.spec.template.metadata.annotations}' | grep -c restartedAt

kubectl rollout status deploy/web --timeout=5s

kubectl rollout status deploy/web --watch=false

kubectl wait --for=jsonpath='{.spec.replicas}'=0 deploy/web --timeout=1s

kubectl wait --for=create cm/settings --timeout=1s

kubectl wait cm settings --for=jsonpath='{.data.a}' --timeout=1s

kubectl wait --for=condition=Available deploy -l app=none --timeout=1s

kubectl wait --for=delete pods -l app=none --timeout=1s

cat > p.yaml <<'EOF'
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: p}
spec: {minAvailable: 1, selector: {matchLabels: {app: a, tier: x}}}
EOF
kubectl apply -f p.yaml
sed -i 's/app: a/app: b/' p.yaml
kubectl apply -f p.yaml
kubectl get pdb p -o jsonpath='{.spec.selector}'

cat > d.yaml <<'EOF'
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 0
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      volumes: [{name: v, configMap: {name: c}}]
      imagePullSecrets: [{name: one}, {name: two}]
      containers: [{name: main, image: nginx, volumeMounts: [{name: v, mountPath: /v}]}]
EOF
kubectl apply -f d.yaml
sed -i 's/configMap: {name: c}/secret: {secretName: s}/; s/{name: one}, //' d.yaml
kubectl apply -f d.yaml
kubectl get deploy web -o jsonpath='{.spec.template.spec.volumes}{.spec.template.spec.imagePullSecrets}'

printf 'apiVersion: v1\nkind: Node\nmetadata: {name: %s}\n' "$NS-a" | kubectl create -f -
kubectl cordon "$NS-a" --dry-run=client
kubectl get node "$NS-a" -o jsonpath='[{.spec.unschedulable}]'
kubectl cordon "$NS-a"
kubectl get node "$NS-a" -o jsonpath='[{.spec.unschedulable}]'
kubectl cordon "node/$NS-a"
kubectl cordon "$NS-a" --dry-run=client
kubectl uncordon "$NS-a" --dry-run=client
kubectl get node "$NS-a" -o jsonpath='[{.spec.unschedulable}]'
kubectl uncordon "$NS-a"
kubectl uncordon "$NS-a"
kubectl get node "$NS-a" -o jsonpath='[{.spec.unschedulable}]'
kubectl delete node "$NS-a"

printf 'apiVersion: v1\nkind: Node\nmetadata: {name: %s}\n' "$NS-b" | kubectl create -f -
kubectl taint node "$NS-b" gpu=yes:NoSchedule --dry-run=client
kubectl taint node "$NS-b" gpu=yes:NoSchedule
kubectl taint node "$NS-b" gpu=no:NoSchedule
kubectl taint node "$NS-b" gpu=no:NoSchedule --overwrite
kubectl get node "$NS-b" -o jsonpath='{.spec.taints[?(@.key=="gpu")]}'
kubectl taint node "$NS-b" gpu=no:NoSchedule- gone-
kubectl taint node "$NS-b" gpu-
kubectl get node "$NS-b" -o jsonpath='{.spec.taints[?(@.key=="gpu")]}'
kubectl delete node "$NS-b"

kubectl create cm x --from-literal=a=b --dry-run=server

kubectl create ns x-y --dry-run=server -o name

kubectl apply -f cm.yaml --dry-run=server

kubectl apply -f cm.yaml
kubectl apply -f cm.yaml --dry-run=server
sed 's/value/other/' cm.yaml | kubectl apply -f - --dry-run=server
kubectl get cm filed -o jsonpath='{.data.key}'

kubectl apply -f cm.yaml --server-side --dry-run=server

kubectl apply -f cm.yaml --server-side --dry-run=client

kubectl apply -f cm.yaml --force --dry-run=server

kubectl replace --force -f cm.yaml --dry-run=server

kubectl create -f cm.yaml
sed 's/value/other/' cm.yaml | kubectl replace -f - --dry-run=server

kubectl label cm settings k=v --dry-run=server
kubectl annotate cm settings k=v --dry-run=server
kubectl get cm settings -o jsonpath='{.metadata.labels.k}{.metadata.annotations.k}'

kubectl patch cm settings -p '{"data":{"a":"3"}}' --dry-run=server -o jsonpath='{.data.a}'

kubectl patch cm settings -p '{"data":{"a":"3"}}' --dry-run=server
kubectl patch cm settings -p '{"data":{"a":"2"}}' --dry-run=server

kubectl delete cm settings --dry-run=server
kubectl delete cm other -o name --dry-run=server
kubectl get cm settings other -o name

kubectl scale deploy web --replicas=3 --dry-run=server
kubectl get deploy web -o jsonpath='{.spec.replicas}'

kubectl set image deploy/web main=nginx:9 --dry-run=server

printf '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"x"},"frob":1}' | kubectl create -f - --validate=false

printf '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"x"},"frob":1}' | kubectl create -f - --validate=ignore --dry-run=server

printf '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"x"},"frob":1}' | kubectl create -f - --validate=warn

printf '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"x"},"data":{"a":1}}' | kubectl create -f -

kubectl create -f cm.yaml --validate=frob

printf '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"settings"},"frob":1}' | kubectl replace -f -

kubectl delete pod lone --grace-period=5 --wait=false

kubectl delete pod lone --now --grace-period=3

kubectl delete pod lone --force --wait=false

kubectl delete cm settings --grace-period=-1

kubectl api-resources --api-group=apps -o wide

kubectl api-resources --api-group=rbac.authorization.k8s.io --sort-by=kind

kubectl api-resources --api-group= --namespaced=false

kubectl api-resources --sort-by=age

kubectl api-resources --categories=all -o name

kubectl api-resources --verbs=list,frob

kubectl auth can-i get nodes

kubectl auth can-i frob pods

kubectl auth can-i get frobs

kubectl auth can-i get frobs.example.com

kubectl auth can-i '*' '*'

kubectl auth can-i list deploy -A

kubectl auth can-i get pods --subresource=log

kubectl auth can-i get /healthz

kubectl auth can-i delete clusterroles.rbac.authorization.k8s.io

# What hooks use, in more forms.

kubectl get pod lone -o jsonpath='{range .spec.containers[*]}{.name}={.image}{"\n"}{end}'

kubectl get cm -l app -o jsonpath='{range .items[?(@.metadata.labels.app=="web")]}{.metadata.name}:{"\n"}{range .data.*}{@}{"\n"}{end}{end}' | sort

kubectl get pod lone -o jsonpath='{.spec.containers[?(@.image!="busybox")].name}'

kubectl get svc web -o jsonpath='{.spec.ports[?(@.port>100)].name}'

kubectl get pod lone -o jsonpath='{.spec.containers[0:1].name} {.spec.containers[-1].name}'

kubectl get deploy web -o jsonpath="{.metadata.labels['app']}{.spec.template.spec.containers[?(@.name=='main')].ports[0].containerPort}"

kubectl get cm settings -o jsonpath='{.metadata.name}{"\t"}{.data.none}{"|\n"}'

kubectl get pod lone -o jsonpath='{.spec.containers[5].name}'

kubectl get pod lone -o jsonpath='{.spec.containers[?(@.name=="zzz")].image}'

kubectl get cm -l app -o jsonpath='{.items[?(@.metadata.annotations.note)].metadata.name}'

kubectl get cm settings -o jsonpath='{range}'

kubectl get pod lone -o custom-columns='FIRST:.spec.containers[0].name,LAST:.spec.containers[-1:].image,NONE:.spec.containers[7].name'

kubectl get cm -l app -o custom-columns='N:metadata.name,L:{.metadata.labels.app},D:.data'

kubectl get deploy web -o custom-columns='R:.spec.replicas,P:.spec.paused,C:.spec.template.spec.containers'

printf 'NAME APP\nmetadata.name metadata.labels.app\n' > columns
kubectl get cm -l app -o custom-columns-file=columns

kubectl get cm,secret -l app -o custom-columns=K:.kind,N:.metadata.name --sort-by=.metadata.name --no-headers

kubectl get cm -l app --sort-by='{.metadata.labels.app}' -o name

kubectl get cm -l app --sort-by=.data.none -o name

kubectl get pods --sort-by=.metadata.name --no-headers -o custom-columns=:metadata.name

kubectl get pods --field-selector=status.phase!=Running,metadata.name=lone -o name

kubectl get pods --field-selector=spec.restartPolicy=Always -o name

kubectl get secrets --field-selector type=Opaque -o name

kubectl get cm --field-selector=metadata.name!=settings,metadata.name!=kube-root-ca.crt -o name

kubectl get cm -l 'app in (web, db),tier' -o name

kubectl get cm -l 'app notin (db),!none' -o name --field-selector=metadata.name=settings

kubectl get cm -l 'app==web' -o name

kubectl get cm -l '!app' --field-selector=metadata.name!=kube-root-ca.crt -o name

kubectl get cm -l app,app=db --show-labels --no-headers -o wide | awk '{print $1, $NF}'

kubectl label cm -l 'tier in (back)' seen=yes --overwrite

kubectl delete cm -l 'app in (web,db)' --wait=false

kubectl delete cm --field-selector=metadata.name=other

kubectl delete pods,cm -l app=web --ignore-not-found --wait=false

kubectl delete secret -l app=none --ignore-not-found

kubectl delete cm settings missing other

kubectl delete deploy web --cascade=orphan --wait=false -o name

kubectl patch deploy web --type=strategic -p '{"spec":{"template":{"spec":{"containers":[{"name":"main","env":[{"name":"A","value":"9"}]}]}}}}' -o jsonpath='{.spec.template.spec.containers[*].env}'

kubectl patch deploy web --type=merge -p '{"spec":{"template":{"spec":{"containers":[{"name":"only","image":"nginx"}]}}}}' -o jsonpath='{.spec.template.spec.containers[*].name}'

kubectl patch cm settings --type=json --patch='[{"op":"add","path":"/metadata/labels/a~1b","value":"c"},{"op":"move","from":"/data/a","path":"/data/moved"}]' -o json | jq -c '.metadata.labels, .data'

kubectl patch cm settings --type=merge -p '{"metadata":{"finalizers":["example.com/f"]}}' && kubectl delete cm settings --wait=false && kubectl patch cm settings --type=json -p '[{"op":"remove","path":"/metadata/finalizers"}]'

kubectl patch deploy web -p '{"spec":{"replicas":"x"}}'

kubectl patch deploy missing --type=merge -p '{}'

kubectl patch cm settings --type=merge -p $'data:\n  a: yaml\n' -o jsonpath='{.data.a}'

kubectl apply -f cm.yaml --prune -l app=web

kubectl apply -f cm.yaml --server-side --field-manager=hook -o jsonpath='{.metadata.managedFields[*].manager}' --show-managed-fields

kubectl apply -f two.yaml --dry-run=server -o name

kubectl apply -f - --dry-run=server <<< '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"settings"},"data":{"a":"5"}}'
kubectl get cm settings -o jsonpath='{.data.a}'

kubectl apply -f - <<'EOF'
apiVersion: v1
kind: ConfigMap
metadata: {name: one}
---
# nothing
---
apiVersion: v1
kind: List
items:
- {apiVersion: v1, kind: ConfigMap, metadata: {name: two}}
- {apiVersion: v1, kind: Secret, metadata: {name: three}}
---
{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "four"}}
EOF

kubectl create -f - <<'EOF'
{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "one"}}
{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "two"}}
EOF

kubectl create -f - <<'EOF'
apiVersion: v1
kind: ConfigMap
metadata: {name: one}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: settings}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: two}
EOF

kubectl delete -f - --ignore-not-found <<'EOF'
apiVersion: v1
kind: ConfigMapList
items:
- {apiVersion: v1, kind: ConfigMap, metadata: {name: settings}}
- {apiVersion: v1, kind: ConfigMap, metadata: {name: missing}}
EOF

kubectl replace -f - <<'EOF'
apiVersion: v1
kind: ConfigMap
metadata: {name: missing}
EOF

kubectl replace -f - --dry-run=server -o name <<< '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"settings"}}'

kubectl create deployment x --image=nginx --image=registry.example.com/a/busybox:1.36 --replicas=0 --port=80 --dry-run=client -o yaml

kubectl create deployment x --image=nginx --dry-run=client -o yaml -- sleep 5

kubectl create deployment x --image=nginx --replicas=0

kubectl create deploy web --image=nginx

kubectl create deployment x

kubectl create deployment x --image=nginx --image=b -- sleep

kubectl create cronjob x --image=busybox --schedule='*/5 * * * *' --dry-run=client -o yaml -- echo hi

kubectl create cj x --image=busybox --schedule='0 0 * * *' --restart=Never -o jsonpath='{.spec.jobTemplate.spec.template.spec.restartPolicy}'

kubectl create cronjob x --image=busybox

kubectl create cronjob nightly --image=busybox --schedule='0 0 * * *'

kubectl create service clusterip x --tcp=80:8080 --tcp=443 --dry-run=client -o yaml

kubectl create svc clusterip x --clusterip=None -o jsonpath='{.spec.clusterIP}'

kubectl create service nodeport x --tcp=80:http --dry-run=client -o yaml

kubectl create service loadbalancer x --tcp=80 --dry-run=client -o yaml

kubectl create service externalname x --external-name=example.com --dry-run=client -o yaml

kubectl create service externalname x

kubectl create service clusterip x

kubectl create service clusterip web --tcp=80

kubectl create service clusterip x --tcp=80:99999

kubectl create ingress x --class=nginx --rule='a.example.com/=web:80' --rule='a.example.com/api*=web:http,tls=cert' --rule='b.example.com/x=web:443,tls' --annotation=k=v --default-backend=web:80 --dry-run=client -o yaml

kubectl create ingress x --rule=bad

kubectl create ingress x

kubectl create ingress x --rule='/p*=web:80' -o jsonpath='{.spec.rules}'

kubectl create poddisruptionbudget x --selector=app=web --min-available=50% --dry-run=client -o yaml

kubectl create pdb x --selector=app=web,tier=back --max-unavailable=1 -o jsonpath='{.spec}'

kubectl create pdb x --min-available=1

kubectl create pdb x --selector=app=web --min-available=1Gb

kubectl create priorityclass "$NS-high" --value=1000 --description='for hooks' --dry-run=client -o yaml

kubectl create priorityclass "$NS-low" --value=-5 --preemption-policy=Never -o jsonpath='{.value} {.preemptionPolicy}'
kubectl delete priorityclass "$NS-low"

kubectl set env deploy/web B=2 C=three
kubectl get deploy web -o jsonpath='{.spec.template.spec.containers[*].env}'

kubectl set env deployment web A=9 -c main
kubectl get deploy web -o jsonpath='{.spec.template.spec.containers[*].env}'

kubectl set env deploy/web A- B=x
kubectl get deploy web -o jsonpath='{.spec.template.spec.containers[*].env}'

kubectl set env deploy/web A=1 -c main

kubectl set env deploy/web --list

kubectl set env deploy/web --list D=4 -c side

kubectl set env deploy/web --from=secret/token --keys=user -c 'ma*'
kubectl get deploy web -o jsonpath='{.spec.template.spec.containers[*].env}'

kubectl set env deploy/web --from=configmap/other --prefix=CM_ --dry-run=server -o jsonpath='{.spec.template.spec.containers[*].env}'

kubectl set env deploy/web A=2 --overwrite=false

kubectl set env deploy/web

kubectl set env A=1

kubectl set env deploy/web A=1 A-

kubectl set env cronjob/nightly X=y -o name

kubectl set env deploy/missing A=1

kubectl set resources deploy web --limits=cpu=200m,memory=64Mi --requests=cpu=100m
kubectl get deploy web -o jsonpath='{.spec.template.spec.containers[*].resources}'

kubectl set resources deploy/web -c main --limits=cpu=1 --dry-run=client

kubectl set resources deploy/web -c none --limits=cpu=1

kubectl set resources deploy/web

kubectl set serviceaccount deploy web robot
kubectl get deploy web -o jsonpath='{.spec.template.spec.serviceAccountName}'

kubectl set sa deploy/web robot --dry-run=client

kubectl set selector svc web app=x

kubectl rollout pause deploy/web
kubectl rollout pause deploy/web
kubectl rollout resume deploy/web
kubectl rollout resume deploy web

kubectl rollout pause cm/settings

kubectl rollout restart deploy -l app=web

kubectl rollout status deploy/web deploy/web

kubectl rollout history deploy/web

kubectl wait --for=jsonpath='{.spec.containers[0].name}'=a pod/lone --timeout=1s

kubectl wait --for=jsonpath='{.status.phase}'=Running pod/lone --timeout=1s

kubectl wait --for=condition=Available=true deployment/web --timeout=10s

kubectl wait --for=condition=available deploy --all --timeout=10s

kubectl wait --for=condition=Progressing=False deploy/web --timeout=1s

kubectl delete cm settings --wait=false && kubectl wait --for=delete cm/settings --timeout=5s

kubectl wait --for=delete cm/other --timeout=1s

kubectl wait --for=jsonpath='{.data.none}' cm/settings --timeout=1s

kubectl wait --for=create cm/missing --timeout=1s

kubectl wait --for=jsonpath='{.data.a' cm/settings --timeout=1s

kubectl annotate --local=false cm settings x=y

kubectl annotate cm settings --list | sort

kubectl annotate cm settings a=1 --dry-run=client -o jsonpath='{.metadata.annotations}'

kubectl label cm settings --list | sort -r

kubectl label cm settings a=1 b- --overwrite -o name

kubectl get cm settings -o yaml --show-managed-fields=false | grep -c managedFields

kubectl get deploy/web svc/web -o jsonpath='{.items[*].kind}'

kubectl get deploy,cm -l app=web -o json | jq -r '.items[] | .kind + "/" + .metadata.name'

kubectl get pods -o go-template='{{range .items}}{{.metadata.name}}{{range .spec.containers}} {{.name}}{{end}}{{"\n"}}{{end}}'

kubectl get cm settings -o go-template='{{printf "%s-%d\n" .metadata.name (len .data)}}'

kubectl get cm settings -o go-template='{{if eq .data.a "2"}}two{{else}}other{{end}}'

kubectl get cm missing -o json 2>&1; echo "$?"

kubectl get cm settings --ignore-not-found -o name; kubectl get cm missing --ignore-not-found -o json; echo "$?"

kubectl scale deploy/web --replicas=1 --current-replicas=0 -o name && kubectl scale --replicas=0 deploy -l app=web

kubectl create secret generic s --from-literal=a='x=y' --from-literal=b= --from-file=key.txt -o jsonpath='{.data}'

kubectl create secret tls t --cert=key.txt --key=key.txt

kubectl create cm x --from-env-file=vars.env --from-literal=a=b

kubectl create token robot

kubectl create frob x

kubectl auth can-i create pods --subresource=exec; kubectl auth can-i delete deploy/web -q; echo "$?"

kubectl auth can-i list secrets --all-namespaces; kubectl auth can-i get ns

kubectl api-resources --api-group=policy --no-headers; kubectl api-resources --api-group=none; echo "$?"

kubectl api-resources --namespaced=true --verbs=list --api-group=batch -o name

kubectl version --client | grep -c Client

kubectl create deployment x --image=nginx --port=80 --dry-run=client -o json -- sleep 5

kubectl create cronjob x --image=busybox --schedule='0 0 * * *' --dry-run=client -o json

kubectl create service nodeport x --tcp=80:8080 --node-port=30080 --dry-run=client -o json

kubectl create ingress x --class=nginx --rule='a.example.com/api*=web:http,tls=cert' --default-backend=web:80 --dry-run=client -o json

kubectl create pdb x --selector=app=web --max-unavailable=1 --dry-run=client -o json

kubectl create priorityclass x --value=10 --description=d --global-default --dry-run=client -o json

kubectl create role r --verb=get --resource=pods,deployments.apps --resource-name=a --dry-run=client -o json

kubectl create rolebinding b --clusterrole=view --serviceaccount=default:robot --user=u --dry-run=client -o json

kubectl create quota q --hard=pods=2,cpu=1 --scopes=BestEffort --dry-run=client -o json

kubectl create job j --from=cronjob/nightly --dry-run=client -o json
