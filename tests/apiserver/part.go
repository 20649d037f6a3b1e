package main

import (
	"context"
	"time"

	"k8s.io/klog/v2"
)

// part is something that runs until it is stopped: kube-apiserver, the controllers.
type part struct {
	name   string
	cancel context.CancelFunc
	// done receives the result of the part, once.
	done chan error
}

// startPart runs f in the background with a context of its own, so that parts can be stopped
// one after the other.
func startPart(name string, f func(context.Context) error) *part {
	ctx, cancel := context.WithCancel(context.Background())
	p := &part{name: name, cancel: cancel, done: make(chan error, 1)}
	go func() { p.done <- f(ctx) }()
	return p
}

// stop ends the part and waits for that, but not for ever.
func (p *part) stop() {
	p.cancel()
	select {
	case <-p.done:
	case <-time.After(stopTimeout):
		klog.Infof("%s has not stopped within %s and is left behind", p.name, stopTimeout)
	}
}

// ended is the channel of the result; a part that was never started never ends.
func (p *part) ended() <-chan error {
	if p == nil {
		return nil
	}
	return p.done
}
