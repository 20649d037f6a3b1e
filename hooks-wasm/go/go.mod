module github.com/boathook/boathook/hooks-wasm/go

go 1.24

require github.com/boathook/boathook/sdk/go v0.1.0

replace github.com/boathook/boathook/sdk/go => ../../sdk/go
