// SPDX-License-Identifier: GPL-2.0-or-later
// As code.c, in Rust: a lock of the library, generics, closures.
use std::io::Read;
use std::sync::Mutex;
use std::thread;

mod shop {
    use super::Mutex;

    pub struct Store<T> {
        pub puts: u64,
        pub last: T,
    }

    impl<T: Copy> Store<T> {
        #[inline(always)]
        pub fn put(&mut self, value: T) {
            self.puts += 1;
            self.last = value;
        }
    }

    pub static ORDERS: Mutex<Store<u64>> = Mutex::new(Store { puts: 0, last: 0 });

    #[inline(always)]
    pub fn insert(value: u64) -> u64 {
        let mut store = ORDERS.lock().unwrap();
        store.put(value);
        store.puts
    }

    #[inline(never)]
    pub fn settle(turns: u64) -> u64 {
        let mut all = 0;
        for i in 0..turns {
            all += insert(i);
        }
        all
    }
}

fn main() {
    let turns = std::env::args().count() as u64;
    let threads: Vec<_> = (0..2)
        .map(|_| {
            thread::spawn(move || {
                let mut all = 0;
                for i in 0..turns * 10 {
                    all += shop::insert(i);
                }
                all + shop::settle(turns)
            })
        })
        .collect();
    let sum: u64 = threads.into_iter().map(|t| t.join().unwrap()).sum();
    println!("ready");
    let _ = std::io::stdin().read(&mut [0u8]);
    std::process::exit((sum == 0) as i32);
}
