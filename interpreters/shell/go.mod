module github.com/boathook/boathook/interpreters/shell

go 1.26.0

require (
	github.com/boathook/boathook/sdk/go v0.0.0
	github.com/itchyny/gojq v0.12.20
	go.yaml.in/yaml/v3 v3.0.6
	github.com/mikefarah/yq/v4 v4.54.2
	k8s.io/client-go v0.37.1
	mvdan.cc/sh/v3 v3.14.1
	sigs.k8s.io/yaml v1.6.0
)

require github.com/itchyny/timefmt-go v0.1.9 // indirect

replace github.com/boathook/boathook/sdk/go => ../../sdk/go
