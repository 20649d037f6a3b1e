package bash

import (
	"context"

	"mvdan.cc/sh/v3/syntax"
)

// job is a command that runs in the background.
type job struct {
	pid    int
	done   chan struct{}
	status int
	cancel context.CancelFunc
}

// background runs a command beside the shell.
func (s *Shell) background(st *syntax.Stmt) error {
	child := s.subshell()
	child.options.monitor = false
	copied := *st
	copied.Background = false
	if child.fds[0] != nil {
		// Without job control, what runs in the background reads nothing.
		if null, err := s.openPath("/dev/null", 0); err == nil {
			child.replace(0, null)
		}
	}
	ctx, cancel := context.WithCancel(s.ctx)
	child.ctx = ctx
	j := &job{pid: child.pid, done: make(chan struct{}), cancel: cancel}
	s.jobs[j.pid] = j
	s.lastJob = j.pid
	s.world.jobs.Add(1)
	go func() {
		defer s.world.jobs.Done()
		j.status = s.world.guard(func() int {
			return s.process(child, func() error { return child.statement(&copied) })
		})
		// What the job started in turn goes on, so its context is not canceled.
		close(j.done)
	}()
	s.status = 0
	return nil
}

// wait waits for one job, and returns its status.
func (s *Shell) wait(j *job) int {
	select {
	case <-j.done:
	case <-s.world.ctx.Done():
		<-j.done
	}
	s.world.tick()
	delete(s.jobs, j.pid)
	return j.status
}
