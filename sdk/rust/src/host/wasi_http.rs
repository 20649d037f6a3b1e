//! HTTP through `wasi:http`.

use crate::http::{Error, ErrorKind, Request, Response, parts};
use wasip2::http::outgoing_handler::handle;
use wasip2::http::types::{
    ErrorCode, Fields, HeaderError, IncomingResponse, Method, OutgoingBody, OutgoingRequest, RequestOptions, Scheme,
};
use wasip2::io::streams::StreamError;

/// The most bytes that one write passes, by the definition of the stream.
const WRITE: usize = 4096;
const READ: u64 = 64 * 1024;

pub(crate) fn http(request: &Request) -> Result<Response, Error> {
    let named = |error: Error| Error {
        message: format!("{} {}: {}", request.method, shown(&request.url), error.message),
        ..error
    };
    exchange(request).map_err(named)
}

/// A query may hold what is nobody's business.
fn shown(url: &str) -> &str {
    url.split('?').next().unwrap_or_default()
}

fn exchange(request: &Request) -> Result<Response, Error> {
    let outgoing = outgoing(request)?;
    let options = RequestOptions::new();
    if let Some(timeout) = request.timeout {
        let nanos = u64::try_from(timeout.as_nanos()).unwrap_or(u64::MAX);
        // The operator knows this option.
        let _ = options.set_first_byte_timeout(Some(nanos));
    }
    let body = if request.body.is_empty() { None } else { Some(outgoing.body().map_err(|()| impossible())?) };
    let response = handle(outgoing, Some(options)).map_err(of_code)?;
    // If a write fails, the response says why.
    let written = body.map_or(Ok(()), |body| write(body, &request.body));
    response.subscribe().block();
    let received = response.get().ok_or_else(impossible)?.map_err(|()| impossible())?.map_err(of_code)?;
    written?;
    read(&received)
}

fn outgoing(request: &Request) -> Result<OutgoingRequest, Error> {
    let wrong = |what: &str| Error::new(ErrorKind::Invalid, what);
    let (tls, authority, path) = parts(&request.url).ok_or_else(|| wrong("the URL is not one of https or http"))?;
    let headers = Fields::from_list(&request.headers).map_err(|error| match error {
        HeaderError::Forbidden => wrong("a header is not the hook's to set"),
        HeaderError::InvalidSyntax => wrong("a header is not valid"),
        HeaderError::Immutable => impossible(),
    })?;
    let outgoing = OutgoingRequest::new(headers);
    outgoing.set_method(&method(&request.method)).map_err(|()| wrong("the method is not one"))?;
    let scheme = if tls { Scheme::Https } else { Scheme::Http };
    outgoing.set_scheme(Some(&scheme)).map_err(|()| wrong("the scheme is not one"))?;
    outgoing.set_authority(Some(authority)).map_err(|()| wrong("the host is not one"))?;
    let path = if path.starts_with('/') { path.to_owned() } else { format!("/{path}") };
    outgoing.set_path_with_query(Some(&path)).map_err(|()| wrong("the path is not one"))?;
    Ok(outgoing)
}

fn method(name: &str) -> Method {
    match name {
        "GET" => Method::Get,
        "HEAD" => Method::Head,
        "POST" => Method::Post,
        "PUT" => Method::Put,
        "PATCH" => Method::Patch,
        "DELETE" => Method::Delete,
        "OPTIONS" => Method::Options,
        other => Method::Other(other.to_owned()),
    }
}

fn write(body: OutgoingBody, bytes: &[u8]) -> Result<(), Error> {
    let stream = body.write().map_err(|()| impossible())?;
    for chunk in bytes.chunks(WRITE) {
        stream
            .blocking_write_and_flush(chunk)
            .map_err(|_| Error::new(ErrorKind::Connection, "the body was not sent"))?;
    }
    drop(stream);
    OutgoingBody::finish(body, None).map_err(of_code)
}

fn read(response: &IncomingResponse) -> Result<Response, Error> {
    let (status, headers) = (response.status(), response.headers().entries());
    let body = response.consume().map_err(|()| impossible())?;
    let stream = body.stream().map_err(|()| impossible())?;
    let mut bytes = Vec::new();
    loop {
        match stream.blocking_read(READ) {
            Ok(more) => bytes.extend(more),
            Err(StreamError::Closed) => break,
            Err(StreamError::LastOperationFailed(error)) => {
                return Err(Error::new(ErrorKind::Connection, error.to_debug_string()));
            }
        }
    }
    Ok(Response { status, headers, body: bytes })
}

/// What an operator never does.
fn impossible() -> Error {
    Error::new(ErrorKind::Other, "the host does not keep to wasi:http")
}

fn of_code(code: ErrorCode) -> Error {
    let (kind, what) = match code {
        ErrorCode::HttpRequestDenied => (ErrorKind::Denied, "it is not allowed; the log has the reason"),
        ErrorCode::DestinationIpProhibited => (ErrorKind::Address, "the host is not at a public address"),
        ErrorCode::DnsError(_) | ErrorCode::DnsTimeout => (ErrorKind::Name, "the host has no address"),
        ErrorCode::TlsCertificateError | ErrorCode::TlsProtocolError => {
            (ErrorKind::Tls, "TLS failed; the log has the reason")
        }
        ErrorCode::ConnectionReadTimeout | ErrorCode::ConnectionTimeout | ErrorCode::HttpResponseTimeout => {
            (ErrorKind::Timeout, "there was no response in time")
        }
        ErrorCode::ConnectionTerminated | ErrorCode::ConnectionRefused => {
            (ErrorKind::Connection, "the connection failed; the log has the reason")
        }
        ErrorCode::ConfigurationError => {
            (ErrorKind::Credential, "the credential for the host cannot be used; the log has the reason")
        }
        ErrorCode::HttpProtocolError => (ErrorKind::Invalid, "it cannot be sent; the log has the reason"),
        ErrorCode::InternalError(Some(message)) => return Error::new(ErrorKind::Other, message),
        other => return Error::new(ErrorKind::Other, format!("{other:?}")),
    };
    Error::new(kind, what)
}
