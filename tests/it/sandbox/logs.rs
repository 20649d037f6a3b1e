//! Log lines of hooks.
