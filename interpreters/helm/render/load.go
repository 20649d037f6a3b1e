package render

import (
	"bytes"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"time"

	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/ignore"
)

// byteOrderMark is what some editors write at the beginning of a file.
var byteOrderMark = []byte{0xEF, 0xBB, 0xBF}

// load makes a chart of the files.
func load(request *Request) (*chart.Chart, error) {
	files := make([]*loader.BufferedFile, 0, len(request.Files))
	for _, file := range request.Files {
		files = append(files, &loader.BufferedFile{Name: file.Path, Data: bytes.TrimPrefix(file.Content, byteOrderMark)})
	}
	if request.Directory {
		var err error
		if files, err = ofDirectory(files); err != nil {
			return nil, err
		}
	}
	loaded, err := loader.LoadFiles(files)
	if err != nil {
		return nil, err
	}
	order(loaded)
	return loaded, nil
}

// ofDirectory leaves out what .helmignore names, and gives the files the order in which Helm walks through a directory.
func ofDirectory(files []*loader.BufferedFile) ([]*loader.BufferedFile, error) {
	rules := ignore.Empty()
	for _, file := range files {
		if file.Name == ignore.HelmIgnore {
			read, err := ignore.Parse(bytes.NewReader(file.Data))
			if err != nil {
				return nil, err
			}
			rules = read
		}
	}
	rules.AddDefaults()
	kept := make([]*loader.BufferedFile, 0, len(files))
	for _, file := range files {
		if !ignored(rules, file.Name) {
			if len(file.Data) > int(loader.MaxDecompressedFileSize) {
				return nil, fmt.Errorf("chart file %q is larger than the maximum file size %d", path.Base(file.Name), loader.MaxDecompressedFileSize)
			}
			kept = append(kept, file)
		}
	}
	slices.SortFunc(kept, func(a, b *loader.BufferedFile) int {
		return slices.Compare(strings.Split(a.Name, "/"), strings.Split(b.Name, "/"))
	})
	return kept, nil
}

// ignored reports whether the rules name a file or a directory above it.
func ignored(rules *ignore.Rules, name string) bool {
	for at, r := range name {
		if r == '/' && rules.Ignore(name[:at], entry{path.Base(name[:at]), true}) {
			return true
		}
	}
	return rules.Ignore(name, entry{path.Base(name), false})
}

// entry is a file or a directory to the rules.
type entry struct {
	name      string
	directory bool
}

func (e entry) Name() string     { return e.name }
func (e entry) IsDir() bool      { return e.directory }
func (entry) Size() int64        { return 0 }
func (entry) ModTime() time.Time { return time.Time{} }
func (entry) Sys() any           { return nil }
func (e entry) Mode() fs.FileMode {
	if e.directory {
		return fs.ModeDir
	}
	return 0
}

// order sorts subcharts, which the loader takes from a map. The order of their definitions depends on it.
func order(loaded *chart.Chart) {
	subcharts := loaded.Dependencies()
	slices.SortStableFunc(subcharts, func(a, b *chart.Chart) int {
		if byName := strings.Compare(a.Name(), b.Name()); byName != 0 {
			return byName
		}
		return strings.Compare(a.Metadata.Version, b.Metadata.Version)
	})
	for _, subchart := range subcharts {
		order(subchart)
	}
	loaded.SetDependencies(subcharts...)
}
