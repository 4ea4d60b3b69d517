// SPDX-License-Identifier: GPL-2.0-or-later
// Statics of Rust: the lock is the user's Mutex, not the futex word in it.
use std::io::Read;
use std::sync::atomic::{AtomicU32, AtomicU64};
use std::sync::{Condvar, Mutex, Once, RwLock};

pub struct Counts {
    pub hits: AtomicU64,
    pub misses: AtomicU32,
}

pub struct Table {
    pub pad: [u64; 3],
    pub lock: Mutex<u64>,
    pub rows: [Counts; 2],
    pub readers: RwLock<u8>,
    pub signal: Condvar,
    pub pair: (u32, AtomicU64),
}

pub enum Choice {
    #[allow(dead_code)]
    Few(AtomicU32),
    Many(AtomicU64, AtomicU64),
}

const fn counts() -> Counts {
    Counts { hits: AtomicU64::new(0), misses: AtomicU32::new(0) }
}

pub mod shop {
    use super::*;
    pub const TABLE_LINE: u32 = line!() + 1;
    pub static TABLE: Table = Table {
        pad: [0; 3],
        lock: Mutex::new(1),
        rows: [counts(), counts()],
        readers: RwLock::new(0),
        signal: Condvar::new(),
        pair: (7, AtomicU64::new(9)),
    };
}
const ALONE_LINE: u32 = line!() + 1;
static ALONE: Mutex<u32> = Mutex::new(0);
const ONCE_LINE: u32 = line!() + 1;
static ONCE: Once = Once::new();
const CHOICE_LINE: u32 = line!() + 1;
static CHOICE: Choice = Choice::Many(AtomicU64::new(1), AtomicU64::new(2));

fn show<T, U>(at: &T, object: &U, name: &str, path: &str, line: u32) {
    println!("data\t{:p}\t{:p}\t{}\t{}\t{}\t{}", at, object, name, name, path, line);
}

// Threads that wait for good, each on another kind of lock.
fn wait_on_all() {
    let t = &shop::TABLE;
    std::mem::forget(t.lock.lock());
    std::mem::forget(ALONE.lock());
    std::mem::forget(t.readers.write());
    std::thread::spawn(move || drop(t.lock.lock()));
    std::thread::spawn(|| drop(ALONE.lock()));
    std::thread::spawn(move || drop(t.readers.read()));
    std::thread::spawn(|| ONCE.call_once(|| loop {
        std::thread::sleep(std::time::Duration::from_secs(1))
    }));
    std::thread::spawn(|| {
        std::thread::sleep(std::time::Duration::from_millis(100));
        ONCE.call_once(|| ())
    });
    let own = Mutex::new(());
    std::thread::spawn(move || drop(t.signal.wait(own.lock().unwrap())));
}

fn main() {
    let t = &shop::TABLE;
    show(&t.pad[1], t, "rs::shop::TABLE", ".pad[1]", shop::TABLE_LINE);
    show(&t.rows[1].hits, t, "rs::shop::TABLE", ".rows[1].hits", shop::TABLE_LINE);
    show(&t.pair.0, t, "rs::shop::TABLE", ".pair.0", shop::TABLE_LINE);
    show(&t.pair.1, t, "rs::shop::TABLE", ".pair.1", shop::TABLE_LINE);
    println!("choice {:p} {}", &CHOICE, CHOICE_LINE);
    println!("lines {} {} {}", shop::TABLE_LINE, ALONE_LINE, ONCE_LINE);
    wait_on_all();
    println!("ready");
    let _ = std::io::stdin().read(&mut [0u8; 1]);
    std::process::exit(0);
}
