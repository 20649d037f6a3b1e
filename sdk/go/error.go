package boathook

import "time"

// Permanent is an error after which the run is not repeated: its triggers are given up.
func Permanent(err error) error {
	if err == nil {
		return nil
	}
	return &permanent{err}
}

// RetryAfter is an error after which the run is repeated when this time has passed, in place of the hook's back-off.
func RetryAfter(delay time.Duration, err error) error {
	if err == nil {
		return nil
	}
	return &later{err, delay}
}

// Retry is an error after which the run is repeated, also where it would be permanent otherwise, as a call that is
// forbidden.
func Retry(err error) error {
	if err == nil {
		return nil
	}
	return &again{err}
}

type permanent struct{ err error }

func (p *permanent) Error() string { return p.err.Error() }
func (p *permanent) Unwrap() error { return p.err }

// Permanent is always true.
func (p *permanent) Permanent() bool { return true }

type again struct{ err error }

func (a *again) Error() string { return a.err.Error() }

// Permanent is never true: what it wraps is not asked any more.
func (a *again) Permanent() bool { return false }

func (a *again) Unwrap() error { return a.err }

type later struct {
	err   error
	delay time.Duration
}

func (l *later) Error() string        { return l.err.Error() }
func (l *later) Unwrap() error        { return l.err }
func (l *later) Delay() time.Duration { return l.delay }
