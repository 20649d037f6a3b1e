module github.com/boathook/boathook/interpreters/helm

go 1.26.0

require (
	helm.sh/helm/v3 v3.22.0
	k8s.io/apimachinery v0.37.0
	k8s.io/client-go v0.37.0
)

require (
	dario.cat/mergo v1.0.1 // indirect
	github.com/BurntSushi/toml v1.6.0 // indirect
	github.com/Masterminds/goutils v1.1.1 // indirect
	github.com/Masterminds/semver/v3 v3.5.0 // indirect
	github.com/Masterminds/sprig/v3 v3.3.0 // indirect
	github.com/cyphar/filepath-securejoin v0.7.0 // indirect
	github.com/gobwas/glob v0.2.3 // indirect
	github.com/google/uuid v1.6.0 // indirect
	github.com/huandu/xstrings v1.5.0 // indirect
	github.com/mitchellh/copystructure v1.2.0 // indirect
	github.com/mitchellh/reflectwalk v1.0.2 // indirect
	github.com/pkg/errors v0.9.1 // indirect
	github.com/santhosh-tekuri/jsonschema/v6 v6.0.3 // indirect
	github.com/shopspring/decimal v1.4.0 // indirect
	github.com/spf13/cast v1.7.0 // indirect
	go.yaml.in/yaml/v2 v2.4.4 // indirect
	go.yaml.in/yaml/v3 v3.0.5 // indirect
	golang.org/x/crypto v0.55.0 // indirect
	golang.org/x/text v0.41.0 // indirect
	k8s.io/apiextensions-apiserver v0.37.0 // indirect
	sigs.k8s.io/yaml v1.6.0 // indirect
)

// Helm's engine needs a few types of these libraries. The libraries themselves are megabytes that an instance would carry.
replace (
	k8s.io/apiextensions-apiserver => ./stub/apiextensions
	k8s.io/apimachinery => ./stub/apimachinery
	k8s.io/client-go => ./stub/client-go
)

// Without this, rand.Seed does nothing, and a snapshot has the same random numbers in each run.
godebug randseednop=0
