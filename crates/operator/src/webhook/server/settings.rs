//! The server's bounds and their defaults.
//!
//! Never reads flags or files.

use std::time::Duration;

/// How much, how many, how long.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// The largest body in bytes; 8 MiB. The API server sends objects of up to about 3 MiB, two at a time.
    pub body: usize,
    /// What all bodies under way may have together, in bytes; 64 MiB.
    pub bodies: usize,
    /// How long a body may take to come once others need its bytes; 1 s. One of the API server takes milliseconds.
    pub slow: Duration,
    /// Connections; 1024. When one more comes, the one that has been idle for longest goes, those first that have
    /// asked nothing so far.
    pub connections: usize,
    /// Questions being answered at a time; 64.
    pub questions: usize,
    /// Of these, how many may be one hook's; 32. As many again may wait for their turn, four times over.
    pub questions_of_one: usize,
    /// Patches of objects over 64 KiB that are made at a time; 4. Each takes many times its object's memory.
    pub large_patches: usize,
    /// How long a TLS handshake may take; 5 s.
    pub handshake: Duration,
    /// How long a request's head may take to come, and the first request after the handshake; 10 s.
    pub head: Duration,
    /// How long a connection may be without a request; 2 min.
    pub idle: Duration,
    /// What the API server waits when a request doesn't say; 10 s.
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
