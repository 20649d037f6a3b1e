// Package differential runs snippets here and, where they exist, with the real tools, and compares what both do.
//
// testdata/TOPIC.sh has the snippets, each after a line `### NAME`. testdata/TOPIC.json has what the real tools did:
// `go test ./differential -update` writes it. A snippet that we refuse says so with `### NAME refused: TEXT`. generate_test.go
// makes more snippets of combinations.
package differential

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sort"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/boathook/boathook/interpreters/shell/bash"
	"github.com/boathook/boathook/interpreters/shell/commands"
	"github.com/boathook/boathook/interpreters/shell/fs"
)

var (
	update    = flag.Bool("update", false, "write the results of the real tools")
	withTools = flag.Bool("real", false, "compare the committed results with the real tools, which takes minutes")
)

// The folder in which snippets run. With the real tools it is one of each run, so that two runs of these tests do not meet, and
// this is its name in the texts and in the results.
const folder = "/tmp/snippet"

type snippet struct {
	name, text, refused string
	// differs says why the real tools may do something else.
	differs string
}

// result is what a snippet did.
type result struct {
	Stdout string            `json:"stdout,omitempty"`
	Stderr bool              `json:"stderr,omitempty"`
	Exit   int               `json:"exit,omitempty"`
	Files  map[string]string `json:"files,omitempty"`
}

// unfinished is the exit status where what a script left in the background goes on, where a script has too many processes,
// or where bash is wrong.
const unfinished = -1

// Where the programs are.
const programs = "/usr/local/bin:/usr/bin:/bin"

func environment(folder, programs string) []string {
	return []string{"HOME=/home", "LC_ALL=C.UTF-8", "PATH=" + programs, "TMPDIR=/tmp", "TZ=UTC", "PWD=" + folder}
}

func topics(t *testing.T) map[string][]snippet {
	t.Helper()
	files, err := filepath.Glob("testdata/*.sh")
	if err != nil || len(files) == 0 {
		t.Fatalf("no snippets: %v", err)
	}
	topics := generated()
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		topic := strings.TrimSuffix(filepath.Base(file), ".sh")
		seen := map[string]bool{}
		for _, part := range strings.Split("\n"+string(text), "\n### ")[1:] {
			head, body, _ := strings.Cut(part, "\n")
			name, refused, _ := strings.Cut(head, " refused: ")
			if seen[name] {
				t.Fatalf("%s: two snippets have the name %q", file, name)
			}
			seen[name] = true
			topics[topic] = append(topics[topic], snippet{name: name, text: body + "\n", refused: refused})
		}
	}
	return topics
}

func TestSnippetsDoWhatTheRealToolsDo(t *testing.T) {
	all := topics(t)
	names := make([]string, 0, len(all))
	for topic := range all {
		names = append(names, topic)
	}
	sort.Strings(names)
	count := 0
	for _, topic := range names {
		t.Run(topic, func(t *testing.T) {
			wanted := map[string]result{}
			path := "testdata/" + topic + ".json"
			if *update {
				for _, s := range all[topic] {
					if s.refused == "" {
						wanted[s.name] = real(t, s.text)
					}
				}
				writeJSON(t, path, wanted)
			} else {
				text, err := os.ReadFile(path)
				if err != nil {
					t.Fatal(err)
				}
				if err := json.Unmarshal(text, &wanted); err != nil {
					t.Fatal(err)
				}
			}
			for _, s := range all[topic] {
				count++
				t.Run(s.name, func(t *testing.T) { check(t, s, wanted) })
			}
		})
	}
	t.Logf("%d snippets", count)
}

func check(t *testing.T, s snippet, wanted map[string]result) {
	t.Helper()
	got, stderr, problem := ours(s.text, nil)
	if s.refused != "" {
		if !strings.Contains(problem+stderr, s.refused) {
			t.Errorf("is not refused with %q, but:\n%s%s\n%+v", s.refused, problem, stderr, got)
		}
		return
	}
	want, ok := wanted[s.name]
	if !ok {
		t.Fatal("the real tools have not run it: go test ./differential -update")
	}
	if problem != "" {
		t.Errorf("%s\n%s", problem, s.text)
	}
	if g, w := jsonText(got), jsonText(want); g != w && s.differs == "" {
		t.Errorf("the snippet\n%s\ngives\n%s\nand not\n%s\nstderr: %s", s.text, g, w, stderr)
	}
}

// ours is what a snippet does here. Only these programs are there, or all.
func ours(text string, only []string) (result, string, string) {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	files := fs.New(fs.Limits{Bytes: 64 << 20, Files: 10_000}, time.Now)
	files.MustMkdirAll(folder)
	files.MustMkdirAll("/home")
	script := folder + "/snippet.sh"
	if err := files.Put(script, []byte(text), 0o755); err != nil {
		return result{}, "", err.Error()
	}
	var out, errs bytes.Buffer
	world := bash.NewWorld(ctx, files, bash.DefaultLimits, 1, time.Now)
	commands.Register(world)
	if only != nil {
		maps.DeleteFunc(world.Commands, func(name string, _ bash.Command) bool { return !slices.Contains(only, name) })
	}
	if _, problems := bash.Check("snippet.sh", text, world); len(problems) > 0 {
		return result{}, "", "refused: " + problems[0].Error()
	}
	status, err := world.Run("snippet.sh", nil, environment(folder, programs), folder, bash.Streams{Out: &out, Err: &errs})
	problem := ""
	if err != nil {
		problem = err.Error()
	}
	r := result{Stdout: out.String(), Stderr: errs.Len() > 0, Exit: status}
	files.Walk(folder, func(p string, info os.FileInfo) error {
		if info.Mode().IsRegular() && p != script {
			content, _ := files.ReadFile(p)
			r.add(strings.TrimPrefix(p, folder+"/"), string(content))
		}
		return nil
	})
	return r, errs.String(), problem
}

func (r *result) add(name, content string) {
	if r.Files == nil {
		r.Files = map[string]string{}
	}
	r.Files[name] = content
}

func real(t *testing.T, text string) result {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	r := realIn(ctx, t, text, programs)
	if ctx.Err() != nil {
		t.Fatalf("does not end with the real tools:\n%s", text)
	}
	return r
}

func realIn(ctx context.Context, t *testing.T, text, programs string) result {
	t.Helper()
	own, err := os.MkdirTemp("/tmp", "snippet-")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(own)
	script := own + "/snippet.sh"
	if err := os.WriteFile(script, []byte(strings.ReplaceAll(text, folder, own)), 0o755); err != nil {
		t.Fatal(err)
	}
	command := exec.CommandContext(ctx, "bash", "snippet.sh")
	command.Dir, command.Env = own, environment(own, programs)
	out, errs, err := runAlone(command)
	named := func(text string) string { return strings.ReplaceAll(text, own, folder) }
	r := result{Stdout: named(out), Stderr: errs != ""}
	if exit, ok := err.(*exec.ExitError); ok {
		r.Exit = exit.ExitCode()
		if how, ok := exit.Sys().(syscall.WaitStatus); ok && how.Signaled() {
			// As the shell that started it sees it.
			r.Exit = 128 + int(how.Signal())
		}
	} else if errors.Is(err, exec.ErrWaitDelay) || errors.Is(err, errTooManyProcesses) || ctx.Err() != nil {
		r.Exit = unfinished
	} else if err != nil {
		t.Fatalf("%s\n%v", text, err)
	}
	if strings.Contains(errs, "wait_for: No record of process") {
		// It is an error of bash itself, which waits for a process of another shell.
		r.Exit = unfinished
	}
	filepath.Walk(own, func(p string, info os.FileInfo, err error) error {
		if err == nil && info.Mode().IsRegular() && p != script {
			content, _ := os.ReadFile(p)
			r.add(strings.TrimPrefix(p, own+"/"), named(string(content)))
		}
		return nil
	})
	return r
}

// TestResultsAreThoseOfThisMachine says whether the committed results are still what the tools do. It runs with -real,
// where the tools have the versions that made the results.
func TestResultsAreThoseOfThisMachine(t *testing.T) {
	if !*withTools {
		t.Skip("-real is not given")
	}
	for tool, version := range map[string]string{"bash": "5.2.15", "jq": "jq-1.6", "sed": "4.9"} {
		out, err := exec.Command(tool, "--version").Output()
		if err != nil || !strings.Contains(string(out), version) {
			t.Skipf("%s is not here in version %s", tool, version)
		}
	}
	for topic, snippets := range topics(t) {
		wanted := map[string]result{}
		text, err := os.ReadFile("testdata/" + topic + ".json")
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(text, &wanted); err != nil {
			t.Fatal(err)
		}
		for _, s := range snippets {
			if s.refused != "" {
				continue
			}
			if g, w := jsonText(real(t, s.text)), jsonText(wanted[s.name]); g != w {
				t.Errorf("%s: %s gives\n%s\nhere, and the committed result is\n%s", topic, s.name, g, w)
			}
		}
	}
}

func jsonText(v any) string {
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	e.SetIndent("", " ")
	if err := e.Encode(v); err != nil {
		return fmt.Sprint(err)
	}
	return out.String()
}

func writeJSON(t *testing.T, path string, v any) {
	t.Helper()
	if err := os.WriteFile(path, []byte(jsonText(v)), 0o644); err != nil {
		t.Fatal(err)
	}
}

// TestEachResultIsOfASnippet finds results that no test reads: their snippet is gone, has another name or is refused now.
func TestEachResultIsOfASnippet(t *testing.T) {
	all := topics(t)
	files, err := filepath.Glob("testdata/*.json")
	if err != nil || len(files) == 0 {
		t.Fatalf("no results: %v", err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		results := map[string]result{}
		if err := json.Unmarshal(text, &results); err != nil {
			t.Fatal(err)
		}
		for _, s := range all[strings.TrimSuffix(filepath.Base(file), ".json")] {
			if s.refused == "" {
				delete(results, s.name)
			}
		}
		for name := range results {
			t.Errorf("%s: no snippet reads the result of %q: remove it", file, name)
		}
	}
}
