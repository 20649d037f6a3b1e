// Package values has the values of the module that the hook belongs to.
//
// A hook sees them as they were when its run began. What it changes is checked and kept when the run has succeeded, all of
// it or nothing. A hook of a module changes the section of its module; a global hook changes the section "global", and turns
// modules on and off. Outside of modules, each call is an error.
package values

import (
	"encoding/json"
	"errors"
	"strings"

	"github.com/boathook/boathook/sdk/go/internal/host"
	"github.com/boathook/boathook/sdk/go/internal/wit/runtime"
	wit "github.com/boathook/boathook/sdk/go/internal/wit/types"
	"github.com/boathook/boathook/sdk/go/kube"
)

// Get reads the values into a pointer to any type: an object with "global" and, for a hook of a module, the section of the
// module.
func Get(into any) error {
	text, err := read(false)
	if err != nil {
		return err
	}
	return kube.JSON(text).Into(into)
}

// Config reads the configuration, as users wrote it: an object with "global" and the section of the module.
func Config(into any) error {
	text, err := read(true)
	if err != nil {
		return err
	}
	return kube.JSON(text).Into(into)
}

// Set sets a value. The path is a JSON pointer, such as "/web/replicas"; "/web/hosts/-" adds to a list. "/webEnabled" turns a
// module on or off, for a global hook.
func Set(path string, value any) error { return patch(host.Patch, operation{"add", path, value}) }

// Remove removes a value.
func Remove(path string) error { return patch(host.Patch, removal{"remove", path}) }

// SetConfig sets a value of the configuration.
func SetConfig(path string, value any) error {
	return patch(host.PatchConfig, operation{"add", path, value})
}

// RemoveConfig removes a value of the configuration.
func RemoveConfig(path string) error { return patch(host.PatchConfig, removal{"remove", path}) }

type operation struct {
	Op    string `json:"op"`
	Path  string `json:"path"`
	Value any    `json:"value"`
}

type removal struct {
	Op   string `json:"op"`
	Path string `json:"path"`
}

// wrong is an error that a repeated run does not change.
type wrong struct{ error }

// Permanent is always true.
func (wrong) Permanent() bool { return true }

func read(config bool) (string, error) {
	runtime.Enter()
	defer runtime.Leave()
	result := host.ModuleValues()
	if result.IsErr() {
		return "", wrong{errors.New(strings.Clone(result.Err()))}
	}
	found := result.Ok()
	if config {
		return strings.Clone(found.Config), nil
	}
	return strings.Clone(found.Values), nil
}

func patch(call func(string) wit.Result[wit.Unit, string], one any) error {
	text, err := json.Marshal([]any{one})
	if err != nil {
		return wrong{err}
	}
	runtime.Enter()
	defer runtime.Leave()
	if result := call(string(text)); result.IsErr() {
		return wrong{errors.New(strings.Clone(result.Err()))}
	}
	return nil
}
