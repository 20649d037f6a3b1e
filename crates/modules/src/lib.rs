//! Modules: add-ons in addon-operator's layout, with values in layers. Everything here is a function of its arguments:
//! it knows neither a cluster nor a sandbox nor a clock. Only [`Catalogue::read`] and [`chart`] read files, within bounds.
//!
//! | module | content |
//! | --- | --- |
//! | `names` | names of modules, and the keys of their values |
//! | `files` | bounded reading of files and YAML as Go reads it |
//! | [`chart`] | the files of a module's chart |
//! | [`layout`] | which modules are in directories |
//! | [`config`] | the configuration that a ConfigMap has |
//! | [`schema`] | schemas of values: `x-extend`, `x-required-for-helm`, defaults, validation, CEL rules |
//! | [`patch`] | what hooks do to values |
//! | [`manifest`] | what a chart renders to, as objects of a release |
//! | `helm` | a release as Helm keeps it |
//! | [`graph`] | which modules are on, why, and in which order they run |
//! | [`life`] | what runs next: hooks, charts, deletions; a state machine |
//! | [`layers`] | values in layers, and who wrote which |
//! | [`values`] | the values of all modules, which patches change as transactions |
//!
//! ```text
//!  directories ─▶ Catalogue ─┐
//!  ConfigMap ───▶ Config ────┼─▶ Store ─▶ values of a module, each with its writer
//!  hooks ───────▶ Patch ─────┘
//! ```
//!
//! Directories belong to the admin. A schema's evaluation has no bound in time, so a program that takes schemas from
//! somebody else evaluates them in a process that it can end.

pub mod chart;
pub mod config;
mod files;
pub mod graph;
mod helm;
pub mod layers;
pub mod layout;
pub mod life;
pub mod manifest;
mod names;
pub mod patch;
pub mod schema;
pub mod values;

pub use config::{Config, Maintenance, Wish};
pub use files::{FileError, parse as read_values};
pub use helm::{HelmHook, HelmRelease, InvalidRelease};
pub use layers::{Layers, Step, Writer};
pub use layout::{Catalogue, Layout, LayoutError, Module};
pub use names::{InvalidName, ModuleName};
pub use patch::{InvalidPatch, Patch};
pub use schema::{Finding, Schema};
pub use values::{Decision, Prepared, Problem, Refused, Store};
