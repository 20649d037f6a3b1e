package main

import (
	"embed"
	"io/fs"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/boathook/boathook/interpreters/helm/render"
)

// warming is a chart that uses what most charts use, so that what is made at the first use is in the snapshot.
//
//go:embed all:warm
var warming embed.FS

// start runs once, when the component is built. Every instance begins with the memory that it leaves.
//
//go:wasmexport start-once
func start() {
	chart := render.Request{
		Directory:    true,
		Release:      render.Release{Name: "warm", Namespace: "default", Revision: 1, Install: true},
		Capabilities: render.Capabilities{Version: "v1.36.0", Major: "1", Minor: "36", More: true},
	}
	err := fs.WalkDir(warming, "warm", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := warming.ReadFile(path)
		chart.Files = append(chart.Files, render.File{Path: strings.TrimPrefix(path, "warm/"), Content: content})
		return err
	})
	if err != nil {
		panic(err)
	}
	rendered, err := render.Render(&chart, render.Objects{}.Lookup)
	if err != nil {
		panic(err)
	}
	if len(rendered.Manifests) < 4 || len(rendered.Hooks) != 1 || len(rendered.Definitions) != 1 {
		panic("the chart that warms did not render whole")
	}
	// Most charts are rendered before a collection would help. The host bounds the memory.
	debug.SetGCPercent(200)
	debug.SetMemoryLimit(192 << 20)
	runtime.GC()
}
