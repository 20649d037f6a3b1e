//! What ends when it ends.

use std::{fs, os::unix::fs::PermissionsExt as _, path::Path};

use super::{Dev, command};
use crate::{author, support::until};

/// Cargo, but for builds: those go on for ever, in two processes that leave their ids.
const CARGO: &str = r#"#!/bin/sh
if [ "$1" != build ]; then exec "$CARGO_ITSELF" "$@"; fi
sleep 1000 &
echo $! > "$IDS/child"
echo $$ > "$IDS/leader.part" && mv "$IDS/leader.part" "$IDS/leader"
wait
"#;

/// Neither running nor waiting: one whose parent has not looked yet counts as ended.
fn has_ended(id: &str) -> bool {
    let stat = fs::read_to_string(format!("/proc/{id}/stat")).unwrap_or_default();
    stat.rsplit_once(')').is_none_or(|(_, rest)| rest.trim_start().starts_with('Z'))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_build_under_way_ends_with_it_and_all_that_it_started() {
    let folder = tempfile::tempdir().unwrap();
    author::project(folder.path(), "web", "startup").await;
    let (cargo, ids) = (folder.path().join("slow-cargo"), folder.path().join("ids"));
    fs::create_dir(&ids).unwrap();
    fs::write(&cargo, CARGO).unwrap();
    fs::set_permissions(&cargo, fs::Permissions::from_mode(0o755)).unwrap();
    let mut command = command(folder.path(), ["web"]);
    author::with_tools(&mut command);
    command.env("CARGO", &cargo).env("CARGO_ITSELF", env!("CARGO")).env("IDS", &ids);
    let mut dev = Dev::start(command);
    assert_eq!(dev.line("building").await["hook"], "web");
    let read = |name: &str| fs::read_to_string(Path::new(&ids).join(name)).ok().map(|id| id.trim().to_owned());
    let leader = until("the build began", async || read("leader")).await;
    let child = read("child").unwrap();
    assert!(!has_ended(&leader) && !has_ended(&child));
    let ended = dev.ended().await;
    assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), ""));
    for id in [leader, child] {
        until("the build's processes end", async || has_ended(&id).then_some(())).await;
    }
}
