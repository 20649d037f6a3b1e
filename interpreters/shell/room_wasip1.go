package main

import (
	"runtime"
	"runtime/debug"
	"unsafe"
)

// A run writes to few pages if its objects lie together. After a collection, Go puts new objects into gaps between old ones,
// and each size of objects has gaps elsewhere. Each page that a run is the first to write costs a fault and a copy, and the
// host resets what was written only if it is in few pieces. So the gaps are filled here, with objects that nobody uses: a
// collection in a run removes them. The objects of a run then lie behind all others.

// large is the size of an object that has no gap among others.
const large = 512 << 10

// page is a unit of Go's heap.
const page = 8 << 10

// sink keeps the compiler from leaving out what nobody uses.
var sink unsafe.Pointer

// settle fills the gaps for objects of these sizes.
func settle(sizes []uintptr) {
	debug.SetGCPercent(-1)
	runtime.GC()
	end := place(large, false)
	for place(page, false) < end {
	}
	// Pages of small objects with pointers are written at their end, too. So they come first, and have no gaps.
	fill := func(pointers bool, size uintptr) {
		for place(size, pointers) < end {
		}
	}
	for _, size := range sizes {
		if size <= small {
			fill(true, size)
		}
	}
	for _, size := range sizes {
		if size > small {
			fill(true, size)
		}
		// Go puts smaller ones together.
		if size >= 16 {
			fill(false, size)
		}
	}
	sink = nil
}

// sizesOf are the sizes of the small objects that calling work makes.
func sizesOf(work func()) []uintptr {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	work()
	runtime.ReadMemStats(&after)
	var sizes []uintptr
	for i, class := range after.BySize {
		if class.Size > 0 && class.Size < page && class.Mallocs > before.BySize[i].Mallocs {
			sizes = append(sizes, uintptr(class.Size))
		}
	}
	return sizes
}

// header is what Go puts before an object with pointers, if the object is larger than small.
const (
	header = 8
	small  = 512
)

// place makes an object of this size, and says where it is.
func place(size uintptr, pointers bool) uintptr {
	switch {
	case !pointers:
		sink = unsafe.Pointer(unsafe.SliceData(make([]byte, size)))
	case size > small:
		sink = unsafe.Pointer(unsafe.SliceData(make([]unsafe.Pointer, (size-header)/unsafe.Sizeof(sink))))
	default:
		sink = unsafe.Pointer(unsafe.SliceData(make([]unsafe.Pointer, size/unsafe.Sizeof(sink))))
	}
	return uintptr(sink)
}
