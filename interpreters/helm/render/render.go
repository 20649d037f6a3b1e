// Package render renders a chart as Helm's install and upgrade do, without a cluster of its own.
package render

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log"
	"math/rand"
	"path"
	"runtime/debug"
	"strings"

	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/engine"
	"helm.sh/helm/v3/pkg/releaseutil"
)

// Request is the request of the component's interface.
type Request struct {
	Files        []File
	Directory    bool
	Values       string
	Release      Release
	Capabilities Capabilities
	SkipSchema   bool
	Seed         int64
}

// File is a file of a chart.
type File struct {
	Path    string
	Content []byte
}

// Release is what templates see as `.Release`.
type Release struct {
	Name, Namespace  string
	Revision         int
	Install, Upgrade bool
}

// Capabilities is what templates see as `.Capabilities`.
type Capabilities struct {
	Version, Major, Minor string
	APIVersions           []string
	More                  bool
}

// Rendered is the response of the component's interface.
type Rendered struct {
	Manifests   []Manifest
	Hooks       []Hook
	Definitions []Manifest
	Notes       string
	Warnings    []string
}

// Manifest is a document and where it comes from.
type Manifest struct{ Source, Text string }

// Hook is a manifest that is a hook of Helm.
type Hook struct {
	Manifest       Manifest
	Name, Kind     string
	Events         []string
	Weight         int64
	DeletePolicies []string
}

// notes is the template whose text is for people.
const notes = "NOTES.txt"

// Render renders a chart.
func Render(request *Request, lookup Lookup) (rendered *Rendered, err error) {
	var logged bytes.Buffer
	log.SetFlags(0)
	log.SetOutput(&logged)
	defer func() {
		if cause := recover(); cause != nil {
			err = fmt.Errorf("the chart engine panicked: %v\n%s", cause, debug.Stack())
		}
	}()
	rand.Seed(request.Seed) //nolint:staticcheck // The templates' functions use the global numbers.

	loaded, err := load(request)
	if err != nil {
		return nil, err
	}
	values, err := valuesOf(loaded, request)
	if err != nil {
		return nil, err
	}
	files, err := engine.RenderWithClientProvider(loaded, values, provider{lookup})
	if err != nil {
		return nil, err
	}
	rendered = &Rendered{Notes: files[path.Join(loaded.Name(), "templates", notes)]}
	for name := range files {
		if strings.HasSuffix(name, notes) {
			delete(files, name)
		}
	}
	if err := rendered.sort(files); err != nil {
		return nil, err
	}
	for _, definition := range loaded.CRDObjects() {
		rendered.Definitions = append(rendered.Definitions, Manifest{definition.Filename, string(definition.File.Data)})
	}
	if text := strings.TrimSpace(logged.String()); text != "" {
		rendered.Warnings = strings.Split(text, "\n")
	}
	return rendered, nil
}

// valuesOf is what templates see, after the subcharts that are off are gone.
func valuesOf(loaded *chart.Chart, request *Request) (chartutil.Values, error) {
	given := map[string]any{}
	if request.Values != "" {
		if err := json.Unmarshal([]byte(request.Values), &given); err != nil {
			return nil, fmt.Errorf("the values are not a JSON object: %w", err)
		}
	}
	if given == nil {
		given = map[string]any{}
	}
	if err := chartutil.ProcessDependenciesWithMerge(loaded, given); err != nil {
		return nil, err
	}
	release := chartutil.ReleaseOptions{
		Name: request.Release.Name, Namespace: request.Release.Namespace, Revision: request.Release.Revision,
		IsInstall: request.Release.Install, IsUpgrade: request.Release.Upgrade,
	}
	capabilities := request.Capabilities.forHelm()
	values, err := chartutil.ToRenderValuesWithSchemaValidation(loaded, given, release, capabilities, request.SkipSchema)
	if err != nil {
		return nil, err
	}
	wanted, has := loaded.Metadata.KubeVersion, capabilities.KubeVersion.String()
	if wanted != "" && !chartutil.IsCompatibleRange(wanted, has) {
		return nil, fmt.Errorf("chart requires kubeVersion: %s which is incompatible with Kubernetes %s", wanted, has)
	}
	return values, nil
}

func (c *Capabilities) forHelm() *chartutil.Capabilities {
	capabilities := chartutil.DefaultCapabilities.Copy()
	capabilities.KubeVersion = chartutil.KubeVersion{Version: c.Version, Major: c.Major, Minor: c.Minor}
	if c.More {
		capabilities.APIVersions = append(append(chartutil.VersionSet{}, capabilities.APIVersions...), c.APIVersions...)
	} else {
		capabilities.APIVersions = c.APIVersions
	}
	return capabilities
}

func (r *Rendered) sort(files map[string]string) error {
	hooks, manifests, err := releaseutil.SortManifests(files, nil, releaseutil.InstallOrder)
	if err != nil {
		return err
	}
	for _, one := range manifests {
		r.Manifests = append(r.Manifests, Manifest{one.Name, one.Content})
	}
	for _, one := range hooks {
		hook := Hook{Manifest: Manifest{one.Path, one.Manifest}, Name: one.Name, Kind: one.Kind, Weight: int64(one.Weight)}
		for _, event := range one.Events {
			hook.Events = append(hook.Events, event.String())
		}
		for _, policy := range one.DeletePolicies {
			hook.DeletePolicies = append(hook.DeletePolicies, policy.String())
		}
		r.Hooks = append(r.Hooks, hook)
	}
	return nil
}
