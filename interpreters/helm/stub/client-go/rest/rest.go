// Package rest has what Helm's engine names of the package with this name. The engine never opens a connection.
package rest

// Config is how a client connects.
type Config struct{}
