//! Denies namespaces that do not say which team they belong to, and warns of teams that nobody has written down.
//!
//! It never changes a namespace.

use boathook_sdk::prelude::*;

/// The label that every namespace needs.
const LABEL: &str = "team";

/// What the hook is asked, and what it looks at to answer.
fn config() -> Config {
    // The teams that there are: kept for the answers, runs nothing.
    let teams = Kubernetes::new("teams")
        .api_version("v1")
        .kind("ConfigMap")
        .namespaces(["default"])
        .names(["teams"])
        .on_events([])
        .on_synchronization(false);
    // While the hook cannot answer, namespaces are made and changed all the same.
    let webhook = Validating::new("team-label.example.com")
        .rule(Rule::new(["CREATE", "UPDATE"], ["namespaces"]))
        .failure_policy(FailurePolicy::Ignore)
        .include_snapshots_from(["teams"]);
    Config::new().kubernetes(teams).validating(webhook)
}

/// An error here is not a denial: the webhook's failure policy decides then.
fn validate(review: Review) -> Result<Verdict> {
    let namespace: kube::Object = review.object()?;
    let Some(team) = namespace.label(LABEL) else {
        let text = format!("namespace {} needs a label {LABEL}", review.name);
        return Ok(Verdict::deny(text).code(422).reason("Invalid"));
    };
    let Some(item) = snapshots::open("teams")?.get("default", "teams") else {
        return Ok(Verdict::allow());
    };
    let teams: kube::Object = item.object()?;
    if teams["data"].get(team).is_some() {
        return Ok(Verdict::allow());
    }
    Ok(Verdict::allow().warn(format!("team {team} is not in the ConfigMap default/teams")))
}

boathook_sdk::hook!(config, validate = validate);

#[cfg(test)]
mod tests {
    use super::*;
    use boathook_sdk::serde_json::{Value, json};
    use boathook_sdk::testing::{Asked, Kit};

    fn asked(labels: Value) -> Asked {
        let metadata = json!({"name": "web", "labels": labels});
        let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": metadata});
        Asked::create("team-label.example.com", &namespace)
    }

    #[test]
    fn a_namespace_needs_a_team() {
        let mut kit = Kit::answering(config);
        let ran = kit.validate(validate, asked(json!({})));
        assert!(!ran.answer().is_allowed());
        let ran = kit.validate(validate, asked(json!({"team": "shop"})));
        assert!(ran.answer().is_allowed());
    }

    #[test]
    fn a_team_that_is_not_written_down_is_warned_of() {
        let mut kit = Kit::answering(config);
        let metadata = json!({"namespace": "default", "name": "teams"});
        kit.given(&json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {"shop": ""}}));
        let ran = kit.validate(validate, asked(json!({"team": "shop"})));
        assert_eq!(ran.answer().warnings.len(), 0);
        let ran = kit.validate(validate, asked(json!({"team": "shpo"})));
        assert_eq!(ran.answer().warnings.len(), 1);
    }
}
