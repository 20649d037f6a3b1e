module github.com/boathook/boathook/sdk/go

go 1.24
