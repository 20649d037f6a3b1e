package runtime

import "testing"

// fake memory: pages that may lie one behind the other, with holes that others take.
func fake(limit uintptr) (*arena, *uintptr) {
	next := uintptr(page)
	return &arena{grow: func(size uintptr) uintptr {
		if next+size > limit {
			return 0
		}
		start := next
		next += size
		return start
	}}, &next
}

func TestPiecesDoNotOverlapAndAreAligned(t *testing.T) {
	a, next := fake(1 << 30)
	var ends uintptr
	for i := range uintptr(5000) {
		if i%97 == 0 {
			*next += 3 * page // somebody else grows the memory
		}
		align := uintptr(1) << (i % 4)
		at := a.take(i*7%3000, align)
		if at == 0 || at%align != 0 || at < ends {
			t.Fatalf("piece %d at %d, the one before ends at %d", i, at, ends)
		}
		ends = at + i*7%3000
	}
}

func TestWhatIsReadNoMoreIsHandedOutAgain(t *testing.T) {
	a, next := fake(1 << 30)
	kept := a.take(100, 8)
	for range 10_000 {
		a.enter()
		if at := a.take(50_000, 1); at < kept+100 {
			t.Fatalf("%d is in use", at)
		}
		a.take(3_000_000, 8)
		a.leave()
	}
	if *next > 16<<20 {
		t.Fatalf("%d bytes for one answer at a time", *next)
	}
}

func TestAnAnswerStaysWhileAnotherIsRead(t *testing.T) {
	a, _ := fake(1 << 30)
	a.enter()
	first := a.take(10, 1)
	a.enter()
	second := a.take(10, 1)
	a.leave()
	if third := a.take(10, 1); third == first || third == second {
		t.Fatal("it was read still")
	}
	a.leave()
	if again := a.take(10, 1); again != first {
		t.Fatalf("%d is free, and %d was handed out", first, again)
	}
}

func TestWithoutMemoryThereIsNoPiece(t *testing.T) {
	a, _ := fake(3 * page)
	if a.take(page, 1) == 0 {
		t.Fatal("there is memory")
	}
	if a.take(10*page, 1) != 0 {
		t.Fatal("there is none")
	}
}
