# What several hooks use.

# config::startup prints the document of a hook that runs once.
config::startup() {
  cat <<YAML
configVersion: v1
onStartup: ${1:-10}
YAML
}

# result::set KEY VALUE... keeps results until result::apply NAME writes them into a ConfigMap.
declare -A RESULTS=()

result::set() {
  local key=$1
  shift
  RESULTS[$key]="$*"
}

# result::of KEY COMMAND... keeps what a command prints, and its status if it is not 0.
result::of() {
  local key=$1 text status=0
  shift
  text=$("$@" 2>&1) || status=$?
  (( status == 0 )) || text+=" (status $status)"
  result::set "$key" "$text"
}

result::apply() {
  local name=$1 key arguments=()
  for key in "${!RESULTS[@]}"; do
    arguments+=("--from-literal=$key=${RESULTS[$key]}")
  done
  kubectl create configmap "$name" -n results "${arguments[@]}" --dry-run=client -o yaml | kubectl apply -f -
}
