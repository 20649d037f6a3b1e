//! Paths into objects, as printer columns write them.
//!
//! Never fails: a path that leads nowhere yields nothing.
