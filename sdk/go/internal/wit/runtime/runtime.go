// Package runtime is what the generated bindings need of memory and handles.
//
// It never uses the Go heap for what the host hands over: the host does that while the hook may call nobody, and Go's
// heap, when it grows, reads the clock.
package runtime

import (
	"runtime"
	"unsafe"
)

// Handle is a resource of the host's, or none any more.
type Handle struct {
	value int32
}

// MakeHandle takes over a resource.
func MakeHandle(value int32) *Handle { return &Handle{value} }

// Use is the resource, which stays ours.
func (h *Handle) Use() int32 {
	if h.value == 0 {
		panic("the snapshot is closed")
	}
	return h.value
}

// Take gives the resource away.
func (h *Handle) Take() int32 {
	value := h.Use()
	h.value = 0
	return value
}

// TakeOrNil gives the resource away, or nothing where it is gone.
func (h *Handle) TakeOrNil() int32 {
	value := h.value
	h.value = 0
	return value
}

// Set takes over a resource.
func (h *Handle) Set(value int32) { h.value = value }

// Allocate gives memory that does not move until it is unpinned, of any alignment that bindings need.
func Allocate(pinner *runtime.Pinner, size, _ uintptr) unsafe.Pointer {
	if size == 0 {
		return nil
	}
	pointer := unsafe.Pointer(unsafe.SliceData(make([]uint64, (size+7)/8)))
	pinner.Pin(pointer)
	return pointer
}

// Unpin would free what the host handed over for a call of the hook; the hook reads it as long as it runs.
func Unpin() {}
