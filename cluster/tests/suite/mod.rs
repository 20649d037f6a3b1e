//! A module per concern, and one for the real kubectl.

mod access;
mod apply;
mod controllers;
mod crds;
mod faults;
mod hostile;
mod kubectl;
mod lifecycle;
mod lists;
mod objects;
mod owners;
mod state;
mod support;
mod volumes;
mod watches;
mod webhooks;
