//! The URLs of collectors.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use super::*;

#[test]
fn addresses_of_collectors() {
    for (given, url) in [
        ("http://collector:4318", "http://collector:4318/v1/traces"),
        ("http://collector:4318/", "http://collector:4318/v1/traces"),
        ("https://host/otlp/v1/traces", "https://host/otlp/v1/traces"),
        ("https://host/otlp", "https://host/otlp/v1/traces"),
    ] {
        assert_eq!(traces_url(given).as_deref(), Some(url));
    }
    for bad in ["", "collector:4318", "grpc://host", "http://", "http://host?x=1", "not a url"] {
        assert_eq!(traces_url(bad), None, "{bad}");
    }
}
