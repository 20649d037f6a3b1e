//! The commands of the README and of the first-hook pages, typed as they are printed, in their order, by somebody who has
//! set nothing: an empty home, an empty folder, `boathook` and the languages' tools on PATH.
//!
//! Never asks a registry: what `npm install` brings is linked out of the repository, and Cargo's and Go's caches are the
//! machine's.

use std::{
    fs,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
    time::Duration,
};

use tokio::{process::Command, time::timeout};

use super::{BUILDING, fresh, repository, with_tools};
use crate::support::{
    cluster::TestCluster,
    guests::{cache_dir, has_go},
    process::{Ended, Process, terminate},
};

/// A first build compiles Rust's library too, and the interpreter of a script.
const PATIENCE: Duration = Duration::from_secs(400);

/// What a command says that has to compile an interpreter first.
const COMPILES: &str = "compiling the interpreter for this machine";

/// What is not typed with its page, and why not.
const NOT_HERE: [(&str, &str); 8] = [
    ("make install", "it makes a release build; the binary under test is on PATH"),
    ("make demo", "make_demo_comes_to_its_end does"),
    ("make test", "this is it"),
    ("rustup target add wasm32-wasip2", "a machine without rustup has tools/wasm-cargo"),
    ("cargo doc ", "it opens a browser"),
    ("boathook inspect mine.wasm", "componentize-py makes it, out of a registry"),
    ("boathook run mine.wasm", "componentize-py makes it, out of a registry"),
    ("kubectl ", "there is no kubectl here"),
];

/// Words of a line that are another's on each machine.
const PRINTED: &str = "/tmp/.tmpa1B2c3/kubeconfig";

/// Somebody at a terminal.
struct Author {
    home: PathBuf,
    at: PathBuf,
    /// What is compiled is kept here.
    cache: PathBuf,
    /// What runs until the page ends, or the next one of its sort begins; with its line.
    running: Option<(String, Process)>,
    kubeconfig: Option<String>,
    typed: Vec<String>,
    /// What the commands printed, each with its line.
    printed: Vec<(String, String)>,
}

/// The lines that a page tells to type: all of a `sh` block, and those with a prompt of a `console` block.
fn lines(page: &str) -> Vec<String> {
    let text = fs::read_to_string(repository().join(page)).unwrap();
    let (mut found, mut block) = (Vec::new(), None);
    for line in text.lines() {
        match (line.trim().strip_prefix("```"), &block) {
            (Some(info), None) => block = Some(info.to_owned()),
            (Some(_), Some(_)) => block = None,
            (None, Some(info)) if info == "sh" => found.push(line.to_owned()),
            (None, Some(info)) if info == "console" => found.extend(line.strip_prefix("$ ").map(str::to_owned)),
            _ => {}
        }
    }
    let bare = found.iter().map(|line| line.split("   #").next().unwrap_or_default().trim().to_owned());
    bare.filter(|line| !line.is_empty() && !line.starts_with('#')).collect()
}

impl Author {
    fn new(name: &str) -> Self {
        let folder = fresh(&format!("pages-{name}"));
        let (home, at) = (folder.join("home"), folder.join("work"));
        for folder in [&home.join("bin"), &at] {
            fs::create_dir_all(folder).unwrap();
        }
        symlink(env!("CARGO_BIN_EXE_boathook"), home.join("bin/boathook")).unwrap();
        let cache = cache_dir().parent().unwrap().to_owned();
        Self { home, at, cache, running: None, kubeconfig: None, typed: Vec::new(), printed: Vec::new() }
    }

    fn shell(&self, line: &str) -> Command {
        let mut command = Command::new("sh");
        command.arg("-c").arg(line).current_dir(&self.at).env_clear();
        with_tools(&mut command);
        let machine = std::env::var("HOME").unwrap_or_default();
        for (name, place) in
            [("CARGO_HOME", ".cargo"), ("RUSTUP_HOME", ".rustup"), ("GOCACHE", ".cache/go-build"), ("GOPATH", "go")]
        {
            command.env(name, std::env::var_os(name).unwrap_or_else(|| Path::new(&machine).join(place).into()));
        }
        let path = std::env::var("PATH").unwrap();
        command.env("PATH", format!("{}:{path}", self.home.join("bin").display()));
        command.env("HOME", &self.home);
        // Ports and the socket are the machine's.
        command.env("XDG_CACHE_HOME", &self.cache).env("NO_COLOR", "1");
        command.env("BOATHOOK_LISTEN", "127.0.0.1:0").env("BOATHOOK_ADMIN_SOCKET", "none");
        command
    }

    async fn types(&mut self, page: &str) {
        for line in lines(page) {
            for part in line.split(" && ") {
                self.typed.push(part.to_owned());
                self.line(part).await;
            }
        }
        self.stop().await;
    }

    async fn line(&mut self, line: &str) {
        let has_kubectl = || std::process::Command::new("kubectl").arg("version").arg("--client").output().is_ok();
        if let Some(folder) = line.strip_prefix("cd ") {
            self.at = self.at.join(folder);
            return assert!(self.at.is_dir(), "{}", self.told());
        }
        let left_out = NOT_HERE.iter().find(|(beginning, _)| line.starts_with(beginning));
        match left_out {
            Some(("kubectl ", _)) if has_kubectl() => self.ends(line).await,
            Some((_, why)) => eprintln!("not typed, since {why}: {line}"),
            None if line == "npm install" => self.install(),
            None if line.starts_with("boathook dev") => self.starts(line, "active after").await,
            None if line.starts_with("boathook serve") => self.starts(line, "listening").await,
            None => self.ends(line).await,
        }
    }

    /// What npm does with a folder, and with packages that are there.
    fn install(&self) {
        let manifest = fs::read_to_string(self.at.join("package.json")).unwrap();
        assert!(manifest.contains("\"@boathook/sdk\": \"file:boathook-sdk\""), "{manifest}");
        let (from, to) = (repository().join("hooks-wasm/js/node_modules"), self.at.join("node_modules"));
        assert!(from.join(".bin/esbuild").exists(), "hooks-wasm/js has no node_modules: run make scripts");
        fs::create_dir_all(to.join("@boathook")).unwrap();
        for entry in fs::read_dir(&from).unwrap().map(|entry| entry.unwrap().file_name()) {
            if entry != "@boathook" {
                symlink(from.join(&entry), to.join(&entry)).unwrap();
            }
        }
        symlink(self.at.join("boathook-sdk"), to.join("@boathook/sdk")).unwrap();
    }

    /// A command that comes to its end, and a good one.
    async fn ends(&mut self, line: &str) {
        let line = line.replace(PRINTED, self.kubeconfig.as_deref().unwrap_or(PRINTED));
        let _one_at_a_time = BUILDING.lock().await;
        let output = timeout(PATIENCE, self.shell(&line).kill_on_drop(true).output()).await.expect("it ends").unwrap();
        let text = |bytes| String::from_utf8_lossy(bytes).into_owned();
        let ended = Ended { code: output.status.code(), stderr: text(&output.stderr), stdout: text(&output.stdout) };
        assert_eq!(ended.code, Some(0), "{}\n{}\n{}", self.told(), ended.stdout, ended.stderr);
        self.printed.push((line, ended.stdout + "\n" + &ended.stderr));
    }

    /// A command that goes on, until it says this.
    async fn starts(&mut self, line: &str, says: &str) {
        self.stop().await;
        let _one_at_a_time = BUILDING.lock().await;
        let mut process = Process::start(self.shell(&format!("exec {line}")));
        let (mut out, mut err) = (process.stdout.clone(), process.stderr.clone());
        let said = |lines: &Vec<String>| lines.iter().any(|line| line.contains(says));
        let ended = timeout(PATIENCE, async {
            tokio::select! {
                Ok(_) = out.wait_for(said) => true,
                Ok(_) = err.wait_for(said) => true,
                else => false,
            }
        });
        let told = || {
            format!("{}\n{}\n{}", self.told(), process.stdout.borrow().join("\n"), process.stderr.borrow().join("\n"))
        };
        assert!(ended.await.is_ok_and(|said| said), "never {says:?}: {}", told());
        let kubectl = process.stdout.borrow_and_update().iter().find_map(|line| {
            Some(line.split_once("--kubeconfig ")?.1.split(' ').next().unwrap_or_default().to_owned())
        });
        self.kubeconfig = kubectl.or(self.kubeconfig.take());
        self.running = Some((line.to_owned(), process));
    }

    async fn stop(&mut self) {
        if let Some((line, process)) = self.running.take() {
            terminate(&process);
            let ended = process.ended().await;
            assert_eq!(ended.code, Some(0), "{}\n{}\n{}", self.told(), ended.stdout, ended.stderr);
            self.printed.push((line, ended.stdout + "\n" + &ended.stderr));
        }
    }

    fn told(&self) -> String {
        format!("typed so far:\n  {}", self.typed.join("\n  "))
    }

    /// Each page begins with a project, and leaves a component where all languages do.
    fn built(&self, name: &str) {
        assert!(self.at.join(format!("target/boathook/{name}.wasm")).is_file(), "{}", self.told());
        assert!(self.at.join("boathook-sdk").is_dir(), "{}", self.told());
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_readme_s_commands_do_what_it_says() {
    let cluster = TestCluster::start().await;
    let mut author = Author::new("readme");
    // The one that it takes for given.
    fs::write(author.at.join("dev.yaml"), cluster.cluster.kubeconfig()).unwrap();
    author.types("README.md").await;
    author.built("web");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_first_hook_in_rust_comes_by_typing_its_page() {
    let mut author = Author::new("rust");
    author.types("docs/first-hook.md").await;
    author.built("web");
    assert!(author.typed.iter().any(|line| line.starts_with("boathook dev")));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_first_hook_in_go_comes_by_typing_its_page() {
    if !has_go() {
        return eprintln!("left out: there is no Go");
    }
    let mut author = Author::new("go");
    author.types("docs/first-hook-go.md").await;
    author.built("web");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_first_hook_in_typescript_comes_by_typing_its_page() {
    let mut author = Author::new("ts");
    author.types("docs/first-hook-ts.md").await;
    author.built("web");
    let check = Path::new("node_modules/.bin/tsc").display().to_string() + " --project .";
    author.ends(&check).await;
}

/// The interpreter is compiled by the first command that needs it, which says so, and by no other.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_first_hook_in_python_comes_by_typing_its_page() {
    let mut author = Author::new("python");
    author.cache = author.home.join(".cache");
    author.types("docs/first-hook-python.md").await;
    author.built("web");
    let compiled = author.printed.iter().flat_map(|(line, text)| text.matches(COMPILES).map(move |_| line.as_str()));
    assert_eq!(compiled.collect::<Vec<_>>(), ["boathook build"]);
    assert!(author.printed.iter().any(|(line, _)| line == "boathook dev"), "{}", author.told());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_first_hook_in_bash_comes_by_typing_its_page() {
    if !has_go() {
        return eprintln!("left out: there is no Go, which builds the interpreter");
    }
    let mut author = Author::new("shell");
    // A debug build compiles the interpreter in minutes, once for all tests.
    crate::script::shell::sandbox().await;
    author.cache = crate::script::shell::cache_home();
    author.types("docs/first-hook-shell.md").await;
    assert!(author.at.join("target/boathook/web.wasm").is_file(), "{}", author.told());
    let tested = author.printed.iter().find(|(line, _)| line == "boathook test");
    assert!(tested.is_some_and(|(_, text)| text.contains("2 passed")), "{:?}", author.printed);
    assert!(author.printed.iter().any(|(line, _)| line == "boathook dev"), "{}", author.told());
}

/// The Makefile's own recipe, and not what it depends on: the program under test stands where a build would put it.
async fn makes(author: &mut Author, target: &str) -> String {
    let built = author.home.join("target");
    for profile in ["debug", "demo", "release"] {
        fs::create_dir_all(built.join(profile)).unwrap();
        symlink(env!("CARGO_BIN_EXE_boathook"), built.join(profile).join("boathook")).unwrap();
    }
    author.at = repository().to_owned();
    let there = "-o guest-registry-secret -o interpreters -o build";
    author.ends(&format!("make {there} {target} CARGO=true TARGET={}", built.display())).await;
    author.printed.pop().unwrap().1
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn make_demo_comes_to_its_end() {
    let mut author = Author::new("demo");
    let printed = makes(&mut author, "demo").await;
    let steps = ["the copy is there, ", "the copy follows, ", "it is back, ", "the copy is gone, "];
    let found: Vec<_> = steps.iter().map(|step| printed.find(step)).collect();
    assert!(found.iter().all(Option::is_some) && found.is_sorted(), "{printed}");
}
