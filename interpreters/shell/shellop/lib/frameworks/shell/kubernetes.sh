#!/bin/bash
# Writes operations for the cluster, which the operator executes after the run. Each function reads an object, a patch or
# a filter on stdin where it needs one.

kubernetes::_write() {
  jq -c "$@" >> "$KUBERNETES_PATCH_PATH"
}

# kubernetes::_object OPERATION < object in JSON
kubernetes::_object() {
  kubernetes::_write --arg operation "$1" '{operation: $operation, object: .}'
}

kubernetes::create() { kubernetes::_object Create; }
kubernetes::create_or_update() { kubernetes::_object CreateOrUpdate; }
kubernetes::create_if_not_exists() { kubernetes::_object CreateIfNotExists; }

# kubernetes::delete [--background|--non-cascading] API_VERSION KIND NAMESPACE NAME
kubernetes::delete() {
  local operation=Delete
  case "${1:-}" in
    --background) operation=DeleteInBackground; shift ;;
    --non-cascading) operation=DeleteNonCascading; shift ;;
  esac
  kubernetes::_target "$operation" "$@"
}

# kubernetes::_target OPERATION API_VERSION KIND NAMESPACE NAME
kubernetes::_target() {
  kubernetes::_write -n --arg operation "$1" --arg version "$2" --arg kind "$3" --arg namespace "$4" --arg name "$5" \
    '{operation: $operation, apiVersion: $version, kind: $kind, namespace: $namespace, name: $name} | with_entries(select(.value != ""))'
}

# kubernetes::merge_patch API_VERSION KIND NAMESPACE NAME [SUBRESOURCE] < patch in JSON
kubernetes::merge_patch() { kubernetes::_patch MergePatch mergePatch "$@"; }
kubernetes::json_patch() { kubernetes::_patch JSONPatch jsonPatch "$@"; }

kubernetes::_patch() {
  kubernetes::_write --arg operation "$1" --arg field "$2" --arg version "$3" --arg kind "$4" --arg namespace "$5" --arg name "$6" --arg subresource "${7:-}" \
    '. as $patch | {operation: $operation, apiVersion: $version, kind: $kind, namespace: $namespace, name: $name, subresource: $subresource} | with_entries(select(.value != "")) | .[$field] = $patch'
}
