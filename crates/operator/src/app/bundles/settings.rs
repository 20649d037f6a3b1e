//! Whether a bundle's settings fit its schema.
//!
//! A tenant writes the schema, and its evaluation can take any time, memory and stack. It is therefore evaluated in a
//! separate process, which is ended at its bounds, and never in this process. That worker never loads what a schema
//! refers to outside of itself. Bounds that can be read off the schema are checked first.

use std::{
    collections::{HashMap, VecDeque},
    io,
    path::PathBuf,
    process::ExitCode,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use boathook_bundle::MAX_SETTINGS_SCHEMA;
use boathook_core::{
    child::{self, Bounds, Cause, Failed, Work},
    fair::Tenant,
    model::BundleId,
};
use boathook_sandbox::Sandbox;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest as _, Sha256};

use crate::hookbundle::MAX_SETTINGS;

/// The maximum number of verdicts that are remembered.
const MAX_KNOWN: usize = 4096;
/// How long the same check waits after it ended without a verdict. The wait doubles each further time.
const FIRST_WAIT: Duration = Duration::from_secs(10);
const LONGEST_WAIT: Duration = Duration::from_secs(3600);
/// A worker's code, its own data, and its buffers for question and answer, in addition to what the schema takes.
const BASE: u64 = 24 * 1024 * 1024;

/// How settings are checked against a bundle's schema.
#[derive(Debug, Clone)]
pub struct SettingsConfig {
    /// The program to start. It has to call [`serve`].
    pub command: PathBuf,
    /// Its arguments. Default: `settings-worker`.
    pub args: Vec<String>,
    /// The memory for one check, in bytes. Default: 168 MiB.
    pub memory: u64,
    /// The CPU time for one check, in whole seconds. Default: 2 s.
    pub cpu: Duration,
    /// The maximum duration of one check. Default: 20 s.
    pub deadline: Duration,
}

impl SettingsConfig {
    /// Returns the defaults, with this command.
    pub fn new(command: impl Into<PathBuf>) -> Self {
        Self {
            command: command.into(),
            args: vec!["settings-worker".to_owned()],
            memory: boathook_core::memory::SETTINGS - STACK as u64 - BASE,
            cpu: Duration::from_secs(2),
            deadline: Duration::from_secs(20),
        }
    }

    /// Returns the defaults, with this process's own executable.
    pub fn of_this_process() -> io::Result<Self> {
        Ok(Self::new(std::env::current_exe()?))
    }
}

/// Checks settings, and remembers the verdicts.
pub(super) struct Checker {
    config: SettingsConfig,
    /// A check takes the place of the compiler.
    sandbox: Arc<Sandbox>,
    known: Mutex<Known>,
}

/// The result of a check.
enum Verdict {
    Fits,
    Refused(String),
    /// The check did not end, so the answer is unknown.
    Unknown(String),
}

impl Checker {
    pub fn new(config: SettingsConfig, sandbox: Arc<Sandbox>) -> Self {
        Self { config, sandbox, known: Mutex::default() }
    }

    /// Returns the settings as hooks get them, in one line. The error says what is wrong, and where.
    pub async fn check(&self, id: &BundleId, settings: Option<&str>, schema: Option<&str>) -> Result<String, String> {
        let settings = one_line(settings)?;
        let Some(schema) = schema else { return Ok(settings) };
        if schema.len() as u64 > MAX_SETTINGS_SCHEMA {
            return Err(broken(&format!("it has {} bytes, and {MAX_SETTINGS_SCHEMA} are allowed", schema.len())));
        }
        let digest = digest(&settings, schema);
        if let Some(verdict) = self.known().verdict(&digest, Instant::now()) {
            return verdict.map(|()| settings);
        }
        let _place = self.sandbox.child(&tenant(id)).await;
        // The same settings may have been checked in the meantime.
        if let Some(verdict) = self.known().verdict(&digest, Instant::now()) {
            return verdict.map(|()| settings);
        }
        let verdict = self.follow(&settings, schema).await;
        self.known().keep(digest, verdict, Instant::now()).map(|()| settings)
    }

    async fn follow(&self, settings: &str, schema: &str) -> Verdict {
        let question = Question { settings: settings.to_owned(), schema: schema.to_owned() };
        let question = match serde_json::to_vec(&question) {
            Ok(question) => question,
            Err(error) => return Verdict::Unknown(error.to_string()),
        };
        let config = &self.config;
        let memory = config.memory.saturating_add(STACK as u64).saturating_add(BASE);
        let work = Work {
            command: &config.command,
            args: &config.args,
            bounds: Bounds { memory, cpu: Some(config.cpu.as_secs().max(1)), time: None },
            deadline: config.deadline,
            max_output: 0,
        };
        match work.ask(&question).await {
            Ok(_) => Verdict::Fits,
            Err(Failed::Refused(why)) => Verdict::Refused(why),
            Err(Failed::Ended(cause @ (Cause::Time | Cause::Memory | Cause::Stack))) => {
                let took = match cause {
                    Cause::Time => format!("{:?} of CPU time or {:?}", config.cpu, config.deadline),
                    Cause::Memory => format!("{} bytes of memory", config.memory),
                    _ => format!("{} bytes of stack", STACK),
                };
                Verdict::Unknown(broken(&format!(
                    "to check the settings takes more than {took}: use fewer references ($ref) that lead to each other"
                )))
            }
            Err(Failed::Ended(cause)) => {
                Verdict::Unknown(format!("they cannot be checked, and are tried again: {cause}"))
            }
            Err(Failed::Start(error)) => {
                Verdict::Unknown(format!("they cannot be checked, and are tried again: {error}"))
            }
        }
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn tenant(id: &BundleId) -> Tenant {
    match &id.namespace {
        Some(namespace) => Tenant::namespace(namespace),
        None => Tenant::hook(&id.name),
    }
}

/// The problem is in the schema, not in the settings.
fn broken(why: &str) -> String {
    format!("the bundle's settings.schema.json cannot be used: {why}")
}

fn one_line(settings: Option<&str>) -> Result<String, String> {
    let text = settings.unwrap_or("{}");
    if text.len() > MAX_SETTINGS {
        return Err(format!("they have {} bytes, and {MAX_SETTINGS} are allowed", text.len()));
    }
    let value: Value = serde_json::from_str(text).map_err(|error| format!("they are not JSON: {error}"))?;
    if !value.is_object() {
        return Err("they must be a JSON object, with the settings' names as its keys".to_owned());
    }
    Ok(value.to_string())
}

type Digest = [u8; 32];

fn digest(settings: &str, schema: &str) -> Digest {
    let parts = Sha256::new().chain_update(settings.len().to_le_bytes()).chain_update(settings);
    parts.chain_update(schema).finalize().into()
}

/// Verdicts by the digest of settings and schema. A HookBundle is checked again and again, and a bad one must cost only
/// once.
#[derive(Default)]
struct Known {
    verdicts: HashMap<Digest, Remembered>,
    /// The digests, oldest first.
    order: VecDeque<Digest>,
}

struct Remembered {
    verdict: Result<(), String>,
    /// `None` if the verdict is permanent.
    until: Option<Instant>,
    /// The number of checks in a row that did not end.
    failures: u32,
}

impl Known {
    fn verdict(&self, digest: &Digest, now: Instant) -> Option<Result<(), String>> {
        let known = self.verdicts.get(digest)?;
        known.until.is_none_or(|until| now < until).then(|| known.verdict.clone())
    }

    fn keep(&mut self, digest: Digest, verdict: Verdict, now: Instant) -> Result<(), String> {
        let before = self.verdicts.get(&digest).map(|known| known.failures);
        let remembered = match verdict {
            Verdict::Fits => Remembered { verdict: Ok(()), until: None, failures: 0 },
            Verdict::Refused(why) => Remembered { verdict: Err(why), until: None, failures: 0 },
            Verdict::Unknown(why) => {
                let failures = before.unwrap_or(0);
                let wait = FIRST_WAIT.saturating_mul(2_u32.saturating_pow(failures)).min(LONGEST_WAIT);
                Remembered { verdict: Err(why), until: Some(now + wait), failures: failures.saturating_add(1) }
            }
        };
        let reported = remembered.verdict.clone();
        if before.is_none() {
            self.order.push_back(digest);
            if self.order.len() > MAX_KNOWN
                && let Some(oldest) = self.order.pop_front()
            {
                self.verdicts.remove(&oldest);
            }
        }
        self.verdicts.insert(digest, remembered);
        reported
    }
}

/// The maximum depth of objects and arrays in a schema.
const MAX_DEPTH: usize = 64;
/// The maximum number of references in a schema.
const MAX_REFERENCES: usize = 1000;
/// The stack on which a schema is evaluated. Each reference and each nested value takes some of it.
const STACK: usize = 64 * 1024 * 1024;
/// The maximum size of a refusal in bytes.
const MAX_TEXT: usize = 4096;
/// The URL of the schema itself. Nothing is ever loaded from it.
const PLACE: &str = "boathook:settings.schema.json";

/// The question to the worker.
#[derive(Serialize, Deserialize)]
struct Question {
    pub settings: String,
    pub schema: String,
}

/// Answers one question on the standard streams. Call it from a process that does nothing else.
pub fn serve(bounds: Bounds) -> ExitCode {
    child::serve(bounds, STACK, |question| {
        let Question { settings, schema } = serde_json::from_slice(&question).map_err(|error| error.to_string())?;
        hold(&settings, &schema).map(|()| Vec::new()).map_err(cut)
    })
}

fn cut(mut text: String) -> String {
    if text.len() > MAX_TEXT {
        text.truncate(text.floor_char_boundary(MAX_TEXT));
        text.push_str(" ...");
    }
    text
}

fn hold(settings: &str, schema: &str) -> Result<(), String> {
    let settings: Value = serde_json::from_str(settings).map_err(|error| format!("they are not JSON: {error}"))?;
    let schema: Value = serde_json::from_str(schema).map_err(|error| broken(&error.to_string()))?;
    bounded(&schema).map_err(|why| broken(&why))?;
    let mut compiler = boon::Compiler::new();
    compiler.use_loader(Box::new(Nowhere));
    compiler.add_resource(PLACE, schema).map_err(|error| broken(&error.to_string()))?;
    let mut schemas = boon::Schemas::new();
    let index = compiler.compile(PLACE, &mut schemas).map_err(|error| broken(&format!("{error:#}")))?;
    schemas.validate(&settings, index).map_err(|error| problems(&error))
}

/// Checks what can be read off the schema. How long its evaluation takes cannot, so the process has a bound for that.
fn bounded(schema: &Value) -> Result<(), String> {
    let (mut references, mut waiting) = (0, vec![(schema, 1)]);
    while let Some((value, depth)) = waiting.pop() {
        if depth > MAX_DEPTH {
            return Err(format!("it is nested more than {MAX_DEPTH} levels deep"));
        }
        match value {
            Value::Array(items) => waiting.extend(items.iter().map(|item| (item, depth + 1))),
            Value::Object(fields) => {
                let refers = |key: &&String| ["$ref", "$dynamicRef", "$recursiveRef"].contains(&key.as_str());
                references += fields.keys().filter(refers).count();
                waiting.extend(fields.values().map(|field| (field, depth + 1)));
            }
            _ => {}
        }
    }
    if references > MAX_REFERENCES {
        return Err(format!("it has {references} references ($ref), and {MAX_REFERENCES} are allowed"));
    }
    Ok(())
}

/// Lists the innermost problems. The others only say that there are some.
fn problems(error: &boon::ValidationError<'_, '_>) -> String {
    let mut found = Vec::new();
    collect(error, &mut found);
    found.dedup();
    found.join("; ")
}

fn collect(error: &boon::ValidationError<'_, '_>, found: &mut Vec<String>) {
    // More text would be cut off anyway.
    if found.len() > MAX_TEXT / 4 {
        return;
    }
    if error.causes.is_empty() {
        let place = error.instance_location.to_string();
        let place = if place.is_empty() { "the settings".to_owned() } else { place };
        found.push(format!("{place}: {}", error.kind));
    }
    error.causes.iter().for_each(|cause| collect(cause, found));
}

/// Rejects a schema that refers to another place, because it must not read files or reach hosts.
struct Nowhere;

impl boon::UrlLoader for Nowhere {
    fn load(&self, url: &str) -> Result<Value, Box<dyn std::error::Error>> {
        Err(format!("{url:?} is not loaded: a schema must be complete in itself").into())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn settings_are_an_object() {
        assert_eq!(one_line(None).unwrap(), "{}");
        assert_eq!(one_line(Some("{\"b\": 1,\n\"a\": [2]}")).unwrap(), r#"{"b":1,"a":[2]}"#);
        assert!(one_line(Some("[]")).unwrap_err().contains("a JSON object"));
        assert!(one_line(Some("{")).unwrap_err().contains("not JSON"));
        assert!(one_line(Some(&format!("{{\"a\": {:?}}}", "x".repeat(MAX_SETTINGS)))).is_err());
    }

    #[test]
    fn a_verdict_is_for_good_and_what_nobody_knows_is_asked_again_ever_later() {
        let (mut known, start) = (Known::default(), Instant::now());
        let (fits, bad, slow) = (digest("{}", "a"), digest("{}", "b"), digest("{}", "c"));
        assert_eq!(known.verdict(&fits, start), None);
        known.keep(fits, Verdict::Fits, start).unwrap();
        known.keep(bad, Verdict::Refused("no".to_owned()), start).unwrap_err();
        let later = start + LONGEST_WAIT * 10;
        assert_eq!(
            (known.verdict(&fits, later), known.verdict(&bad, later)),
            (Some(Ok(())), Some(Err("no".to_owned())))
        );
        let mut now = start;
        for wait in [10, 20, 40, 80, 160, 320, 640, 1280, 2560, 3600, 3600].map(Duration::from_secs) {
            known.keep(slow, Verdict::Unknown("slow".to_owned()), now).unwrap_err();
            now += wait;
            assert!(known.verdict(&slow, now - Duration::from_millis(1)).is_some(), "{wait:?}");
            assert_eq!(known.verdict(&slow, now), None, "{wait:?}");
        }
    }

    #[test]
    fn so_many_verdicts_are_kept() {
        let (mut known, now) = (Known::default(), Instant::now());
        for number in 0..MAX_KNOWN + 10 {
            known.keep(digest("{}", &number.to_string()), Verdict::Fits, now).unwrap();
        }
        assert_eq!((known.verdicts.len(), known.order.len()), (MAX_KNOWN, MAX_KNOWN));
        assert_eq!(known.verdict(&digest("{}", "9"), now), None);
        assert_eq!(known.verdict(&digest("{}", "10"), now), Some(Ok(())));
    }

    const SCHEMA: &str = r#"{"type": "object", "required": ["host"], "additionalProperties": false, "properties": {
        "host": {"type": "string", "minLength": 1}, "ports": {"type": "array", "items": {"type": "integer"}}}}"#;

    // mutant: crates/operator/src/app/bundles/settings.rs: `schemas.validate(&settings, index).map_err(|error| problems(&error))` => `schemas.validate(&settings, index).or(Ok(()))`
    // mutant: crates/operator/src/app/bundles/settings.rs: `compiler.use_loader(Box::new(Nowhere));` => ``
    #[test]
    fn what_does_not_fit_is_named() {
        assert_eq!(hold(r#"{"host": "x", "ports": [1]}"#, SCHEMA), Ok(()));
        for (settings, schema, part) in [
            ("{}", SCHEMA, "host"),
            (r#"{"host": ""}"#, SCHEMA, "/host: "),
            (r#"{"host": "x", "ports": [1, "2"]}"#, SCHEMA, "/ports/1: "),
            (r#"{"host": "x", "more": 1}"#, SCHEMA, "more"),
            ("{}", "[", "settings.schema.json cannot be used"),
            ("{}", r#"{"type": "objekt"}"#, "settings.schema.json cannot be used"),
            ("{}", r#"{"$ref": "file:///etc/hostname"}"#, "is not loaded"),
            ("{}", r#"{"$ref": "https://example.com/x.json"}"#, "is not loaded"),
        ] {
            let problem = hold(settings, schema).unwrap_err();
            assert!(problem.contains(part), "{settings} {schema}: {problem}");
        }
    }

    #[test]
    fn a_schema_has_so_many_references_and_is_so_deep() {
        let refers = |count: usize| json!({"allOf": vec![json!({"$ref": "#/$defs/a"}); count], "$defs": {"a": true}});
        assert_eq!(bounded(&refers(MAX_REFERENCES)), Ok(()));
        assert!(bounded(&refers(MAX_REFERENCES + 1)).unwrap_err().contains("1001 references"));
        let deep = |depth: usize| (1..depth).fold(json!({}), |inner, _| json!({"not": inner}));
        assert_eq!(bounded(&deep(MAX_DEPTH)), Ok(()));
        assert!(bounded(&deep(MAX_DEPTH + 1)).unwrap_err().contains("64 levels"));
    }

    #[test]
    fn a_refusal_is_bounded() {
        let settings = json!({"ports": vec!["x"; 20_000], "host": "h"}).to_string();
        assert!(cut(hold(&settings, SCHEMA).unwrap_err()).len() <= MAX_TEXT + 4);
    }
}
