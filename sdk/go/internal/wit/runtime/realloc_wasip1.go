package runtime

import (
	// For go:linkname.
	"unsafe"
)

// The runtime's own way to grow the memory: growing it ourselves would lead its heap into our pieces.
//
//go:linkname sbrk runtime.sbrk
func sbrk(size uintptr) unsafe.Pointer

// Before Go's start-up has run, too: the first pieces are asked for by the adapter of WASI.
var pieces = arena{grow: func(size uintptr) uintptr { return uintptr(sbrk(size)) }}

// Enter begins a call of the host.
func Enter() { pieces.enter() }

// Leave ends it: texts of the answer may no more be read.
func Leave() { pieces.leave() }

//go:wasmexport cabi_realloc
func cabiRealloc(old unsafe.Pointer, oldSize, align, size uintptr) uintptr {
	piece := pieces.take(size, align)
	if piece != 0 && oldSize > 0 {
		copy(unsafe.Slice((*byte)(unsafe.Pointer(piece)), size), unsafe.Slice((*byte)(old), oldSize))
	}
	return piece
}
