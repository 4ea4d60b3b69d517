// SPDX-License-Identifier: GPL-2.0-or-later
//! The shapes of shapes.c in Rust: see there.
//!
//!	shapes SHAPE hot|control SECONDS

use std::hint::black_box;
use std::ptr::addr_of_mut;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release, SeqCst};
use std::sync::atomic::{compiler_fence, AtomicU64};
use std::time::{Duration, Instant};

const ROUNDS: u64 = 2000;

#[repr(C, align(128))]
struct Area {
    hits: u64,
    misses: u64,
    flag: AtomicU64,
    word: AtomicU64,
}

const fn area() -> Area {
    Area { hits: 0, misses: 0, flag: AtomicU64::new(0), word: AtomicU64::new(0) }
}

static mut SHARED: Area = area();
static mut OWN: [Area; 2] = [area(), area()];
static mut CONTROL: [Area; 2] = [area(), area()];

/// What a thread works with; `shared` is its own memory in the control.
#[repr(C, align(128))]
struct Hand {
    shared: *mut Area,
    own: *mut Area,
    seed: u64,
    sum: u64,
    id: u64,
    hot: bool,
}

impl Hand {
    fn random(&mut self) -> u64 {
        self.seed = self.seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        self.seed >> 33
    }
}

fn meet() {
    compiler_fence(SeqCst);
}

unsafe fn bump(p: *mut u64, by: u64) {
    p.write_volatile(p.read_volatile().wrapping_add(by));
}

unsafe fn word(a: *mut Area) -> *mut u64 {
    addr_of_mut!((*a).word) as *mut u64
}

#[inline(never)]
unsafe fn arms(h: &mut Hand, n: u64) {
    let which = if h.hot { h.id } else { 2 };
    for _ in 0..n {
        h.sum = h.sum.wrapping_add(h.random());
        match which {
            1 => bump(addr_of_mut!(SHARED.misses), h.sum | 1),
            0 => bump(addr_of_mut!(SHARED.hits), h.sum | 1),
            _ => bump(word(h.own), h.sum | 1),
        }
        meet();
    }
}

#[inline(never)]
unsafe fn two_arms(h: &mut Hand, n: u64) {
    let s = h.shared;
    for _ in 0..n {
        if h.random() & 1 == 1 {
            bump(addr_of_mut!((*s).misses), 1);
        } else {
            bump(addr_of_mut!((*s).hits), 1);
        }
        meet();
    }
}

#[inline(never)]
unsafe fn flag(h: &mut Hand, n: u64) {
    let f = &(*h.shared).flag;
    if h.id == 1 {
        for i in 0..n {
            f.store(i, Relaxed);
        }
    } else {
        for _ in 0..n {
            if f.load(Relaxed) == 77777777 {
                h.sum += 1;
            }
        }
    }
}

#[inline(never)]
unsafe fn handshake(h: &mut Hand, n: u64) {
    let f = &(*h.shared).flag;
    for _ in 0..n {
        let mut k = 0;
        while k < 50 && f.load(Relaxed) & 1 != h.id {
            k += 1;
        }
        f.store(f.load(Relaxed).wrapping_add(1), Relaxed);
    }
}

#[inline(never)]
unsafe fn add(h: &mut Hand, n: u64) {
    for _ in 0..n {
        (*h.shared).word.fetch_add(1, SeqCst);
    }
}

#[inline(never)]
unsafe fn ticket(h: &mut Hand, n: u64) {
    for _ in 0..n {
        h.sum ^= (*h.shared).word.fetch_add(1, SeqCst);
    }
}

#[inline(never)]
unsafe fn swap(h: &mut Hand, n: u64) {
    let p = &(*h.shared).word;
    for _ in 0..n {
        let mut old = p.load(Relaxed);
        while let Err(now) = p.compare_exchange(old, old.wrapping_add(3), SeqCst, Relaxed) {
            old = now;
        }
    }
}

#[inline(never)]
unsafe fn spin(h: &mut Hand, n: u64) {
    let s = h.shared;
    for _ in 0..n {
        while (*s).flag.swap(1, Acquire) != 0 {
            while (*s).flag.load(Relaxed) != 0 {}
        }
        bump(word(s), 1);
        (*s).flag.store(0, Release);
    }
}

#[inline(never)]
unsafe fn choose(h: &mut Hand, n: u64) {
    let s = h.shared;
    for i in 0..n {
        match h.random() % 5 {
            0 => bump(addr_of_mut!((*s).hits), 1),
            1 => bump(addr_of_mut!((*s).misses), 2),
            2 => bump(addr_of_mut!((*s).flag) as *mut u64, i),
            3 => bump(word(h.own), 1),
            _ => bump(word(s), 3),
        }
        meet();
    }
}

#[inline(never)]
unsafe fn count(h: &mut Hand, n: u64) {
    let mine = if h.id == 1 { addr_of_mut!((*h.shared).misses) } else { addr_of_mut!((*h.shared).hits) };
    for _ in 0..n {
        bump(mine, 1);
        meet();
    }
}

#[inline(never)]
unsafe fn rare(h: &mut Hand, n: u64) {
    for i in 0..n {
        let by = h.random();
        bump(word(h.own), by);
        if i & 7 == 0 {
            bump(addr_of_mut!((*h.shared).hits), 1);
        }
        meet();
    }
}

#[inline(never)]
unsafe fn called(p: *mut u64) {
    bump(p, 1);
}

#[inline(never)]
unsafe fn call(h: &mut Hand, n: u64) {
    for _ in 0..n {
        called(if h.id == 1 { addr_of_mut!((*h.shared).misses) } else { addr_of_mut!((*h.shared).hits) });
        meet();
    }
}

#[inline(never)]
unsafe fn look_up(s: *mut Area, at: u64) -> u64 {
    if at & 1 == 1 {
        bump(addr_of_mut!((*s).hits), 1);
        return 1;
    }
    bump(addr_of_mut!((*s).misses), 1);
    0
}

#[inline(never)]
unsafe fn leave(h: &mut Hand, n: u64) {
    for _ in 0..n {
        let at = h.random();
        h.sum = h.sum.wrapping_add(look_up(h.shared, at));
    }
}

#[inline(never)]
unsafe fn refs(h: &mut Hand, n: u64) {
    let p = &(*h.shared).word;
    for _ in 0..n {
        p.fetch_add(1, Relaxed);
        if p.fetch_sub(1, AcqRel) == 1 {
            h.sum += 1;
        }
    }
}

#[inline(never)]
unsafe fn queue(h: &mut Hand, n: u64) {
    let head = addr_of_mut!((*h.shared).hits);
    let tail = addr_of_mut!((*h.shared).misses);
    for _ in 0..n {
        if h.id == 1 {
            if head.read_volatile().wrapping_sub(tail.read_volatile()) < 16 {
                bump(head, 1);
            }
        } else if tail.read_volatile() != head.read_volatile() {
            bump(tail, 1);
        }
    }
}

#[inline(never)]
unsafe fn seq(h: &mut Hand, n: u64) {
    let s = h.shared;
    for i in 0..n {
        if h.id == 1 {
            (*s).flag.fetch_add(1, Release);
            (*s).word.store(i, Relaxed);
            (*s).flag.fetch_add(1, Release);
            continue;
        }
        loop {
            let before = (*s).flag.load(Acquire);
            h.sum = h.sum.wrapping_add((*s).word.load(Relaxed));
            if before == (*s).flag.load(Acquire) || h.sum & 15 == 0 {
                break;
            }
        }
    }
}

#[inline(never)]
unsafe fn nest(h: &mut Hand, n: u64) {
    for _ in 0..n {
        let mut k = h.random() & 3;
        while k > 0 {
            bump(addr_of_mut!((*h.shared).hits), k);
            meet();
            k -= 1;
        }
    }
}

type Shape = unsafe fn(&mut Hand, u64);
const SHAPES: [(&str, Shape); 17] = [
    ("arms", arms), ("two_arms", two_arms), ("flag", flag), ("handshake", handshake),
    ("add", add), ("ticket", ticket), ("swap", swap), ("spin", spin), ("choose", choose),
    ("count", count), ("rare", rare), ("call", call), ("leave", leave), ("refs", refs),
    ("queue", queue), ("seq", seq), ("nest", nest),
];

extern "C" {
    fn sched_setaffinity(pid: i32, bytes: usize, set: *const u64) -> i32;
    fn clock_gettime(clock: i32, ts: *mut [i64; 2]) -> i32;
}

fn cpu_ns() -> i64 {
    let mut ts = [0i64; 2];
    unsafe { clock_gettime(3, &mut ts) }; // CLOCK_THREAD_CPUTIME_ID
    ts[0] * 1_000_000_000 + ts[1]
}

fn work(id: usize, shape: Shape, hot: bool, end: Instant) -> (u64, i64) {
    let set = 1u64 << id;
    let mut ops = 0;
    unsafe {
        sched_setaffinity(0, 8, &set); // one CPU: both run on it, and say so
        let mut h = Hand {
            shared: if hot { addr_of_mut!(SHARED) } else { addr_of_mut!(CONTROL[id]) },
            own: addr_of_mut!(OWN[id]),
            seed: 12345 + id as u64,
            sum: 0,
            id: id as u64,
            hot,
        };
        while Instant::now() < end {
            shape(&mut h, black_box(ROUNDS));
            ops += ROUNDS;
        }
        black_box(h.sum);
    }
    (ops, cpu_ns())
}

fn main() {
    let args: Vec<String> = std::env::args().collect();
    let found = args.get(1).and_then(|a| SHAPES.iter().find(|s| s.0 == a));
    let shape = match found {
        Some(&(_, shape)) if args.len() == 4 => shape,
        _ => {
            eprintln!("usage: shapes SHAPE hot|control SECONDS");
            std::process::exit(2);
        }
    };
    let hot = args[2] == "hot";
    let end = Instant::now() + Duration::from_secs_f64(args[3].parse().unwrap());
    let line = unsafe { addr_of_mut!(SHARED) };
    println!("{{\"pid\":{},\"line\":\"{:p}\"}}", std::process::id(), line);
    let threads: Vec<_> =
        (0..2).map(|id| std::thread::spawn(move || work(id, shape, hot, end))).collect();
    let did: Vec<_> = threads.into_iter().map(|t| t.join().unwrap()).collect();
    println!("{{\"ops\":[{},{}],\"cpu_ns\":[{},{}]}}", did[0].0, did[1].0, did[0].1, did[1].1);
}
