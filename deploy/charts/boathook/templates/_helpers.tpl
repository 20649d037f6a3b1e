{{- define "boathook.name" -}}
{{ default .Chart.Name .Values.nameOverride | trunc 63 | trimSuffix "-" }}
{{- end }}

{{- define "boathook.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{ .Values.fullnameOverride | trunc 52 | trimSuffix "-" }}
{{- else -}}
{{- $name := include "boathook.name" . -}}
{{- if contains $name .Release.Name -}}
{{ .Release.Name | trunc 52 | trimSuffix "-" }}
{{- else -}}
{{ printf "%s-%s" .Release.Name $name | trunc 52 | trimSuffix "-" }}
{{- end -}}
{{- end -}}
{{- end }}

{{- define "boathook.serviceAccount" -}}
{{- if .Values.serviceAccount.create -}}
{{ default (include "boathook.fullname" .) .Values.serviceAccount.name }}
{{- else -}}
{{ required "serviceAccount.create is false: name one in serviceAccount.name" .Values.serviceAccount.name }}
{{- end -}}
{{- end }}

{{- define "boathook.selector" -}}
app.kubernetes.io/name: {{ include "boathook.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "boathook.labels" -}}
{{ include "boathook.selector" . }}
app.kubernetes.io/part-of: boathook
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{- with .Values.commonLabels }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{/* Metadata: (list . NAME NAMESPACED), and further labels if you like */}}
{{- define "boathook.metadata" -}}
{{- $root := index . 0 -}}
name: {{ index . 1 }}
{{- if index . 2 }}
namespace: {{ $root.Release.Namespace }}
{{- end }}
labels:
  {{- include "boathook.labels" $root | nindent 2 }}
{{- if gt (len .) 3 }}
{{- with index . 3 }}
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}
{{- with $root.Values.commonAnnotations }}
annotations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{- define "boathook.subject" -}}
- kind: ServiceAccount
  name: {{ include "boathook.serviceAccount" . }}
  namespace: {{ .Release.Namespace }}
{{- end }}

{{- define "boathook.image" -}}
{{- if .Values.image.digest -}}
{{ .Values.image.repository }}@{{ .Values.image.digest }}
{{- else -}}
{{ .Values.image.repository }}:{{ default .Chart.AppVersion .Values.image.tag }}
{{- end -}}
{{- end }}

{{/* Not empty when a Lease elects the replica that runs hooks. */}}
{{- define "boathook.elects" -}}
{{- if or (gt (int .Values.replicas) 1) (eq .Values.leaderElection.mode "always") -}}
true
{{- end -}}
{{- end }}

{{/* Values that contradict each other. */}}
{{- define "boathook.check" -}}
{{- if and (include "boathook.elects" .) .Values.cache.existingClaim -}}
{{- fail "cache.existingClaim is one replica's: with leader election each has a cache of its own" -}}
{{- end -}}
{{- if and .Values.hooks.image.reference .Values.hooks.initContainer.image -}}
{{- fail "hooks.image and hooks.initContainer both bring hooks: remove one of them" -}}
{{- end -}}
{{- $trusted := or .Values.trust.policy .Values.trust.keys .Values.trust.unverified -}}
{{- if and .Values.hooks.references (not $trusted) -}}
{{- fail "hooks.references need trust.policy or trust.keys, or trust.unverified: true" -}}
{{- end -}}
{{- if and .Values.trust.unverified (or .Values.trust.policy .Values.trust.keys) -}}
{{- fail "trust.unverified makes trust.policy and trust.keys useless: remove one of them" -}}
{{- end -}}
{{- if and .Values.trust.unverified (not .Values.hooks.references) -}}
{{- fail "trust.unverified is for hooks.references: HookBundles say verification.unsigned themselves" -}}
{{- end -}}
{{- end }}

{{/*
Merges an overlay over a base: (dict "base" … "over" …) gives YAML of {value: …}.
Maps key by key, null removes; lists whose items have names by name; anything else is replaced.
*/}}
{{- define "boathook.merge" -}}
{{- $base := .base -}}
{{- $over := .over -}}
{{- if and (kindIs "map" $base) (kindIs "map" $over) -}}
{{- $out := deepCopy $base -}}
{{- range $key, $value := $over -}}
{{- if kindIs "invalid" $value -}}
{{- $out = omit $out $key -}}
{{- else if hasKey $base $key -}}
{{- $merged := fromYaml (include "boathook.merge" (dict "base" (index $base $key) "over" $value)) -}}
{{- $_ := set $out $key $merged.value -}}
{{- else -}}
{{- $_ := set $out $key $value -}}
{{- end -}}
{{- end -}}
{{- toYaml (dict "value" $out) -}}
{{- else if and (kindIs "slice" $base) (kindIs "slice" $over) (include "boathook.named" $base) (include "boathook.named" $over) -}}
{{- $out := list -}}
{{- $names := list -}}
{{- range $item := $base -}}
{{- $names = append $names $item.name -}}
{{- $same := dict -}}
{{- range $other := $over -}}
{{- if eq $other.name $item.name -}}{{- $same = $other -}}{{- end -}}
{{- end -}}
{{- $merged := fromYaml (include "boathook.merge" (dict "base" $item "over" $same)) -}}
{{- $out = append $out $merged.value -}}
{{- end -}}
{{- range $item := $over -}}
{{- if not (has $item.name $names) -}}{{- $out = append $out $item -}}{{- end -}}
{{- end -}}
{{- toYaml (dict "value" $out) -}}
{{- else -}}
{{- toYaml (dict "value" $over) -}}
{{- end -}}
{{- end }}

{{/* Not empty when each item is a map with a name. */}}
{{- define "boathook.named" -}}
{{- $named := gt (len .) 0 -}}
{{- range . -}}
{{- if not (kindIs "map" .) -}}{{- $named = false -}}
{{- else if not (hasKey . "name") -}}{{- $named = false -}}{{- end -}}
{{- end -}}
{{- if $named -}}yes{{- end -}}
{{- end }}
