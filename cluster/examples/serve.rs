//! Serves a local cluster until Ctrl-C: `cargo run -p boathook-cluster --example serve -- KUBECONFIG`.
//!
//! Never detaches.

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let file = std::env::args().nth(1).unwrap_or_else(|| "kubeconfig.yaml".to_owned());
    let cluster = boathook_cluster::Cluster::start(Default::default()).await?;
    tokio::fs::write(&file, cluster.kubeconfig()).await?;
    println!("export KUBECONFIG={file}");
    tokio::signal::ctrl_c().await?;
    cluster.shutdown().await;
    Ok(())
}
