//! What the operator still waits for, for each hook, and how it is shown.

use std::fmt::Write as _;

/// The readiness of one hook.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HookReadiness {
    pub hook: String,
    /// What the hook still waits for, in words for people. Empty if it is ready.
    pub missing: Vec<String>,
    /// Whether the operator waits for the hook. A tenant's hook must not make it unready for all others.
    pub counts: bool,
}

/// A source of hooks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourceReadiness {
    /// `bundle NAME` or `HookBundle NAMESPACE/NAME`.
    pub source: String,
    /// Why none of its hooks runs. Empty if the source is loaded.
    pub missing: String,
    /// Whether the operator waits for the source.
    pub counts: bool,
}

/// The role of a process among its replicas.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Role {
    /// There are no other replicas.
    #[default]
    Alone,
    /// The process runs the hooks.
    Leader,
    /// The process takes over if the leader is gone.
    Standby,
}

impl Role {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Alone => "alone",
            Self::Leader => "leader",
            Self::Standby => "standby",
        }
    }
}

/// How far modules are where they run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Converge {
    /// The first round has begun.
    pub begun: bool,
    /// Each module was tried once. A module that fails was tried, too.
    pub tried: bool,
    /// How many modules are neither ready nor off, the global hooks included.
    pub moving: usize,
}

/// A state of addon-operator, with its number of tasks if it has one.
type ConvergeState = (&'static str, Option<usize>);

impl Converge {
    /// The states in addon-operator's words. An operator without modules has nothing left to do.
    fn states(this: Option<Self>) -> Vec<ConvergeState> {
        const DONE: ConvergeState = ("STARTUP_CONVERGE_DONE", None);
        match this {
            Some(Self { begun: false, .. }) => vec![("STARTUP_CONVERGE_NOT_STARTED", None)],
            Some(Self { tried: false, moving, .. }) => vec![("STARTUP_CONVERGE_IN_PROGRESS", Some(moving))],
            None | Some(Self { moving: 0, .. }) => vec![DONE, ("CONVERGE_WAIT_TASK", None)],
            Some(Self { moving, .. }) => vec![DONE, ("CONVERGE_IN_PROGRESS", Some(moving))],
        }
    }

    /// A line for each state.
    pub(super) fn text(this: Option<Self>) -> String {
        let line = |(state, tasks): ConvergeState| match tasks {
            Some(tasks) => format!("{state}: {tasks} tasks\n"),
            None => format!("{state}\n"),
        };
        Self::states(this).into_iter().map(line).collect()
    }

    /// A key for each state: a number of tasks, or `true`.
    pub(super) fn json(this: Option<Self>) -> serde_json::Value {
        let key = |(state, tasks): ConvergeState| {
            (state.to_owned(), tasks.map_or(serde_json::Value::Bool(true), serde_json::Value::from))
        };
        serde_json::Value::Object(Self::states(this).into_iter().map(key).collect())
    }
}

/// Whether the operator has started, and is ready.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Readiness {
    /// Whether every hook was loaded or refused.
    pub started: bool,
    /// Whether hooks run in this process.
    pub role: Role,
    /// Set if a task of the operator ended by itself. The operator is then broken, and only a new process fixes that.
    pub ended: Option<String>,
    /// What is wrong with the API server. It does not make the operator unready, because known state stays, and a new
    /// process would know less.
    pub api_server: Option<String>,
    /// Whether reviews may be routed here. What hooks wait for counts only while the operator starts.
    pub serves: bool,
    /// Every source except the directory.
    pub sources: Vec<SourceReadiness>,
    /// How far modules are. `None`: the operator runs none.
    pub modules: Option<Converge>,
    /// Every loaded hook.
    pub hooks: Vec<HookReadiness>,
    /// Loops of hooks. They make nothing unready, because another process would have them, too.
    pub loops: Vec<String>,
    /// Hooks that do not run, with the reason. The operator does not wait for them.
    pub quarantined: Vec<(String, String)>,
}

impl Readiness {
    /// Whether the operator has started, all sources that count are loaded, each module was tried, and no hook that counts
    /// waits for anything.
    pub fn ready(&self) -> bool {
        let loaded = self.sources.iter().all(|source| !source.counts || source.missing.is_empty());
        self.started
            && self.ended.is_none()
            && loaded
            && self.converge().is_none_or(|modules| modules.tried)
            && self.hooks.iter().all(|hook| !hook.counts || hook.missing.is_empty())
    }

    /// How far modules are, if they run here. A standby runs none, and waits for none.
    fn converge(&self) -> Option<Converge> {
        self.modules.filter(|_| self.role != Role::Standby)
    }

    /// One line for each hook, in the format of the API server's `/readyz?verbose`.
    pub(super) fn text(&self) -> String {
        let mut out = String::new();
        if !self.started {
            out.push_str("[-]hooks are being loaded\n");
        }
        if let Some(ended) = &self.ended {
            // Writing to a String cannot fail.
            let _ = writeln!(out, "[-]{}", ended.replace('\n', " "));
        }
        if let Some(trouble) = &self.api_server {
            let _ = writeln!(out, "[!]{}", trouble.replace('\n', " "));
        }
        let mark = |counts: bool| if counts { "[-]" } else { "[!]" };
        for SourceReadiness { source, missing, counts } in &self.sources {
            let _ = match missing.as_str() {
                "" => writeln!(out, "[+]{source} ok"),
                missing => writeln!(out, "{}{source} is missing: {}", mark(*counts), missing.replace('\n', " ")),
            };
        }
        match self.converge() {
            Some(Converge { tried: true, .. }) => out.push_str("[+]modules were tried\n"),
            Some(Converge { begun: true, moving, .. }) => {
                let _ = writeln!(out, "[-]modules are being tried: {moving} of them are neither ready nor off");
            }
            Some(_) => out.push_str("[-]modules are not being tried yet: see the log\n"),
            None => {}
        }
        for hook in &self.hooks {
            let _ = match hook.missing.as_slice() {
                [] => writeln!(out, "[+]{} ok", hook.hook),
                missing => writeln!(out, "{}{} waits for: {}", mark(hook.counts), hook.hook, missing.join("; ")),
            };
        }
        for text in &self.loops {
            let _ = writeln!(out, "[!]{}", text.replace('\n', " "));
        }
        for (hook, reason) in &self.quarantined {
            let _ = writeln!(out, "[!]{hook} is quarantined: {}", reason.replace('\n', " "));
        }
        out.push_str(match self.role {
            Role::Alone => "",
            Role::Leader => "leader: hooks run here\n",
            Role::Standby => "standby: hooks run here once this replica leads\n",
        });
        out.push_str(if self.ready() { "ready\n" } else { "not ready\n" });
        out
    }

    pub(super) fn json(&self) -> serde_json::Value {
        let source = |source: &SourceReadiness| {
            let SourceReadiness { source, missing, counts } = source;
            serde_json::json!({ "source": source, "ready": missing.is_empty(), "missing": missing, "counts": counts })
        };
        let hook = |hook: &HookReadiness| {
            let HookReadiness { hook, missing, counts } = hook;
            serde_json::json!({ "hook": hook, "ready": missing.is_empty(), "missing": missing, "counts": counts })
        };
        let quarantined = |(hook, reason): &(String, String)| serde_json::json!({ "hook": hook, "reason": reason });
        serde_json::json!({
            "ready": self.ready(),
            "started": self.started,
            "role": self.role.as_str(),
            "ended": self.ended,
            "apiServer": self.api_server,
            "serves": self.serves,
            "modules": self.modules.map(|modules| {
                serde_json::json!({ "begun": modules.begun, "tried": modules.tried, "moving": modules.moving })
            }),
            "sources": self.sources.iter().map(source).collect::<Vec<_>>(),
            "hooks": self.hooks.iter().map(hook).collect::<Vec<_>>(),
            "loops": self.loops,
            "quarantined": self.quarantined.iter().map(quarantined).collect::<Vec<_>>(),
        })
    }
}
