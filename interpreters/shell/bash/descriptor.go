package bash

import (
	"bufio"
	"context"
	"io"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/boathook/boathook/interpreters/shell/fs"
)

// openFile is an open file, pipe or stream. Several descriptors of several shells can refer to it.
type openFile struct {
	references atomic.Int32
	mu         sync.Mutex
	reader     *bufio.Reader
	writer     io.Writer
	closer     io.Closer
	file       *fs.File // where it is a file of the file system
	pipe       *pipe    // where it is the end of one that reads
}

// descriptor is one number's reference to an open file.
type descriptor struct{ open *openFile }

func newDescriptor(o *openFile) *descriptor {
	o.references.Add(1)
	return &descriptor{o}
}

func (d *descriptor) dup() *descriptor { return newDescriptor(d.open) }

func (d *descriptor) close() {
	if d.open.references.Add(-1) == 0 && d.open.closer != nil {
		d.open.closer.Close()
	}
}

// Read reads as a program does: what it does not take stays for the next reader of the same open file.
func (d *descriptor) Read(b []byte) (int, error) {
	if d == nil || d.open.reader == nil {
		return 0, fs.BadFile
	}
	d.open.mu.Lock()
	defer d.open.mu.Unlock()
	return d.open.reader.Read(b)
}

func (d *descriptor) readByte() (byte, error) {
	if d == nil || d.open.reader == nil {
		return 0, fs.BadFile
	}
	d.open.mu.Lock()
	defer d.open.mu.Unlock()
	return d.open.reader.ReadByte()
}

// giveBack sets the position of a file to the byte after what was read. Writes through the same open file go there, and the next read
// sees what the file has then.
func (d *descriptor) giveBack() {
	d.open.mu.Lock()
	defer d.open.mu.Unlock()
	if n := d.open.reader.Buffered(); n > 0 && d.open.file != nil && d.open.file.Info().Mode().IsRegular() {
		d.open.file.Rewind(n)
		d.open.reader.Reset(d.open.file)
	}
}

// ready waits until there is something to read, or the end of the input. It says whether that came before the time.
func (d *descriptor) ready(until time.Time) bool {
	if d.open.pipe == nil || d.open.reader.Buffered() > 0 {
		return true
	}
	return d.open.pipe.ready(until)
}

// Write writes, and ends the process where nobody reads the pipe any more.
func (d *descriptor) Write(b []byte) (int, error) {
	if d == nil || d.open.writer == nil {
		return 0, fs.BadFile
	}
	n, err := d.open.writer.Write(b)
	if err == io.ErrClosedPipe {
		panic(brokenPipe{})
	}
	return n, err
}

// openPath opens a file of the run, or one of the names in /dev that mean a descriptor.
func (s *Shell) openPath(path string, flag int) (*descriptor, error) {
	if number, ok := descriptorName(path); ok {
		if d := s.fds[number]; d != nil {
			return d.dup(), nil
		}
		return nil, &os.PathError{Op: "open", Path: path, Err: fs.NotExist}
	}
	file, err := s.world.FS.Open(s.absolute(path), flag, 0o666)
	if full, ok := err.(*fs.FullError); ok {
		s.world.die(&LimitError{s.where(), full.Error()})
	}
	if err != nil {
		return nil, err
	}
	if file.Info().IsDir() && flag&(os.O_WRONLY|os.O_RDWR) != 0 {
		return nil, &os.PathError{Op: "open", Path: path, Err: fs.IsDirectory}
	}
	o := &openFile{file: file, closer: file}
	if flag&os.O_WRONLY == 0 {
		o.reader = bufio.NewReader(file)
	}
	if flag&(os.O_WRONLY|os.O_RDWR) != 0 {
		o.writer = &fileWriter{s.world, file}
	}
	return newDescriptor(o), nil
}

// fileWriter ends the run when the file system is full.
type fileWriter struct {
	world *World
	file  *fs.File
}

func (f *fileWriter) Write(b []byte) (int, error) {
	n, err := f.file.Write(b)
	if full, ok := err.(*fs.FullError); ok {
		f.world.die(full)
	}
	return n, err
}

// descriptorName says which descriptor a path such as /dev/stdout means.
func descriptorName(path string) (int, bool) {
	switch path {
	case "/dev/stdin":
		return 0, true
	case "/dev/stdout":
		return 1, true
	case "/dev/stderr":
		return 2, true
	}
	for _, prefix := range []string{"/dev/fd/", "/proc/self/fd/"} {
		if len(path) > len(prefix) && path[:len(prefix)] == prefix {
			return parseDescriptor(path[len(prefix):])
		}
	}
	return 0, false
}

func parseDescriptor(text string) (int, bool) {
	n := 0
	if text == "" || len(text) > 4 {
		return 0, false
	}
	for _, c := range text {
		if c < '0' || c > '9' {
			return 0, false
		}
		n = n*10 + int(c-'0')
	}
	return n, true
}

// pipe is a bounded buffer between two processes.
type pipe struct {
	mu          sync.Mutex
	changed     *sync.Cond
	buffer      []byte
	writerGone  bool
	readerGone  bool
	stoppedFlag func() bool
}

const pipeSize = 64 << 10

// newPipe returns both ends. A run that is over wakes everybody who waits for them.
func (w *World) newPipe() (reader, writer *descriptor) {
	p := &pipe{stoppedFlag: func() bool { return w.failure.Load() != nil }}
	p.changed = sync.NewCond(&p.mu)
	stop := context.AfterFunc(w.ctx, func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.changed.Broadcast()
	})
	r := &openFile{pipe: p, reader: bufio.NewReader(readEnd{p}), closer: closeFunc(func() { stop(); p.end(&p.readerGone) })}
	o := &openFile{writer: writeEnd{p}, closer: closeFunc(func() { p.end(&p.writerGone) })}
	return newDescriptor(r), newDescriptor(o)
}

func (p *pipe) end(gone *bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	*gone = true
	p.changed.Broadcast()
}

func (p *pipe) ready(until time.Time) bool {
	alarm := time.AfterFunc(time.Until(until), func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.changed.Broadcast()
	})
	defer alarm.Stop()
	p.mu.Lock()
	defer p.mu.Unlock()
	for len(p.buffer) == 0 && !p.writerGone {
		if p.stoppedFlag() {
			panic(stopped{})
		}
		if !time.Now().Before(until) {
			return false
		}
		p.changed.Wait()
	}
	return true
}

type (
	readEnd   struct{ *pipe }
	writeEnd  struct{ *pipe }
	closeFunc func()
)

func (c closeFunc) Close() error { c(); return nil }

func (r readEnd) Read(b []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for len(r.buffer) == 0 && !r.writerGone {
		if r.stoppedFlag() {
			panic(stopped{})
		}
		r.changed.Wait()
	}
	n := copy(b, r.buffer)
	r.buffer = r.buffer[n:]
	r.changed.Broadcast()
	if n == 0 {
		return 0, io.EOF
	}
	return n, nil
}

func (w writeEnd) Write(b []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	written := 0
	for {
		if w.readerGone {
			return written, io.ErrClosedPipe
		}
		if room := pipeSize - len(w.buffer); room > 0 {
			n := min(room, len(b)-written)
			w.buffer = append(w.buffer, b[written:written+n]...)
			written += n
			w.changed.Broadcast()
		}
		if written == len(b) {
			return written, nil
		}
		if w.stoppedFlag() {
			panic(stopped{})
		}
		w.changed.Wait()
	}
}

// openPathIn opens a path of a program, which has its own working directory.
func (s *Shell) openPathIn(dir, name string, flag int) (*descriptor, error) {
	if _, ok := descriptorName(name); !ok && !strings.HasPrefix(name, "/") {
		name = dir + "/" + name
	}
	return s.openPath(name, flag)
}

// asReader makes a descriptor of a stream that a program got.
func asReader(r io.Reader) *descriptor {
	if d, ok := r.(*descriptor); ok {
		if d == nil {
			return newDescriptor(&openFile{})
		}
		return d.dup()
	}
	return newDescriptor(&openFile{reader: bufio.NewReader(r)})
}

func asWriter(w io.Writer) *descriptor {
	if d, ok := w.(*descriptor); ok {
		if d == nil {
			return newDescriptor(&openFile{})
		}
		return d.dup()
	}
	return newDescriptor(&openFile{writer: w})
}

func contextWithTimeout(parent context.Context, seconds float64) (context.Context, context.CancelFunc) {
	return context.WithTimeout(parent, time.Duration(min(seconds, 1e9)*float64(time.Second)))
}
