//! The limits of a worker process, and how they travel to it.

use std::{io, time::Duration};

use rustix::{
    process::{Resource, Rlimit, getrlimit, setrlimit},
    time::{ClockId, clock_gettime},
};

use super::frame::{Frame, Tag, malformed};
use crate::{child::Bounds, memory};

/// The stack of the thread that evaluates.
pub const STACK: usize = 64 * 1024 * 1024;
/// The code's own data, the stacks of other threads, and buffers for one object and one result.
const BASE: u64 = 24 * 1024 * 1024;

/// What a worker may use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// The approximate bytes of memory for values.
    pub memory: u64,
    /// The CPU seconds of one evaluation. The kernel ends a process that uses more.
    pub cpu: u32,
}

/// The bytes for values in a worker of the usual size.
pub const VALUES: u64 = memory::WORKER - STACK as u64 - BASE;

impl Limits {
    /// The first frame to a worker.
    pub fn frame(self, program: &str) -> Frame {
        let mut payload = Vec::with_capacity(12 + program.len());
        payload.extend(self.memory.to_le_bytes());
        payload.extend(self.cpu.to_le_bytes());
        payload.extend(program.as_bytes());
        Frame { tag: Tag::Program, payload }
    }

    /// Reads the first frame.
    pub fn from_frame(frame: Frame) -> io::Result<(Self, String)> {
        let short = || malformed("no program");
        if frame.tag != Tag::Program {
            return Err(short());
        }
        let (memory, rest) = frame.payload.split_first_chunk().ok_or_else(short)?;
        let (cpu, program) = rest.split_first_chunk().ok_or_else(short)?;
        let limits = Self { memory: u64::from_le_bytes(*memory), cpu: u32::from_le_bytes(*cpu) };
        Ok((limits, String::from_utf8(program.to_vec()).map_err(|_| short())?))
    }

    /// What the worker's process may use. The CPU time is bounded for each evaluation separately.
    pub fn bounds(self) -> Bounds {
        Bounds { memory: self.memory.saturating_add(STACK as u64).saturating_add(BASE), cpu: None, time: None }
    }

    /// Lets the process use the CPU for one more evaluation. The kernel counts whole seconds, so an evaluation may use
    /// up to one second more.
    pub fn allow_cpu(self) -> io::Result<()> {
        let used = Duration::try_from(clock_gettime(ClockId::ProcessCPUTime)).map_err(io::Error::other)?;
        let limit = used.as_secs() + 1 + u64::from(self.cpu);
        let maximum = getrlimit(Resource::Cpu).maximum;
        setrlimit(Resource::Cpu, Rlimit { current: Some(limit), maximum })?;
        Ok(())
    }
}
