// Command cosign is cosign itself, without its clients of key management services.
package main

import (
	"os"

	"github.com/sigstore/cosign/v3/cmd/cosign/cli"
)

func main() {
	if cli.New().Execute() != nil {
		os.Exit(1)
	}
}
