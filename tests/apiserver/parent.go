package main

import (
	"bufio"
	"context"
	"os"
	"time"
)

const parentInterval = 500 * time.Millisecond

// watchParent calls gone once the process that started us is no more: however that one ends, even
// by SIGKILL, the pipe to our stdin is closed, and we get another parent. The lines that come
// through the pipe before that are passed on.
func watchParent(ctx context.Context, gone context.CancelFunc) <-chan string {
	lines := make(chan string)
	if stdinIsPipe() {
		go func() {
			for stdin := bufio.NewScanner(os.Stdin); stdin.Scan(); {
				select {
				case lines <- stdin.Text():
				case <-ctx.Done():
				}
			}
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
	return lines
}

// stdinIsPipe is false for a terminal and for /dev/null, whose end means nothing.
func stdinIsPipe() bool {
	info, err := os.Stdin.Stat()
	return err == nil && info.Mode()&(os.ModeNamedPipe|os.ModeSocket) != 0
}
