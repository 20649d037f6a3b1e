//! Modules: their hooks, values and charts, kept as the configuration wants them.

pub(crate) mod releases;
