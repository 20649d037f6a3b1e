// Package shellop runs shell hooks by the contract of shell-operator: a script describes itself with --config, reads its
// triggers from a file, and writes files that become calls, metrics and answers after the run.
//
// It never calls the cluster itself: it returns what the script asked for, in order.
package shellop

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"
	"sync/atomic"
	"time"

	"github.com/boathook/boathook/interpreters/shell/bash"
	"github.com/boathook/boathook/interpreters/shell/commands"
	memory "github.com/boathook/boathook/interpreters/shell/fs"
	"github.com/boathook/boathook/interpreters/shell/kubectl"
)

//go:embed lib
var library embed.FS

// Hook is a script with the files that belong to it, by absolute path.
type Hook struct {
	Entry string
	Files map[string][]byte
}

// Options are what a run gets from the host.
type Options struct {
	Limits  bash.Limits
	Files   memory.Limits
	Seed    uint64
	Now     func() time.Time
	Env     map[string]string
	Cluster kubectl.Cluster
	// Values are those of the hook's module. Nil for other hooks.
	Values *Values
	// Line gets each line that the script prints.
	Line func(Line)
}

// DefaultFiles bound the files of a run.
var DefaultFiles = memory.Limits{Bytes: 32 << 20, Files: 4096}

// DefaultOptions are those of a run without a host.
func DefaultOptions() Options {
	return Options{
		Limits: bash.DefaultLimits, Files: DefaultFiles, Now: time.Now, Line: func(Line) {},
		Cluster: kubectl.None{},
	}
}

// The files of a run. The folder is not that of the scripts, so that no name of a hook is taken.
const (
	folder = "/var/run/shell-operator"
	// ContextPath is the file of binding contexts, and PatchPath that of operations.
	ContextPath    = folder + "/binding-context.json"
	PatchPath      = folder + "/kubernetes-patch.json"
	metricsPath    = folder + "/metrics.json"
	admissionPath  = folder + "/admission-response.json"
	conversionPath = folder + "/conversion-response.json"
	valuesPath     = folder + "/values.json"
	configPath     = folder + "/config-values.json"
)

// ExitError says that the script failed.
type ExitError struct {
	Entry  string
	Status int
	Stderr string
}

func (e *ExitError) Error() string {
	if text := strings.TrimSpace(e.Stderr); text != "" {
		return text
	}
	return fmt.Sprintf("%s: exit status %d", e.Entry, e.Status)
}

// process is one start of the script.
type process struct {
	world *bash.World
	hook  *Hook
	env   []string
	lines *lineWriter
	errs  *lineWriter
	out   strings.Builder
}

// FS is the file system of a run: the library, the files of the hook, and the empty files that the script writes.
func (h *Hook) FS(limits memory.Limits, now func() time.Time) (*memory.FS, error) {
	files := prepared.Swap(nil)
	if files == nil || limits != DefaultFiles {
		var err error
		if files, err = common(limits); err != nil {
			return nil, err
		}
	}
	files.MustMkdirAll(path.Dir(h.Entry))
	for p, text := range h.Files {
		for _, own := range []string{"/dev/", "/proc/", folder + "/"} {
			if strings.HasPrefix(p, own) {
				return nil, fmt.Errorf("lib/rootfs%s: a run has its own files in %s: move it", p, strings.TrimSuffix(own, "/"))
			}
		}
		if err := files.Put(p, text, 0o755); err != nil {
			return nil, err
		}
	}
	files.Begin(now)
	return files, nil
}

// prepared is what all runs begin with, for one run.
var prepared atomic.Pointer[memory.FS]

// Prepare makes what all runs begin with. The next run takes it and does not make it again.
func Prepare() error {
	files, err := common(DefaultFiles)
	prepared.Store(files)
	return err
}

// common are the files that do not depend on the hook.
func common(limits memory.Limits) (*memory.FS, error) {
	files := memory.New(limits, nil)
	for _, dir := range []string{"/hooks", "/root", folder} {
		files.MustMkdirAll(dir)
	}
	err := fs.WalkDir(library, "lib", func(p string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := library.ReadFile(p)
		if err != nil {
			return err
		}
		return files.Put(strings.TrimPrefix(p, "lib"), text, 0o755)
	})
	if err != nil {
		return nil, err
	}
	for _, p := range []string{PatchPath, metricsPath, admissionPath, conversionPath} {
		if err := files.Put(p, nil, 0o644); err != nil {
			return nil, err
		}
	}
	return files, nil
}

// Environment are the variables of a run. It has none of those that a Pod has.
func Environment() []string {
	return []string{
		"HOME=/root", "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "TMPDIR=/tmp",
		"BINDING_CONTEXT_PATH=" + ContextPath, "KUBERNETES_PATCH_PATH=" + PatchPath, "METRICS_PATH=" + metricsPath,
		"VALIDATING_RESPONSE_PATH=" + admissionPath, "ADMISSION_RESPONSE_PATH=" + admissionPath,
		"CONVERSION_RESPONSE_PATH=" + conversionPath, "VALUES_PATH=" + valuesPath, "CONFIG_VALUES_PATH=" + configPath,
		// The first versions of shell-operator had the second one.
		"SHELL_OPERATOR_HOOKS_DIR=/hooks", "WORKING_DIR=/hooks",
	}
}

func (h *Hook) start(ctx context.Context, o *Options) (*process, error) {
	files, err := h.FS(o.Files, o.Now)
	if err != nil {
		return nil, err
	}
	p := &process{world: o.world(ctx, files), hook: h}
	p.env = Environment()
	for name, value := range o.Env {
		p.env = append(p.env, name+"="+value)
	}
	p.errs = &lineWriter{stream: "stderr", use: o.Line}
	p.lines = &lineWriter{stream: "stdout", use: o.Line}
	return p, nil
}

func (o *Options) world(ctx context.Context, files *memory.FS) *bash.World {
	world := bash.NewWorld(ctx, files, o.Limits, o.Seed, o.Now)
	commands.Register(world)
	kubectl.Register(world, o.Cluster)
	return world
}

// Describe checks the script and returns the document that it prints with --config.
func (h *Hook) Describe(ctx context.Context, o Options) (string, error) {
	o.Cluster = kubectl.None{}
	// The check reads no files but those of the hook.
	if problems := h.Check(o.world(ctx, memory.New(o.Files, o.Now))); len(problems) > 0 {
		return "", errors.Join(problems...)
	}
	return h.Document(ctx, o)
}

// Document is what the script prints with --config.
func (h *Hook) Document(ctx context.Context, o Options) (string, error) {
	o.Cluster = kubectl.None{}
	var stderr strings.Builder
	o.Line = func(l Line) {
		if l.Stream == "stderr" {
			stderr.WriteString(l.Text + "\n")
		}
	}
	p, err := h.start(ctx, &o)
	if err != nil {
		return "", err
	}
	status, err := p.world.Run(h.Entry, []string{"--config"}, p.env, "/hooks", bash.Streams{Out: &p.out, Err: p.errs})
	p.errs.flush()
	if err != nil {
		return "", err
	}
	if status != 0 {
		return "", &ExitError{h.Entry + " --config", status, stderr.String()}
	}
	if strings.TrimSpace(p.out.String()) == "" {
		return "", fmt.Errorf("%s --config prints nothing: print the document of the hook", h.Entry)
	}
	return p.out.String(), nil
}

// Check lists what cannot run in the files that are scripts of bash.
func (h *Hook) Check(w *bash.World) []error {
	return bash.CheckAll(h.Entry, h.Scripts(), CheckedLibrary(w), w)
}

// CheckedLibrary is what all hooks have. It is checked the first time.
func CheckedLibrary(w *bash.World) *bash.Library {
	known := checked.Load()
	if known == nil {
		known = bash.NewLibrary(Library(), w)
		checked.Store(known)
	}
	return known
}

// checked is the library, once a hook was checked.
var checked atomic.Pointer[bash.Library]

// Scripts are the files that are scripts of bash, by path.
func (h *Hook) Scripts() map[string]string {
	scripts := map[string]string{}
	for p, text := range h.Files {
		if p == h.Entry || strings.HasSuffix(p, ".sh") || strings.HasSuffix(p, ".bash") || strings.HasPrefix(string(text), "#!/bin/bash") || strings.HasPrefix(string(text), "#!/usr/bin/env bash") || strings.HasPrefix(string(text), "#!/bin/sh") {
			scripts[p] = string(text)
		}
	}
	return scripts
}

// Library is what scripts find beside themselves, by path.
func Library() map[string]string {
	own := map[string]string{}
	fs.WalkDir(library, "lib", func(p string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() {
			text, _ := library.ReadFile(p)
			own[strings.TrimPrefix(p, "lib")] = string(text)
		}
		return nil
	})
	return own
}

// Run runs the script for its triggers.
func (h *Hook) Run(ctx context.Context, contexts []Context, o Options) (*Outcome, error) {
	var stderr strings.Builder
	line := o.Line
	o.Line = func(l Line) {
		if l.Stream == "stderr" && stderr.Len() < 4096 {
			stderr.WriteString(l.Text + "\n")
		}
		line(l)
	}
	p, err := h.start(ctx, &o)
	if err != nil {
		return nil, err
	}
	if err := p.world.FS.Put(ContextPath, []byte(Encode(contexts)), 0o644); err != nil {
		return nil, err
	}
	if err := p.putValues(o.Values); err != nil {
		return nil, err
	}
	status, err := p.world.Run(h.Entry, nil, p.env, path.Dir(h.Entry), bash.Streams{Out: p.lines, Err: p.errs})
	p.lines.flush()
	p.errs.flush()
	if err != nil {
		return nil, err
	}
	if status != 0 {
		// What a failed run wrote is not read.
		return nil, &ExitError{h.Entry, status, stderr.String()}
	}
	return p.outcome()
}
