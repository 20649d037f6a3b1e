{{/* The Pod template as the chart makes it, before podTemplate is merged over it. */}}
{{- define "boathook.pod" -}}
{{- $name := include "boathook.fullname" . -}}
{{- $hooks := or .Values.hooks.image.reference .Values.hooks.initContainer.image -}}
{{- $trust := or .Values.trust.policy .Values.trust.keys -}}
metadata:
  labels:
    {{- include "boathook.selector" . | nindent 4 }}
    {{- with .Values.podLabels }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
  annotations:
    kubectl.kubernetes.io/default-container: boathook
    {{- if or $trust .Values.hooks.settings }}
    checksum/config: {{ include "boathook.config" . | sha256sum }}
    {{- end }}
    {{- with .Values.podAnnotations }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
spec:
  serviceAccountName: {{ include "boathook.serviceAccount" . }}
  automountServiceAccountToken: true
  terminationGracePeriodSeconds: 45
  {{- with .Values.imagePullSecrets }}
  imagePullSecrets:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with .Values.priorityClassName }}
  priorityClassName: {{ . }}
  {{- end }}
  {{- with .Values.nodeSelector }}
  nodeSelector:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with .Values.tolerations }}
  tolerations:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with .Values.affinity }}
  affinity:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  securityContext:
    runAsNonRoot: true
    runAsUser: 65532
    runAsGroup: 65532
    {{- if .Values.cache.existingClaim }}
    # Only while the volume is new: a cache that its group may write to is not used.
    fsGroup: 65532
    fsGroupChangePolicy: OnRootMismatch
    {{- end }}
    seccompProfile:
      type: RuntimeDefault
  topologySpreadConstraints:
    {{- if .Values.topologySpreadConstraints }}
    {{- toYaml .Values.topologySpreadConstraints | nindent 4 }}
    {{- else }}
    - maxSkew: 1
      topologyKey: kubernetes.io/hostname
      whenUnsatisfiable: ScheduleAnyway
      labelSelector:
        matchLabels:
          {{- include "boathook.selector" . | nindent 10 }}
    {{- end }}
  {{- with .Values.hooks.initContainer }}
  {{- if .image }}
  initContainers:
    - name: hooks
      image: {{ .image }}
      imagePullPolicy: {{ .pullPolicy }}
      command: {{ .command | default (list "cp" "-R" (printf "%s/." (trimSuffix "/" .path)) "/target/") | toJson }}
      resources:
        {{- toYaml .resources | nindent 8 }}
      securityContext:
        allowPrivilegeEscalation: false
        readOnlyRootFilesystem: true
        capabilities:
          drop: [ALL]
      volumeMounts:
        - name: hooks
          mountPath: /target
  {{- end }}
  {{- end }}
  containers:
    - name: boathook
      image: {{ include "boathook.image" . }}
      imagePullPolicy: {{ .Values.image.pullPolicy }}
      args:
        {{- include "boathook.args" . | nindent 8 }}
      env:
        - name: BOATHOOK_LOG_FORMAT
          value: {{ .Values.logFormat }}
        {{- with .Values.logLevel }}
        - name: BOATHOOK_LOG_LEVEL
          value: {{ . | quote }}
        {{- end }}
        - name: BOATHOOK_LISTEN
          value: 0.0.0.0:9115
        {{- if .Values.webhooks.enabled }}
        - name: BOATHOOK_WEBHOOK_LISTEN
          value: 0.0.0.0:9443
        - name: BOATHOOK_WEBHOOK_SERVICE
          value: {{ $name }}-webhooks
        {{- if .Values.webhooks.certificateSecret }}
        - name: BOATHOOK_WEBHOOK_CERTS
          value: /etc/boathook/webhook-certificates
        {{- else if ne $name "boathook" }}
        - name: BOATHOOK_WEBHOOK_SECRET
          value: {{ $name }}-webhook-certificates
        {{- end }}
        {{- else }}
        - name: BOATHOOK_NO_WEBHOOKS
          value: "true"
        {{- end }}
        {{- if ne $name "boathook" }}
        - name: BOATHOOK_INSTANCE
          value: {{ printf "%s-%s" .Release.Namespace $name | trunc 63 | trimSuffix "-" }}
        {{- end }}
        - name: BOATHOOK_CACHE_DIR
          value: /var/cache/boathook/compiled
        - name: BOATHOOK_BUNDLE_STORE
          value: /var/cache/boathook/bundles
        - name: BOATHOOK_ADMIN_SOCKET
          value: /run/boathook/admin/admin.sock
        {{- if .Values.console.enabled }}
        - name: BOATHOOK_CONSOLE
          value: 127.0.0.1:{{ .Values.console.port }}
        {{- end }}
        - name: BOATHOOK_GRACE_PERIOD
          value: {{ .Values.gracePeriod }}
        {{- if include "boathook.elects" . }}
        - name: BOATHOOK_LEADER_ELECT
          value: "true"
        - name: BOATHOOK_LEASE_NAME
          value: {{ $name }}
        - name: BOATHOOK_LEASE_DURATION
          value: {{ .Values.leaderElection.leaseDuration }}
        {{- end }}
        {{- if ne .Values.hookBundles.mode "auto" }}
        - name: BOATHOOK_HOOK_BUNDLES
          value: {{ get (dict "required" "on" "disabled" "off") .Values.hookBundles.mode | quote }}
        {{- end }}
        {{- with .Values.hookBundles.unconfinedNamespaces }}
        - name: BOATHOOK_UNCONFINED_NAMESPACES
          value: {{ join "," . }}
        {{- end }}
        {{- with .Values.hookBundles.privateRegistries }}
        - name: BOATHOOK_PRIVATE_REGISTRIES
          value: {{ join "," . | quote }}
        {{- end }}
        {{- with .Values.hookBundles.insecureRegistries }}
        - name: BOATHOOK_INSECURE_REGISTRIES
          value: {{ join "," . | quote }}
        {{- end }}
        {{- with .Values.hookBundles.privateNetworks }}
        - name: BOATHOOK_PRIVATE_NETWORKS
          value: {{ join "," . | quote }}
        {{- end }}
        {{- with .Values.http.privateHosts }}
        - name: BOATHOOK_HTTP_PRIVATE_HOSTS
          value: {{ join "," . | quote }}
        {{- end }}
        {{- with .Values.http.insecureHosts }}
        - name: BOATHOOK_HTTP_INSECURE_HOSTS
          value: {{ join "," . | quote }}
        {{- end }}
        {{- if $hooks }}
        - name: BOATHOOK_HOOKS
          value: {{ ternary (printf "/hooks-image/%s" (trimPrefix "/" .Values.hooks.image.path) | trimSuffix "/") "/hooks" (ne .Values.hooks.image.reference "") }}
        {{- end }}
        {{- if .Values.hooks.references }}
        - name: BOATHOOK_BUNDLES
          value: {{ join "," .Values.hooks.references | quote }}
        - name: BOATHOOK_BUNDLE_INTERVAL
          value: {{ .Values.hooks.interval }}
        {{- end }}
        {{- with .Values.otlpEndpoint }}
        - name: BOATHOOK_OTLP_ENDPOINT
          value: {{ . }}
        {{- end }}
        {{- with .Values.extraEnv }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
      ports:
        - name: metrics
          containerPort: 9115
          protocol: TCP
        {{- if .Values.webhooks.enabled }}
        - name: webhooks
          containerPort: 9443
          protocol: TCP
        {{- end }}
      startupProbe:
        httpGet:
          path: /startupz
          port: metrics
        periodSeconds: 2
        failureThreshold: 300
      livenessProbe:
        httpGet:
          path: /healthz
          port: metrics
        periodSeconds: 10
        timeoutSeconds: 5
        failureThreshold: 6
      readinessProbe:
        httpGet:
          path: /readyz?exclude=hooks
          port: metrics
        periodSeconds: 5
        timeoutSeconds: 5
      resources:
        {{- toYaml .Values.resources | nindent 8 }}
      securityContext:
        allowPrivilegeEscalation: false
        readOnlyRootFilesystem: true
        capabilities:
          drop: [ALL]
      volumeMounts:
        - name: cache
          mountPath: /var/cache/boathook
        - name: run
          mountPath: /run/boathook
        - name: tmp
          mountPath: /tmp
        {{- if $hooks }}
        - name: hooks
          mountPath: {{ ternary "/hooks-image" "/hooks" (ne .Values.hooks.image.reference "") }}
          readOnly: true
        {{- end }}
        {{- if $trust }}
        - name: trust
          mountPath: /etc/boathook/trust
          readOnly: true
        {{- end }}
        {{- if .Values.hooks.settings }}
        - name: settings
          mountPath: /etc/boathook/settings
          readOnly: true
        {{- end }}
        {{- if .Values.hooks.pullSecret }}
        - name: pull-secret
          mountPath: /etc/boathook/pull-secret
          readOnly: true
        {{- end }}
        {{- if .Values.hooks.caConfigMap }}
        - name: registry-ca
          mountPath: /etc/boathook/registry-ca
          readOnly: true
        {{- end }}
        {{- if and .Values.webhooks.enabled .Values.webhooks.certificateSecret }}
        - name: webhook-certificates
          mountPath: /etc/boathook/webhook-certificates
          readOnly: true
        {{- end }}
  volumes:
    - name: cache
      {{- if .Values.cache.existingClaim }}
      persistentVolumeClaim:
        claimName: {{ .Values.cache.existingClaim }}
      {{- else }}
      emptyDir:
        sizeLimit: {{ .Values.cache.sizeLimit }}
      {{- end }}
    - name: run
      emptyDir:
        medium: Memory
        sizeLimit: 1Mi
    - name: tmp
      emptyDir:
        sizeLimit: 256Mi
    {{- if .Values.hooks.image.reference }}
    - name: hooks
      image:
        reference: {{ .Values.hooks.image.reference }}
        pullPolicy: {{ .Values.hooks.image.pullPolicy }}
    {{- else if .Values.hooks.initContainer.image }}
    - name: hooks
      emptyDir:
        sizeLimit: 512Mi
    {{- end }}
    {{- if $trust }}
    - name: trust
      configMap:
        name: {{ $name }}-trust
    {{- end }}
    {{- if .Values.hooks.settings }}
    - name: settings
      secret:
        secretName: {{ $name }}-settings
    {{- end }}
    {{- with .Values.hooks.pullSecret }}
    - name: pull-secret
      secret:
        secretName: {{ . }}
    {{- end }}
    {{- with .Values.hooks.caConfigMap }}
    - name: registry-ca
      configMap:
        name: {{ . }}
    {{- end }}
    {{- if and .Values.webhooks.enabled .Values.webhooks.certificateSecret }}
    - name: webhook-certificates
      secret:
        secretName: {{ .Values.webhooks.certificateSecret }}
    {{- end }}
{{- end }}

{{- define "boathook.args" -}}
- serve
{{- if .Values.trust.unverified }}
- --unverified
{{- else if .Values.trust.policy }}
- --policy
- /etc/boathook/trust/policy.yaml
{{- else }}
{{- range $file, $_ := .Values.trust.keys }}
- --key
- /etc/boathook/trust/{{ $file }}
{{- end }}
{{- end }}
{{- range $bundle, $_ := .Values.hooks.settings }}
- --bundle-settings
- {{ $bundle }}=/etc/boathook/settings/{{ $bundle }}.yaml
{{- end }}
{{- if .Values.hooks.pullSecret }}
- --docker-config
- /etc/boathook/pull-secret/.dockerconfigjson
{{- end }}
{{- if .Values.hooks.caConfigMap }}
- --ca
- /etc/boathook/registry-ca/ca.crt
{{- end }}
{{- with .Values.extraArgs }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{/* What the Pod reads once, at its start. Settings are read again by themselves. */}}
{{- define "boathook.config" -}}
{{- toYaml .Values.trust -}}
{{- end }}
