#!/usr/bin/env bash

source /shell_lib.sh

function __config__() {
  cat <<EOF
configVersion: v1
kubernetesCustomResourceConversion:
- name: alpha1_to_beta1
  crdName: crontabs.stable.example.com
  conversions:
  - {fromVersion: stable.example.com/v1alpha1, toVersion: stable.example.com/v1beta1}
- name: beta1_to_alpha1
  crdName: crontabs.stable.example.com
  conversions:
  - {fromVersion: stable.example.com/v1beta1, toVersion: stable.example.com/v1alpha1}
EOF
}

function __on_conversion::alpha1_to_beta1() {
  if converted=$(context::jq -r '.review.request.objects // [] | map(
      if .apiVersion == "stable.example.com/v1alpha1" then
        .apiVersion = "stable.example.com/v1beta1"
        | if .spec.crontab then .spec.crontab as $cron | .spec.crontab = ($cron | split(" ")) else error("spec.crontab is missing") end
      else . end)' 2> "$TMPDIR/error"); then
    echo "{\"convertedObjects\": $converted}" > "$CONVERSION_RESPONSE_PATH"
  else
    echo '{"failedMessage": "spec.crontab is missing"}' > "$CONVERSION_RESPONSE_PATH"
  fi
}

function __on_conversion::beta1_to_alpha1() {
  context::jq '{convertedObjects: [.toVersion as $to | .review.request.objects[]
    | .apiVersion = $to | .spec.crontab |= join(" ")]}' > "$CONVERSION_RESPONSE_PATH"
}

hook::run "$@"
