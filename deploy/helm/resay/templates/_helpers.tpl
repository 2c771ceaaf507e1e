{{- define "resay.name" -}}{{ .Release.Name | trunc 63 | trimSuffix "-" }}{{- end -}}
{{- define "resay.selector" -}}
app.kubernetes.io/name: resay
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}
{{- define "resay.labels" -}}
{{ include "resay.selector" . }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ .Chart.Name }}-{{ .Chart.Version }}
{{- end -}}
