package differential

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// The seed and the number of scripts where no time is given, so that everybody tests the same.
const (
	fuzzSeed  = 1
	fuzzCount = 300
)

// TestRandomScriptsDoWhatBashDoes writes scripts at random, and compares what they do here with what bash does.
//
//	BOATHOOK_SHELL_FUZZ=1h                 goes on for an hour, with a seed that is printed
//	BOATHOOK_SHELL_FUZZ_SEED=7             begins at this seed
//
// A script that differs is made smaller, and printed. Add it to a file of testdata when it is fixed.
func TestRandomScriptsDoWhatBashDoes(t *testing.T) {
	if out, err := exec.Command("bash", "--version").Output(); err != nil || !strings.Contains(string(out), "version 5.2") {
		t.Skip("bash is not here in version 5.2")
	}
	if err := canLimitProcesses(); err != nil {
		t.Skip(err)
	}
	seed, count := uint64(fuzzSeed), fuzzCount
	var end time.Time
	if text := os.Getenv("BOATHOOK_SHELL_FUZZ"); text != "" {
		patience, err := time.ParseDuration(text)
		if err != nil {
			t.Fatalf("BOATHOOK_SHELL_FUZZ: %v", err)
		}
		seed, count, end = rand.Uint64N(1<<40), 1<<40, time.Now().Add(patience)
	}
	if text := os.Getenv("BOATHOOK_SHELL_FUZZ_SEED"); text != "" {
		given, err := strconv.ParseUint(text, 10, 64)
		if err != nil {
			t.Fatalf("BOATHOOK_SHELL_FUZZ_SEED: %v", err)
		}
		seed = given
	}
	t.Logf("the first seed is %d", seed)
	c := &comparer{t, fewPrograms(t)}
	ran, found := 0, 0
	for ; ran < count && found < 20 && (end.IsZero() || time.Now().Before(end)); ran++ {
		script := newWriter(seed + uint64(ran)).script()
		if alwaysDiffers(c, script.String()) {
			found++
			whole := script.String()
			small := smaller(c, script)
			if !alwaysDiffers(c, small) {
				small = whole
			}
			t.Errorf("seed %d:\n%s\n%s", seed+uint64(ran), small, difference(c, small))
		}
	}
	t.Logf("%d scripts", ran)
}

// alwaysDiffers says whether a script never does what bash does. Processes of a pipe may write in another order on a busy machine:
// that is no difference.
func alwaysDiffers(c *comparer, script string) bool {
	for range 3 {
		if difference(c, script) == "" {
			return false
		}
	}
	return true
}

// TestTheWriterUsesEverything counts what the scripts of the fixed seeds have, so that nothing is left out by mistake.
func TestTheWriterUsesEverything(t *testing.T) {
	var all strings.Builder
	for i := range uint64(fuzzCount) {
		all.WriteString(newWriter(fuzzSeed + i).script().String())
	}
	for _, part := range []string{
		"set -e\n", "set -u\n", "pipefail", "trap '", "ERR", "RETURN", "EXIT", "<<E", "<<'E", "<<< ", "case ", "while ", "until ", "for ((", "local ", "declare -A", "[[ ", "=~",
		"${v1#", "${v1//", "${v1:", "${v1@Q}", "${!", "\"${a1[@]}\"", "${#a1[@]}", "$((", "((", "eval ", "return ", "exit ", "break", "continue", "| ", "&& ", "|| ", "! ", "2>&1", "> f", "$(", "`", "mapfile",
		"read -r", "printf -v", "shift", "set -- ", "getopts", "IFS=", "unset ", "readonly ", "lastpipe", "inherit_errexit", "extglob", "local -n", "{1..3}", "PIPESTATUS", "wait",
	} {
		if !strings.Contains(all.String(), part) {
			t.Errorf("no script has %q", part)
		}
	}
}

// difference says how a script differs from what bash does. A script whose result is not the same each time does not.
func difference(t *comparer, script string) string {
	t.Helper()
	if isKnown(script) {
		return ""
	}
	want, ok := byBash(t, script)
	if !ok {
		return ""
	}
	got, stderr, problem := ours(script, randomPrograms)
	said := stderr + jsonText(got)
	got.mute()
	if problem == "" && jsonText(got) == jsonText(want) {
		return ""
	}
	if isRefused(script, said, problem, want) {
		return ""
	}
	for range 3 {
		if again, ok := byBash(t, script); !ok || jsonText(again) != jsonText(want) {
			return ""
		}
	}
	// What processes write at the same time comes in any order. The order of the lines is not compared then: on a busy machine,
	// bash may have one order each time.
	concurrent := strings.ContainsAny(strings.NewReplacer("||", "", "&&", "").Replace(script), "|&")
	for range 8 {
		again, _, _ := ours(script, randomPrograms)
		again.mute()
		if problem == "" && (jsonText(again) == jsonText(want) || concurrent && jsonText(again.sorted()) == jsonText(want.sorted())) {
			return ""
		}
	}
	return fmt.Sprintf("gives %.2000s%s\nand not %.2000s\nstderr: %.2000s", jsonText(got), problem, jsonText(want), stderr)
}

// isKnown says whether a script may differ. `readonly r$((n1))=[x]` is no assignment: nullglob removes it, and then
// bash lists variables of its own. With lastpipe, bash does not find the jobs of the last command of a pipe.
// The parser does not find the error in [[ -e == x ]].
func isKnown(script string) bool {
	has := func(text string) bool { return strings.Contains(script, text) }
	return has("nullglob") && has("readonly r$") || has("lastpipe") && has("wait -n") || badTest.MatchString(script)
}

// isRefused says whether a script may differ because something of it is refused. A command that is not there is refused before the
// run, and so is what is not a script. The parser refuses a[b] as the name of a command, and an element of an array that begins with [.
// After an eval of an open quote, bash misreads the commands that follow.
func isRefused(script, said, problem string, byBash result) bool {
	return strings.Contains(said, "` must be followed by `=`") || strings.Contains(said, "without closing quote") || strings.Contains(problem, ": there is no such command in a hook") ||
		strings.Contains(problem, ": return in an eval that is a part of a pipe") ||
		strings.HasPrefix(problem, "refused: ") && (byBash.Stderr || strings.Contains(script, "[x"))
}

// byBash is what bash does. It is not ok if the script does not end.
func byBash(t *comparer, script string) (result, bool) {
	t.Helper()
	return byBashIn(t, script, 10*time.Second)
}

func byBashIn(t *comparer, script string, patience time.Duration) (result, bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	r := realIn(ctx, t.T, script, t.programs)
	r.mute()
	return r, ctx.Err() == nil && r.Exit != unfinished
}

// comparer is a test that runs scripts with bash, where these are the programs.
type comparer struct {
	*testing.T
	programs string
}

// randomPrograms are those that random scripts run. Others are not there, so that none of their words is a program by chance.
var randomPrograms = []string{"bash", "cat", "rm", "sort", "tr", "wc"}

// fewPrograms is a folder with these programs.
func fewPrograms(t *testing.T) string {
	t.Helper()
	folder, err := os.MkdirTemp("/tmp", "programs-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(folder) })
	// Another user may run the scripts.
	if err := os.Chmod(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, name := range randomPrograms {
		program, err := exec.LookPath(name)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(program, filepath.Join(folder, name)); err != nil {
			t.Fatal(err)
		}
	}
	return folder
}

// mute removes the errors of the shell: bash has other words, and other lines.
func (r *result) mute() {
	r.Stdout = muted(r.Stdout)
	for name, content := range r.Files {
		r.Files[name] = muted(content)
	}
}

// sorted is the result with the lines of each text in the order of their characters.
func (r result) sorted() result {
	r.Stdout = sortedLines(r.Stdout)
	files := make(map[string]string, len(r.Files))
	for name, content := range r.Files {
		files[name] = sortedLines(content)
	}
	r.Files = files
	return r
}

func sortedLines(text string) string {
	lines := strings.Split(text, "\n")
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

var badTest = regexp.MustCompile(`\[\[ (.*(&&|\|\|) )?(! )?-e (==|!=|=~|<|>) `)

func muted(text string) string {
	for _, one := range mutes {
		text = one.find.ReplaceAllString(text, one.with)
	}
	return text
}

var mutes = []struct {
	find *regexp.Regexp
	with string
}{
	// An error about an expression shows the expression, which can have several lines.
	{regexp.MustCompile(`(?i)(snippet\.sh|\./s[0-9]+|bash):([^"\n]*(\n: )?[^"\n]*error token is "[^"]*"\)|.*)\n?`), ""},
	// The usage of a builtin is a second line.
	{regexp.MustCompile(`(?i)[a-z]+: usage: .*\n?`), ""},
	// A file that is emptied while an error is in it has as many zeros as the error had characters.
	{regexp.MustCompile(`\x00+`), "\x00"},
	// bash counts the lines of a subshell, of a substitution and of a trap in ways of its own. The number stands in an error that a script
	// reads, whose words it may print one by one.
	{regexp.MustCompile(`(?i)(line[^a-z0-9\n]{1,4})[0-9]+`), "${1}N"},
	// bash chooses the number of a process substitution in ways of its own.
	{regexp.MustCompile(`(?i)/dev/fd/[0-9]+`), "/dev/fd/N"},
}

// mayDiffer says whether a script does something else than bash once, which is soon known.
func mayDiffer(t *comparer, script string) bool {
	t.Helper()
	// A script that lost the end of a loop is not the one that is looked for.
	want, ok := byBashIn(t, script, time.Second)
	if !ok || isKnown(script) {
		return false
	}
	got, stderr, problem := ours(script, randomPrograms)
	said := stderr + jsonText(got)
	got.mute()
	return jsonText(got) != jsonText(want) && !isRefused(script, said, problem, want)
}

// smaller removes parts of a script that may still differ without them.
func smaller(t *comparer, script *part) string {
	t.Helper()
	tries := 0
	for changed := true; changed && tries < 600; {
		changed = false
		script.walk(func(p *part) {
			for _, with := range p.smaller() {
				if tries++; tries > 600 {
					return
				}
				before := *p
				*p = *with
				if mayDiffer(t, script.String()) {
					changed = true
					return
				}
				*p = before
			}
		})
	}
	return script.String()
}

// part is a part of a script: texts and other parts.
type part struct {
	kind  kind
	texts []any
	// list says that any of the parts can be left out.
	list bool
}

type kind int

const (
	statement kind = iota
	word
	other
)

func (p *part) String() string {
	var text strings.Builder
	for _, one := range p.texts {
		fmt.Fprint(&text, one)
	}
	return text.String()
}

func (p *part) walk(use func(*part)) {
	use(p)
	for _, one := range p.texts {
		if inner, ok := one.(*part); ok {
			inner.walk(use)
		}
	}
}

// smaller are parts that could take the place of this one.
func (p *part) smaller() []*part {
	var all []*part
	if p.list {
		for i := range p.texts {
			if len(p.texts) > 1 {
				all = append(all, &part{kind: p.kind, texts: append(append([]any{}, p.texts[:i]...), p.texts[i+1:]...), list: true})
			}
		}
		return all
	}
	if text := p.String(); p.kind == statement && text != ":" {
		all = append(all, of(statement, ":"))
	} else if p.kind == word && text != "w" {
		all = append(all, of(word, "w"))
	}
	for _, one := range p.texts {
		if inner, ok := one.(*part); ok && inner.kind == p.kind && p.kind != other && !inner.list {
			all = append(all, inner)
		}
	}
	return all
}

func of(kind kind, texts ...any) *part { return &part{kind: kind, texts: texts} }
