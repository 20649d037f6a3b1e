package shellop

import (
	"context"
	"strings"
	"testing"
)

func TestValues(t *testing.T) {
	script := `#!/bin/bash
[[ $1 == --config ]] && { echo '{"configVersion":"v1","onStartup":1}'; exit; }
if [[ -z ${VALUES_JSON_PATCH_PATH:-} ]]; then echo none; exit; fi
jq -c .web.port "$VALUES_PATH"
jq -c .web "$CONFIG_VALUES_PATH"
echo '{"op":"add","path":"/web/a","value":1}' >> "$VALUES_JSON_PATCH_PATH"
echo '{"op":"remove","path":"/web/b"}' >> "$CONFIG_VALUES_JSON_PATCH_PATH"
`
	hook := &Hook{Entry: "/hooks/h.sh", Files: map[string][]byte{"/hooks/h.sh": []byte(script)}}
	run := func(values *Values) (*Outcome, []string) {
		options := DefaultOptions()
		options.Values = values
		var lines []string
		options.Line = func(line Line) { lines = append(lines, line.Text) }
		outcome, err := hook.Run(context.Background(), []Context{{Binding: "beforeHelm"}}, options)
		if err != nil {
			t.Fatal(err)
		}
		return outcome, lines
	}
	outcome, lines := run(&Values{Values: `{"global":{},"web":{"port":80}}`, Config: `{"global":{},"web":{"x":1}}`})
	if len(lines) != 2 || lines[0] != "80" || lines[1] != `{"x":1}` {
		t.Errorf("it sees %q", lines)
	}
	want := Patches{`{"op":"add","path":"/web/a","value":1}`, `{"op":"remove","path":"/web/b"}`}
	if *outcome.Patches != want {
		t.Errorf("it changes %+v", *outcome.Patches)
	}
	if outcome, lines = run(nil); len(lines) != 1 || lines[0] != "none" || *outcome.Patches != (Patches{}) {
		t.Errorf("a hook of no module has values: %q %+v", lines, *outcome.Patches)
	}
}

func TestTheFrameworkKnowsTheStagesOfModules(t *testing.T) {
	script := "#!/bin/bash\nsource /shell_lib.sh\n__config__() { echo '{}'; }\n__on_before_helm() { echo before; }\n__main__() { echo main; }\nhook::run \"$@\"\n"
	hook := &Hook{Entry: "/hooks/h.sh", Files: map[string][]byte{"/hooks/h.sh": []byte(script)}}
	options := DefaultOptions()
	var lines []string
	options.Line = func(line Line) { lines = append(lines, line.Text) }
	contexts := []Context{{Binding: "beforeHelm"}, {Binding: "afterHelm"}, {Binding: "beforeHelm", Type: "Schedule"}}
	if _, err := hook.Run(context.Background(), contexts, options); err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(lines, " "); got != "before main main" {
		t.Error(got)
	}
}
