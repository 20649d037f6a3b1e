//! The merge table of built-in kinds.
//!
//! Never holds values.
