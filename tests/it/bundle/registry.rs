//! A real registry on a free loopback port, which ends with the test.

use std::{
    io::{BufRead as _, BufReader},
    path::Path,
    process::{Child, Command, Stdio},
};

use boathook_bundle::{Connect, Credentials, Descriptor, Place, Reference};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
};

/// `team:secret`, as htpasswd -B writes it.
const PASSWORDS: &str = "team:$2b$04$abcdefghijklmnopqrstuu2r9OfJnfCsdneAXAGHnS4UpFFP8WIrW\n";

pub struct Registry {
    child: Child,
    directory: TempDir,
    pub host: String,
}

impl Drop for Registry {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Registry {
    /// It is away from now on.
    pub fn end(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    pub fn start() -> Self {
        Self::with("")
    }

    /// Which wants a login.
    pub fn private() -> Self {
        Self::with("auth: {htpasswd: {realm: test, path: PASSWORDS}}\n")
    }

    /// With TLS by an authority of its own; gives the authority's certificate.
    pub fn tls() -> (Self, Vec<u8>) {
        let own = rcgen::generate_simple_self_signed(vec!["127.0.0.1".to_owned()]).unwrap();
        let files = tempfile::tempdir().unwrap();
        let (certificate, key) = (files.path().join("tls.crt"), files.path().join("tls.key"));
        std::fs::write(&certificate, own.cert.pem()).unwrap();
        std::fs::write(&key, own.signing_key.serialize_pem()).unwrap();
        let tls = format!("  tls: {{certificate: {}, key: {}}}\n", certificate.display(), key.display());
        (Self::with(&tls), own.cert.pem().into_bytes())
    }

    fn with(more: &str) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path();
        let passwords = root.join("passwords");
        std::fs::write(&passwords, PASSWORDS).unwrap();
        let more = more.replace("PASSWORDS", passwords.to_str().unwrap());
        let config = format!(
            "version: 0.1\nlog: {{level: info}}\nstorage: {{filesystem: {{rootdirectory: {}}}}}\nhttp:\n  addr: '127.0.0.1:0'\n{more}",
            root.join("data").display()
        );
        let file = root.join("config.yml");
        std::fs::write(&file, config).unwrap();
        let tool = Path::new(env!("CARGO_MANIFEST_DIR")).join("tools/docker-registry");
        let mut child = Command::new(tool)
            .args(["serve".as_ref(), file.as_os_str()])
            .env("OTEL_TRACES_EXPORTER", "none")
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
        let mut said = Vec::new();
        let host = loop {
            let Some(Ok(line)) = lines.next() else { panic!("the registry did not start:\n{}", said.join("\n")) };
            if let Some((_, rest)) = line.split_once("listening on ") {
                break rest.split(['"', ' ', ',']).next().unwrap().to_owned();
            }
            said.push(line);
        };
        // It stops when nobody reads what it says.
        std::thread::spawn(move || lines.for_each(drop));
        Self { child, directory, host }
    }

    pub fn reference(&self, rest: &str) -> Reference {
        format!("{}/{rest}", self.host).parse().unwrap()
    }

    pub fn place(&self, rest: &str) -> Place {
        Place::registry(&self.reference(rest), &plain("")).unwrap()
    }

    /// Puts an image there, as `docker push` does. Layers come with their media types.
    pub async fn push_image(&self, repository: &str, tag: &str, layers: &[(&str, Vec<u8>)]) {
        let mut described = Vec::new();
        for (media_type, bytes) in layers.iter().map(|(kind, bytes)| (*kind, bytes.as_slice())) {
            described.push(self.push_blob(repository, media_type, bytes).await);
        }
        let config = br#"{"architecture":"amd64","os":"linux","config":{},"rootfs":{"type":"layers","diff_ids":[]}}"#;
        let config = self.push_blob(repository, "application/vnd.oci.image.config.v1+json", config).await;
        let media_type = "application/vnd.oci.image.manifest.v1+json";
        let manifest = json!({"schemaVersion": 2, "mediaType": media_type, "config": config, "layers": described});
        let path = format!("/v2/{repository}/manifests/{tag}");
        let answer = self.send("PUT", &path, media_type, manifest.to_string().as_bytes()).await;
        assert!(answer.starts_with("HTTP/1.1 201"), "{answer}");
    }

    async fn push_blob(&self, repository: &str, media_type: &str, bytes: &[u8]) -> Value {
        let descriptor = Descriptor::of(media_type, bytes);
        let begun = self.send("POST", &format!("/v2/{repository}/blobs/uploads/"), "text/plain", b"").await;
        let location = begun.lines().find_map(|line| line.strip_prefix("Location: ")).expect(&begun);
        let path = location.split_once(&self.host).map_or(location, |(_, path)| path);
        let path = format!("{path}&digest={}", descriptor.digest);
        let answer = self.send("PUT", &path, "application/octet-stream", bytes).await;
        assert!(answer.starts_with("HTTP/1.1 201"), "{answer}");
        serde_json::to_value(descriptor).unwrap()
    }

    async fn send(&self, method: &str, path: &str, content_type: &str, body: &[u8]) -> String {
        let mut stream = TcpStream::connect(&self.host).await.unwrap();
        let head = format!(
            "{method} {path} HTTP/1.1\r\nHost: {}\r\nContent-Type: {content_type}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
            self.host,
            body.len()
        );
        stream.write_all(&[head.as_bytes(), body].concat()).await.unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.unwrap();
        answer
    }

    /// The registry's file of a blob.
    pub fn file(&self, digest: &str) -> std::path::PathBuf {
        let hex = digest.strip_prefix("sha256:").unwrap();
        let below = format!("data/docker/registry/v2/blobs/sha256/{}/{hex}/data", &hex[..2]);
        self.directory.path().join(below)
    }
}

/// Without TLS, with the logins of a docker config.
pub fn plain(config: &str) -> Connect {
    let credentials = match config {
        "" => Credentials::default(),
        config => Credentials::from_docker_config(config.as_bytes()).unwrap(),
    };
    Connect { plain_http: true, credentials, ..Connect::default() }
}
