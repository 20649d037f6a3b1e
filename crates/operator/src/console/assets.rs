//! The page, as `console/` builds it (`tools/build-console`). It is the same for everybody, so it is served without a token.

use std::sync::LazyLock;

use axum::{
    extract::Request,
    http::{HeaderMap, StatusCode, header},
    response::{IntoResponse, Response},
};
use sha2::{Digest as _, Sha256};

use super::TEXT;

#[derive(Clone, Copy)]
struct Asset {
    path: &'static str,
    kind: &'static str,
    bytes: &'static [u8],
}

static ASSETS: [Asset; 4] = [
    Asset { path: "/", kind: "text/html; charset=utf-8", bytes: include_bytes!("page/index.html") },
    Asset { path: "/console.js", kind: "text/javascript; charset=utf-8", bytes: include_bytes!("page/console.js") },
    Asset { path: "/console.css", kind: "text/css; charset=utf-8", bytes: include_bytes!("page/console.css") },
    Asset { path: "/icon.svg", kind: "image/svg+xml", bytes: include_bytes!("page/icon.svg") },
];

/// A browser asks each time whether it has the newest one, because another operator may serve the next page.
static TAGS: LazyLock<[String; 4]> = LazyLock::new(|| {
    ASSETS.map(|asset| {
        let digest = Sha256::digest(asset.bytes);
        let digits: String = digest.iter().take(16).map(|byte| format!("{byte:02x}")).collect();
        format!("\"{digits}\"")
    })
});

pub(super) async fn serve(request: Request) -> Response {
    let path = request.uri().path();
    let found = ASSETS.iter().zip(TAGS.iter()).find(|(asset, _)| asset.path == path);
    let Some((asset, tag)) = found else {
        let text = format!("there is no {path} in the console: open /\n");
        return (StatusCode::NOT_FOUND, [(header::CONTENT_TYPE, TEXT)], text).into_response();
    };
    let headers = [(header::ETAG, tag.as_str()), (header::CACHE_CONTROL, "no-cache")];
    if has(request.headers(), tag) {
        return (StatusCode::NOT_MODIFIED, headers).into_response();
    }
    (headers, [(header::CONTENT_TYPE, asset.kind)], asset.bytes).into_response()
}

fn has(headers: &HeaderMap, tag: &str) -> bool {
    let known = headers.get(header::IF_NONE_MATCH).and_then(|value| value.to_str().ok());
    known.is_some_and(|known| known.split(',').any(|known| known.trim() == tag))
}
