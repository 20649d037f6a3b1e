//! Boathook.
