//! A kube client for the cluster itself. It does not outlive the runtime in which the cluster was started.

use std::fmt;
use std::net::SocketAddr;

use http::Uri;

use super::Error;

pub(crate) struct Connection(kube::Client);

impl Connection {
    pub(crate) fn new(address: SocketAddr, token: Option<&str>) -> Result<Self, Error> {
        let authority = address.to_string();
        let url = Uri::builder().scheme("http").authority(authority).path_and_query("/").build();
        let url = url.map_err(|error| Error::Client(error.into()))?;
        let mut config = kube::Config::new(url);
        // The token has a secret type, which only deserialization can create.
        let user = serde_json::json!({ "token": token });
        config.auth_info = serde_json::from_value(user).map_err(|error| Error::Client(error.into()))?;
        let client = kube::Client::try_from(config).map_err(|error| Error::Client(error.into()))?;
        Ok(Self(client))
    }

    pub(crate) fn client(&self) -> kube::Client {
        self.0.clone()
    }
}

impl fmt::Debug for Connection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Connection")
    }
}
