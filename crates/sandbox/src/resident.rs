//! Gives back the memory of code that no run needs. It never unloads a hook.
//!
//! Code that is mapped from its file takes memory from the first run that executes it. If no run used a component between
//! three sweeps, its pages are given back. The next run reads them again, in most cases from the kernel's cache of the
//! file. Code in a copy stays, because nothing could read it again.

use std::{
    io,
    sync::{
        Arc, Mutex, PoisonError, Weak,
        atomic::{AtomicBool, AtomicU32, Ordering},
    },
};

use wasmtime::component::Component;

/// After so many sweeps without a run, code is given back.
const SWEEPS: u32 = 2;

/// The code of a component. It lives as long as a hook has it.
pub(super) struct Code {
    component: Component,
    mapped: bool,
    used: AtomicBool,
    /// The number of sweeps since the last run.
    idle: AtomicU32,
}

impl Code {
    /// Code that was mapped from a file, which never changes.
    pub(super) fn mapped(component: Component) -> Self {
        Self { component, mapped: true, used: AtomicBool::new(true), idle: AtomicU32::new(0) }
    }

    pub(super) fn copied(component: Component) -> Self {
        Self { mapped: false, ..Self::mapped(component) }
    }

    pub(super) fn component(&self) -> &Component {
        &self.component
    }

    /// A run begins or ends.
    pub(super) fn is_used(&self) {
        self.used.store(true, Ordering::Relaxed);
    }

    /// A run that begins at the same time reads the pages again. That is slower and not wrong.
    fn sweep(&self) {
        if self.used.swap(false, Ordering::Relaxed) {
            self.idle.store(0, Ordering::Relaxed);
        } else if self.idle.fetch_add(1, Ordering::Relaxed) + 1 == SWEEPS
            && let Err(error) = self.give_back()
        {
            tracing::debug!("code that is idle is not given back: {error}");
        }
    }

    #[cfg(target_os = "linux")]
    fn give_back(&self) -> io::Result<()> {
        use rustix::mm::{Advice, madvise};
        let image = self.component.image_range();
        let bytes = image.end.addr().saturating_sub(image.start.addr());
        // SAFETY: the pages are those of the component, which this value keeps loaded. They are a private mapping of a file
        // that nobody changes in place. Nothing has written to the mapping: compiled code has no relocations, which wasmtime
        // checks when it loads the code, and wasmtime makes the mapping read-only before it returns the component. So each
        // page that the kernel drops is read again with the same bytes, also under a thread that executes it.
        #[allow(unsafe_code)]
        unsafe { madvise(image.start.cast_mut().cast(), bytes, Advice::LinuxDontNeed) }.map_err(Into::into)
    }

    /// Elsewhere, the kernel decides.
    #[cfg(not(target_os = "linux"))]
    fn give_back(&self) -> io::Result<()> {
        Ok(())
    }
}

/// The mapped code of all loaded components.
#[derive(Default)]
pub(super) struct Resident(Mutex<Vec<Weak<Code>>>);

impl Resident {
    pub(super) fn add(&self, code: &Arc<Code>) {
        if code.mapped {
            self.0.lock().unwrap_or_else(PoisonError::into_inner).push(Arc::downgrade(code));
        }
    }

    pub(super) fn sweep(&self) {
        let mut all = Vec::new();
        self.0.lock().unwrap_or_else(PoisonError::into_inner).retain(|code| {
            all.extend(code.upgrade());
            code.strong_count() > 0
        });
        all.iter().for_each(|code| code.sweep());
    }
}
