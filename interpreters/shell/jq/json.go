package jq

import (
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// Decoder reads a stream of JSON texts.
type Decoder struct {
	in     io.Reader
	buffer []byte
	// text is what was read, and at the place in it.
	text  string
	at    int
	err   error
	line  int
	depth int
}

// NewDecoder returns a decoder.
func NewDecoder(r io.Reader) *Decoder { return &Decoder{in: r, line: 1} }

// maxDepth is that of jq.
const maxDepth = 256

// part is how much is read at a time.
const part = 4096

// more reads on. The byte before stays, because it may be read again, and so does what was not used.
func (d *Decoder) more() bool {
	if d.in == nil {
		d.err = io.EOF
	}
	for d.err == nil {
		if d.buffer == nil {
			d.buffer = make([]byte, part)
		}
		kept := copy(d.buffer, d.text[max(d.at-1, 0):])
		var n int
		if n, d.err = d.in.Read(d.buffer[kept:]); n > 0 {
			d.text, d.at = string(d.buffer[:kept+n]), min(d.at, 1)
			return true
		}
	}
	return false
}

func (d *Decoder) byte() (byte, error) {
	if d.at == len(d.text) && !d.more() {
		return 0, d.err
	}
	b := d.text[d.at]
	d.at++
	if b == '\n' {
		d.line++
	}
	return b, nil
}

func (d *Decoder) unread() { d.at-- }

func (d *Decoder) space() (byte, error) {
	for {
		b, err := d.byte()
		if err != nil {
			return 0, err
		}
		if b != ' ' && b != '\t' && b != '\n' && b != '\r' {
			return b, nil
		}
	}
}

// Next returns the next value, or io.EOF.
func (d *Decoder) Next() (any, error) {
	b, err := d.space()
	if err != nil {
		return nil, err
	}
	if b == 0xef {
		// A mark of the byte order.
		d.byte()
		d.byte()
		return d.Next()
	}
	v, err := d.value(b)
	if err == io.EOF {
		err = fmt.Errorf("Unfinished JSON term at EOF at line %d", d.line)
	}
	return v, err
}

func (d *Decoder) fail(text string) error {
	return fmt.Errorf("%s at line %d", text, d.line)
}

func (d *Decoder) value(b byte) (any, error) {
	switch {
	case b == '{':
		return d.object()
	case b == '[':
		return d.array()
	case b == '"':
		return d.string()
	case b == '-' || b >= '0' && b <= '9':
		return d.number(b)
	}
	word := []byte{b}
	for len(word) < 10 {
		next, err := d.byte()
		if err != nil {
			break
		}
		if next < 'a' || next > 'z' {
			d.unread()
			break
		}
		word = append(word, next)
	}
	switch string(word) {
	case "null":
		return nil, nil
	case "true":
		return true, nil
	case "false":
		return false, nil
	case "nan":
		return math.NaN(), nil
	}
	return nil, d.fail("Invalid literal")
}

func (d *Decoder) nested() error {
	if d.depth++; d.depth > maxDepth {
		return d.fail("Exceeds depth limit for parsing")
	}
	return nil
}

func (d *Decoder) object() (any, error) {
	if err := d.nested(); err != nil {
		return nil, err
	}
	defer func() { d.depth-- }()
	o := NewObject()
	b, err := d.space()
	if err != nil || b == '}' {
		return o, err
	}
	for {
		if b != '"' {
			return nil, d.fail("Object keys must be strings")
		}
		key, err := d.string()
		if err != nil {
			return nil, err
		}
		if b, err = d.space(); err != nil {
			return nil, err
		}
		if b != ':' {
			return nil, d.fail("Objects must consist of key:value pairs")
		}
		if b, err = d.space(); err != nil {
			return nil, err
		}
		v, err := d.value(b)
		if err != nil {
			return nil, err
		}
		o.Set(key.(string), v)
		if b, err = d.space(); err != nil {
			return nil, err
		}
		switch b {
		case '}':
			return o, nil
		case ',':
			if b, err = d.space(); err != nil {
				return nil, err
			}
		default:
			return nil, d.fail("Expected separator between values")
		}
	}
}

func (d *Decoder) array() (any, error) {
	if err := d.nested(); err != nil {
		return nil, err
	}
	defer func() { d.depth-- }()
	list := []any{}
	b, err := d.space()
	if err != nil || b == ']' {
		return list, err
	}
	for {
		v, err := d.value(b)
		if err != nil {
			return nil, err
		}
		list = append(list, v)
		if b, err = d.space(); err != nil {
			return nil, err
		}
		switch b {
		case ']':
			return list, nil
		case ',':
			if b, err = d.space(); err != nil {
				return nil, err
			}
		default:
			return nil, d.fail("Expected separator between values")
		}
	}
}

func (d *Decoder) number(b byte) (any, error) {
	text := []byte{b}
	for {
		next, err := d.byte()
		if err != nil {
			break
		}
		if (next < '0' || next > '9') && strings.IndexByte("+-.eE", next) < 0 {
			d.unread()
			break
		}
		text = append(text, next)
	}
	return parseNumber(string(text), d)
}

func parseNumber(text string, d *Decoder) (any, error) {
	f, err := strconv.ParseFloat(text, 64)
	if err != nil && !errors.Is(err, strconv.ErrRange) {
		if d == nil {
			return nil, err
		}
		return nil, d.fail("Invalid numeric literal")
	}
	return f, nil
}

func (d *Decoder) string() (any, error) {
	var out strings.Builder
	for {
		out.WriteString(d.plain())
		b, err := d.byte()
		if err != nil {
			return nil, err
		}
		switch b {
		case '"':
			text := out.String()
			if !utf8.ValidString(text) {
				text = strings.ToValidUTF8(text, "\ufffd")
			}
			return text, nil
		case '\\':
			if err := d.escape(&out); err != nil {
				return nil, err
			}
		default:
			out.WriteByte(b)
		}
	}
}

// plain are the bytes up to the end of the string, an escape, a new line, or the end of what was read.
func (d *Decoder) plain() string {
	from := d.at
	for d.at < len(d.text) {
		if b := d.text[d.at]; b == '"' || b == '\\' || b == '\n' {
			break
		}
		d.at++
	}
	return d.text[from:d.at]
}

func (d *Decoder) escape(out *strings.Builder) error {
	b, err := d.byte()
	if err != nil {
		return err
	}
	if at := strings.IndexByte(`"\/bfnrt`, b); at >= 0 {
		out.WriteByte("\"\\/\b\f\n\r\t"[at])
		return nil
	}
	if b != 'u' {
		return d.fail("Invalid escape")
	}
	r, err := d.unit()
	if err != nil {
		return err
	}
	if utf16.IsSurrogate(r) {
		for len(d.text)-d.at < 2 && d.more() {
		}
		if strings.HasPrefix(d.text[d.at:], `\u`) {
			d.byte()
			d.byte()
			second, err := d.unit()
			if err != nil {
				return err
			}
			if pair := utf16.DecodeRune(r, second); pair != utf8.RuneError {
				out.WriteRune(pair)
				return nil
			}
		}
		r = utf8.RuneError
	}
	out.WriteRune(r)
	return nil
}

func (d *Decoder) unit() (rune, error) {
	n := rune(0)
	for range 4 {
		b, err := d.byte()
		if err != nil {
			return 0, err
		}
		at := strings.IndexByte("0123456789abcdef", b|0x20)
		if b >= '0' && b <= '9' {
			at = int(b - '0')
		}
		if at < 0 {
			return 0, d.fail("Invalid escape")
		}
		n = n*16 + rune(at)
	}
	return n, nil
}

// Format says how values are printed.
type Format struct {
	Indent string // empty prints in one line
	Sort   bool
	ASCII  bool
}

// Append prints a value.
func (f *Format) Append(out *strings.Builder, v any) { f.append(out, v, 0) }

func (f *Format) newline(out *strings.Builder, depth int) {
	if f.Indent == "" {
		return
	}
	out.WriteByte('\n')
	for range depth {
		out.WriteString(f.Indent)
	}
}

func (f *Format) append(out *strings.Builder, v any, depth int) {
	switch v := v.(type) {
	case nil:
		out.WriteString("null")
	case bool:
		out.WriteString(strconv.FormatBool(v))
	case Number:
		out.WriteString(v.text)
	case float64:
		out.WriteString(numberText(v))
	case string:
		f.appendString(out, v)
	case []any:
		if len(v) == 0 {
			out.WriteString("[]")
			return
		}
		out.WriteByte('[')
		for i, item := range v {
			if i > 0 {
				out.WriteByte(',')
			}
			f.newline(out, depth+1)
			f.append(out, item, depth+1)
		}
		f.newline(out, depth)
		out.WriteByte(']')
	case *Object:
		if len(v.keys) == 0 {
			out.WriteString("{}")
			return
		}
		keys := v.keys
		if f.Sort {
			keys = v.sorted()
		}
		out.WriteByte('{')
		for i, key := range keys {
			if i > 0 {
				out.WriteByte(',')
			}
			f.newline(out, depth+1)
			f.appendString(out, key)
			out.WriteByte(':')
			if f.Indent != "" {
				out.WriteByte(' ')
			}
			f.append(out, v.values[key], depth+1)
		}
		f.newline(out, depth)
		out.WriteByte('}')
	}
}

// numberText prints a number with at most 17 digits, as jq does.
func numberText(n float64) string {
	switch {
	case math.IsNaN(n):
		return "null"
	case math.IsInf(n, 1):
		return "1.7976931348623157e+308"
	case math.IsInf(n, -1):
		return "-1.7976931348623157e+308"
	}
	if n == 0 {
		if math.Signbit(n) {
			return "-0"
		}
		return "0"
	}
	// jq prints an exponent where the point would be far from the digits.
	mantissa, exponent, _ := strings.Cut(strconv.FormatFloat(n, 'e', -1, 64), "e")
	digits := len(strings.NewReplacer("-", "", ".", "").Replace(mantissa))
	e, _ := strconv.Atoi(exponent)
	if point := e + 1; point <= -4 || point > digits+15 {
		return fmt.Sprintf("%se%+03d", mantissa, e)
	}
	return strconv.FormatFloat(n, 'f', -1, 64)
}

func (f *Format) appendString(out *strings.Builder, text string) {
	out.WriteByte('"')
	if !f.changes(text) {
		out.WriteString(text)
		out.WriteByte('"')
		return
	}
	for _, c := range text {
		switch {
		case c == '"' || c == '\\':
			out.WriteByte('\\')
			out.WriteRune(c)
		case c < ' ' || c == 0x7f:
			if at := strings.IndexRune("\b\f\n\r\t", c); at >= 0 {
				out.WriteByte('\\')
				out.WriteByte("bfnrt"[at])
			} else {
				fmt.Fprintf(out, `\u%04x`, c)
			}
		case c > 0x7e && f.ASCII:
			if c > 0xffff {
				a, b := utf16.EncodeRune(c)
				fmt.Fprintf(out, `\u%04x\u%04x`, a, b)
			} else {
				fmt.Fprintf(out, `\u%04x`, c)
			}
		default:
			out.WriteRune(c)
		}
	}
	out.WriteByte('"')
}

// changes says whether a text is printed otherwise than it is.
func (f *Format) changes(text string) bool {
	ascii := true
	for i := range len(text) {
		switch c := text[i]; {
		case c < ' ' || c == '"' || c == '\\' || c == 0x7f:
			return true
		case c >= utf8.RuneSelf:
			ascii = false
		}
	}
	return !ascii && (f.ASCII || !utf8.ValidString(text))
}

// Text is a value in one line.
func Text(v any) string {
	var out strings.Builder
	(&Format{}).Append(&out, v)
	return out.String()
}

// Parse reads one value.
func Parse(text string) (any, error) {
	d := &Decoder{text: text, line: 1}
	v, err := d.Next()
	if err != nil {
		if err == io.EOF {
			err = errors.New("Expected JSON value")
		}
		return nil, err
	}
	if _, err := d.Next(); err != io.EOF {
		return nil, errors.New("Unexpected extra JSON values (while parsing '" + text + "')")
	}
	return v, nil
}
