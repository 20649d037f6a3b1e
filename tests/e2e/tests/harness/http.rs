//! Requests over plain HTTP, for health checks, metrics and servers of tests.
//! It never keeps a connection and never speaks TLS.

use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

const TIMEOUT: Duration = Duration::from_secs(5);

/// The status code and the body.
pub async fn get(address: &str, path: &str) -> Result<(u16, String), String> {
    send(address, "GET", path, &[], "").await
}

/// The status code and the body of the answer to a request with these headers and this body.
pub async fn send(
    address: &str,
    method: &str,
    path: &str,
    headers: &[(&str, &str)],
    body: &str,
) -> Result<(u16, String), String> {
    let headers: String = headers.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
    // HTTP/1.0, so that the answer is neither chunked nor followed by another.
    let request =
        format!("{method} {path} HTTP/1.0\r\nHost: {address}\r\nContent-Length: {}\r\n{headers}\r\n{body}", body.len());
    let answer = tokio::time::timeout(TIMEOUT, exchange(address, &request)).await;
    let answer = answer.map_err(|_| format!("{method} {path}: no answer"))?;
    let text = answer.map_err(|error| format!("{method} {path}: {error}"))?;
    let status = text.split(' ').nth(1).and_then(|code| code.parse().ok());
    let status = status.ok_or_else(|| format!("{method} {path}: not an HTTP answer: {text}"))?;
    let body = text.split_once("\r\n\r\n").map(|(_, body)| body.to_owned()).unwrap_or_default();
    Ok((status, body))
}

async fn exchange(address: &str, request: &str) -> std::io::Result<String> {
    let mut stream = TcpStream::connect(address).await?;
    stream.write_all(request.as_bytes()).await?;
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).await?;
    Ok(String::from_utf8_lossy(&answer).into_owned())
}
