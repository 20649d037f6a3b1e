{{- define "warm.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 63 | trimSuffix "-" -}}
{{- end -}}
{{- define "warm.fullname" -}}
{{- if contains (include "warm.name" .) .Release.Name -}}{{ .Release.Name }}{{- else -}}{{ printf "%s-%s" .Release.Name (include "warm.name" .) | trunc 63 | trimSuffix "-" }}{{- end -}}
{{- end -}}
{{- define "warm.labels" -}}
app.kubernetes.io/name: {{ include "warm.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
{{- with .Values.labels }}
{{ toYaml . }}
{{- end }}
{{- end -}}
