//! Ports for servers that are started again and again at the same address.
//! It never hands one out twice in a run.

use std::net::TcpListener;
use std::sync::atomic::{AtomicU16, Ordering};

/// Below the ports that systems assign to programs that request any free port.
const FIRST: u16 = 20_000;
const COUNT: u16 = 10_000;

/// A free port of the loopback address, which only those who name it can get.
pub fn port() -> u16 {
    static TAKEN: AtomicU16 = AtomicU16::new(0);
    let start = (std::process::id() % u32::from(COUNT)) as u16;
    (0..COUNT)
        .map(|_| FIRST + (start + TAKEN.fetch_add(1, Ordering::Relaxed)) % COUNT)
        .find(|port| TcpListener::bind(("127.0.0.1", *port)).is_ok())
        .expect("one of ten thousand ports is free")
}
