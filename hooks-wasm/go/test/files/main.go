// Does what a ConfigMap asks with files, by package os: as hooks-wasm/test/files in Rust, with fewer steps.
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"

	boathook "github.com/boathook/boathook/sdk/go"
)

func init() {
	boathook.Configure(boathook.Config{
		Kubernetes: []boathook.Kubernetes{{Name: "configmaps", APIVersion: "v1", Kind: "ConfigMap"}},
		Permissions: boathook.Permissions{}.WithDirectories(
			boathook.DirectoryPermission{Name: "logs"},
			boathook.DirectoryPermission{Name: "keys", Access: "write"},
		),
	})
	boathook.Run(run)
}

func main() {}

type step struct {
	Do   string `json:"do"`
	Path string `json:"path"`
	To   string `json:"to"`
	Text string `json:"text"`
}

func run(ctx *boathook.Context) error {
	for event := range ctx.Events("configmaps") {
		var object struct {
			Data struct {
				Steps string `json:"steps"`
			} `json:"data"`
		}
		if err := json.Unmarshal([]byte(event.Object), &object); err != nil {
			return err
		}
		var steps []step
		if err := json.Unmarshal([]byte(object.Data.Steps), &steps); err != nil {
			return err
		}
		for _, step := range steps {
			line := map[string]any{"do": step.Do}
			if result, err := step.done(); err == nil {
				line["ok"] = result
			} else {
				line["error"] = kind(err)
			}
			text, err := json.Marshal(line)
			if err != nil {
				return err
			}
			slog.Info(string(text))
		}
	}
	return nil
}

func (s step) done() (any, error) {
	switch s.Do {
	case "read":
		text, err := os.ReadFile(s.Path)
		return string(text), err
	case "write":
		return nil, os.WriteFile(s.Path, []byte(s.Text), 0o600)
	case "append":
		file, err := os.OpenFile(s.Path, os.O_APPEND|os.O_WRONLY, 0)
		if err != nil {
			return nil, err
		}
		_, err = file.WriteString(s.Text)
		return nil, errors.Join(err, file.Close())
	case "list":
		entries, err := os.ReadDir(s.Path)
		names := []string{}
		for _, entry := range entries {
			names = append(names, entry.Name())
		}
		return names, err
	case "size":
		seen, err := os.Lstat(s.Path)
		if err != nil {
			return nil, err
		}
		return seen.Size(), nil
	case "rename":
		return nil, os.Rename(s.Path, s.To)
	case "remove":
		return nil, os.Remove(s.Path)
	case "mkdir":
		return nil, os.Mkdir(s.Path, 0o700)
	}
	return nil, fmt.Errorf("there is no step %q", s.Do)
}

// kind is the name that Rust has for it.
func kind(err error) string {
	switch {
	case errors.Is(err, os.ErrNotExist):
		return "NotFound"
	case errors.Is(err, os.ErrPermission):
		return "PermissionDenied"
	}
	return err.Error()
}
