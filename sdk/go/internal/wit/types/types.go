// Package types has the shapes that the generated bindings give to WIT's own types.
//
// It knows nothing of how they are passed.
package types

// Unit is a result without a value.
type Unit struct{}

// Tags of an Option.
const (
	OptionNone = iota
	OptionSome
)

// Option is a value that may be absent.
type Option[T any] struct {
	some  bool
	value T
}

// Some is a value that is there.
func Some[T any](value T) Option[T] { return Option[T]{some: true, value: value} }

// None is no value.
func None[T any]() Option[T] { return Option[T]{} }

// Tag tells whether there is a value.
func (o Option[T]) Tag() uint8 {
	if o.some {
		return OptionSome
	}
	return OptionNone
}

// Some is the value; without one it panics.
func (o Option[T]) Some() T {
	if !o.some {
		panic("there is no value")
	}
	return o.value
}

// SomeOr is the value, or another one where there is none.
func (o Option[T]) SomeOr(other T) T {
	if o.some {
		return o.value
	}
	return other
}

// Tags of a Result.
const (
	ResultOk = iota
	ResultErr
)

// Result is a value or a failure.
type Result[T, E any] struct {
	failed bool
	ok     T
	err    E
}

// Ok is a value.
func Ok[T, E any](value T) Result[T, E] { return Result[T, E]{ok: value} }

// Err is a failure.
func Err[T, E any](failure E) Result[T, E] { return Result[T, E]{failed: true, err: failure} }

// Tag tells which of the two it is.
func (r Result[T, E]) Tag() uint8 {
	if r.failed {
		return ResultErr
	}
	return ResultOk
}

// IsErr tells whether it is a failure.
func (r Result[T, E]) IsErr() bool { return r.failed }

// Ok is the value; of a failure it panics.
func (r Result[T, E]) Ok() T {
	if r.failed {
		panic("there is no value, but a failure")
	}
	return r.ok
}

// Err is the failure; of a value it panics.
func (r Result[T, E]) Err() E {
	if !r.failed {
		panic("there is no failure, but a value")
	}
	return r.err
}

// Tuple2 is two values.
type Tuple2[A, B any] struct {
	F0 A
	F1 B
}
