//! Scripts for shells.

use std::path::Path;

use super::typed;

#[tokio::test]
async fn each_shell_has_a_script_that_knows_commands_and_flags() {
    for (shell, opens) in [
        ("bash", "_boathook() {"),
        ("zsh", "#compdef boathook"),
        ("fish", "# Print"),
        ("powershell", "using namespace System.Management.Automation"),
        ("elvish", "use builtin;"),
    ] {
        let script = typed(Path::new("."), ["completion", shell]).await;
        assert_eq!(script.code, Some(0), "{shell}: {}", script.stderr);
        assert!(script.stdout.contains(opens), "{shell}: {}", script.stdout);
        for word in ["inspect", "sdk-path", "dead-letters", "completion", "version"] {
            assert!(script.stdout.contains(word), "{shell} does not know {word}");
        }
        // Nobody types it.
        assert!(!script.stdout.contains("settings-worker"), "{shell}");
        assert_eq!(script.stderr, "");
    }
    let unknown = typed(Path::new("."), ["completion", "cmd"]).await;
    assert_eq!(unknown.code, Some(2));
    assert!(unknown.stderr.contains("[possible values: bash, elvish, fish, powershell, zsh]"), "{}", unknown.stderr);
}

/// bash itself says what can follow.
#[tokio::test]
async fn bash_completes_with_it() {
    let script = typed(Path::new("."), ["completion", "bash"]).await.stdout;
    let complete = r#"
        COMP_WORDS=(boathook new web --from ""); COMP_CWORD=4
        _boathook boathook "" --from
        printf '%s\n' "${COMPREPLY[@]}""#;
    // One argument of a process has at most 128 KiB.
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("completion.bash");
    std::fs::write(&file, format!("{script}\n{complete}")).unwrap();
    let mut bash = tokio::process::Command::new("bash");
    bash.args(["--norc", "--noprofile"]).arg(&file);
    let said = crate::support::process::run(bash).await;
    assert_eq!(said.stdout, "label-watcher\nmodule\noperator\nschedule\nstartup\nvalidating", "{}", said.stderr);
}
