// Package boathook is for writing Kubernetes hooks that run in Boathook as WebAssembly components.
//
// A hook is a configuration, which says what wakes it and what it may touch, and a function that does the work. Both are
// given in a function init, since nobody calls main of a component:
//
//	func init() {
//		boathook.Configure(boathook.Config{
//			Kubernetes:  []boathook.Kubernetes{{Name: "namespaces", APIVersion: "v1", Kind: "Namespace"}},
//			Permissions: boathook.Permit(boathook.Permission{Resources: []string{"events"}, Verbs: []string{"create"}}),
//		})
//		boathook.Run(run)
//	}
//
//	func run(ctx *boathook.Context) error {
//		for event := range ctx.Events("namespaces") {
//			slog.Info("namespace", "change", event.Change, "name", event.Target.Name)
//		}
//		return nil
//	}
//
//	func main() {}
//
// Lines of log/slog go to the operator's log. A panic ends the run, which is retried; its trace is in the log. Each run is
// in a fresh instance: nothing is kept between them, not even global variables.
package boathook

import (
	"encoding/json"
	"errors"

	"github.com/boathook/boathook/sdk/go/internal/failure"
	"github.com/boathook/boathook/sdk/go/internal/hook/export_wit_world"
	wire "github.com/boathook/boathook/sdk/go/internal/wit/boathook_hook_types"
	wit "github.com/boathook/boathook/sdk/go/internal/wit/types"
)

// Version is that of the WIT package boathook:hook which components of this SDK are for.
const Version = "0.1.0"

var (
	document = func() string { return "" }
	work     = func(*Context) error {
		return Permanent(errors.New("the hook has no function for this: call boathook.Run in a function init"))
	}
)

func init() {
	export_wit_world.OnConfig = func() string { return document() }
	export_wit_world.OnRun = run
}

// Configure says what wakes the hook and what it may touch.
func Configure(config Config) {
	document = func() string {
		text, err := json.Marshal(config)
		if err != nil {
			// The host says that this is no document, and shows it.
			return err.Error()
		}
		return string(text)
	}
}

// ConfigureText is Configure with a document in YAML or JSON, such as an embedded file.
func ConfigureText(text string) {
	document = func() string { return text }
}

// Run gives the function that does the hook's work. When it returns nil, all triggers of the run are done; after an error
// they come again, unless it is Permanent.
func Run(function func(*Context) error) { work = function }

func run(info wire.RunInfo, contexts []wire.BindingContext) wit.Result[wit.Unit, wire.Failure] {
	_, err := failure.Guard(func() (wit.Unit, error) {
		return wit.Unit{}, work(newContext(info, contexts))
	})
	if err != nil {
		return wit.Err[wit.Unit](failure.Of(err))
	}
	return wit.Ok[wit.Unit, wire.Failure](wit.Unit{})
}
