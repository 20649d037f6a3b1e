//! Who can get at the socket, and who gets it when it is there already.

use std::{
    fs,
    os::unix::{
        fs::{DirBuilderExt, FileTypeExt, PermissionsExt},
        net::UnixListener,
    },
    path::{Path, PathBuf},
};

use boathook_core::tasks::Tasks;
use boathook_operator::admin::{Client, ClientError, Server, Socket, SocketError};
use http::StatusCode;

use super::{Asked, socket_in};
use crate::pipeline::fixture::guests;

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o7777
}

fn private(directory: &Path) -> PathBuf {
    let private = directory.join("private");
    fs::DirBuilder::new().mode(0o700).create(&private).unwrap();
    private
}

fn start(path: &Path) -> Result<Server, SocketError> {
    Server::start(&Socket::At(path.to_owned()), &Tasks::default()).map(|(server, _)| server.unwrap())
}

async fn answer(path: &Path) -> Result<String, ClientError> {
    let bytes = Client::new(vec![path.to_owned()]).get("/").await?;
    Ok(String::from_utf8(bytes.to_vec()).unwrap())
}

#[tokio::test]
async fn nobody_else_can_open_it() {
    let asked = Asked::start(&guests(["noop"])).await;
    let socket = asked.socket();
    assert!(fs::metadata(&socket).unwrap().file_type().is_socket());
    assert_eq!((mode(socket.parent().unwrap()), mode(&socket)), (0o700, 0o600));
    assert_eq!(answer(&socket).await.unwrap(), "boathook: alive\n");

    asked.pipeline.operator.shutdown().await;
    assert_eq!(fs::read_dir(socket.parent().unwrap()).unwrap().count(), 0, "nothing is left behind");
    assert!(matches!(answer(&socket).await, Err(ClientError::NoOperator { .. })));
}

// mutant: crates/operator/src/admin/server.rs: `Some(uid) if users.contains(&uid) => next.run(request).await,` => `Some(uid) if users.contains(&uid) || true => next.run(request).await,`
#[tokio::test]
async fn other_users_are_refused_even_when_they_could_open_it() {
    let directory = tempfile::tempdir().unwrap();
    let socket = socket_in(directory.path());
    let own = rustix::process::geteuid().as_raw();
    let (server, _) = Server::start_for(&Socket::At(socket.clone()), vec![own + 1], &Tasks::default()).unwrap();
    let Err(ClientError::Refused { status, text }) = answer(&socket).await else { panic!("it was let in") };
    assert_eq!(status, StatusCode::FORBIDDEN);
    assert!(text.contains("own user"), "{text}");
    drop(server);
}

#[tokio::test]
async fn a_stale_socket_is_replaced() {
    let directory = tempfile::tempdir().unwrap();
    let socket = private(directory.path()).join("admin.sock");
    drop(UnixListener::bind(&socket).unwrap());
    assert!(socket.exists(), "its owner died without removing it");
    let server = start(&socket).unwrap();
    assert_eq!(answer(&socket).await.unwrap(), "boathook: alive\n");
    server.shutdown().await;
    assert!(!socket.exists());
}

#[tokio::test]
async fn a_live_socket_is_left_alone() {
    let directory = tempfile::tempdir().unwrap();
    let socket = socket_in(directory.path());
    let first = start(&socket).unwrap();
    let error = start(&socket).unwrap_err();
    assert!(matches!(error, SocketError::Live { .. }), "{error}");
    assert!(error.to_string().contains(&*socket.to_string_lossy()) && error.to_string().contains("--admin-socket"));
    assert_eq!(answer(&socket).await.unwrap(), "boathook: alive\n", "the first one was not harmed");
    // One place taken is no reason to go to the next: nobody would look for it there.
    let places = Socket::FirstOf(vec![socket.clone(), directory.path().join("other/admin.sock")]);
    assert!(matches!(Server::start(&places, &Tasks::default()), Err(SocketError::Live { .. })));
    first.shutdown().await;

    // Another server at that address has no lock.
    let _other = UnixListener::bind(&socket).unwrap();
    assert!(matches!(start(&socket), Err(SocketError::Live { .. })));
}

#[tokio::test]
async fn operators_with_sockets_of_their_own_do_not_meet() {
    let directory = tempfile::tempdir().unwrap();
    let paths = ["a.sock", "b.sock"].map(|name| directory.path().join("private").join(name));
    let [first, second] = paths.each_ref().map(|path| start(path).unwrap());
    first.shutdown().await;
    assert!(!paths[0].exists());
    assert_eq!(answer(&paths[1]).await.unwrap(), "boathook: alive\n");
    second.shutdown().await;
}

#[tokio::test]
async fn places_that_can_not_be_used_are_errors_that_say_why() {
    let directory = tempfile::tempdir().unwrap();
    let refused = |path: PathBuf| start(&path).unwrap_err().to_string();

    let open = directory.path().join("open");
    fs::create_dir(&open).unwrap();
    fs::set_permissions(&open, fs::Permissions::from_mode(0o755)).unwrap();
    let error = refused(open.join("admin.sock"));
    assert!(error.contains("open to others") && error.contains("0755"), "{error}");
    assert_eq!(fs::read_dir(&open).unwrap().count(), 0);

    let file = private(directory.path()).join("file");
    fs::write(&file, "kept").unwrap();
    assert!(refused(file.clone()).contains("is not a socket"));
    assert_eq!(fs::read_to_string(&file).unwrap(), "kept");
    assert!(refused(file.join("admin.sock")).contains("cannot be used"));

    let long = directory.path().join("x".repeat(100)).join("admin.sock");
    let error = refused(long);
    assert!(error.contains("at most 107"), "{error}");
}

#[tokio::test]
async fn the_first_usable_place_is_taken() {
    let directory = tempfile::tempdir().unwrap();
    let nowhere = directory.path().join("missing/boathook/admin.sock");
    let usable = directory.path().join("boathook/admin.sock");
    let (server, errors) =
        Server::start(&Socket::FirstOf(vec![nowhere.clone(), usable.clone()]), &Tasks::default()).unwrap();
    assert_eq!((server.unwrap().path(), errors.len()), (&*usable, 1));
    let (server, errors) = Server::start(&Socket::FirstOf(vec![nowhere]), &Tasks::default()).unwrap();
    assert!(server.is_none() && errors.len() == 1);
}

#[tokio::test]
async fn questions_are_answered_with_not_yet_while_hooks_are_loaded() {
    let directory = tempfile::tempdir().unwrap();
    let socket = socket_in(directory.path());
    let _server = start(&socket).unwrap();
    let asked = Client::new(vec![socket]).hooks().await;
    let Err(ClientError::Refused { status, text }) = asked else { panic!("{asked:?}") };
    assert_eq!(status, StatusCode::SERVICE_UNAVAILABLE);
    assert!(text.contains("loading"), "{text}");
}
