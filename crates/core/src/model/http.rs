//! Outbound HTTP: what a hook may request, the request and its response. Pure. A name is never resolved here.

use std::{fmt, net::Ipv6Addr, time::Duration};

use serde::{Deserialize, Serialize};

/// The methods that read only. A run in which nothing is written sends no others.
pub const READING: [&str; 2] = ["GET", "HEAD"];

/// One entry of `permissions.http[]`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct HttpRule {
    /// See [`HostPattern`].
    pub hosts: Vec<String>,
    /// In upper case, or `*` for all. Default: [`READING`].
    #[serde(default = "reading")]
    pub methods: Vec<String>,
    /// Each a whole path, or a beginning and `*`. Empty: all paths.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub paths: Vec<String>,
}

fn reading() -> Vec<String> {
    READING.map(str::to_owned).to_vec()
}

/// One line: `GET, HEAD at api.example.com under /v1/*`.
impl fmt::Display for HttpRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} at {}", self.methods.join(", "), self.hosts.join(", "))?;
        if !self.paths.is_empty() {
            write!(f, " under {}", self.paths.join(", "))?;
        }
        Ok(())
    }
}

/// A host of a rule: `api.example.com`, `*.example.com` for every host below it, `api.example.com:8443` for another
/// port than the scheme's own, and `http://api.example.com` for a host without TLS.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HostPattern<'a> {
    tls: bool,
    /// Whether `name` stands for what is below it.
    below: bool,
    name: &'a str,
    port: u16,
}

impl<'a> HostPattern<'a> {
    /// Returns `None` if the text is not a pattern. Such a rule allows nothing.
    pub fn parse(text: &'a str) -> Option<Self> {
        let (tls, rest) = text.strip_prefix("http://").map_or((true, text), |rest| (false, rest));
        let (host, port) = match rest.rsplit_once(':').filter(|(host, _)| !host.starts_with('[') || host.ends_with(']'))
        {
            Some((host, port)) if port.starts_with(|c: char| matches!(c, '1'..='9')) => (host, port.parse().ok()?),
            Some(_) => return None,
            None => (rest, usual_port(tls)),
        };
        let (below, name) = host.strip_prefix("*.").map_or((false, host), |name| (true, name));
        let valid = is_dns_name(name) || (!below && is_ipv6(name));
        // One way to write a host, so that patterns can be compared as texts.
        let is_usual = port == usual_port(tls) && rest.len() != host.len();
        (valid && !is_usual).then_some(Self { tls, below, name, port })
    }

    /// Whether it stands for one host, and not for all below a name.
    pub fn is_one(&self) -> bool {
        !self.below
    }

    /// Whether a request goes to such a host without TLS.
    pub fn is_plain(&self) -> bool {
        !self.tls
    }

    pub(super) fn matches(&self, target: &HttpTarget<'_>) -> bool {
        self.tls == target.tls && self.port == target.port && self.has(target.host)
    }

    fn has(&self, host: &str) -> bool {
        if !self.below {
            return host == self.name;
        }
        host.strip_suffix(self.name).and_then(|rest| rest.strip_suffix('.')).is_some_and(|rest| !rest.is_empty())
    }

    /// Whether every host of the other pattern is one of this one.
    fn covers(&self, other: &Self) -> bool {
        let same = (self.tls, self.port) == (other.tls, other.port);
        same && (self == other || (self.below && self.has(other.name)))
    }
}

/// The port of a scheme.
pub fn usual_port(tls: bool) -> u16 {
    if tls { 443 } else { 80 }
}

/// Whether this is a name in lower case, or an IPv4 address.
pub fn is_dns_name(name: &str) -> bool {
    let label = |label: &str| {
        let inner = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-' || c == '_';
        (1..=63).contains(&label.len()) && label.chars().all(inner)
    };
    name.len() <= 253 && name.split('.').all(label)
}

fn is_ipv6(host: &str) -> bool {
    let address = host.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
    address.is_some_and(|text| text.parse::<Ipv6Addr>().is_ok_and(|address| address.to_string() == text))
}

/// How often the escapes of a path are replaced to see what it means.
const ROUNDS: usize = 4;

/// Where a request goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HttpTarget<'a> {
    pub method: &'a str,
    pub tls: bool,
    /// In lower case. An IPv6 address stands in brackets, in its usual form.
    pub host: &'a str,
    pub port: u16,
    /// Without the query.
    pub path: &'a str,
}

impl HttpTarget<'_> {
    /// Whether the path means one place. Servers differ in what they make of `..`, so a path with it could leave what a
    /// rule allows.
    pub fn is_plain(&self) -> bool {
        let step = |segment: &str| {
            let name = segment.split(';').next().unwrap_or_default();
            name == "." || name == ".."
        };
        let goes_on = |path: &str| !path.split(['/', '\\']).any(step) && !path.contains(|c: char| c.is_ascii_control());
        let Some(mut path) = decoded(self.path) else { return false };
        // Some servers replace escapes again. A path that needs more rounds than any of them makes is refused.
        for _ in 0..ROUNDS {
            if !self.path.starts_with('/') || !goes_on(&path) {
                return false;
            }
            // In later rounds, an escape that is not complete is a text: `100%` was written as `100%25`.
            match decoded(&path) {
                Some(again) if again != path => path = again,
                _ => return true,
            }
        }
        false
    }

    /// Whether one of the rules allows the request.
    pub fn is_allowed<'r>(&self, rules: impl IntoIterator<Item = &'r HttpRule>) -> bool {
        self.is_plain() && rules.into_iter().any(|rule| self.is_within(rule))
    }

    fn is_within(&self, rule: &HttpRule) -> bool {
        let under = |path: &String| match path.strip_suffix('*') {
            Some(beginning) => self.path.starts_with(beginning),
            None => path == self.path,
        };
        rule.methods.iter().any(|method| method == "*" || method == self.method)
            && rule.hosts.iter().filter_map(|host| HostPattern::parse(host)).any(|host| host.matches(self))
            && (rule.paths.is_empty() || rule.paths.iter().any(under))
    }
}

/// The path with its escapes replaced once. `None`: an escape is not complete.
fn decoded(path: &str) -> Option<String> {
    let mut bytes = path.bytes();
    let mut text = Vec::with_capacity(path.len());
    while let Some(byte) = bytes.next() {
        if byte != b'%' {
            text.push(byte);
            continue;
        }
        let (high, low) = (char::from(bytes.next()?).to_digit(16)?, char::from(bytes.next()?).to_digit(16)?);
        text.push(u8::try_from(high * 16 + low).ok()?);
    }
    Some(String::from_utf8_lossy(&text).into_owned())
}

/// The longest path of a rule, as in the definition of HookBundles.
const MAX_PATH: usize = 1024;

const METHODS: [&str; 8] = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "*"];

impl HttpRule {
    /// The words that cannot be used: the place of each, and what is wrong with it.
    pub fn problems(&self) -> Vec<(String, String)> {
        let good_path = |path: &str| {
            let whole = path.strip_suffix('*').unwrap_or(path);
            whole.starts_with('/')
                && path.len() <= MAX_PATH
                && !whole.contains(['*', '?', '#'])
                && whole.bytes().all(|byte| byte.is_ascii_graphic())
        };
        type Good<'g> = &'g dyn Fn(&str) -> bool;
        let lists: [(&str, &Vec<String>, Good<'_>, &str); 3] = [
            (
                "hosts",
                &self.hosts,
                &|host| HostPattern::parse(host).is_some(),
                "write \"api.example.com\", \"*.example.com\", with a port if it is not 443, and \"http://\" before a host \
                 without TLS",
            ),
            (
                "methods",
                &self.methods,
                &|method| METHODS.contains(&method),
                "allowed: GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS, *",
            ),
            ("paths", &self.paths, &good_path, "write a path without a query, such as \"/v1/items\" or \"/v1/*\""),
        ];
        let wrong = |(key, words, good, hint): (&str, &Vec<String>, Good<'_>, &str)| {
            let wrong = words.iter().enumerate().filter(|(_, word)| !good(word));
            wrong.map(|(at, word)| (format!("{key}[{at}]"), format!("is {word:?}; {hint}"))).collect::<Vec<_>>()
        };
        lists.into_iter().flat_map(wrong).collect()
    }

    /// The lists with their names, for bounds on their lengths.
    pub(super) fn lengths(&self) -> [(&'static str, usize); 3] {
        [("hosts", self.hosts.len()), ("methods", self.methods.len()), ("paths", self.paths.len())]
    }

    /// Whether this rule allows the method at every place of the host pattern and the path pattern. `None`: all paths.
    pub(super) fn covers(&self, method: &str, host: &str, path: Option<&str>) -> bool {
        let has_path = |path: &str| {
            let within = |rule: &String| match rule.strip_suffix('*') {
                Some(beginning) => path.strip_suffix('*').unwrap_or(path).starts_with(beginning),
                None => rule == path,
            };
            self.paths.iter().any(within)
        };
        self.methods.iter().any(|one| one == "*" || one == method)
            && (self.paths.is_empty() || path.is_some_and(has_path))
            && self.covers_host(host)
    }

    /// Whether this rule is about every host of the host pattern.
    pub fn covers_host(&self, host: &str) -> bool {
        let Some(asked) = HostPattern::parse(host) else { return false };
        self.hosts.iter().filter_map(|host| HostPattern::parse(host)).any(|host| host.covers(&asked))
    }
}

/// A request that a hook makes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct HttpRequest {
    pub method: String,
    /// With scheme, host, path and query.
    pub url: String,
    pub headers: Vec<HttpHeader>,
    pub body: HttpBody,
}

/// What a server answered.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct HttpResponse {
    pub status: u16,
    pub headers: Vec<HttpHeader>,
    pub body: HttpBody,
}

/// A header's name, in lower case, and its value.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HttpHeader(pub String, pub HttpBody);

/// Bytes that are a text in most cases. Records show such texts as they are.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "Written", into = "Written")]
pub struct HttpBody(pub Vec<u8>);

#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum Written {
    Text(String),
    Bytes(Vec<u8>),
}

impl From<HttpBody> for Written {
    fn from(HttpBody(bytes): HttpBody) -> Self {
        String::from_utf8(bytes).map_or_else(|error| Self::Bytes(error.into_bytes()), Self::Text)
    }
}

impl From<Written> for HttpBody {
    fn from(written: Written) -> Self {
        match written {
            Written::Text(text) => Self(text.into_bytes()),
            Written::Bytes(bytes) => Self(bytes),
        }
    }
}

/// What a request may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HttpBounds {
    /// The most bytes of a response, with its headers.
    pub response: usize,
    /// The time that the hook gives the request. The host may give it less.
    pub time: Option<Duration>,
}

impl HttpRequest {
    /// The bytes that it passes.
    pub fn bytes(&self) -> usize {
        self.method.len() + self.url.len() + header_bytes(&self.headers) + self.body.0.len()
    }
}

impl HttpResponse {
    /// The bytes that it passes.
    pub fn bytes(&self) -> usize {
        header_bytes(&self.headers) + self.body.0.len()
    }
}

fn header_bytes(headers: &[HttpHeader]) -> usize {
    headers.iter().map(|HttpHeader(name, value)| name.len() + value.0.len()).sum()
}

/// Why a request got no response.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum HttpReason {
    /// No permission allows it, or the operator's admin does not.
    Denied,
    /// The host is not at an address that may be connected to.
    Address,
    /// The run only plans, so nothing that could change something is sent.
    NotSent,
    /// A limit of the run, or of a request.
    Limit,
    /// The name has no address.
    Name,
    /// There is no connection, or it ended early.
    Connection,
    /// TLS failed: in most cases, the certificate is not one that is trusted.
    Tls,
    Timeout,
    /// It is not a request that can be sent.
    Invalid,
    /// The credential for its host cannot be used.
    Credential,
}

impl HttpReason {
    /// The name in logs and metrics.
    pub fn label(self) -> &'static str {
        match self {
            Self::Denied => "denied",
            Self::Address => "address",
            Self::NotSent => "not-sent",
            Self::Limit => "limit",
            Self::Name => "name",
            Self::Connection => "connection",
            Self::Tls => "tls",
            Self::Timeout => "timeout",
            Self::Invalid => "invalid",
            Self::Credential => "credential",
        }
    }
}

/// A request that got no response.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error, Serialize, Deserialize)]
#[error("{message}")]
pub struct HttpError {
    pub reason: HttpReason,
    /// For people: the request, the cause and the remedy.
    pub message: String,
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::indexing_slicing)]
    use super::*;

    fn list(words: &[&str]) -> Vec<String> {
        words.iter().map(|word| (*word).to_owned()).collect()
    }

    fn rule(hosts: &[&str], methods: &[&str], paths: &[&str]) -> HttpRule {
        HttpRule { hosts: list(hosts), methods: list(methods), paths: list(paths) }
    }

    fn target<'a>(method: &'a str, host: &'a str, path: &'a str) -> HttpTarget<'a> {
        HttpTarget { method, tls: true, host, port: 443, path }
    }

    // mutant: crates/core/src/model/http.rs: `self.tls == target.tls && self.port == target.port` => `self.port == target.port`
    // mutant: crates/core/src/model/http.rs: `self.tls == target.tls && self.port == target.port` => `self.tls == target.tls`
    // mutant: crates/core/src/model/http.rs: `.and_then(|rest| rest.strip_suffix('.'))` => ``
    // mutant: crates/core/src/model/http.rs: `.is_some_and(|rest| !rest.is_empty())` => `.is_some()`
    #[test]
    fn a_host_is_allowed_as_it_is_written() {
        let plain = |host, port| HttpTarget { tls: false, port, ..target("GET", host, "/") };
        let tls = |host, port| HttpTarget { port, ..target("GET", host, "/") };
        for (pattern, allowed, refused) in [
            (
                "a.io",
                vec![tls("a.io", 443)],
                vec![tls("a.io", 8443), plain("a.io", 443), plain("a.io", 80), tls("b.a.io", 443), tls("xa.io", 443)],
            ),
            ("a.io:8443", vec![tls("a.io", 8443)], vec![tls("a.io", 443)]),
            ("http://a.io", vec![plain("a.io", 80)], vec![tls("a.io", 443), tls("a.io", 80)]),
            (
                "*.a.io",
                vec![tls("b.a.io", 443), tls("c.b.a.io", 443)],
                vec![tls("a.io", 443), tls(".a.io", 443), tls("xa.io", 443), tls("a.io.evil.com", 443)],
            ),
            ("[2001:db8::1]:8443", vec![tls("[2001:db8::1]", 8443)], vec![tls("[2001:db8::1]", 443)]),
            ("10.0.0.1", vec![tls("10.0.0.1", 443)], vec![tls("10.0.0.2", 443)]),
        ] {
            let rules = [rule(&[pattern], &["GET"], &[])];
            for target in allowed {
                assert!(target.is_allowed(&rules), "{pattern} {target:?}");
            }
            for target in refused {
                assert!(!target.is_allowed(&rules), "{pattern} {target:?}");
            }
        }
    }

    #[test]
    fn what_is_no_pattern_allows_nothing() {
        for text in [
            "",
            "*",
            "*.",
            "a..io",
            "A.io",
            "a.io:",
            "a.io:0",
            "a.io:65536",
            "a.io:443",
            "a.io:+8443",
            "a.io:08443",
            "http://a.io:80",
            "https://a.io",
            "a.*.io",
            "*.*.io",
            "a.io/v1",
            "u@a.io",
            "[::1",
            "[0:0::1]",
            "*.[::1]",
            "a b",
        ] {
            assert_eq!(HostPattern::parse(text), None, "{text}");
        }
        assert!(HostPattern::parse("http://a.io:443").is_some() && HostPattern::parse("a.io:80").is_some());
    }

    // mutant: crates/core/src/model/http.rs: `self.is_plain() && rules` => `rules`
    // mutant: crates/core/src/model/http.rs: `path.split(['/', '\\'])` => `path.split(['/'])`
    // mutant: crates/core/src/model/http.rs: `Some(again) if again != path => path = again,` => `Some(again) if again != path => return true,`
    // mutant: crates/core/src/model/http.rs: `!path.contains(|c: char| c.is_ascii_control())` => `true`
    // mutant: crates/core/src/model/http.rs: `segment.split(';')` => `segment.split('?')`
    #[test]
    fn a_path_cannot_leave_what_is_allowed() {
        let rules = [rule(&["a.io"], &["GET"], &["/v1/*", "/healthz"])];
        for path in
            ["/v1/", "/v1/x", "/v1/a%2Fb", "/v1/..x", "/v1/x..", "/v1//x", "/v1/100%25", "/v1/a%252Fb", "/healthz"]
        {
            assert!(target("GET", "a.io", path).is_allowed(&rules), "{path}");
        }
        for path in [
            "/",
            "/v1",
            "/v2/x",
            "/healthz/",
            "/V1/x",
            "/v1/../admin",
            "/v1/%2e%2e/admin",
            "/v1/..%2fadmin",
            "/v1/..\\admin",
            "/v1/.%5c..%5cadmin",
            "/v1/..;/admin",
            "/v1/.",
            "/v1/%",
            "/v1/%0",
            "/v1/%00",
            "/v1/%0d%0aHost:evil.io",
            "/v1/%252e%252e/admin",
            "/v1/%25252e./admin",
            "/v1/..%253b/admin",
            "/v1/%2525252525252561",
            "v1/",
        ] {
            assert!(!target("GET", "a.io", path).is_allowed(&rules), "{path}");
        }
    }

    #[test]
    fn words_that_cannot_be_used_are_found() {
        let good = rule(&["a.io", "http://*.b.io:8080"], &["GET", "*"], &["/", "/v1/*", "/a%20b"]);
        assert_eq!(good.problems(), []);
        for (rule, place) in [
            (rule(&["a.io", "*"], &["GET"], &[]), "hosts[1]"),
            (rule(&["a.io"], &["get"], &[]), "methods[0]"),
            (rule(&["a.io"], &["CONNECT"], &[]), "methods[0]"),
            (rule(&["a.io"], &["GET"], &["/", "v1"]), "paths[1]"),
            (rule(&["a.io"], &["GET"], &["/*/x"]), "paths[0]"),
            (rule(&["a.io"], &["GET"], &["/x?y"]), "paths[0]"),
            (rule(&["a.io"], &["GET"], &["/a b"]), "paths[0]"),
            (rule(&["a.io"], &["GET"], &[&"/x".repeat(513)]), "paths[0]"),
        ] {
            let problems = rule.problems();
            assert_eq!((problems.len(), problems[0].0.as_str()), (1, place), "{rule}");
        }
    }

    #[test]
    fn methods_are_those_that_are_named() {
        let get = [rule(&["a.io"], &["GET"], &[])];
        assert!(target("GET", "a.io", "/").is_allowed(&get));
        for method in ["POST", "get", "GE", "*"] {
            assert!(!target(method, "a.io", "/").is_allowed(&get), "{method}");
        }
        assert!(target("PATCH", "a.io", "/").is_allowed(&[rule(&["a.io"], &["*"], &[])]));
    }

    #[test]
    fn bodies_are_texts_where_they_can_be() {
        for (bytes, json) in [(&b"ok"[..], "\"ok\""), (&[0xff, 1][..], "[255,1]")] {
            let body = HttpBody(bytes.to_vec());
            assert_eq!(serde_json::to_string(&body).unwrap(), json);
            assert_eq!(serde_json::from_str::<HttpBody>(json).unwrap(), body);
        }
    }
}
