//! The limits of a worker process, and how they travel to it.

use std::{
    io,
    time::{Duration, Instant},
};

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use super::frame::{Frame, Tag, malformed};

/// The stack of the thread that evaluates.
pub const STACK: usize = 64 * 1024 * 1024;
/// Code's own data, other threads' stacks, buffers for one object and one result.
const BASE: u64 = 64 * 1024 * 1024;
/// Standard streams and what the runtime opens for a moment.
const FILES: u64 = 16;

/// What a worker may use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of memory for values, about.
    pub memory: u64,
    /// CPU seconds of one evaluation, beyond which the kernel ends the process. A net below the
    /// host's own deadline.
    pub cpu: u32,
}

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

    /// Sets this process's limits, except for the CPU.
    pub fn apply(self) -> io::Result<()> {
        lower(Resource::Core, 0)?;
        lower(Resource::Nofile, FILES)?;
        // Private writable memory, which is what values need; address space alone is no harm.
        lower(Resource::Data, self.memory.saturating_add(STACK as u64).saturating_add(BASE))
    }

    /// Lets the process use the CPU for one more evaluation. One thread works at a time, so that no
    /// more CPU was used than time has passed.
    pub fn allow_cpu(self, started: Instant) -> io::Result<()> {
        let limit = started.elapsed() + Duration::from_secs(u64::from(self.cpu) + 1);
        let maximum = getrlimit(Resource::Cpu).maximum;
        setrlimit(Resource::Cpu, Rlimit { current: Some(limit.as_secs() + 1), maximum })?;
        Ok(())
    }
}

fn lower(resource: Resource, limit: u64) -> io::Result<()> {
    let maximum = getrlimit(resource).maximum;
    let limit = maximum.map_or(limit, |maximum| maximum.min(limit));
    setrlimit(resource, Rlimit { current: Some(limit), maximum: Some(limit) })?;
    Ok(())
}
