//! A module per client and concern.

mod objects;
