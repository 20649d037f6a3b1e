package commands

import (
	"bytes"
	"context"
	"testing"
	"time"

	"github.com/boathook/boathook/interpreters/shell/bash"
	"github.com/boathook/boathook/interpreters/shell/fs"
)

// The expected results are those of yq 4.54.
func TestYq(t *testing.T) {
	for script, want := range map[string]string{
		`yq .a.b f.yaml`:                 "1\n",
		`yq '.list[]' f.yaml`:            "x\ny\n",
		`yq -r '.text' f.yaml`:           "hello # not a comment\n",
		`yq -o json -I0 '.a' f.yaml`:     "{\"b\":1}\n",
		`yq -o=json '.list' < f.yaml`:    "[\n  \"x\",\n  \"y\"\n]\n",
		`yq eval '.a.b = 2 | .a' f.yaml`: "b: 2 # kept\n",
		`yq -i '.a.b = "z"' f.yaml; yq .a.b f.yaml; cat f.yaml | head -2`: "z\n# head\na:\n",
		`yq -n '.x.y = "v"'`:                            "x:\n  y: v\n",
		`N=5 yq '.a.b = env(N) | .a.b' f.yaml`:          "5\n",
		`N=5 yq '.a.b = strenv(N) | .a.b | tag' f.yaml`: "!!str\n",
		`echo '{"k": [1, 2]}' | yq -p json -o yaml .k`:  "- 1\n- 2\n",
		`printf 'a: 1\n' > g.yaml; printf 'b: 2\n' > h.yaml; yq ea 'select(fileIndex == 0) * select(fileIndex == 1)' g.yaml h.yaml`: "a: 1\nb: 2\n",
		`yq -e '.missing' f.yaml || echo "status $?"`:         "null\nError: no matches found\nstatus 1\n",
		`yq 'load("f.yaml")' f.yaml || echo "status $?"`:      "Error: file operations have been disabled\nstatus 1\n",
		`yq '.a[' f.yaml >/dev/null 2>&1 || echo "status $?"`: "status 1\n",
		`yq . missing.yaml`:                       "Error: open missing.yaml: no such file or directory\n",
		`yq '.list | length' f.yaml | yq '. + 1'`: "3\n",
	} {
		files := fs.New(fs.Limits{Bytes: 1 << 20, Files: 100}, time.Now)
		files.Put("/tmp/f.yaml", []byte("# head\na:\n  b: 1 # kept\nlist: [x, y]\ntext: 'hello # not a comment'\n"), 0o644)
		files.Put("/s.sh", []byte(script), 0o755)
		w := bash.NewWorld(context.Background(), files, bash.DefaultLimits, 1, time.Now)
		Register(w)
		var out bytes.Buffer
		if _, err := w.Run("/s.sh", nil, []string{"PATH=/bin"}, "/tmp", bash.Streams{Out: &out, Err: &out}); err != nil {
			t.Fatal(err)
		}
		if out.String() != want {
			t.Errorf("%s\n%q and not\n%q", script, out.String(), want)
		}
	}
}
