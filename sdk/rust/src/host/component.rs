//! The host's side inside a component: the imported functions themselves.
//!
//! It adds nothing to them.

pub(crate) use crate::bindings::boathook::hook::kube::{batch, emit_event, get, list, write};
pub(crate) use crate::bindings::boathook::hook::log::write as log;
pub(crate) use crate::bindings::boathook::hook::metrics::{add, expire, observe, set};
pub(crate) use crate::bindings::boathook::hook::settings::get as settings;
pub(crate) use crate::bindings::boathook::hook::snapshots::{Snapshot, open};
pub(crate) use crate::bindings::boathook::hook::values::{get as values, patch, patch_config};
use std::hash::{BuildHasher as _, RandomState};
use std::time::SystemTime;

pub(crate) fn now() -> SystemTime {
    SystemTime::now()
}

/// The keys of maps come from WASI's random numbers.
pub(crate) fn random() -> u64 {
    RandomState::new().hash_one(())
}
