//! What the operator still waits for, hook by hook, and how it is shown. Never finds out by itself.

use std::fmt::Write as _;

/// One hook's share.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HookReadiness {
    /// Its name.
    pub hook: String,
    /// What it still waits for, in words for people; empty when it is ready.
    pub missing: Vec<String>,
}

/// What a process is among its replicas.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Role {
    /// There are no others.
    #[default]
    Alone,
    /// It runs the hooks.
    Leader,
    /// It would, if the leader were gone.
    Standby,
}

impl Role {
    /// The word for it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Alone => "alone",
            Self::Leader => "leader",
            Self::Standby => "standby",
        }
    }
}

/// Whether the operator has started, and is ready.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Readiness {
    /// All hooks were loaded or refused.
    pub started: bool,
    /// Whether hooks run here.
    pub role: Role,
    /// Every loaded hook.
    pub hooks: Vec<HookReadiness>,
    /// Hooks that do not run, with the reason. Nobody waits for them.
    pub quarantined: Vec<(String, String)>,
}

impl Readiness {
    /// It has started, and no hook waits for anything.
    pub fn ready(&self) -> bool {
        self.started && self.hooks.iter().all(|hook| hook.missing.is_empty())
    }

    /// One line a hook, as the API server's `/readyz?verbose` has it.
    pub(super) fn text(&self) -> String {
        let mut out = String::new();
        if !self.started {
            out.push_str("[-]hooks are being loaded\n");
        }
        for hook in &self.hooks {
            // Writing to a String can't fail.
            let _ = match hook.missing.as_slice() {
                [] => writeln!(out, "[+]{} ok", hook.hook),
                missing => writeln!(out, "[-]{} waits for: {}", hook.hook, missing.join("; ")),
            };
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
        let hook = |hook: &HookReadiness| serde_json::json!({ "hook": hook.hook, "ready": hook.missing.is_empty(), "missing": hook.missing });
        let quarantined = |(hook, reason): &(String, String)| serde_json::json!({ "hook": hook, "reason": reason });
        serde_json::json!({
            "ready": self.ready(),
            "started": self.started,
            "role": self.role.as_str(),
            "hooks": self.hooks.iter().map(hook).collect::<Vec<_>>(),
            "quarantined": self.quarantined.iter().map(quarantined).collect::<Vec<_>>(),
        })
    }
}
