//! From the version before this one, with HookBundles at work.

use std::sync::Arc;

use super::{Node, book};

/// The manifests of the version before are kept beside this file; its image is this one's under another name, for no
/// version has been released yet.
pub async fn from_the_version_before(node: Arc<Node>) {
    let before = include_str!("install-before.yaml");
    node.sh("image=$(sed -n 's/^ *image: *\\(.*boathook:.*\\)/\\1/p' deploy/install.yaml); ctr images tag --force $image ${image%:*}:before").await;
    node.apply_text("before.yaml", before).await;
    node.available().await;
    node.team_at_work().await;
    let pod = node.pod().await;
    for command in book::section("admin/upgrade.md", "The operator").commands {
        node.sh(&command).await;
    }
    node.until("another Pod runs", async || {
        let now = node.pod().await;
        if now["metadata"]["uid"] == pod["metadata"]["uid"] { Err("it is the same") } else { Ok(()) }
    })
    .await;
    node.bundle_is_ready("hooks").await;
    node.meddles("upgraded").await;
    node.images_are_reviewed().await;
}
