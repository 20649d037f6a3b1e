package commands

import (
	"bytes"
	"container/list"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"sync"

	"github.com/mikefarah/yq/v4/pkg/yqlib"

	"github.com/boathook/boathook/interpreters/shell/bash"
	"github.com/boathook/boathook/interpreters/shell/jq"
)

func init() {
	all["yq"] = func(p *bash.Process) int {
		y := &yq{Process: p, in: "yaml", indent: 2, separators: true}
		if status, done := y.parse(p.Args[1:]); done {
			return status
		}
		if err := y.run(); err != nil {
			fmt.Fprintf(p.Stderr, "Error: %s\n", err)
			return 1
		}
		return 0
	}
}

// yqVersion is that of the library.
const yqVersion = "v4.54.2"

// yqLock is for the library, which keeps its settings and the environment for all.
var yqLock sync.Mutex

// yq is one call of yq, version 4.
type yq struct {
	*bash.Process
	expression, out, in                               string
	words, files                                      []string
	indent                                            int
	together, null, inPlace, exit, pretty, separators bool
	unwrap                                            *bool
	hasExpression                                     bool
}

// parse reads the options.
func (y *yq) parse(args []string) (status int, done bool) {
	flags := map[string]string{
		"null-input": "n", "no-doc": "N", "inplace": "i", "unwrapScalar": "r", "exit-status": "e", "prettyPrint": "P", "tojson": "j",
		"no-colors": "M", "output-format": "o", "input-format": "p", "indent": "I", "expression": "E", "from-file": "F", "version": "V",
	}
	for i := 0; i < len(args); i++ {
		arg := args[i]
		if arg == "-" || len(arg) < 2 || arg[0] != '-' {
			y.words = append(y.words, arg)
			continue
		}
		letters, value, given := strings.TrimPrefix(arg, "-"), "", false
		if strings.HasPrefix(arg, "--") {
			name := arg[2:]
			name, value, given = strings.Cut(name, "=")
			letter, ok := flags[name]
			if !ok {
				return y.Fail(1, "the option --%s is not supported", name), true
			}
			letters = letter
		}
		for at := 0; at < len(letters); at++ {
			letter := letters[at]
			if strings.IndexByte("opIEF", letter) >= 0 {
				switch rest := letters[at+1:]; {
				case given:
				case rest != "":
					value = strings.TrimPrefix(rest, "=")
				case i+1 < len(args):
					i++
					value = args[i]
				default:
					return y.Fail(1, "flag needs an argument: '%c' in %s", letter, arg), true
				}
				if err := y.set(letter, value); err != nil {
					return y.Fail(1, "%s", err), true
				}
				break
			}
			on := true
			if rest, ok := strings.CutPrefix(letters[at+1:], "="); ok {
				value, given = rest, true
				letters = letters[:at+1]
			}
			if given {
				on = value != "false"
			}
			if letter == 'V' {
				fmt.Fprintf(y.Stdout, "yq (https://github.com/mikefarah/yq/) version %s\n", yqVersion)
				return 0, true
			}
			if !y.flag(letter, on) {
				return y.Fail(1, "the option -%c is not supported", letter), true
			}
		}
	}
	return 0, false
}

func (y *yq) set(letter byte, value string) (err error) {
	switch letter {
	case 'o':
		y.out = value
	case 'p':
		y.in = value
	case 'I':
		if y.indent, err = strconv.Atoi(value); err != nil || y.indent < 0 {
			return fmt.Errorf("invalid argument %q for -I: a number is expected", value)
		}
	case 'E':
		y.expression, y.hasExpression = value, true
	case 'F':
		text, err := y.FS().ReadFile(y.Abs(value))
		if err != nil {
			return fmt.Errorf("open %s: no such file or directory", value)
		}
		y.expression, y.hasExpression = string(text), true
	}
	return nil
}

func (y *yq) flag(letter byte, on bool) bool {
	switch letter {
	case 'n':
		y.null = on
	case 'N':
		y.separators = !on
	case 'i':
		y.inPlace = on
	case 'r':
		y.unwrap = &on
	case 'e':
		y.exit = on
	case 'P':
		y.pretty = on
	case 'j':
		y.out = "json"
	case 'M':
	default:
		return false
	}
	return true
}

func (y *yq) isFile(name string) bool {
	info, err := y.FS().Stat(y.Abs(name))
	return err == nil && !info.IsDir()
}

// arrange finds out what the words are: a subcommand, the expression, and files.
func (y *yq) arrange() error {
	words := y.words
	if len(words) > 0 {
		switch words[0] {
		case "e", "eval":
			words = words[1:]
		case "ea", "eval-all":
			y.together, words = true, words[1:]
		}
	}
	if !y.hasExpression && len(words) > 0 && words[0] != "-" && !y.isFile(words[0]) {
		y.expression, words = words[0], words[1:]
	}
	if len(words) == 0 && !y.null {
		words = []string{"-"}
	}
	y.files = words
	switch {
	case y.null && len(words) > 0:
		return errors.New("cannot pass files in when using null-input flag")
	case y.inPlace && (len(words) == 0 || words[0] == "-"):
		return errors.New("write in place flag only applicable when giving an expression and at least one file")
	}
	if y.pretty {
		if y.expression == "" {
			y.expression = yqlib.PrettyPrintExp
		} else {
			y.expression += " | " + yqlib.PrettyPrintExp
		}
	}
	return nil
}

// errNoMatches is the error of -e. What was found is printed before it.
var errNoMatches = errors.New("no matches found")

// document is an input.
type document struct {
	name string
	text []byte
}

func (y *yq) run() error {
	if err := y.arrange(); err != nil {
		return err
	}
	// All is read before the library is used, because the one that writes a pipe may need it, too.
	var inputs []document
	for _, name := range y.files {
		var in io.Reader = y.Stdin
		if name != "-" {
			file, err := y.Open(name)
			if err != nil {
				return fmt.Errorf("open %s: no such file or directory", name)
			}
			defer file.Close()
			in = file
		}
		text, err := y.ReadAll(in)
		if err != nil {
			return err
		}
		inputs = append(inputs, document{name, text})
	}
	y.Tick()
	var out bytes.Buffer
	err := y.evaluate(inputs, &out)
	y.CheckLength(out.Len())
	if err != nil && err != errNoMatches {
		return err
	}
	if y.inPlace {
		file, err := y.Create(y.files[0], false)
		if err != nil {
			return err
		}
		defer file.Close()
		_, err = file.Write(out.Bytes())
		return err
	}
	if _, failed := y.Stdout.Write(out.Bytes()); failed != nil {
		return failed
	}
	return err
}

// formats chooses the formats by the options and the name of the first file.
func (y *yq) formats() (in, out *yqlib.Format, err error) {
	first := ""
	if len(y.files) > 0 {
		first = y.files[0]
	}
	name := y.in
	if name == "yaml" && (strings.HasSuffix(first, ".json")) {
		name = "json"
	}
	if in, err = yqlib.FormatFromString(name); err != nil {
		return nil, nil, err
	}
	if y.out == "" || y.out == "auto" || y.out == "a" {
		y.out = "yaml"
		if y.in == "yaml" {
			y.out = name
		}
	}
	out, err = yqlib.FormatFromString(y.out)
	return in, out, err
}

func (y *yq) evaluate(inputs []document, to io.Writer) (err error) {
	yqLock.Lock()
	defer yqLock.Unlock()
	defer func() {
		if reason := recover(); reason != nil {
			err = fmt.Errorf("the expression %s cannot be evaluated: %v", y.expression, reason)
		}
	}()
	in, out, err := y.formats()
	if err != nil {
		return err
	}
	unwrap := out == yqlib.YamlFormat
	if y.unwrap != nil {
		unwrap = *y.unwrap
	}
	os.Clearenv()
	for _, pair := range y.Env {
		name, value, _ := strings.Cut(pair, "=")
		os.Setenv(name, value)
	}
	yqlib.ConfiguredSecurityPreferences.DisableFileOps = true
	yaml := &yqlib.ConfiguredYamlPreferences
	yaml.Indent, yaml.UnwrapScalar, yaml.ColorsEnabled, yaml.PrintDocSeparators = y.indent, unwrap, false, y.separators
	yaml.EvaluateTogether = y.together
	if in == yqlib.JSONFormat {
		in = jsonInput
	}
	if in.DecoderFactory == nil || in.DecoderFactory() == nil {
		return fmt.Errorf("no support for %s input format", y.in)
	}
	var encoder yqlib.Encoder = &jsonEncoder{indent: y.indent, unwrap: unwrap}
	if out != yqlib.JSONFormat {
		encoder = out.EncoderFactory()
	}
	if encoder == nil {
		return fmt.Errorf("no support for %s output format", y.out)
	}
	yqlib.InitExpressionParser()
	printer := yqlib.NewPrinter(encoder, yqlib.NewSinglePrinterWriter(to))
	if y.together {
		err = y.all(inputs, in, printer)
	} else {
		err = y.each(inputs, in, printer)
	}
	if err == nil && y.exit && !printer.PrintedAnything() {
		return errNoMatches
	}
	return err
}

// each evaluates the expression for each document.
func (y *yq) each(inputs []document, in *yqlib.Format, printer yqlib.Printer) error {
	evaluator := yqlib.NewStreamEvaluator()
	if y.null {
		return evaluator.EvaluateNew(y.expression, printer)
	}
	node, err := yqlib.ExpressionParser.ParseExpression(y.expression)
	if err != nil {
		return err
	}
	decoder, total := in.DecoderFactory(), uint(0)
	for _, input := range inputs {
		count, err := evaluator.Evaluate(input.name, bytes.NewReader(input.text), node, printer, decoder)
		if err != nil {
			return err
		}
		total += count
	}
	if total == 0 {
		return evaluator.EvaluateNew(y.expression, printer)
	}
	return nil
}

// all evaluates the expression once, for all documents together.
func (y *yq) all(inputs []document, in *yqlib.Format, printer yqlib.Printer) error {
	documents := list.New()
	decoder := in.DecoderFactory()
	for i, input := range inputs {
		of, err := yqlib.ReadDocuments(bytes.NewReader(input.text), decoder)
		if err != nil {
			return err
		}
		for element := of.Front(); element != nil; element = element.Next() {
			if node, ok := element.Value.(*yqlib.CandidateNode); ok {
				node.SetFileIndex(i)
				node.SetFilename(input.name)
			}
		}
		documents.PushBackList(of)
	}
	matches, err := yqlib.NewAllAtOnceEvaluator().EvaluateCandidateNodes(y.expression, documents)
	if err != nil {
		return err
	}
	return printer.PrintResults(matches)
}

// jsonInput reads JSON as YAML, which it is, without the style of JSON.
var jsonInput = &yqlib.Format{
	FormalName: "json", EncoderFactory: yqlib.YamlFormat.EncoderFactory,
	DecoderFactory: func() yqlib.Decoder { return plainDecoder{yqlib.YamlFormat.DecoderFactory()} },
}

type plainDecoder struct{ yqlib.Decoder }

func (d plainDecoder) Decode() (*yqlib.CandidateNode, error) {
	node, err := d.Decoder.Decode()
	if err == nil {
		withoutStyle(node)
	}
	return node, err
}

func withoutStyle(node *yqlib.CandidateNode) {
	node.Style = 0
	for _, inner := range node.Content {
		withoutStyle(inner)
	}
}

// jsonEncoder prints JSON. That of the library needs another package for JSON, which alone would be a fifth of the
// interpreter; it is left out of the build, as are the formats that hooks do not use.
type jsonEncoder struct {
	indent int
	unwrap bool
}

func (*jsonEncoder) CanHandleAliases() bool                      { return false }
func (*jsonEncoder) PrintDocumentSeparator(io.Writer) error      { return nil }
func (*jsonEncoder) PrintLeadingContent(io.Writer, string) error { return nil }

func (e *jsonEncoder) Encode(to io.Writer, node *yqlib.CandidateNode) error {
	if node.Kind == yqlib.ScalarNode && e.unwrap {
		_, err := io.WriteString(to, node.Value+"\n")
		return err
	}
	value, err := jsonValue(node)
	if err != nil {
		return err
	}
	var text strings.Builder
	(&jq.Format{Indent: strings.Repeat(" ", e.indent)}).Append(&text, value)
	_, err = io.WriteString(to, text.String()+"\n")
	return err
}

// jsonValue is a node as a value of jq, which keeps the order of keys.
func jsonValue(node *yqlib.CandidateNode) (any, error) {
	switch node.Kind {
	case yqlib.AliasNode:
		return jsonValue(node.Alias)
	case yqlib.MappingNode:
		object := jq.NewObject()
		for i := 0; i+1 < len(node.Content); i += 2 {
			value, err := jsonValue(node.Content[i+1])
			if err != nil {
				return nil, err
			}
			object.Set(node.Content[i].Value, value)
		}
		return object, nil
	case yqlib.SequenceNode:
		list := []any{}
		for _, item := range node.Content {
			value, err := jsonValue(item)
			if err != nil {
				return nil, err
			}
			list = append(list, value)
		}
		return list, nil
	}
	value, err := node.GetValueRep()
	if err != nil {
		return nil, err
	}
	switch value := value.(type) {
	case nil, bool, string:
		return value, nil
	}
	number, err := jq.Parse(fmt.Sprint(value))
	if err != nil {
		return nil, fmt.Errorf("json: unsupported value: %v", value)
	}
	return number, nil
}
