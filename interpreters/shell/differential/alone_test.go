package differential

import (
	"context"
	"os/exec"
	"testing"
	"time"
)

// TestAForkBombEndsInBash runs scripts with the real bash that start processes without end.
func TestAForkBombEndsInBash(t *testing.T) {
	if _, err := exec.LookPath("bash"); err != nil {
		t.Skip("bash is not here")
	}
	if err := canLimitProcesses(); err != nil {
		t.Skip(err)
	}
	for name, script := range map[string]string{
		"in the background": `:() { : | : & }; :`,
		"in pipes":          `f() { f | f; }; f`,
		"in subshells":      `f() ( f; echo x ); f`,
		"in a loop":         `while true; do while true; do true; done & done`,
		"of bash":           "bash snippet.sh & bash snippet.sh",
		"without an end":    `trap '' HUP INT TERM; f() { f & f & wait; }; f`,
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
			defer cancel()
			r := realIn(ctx, t, script, programs)
			if r.Exit != unfinished || ctx.Err() != nil {
				t.Errorf("ends with %d and %.200s (%v)", r.Exit, r.Stdout, ctx.Err())
			}
		})
	}
}
