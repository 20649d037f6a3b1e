package shellop

import (
	"bytes"
	"strings"

	"github.com/boathook/boathook/interpreters/shell/jq"
)

// Line is a line that a script printed. A line that is a JSON object is a log record: its level and message are taken
// out, and its other fields get the prefix hook_.
type Line struct {
	Stream string // stdout or stderr
	Text   string
	Level  string // of a record, or nothing
	Fields [][2]string
}

// longest is where a line is cut.
const longest = 10_000

type lineWriter struct {
	stream string
	use    func(Line)
	rest   []byte
}

func (w *lineWriter) Write(b []byte) (int, error) {
	w.rest = append(w.rest, b...)
	for {
		at := bytes.IndexByte(w.rest, '\n')
		if at < 0 {
			if len(w.rest) > longest {
				w.flush()
			}
			return len(b), nil
		}
		w.emit(string(w.rest[:at]))
		w.rest = w.rest[at+1:]
	}
}

func (w *lineWriter) flush() {
	if len(w.rest) > 0 {
		w.emit(string(w.rest))
		w.rest = nil
	}
}

func (w *lineWriter) emit(text string) {
	if len(text) > longest {
		text = strings.ToValidUTF8(text[:longest], "") + "... (cut)"
	}
	line := Line{Stream: w.stream, Text: text}
	if strings.HasPrefix(strings.TrimSpace(text), "{") {
		if v, err := jq.Parse(text); err == nil {
			line.record(v.(*jq.Object))
		}
	}
	w.use(line)
}

func (l *Line) record(o *jq.Object) {
	for _, key := range o.Keys() {
		v, _ := o.Get(key)
		text, ok := v.(string)
		if !ok {
			text = jq.Text(v)
		}
		switch key {
		case "level":
			l.Level = text
		case "msg":
			l.Text = text
		case "time":
		default:
			l.Fields = append(l.Fields, [2]string{"hook_" + key, text})
		}
	}
	l.Fields = append(l.Fields, [2]string{"proxyJsonLog", "true"})
}
