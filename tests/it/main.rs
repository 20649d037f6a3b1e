//! In-process tests, stage by stage and then together. One binary: each would link wasmtime.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

mod access;
mod admin;
mod author;
mod book;
mod bundle;
mod charts;
mod console;
mod dev;
mod discovery;
mod document;
mod filter;
mod hookbundle;
mod layering;
mod lines;
mod migration;
mod modules;
mod parity;
mod pipeline;
mod plan;
mod prose;
mod rbac;
mod record;
mod registration;
mod sandbox;
mod scenarios;
mod script;
mod support;
mod watch;
mod webhook;
