package bash

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"sync"

	"mvdan.cc/sh/v3/syntax"
)

// job is a command that runs in the background.
type job struct {
	pid    int
	done   chan struct{}
	status int
	inbox  *inbox
	// order is the place of the job among those that ended, and reported says that wait returned its status.
	order    int64
	reported bool
	// substitution says that it is a process substitution, for which `wait -n` does not wait.
	substitution bool
}

// keptJobs is how many jobs a shell remembers before it forgets those that it has waited for.
const keptJobs = 1024

// signalCause is why a shell ends that got a signal without a trap.
type signalCause int

func (signalCause) Error() string { return "signal" }

// inbox takes the signals that other shells of the run send to a shell.
type inbox struct {
	mu      sync.Mutex
	pending []int
	// trapped has the signals with a trap. They are ignored where it is empty.
	trapped map[int]bool
	// ends ends a job that has no trap for a signal. The script itself ends after its current command, as bash does.
	ends context.CancelCauseFunc
	// arrived interrupts wait.
	arrived chan struct{}
}

// send gives a signal to a shell.
func (i *inbox) send(number int) {
	i.mu.Lock()
	defer i.mu.Unlock()
	runs, trapped := i.trapped[number]
	trapped = trapped && number != 9
	switch {
	case number == 0, trapped && !runs, !trapped && ignoredSignals[signalName(number)]:
	case trapped || i.ends == nil:
		i.pending = append(i.pending, number)
		select {
		case i.arrived <- struct{}{}:
		default:
		}
	default:
		i.ends(signalCause(number))
	}
}

// setTrap says what the shell does with a signal: its trap runs, it is ignored, or neither.
func (i *inbox) setTrap(event, action string, set bool) {
	number, ok := signals[event]
	if !ok || i == nil {
		return
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	if !set {
		delete(i.trapped, number)
		return
	}
	if i.trapped == nil {
		i.trapped = map[int]bool{}
	}
	i.trapped[number] = action != ""
}

// untrapped is a signal that came and has no trap.
func (i *inbox) untrapped() (int, bool) {
	i.mu.Lock()
	defer i.mu.Unlock()
	for _, number := range i.pending {
		if !i.trapped[number] || number == 9 {
			return number, true
		}
	}
	return 0, false
}

// first is the signal that came first.
func (i *inbox) first() (int, bool) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if len(i.pending) == 0 {
		return 0, false
	}
	return i.pending[0], true
}

func (i *inbox) next() (int, bool) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if len(i.pending) == 0 {
		return 0, false
	}
	number := i.pending[0]
	i.pending = i.pending[1:]
	return number, true
}

// newInbox is the inbox of a shell with its traps.
func (s *Shell) newInbox(ends context.CancelCauseFunc) *inbox {
	i := &inbox{ends: ends, arrived: make(chan struct{}, 1)}
	for event, action := range s.traps {
		i.setTrap(event, action, true)
	}
	return i
}

// receive does what the signals want that came while a command ran.
func (s *Shell) receive() error {
	for s.inbox != nil {
		number, ok := s.inbox.next()
		if !ok {
			break
		}
		if err := s.signalSelf(number); err != nil {
			return err
		}
	}
	return nil
}

// dying ends the shell if a command substitution sent it a signal without a trap. A trap runs after the command.
func (s *Shell) dying() error {
	if s.inbox == nil {
		return nil
	}
	number, ok := s.inbox.untrapped()
	if !ok {
		return nil
	}
	return s.signalSelf(number)
}

// background runs a command beside the shell.
func (s *Shell) background(st *syntax.Stmt) error {
	child := s.subshell()
	child.options.monitor = false
	copied := *st
	copied.Background = false
	copied.Negated = false
	s.fork(child, &copied)
	if child.fds[0] != nil {
		// Without job control, what runs in the background reads nothing.
		if null, err := s.openPath("/dev/null", 0); err == nil {
			child.replace(0, null)
		}
	}
	// And it ignores an interrupt, which trap -p shows in a compound command.
	child.traps["INT"] = ""
	if _, simple := st.Cmd.(*syntax.CallExpr); !simple {
		inherited := map[string]string{}
		for event, action := range child.parentTraps {
			inherited[event] = action
		}
		inherited["INT"] = ""
		child.parentTraps = inherited
	}
	j := s.startJob(child)
	go s.runJob(j, child, func() error {
		if !st.Negated {
			return child.statement(&copied)
		}
		// bash forgets that it negates the status, and not that errexit and ERR ignore it.
		if child.options.errexit {
			child.quiet++
		}
		return child.redirected(&copied)
	})
	s.status = 0
	return nil
}

// fork says that a subshell is the process of this command. A break or continue that is the command itself still knows the loops
// around it.
func (s *Shell) fork(child *Shell, st *syntax.Stmt) {
	child.forked = st
	if _, ok := st.Cmd.(*syntax.CallExpr); ok {
		child.loops = s.loops
		if child.parentExit != "" {
			child.outsides = s.outside()
		}
	}
}

func (s *Shell) startJob(child *Shell) *job {
	ctx, cancel := context.WithCancelCause(s.ctx)
	child.ctx = ctx
	child.inbox = child.newInbox(cancel)
	j := &job{pid: child.pid, done: make(chan struct{}), inbox: child.inbox}
	if len(s.jobs) >= keptJobs {
		for pid, old := range s.jobs {
			if old.reported {
				delete(s.jobs, pid)
			}
		}
	}
	s.jobs[j.pid] = j
	s.lastJob = j.pid
	s.world.jobs.Add(1)
	return j
}

// runJob runs a job to its end. What the job started in turn goes on, so its context is not canceled.
func (s *Shell) runJob(j *job, child *Shell, run func() error) {
	defer s.world.jobs.Done()
	bell := s.bell
	j.status = s.world.guard(func() int { return s.process(child, run) })
	j.order = s.world.ended.Add(1)
	close(j.done)
	select {
	case bell <- struct{}{}:
	default:
	}
}

func (j *job) ended() bool {
	select {
	case <-j.done:
		return true
	default:
		return false
	}
}

// wait waits for one job, and returns its status. A signal with a trap ends it.
func (s *Shell) wait(j *job) int {
	var arrived chan struct{}
	if s.inbox != nil {
		arrived = s.inbox.arrived
	}
	for !j.ended() {
		select {
		case <-j.done:
		case <-arrived:
			if number, ok := s.inbox.first(); ok {
				return 128 + number
			}
		case <-s.ctx.Done():
			s.tick()
			<-j.done
		}
	}
	s.tick()
	j.reported = true
	return j.status
}

// waitAny waits for the next job that ends, of these or of all. Without one, it returns the status: a signal with a trap ends it.
func (s *Shell) waitAny(among []*job) (*job, int) {
	var arrived chan struct{}
	if s.inbox != nil {
		arrived = s.inbox.arrived
	}
	for {
		var first *job
		running := false
		for _, j := range among {
			switch {
			case j.reported:
			case !j.ended():
				running = true
			case first == nil || j.order < first.order:
				first = j
			}
		}
		if first != nil || !running {
			return first, 127
		}
		select {
		case <-s.bell:
		case <-arrived:
			if number, ok := s.inbox.first(); ok {
				return nil, 128 + number
			}
		case <-s.ctx.Done():
		}
		s.tick()
	}
}

func waitBuiltin(s *Shell, args []string) error {
	args = args[1:]
	next, into := false, ""
options:
	for len(args) > 0 && len(args[0]) > 1 && args[0][0] == '-' {
		arg := args[0]
		args = args[1:]
		if arg == "--" {
			break
		}
		for i := 1; i < len(arg); i++ {
			switch arg[i] {
			case 'n':
				next = true
			case 'f':
			case 'p':
				into = arg[i+1:]
				if into == "" {
					if len(args) == 0 {
						return s.usage(2, "wait: -p: option requires an argument")
					}
					into, args = args[0], args[1:]
				}
				if base, _, _ := splitSubscript(into); !validName(base) {
					return s.usage(1, "wait: `%s': not a valid identifier", into)
				}
				continue options
			default:
				return s.usage(2, "wait: -%c: invalid option", arg[i])
			}
		}
	}
	if into != "" {
		if err := s.unset(into); err != nil {
			return s.usage(1, "wait: %s", err)
		}
	}
	s.status = 0
	var among []*job
	for _, arg := range args {
		j, err := s.jobNamed(arg)
		if err != nil {
			return err
		}
		if j == nil {
			if !next {
				// The jobs before it are waited for.
				for _, before := range among {
					s.wait(before)
				}
				among = nil
			}
			continue
		}
		among = append(among, j)
	}
	switch {
	case next:
		if len(args) == 0 {
			for _, j := range s.jobs {
				if !j.substitution {
					among = append(among, j)
				}
			}
		}
		j, status := s.waitAny(among)
		if j == nil {
			return s.done(status)
		}
		j.reported = true
		s.status = j.status
		return s.waited(into, j)
	case len(args) == 0:
		for _, j := range s.jobs {
			if status := s.wait(j); !j.reported {
				return s.done(status)
			}
		}
		// bash forgets what it has waited for in this way.
		clear(s.jobs)
		return s.done(0)
	}
	for _, j := range among {
		status := s.wait(j)
		if !j.reported {
			// A signal ended it.
			return s.done(status)
		}
		if err := s.waited(into, j); err != nil {
			return err
		}
		s.status = status
	}
	return nil
}

// waited assigns the id of the job that ended.
func (s *Shell) waited(into string, j *job) error {
	if into == "" {
		return nil
	}
	return s.assignNamed(into, strconv.Itoa(j.pid))
}

// jobNamed finds the job with a process id. It is nil, with the status 127, where there is none.
func (s *Shell) jobNamed(arg string) (*job, error) {
	pid, err := strconv.Atoi(arg)
	if err != nil {
		if strings.HasPrefix(arg, "%") {
			return nil, &shellError{text: "wait: " + arg + ": jobs have no numbers here: use $!", status: 2}
		}
		s.complain("wait: `%s': not a pid or valid job spec", arg)
		s.status = 1
		return nil, nil
	}
	j := s.jobs[pid]
	if j == nil {
		s.complain("wait: pid %d is not a child of this shell", pid)
		s.status = 127
	}
	return j, nil
}

func killBuiltin(s *Shell, args []string) error {
	signal := 15
	args = args[1:]
	for len(args) > 0 && strings.HasPrefix(args[0], "-") {
		name := strings.TrimPrefix(args[0], "-")
		args = args[1:]
		if name == "-" {
			break
		}
		if name == "l" || name == "L" {
			return s.listSignals(args)
		}
		if (name == "s" || name == "n") && len(args) > 0 {
			name, args = args[0], args[1:]
		}
		n, ok := signalNumber(name)
		if !ok {
			return s.usage(1, "kill: %s: invalid signal specification", name)
		}
		signal = n
	}
	if len(args) == 0 {
		return s.usage(2, "kill: usage: kill [-s sigspec | -n signum | -sigspec] pid | jobspec ... or kill -l [sigspec]")
	}
	s.status = 0
	for _, arg := range args {
		pid, err := strconv.Atoi(arg)
		if err != nil && strings.HasPrefix(arg, "%") {
			return &shellError{text: "kill: " + arg + ": jobs have no numbers here: use $!", status: 2}
		}
		j := s.jobs[pid]
		switch {
		case err == nil && pid == s.pid:
			if err := s.signalSelf(signal); err != nil {
				return err
			}
		case err == nil && pid == s.processID:
			s.main.send(signal)
		case err != nil || j == nil || j.ended():
			s.complain("kill: (%s) - No such process", arg)
			s.status = 1
		default:
			j.inbox.send(signal)
		}
	}
	return nil
}

// listSignals is kill -l.
func (s *Shell) listSignals(args []string) error {
	if len(args) == 0 {
		return s.usage(2, "kill: -l without a signal is not supported")
	}
	s.status = 0
	for _, arg := range args {
		text := ""
		if n, err := strconv.Atoi(arg); err == nil {
			text = signalName(n & 127)
		} else if n, ok := signalNumber(arg); ok {
			text = strconv.Itoa(n)
		}
		if text == "" {
			s.complain("kill: %s: invalid signal specification", arg)
			s.status = 1
			continue
		}
		if err := s.print("kill", text+"\n"); err != nil || s.status != 0 {
			return err
		}
	}
	return nil
}

// reportSignal prints what ended a subshell, as bash does for a process that it waits for.
func (s *Shell) reportSignal(child *Shell) {
	texts := map[int]string{1: "Hangup", 3: "Quit", 6: "Aborted", 9: "Killed", 10: "User defined signal 1", 12: "User defined signal 2", 14: "Alarm clock", 15: "Terminated"}
	if text := texts[child.signaled-128]; text != "" {
		fmt.Fprintf(s.fds[2], "%s: %5d %s\n", s.where(), child.pid, text)
	}
}

func signalName(number int) string {
	for name, n := range signals {
		if n == number {
			return name
		}
	}
	return ""
}
