package main

import (
	"context"
	"fmt"
	"os"
)

// obey does what a line on stdin says, and reports it on stdout. It reports a line that is not a
// command, and skips it.
func obey(ctx context.Context, etcd *etcdServer, command string) error {
	switch command {
	case "compact":
		revision, err := etcd.compact(ctx)
		if err != nil {
			return err
		}
		fmt.Println("compacted", revision)
	default:
		fmt.Fprintf(os.Stderr, "boathook-apiserver: no command: %q; there is: compact\n", command)
	}
	return nil
}
