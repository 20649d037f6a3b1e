//! The console: the port, who may see it, and what it shows. Requests are plain HTTP, as a browser sends them.

mod access;
mod hostile;
mod views;

use std::net::SocketAddr;

use boathook_operator::{
    app::Options,
    console::{self, Access, KeptLines},
};
use serde_json::Value;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
};

use crate::{pipeline::fixture::Pipeline, support::cluster::TestCluster};

/// An operator with a console, and the token that it takes.
struct Shown {
    pipeline: Pipeline,
    address: SocketAddr,
    token: String,
}

struct Got {
    status: u16,
    head: String,
    body: String,
}

impl Shown {
    /// With a secret, as `boathook dev` has one. Waits until all hooks are ready.
    async fn start(hooks: &[(&str, Vec<u8>)]) -> Self {
        let shown = Self::on(TestCluster::start().await, hooks, Access::random(), |_| ()).await;
        shown.pipeline.operator.ready().await;
        shown
    }

    /// Waits for nothing.
    async fn on(
        cluster: TestCluster,
        hooks: &[(&str, Vec<u8>)],
        access: Access,
        adjust: impl FnOnce(&mut Options),
    ) -> Self {
        let token = access.secret().unwrap_or_default().to_owned();
        let pipeline = Pipeline::on(cluster, hooks, |options| {
            options.console = Some(console::Options { listen: ([127, 0, 0, 1], 0).into(), access, again: None });
            options.kept_lines = Some(KeptLines::default());
            adjust(options);
        })
        .await;
        let address = pipeline.operator.app.console_address().unwrap();
        Self { pipeline, address, token }
    }

    /// A request with these lines in its head.
    async fn ask(&self, method: &str, path: &str, lines: &[&str]) -> Got {
        let mut stream = TcpStream::connect(self.address).await.unwrap();
        let lines: String = lines.iter().map(|line| format!("{line}\r\n")).collect();
        let request = format!("{method} {path} HTTP/1.1\r\nConnection: close\r\n{lines}\r\n");
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut text = String::new();
        stream.read_to_string(&mut text).await.unwrap();
        let (head, body) = text.split_once("\r\n\r\n").unwrap_or_else(|| panic!("{text}"));
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        Got { status, head: head.to_lowercase(), body: body.to_owned() }
    }

    async fn get_with(&self, path: &str, token: &str) -> Got {
        let (host, token) = (format!("Host: {}", self.address), format!("Authorization: Bearer {token}"));
        self.ask("GET", path, &[&host, &token]).await
    }

    async fn get(&self, path: &str) -> Got {
        self.get_with(path, &self.token).await
    }

    /// A view, as the page gets it.
    async fn view(&self, path: &str) -> Value {
        let got = self.get(path).await;
        assert_eq!(got.status, 200, "{path}: {}", got.body);
        serde_json::from_str(&got.body).unwrap_or_else(|error| panic!("{path}: {error}: {}", got.body))
    }
}
