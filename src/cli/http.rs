//! The flags for the HTTP requests of hooks.

use std::path::PathBuf;

use clap::Args;

/// Flags for HTTP requests.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "HTTP requests of hooks")]
pub struct Http {
    /// Host that hooks may send HTTP requests to despite its non-public address, if their permissions allow it: HOST or
    /// HOST:PORT; may be repeated. Requests to all other hosts go to public addresses only
    #[arg(long, value_name = "HOST", env = "BOATHOOK_HTTP_PRIVATE_HOSTS", value_delimiter = ',')]
    pub http_private_host: Vec<String>,
    /// Like --http-private-host, and hooks may also send requests to this host without TLS; may be repeated
    #[arg(long, value_name = "HOST", env = "BOATHOOK_HTTP_INSECURE_HOSTS", value_delimiter = ',')]
    pub http_insecure_host: Vec<String>,
    /// File with certificates (PEM) that hooks' requests trust in addition to the system's
    #[arg(long, value_name = "FILE", env = "BOATHOOK_HTTP_CA")]
    pub http_ca: Option<PathBuf>,
    /// File with the credentials that the operator adds to requests of the admin's hooks. The hooks do not see them
    #[arg(long, value_name = "FILE", env = "BOATHOOK_HTTP_CREDENTIALS")]
    pub http_credentials: Option<PathBuf>,
}
