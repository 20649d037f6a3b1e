//! ClusterRoles that aggregate the rules of other roles by label.

use serde_json::Value;

use super::act::Actor;
use crate::json;
use crate::selectors::LabelSelector;
use crate::status::Failure;
use crate::store::{Query, Stored};

pub(super) const STORAGE: &str = "clusterroles.rbac.authorization.k8s.io";
/// A single key, because any change may affect every aggregated role.
pub(super) const ALL: &str = "";

pub(super) async fn reconcile(actor: &Actor<'_>) -> Result<(), Failure> {
    let query = Query { prefix: "", after: None, at: None, limit: 0, matches: &|_| true };
    let Ok(page) = actor.shared.store.list(STORAGE, &query) else {
        return Ok(());
    };
    for role in page.items.iter().map(|stored| stored.value()) {
        let selectors = json::list(&role, &["aggregationRule", "clusterRoleSelectors"]);
        if selectors.is_empty() {
            continue;
        }
        let rules = gathered(json::text(&role, &["metadata", "name"]), selectors, &page.items);
        let rules = if rules.is_empty() { Value::Null } else { rules.into() };
        if role.get("rules").unwrap_or(&Value::Null) != &rules {
            let change = |role: &mut Value| {
                json::object(role).insert("rules".into(), rules.clone());
            };
            actor.edit(STORAGE, &role, None, change).await?;
        }
    }
    Ok(())
}

/// The rules of all matching roles without duplicates, in the order of the selectors and of the roles' names.
fn gathered(own: &str, selectors: &[Value], roles: &[std::sync::Arc<Stored>]) -> Vec<Value> {
    let mut rules: Vec<Value> = Vec::new();
    for selector in selectors {
        let text = crate::kinds::scale::selector_text(Some(selector));
        let Ok(selector) = LabelSelector::parse(&text) else {
            continue;
        };
        for role in roles.iter().filter(|role| role.name() != own && selector.matches(|label| role.label(label))) {
            for rule in json::list(&role.value(), &["rules"]) {
                if !rules.contains(rule) {
                    rules.push(rule.clone());
                }
            }
        }
    }
    rules
}
