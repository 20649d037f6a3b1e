//! A module per concern, and one for the real kubectl.

mod apply;
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
mod watches;
