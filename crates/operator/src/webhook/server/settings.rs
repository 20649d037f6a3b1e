//! The server's limits and their defaults.

use std::time::Duration;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// The maximum size of a body in bytes; 8 MiB. The API server sends objects of up to about 3 MiB, two at a time.
    pub body: usize,
    /// The maximum size of all bodies under way in bytes; 64 MiB.
    pub bodies: usize,
    /// How long a body may take to arrive if others need its bytes; 1 s. A body from the API server takes milliseconds.
    pub slow: Duration,
    /// The maximum number of connections; 1024. If one more arrives, the one that has been idle for longest closes.
    /// Connections without any request close first.
    pub connections: usize,
    /// The maximum number of requests that are answered at a time; 64.
    pub questions: usize,
    /// The maximum number of these for one hook; 32. Four times as many may wait for their turn.
    pub questions_of_one: usize,
    /// The maximum number of patches of objects over 64 KiB that are made at a time; 4. Each takes many times its
    /// object's memory.
    pub large_patches: usize,
    /// How long a TLS handshake may take; 5 s.
    pub handshake: Duration,
    /// How long a request's head may take to arrive, and the first request after the handshake; 10 s.
    pub head: Duration,
    /// How long a connection may be without a request; 2 min.
    pub idle: Duration,
    /// The API server's timeout if a request does not contain it; 10 s.
    pub patience: Duration,
    /// How long a shutdown waits for answers under way; 10 s.
    pub grace: Duration,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            body: 8 << 20,
            bodies: 64 << 20,
            slow: Duration::from_secs(1),
            connections: 1024,
            questions: 64,
            questions_of_one: 32,
            large_patches: 4,
            handshake: Duration::from_secs(5),
            head: Duration::from_secs(10),
            idle: Duration::from_secs(120),
            patience: Duration::from_secs(10),
            grace: Duration::from_secs(10),
        }
    }
}
