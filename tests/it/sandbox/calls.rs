//! Host calls: what reaches the host, and what the budget refuses.
