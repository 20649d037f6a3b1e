//! What `boathook new` makes, and what it refuses.

use std::{fs, path::Path};

use super::typed;

fn files(folder: &Path) -> Vec<String> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(next) = folders.pop() {
        for entry in fs::read_dir(next).unwrap() {
            let path = entry.unwrap().path();
            match path.is_dir() {
                true => folders.push(path),
                false => found.push(path.strip_prefix(folder).unwrap().display().to_string()),
            }
        }
    }
    found.sort();
    found
}

#[tokio::test]
async fn a_project_has_everything_that_it_needs_and_lies_where_it_was_asked_for() {
    let folder = tempfile::tempdir().unwrap();
    let made = typed(folder.path(), ["new", "web", "--dir", "hooks/first"]).await;
    assert_eq!(made.code, Some(0), "{}", made.stderr);
    let project = folder.path().join("hooks/first");
    let expected = [
        ".gitignore",
        "Cargo.lock",
        "Cargo.toml",
        "README.md",
        "scenarios/existing-namespaces.yaml",
        "scenarios/label-comes-and-goes.yaml",
        "src/lib.rs",
    ];
    let own: Vec<_> = files(&project).into_iter().filter(|file| !file.starts_with("boathook-sdk/")).collect();
    assert_eq!(own, expected);
    let mut printed: Vec<_> = made.stdout.lines().collect();
    assert_eq!(printed.pop(), Some("hooks/first/boathook-sdk/"));
    printed.sort_unstable();
    assert_eq!(printed, expected.map(|file| format!("hooks/first/{file}")));
    for file in ["Cargo.toml", "src/lib.rs", "wit/world.wit"] {
        assert!(project.join("boathook-sdk").join(file).is_file(), "{file}");
    }
    let manifest = fs::read_to_string(project.join("Cargo.toml")).unwrap();
    assert!(manifest.contains("name = \"web\"\n"), "{manifest}");
    assert!(manifest.contains("boathook-sdk = { path = \"boathook-sdk\" }\n"), "{manifest}");

    let made = typed(folder.path(), ["new", "web", "--published-sdk"]).await;
    assert_eq!(made.code, Some(0), "{}", made.stderr);
    assert!(!folder.path().join("web/boathook-sdk").exists() && !folder.path().join("web/Cargo.lock").exists());
    let manifest = fs::read_to_string(folder.path().join("web/Cargo.toml")).unwrap();
    let (major, minor) = (env!("CARGO_PKG_VERSION_MAJOR"), env!("CARGO_PKG_VERSION_MINOR"));
    assert!(manifest.contains(&format!("boathook-sdk = \"{major}.{minor}\"\n")), "{manifest}");
}

#[tokio::test]
async fn an_empty_folder_will_do_and_one_with_something_in_it_stays_as_it_is() {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("web")).unwrap();
    assert_eq!(typed(folder.path(), ["new", "web"]).await.code, Some(0));
    let before = files(folder.path());

    let again = typed(folder.path(), ["new", "web", "--from", "startup"]).await;
    assert_eq!(again.code, Some(1));
    assert!(again.stderr.contains("web is not empty: name another folder with --dir"), "{}", again.stderr);
    assert_eq!(files(folder.path()), before);

    fs::write(folder.path().join("file"), "").unwrap();
    let onto_a_file = typed(folder.path(), ["new", "web", "--dir", "file"]).await;
    assert_eq!(onto_a_file.code, Some(1));
    assert!(onto_a_file.stderr.contains("file is not a folder"), "{}", onto_a_file.stderr);
}

#[tokio::test]
async fn what_can_not_be_made_is_reported_with_what_can() {
    let folder = tempfile::tempdir().unwrap();
    for (arguments, code, part) in [
        (&["new", "My_Hook"] as &[&str], 1, "try `my-hook`"),
        (&["new", "../web"], 1, "try `web`"),
        (&["new", "fn"], 1, "try `fn-hook`"),
        (&["new", ""], 1, "lower-case letters"),
        (&["new"], 2, "<NAME>"),
        (&["new", "web", "--lang", "cobol"], 2, "[possible values: rust, go, ts, js, python, shell]"),
        (
            &["new", "web", "--from", "scratch"],
            2,
            "[possible values: label-watcher, module, operator, schedule, startup, validating]",
        ),
        (&["new", "web", "--lang", "shell", "--from", "operator"], 1, "Shell hooks cannot have `reconcile` bindings"),
        (&["new", "web", "--lang", "go", "--from", "module"], 1, "a new module has a hook in Shell: leave out --lang"),
        (&["new", "web-2", "--from", "module"], 1, "begin each part behind a '-' with a letter"),
        (&["new", "web", "--sdk-path", "nowhere"], 1, "cannot use the SDK in nowhere"),
        (&["new", "web", "--lang", "go", "--sdk-path", "."], 1, "no SDK for Go in .: it has no go.mod"),
        (&["new", "web", "--sdk-path", "."], 1, "no SDK for Rust in .: it has no Cargo.toml"),
        (&["new", "web", "--lang", "shell", "--sdk-path", "."], 1, "Shell hooks need no SDK: leave out --sdk-path"),
        (&["new", "web", "--lang", "ts", "--sdk-path", "."], 1, "no SDK for TypeScript in .: it has no package.json"),
    ] {
        let refused = typed(folder.path(), arguments).await;
        assert_eq!(refused.code, Some(code), "{arguments:?}: {}", refused.stderr);
        assert!(refused.stderr.contains(part), "{arguments:?}: no {part:?} in {}", refused.stderr);
        assert_eq!(files(folder.path()), [""; 0], "{arguments:?}");
    }
}
