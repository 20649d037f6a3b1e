package main

import "unsafe"

// What the host hands over lies outside of Go's heap: Go's heap reads the clock when it grows, and the host cannot answer at that
// moment. It stays until the instance ends, which renders one chart.

// sbrk is the runtime's own way to grow the memory. If we grew it, its heap would use our pieces.
//
//go:linkname sbrk runtime.sbrk
func sbrk(size uintptr) unsafe.Pointer

const page = 64 << 10

// next is the first free byte, and end the first byte that is not ours.
var next, end uintptr

//go:wasmexport cabi_realloc
func cabiRealloc(old unsafe.Pointer, oldSize, align, size uintptr) uintptr {
	piece := (next + align - 1) &^ (align - 1)
	if piece+size > end || next == 0 {
		wanted := (size + align + page - 1) &^ (page - 1)
		start := uintptr(sbrk(wanted))
		if start == 0 {
			return 0
		}
		if start != end {
			piece = (start + align - 1) &^ (align - 1)
		}
		end = start + wanted
	}
	next = piece + size
	if oldSize > 0 {
		copy(unsafe.Slice((*byte)(unsafe.Pointer(piece)), size), unsafe.Slice((*byte)(old), oldSize))
	}
	return piece
}
