//! A connection that the test can cut and keep cut.

use std::net::SocketAddr;

use tokio::{
    io::copy_bidirectional,
    net::{TcpListener, TcpStream},
    sync::watch,
    task::JoinHandle,
};

pub struct Gate {
    pub address: SocketAddr,
    open: watch::Sender<bool>,
    task: JoinHandle<()>,
}

impl Drop for Gate {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Gate {
    /// Open, before `server`.
    pub async fn before(server: SocketAddr) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (open, is_open) = watch::channel(true);
        let task = tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                tokio::spawn(pass(client, server, is_open.clone()));
            }
        });
        Self { address, open, task }
    }

    /// Cuts all connections, and each new one.
    pub fn close(&self) {
        self.open.send_replace(false);
    }

    pub fn open(&self) {
        self.open.send_replace(true);
    }
}

async fn pass(mut client: TcpStream, server: SocketAddr, mut is_open: watch::Receiver<bool>) {
    if !*is_open.borrow_and_update() {
        return;
    }
    let mut server = TcpStream::connect(server).await.unwrap();
    tokio::select! {
        _ = copy_bidirectional(&mut client, &mut server) => {}
        _ = is_open.wait_for(|open| !open) => {}
    }
}
