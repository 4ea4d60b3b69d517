// SPDX-License-Identifier: GPL-2.0-or-later

// The shapes of shapes.c in Go: see there.
//
//	shapes SHAPE hot|control SECONDS
package main

import (
	"fmt"
	"os"
	"runtime"
	"strconv"
	"sync/atomic"
	"syscall"
	"time"
	"unsafe"
)

const rounds = 2000

type area struct {
	hits, misses uint64
	flag, word   uint64
	_            [96]byte
}

// What a thread works with; shared is its own memory in the control.
type hand struct {
	shared, own *area
	seed, sum   uint64
	id          uint64
	hot         bool
	_           [128]byte
}

// Room to begin on a line of its own.
var memory [8]area

func at(k int) *area {
	base := (uintptr(unsafe.Pointer(&memory[0])) + 127) &^ 127
	return (*area)(unsafe.Pointer(base + uintptr(k)*unsafe.Sizeof(area{})))
}

var shared = at(0)

func (h *hand) random() uint64 {
	h.seed = h.seed*6364136223846793005 + 1442695040888963407
	return h.seed >> 33
}

//go:noinline
func arms(h *hand, n uint64) {
	which := h.id
	if !h.hot {
		which = 2
	}
	s := shared
	for ; n > 0; n-- {
		h.sum += h.random()
		if which == 1 {
			s.misses += h.sum | 1
		} else if which == 0 {
			s.hits += h.sum | 1
		} else {
			h.own.word += h.sum | 1
		}
	}
}

//go:noinline
func twoArms(h *hand, n uint64) {
	s := h.shared
	for ; n > 0; n-- {
		if h.random()&1 == 1 {
			s.misses++
		} else {
			s.hits++
		}
	}
}

//go:noinline
func flag(h *hand, n uint64) {
	f := &h.shared.flag
	if h.id == 1 {
		for ; n > 0; n-- {
			atomic.StoreUint64(f, n)
		}
		return
	}
	for ; n > 0; n-- {
		if atomic.LoadUint64(f) == 77777777 {
			h.sum++
		}
	}
}

//go:noinline
func handshake(h *hand, n uint64) {
	f := &h.shared.flag
	for ; n > 0; n-- {
		for k := 0; k < 50 && atomic.LoadUint64(f)&1 != h.id; k++ {
		}
		atomic.StoreUint64(f, atomic.LoadUint64(f)+1)
	}
}

//go:noinline
func add(h *hand, n uint64) {
	for i := uint64(0); i < n; i++ {
		atomic.AddUint64(&h.shared.word, 1)
	}
}

//go:noinline
func ticket(h *hand, n uint64) {
	for i := uint64(0); i < n; i++ {
		h.sum ^= atomic.AddUint64(&h.shared.word, 1)
	}
}

//go:noinline
func swap(h *hand, n uint64) {
	p := &h.shared.word
	for ; n > 0; n-- {
		for {
			old := atomic.LoadUint64(p)
			if atomic.CompareAndSwapUint64(p, old, old+3) {
				break
			}
		}
	}
}

//go:noinline
func spin(h *hand, n uint64) {
	s := h.shared
	for ; n > 0; n-- {
		for atomic.SwapUint64(&s.flag, 1) != 0 {
			for atomic.LoadUint64(&s.flag) != 0 {
			}
		}
		s.word++
		atomic.StoreUint64(&s.flag, 0)
	}
}

//go:noinline
func choose(h *hand, n uint64) {
	s := h.shared
	for ; n > 0; n-- {
		switch h.random() % 5 {
		case 0:
			s.hits++
		case 1:
			s.misses += 2
		case 2:
			s.flag ^= n
		case 3:
			h.own.word++
		default:
			s.word -= 3
		}
	}
}

//go:noinline
func count(h *hand, n uint64) {
	mine := &h.shared.hits
	if h.id == 1 {
		mine = &h.shared.misses
	}
	for i := uint64(0); i < n; i++ {
		*mine++
	}
}

// An array of counters, one of each thread: what Go programs have.
//
//go:noinline
func array(h *hand, n uint64) {
	counters := (*[4]uint64)(unsafe.Pointer(h.shared))
	for i := uint64(0); i < n; i++ {
		atomic.AddUint64(&counters[h.id], 1)
	}
}

//go:noinline
func rare(h *hand, n uint64) {
	for ; n > 0; n-- {
		h.own.word += h.random()
		if n&7 == 0 {
			h.shared.hits++
		}
	}
}

//go:noinline
func bump(p *uint64) {
	*p++
}

//go:noinline
func call(h *hand, n uint64) {
	for ; n > 0; n-- {
		if h.id == 1 {
			bump(&h.shared.misses)
		} else {
			bump(&h.shared.hits)
		}
	}
}

//go:noinline
func lookUp(s *area, at uint64) uint64 {
	if at&1 == 1 {
		s.hits++
		return 1
	}
	s.misses++
	return 0
}

//go:noinline
func leave(h *hand, n uint64) {
	for ; n > 0; n-- {
		h.sum += lookUp(h.shared, h.random())
	}
}

//go:noinline
func refs(h *hand, n uint64) {
	p := &h.shared.word
	for ; n > 0; n-- {
		atomic.AddUint64(p, 1)
		if atomic.AddUint64(p, ^uint64(0)) == 0 {
			h.sum++
		}
	}
}

//go:noinline
func queue(h *hand, n uint64) {
	head, tail := &h.shared.hits, &h.shared.misses
	for ; n > 0; n-- {
		if h.id == 1 {
			if atomic.LoadUint64(head)-atomic.LoadUint64(tail) < 16 {
				atomic.StoreUint64(head, *head+1)
			}
		} else if atomic.LoadUint64(tail) != atomic.LoadUint64(head) {
			atomic.StoreUint64(tail, *tail+1)
		}
	}
}

//go:noinline
func seq(h *hand, n uint64) {
	s := h.shared
	for ; n > 0; n-- {
		if h.id == 1 {
			atomic.AddUint64(&s.flag, 1)
			atomic.StoreUint64(&s.word, n)
			atomic.AddUint64(&s.flag, 1)
			continue
		}
		for {
			before := atomic.LoadUint64(&s.flag)
			h.sum += atomic.LoadUint64(&s.word)
			if before == atomic.LoadUint64(&s.flag) || h.sum&15 == 0 {
				break
			}
		}
	}
}

//go:noinline
func nest(h *hand, n uint64) {
	for ; n > 0; n-- {
		for k := h.random() & 3; k > 0; k-- {
			h.shared.hits += k
		}
	}
}

var shapes = map[string]func(*hand, uint64){
	"arms": arms, "two_arms": twoArms, "flag": flag, "handshake": handshake, "add": add,
	"ticket": ticket, "swap": swap, "spin": spin, "choose": choose, "count": count,
	"array": array, "rare": rare, "call": call, "leave": leave, "refs": refs, "queue": queue,
	"seq": seq, "nest": nest,
}

type result struct{ ops, cpuNs uint64 }

func work(id int, shape func(*hand, uint64), hot bool, end time.Time, done chan result) {
	runtime.LockOSThread()
	set := uint64(1) << id // one CPU: both run on it, and say so
	syscall.RawSyscall(syscall.SYS_SCHED_SETAFFINITY, 0, 8, uintptr(unsafe.Pointer(&set)))
	h := &hand{shared: at(1 + id), own: at(3 + id), seed: 12345 + uint64(id), id: uint64(id), hot: hot}
	if hot {
		h.shared = shared
	}
	var r result
	for time.Now().Before(end) {
		shape(h, rounds)
		r.ops += rounds
	}
	var ts syscall.Timespec
	syscall.RawSyscall(syscall.SYS_CLOCK_GETTIME, 3, uintptr(unsafe.Pointer(&ts)), 0)
	r.cpuNs = uint64(ts.Nano())
	done <- r
}

func main() {
	var shape func(*hand, uint64)
	if len(os.Args) == 4 {
		shape = shapes[os.Args[1]]
	}
	if shape == nil {
		fmt.Fprintln(os.Stderr, "usage: shapes SHAPE hot|control SECONDS")
		os.Exit(2)
	}
	seconds, err := strconv.ParseFloat(os.Args[3], 64)
	if err != nil {
		os.Exit(2)
	}
	fmt.Printf("{\"pid\":%d,\"line\":\"%p\"}\n", os.Getpid(), shared)
	end := time.Now().Add(time.Duration(seconds * 1e9))
	var done [2]chan result
	for id := range done {
		done[id] = make(chan result)
		go work(id, shape, os.Args[2] == "hot", end, done[id])
	}
	a, b := <-done[0], <-done[1]
	fmt.Printf("{\"ops\":[%d,%d],\"cpu_ns\":[%d,%d]}\n", a.ops, b.ops, a.cpuNs, b.cpuNs)
}
