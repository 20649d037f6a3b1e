package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log"
	"path"
	"slices"
	"strings"

	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/engine"
	"helm.sh/helm/v3/pkg/releaseutil"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
)

// rendering is what is compared.
type rendering struct {
	Manifests   []manifest
	Hooks       []hook
	Definitions []manifest
	Notes       string
	Warnings    []string
	Error       string
}

type manifest struct{ Source, Text string }

type hook struct {
	Manifest       manifest
	Name, Kind     string
	Events         []string
	Weight         int64
	DeletePolicies []string
}

// normal has the parts in order whose order Helm takes from a map.
func (r *rendering) normal() *rendering {
	slices.SortStableFunc(r.Definitions, func(a, b manifest) int { return strings.Compare(a.Source+a.Text, b.Source+b.Text) })
	slices.Sort(r.Warnings)
	lines := strings.Split(r.Error, "\n")
	slices.Sort(lines)
	r.Error = strings.Join(lines, "\n")
	return r
}

func (r *rendering) text() string {
	text, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		panic(err)
	}
	return string(text)
}

// request is a rendering that is wanted.
type request struct {
	// Chart is a directory or an archive.
	Chart       string
	Values      map[string]any
	Upgrade     bool
	Revision    int
	Kube        string
	Minor       string
	APIVersions []string
	SkipSchema  bool
	Cluster     []map[string]any
}

func (r *request) kube() chartutil.KubeVersion {
	minor := r.Minor
	if minor == "" {
		minor = strings.Split(r.Kube, ".")[1]
	}
	return chartutil.KubeVersion{Version: r.Kube, Major: "1", Minor: minor}
}

// native renders with Helm's library and Kubernetes' own, as Helm's install and upgrade do.
func native(r *request) *rendering {
	var logged bytes.Buffer
	log.SetFlags(0)
	log.SetOutput(&logged)
	rendered, err := natively(r)
	if err != nil {
		return (&rendering{Error: err.Error()}).normal()
	}
	if text := strings.TrimSpace(logged.String()); text != "" {
		rendered.Warnings = strings.Split(text, "\n")
	}
	return rendered.normal()
}

func natively(r *request) (*rendering, error) {
	loaded, err := loader.Load(r.Chart)
	if err != nil {
		return nil, err
	}
	// The values are as Helm reads them from a file.
	text, err := json.Marshal(r.Values)
	if err != nil {
		return nil, err
	}
	given, err := chartutil.ReadValues(text)
	if err != nil {
		return nil, err
	}
	if err := chartutil.ProcessDependenciesWithMerge(loaded, given); err != nil {
		return nil, err
	}
	capabilities := chartutil.DefaultCapabilities.Copy()
	capabilities.KubeVersion = r.kube()
	if r.APIVersions != nil {
		capabilities.APIVersions = r.APIVersions
	}
	release := chartutil.ReleaseOptions{Name: "rel", Namespace: "web", Revision: max(r.Revision, 1), IsInstall: !r.Upgrade, IsUpgrade: r.Upgrade}
	values, err := chartutil.ToRenderValuesWithSchemaValidation(loaded, given, release, capabilities, r.SkipSchema)
	if err != nil {
		return nil, err
	}
	if wanted := loaded.Metadata.KubeVersion; wanted != "" && !chartutil.IsCompatibleRange(wanted, r.Kube) {
		return nil, fmt.Errorf("chart requires kubeVersion: %s which is incompatible with Kubernetes %s", wanted, r.Kube)
	}
	files, err := engine.RenderWithClientProvider(loaded, values, provider(r.Cluster))
	if err != nil {
		return nil, err
	}
	return sorted(loaded, files)
}

func sorted(loaded *chart.Chart, files map[string]string) (*rendering, error) {
	result := &rendering{Notes: files[path.Join(loaded.Name(), "templates", "NOTES.txt")]}
	for name := range files {
		if strings.HasSuffix(name, "NOTES.txt") {
			delete(files, name)
		}
	}
	hooks, manifests, err := releaseutil.SortManifests(files, nil, releaseutil.InstallOrder)
	if err != nil {
		return nil, err
	}
	for _, one := range manifests {
		result.Manifests = append(result.Manifests, manifest{one.Name, one.Content})
	}
	for _, one := range hooks {
		h := hook{Manifest: manifest{one.Path, one.Manifest}, Name: one.Name, Kind: one.Kind, Weight: int64(one.Weight)}
		for _, event := range one.Events {
			h.Events = append(h.Events, string(event))
		}
		for _, policy := range one.DeletePolicies {
			h.DeletePolicies = append(h.DeletePolicies, string(policy))
		}
		result.Hooks = append(result.Hooks, h)
	}
	for _, definition := range loaded.CRDObjects() {
		result.Definitions = append(result.Definitions, manifest{definition.Filename, string(definition.File.Data)})
	}
	return result, nil
}

// provider is a cluster with these objects.
type provider []map[string]any

// GetClientFor knows all kinds.
func (p provider) GetClientFor(apiVersion, kind string) (dynamic.NamespaceableResourceInterface, bool, error) {
	return &client{objects: p, apiVersion: apiVersion, kind: kind}, kind != "Namespace", nil
}

// client has the two functions that the engine calls.
type client struct {
	dynamic.NamespaceableResourceInterface
	objects                     provider
	apiVersion, kind, namespace string
}

func (c *client) Namespace(namespace string) dynamic.ResourceInterface {
	in := *c
	in.namespace = namespace
	return &in
}

func (c *client) found() []unstructured.Unstructured {
	var found []unstructured.Unstructured
	for _, object := range c.objects {
		one := unstructured.Unstructured{Object: object}
		if one.GetAPIVersion() == c.apiVersion && one.GetKind() == c.kind && (c.namespace == "" || one.GetNamespace() == c.namespace) {
			found = append(found, one)
		}
	}
	return found
}

func (c *client) Get(_ context.Context, name string, _ metav1.GetOptions, _ ...string) (*unstructured.Unstructured, error) {
	for _, one := range c.found() {
		if one.GetName() == name {
			return &one, nil
		}
	}
	return nil, apierrors.NewNotFound(schema.GroupResource{Resource: c.kind}, name)
}

func (c *client) List(context.Context, metav1.ListOptions) (*unstructured.UnstructuredList, error) {
	return &unstructured.UnstructuredList{Items: c.found()}, nil
}
