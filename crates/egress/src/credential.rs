//! Adds a credential to a hook's request, after everything else about the request was checked. The hook has neither the
//! credential nor the request that has it, and redirects are not followed, so nobody but the one host receives it.

use std::{collections::HashMap, io, path::Path, time::SystemTime};

use aws_credential_types::Credentials;
use aws_sigv4::{
    http_request::{
        PayloadChecksumKind, PercentEncodingMode, SignableBody, SignableRequest, SigningSettings,
        UriPathNormalizationMode, sign,
    },
    sign::v4,
};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use boathook_core::model::{
    Caller, CredentialForm, CredentialProblem, CredentialProblemKind, CredentialValues, HttpCredential,
};
use futures::future::BoxFuture;
use http::{HeaderMap, HeaderName, HeaderValue, Method, Uri, header};
use secrecy::{ExposeSecret as _, SecretSlice, SecretString};
use tokio::{fs::File, io::AsyncReadExt as _};
use tracing::subscriber::{NoSubscriber, with_default};

use crate::OWN;

/// The longest value. Servers accept 8 KiB of one header.
const MAX_VALUE: usize = 8 * 1024;

const SIGNED: [HeaderName; 4] = [
    header::AUTHORIZATION,
    HeaderName::from_static("x-amz-date"),
    HeaderName::from_static("x-amz-security-token"),
    HeaderName::from_static("x-amz-content-sha256"),
];

/// Reads Secrets of the cluster.
pub trait Secrets: Send + Sync + 'static {
    /// The values of these keys of a Secret in the namespace of the caller's ServiceAccount, with its rights. `None` for a
    /// key that the Secret does not have.
    fn read<'a>(
        &'a self,
        caller: &'a Caller,
        name: &'a str,
        keys: &'a [&'a str],
    ) -> BoxFuture<'a, Result<Vec<Option<SecretSlice<u8>>>, CredentialProblem>>;
}

fn problem(kind: CredentialProblemKind, message: impl Into<String>) -> CredentialProblem {
    CredentialProblem { kind, message: message.into() }
}

pub(crate) fn invalid(message: impl Into<String>) -> CredentialProblem {
    problem(CredentialProblemKind::Invalid, message)
}

/// The headers that only the credential may set.
pub(crate) fn names(form: &CredentialForm) -> Result<Vec<HeaderName>, CredentialProblem> {
    match form {
        CredentialForm::Header { name, .. } => {
            let known = name.parse::<HeaderName>().ok().filter(|name| !OWN.contains(name));
            known.map(|name| vec![name]).ok_or_else(|| {
                invalid(format!("the header {name:?} is the operator's own, or is not the name of a header"))
            })
        }
        CredentialForm::Basic { .. } | CredentialForm::Bearer { .. } => Ok(vec![header::AUTHORIZATION]),
        CredentialForm::AwsSigV4 { .. } => Ok(SIGNED.to_vec()),
    }
}

/// A header of the credential that the hook sets itself. The request is refused, because the hook's author would not
/// expect that another value is sent.
pub(crate) fn taken(credential: &HttpCredential, of_hook: &HeaderMap) -> Result<Option<HeaderName>, CredentialProblem> {
    Ok(names(&credential.form)?.into_iter().find(|name| of_hook.contains_key(name)))
}

/// What a signature is about.
pub(crate) struct Signed<'a> {
    pub method: &'a Method,
    pub url: &'a Uri,
    pub headers: &'a HeaderMap,
    pub body: &'a [u8],
}

/// The headers that the credential adds to this request.
pub(crate) async fn headers_of(
    credential: &HttpCredential,
    secrets: Option<&dyn Secrets>,
    caller: &Caller,
    request: &Signed<'_>,
    now: SystemTime,
) -> Result<Vec<(HeaderName, HeaderValue)>, CredentialProblem> {
    let values = Values::read(credential, secrets, caller).await?;
    let names = names(&credential.form)?;
    let only = || names.first().cloned().unwrap_or(header::AUTHORIZATION);
    match &credential.form {
        CredentialForm::Header { prefix, key, .. } => {
            let value = SecretString::from(format!("{prefix}{}", values.text(key)?));
            Ok(vec![(only(), hidden(value.expose_secret())?)])
        }
        CredentialForm::Bearer { key } => {
            let value = SecretString::from(format!("Bearer {}", values.text(key)?));
            Ok(vec![(only(), hidden(value.expose_secret())?)])
        }
        CredentialForm::Basic { username, password } => {
            let (user, word) = (values.login(username)?, values.login(password)?);
            if user.contains(':') {
                return Err(invalid(format!("{}: it has a colon, which ends a user's name", values.place(username))));
            }
            let both = SecretString::from(format!("{user}:{word}"));
            let value = SecretString::from(format!("Basic {}", STANDARD.encode(both.expose_secret())));
            Ok(vec![(only(), hidden(value.expose_secret())?)])
        }
        CredentialForm::AwsSigV4 { access_key_id, secret_access_key, session_token, region, service } => {
            let token = session_token.as_deref().map(|key| values.text(key)).transpose()?;
            let (id, key) = (values.text(access_key_id)?, values.text(secret_access_key)?);
            let identity = Credentials::new(id, key, token.map(str::to_owned), None, "boathook").into();
            let params = v4::SigningParams::builder()
                .identity(&identity)
                .region(region)
                .name(service)
                .time(now)
                .settings(settings(service))
                .build()
                .map_err(|error| invalid(error.to_string()))?
                .into();
            signature(request, &params)
        }
    }
}

/// S3 takes paths as they are, and wants the hash of the body in a header.
fn settings(service: &str) -> SigningSettings {
    let mut settings = SigningSettings::default();
    if service == "s3" {
        settings.payload_checksum_kind = PayloadChecksumKind::XAmzSha256;
        settings.percent_encoding_mode = PercentEncodingMode::Single;
        settings.uri_path_normalization_mode = UriPathNormalizationMode::Disabled;
    }
    settings
}

fn signature(
    request: &Signed<'_>,
    params: &aws_sigv4::http_request::SigningParams<'_>,
) -> Result<Vec<(HeaderName, HeaderValue)>, CredentialProblem> {
    let unsigned = |error: &dyn std::error::Error| invalid(format!("the request cannot be signed: {error}"));
    let mut texts = Vec::with_capacity(request.headers.len());
    for (name, value) in request.headers {
        let value = std::str::from_utf8(value.as_bytes())
            .map_err(|_| invalid(format!("the request cannot be signed: the header {name} is not a text")))?;
        texts.push((name.as_str(), value));
    }
    let body = SignableBody::Bytes(request.body);
    let signable = SignableRequest::new(request.method.as_str(), request.url.to_string(), texts.into_iter(), body)
        .map_err(|error| unsigned(&error))?;
    // At its most talkative level, the crate shows the id of the access key.
    let signed = with_default(NoSubscriber::new(), || sign(signable, params));
    let (instructions, _) = signed.map_err(|error| unsigned(&error))?.into_parts();
    let (headers, _) = instructions.into_parts();
    let named = |name: &str| name.parse().map_err(|error| unsigned(&error));
    headers.iter().map(|header| Ok((named(header.name())?, hidden(header.value())?))).collect()
}

/// A value that no text of the request shows.
fn hidden(value: &str) -> Result<HeaderValue, CredentialProblem> {
    let mut value = HeaderValue::from_str(value).map_err(|_| invalid("it is not the value of a header"))?;
    value.set_sensitive(true);
    Ok(value)
}

/// The values of a credential by their keys. They are overwritten when this is dropped.
struct Values<'a> {
    credential: &'a HttpCredential,
    caller: &'a Caller,
    by_key: HashMap<&'a str, SecretSlice<u8>>,
}

impl<'a> Values<'a> {
    async fn read(
        credential: &'a HttpCredential,
        secrets: Option<&dyn Secrets>,
        caller: &'a Caller,
    ) -> Result<Self, CredentialProblem> {
        let keys = credential.keys();
        let read = match &credential.values {
            CredentialValues::Secret(name) => {
                let secrets = secrets.ok_or_else(|| invalid("there is no cluster whose Secrets can be read"))?;
                secrets.read(caller, name, &keys).await?
            }
            CredentialValues::Directory(directory) => {
                let mut read = Vec::with_capacity(keys.len());
                for key in &keys {
                    read.push(file(&directory.join(key)).await?);
                }
                read
            }
        };
        let mut values = Self { credential, caller, by_key: HashMap::with_capacity(keys.len()) };
        for (key, value) in keys.into_iter().zip(read) {
            let place = values.place(key);
            let missing = || problem(CredentialProblemKind::Missing, format!("{place}: there is no such key"));
            values.by_key.insert(key, value.ok_or_else(missing)?);
        }
        Ok(values)
    }

    /// The place of a value, which may be shown.
    fn place(&self, key: &str) -> String {
        match &self.credential.values {
            CredentialValues::Secret(name) => {
                let namespace = self.caller.identity.as_deref().map_or("", |identity| identity.namespace.as_str());
                format!("Secret {namespace}/{name}, key {key:?}")
            }
            CredentialValues::Directory(directory) => directory.join(key).display().to_string(),
        }
    }

    /// A value that stands in a header as it is.
    fn text(&self, key: &str) -> Result<&str, CredentialProblem> {
        let text = self.login(key)?;
        match text.is_ascii() {
            true => Ok(text),
            false => Err(invalid(format!("{}: it has characters beyond ASCII", self.place(key)))),
        }
    }

    /// A value that is encoded before it is in a header.
    fn login(&self, key: &str) -> Result<&str, CredentialProblem> {
        let wrong = |what: &str| invalid(format!("{}: {what}", self.place(key)));
        let bytes = self.by_key.get(key).map(|value| value.expose_secret()).unwrap_or_default();
        let text = std::str::from_utf8(bytes).map_err(|_| wrong("it is not a text"))?;
        if text.is_empty() {
            return Err(wrong("it is empty"));
        }
        if text.len() > MAX_VALUE {
            return Err(wrong(&format!("it is longer than {MAX_VALUE} bytes")));
        }
        if text.contains(|c: char| c.is_control()) {
            return Err(wrong(
                "it has a line break or another control character: store it without one, also at its end",
            ));
        }
        Ok(text)
    }
}

/// At most a byte more than a value may have.
async fn file(path: &Path) -> Result<Option<SecretSlice<u8>>, CredentialProblem> {
    let unread = |error: io::Error| {
        problem(CredentialProblemKind::Missing, format!("{} cannot be read: {error}", path.display()))
    };
    let file = match File::open(path).await {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(unread(error)),
    };
    let mut value = Vec::with_capacity(MAX_VALUE + 1);
    file.take(MAX_VALUE as u64 + 1).read_to_end(&mut value).await.map_err(unread)?;
    Ok(Some(value.into()))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::indexing_slicing)]
    use std::{
        sync::{Arc, Mutex},
        time::{Duration, UNIX_EPOCH},
    };

    use boathook_core::model::{HookName, HttpReason, Identity};
    use futures::FutureExt as _;
    use tracing_subscriber::fmt::MakeWriter;

    use super::*;
    use crate::{
        Allowed, Client, HookCredential, HttpConfig, Reach,
        testing::{BOUNDS, Server, caller, header, request},
    };

    const TOKEN: &str = "a-token-of-the-team";

    /// The Secrets of a cluster, by `NAMESPACE/NAME`.
    #[derive(Default)]
    struct Cluster(Mutex<HashMap<String, HashMap<String, Vec<u8>>>>);

    impl Cluster {
        fn with(namespace: &str, name: &str, data: &[(&str, &str)]) -> Arc<Self> {
            let cluster = Self::default();
            cluster.set(namespace, name, data);
            Arc::new(cluster)
        }

        fn set(&self, namespace: &str, name: &str, data: &[(&str, &str)]) {
            let data = data.iter().map(|(key, value)| ((*key).to_owned(), value.as_bytes().to_vec())).collect();
            self.0.lock().unwrap().insert(format!("{namespace}/{name}"), data);
        }
    }

    impl Secrets for Cluster {
        fn read<'a>(
            &'a self,
            caller: &'a Caller,
            name: &'a str,
            keys: &'a [&'a str],
        ) -> BoxFuture<'a, Result<Vec<Option<SecretSlice<u8>>>, CredentialProblem>> {
            let namespace = &caller.identity.as_ref().unwrap().namespace;
            let known = self.0.lock().unwrap();
            let found = known.get(&format!("{namespace}/{name}"));
            let missing = || problem(CredentialProblemKind::Missing, format!("there is no Secret {namespace}/{name}"));
            let values = |data: &HashMap<String, Vec<u8>>| {
                keys.iter().map(|key| data.get(*key).cloned().map(SecretSlice::from)).collect()
            };
            std::future::ready(found.map(values).ok_or_else(missing)).boxed()
        }
    }

    fn key(name: &str) -> String {
        name.to_owned()
    }

    fn bearer() -> CredentialForm {
        CredentialForm::Bearer { key: key("token") }
    }

    fn credential(host: &str, form: CredentialForm) -> HttpCredential {
        let values = CredentialValues::Secret("api".to_owned());
        let place = "spec.httpCredentials of HookBundle team/hooks".to_owned();
        HttpCredential { host: host.to_owned(), values, form, place }
    }

    fn at(server: &Server, form: CredentialForm) -> HttpCredential {
        credential(&format!("http://{}", server.address), form)
    }

    /// A hook of a HookBundle in the namespace `team`, which may request these servers.
    fn tenant(servers: &[&Server], credentials: &[HttpCredential]) -> Caller {
        let identity = Identity { namespace: "team".to_owned(), service_account: "hooks".to_owned() };
        let rules = servers.iter().map(|server| server.rule(&["*"], &[]));
        Caller { identity: Some(Arc::new(identity)), credentials: credentials.into(), ..caller(rules) }
    }

    /// A client whose admin allows these servers without TLS.
    fn client(servers: &[&Server], credentials: Vec<HookCredential>) -> Client {
        let insecure = servers.iter().map(|server| server.address.to_string()).collect();
        let reach = Reach::Public(Arc::new(Allowed { insecure, ..Allowed::default() }));
        Client::new(HttpConfig { reach, credentials, ..HttpConfig::default() }).unwrap()
    }

    fn lines(seen: &str, name: &str) -> Vec<String> {
        let begins = format!("{name}: ");
        seen.lines()
            .filter(|line| line.to_lowercase().starts_with(&begins))
            .map(|line| line[begins.len()..].to_owned())
            .collect()
    }

    #[tokio::test]
    async fn the_host_receives_the_credential_in_its_form() {
        let data = [("token", TOKEN), ("username", "hook"), ("password", "p\u{e4}ss:word")];
        let cluster = Cluster::with("team", "api", &data);
        let own = |prefix: &str| CredentialForm::Header {
            name: key("X-Api-Key"),
            prefix: prefix.to_owned(),
            key: key("token"),
        };
        for (form, name, value) in [
            (bearer(), "authorization", format!("Bearer {TOKEN}")),
            (own(""), "x-api-key", TOKEN.to_owned()),
            (own("Token "), "x-api-key", format!("Token {TOKEN}")),
            (
                CredentialForm::Basic { username: key("username"), password: key("password") },
                "authorization",
                format!("Basic {}", STANDARD.encode("hook:p\u{e4}ss:word")),
            ),
        ] {
            let server = Server::ok().await;
            let caller = tenant(&[&server], &[at(&server, form)]);
            let client = server.client().with_secrets(cluster.clone());
            let response = client.send(&caller, request("GET", &server.url("/")), BOUNDS).await.unwrap();
            assert_eq!(response.status, 200);
            assert_eq!(lines(&server.seen()[0], name), [value]);
        }
    }

    /// The hook requests what it is granted, and a server redirects it.
    // mutant: crates/egress/src/client.rs: `Some(_) => caller.credentials.iter().find(is_for),` => `Some(_) => caller.credentials.first(),`
    #[tokio::test]
    async fn no_other_host_receives_a_credential() {
        let other = Server::ok().await;
        let answer = format!("HTTP/1.1 307 Go\r\nlocation: {}\r\ncontent-length: 0\r\n\r\n", other.url("/"));
        let server = Server::start(answer).await;
        // The second one is for the same port with TLS.
        let credentials =
            [at(&server, bearer()), credential(&other.address.to_string(), bearer()), credential("a.io", bearer())];
        let caller = tenant(&[&server, &other], &credentials);
        let cluster = Cluster::with("team", "api", &[("token", TOKEN)]);
        let client = client(&[&server, &other], Vec::new()).with_secrets(cluster);
        let response = client.send(&caller, request("GET", &server.url("/")), BOUNDS).await.unwrap();
        assert_eq!(response.status, 307);
        assert_eq!(lines(&server.seen()[0], "authorization").len(), 1);
        assert!(other.seen().is_empty());
        client.send(&caller, request("GET", &other.url("/")), BOUNDS).await.unwrap();
        assert_eq!(lines(&other.seen()[0], "authorization"), [""; 0]);
    }

    // mutant: crates/egress/src/client.rs: `if let Some(name) = taken.map_err(|problem| failed(credential, problem))? {` => `if let Some(name) = None::<HeaderName> {`
    #[tokio::test]
    async fn a_hook_sends_no_header_in_place_of_a_credential() {
        let cluster = Cluster::with("team", "api", &[("token", TOKEN)]);
        let aws = CredentialForm::AwsSigV4 {
            access_key_id: key("token"),
            secret_access_key: key("token"),
            session_token: None,
            region: "r".to_owned(),
            service: "s3".to_owned(),
        };
        for (form, name) in [(bearer(), "Authorization"), (aws.clone(), "x-amz-date"), (aws, "X-Amz-Security-Token")] {
            let server = Server::ok().await;
            let caller = tenant(&[&server], &[at(&server, form)]);
            let client = server.client().with_secrets(cluster.clone());
            let mut sent = request("GET", &server.url("/"));
            sent.headers.push(header(name, b"of the hook"));
            let error = client.send(&caller, sent, BOUNDS).await.unwrap_err();
            assert_eq!(error.reason, HttpReason::Invalid, "{error}");
            assert!(
                error.message.contains(&format!("sets the header {}: leave it out", name.to_lowercase())),
                "{error}"
            );
            assert!(server.seen().is_empty());
        }
    }

    // mutant: crates/egress/src/credential.rs: `if text.contains(|c: char| c.is_control()) {` => `if false {`
    //     with: crates/egress/src/credential.rs: `HeaderValue::from_str(value)` => `HeaderValue::from_str(&value.replace(char::is_control, ""))`
    // mutant: crates/egress/src/credential.rs: `if text.len() > MAX_VALUE {` => `if false {`
    #[tokio::test]
    async fn a_value_that_cannot_be_sent_is_an_error_that_names_its_place() {
        let server = Server::ok().await;
        let caller = tenant(&[&server], &[at(&server, bearer())]);
        let long = "x".repeat(MAX_VALUE + 1);
        for (data, part) in [
            (vec![("token", "secret\r\nhost: evil.io")], "it has a line break"),
            (vec![("token", "secret\n")], "it has a line break"),
            (vec![("token", "secret\0")], "another control character"),
            (vec![("token", "")], "it is empty"),
            (vec![("token", "s\u{e9}cret")], "beyond ASCII"),
            (vec![("token", long.as_str())], "longer than"),
            (vec![("other", "secret")], "there is no such key"),
        ] {
            let client = server.client().with_secrets(Cluster::with("team", "api", &data));
            let error = client.send(&caller, request("GET", &server.url("/")), BOUNDS).await.unwrap_err();
            assert_eq!(error.reason, HttpReason::Credential, "{error}");
            for part in [part, "Secret team/api, key \"token\"", "HookBundle team/hooks"] {
                assert!(error.message.contains(part), "{error}");
            }
            assert!(!error.message.contains("secret") && error.message.len() < 500, "{error}");
            let checked = client.check_credential(&caller, &caller.credentials[0]).await.unwrap_err();
            assert!(checked.message.contains(part) && !checked.message.contains("secret"), "{checked}");
        }
        let client = server.client().with_secrets(Cluster::with("team", "another", &[("token", "secret")]));
        let error = client.send(&caller, request("GET", &server.url("/")), BOUNDS).await.unwrap_err();
        assert!(error.message.contains("there is no Secret team/api"), "{error}");
        let login = CredentialForm::Basic { username: key("username"), password: key("password") };
        let caller = tenant(&[&server], &[at(&server, login)]);
        let data = [("username", "a:secret"), ("password", "secret")];
        let client = server.client().with_secrets(Cluster::with("team", "api", &data));
        let error = client.send(&caller, request("GET", &server.url("/")), BOUNDS).await.unwrap_err();
        assert!(error.message.contains("colon") && !error.message.contains("secret"), "{error}");
        assert!(server.seen().is_empty());
    }

    #[tokio::test]
    async fn a_changed_secret_counts_from_the_next_request_on() {
        let server = Server::ok().await;
        let caller = tenant(&[&server], &[at(&server, bearer())]);
        let cluster = Cluster::with("team", "api", &[("token", "one")]);
        let client = server.client().with_secrets(cluster.clone());
        for token in ["one", "two"] {
            cluster.set("team", "api", &[("token", token)]);
            client.send(&caller, request("GET", &server.url("/")), BOUNDS).await.unwrap();
        }
        cluster.0.lock().unwrap().clear();
        assert!(client.send(&caller, request("GET", &server.url("/")), BOUNDS).await.is_err());
        let seen: Vec<_> = server.seen().iter().flat_map(|seen| lines(seen, "authorization")).collect();
        assert_eq!(seen, ["Bearer one", "Bearer two"]);
    }

    /// The files are those of a mounted Secret.
    // mutant: crates/egress/src/client.rs: `.filter(|one| one.hooks.contains(&caller.hook));` => `.filter(|_| true);`
    #[tokio::test]
    async fn the_admins_credentials_are_for_the_admins_hooks_that_are_named() {
        let (server, directory) = (Server::ok().await, tempfile::tempdir().unwrap());
        std::fs::write(directory.path().join("token"), TOKEN).unwrap();
        let values = CredentialValues::Directory(directory.path().to_owned());
        let of_admin = HttpCredential { values, ..at(&server, bearer()) };
        let own = HookCredential { hooks: vec![HookName::new("h").unwrap()], credential: of_admin };
        let client = client(&[&server], vec![own]);
        let named = caller([server.rule(&["*"], &[])]);
        let other = Caller { hook: HookName::new("other").unwrap(), ..named.clone() };
        for caller in [&named, &other, &tenant(&[&server], &[])] {
            client.send(caller, request("GET", &server.url("/")), BOUNDS).await.unwrap();
        }
        let seen: Vec<_> = server.seen().iter().map(|seen| lines(seen, "authorization").concat()).collect();
        assert_eq!(seen, [format!("Bearer {TOKEN}"), String::new(), String::new()]);
        std::fs::write(directory.path().join("token"), "two").unwrap();
        client.send(&named, request("GET", &server.url("/")), BOUNDS).await.unwrap();
        assert_eq!(lines(&server.seen()[3], "authorization"), ["Bearer two"]);
        std::fs::remove_file(directory.path().join("token")).unwrap();
        let error = client.send(&named, request("GET", &server.url("/")), BOUNDS).await.unwrap_err();
        assert!(
            error.message.contains(&format!("{}: there is no such key", directory.path().join("token").display())),
            "{error}"
        );
    }

    // mutant: crates/egress/src/client.rs: `if pattern.is_plain() && !Connector::new(&self.inner.config.reach, &url).may_be_plain(&url) {` => `if false {`
    // mutant: crates/egress/src/client.rs: `if !rules.any(|rule| rule.covers_host(&credential.host)) {` => `if false {`
    #[tokio::test]
    async fn what_can_never_be_sent_is_refused_before_a_request() {
        let cluster = Cluster::with("team", "api", &[("token", TOKEN)]);
        let server = Server::ok().await;
        let closed = client(&[], Vec::new()).with_secrets(cluster);
        let own = |name: &str| CredentialForm::Header { name: key(name), prefix: String::new(), key: key("token") };
        let caller = tenant(&[&server], &[]);
        for (credential, part) in [
            (at(&server, bearer()), "--http-insecure-host 127.0.0.1:"),
            (credential("*.a.io", bearer()), "is not one host"),
            (credential("https://a.io", bearer()), "is not one host"),
            (credential("a.io", own("Host")), "the operator's own"),
            (credential("a.io", own("a b")), "not the name of a header"),
        ] {
            let problem = closed.check_declared(&credential).unwrap_err();
            assert_eq!(problem.kind, CredentialProblemKind::Invalid);
            assert!(problem.message.contains(part) && problem.message.contains("HookBundle team/hooks"), "{problem}");
            assert_eq!(closed.check_credential(&caller, &credential).await, Err(problem));
        }
        let elsewhere = closed.check_credential(&caller, &credential("a.io", bearer())).await.unwrap_err();
        assert!(elsewhere.message.contains("no rule grants requests to a.io"), "{elsewhere}");
        assert_eq!(server.client().check_declared(&at(&server, bearer())), Ok(()));
    }

    #[derive(Clone, Default)]
    struct Text(Arc<Mutex<Vec<u8>>>);

    impl io::Write for Text {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    impl<'a> MakeWriter<'a> for Text {
        type Writer = Self;

        fn make_writer(&'a self) -> Self {
            self.clone()
        }
    }

    fn aws(service: &str, session_token: Option<&str>) -> CredentialForm {
        CredentialForm::AwsSigV4 {
            access_key_id: key("id"),
            secret_access_key: key("secret"),
            session_token: session_token.map(key),
            region: "us-east-1".to_owned(),
            service: service.to_owned(),
        }
    }

    /// All that this process can say, at the most talkative level.
    // mutant: crates/egress/src/credential.rs: `value.set_sensitive(true);` => ``
    #[tokio::test]
    async fn no_line_and_no_error_has_a_value() {
        let text = Text::default();
        let lines = tracing_subscriber::fmt().with_max_level(tracing::Level::TRACE).with_writer(text.clone()).finish();
        let _here = tracing::subscriber::set_default(lines);
        let data =
            [("token", TOKEN), ("id", "AKIDOFTHETEAM"), ("secret", "a-key-of-the-team"), ("session", "a-session")];
        let cluster = Cluster::with("team", "api", &data);
        let (ok, broken) = (Server::ok().await, Server::start("no HTTP\r\n\r\n").await);
        for server in [&ok, &broken] {
            for form in [bearer(), aws("s3", Some("session"))] {
                let caller = tenant(&[server], &[at(server, form.clone())]);
                let client = server.client().with_secrets(cluster.clone());
                let sent = client.send(&caller, request("GET", &server.url("/")), BOUNDS).await;
                tracing::info!(?caller, ?sent, "what is known of it");
                let url: Uri = "https://a.io/".parse().unwrap();
                let about = Signed { method: &Method::GET, url: &url, headers: &HeaderMap::new(), body: b"" };
                let secrets: &dyn Secrets = &*cluster;
                let made =
                    headers_of(&caller.credentials[0], Some(secrets), &caller, &about, UNIX_EPOCH).await.unwrap();
                tracing::info!(?made, "its headers");
            }
        }
        assert_eq!(ok.seen().len(), 2);
        let text = String::from_utf8(text.0.lock().unwrap().clone()).unwrap();
        assert!(text.contains("what is known of it") && text.contains("Sensitive"), "{text}");
        for (_, value) in data {
            assert!(!text.contains(value), "{value}: {text}");
        }
    }

    /// The values of an example of AWS's documentation.
    async fn signed(
        (service, secret): (&str, &str),
        (method, url): (Method, &str),
        own: &[(&'static str, &'static str)],
        body: &[u8],
        seconds: u64,
    ) -> HashMap<String, String> {
        let (url, mut headers): (Uri, _) = (url.parse().unwrap(), HeaderMap::new());
        for (name, value) in own {
            headers.insert(*name, HeaderValue::from_static(value));
        }
        let id = if service == "s3" { "AKIAIOSFODNN7EXAMPLE" } else { "AKIDEXAMPLE" };
        let cluster = Cluster::with("team", "api", &[("id", id), ("secret", secret), ("session", "a-session")]);
        let session = (service == "sts").then_some("session");
        let (credential, caller) = (credential("a.io", aws(service, session)), tenant(&[], &[]));
        let about = Signed { method: &method, url: &url, headers: &headers, body };
        let secrets: &dyn Secrets = &*cluster;
        let now = UNIX_EPOCH + Duration::from_secs(seconds);
        let made = headers_of(&credential, Some(secrets), &caller, &about, now).await.unwrap();
        made.iter().map(|(name, value)| (name.to_string(), value.to_str().unwrap().to_owned())).collect()
    }

    #[tokio::test]
    async fn requests_are_signed_as_aws_documents_it() {
        let form = ("content-type", "application/x-www-form-urlencoded; charset=utf-8");
        let users = "https://iam.amazonaws.com/?Action=ListUsers&Version=2010-05-08";
        let secret = "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY";
        let made = signed(("iam", secret), (Method::GET, users), &[form], b"", 1_440_938_160).await;
        assert_eq!(made["x-amz-date"], "20150830T123600Z");
        assert_eq!(
            made["authorization"],
            "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20150830/us-east-1/iam/aws4_request, \
             SignedHeaders=content-type;host;x-amz-date, \
             Signature=5d672d79c15b13162d9279b0855cfba6789a8edb4c82c400e06b5924a6f2b5d7"
        );
        let object = "https://examplebucket.s3.amazonaws.com/test.txt";
        let secret = "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY";
        let made = signed(("s3", secret), (Method::GET, object), &[("range", "bytes=0-9")], b"", 1_369_353_600).await;
        assert_eq!(made["x-amz-content-sha256"], "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
        assert_eq!(
            made["authorization"],
            "AWS4-HMAC-SHA256 Credential=AKIAIOSFODNN7EXAMPLE/20130524/us-east-1/s3/aws4_request, \
             SignedHeaders=host;range;x-amz-content-sha256;x-amz-date, \
             Signature=f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41"
        );
        // The body is a part of what is signed, and the session's token is sent.
        let sign = async |body: &'static [u8]| signed(("sts", secret), (Method::POST, users), &[], body, 1).await;
        let (one, other) = (sign(b"one").await, sign(b"other").await);
        assert_ne!(one["authorization"], other["authorization"]);
        assert_eq!(one["x-amz-security-token"], "a-session");
    }
}
