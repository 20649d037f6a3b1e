package main

import (
	"context"
	"io"
	"os"
	"time"
)

const parentInterval = 500 * time.Millisecond

// watchParent calls gone once the process that started us is no more: however that one ends, even
// by SIGKILL, the pipe to our stdin is closed, and we get another parent.
func watchParent(ctx context.Context, gone context.CancelFunc) {
	if stdinIsPipe() {
		go func() {
			io.Copy(io.Discard, os.Stdin)
			gone()
		}()
	}
	parent := os.Getppid()
	go func() {
		ticker := time.NewTicker(parentInterval)
		defer ticker.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-ticker.C:
				if os.Getppid() != parent {
					gone()
					return
				}
			}
		}
	}()
}

// stdinIsPipe is false for a terminal and for /dev/null, whose end means nothing.
func stdinIsPipe() bool {
	info, err := os.Stdin.Stat()
	return err == nil && info.Mode()&(os.ModeNamedPipe|os.ModeSocket) != 0
}
