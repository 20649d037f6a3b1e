{{- define "formats.name" }}named{{ end -}}
