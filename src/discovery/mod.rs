//! Which kinds the API server serves. Stub.
