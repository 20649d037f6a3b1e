//! The settings of streams, with their defaults.

use std::time::Duration;

/// How streams list, watch and recover.
#[derive(Debug, Clone)]
pub struct StreamConfig {
    /// Request lists as the first part of a watch, if the server supports it. Default true: such a list takes about as
    /// long as pages do, and the stream holds one object at a time instead of one page. The stream detects servers that
    /// do not support it, and requests pages from them.
    pub streaming_lists: bool,
    /// The most objects on one page of a list. Default 500.
    pub page_size: usize,
    /// If a page grows over this many bytes, the stream requests it again in smaller parts. Default 8 MiB, because
    /// several lists run at the same time.
    pub max_page_bytes: usize,
    /// A longer line of a watch ends the connection. Default 64 MiB.
    pub max_line_bytes: usize,
    /// How long the server keeps one watch open, give or take a tenth. Default 30 min, like kube-apiserver's own. Bookmarks
    /// show earlier that a watch is dead, and each new watch costs a check of the server (`rollback.rs`).
    pub watch_timeout: Duration,
    /// A watch that receives no byte for this long is dropped and rebuilt. Servers send a bookmark about once a minute.
    /// Default 90 s.
    pub silence: Duration,
    /// A list that receives no byte for this long is given up and tried again. Default 30 s.
    pub list_silence: Duration,
    /// The delay after the first error in a row. Default 200 ms.
    pub backoff_initial: Duration,
    /// The longest delay between tries, without jitter. Default 30 s.
    pub backoff_max: Duration,
    /// The longest `Retry-After` that streams obey. Default 5 min.
    pub retry_after_max: Duration,
    /// How many changes may wait for one subscriber. Default 1024.
    pub capacity: usize,
    /// A subscriber whose channel stays full for longer falls behind. It gets a list after it has taken what was
    /// already sent. Default 5 s.
    pub grace: Duration,
    /// How many bytes of objects may be on their way to subscribers. Tenants have fair shares of them. Default 16 MiB.
    pub on_the_way: u64,
    /// How many lists run at the same time. Tenants have fair shares of them. Default 8.
    pub lists_at_once: u64,
}

impl Default for StreamConfig {
    fn default() -> Self {
        const MIB: usize = 1024 * 1024;
        Self {
            streaming_lists: true,
            page_size: 500,
            max_page_bytes: 8 * MIB,
            max_line_bytes: 64 * MIB,
            watch_timeout: Duration::from_secs(30 * 60),
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
