//! Streams of files: what passes is taken from the run's budget, and files do not grow beyond their bounds.

use std::{fs::File, sync::Arc};

use bytes::Bytes;
use wasmtime_wasi::p2::{
    DynInputStream, DynOutputStream, InputStream, OutputStream, Pollable, StreamError, StreamResult,
};

use super::{Directory, Run};

/// What a run reads of a file.
pub(super) struct Reading {
    pub inner: DynInputStream,
    pub run: Arc<Run>,
}

impl Reading {
    fn counted(&self, read: StreamResult<Bytes>) -> StreamResult<Bytes> {
        let bytes = read?;
        self.run.take(u64::from(!bytes.is_empty()), bytes.len())?;
        Ok(bytes)
    }
}

#[wasmtime_wasi::async_trait]
impl Pollable for Reading {
    async fn ready(&mut self) {
        self.inner.ready().await;
    }
}

#[wasmtime_wasi::async_trait]
impl InputStream for Reading {
    fn read(&mut self, size: usize) -> StreamResult<Bytes> {
        let read = self.inner.read(size);
        self.counted(read)
    }

    async fn blocking_read(&mut self, size: usize) -> StreamResult<Bytes> {
        let read = self.inner.blocking_read(size).await;
        self.counted(read)
    }

    async fn cancel(&mut self) {
        self.inner.cancel().await;
    }
}

/// Where a stream writes.
#[derive(Debug, Clone, Copy)]
pub(super) enum Position {
    At(u64),
    End,
}

/// What a run writes to a file.
pub(super) struct Writing {
    pub inner: DynOutputStream,
    pub file: Arc<File>,
    pub position: Position,
    pub directory: Arc<Directory>,
    pub run: Arc<Run>,
}

impl Writing {
    fn counted(&mut self, bytes: usize) -> StreamResult<()> {
        self.run.take(1, bytes)?;
        let (start, length) = match self.position {
            Position::At(at) => (Some(at), bytes as u64),
            Position::End => (None, bytes as u64),
        };
        self.directory.writes(&self.run, &self.file, start, length)?;
        if let Position::At(at) = &mut self.position {
            *at = at.saturating_add(length);
        }
        Ok(())
    }
}

#[wasmtime_wasi::async_trait]
impl Pollable for Writing {
    async fn ready(&mut self) {
        self.inner.ready().await;
    }
}

#[wasmtime_wasi::async_trait]
impl OutputStream for Writing {
    fn write(&mut self, bytes: Bytes) -> StreamResult<()> {
        self.counted(bytes.len())?;
        self.inner.write(bytes)
    }

    async fn blocking_write_and_flush(&mut self, bytes: Bytes) -> StreamResult<()> {
        self.counted(bytes.len())?;
        self.inner.blocking_write_and_flush(bytes).await
    }

    fn flush(&mut self) -> StreamResult<()> {
        self.inner.flush()
    }

    fn check_write(&mut self) -> Result<usize, StreamError> {
        self.inner.check_write()
    }

    async fn cancel(&mut self) {
        self.inner.cancel().await;
    }
}
