//! What can be set about streams, with its defaults. Reads no file and no environment.

use std::time::Duration;

/// How streams list, watch and recover.
#[derive(Debug, Clone)]
pub struct StreamConfig {
    /// Ask for lists as the first part of a watch, where the server can do it. Default true: it
    /// takes about as long as pages do, and holds one object at a time instead of one page. Servers
    /// that can't are found out and asked for pages.
    pub streaming_lists: bool,
    /// Objects on one page of a list, at most. Default 500.
    pub page_size: usize,
    /// A page that grows over this many bytes is asked for again in smaller parts. Default 64 MiB.
    pub max_page_bytes: usize,
    /// A watch line that is longer ends the connection. Default 64 MiB.
    pub max_line_bytes: usize,
    /// How long the server shall keep one watch open, give or take a tenth. Default 290 s.
    pub watch_timeout: Duration,
    /// A watch without a byte for this long is dropped and rebuilt; servers send a bookmark about
    /// once a minute. Default 90 s.
    pub silence: Duration,
    /// A list without a byte for this long is given up and tried again. Default 30 s.
    pub list_silence: Duration,
    /// Delay after the first error in a row. Default 200 ms.
    pub backoff_initial: Duration,
    /// The longest delay between tries, jitter aside. Default 30 s.
    pub backoff_max: Duration,
    /// The longest `Retry-After` that is obeyed. Default 5 min.
    pub retry_after_max: Duration,
    /// Changes that wait for one subscriber. Default 1024.
    pub capacity: usize,
    /// A subscriber whose channel stays full for longer is left behind: it gets a list once it has
    /// taken what it was sent. Default 5 s.
    pub grace: Duration,
    /// Bytes of objects on their way to subscribers; tenants have fair shares of them. Default 16 MiB.
    pub on_the_way: u64,
    /// Lists that are asked for at the same time; tenants have fair shares of them. Default 8.
    pub lists_at_once: u64,
}

impl Default for StreamConfig {
    fn default() -> Self {
        const MIB: usize = 1024 * 1024;
        Self {
            streaming_lists: true,
            page_size: 500,
            max_page_bytes: 64 * MIB,
            max_line_bytes: 64 * MIB,
            watch_timeout: Duration::from_secs(290),
            silence: Duration::from_secs(90),
            list_silence: Duration::from_secs(30),
            backoff_initial: Duration::from_millis(200),
            backoff_max: Duration::from_secs(30),
            retry_after_max: Duration::from_secs(300),
            capacity: 1024,
            grace: Duration::from_secs(5),
            on_the_way: 16 * MIB as u64,
            lists_at_once: 8,
        }
    }
}
