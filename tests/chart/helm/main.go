// Command helm is Helm itself, of the version that the tests render with, for tests that type its commands.
package main

import (
	"os"

	"helm.sh/helm/v4/pkg/cmd"
)

func main() {
	root, err := cmd.NewRootCmd(os.Stdout, os.Args[1:], cmd.SetupLogging)
	if err != nil {
		os.Stderr.WriteString(err.Error() + "\n")
		os.Exit(1)
	}
	if root.Execute() != nil {
		os.Exit(1)
	}
}
