//! Stage 1 against servers on real sockets.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

mod death;
mod follower;
mod gate;
mod hostile;
mod kinds;
mod live;
mod paused;
mod recorder;
mod recovery;
mod scripted;
mod sharing;
