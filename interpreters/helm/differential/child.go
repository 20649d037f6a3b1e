package main

import (
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// child is the component's code as a program.
type child struct {
	process *exec.Cmd
	in      io.WriteCloser
	out     *json.Decoder
}

// built compiles the program for this machine.
func built(folder string) (string, error) {
	program := filepath.Join(folder, "helm")
	build := exec.Command("go", "build", "-o", program, ".")
	build.Dir, build.Stderr = "..", os.Stderr
	return program, build.Run()
}

func started(program string) (*child, error) {
	process := exec.Command(program)
	process.Stderr = os.Stderr
	in, err := process.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := process.StdoutPipe()
	if err != nil {
		return nil, err
	}
	return &child{process, in, json.NewDecoder(out)}, process.Start()
}

func (c *child) end() {
	_ = c.in.Close()
	_ = c.process.Wait()
}

type file struct {
	Path    string
	Content []byte
}

// files are those of a chart's directory, with links followed.
func files(directory string) ([]file, error) {
	var all []file
	var walk func(at, below string) error
	walk = func(at, below string) error {
		entries, err := os.ReadDir(at)
		if err != nil {
			return err
		}
		for _, entry := range entries {
			at, below := filepath.Join(at, entry.Name()), below+entry.Name()
			info, err := os.Stat(at)
			if err != nil {
				return err
			}
			if info.IsDir() {
				if err := walk(at, below+"/"); err != nil {
					return err
				}
				continue
			}
			content, err := os.ReadFile(at)
			if err != nil {
				return err
			}
			all = append(all, file{below, content})
		}
		return nil
	}
	return all, walk(directory, "")
}

// render asks the program.
func (c *child) render(r *request) (*rendering, error) {
	chart, err := files(r.Chart)
	if err != nil {
		return nil, err
	}
	values, err := json.Marshal(r.Values)
	if err != nil {
		return nil, err
	}
	kube := r.kube()
	ask := map[string]any{
		"Files": chart, "Directory": true, "Values": string(values), "SkipSchema": r.SkipSchema, "Seed": 1, "Cluster": r.Cluster,
		"Release":      map[string]any{"Name": "rel", "Namespace": "web", "Revision": max(r.Revision, 1), "Install": !r.Upgrade, "Upgrade": r.Upgrade},
		"Capabilities": map[string]any{"Version": kube.Version, "Major": kube.Major, "Minor": kube.Minor, "APIVersions": r.APIVersions, "More": r.APIVersions == nil},
	}
	if err := json.NewEncoder(c.in).Encode(ask); err != nil {
		return nil, err
	}
	result := &rendering{}
	if err := c.out.Decode(result); err != nil {
		return nil, err
	}
	return result.normal(), nil
}

// chartsBelow are the directories with a Chart.yaml that are not subcharts of another.
func chartsBelow(root string) ([]string, error) {
	var charts []string
	err := filepath.WalkDir(root, func(at string, entry os.DirEntry, err error) error {
		if err != nil || !entry.IsDir() {
			return err
		}
		if _, err := os.Stat(filepath.Join(at, "Chart.yaml")); err == nil {
			charts = append(charts, at)
			return filepath.SkipDir
		}
		if strings.HasPrefix(entry.Name(), ".git") {
			return filepath.SkipDir
		}
		return nil
	})
	return charts, err
}
