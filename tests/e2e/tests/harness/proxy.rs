//! A TCP proxy in front of an API server, which can cut every connection and let no new one through.
//! It never looks at what it carries.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::io::copy_bidirectional;
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::sync::watch;

use super::cluster::Cluster;
use super::test::RUNTIME;

/// Connections that wait to be accepted.
const BACKLOG: u32 = 1024;

pub struct Proxy {
    /// Where it listens: `127.0.0.1:PORT`.
    pub address: String,
    target: String,
    reserved: Option<TcpSocket>,
    open: watch::Sender<bool>,
    turned_away: Arc<AtomicUsize>,
}

impl Proxy {
    /// A port that refuses connections, and that nobody else can get, until [`Proxy::open`].
    pub fn closed(cluster: &Cluster) -> Self {
        let socket = TcpSocket::new_v4().expect("make a socket");
        socket.bind("127.0.0.1:0".parse().expect("an address")).expect("bind a port");
        let address = socket.local_addr().expect("the port that was bound").to_string();
        Self {
            address,
            target: cluster.address.clone(),
            reserved: Some(socket),
            open: watch::Sender::new(false),
            turned_away: Arc::default(),
        }
    }

    /// A proxy that lets everything through.
    pub fn start(cluster: &Cluster) -> Self {
        let mut proxy = Self::closed(cluster);
        proxy.open();
        proxy
    }

    /// Lets new connections through.
    pub fn open(&mut self) {
        self.open.send_replace(true);
        if let Some(socket) = self.reserved.take() {
            let listener = socket.listen(BACKLOG).expect("listen on a bound port");
            let (open, turned_away) = (self.open.subscribe(), self.turned_away.clone());
            RUNTIME.spawn(accept(listener, self.target.clone(), open, turned_away));
        }
    }

    /// Resets every connection, and every new one until [`Proxy::open`].
    pub fn cut(&self) {
        self.turned_away.store(0, Ordering::Relaxed);
        self.open.send_replace(false);
    }

    /// How many connections were turned away since [`Proxy::cut`].
    pub fn turned_away(&self) -> usize {
        self.turned_away.load(Ordering::Relaxed)
    }
}

/// Ends with the proxy, whose end of the watch channel it listens to.
async fn accept(listener: TcpListener, target: String, mut open: watch::Receiver<bool>, turned_away: Arc<AtomicUsize>) {
    loop {
        let client = tokio::select! {
            accepted = listener.accept() => accepted,
            () = dropped(&mut open) => return,
        };
        let Ok((client, _)) = client else { continue };
        if *open.borrow() {
            RUNTIME.spawn(relay(client, target.clone(), open.clone()));
        } else {
            turned_away.fetch_add(1, Ordering::Relaxed);
            let _ = client.set_zero_linger();
        }
    }
}

async fn relay(mut client: TcpStream, target: String, mut open: watch::Receiver<bool>) {
    let Ok(mut server) = TcpStream::connect(target).await else {
        return;
    };
    tokio::select! {
        _ = copy_bidirectional(&mut client, &mut server) => {}
        _ = open.wait_for(|open| !open) => {
            // A reset, as from a machine that lost its memory, rather than a polite end.
            let _ = client.set_zero_linger();
        }
    }
}

async fn dropped(open: &mut watch::Receiver<bool>) {
    while open.changed().await.is_ok() {}
}
