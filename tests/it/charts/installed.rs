//! The code of the chart engine, compiled when it is installed.

use std::fs;

use boathook_sandbox::{Sandbox, SandboxConfig, compile_interpreter};
use tempfile::tempdir;

use super::{bounds, interpreters, left_out, rendered, request, small, template};

#[tokio::test]
async fn an_installed_engine_is_compiled_once_and_named() {
    if left_out().await {
        return;
    }
    let folder = tempdir().unwrap();
    let found = fs::read_dir(interpreters()).unwrap().map(|entry| entry.unwrap().path());
    let from = found.into_iter().find(|path| path.file_name().unwrap().to_str().unwrap().starts_with("helm-")).unwrap();
    let file = folder.path().join(from.file_name().unwrap());
    fs::copy(&from, &file).unwrap();
    let first = compile_interpreter(&file).unwrap();
    assert!(!first.kept && first.bytes > 1_000_000, "{first:?}");
    assert!(compile_interpreter(&file).unwrap().kept);

    let config = SandboxConfig {
        interpreters: vec![folder.path().to_owned()],
        charts: bounds(),
        compiles_interpreter: Some(|| panic!("it is compiled already")),
        ..small()
    };
    let sandbox = Sandbox::new(config).unwrap();
    let one = rendered(&sandbox, request(template("a: {{ .Release.Namespace }}"))).await.unwrap();
    assert_eq!(one.manifests[0].text, "a: web");
    let component = sandbox.charts().component().await.unwrap();
    assert_eq!(component.name, "helm");
    assert_eq!(format!("helm-{}.wasm", component.version), from.file_name().unwrap().to_str().unwrap());
}
