//! How lists and maps of a kind merge.
//!
//! Never holds values.
