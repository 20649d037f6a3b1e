#!/usr/bin/env bash
# Keeps a ConfigMap with the namespaces of each team, and gives each of them a quota. Uses shell-operator's framework,
# snapshots and a group.

source /shell_lib.sh
source "${BASH_SOURCE%/*}/lib/common.sh"

function __config__() {
  cat <<YAML
configVersion: v1
kubernetes:
- name: namespaces
  apiVersion: v1
  kind: Namespace
  group: teams
  labelSelector: {matchExpressions: [{key: team, operator: Exists}]}
  jqFilter: '{team: .metadata.labels.team, name: .metadata.name}'
- name: limits
  apiVersion: v1
  kind: ConfigMap
  group: teams
  nameSelector: {matchNames: [limits]}
  namespace: {nameSelector: {matchNames: [results]}}
  jqFilter: .data
YAML
}

function teams::quota() {
  local namespace=$1 pods=$2
  kubectl create quota team -n "$namespace" --hard="pods=$pods" --dry-run=client -o json |
    jq '.metadata.labels = {"made-by": "teams"}' | kubectl apply -f -
}

function __main__() {
  local -A members=()
  local team name pods key
  while IFS=$'\t' read -r team name; do
    members[$team]+="${members[$team]:+ }$name"
  done < <(context::jq -r '.snapshots.namespaces | sort_by(.filterResult.name)[] | [.filterResult.team, .filterResult.name] | @tsv')

  for team in "${!members[@]}"; do
    pods=$(context::jq -r --arg team "$team" '.snapshots.limits[0].filterResult[$team] // "10"')
    for name in ${members[$team]}; do
      teams::quota "$name" "$pods"
    done
    result::set "$team" "${members[$team]// /,}"
  done
  result::set count "${#members[@]}"
  result::apply teams
}

hook::run "$@"
