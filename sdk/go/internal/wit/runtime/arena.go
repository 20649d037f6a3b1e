package runtime

// arena is memory that is handed out in order and taken back all at once. Its chunks come from outside, and never go back.
type arena struct {
	grow   func(size uintptr) uintptr
	chunks [maxChunks]chunk
	count  int
	at     position
	users  int
	begin  position
}

// chunk is memory from start up to end.
type chunk struct {
	start, end uintptr
}

// position is where the next piece comes from.
type position struct {
	chunk int
	next  uintptr
}

const (
	maxChunks = 64
	page      = 64 << 10
	// Chunks grow up to this size, so that there are few of them.
	largest = 1 << 20
)

// take hands out memory; 0 when there is none.
func (a *arena) take(size, align uintptr) uintptr {
	for {
		if a.at.chunk < a.count {
			if start := (a.at.next + align - 1) &^ (align - 1); start+size <= a.chunks[a.at.chunk].end {
				a.at.next = start + size
				return start
			}
			if a.at.chunk+1 < a.count {
				a.at = position{a.at.chunk + 1, a.chunks[a.at.chunk+1].start}
				continue
			}
		}
		if !a.add(size + align) {
			return 0
		}
	}
}

// add gets a chunk that has room for this much, and makes it the current one.
func (a *arena) add(least uintptr) bool {
	size := uintptr(page)
	if a.count > 0 {
		last := a.chunks[a.count-1]
		size = min(2*(last.end-last.start), largest)
	}
	size = (max(size, least) + page - 1) &^ (page - 1)
	start := a.grow(size)
	if start == 0 {
		// Perhaps there is less.
		size = (least + page - 1) &^ (page - 1)
		if start = a.grow(size); start == 0 {
			return false
		}
	}
	if a.count > 0 && a.chunks[a.count-1].end == start {
		a.chunks[a.count-1].end = start + size
		return true
	}
	// The last one is forgotten when there are too many.
	if a.count < maxChunks {
		a.count++
	}
	a.chunks[a.count-1] = chunk{start, start + size}
	a.at = position{a.count - 1, start}
	return true
}

// enter begins a call of the host, whose answer is read until leave.
func (a *arena) enter() {
	if a.users == 0 {
		a.begin = a.at
	}
	a.users++
}

// leave takes back what was handed out since the first enter, when nobody reads an answer any more.
func (a *arena) leave() {
	if a.users--; a.users > 0 {
		return
	}
	a.at = a.begin
	// It may lie in a chunk that was forgotten, or before the first.
	if current := a.chunks[a.at.chunk]; a.at.next < current.start || a.at.next > current.end {
		a.at.next = current.start
	}
}
