//! Black-box suite.
