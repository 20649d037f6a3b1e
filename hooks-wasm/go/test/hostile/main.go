// A guest that misbehaves in the way that its name says: the tests load it under several.
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"strings"
	"time"

	boathook "github.com/boathook/boathook/sdk/go"
	"github.com/boathook/boathook/sdk/go/kube"
)

func init() {
	boathook.Configure(boathook.Config{
		OnStartup: boathook.Order(1),
		Permissions: boathook.Permit(boathook.Permission{
			Resources: []string{"configmaps"},
			Verbs:     []string{"get"},
		}),
	})
	boathook.Run(func(ctx *boathook.Context) error {
		way, _, _ := strings.Cut(ctx.Hook, ".")
		do, known := ways[way]
		if !known {
			return boathook.Permanent(fmt.Errorf("there is no way %q", way))
		}
		return do()
	})
}

func main() {}

var target = kube.Ref{APIVersion: "v1", Kind: "ConfigMap", Namespace: "default", Name: "big"}

var ways = map[string]func() error{
	"good":           func() error { return nil },
	"spin":           spin,
	"memory-bomb":    memoryBomb,
	"huge-text":      hugeText,
	"deep-recursion": func() error { return fmt.Errorf("%d", deep(1)) },
	"many-calls":     manyCalls,
	"many-lines":     manyLines,
	"panic":          func() error { panic("on purpose") },
	"deadlock":       func() error { select {} },
	"small-stack":    func() error { debug.SetMaxStack(1 << 10); return fmt.Errorf("%d", deep(1)) },
	"permanent":      func() error { return boathook.Permanent(errors.New("never again")) },
	"later":          func() error { return boathook.RetryAfter(1500*time.Millisecond, errors.New("not yet")) },
	"stress-10":      func() error { return stress(10) },
	"stress-100":     func() error { return stress(100) },
	"stress-off":     func() error { return stress(-1) },
}

func spin() error {
	for n := 0; ; n++ {
		if n < 0 {
			return nil
		}
	}
}

func memoryBomb() error {
	var kept [][]byte
	for {
		kept = append(kept, make([]byte, 1<<20))
		kept[len(kept)-1][0] = 1
	}
}

func hugeText() error {
	slog.Info(strings.Repeat("x", 1<<30))
	return nil
}

func deep(n int) int {
	var room [128]int
	room[n%len(room)] = n
	return deep(n+1) + room[(n+1)%len(room)]
}

func manyCalls() error {
	for {
		var object kube.Object
		// An error is no reason for it to stop.
		_ = kube.Get(target, &object)
	}
}

func manyLines() error {
	for {
		slog.Info("again")
	}
}

// stress makes garbage and keeps some, has a timer, and reads much from the host: the garbage collector works while the
// host hands over answers.
func stress(percent int) error {
	debug.SetGCPercent(percent)
	fired := 0
	timer := time.AfterFunc(time.Millisecond, func() { fired++ })
	defer timer.Stop()
	kept := make([]any, 32)
	first := ""
	for i := range 300 {
		var answer kube.JSON
		if err := kube.Get(target, &answer); err != nil {
			return err
		}
		if first == "" {
			first = string(answer)
		}
		if string(answer) != first {
			return boathook.Permanent(fmt.Errorf("answer %d is another than the first", i))
		}
		if percent < 0 {
			continue
		}
		var object any
		if err := json.Unmarshal([]byte(answer), &object); err != nil {
			return boathook.Permanent(err)
		}
		kept[i%len(kept)] = object
	}
	slog.Info("read", "bytes", 300*len(first))
	return nil
}
