//! GET over plain HTTP, for health checks and metrics.
//! It never keeps a connection and never speaks TLS.

use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

const TIMEOUT: Duration = Duration::from_secs(5);

/// The status code and the body.
pub async fn get(address: &str, path: &str) -> Result<(u16, String), String> {
    let answer = tokio::time::timeout(TIMEOUT, exchange(address, path)).await;
    let answer = answer.map_err(|_| format!("GET {path}: no answer"))?;
    let text = answer.map_err(|error| format!("GET {path}: {error}"))?;
    let status = text.split(' ').nth(1).and_then(|code| code.parse().ok());
    let status = status.ok_or_else(|| format!("GET {path}: not an HTTP answer: {text}"))?;
    let body = text.split_once("\r\n\r\n").map(|(_, body)| body.to_owned()).unwrap_or_default();
    Ok((status, body))
}

/// HTTP/1.0, so that the answer is neither chunked nor followed by another.
async fn exchange(address: &str, path: &str) -> std::io::Result<String> {
    let mut stream = TcpStream::connect(address).await?;
    stream.write_all(format!("GET {path} HTTP/1.0\r\nHost: {address}\r\n\r\n").as_bytes()).await?;
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).await?;
    Ok(String::from_utf8_lossy(&answer).into_owned())
}
