{{- define "app.labels" -}}
{{- include "common.labels" . }}
{{- with .Values.global.labels }}
{{ toYaml . }}
{{- end }}
{{- end }}
{{- define "app.depth" -}}
{{- if gt (int .n) 0 }}{{ include "app.depth" (dict "n" (sub .n 1)) }}{{ else }}bottom{{ end }}
{{- end }}
