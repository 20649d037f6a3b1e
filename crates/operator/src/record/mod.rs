//! The flight recorder: it writes a run to a file, and runs it again from that file.
//!
//! ```text
//!  run ─▶ Recording (a Host around the operator's) ─▶ writer's thread: redact ─▶ file, in a ring of its hook
//!                                                                                  │
//!              same or other component, ReplayHost answers from the record ◀── read ┘
//! ```
//!
//! A run never waits for its record. What the writer cannot take is dropped and counted. A replay never contacts a
//! cluster.

mod content;
mod format;
mod recorder;
pub mod replay;
pub mod secrets;
mod tape;

pub use content::{
    AmbientValues, Answer, Asked, Asks, Call, End, Given, Header, LogLine, Record, RecordedAnswer, RecordedCauses,
    RecordedChild, RecordedQuestion, RecordedRelated, RecordedSnapshot, RecordedTrigger, Request,
};
pub use format::{FileName, FormatError, MAX_UNPACKED, OLDEST, ReadError, SUFFIX, VERSION, decode, encode, read};
pub use recorder::{
    Begun, COMPONENTS, DirectoryError, KEY, RecordConfig, RecordObserver, Recorder, Which, component_file, read_key,
};
pub use tape::Recording;
