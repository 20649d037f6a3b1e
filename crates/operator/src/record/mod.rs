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

mod asked;
mod content;
mod directory;
mod file;
mod format;
mod question;
mod recorder;
mod recording;
pub mod replay;
pub mod secrets;
mod tape;
mod trigger;
mod writer;

pub use asked::{Asked, Given};
pub use content::{
    AmbientValues, Answer, Call, End, Header, LogLine, Record, RecordedFailure, RecordedSnapshot, Request,
};
pub use directory::{COMPONENTS, DirectoryError, KEY, component_file, read_key};
pub use file::{FileName, ReadError, SUFFIX, read};
pub use format::{FormatError, MAX_UNPACKED, OLDEST, VERSION, decode, encode};
pub use question::{Asks, RecordedAnswer, RecordedDenial, RecordedQuestion};
pub use recorder::{Begun, RecordConfig, RecordObserver, Recorder, Which};
pub use recording::Recording;
pub use trigger::{RecordedBinding, RecordedCause, RecordedEvent, RecordedItem, RecordedTrigger};
