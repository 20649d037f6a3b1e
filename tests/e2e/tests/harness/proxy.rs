//! A TCP proxy in front of a server, which can cut every connection, let no new one through, and
//! keep connections open without passing anything on.
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
    rules: watch::Sender<Rules>,
    counts: Arc<Counts>,
}

/// What becomes of connections, which are numbered from 1.
#[derive(Clone, Copy, Default)]
struct Rules {
    /// New ones are let through, and old ones go on.
    open: bool,
    /// Those up to this number are reset.
    reset: usize,
    /// Those up to this number carry nothing any more.
    frozen: usize,
}

impl Rules {
    fn resets(self, connection: usize) -> bool {
        !self.open || connection <= self.reset
    }

    fn stops(self, connection: usize) -> bool {
        self.resets(connection) || connection <= self.frozen
    }
}

#[derive(Default)]
struct Counts {
    accepted: AtomicUsize,
    turned_away: AtomicUsize,
    reset: AtomicUsize,
}

impl Proxy {
    /// A port that refuses connections, and that nobody else can get, until [`Proxy::open`]. Then it leads to the API server.
    pub fn closed(cluster: &Cluster) -> Self {
        Self::to(cluster.address.clone())
    }

    /// [`Proxy::closed`], for the server at an address.
    pub fn to(target: String) -> Self {
        let socket = TcpSocket::new_v4().expect("make a socket");
        socket.bind("127.0.0.1:0".parse().expect("an address")).expect("bind a port");
        let address = socket.local_addr().expect("the port that was bound").to_string();
        Self { address, target, reserved: Some(socket), rules: watch::Sender::default(), counts: Arc::default() }
    }

    /// A proxy that lets everything through.
    pub fn start(cluster: &Cluster) -> Self {
        let mut proxy = Self::closed(cluster);
        proxy.open();
        proxy
    }

    /// Lets new connections through.
    pub fn open(&mut self) {
        self.rules.send_modify(|rules| rules.open = true);
        if let Some(socket) = self.reserved.take() {
            let listener = socket.listen(BACKLOG).expect("listen on a bound port");
            let (rules, counts) = (self.rules.subscribe(), self.counts.clone());
            RUNTIME.spawn(accept(listener, self.target.clone(), rules, counts));
        }
    }

    /// Resets every connection, and every new one until [`Proxy::open`].
    pub fn cut(&self) {
        self.counts.turned_away.store(0, Ordering::Relaxed);
        self.rules.send_modify(|rules| rules.open = false);
    }

    /// Resets every connection that there is; new ones are let through.
    pub fn reset(&self) {
        let accepted = self.counts.accepted.load(Ordering::Relaxed);
        self.rules.send_modify(|rules| rules.reset = accepted);
    }

    /// Passes nothing on any more through the connections that there are, and leaves them open, as when
    /// a machine on the way goes down; new ones are let through.
    pub fn freeze(&self) {
        let accepted = self.counts.accepted.load(Ordering::Relaxed);
        self.rules.send_modify(|rules| rules.frozen = accepted);
    }

    /// How many connections were turned away since [`Proxy::cut`].
    pub fn turned_away(&self) -> usize {
        self.counts.turned_away.load(Ordering::Relaxed)
    }

    /// How many connections were reset after they had been let through.
    pub fn were_reset(&self) -> usize {
        self.counts.reset.load(Ordering::Relaxed)
    }
}

/// Ends with the proxy, whose end of the watch channel it listens to.
async fn accept(listener: TcpListener, target: String, mut rules: watch::Receiver<Rules>, counts: Arc<Counts>) {
    loop {
        let client = tokio::select! {
            accepted = listener.accept() => accepted,
            () = dropped(&mut rules) => return,
        };
        let Ok((client, _)) = client else { continue };
        if rules.borrow().open {
            let number = counts.accepted.fetch_add(1, Ordering::Relaxed) + 1;
            RUNTIME.spawn(relay(client, number, target.clone(), rules.clone(), counts.clone()));
        } else {
            counts.turned_away.fetch_add(1, Ordering::Relaxed);
            let _ = client.set_zero_linger();
        }
    }
}

async fn relay(
    mut client: TcpStream,
    number: usize,
    target: String,
    mut rules: watch::Receiver<Rules>,
    counts: Arc<Counts>,
) {
    let Ok(mut server) = TcpStream::connect(target).await else {
        return;
    };
    tokio::select! {
        _ = copy_bidirectional(&mut client, &mut server) => return,
        _ = rules.wait_for(|rules| rules.stops(number)) => {}
    }
    // A frozen connection waits for its end here, and both sockets with it.
    let _ = rules.wait_for(|rules| rules.resets(number)).await;
    counts.reset.fetch_add(1, Ordering::Relaxed);
    // A reset, as from a machine that lost its memory, rather than a polite end.
    let _ = client.set_zero_linger();
}

async fn dropped(rules: &mut watch::Receiver<Rules>) {
    while rules.changed().await.is_ok() {}
}
