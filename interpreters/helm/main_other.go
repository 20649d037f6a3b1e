//go:build !wasip1

package main

import (
	"encoding/json"
	"fmt"
	"os"

	"github.com/boathook/boathook/interpreters/helm/render"
)

// asked is a request, and what `lookup` finds.
type asked struct {
	render.Request
	Cluster render.Objects
}

// answered is a response, or an error.
type answered struct {
	*render.Rendered
	Error string `json:",omitempty"`
}

// Requests come as JSON on standard input, and responses go to standard output.
func main() {
	in, out := json.NewDecoder(os.Stdin), json.NewEncoder(os.Stdout)
	for in.More() {
		var ask asked
		if err := in.Decode(&ask); err != nil {
			fail(err)
		}
		rendered, err := render.Render(&ask.Request, ask.Cluster.Lookup)
		answer := answered{Rendered: rendered}
		if err != nil {
			answer.Error = err.Error()
		}
		if err := out.Encode(answer); err != nil {
			fail(err)
		}
	}
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, "helm:", err)
	os.Exit(1)
}
