// Package bash runs scripts of bash.
//
// The grammar is that of mvdan.cc/sh/v3/syntax. The rest is here: what a script means is decided by one evaluator that
// knows expansions, arrays, traps, descriptors and the rules of errexit, because the differences between shells are in
// how these parts meet. A script never starts a process: commands are functions of Go, and subshells are goroutines.
package bash

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/boathook/boathook/interpreters/shell/fs"
)

// Limits bound a run. A script that exceeds one ends with an error that names it.
type Limits struct {
	Value     int   // bytes of one string
	Memory    int64 // bytes of all variables
	Output    int64 // bytes on stdout and stderr together
	Depth     int   // nested calls, sources, evals and subshells
	Processes int   // subshells and commands at the same time
	Spawned   int64 // subshells and commands in a run
	Source    int   // bytes of a script
	Nesting   int   // nested brackets in a script
}

// DefaultLimits are those of a run in Boathook.
var DefaultLimits = Limits{
	Value: 16 << 20, Memory: 48 << 20, Output: 32 << 20, Depth: 400, Processes: 128, Spawned: 1_000_000,
	Source: 4 << 20, Nesting: 200,
}

// Command is a program that scripts call by its name. It returns its exit status.
type Command func(*Process) int

// World is what all shells of a run share.
type World struct {
	FS       *fs.FS
	Commands map[string]Command
	// Checks say what is wrong with a call of a command, before anything runs. A word that is not known then is empty.
	Checks map[string]func(args []string) error
	Now    func() time.Time
	Limits Limits
	// Hostname and the like are fixed, so that scripts cannot learn about the machine.
	Hostname string
	// Shared is for commands that keep something between calls, such as compiled programs.
	Shared sync.Map

	ctx      context.Context
	cancel   context.CancelFunc
	deadline time.Time
	started  time.Time
	failure  atomic.Pointer[error]
	ticks    atomic.Uint64
	memory   atomic.Int64
	output   atomic.Int64
	alive    atomic.Int64
	spawned  atomic.Int64
	ended    atomic.Int64 // jobs
	random   atomic.Uint64
	sources  sync.Map // of parsed code, by text
	jobs     sync.WaitGroup
}

// LimitError ends a run that used too much of something.
type LimitError struct {
	Where, What string
}

func (e *LimitError) Error() string {
	if e.Where == "" {
		return e.What
	}
	return e.Where + ": " + e.What
}

// stopped is the panic that ends a goroutine of a run that is over.
type stopped struct{}

// brokenPipe is the panic that a write to a pipe without readers causes, as the signal SIGPIPE does.
type brokenPipe struct{}

// killed is the panic that ends what another part of the script ended: by kill or timeout.
type killed struct{ signal int }

// killedBy is the panic for the signal that ended a context. A timeout sends SIGTERM.
func killedBy(ctx context.Context) killed {
	if signal, ok := context.Cause(ctx).(signalCause); ok {
		return killed{int(signal)}
	}
	return killed{15}
}

// NewWorld returns a world with no commands. seed makes $RANDOM.
func NewWorld(ctx context.Context, files *fs.FS, limits Limits, seed uint64, now func() time.Time) *World {
	w := &World{FS: files, Commands: map[string]Command{}, Checks: map[string]func([]string) error{}, Now: now, Limits: limits, Hostname: "boathook"}
	w.ctx, w.cancel = context.WithCancel(ctx)
	if deadline, ok := ctx.Deadline(); ok {
		w.deadline = deadline
	}
	w.started = now()
	w.random.Store(seed)
	files.AddDevice("/dev/urandom", randomDevice{w})
	files.AddDevice("/dev/random", randomDevice{w})
	return w
}

// randomDevice gives the run's random numbers as bytes.
type randomDevice struct{ world *World }

func (r randomDevice) Read(b []byte) (int, error) {
	for i := range b {
		b[i] = byte(r.world.Random() >> 56)
	}
	return len(b), nil
}

func (randomDevice) Write(b []byte) (int, error) { return len(b), nil }

// Fail ends the run: every shell and command of it stops at its next step.
func (w *World) Fail(err error) {
	w.failure.CompareAndSwap(nil, &err)
	w.cancel()
}

// Failure is the reason why the run ended early, if it did.
func (w *World) Failure() error {
	if err := w.failure.Load(); err != nil {
		return *err
	}
	return nil
}

// die ends the run and the calling goroutine.
func (w *World) die(err error) {
	w.Fail(err)
	panic(stopped{})
}

// tick is called for each step of a script or command. It ends the goroutine when the run is over. Without it, an
// endless loop could not be stopped, because goroutines of WebAssembly are not preempted.
func (w *World) tick() {
	if n := w.ticks.Add(1); n%128 == 0 {
		if n%1024 == 0 {
			runtime.Gosched()
		}
		w.checkTime()
	}
	if w.failure.Load() != nil {
		panic(stopped{})
	}
}

// checkTime ends the run when its time is over. It reads the clock, because the timer of a context does not fire while
// one goroutine of WebAssembly is busy.
func (w *World) checkTime() {
	if !w.deadline.IsZero() && time.Now().After(w.deadline) {
		w.die(&LimitError{What: "the run exceeds its time: look for a loop that does not end"})
	}
	if w.ctx.Err() != nil {
		w.die(&LimitError{What: "the run was stopped"})
	}
}

// Random returns the next number of the run's sequence (SplitMix64).
func (w *World) Random() uint64 {
	z := w.random.Add(0x9e3779b97f4a7c15)
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

// sizeText writes a limit.
func sizeText(n int64) string {
	if n >= 1<<20 {
		return fmt.Sprintf("%d MiB", n>>20)
	}
	return fmt.Sprintf("%d bytes", n)
}

// outputWriter bounds and forwards what a run prints.
type outputWriter struct {
	world *World
	mu    *sync.Mutex
	to    io.Writer
}

func (o *outputWriter) Write(b []byte) (int, error) {
	if o.world.output.Add(int64(len(b))) > o.world.Limits.Output {
		o.world.die(&LimitError{What: "the output of the run exceeds " + sizeText(o.world.Limits.Output) + ": print less"})
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.to.Write(b)
}

// Streams are the standard streams of a run.
type Streams struct {
	In       io.Reader
	Out, Err io.Writer
}

// Run runs a script file as `bash path args` does, and returns its exit status. The error says why the run ended early.
func (w *World) Run(path string, args, environment []string, dir string, streams Streams) (int, error) {
	return w.start(path, args, environment, dir, streams, func(s *Shell) int { return s.runScript(path) })
}

// RunText runs code as if it stood in a file.
func (w *World) RunText(path, code string, environment []string, dir string, streams Streams) (int, error) {
	return w.start(path, nil, environment, dir, streams, func(s *Shell) int { return s.runText(path, code) })
}

func (w *World) start(path string, args, environment []string, dir string, streams Streams, run func(*Shell) int) (int, error) {
	var mu sync.Mutex
	in := streams.In
	if in == nil {
		in = strings.NewReader("")
	}
	fds := map[int]*descriptor{
		0: newDescriptor(&openFile{reader: bufio.NewReader(in)}),
		1: newDescriptor(&openFile{writer: &outputWriter{w, &mu, streams.Out}}),
		2: newDescriptor(&openFile{writer: &outputWriter{w, &mu, streams.Err}}),
	}
	s := newShell(w, environment, dir, fds)
	s.arg0, s.params = path, args
	status := w.guard(func() int { return run(s) })
	s.closeAll()
	w.jobs.Wait()
	return status, w.Failure()
}

// guard runs a process and turns what ended it into an exit status.
func (w *World) guard(run func() int) (status int) {
	defer func() {
		switch reason := recover().(type) {
		case nil:
		case stopped:
			status = 137
		default:
			panic(reason)
		}
	}()
	return w.guardProcess(run)
}

// enter counts a process. It ends the run when there are too many.
func (w *World) enter() {
	if w.spawned.Add(1) > w.Limits.Spawned {
		w.die(&LimitError{What: fmt.Sprintf("the run starts more than %d commands and subshells: look for a loop that does not end", w.Limits.Spawned)})
	}
	if w.alive.Add(1) > int64(w.Limits.Processes) {
		w.alive.Add(-1)
		w.die(&LimitError{What: fmt.Sprintf("the run has more than %d commands and subshells at the same time: look for a function that calls itself", w.Limits.Processes)})
	}
}

func (w *World) leave() { w.alive.Add(-1) }
