package differential

import (
	"bytes"
	"context"
	"strings"
	"testing"
	"time"

	"github.com/boathook/boathook/interpreters/shell/bash"
	"github.com/boathook/boathook/interpreters/shell/commands"
	"github.com/boathook/boathook/interpreters/shell/fs"
)

// outOfTime is the error of a run that has no time left.
const outOfTime = "the run exceeds its time"

// hostile runs a script, and returns the error that ended it. Only a script that ends by its time has a second of it: the
// others reach their own limit, however busy the machine is.
func hostile(t *testing.T, script, want string) (string, error) {
	t.Helper()
	patience := 2 * time.Minute
	if want == outOfTime {
		patience = time.Second
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	files := fs.New(fs.Limits{Bytes: 8 << 20, Files: 1000}, time.Now)
	if err := files.Put("/hooks/hook.sh", []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	limits := bash.DefaultLimits
	limits.Spawned = 20_000
	world := bash.NewWorld(ctx, files, limits, 1, time.Now)
	commands.Register(world)
	var out, errs bytes.Buffer
	done := make(chan error, 1)
	go func() {
		_, err := world.Run("/hooks/hook.sh", nil, environment("/", programs), "/", bash.Streams{Out: &out, Err: &errs})
		done <- err
	}()
	select {
	case err := <-done:
		return out.String() + errs.String(), err
	case <-time.After(patience + 20*time.Second):
		t.Fatal("the script does not end: ", script)
		return "", nil
	}
}

func TestHostileScriptsEndWithTheirOwnError(t *testing.T) {
	for script, want := range map[string]string{
		`while :; do :; done`:                                    outOfTime,
		`for ((;;)); do x=1; done`:                               outOfTime,
		`f() { f; }; f`:                                          "nested calls",
		`f() { f | f; }; f`:                                      "at the same time",
		`f() { f & f & }; f; wait`:                               "at the same time",
		`:(){ :|:& };:; wait`:                                    "at the same time",
		`while :; do (:); done`:                                  "the run starts more than",
		`x=aaaaaaaaaaaaaaaa; while :; do x=$x$x; done`:           "exceeds 16 MiB",
		`i=0; while :; do a[i++]=xxxxxxxxxxxxxxxxxxxxxxxx; done`: outOfTime,
		`eval 'x() { eval x; }; x'`:                              "nested calls",
		`x='eval "$x"'; eval "$x"`:                               "nested calls",
		`s=. ; echo '. /tmp/s' > /tmp/s; . /tmp/s`:               "nested calls",
		`yes > /tmp/f`:                                           "the files of the run exceed the limit",
		`while :; do echo xxxxxxxxxxxxxxxxxxxxxxxxxxxxx; done`:   "the output of the run exceeds",
		`x=$(yes)`:            "the output of a command substitution exceeds",
		`echo {1..100000000}`: "a brace expansion exceeds",
		`i=0; while :; do : > /tmp/f$((i++)); done`:                                                   "the files of the run exceed the limit",
		`printf '%100000000s' x`:                                                                      "the output of printf exceeds 16 MiB",
		`jq -n '[range(1e12)]'`:                                                                       "jq: its data exceeds 16 MiB",
		`jq -n 'def f: f | f; f'`:                                                                     "5000 nested calls",
		`jq -n 'reduce range(1e9) as $i ("x"; . + .)'`:                                                "exceeds 16 MiB",
		`sed ':a;s/^/x/;ba' <<< y`:                                                                    outOfTime,
		`sed ':a;ba' <<< y`:                                                                           outOfTime,
		`seq 1 1e12 | sort`:                                                                           "sort: its data exceeds 16 MiB",
		`cat < <(yes) > /dev/null`:                                                                    outOfTime,
		`bash -c 'bash -c "$0" "$0"' 'bash -c "$0" "$0"'`:                                             "at the same time",
		`x=$(head -c 100000000 /dev/zero | tr '\0' a)`:                                                "the output of a command substitution exceeds 16 MiB",
		`printf -v x '%100000000s' ''; echo ${#x}`:                                                    "the output of printf exceeds 16 MiB",
		`[[ aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa! =~ ^(a+)+$ ]]; echo $?`:                         "1\n",
		`echo aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa! | grep -E '^(a|aa)+\1$'`:                      "needs too many steps",
		`sed -E 's/(.*)(.*)(.*)(.*)x\1/y/' <<< "$(printf 'a%.0s' {1..2000})"`:                         "needs too many steps",
		`p=$(printf '(%.0s' {1..5000}); [[ x =~ $p ]]; echo $?`:                                       "2\n",
		`p=$(printf '(a{1,200}){1,200}%.0s' {1..50}); grep -E "$p" <<< a`:                             "is not supported",
		`shopt -s extglob; p='+(+(+(a)))'; [[ aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab == $p ]]; echo $?`: outOfTime,
		`x='$(eval "$x")'; eval "echo $x"`:                                                            "at the same time",
		`f() { false; f; }; trap false ERR; set -E; f`:                                                "nested calls",
		`exec 3< <(cat /dev/urandom); read -r -N 100000000 x <&3`:                                     "a line that read reads exceeds 16 MiB",
		`jq -n '"a" * 1000000000'`:                                                                    "jq: its data exceeds 16 MiB",
		`awk 'BEGIN {while (1) s = s "aaaaaaaaaaaaaaaa"}'`:                                            outOfTime,
		`awk 'BEGIN {x = sprintf("%1000000000s", "a")}'`:                                              "a width or precision of more than",
		`seq -f '%1000000000g' 1`:                                                                     "is not supported",
		`seq 1000000000 | tac`:                                                                        "tac: its data exceeds 16 MiB",
		`tail -f /dev/null`:                                                                           "-f is not supported",
		`sleep infinity`:                                                                              outOfTime,
		`cat /dev/zero > /dev/null`:                                                                   outOfTime,
		`sort /dev/urandom`:                                                                           "sort: its data exceeds 16 MiB",
		`base64 /dev/zero | wc -c`:                                                                    "base64: its data exceeds 16 MiB",
		`xargs -n1 < <(yes) > /dev/null`:                                                              "xargs: its data exceeds 16 MiB",
		`until false; do :; done | cat`:                                                               outOfTime,
		`trap 'kill $$' TERM; (kill $$)`:                                                              "nested calls",
	} {
		out, err := hostile(t, script, want)
		switch {
		case err == nil && want != "" && strings.Contains(out, want):
			// A command's own limit makes the command fail.
		case err == nil || !strings.Contains(err.Error(), want):
			t.Errorf("%s: %v, and not %q\n%.200s", script, err, want, out)
		}
	}
}

func TestAPipeEndsItsWriter(t *testing.T) {
	out, err := hostile(t, `yes | head -1; seq 1000000 | head -1; while :; do echo y; done | head -1`, "")
	if err != nil || out != "y\n1\ny\n" {
		t.Errorf("%q %v", out, err)
	}
}

func TestNestingIsRefusedBeforeTheParserDescends(t *testing.T) {
	for _, script := range []string{strings.Repeat("(", 100_000), strings.Repeat("$(", 100_000), strings.Repeat("{ ", 100_000), "echo $((" + strings.Repeat("(", 50_000), strings.Repeat("if ", 50_000)} {
		out, err := hostile(t, script, "")
		if err != nil || !strings.Contains(out, "nested brackets") {
			t.Errorf("%.40s: %v %.200s", script, err, out)
		}
	}
}
